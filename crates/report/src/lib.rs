//! From a `Document` to text: for a terminal, a browser and other programs; and the output of commands that measure
//! nothing.
//!
//! Nothing here measures, computes a statistic, reads a clock or does I/O: the same document always gives the same
//! bytes.
#![forbid(unsafe_code)]

pub mod chart;
mod classic;
pub mod cluster;
mod commands;
pub mod comparison;
mod formats;
pub mod grid;
pub mod html;
mod layout;
mod reason;
mod style;
pub mod terminal;

use model::document::Document;

pub use commands::{doctor, info, plan, references};
pub use formats::escape::visible;
pub use formats::{benchfmt, csv, json, junit, latex, markdown, prometheus, schema};
pub use style::Style;

/// A format that a document can be written in.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The extension of its files, without the dot.
    pub extension: &'static str,
    /// What it is, for `--help`.
    pub about: &'static str,
    /// Writes a document, ending in a newline; an error where the format cannot hold it.
    pub render: fn(&Document) -> Result<String, String>,
}

/// Every format.
#[rustfmt::skip]
pub const RENDERERS: &[Renderer] = &[
    Renderer { name: "html", extension: "html", about: "HTML report, for a browser or for printing", render: html::render },
    Renderer { name: "text", extension: "txt", about: "terminal output in plain ASCII", render: |it| Ok(terminal::render(it, &Style::PLAIN)) },
    Renderer { name: "markdown", extension: "md", about: "Markdown tables for GitHub, with findings and warnings", render: |it| Ok(markdown::render(it)) },
    Renderer { name: "csv", extension: "csv", about: "one line per metric of each benchmark, in base units", render: |it| Ok(csv::render(it)) },
    Renderer { name: "csv-samples", extension: "csv", about: "one line per sample, including those of reference tools", render: |it| Ok(csv::samples(it)) },
    Renderer { name: "json", extension: "json", about: "the document itself", render: json::render },
    Renderer { name: "latex", extension: "tex", about: "LaTeX document with booktabs tables", render: |it| Ok(latex::render(it)) },
    Renderer { name: "prometheus", extension: "prom", about: "gauges for node_exporter's textfile collector", render: |it| Ok(prometheus::render(it)) },
    Renderer { name: "junit", extension: "xml", about: "JUnit XML: one test case per benchmark, for CI systems", render: |it| Ok(junit::render(it)) },
    Renderer { name: "benchfmt", extension: "bench", about: "Go benchmark format, one line per sample, for benchstat", render: |it| Ok(benchfmt::render(it)) },
];

/// Name and function of a format for a single table.
pub type TableRenderer = (&'static str, fn(&grid::Grid) -> String);

/// The formats for a single table, the default first.
pub const TABLE_RENDERERS: &[TableRenderer] =
    &[("csv", csv::table), ("markdown", markdown::table), ("latex", latex::table)];

/// The format of this name.
pub fn renderer(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|renderer| renderer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_renderer_has_a_name_of_its_own_and_says_what_it_is() {
        for entry in RENDERERS {
            assert_eq!(RENDERERS.iter().filter(|other| other.name == entry.name).count(), 1, "{}", entry.name);
            assert!(!entry.about.is_empty() && !entry.extension.starts_with('.'), "{}", entry.name);
            assert!(renderer(entry.name).is_some());
        }
        assert!(renderer("papyrus").is_none());
        for (name, _) in TABLE_RENDERERS {
            assert!(renderer(name).is_some(), "{name}");
        }
    }
}
