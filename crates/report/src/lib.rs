//! From a `Document` to bytes: text for a terminal, Markdown, LaTeX, CSV, JSON and what other programs read, and the
//! text forms of `assay info` and `--list`.
//!
//! Nothing here measures, computes a statistic, reads a clock or does I/O: the same document always gives the same
//! bytes.
//!
//! A new renderer is one file with an `impl Render` and one line in [`RENDERERS`].
#![forbid(unsafe_code)]

pub mod chart;
pub mod classic;
pub mod cluster;
mod commands;
pub mod comparison;
mod formats;
pub mod grid;
mod grouped;
pub mod html;
mod layout;
mod reason;
mod render;
mod style;
pub mod terminal;

pub use commands::{doctor, info, plan, references};
pub use formats::{benchfmt, csv, json, junit, latex, markdown, prometheus, schema};
pub use render::{Render, RenderError};
pub use style::Style;

/// A line of the table of renderers.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The extension of a file in this form, without the dot.
    pub extension: &'static str,
    /// What it is, for `--help`.
    pub about: &'static str,
    /// The renderer itself.
    pub render: &'static dyn Render,
}

/// Every renderer.
#[rustfmt::skip]
pub const RENDERERS: &[Renderer] = &[
    Renderer { name: "html", extension: "html", about: "a page of its own for a browser and for paper", render: &html::Html },
    Renderer { name: "text", extension: "txt", about: "the tables of the terminal, in plain ASCII", render: &terminal::Terminal { style: Style::PLAIN } },
    Renderer { name: "markdown", extension: "md", about: "tables for GitHub, with findings and warnings", render: &markdown::Markdown },
    Renderer { name: "csv", extension: "csv", about: "one line per metric of each row, in base units", render: &csv::Csv },
    Renderer { name: "csv-samples", extension: "csv", about: "one line per sample, ours and those of trusted tools", render: &csv::CsvSamples },
    Renderer { name: "json", extension: "json", about: "the document itself", render: &json::Json },
    Renderer { name: "latex", extension: "tex", about: "a document of its own with booktabs tables", render: &latex::Latex },
    Renderer { name: "prometheus", extension: "prom", about: "gauges for node_exporter's textfile collector", render: &prometheus::Prometheus },
    Renderer { name: "junit", extension: "xml", about: "a test case a row, for CI systems", render: &junit::Junit },
    Renderer { name: "benchfmt", extension: "bench", about: "Go's benchmark format, a line a sample, for benchstat", render: &benchfmt::Benchfmt },
];

/// A name of [`RENDERERS`], and how a single table is written in that form.
pub type TableRenderer = (&'static str, fn(&grid::Grid) -> String);

/// The forms that a single table can be had in, the usual one first.
pub const TABLE_RENDERERS: &[TableRenderer] =
    &[("csv", csv::table), ("markdown", markdown::table), ("latex", latex::table)];

/// The renderer of this name.
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
