//! The results of a cluster's plan, from a [`ClusterDocument`] to bytes: HTML, text for a terminal, tables for programs, and
//! the nodes to drain; also the progress of a plan ([`status`]). Judgements are the document's.

pub mod csv;
pub mod html;
pub mod junit;
mod labels;
mod markdown;
mod prometheus;
pub mod status;
pub mod terminal;
mod verdict;

use model::cluster::ClusterDocument;

use crate::formats::json::pretty;
use crate::style::Style;

/// A format of the report.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The file in the plan's `report` folder; `None` for text that is only printed.
    pub file: Option<&'static str>,
    /// Its description for `--help`.
    pub about: &'static str,
    /// The renderer; its pieces need not fit into memory together.
    pub render: fn(&ClusterDocument) -> Result<Pieces<'_>, String>,
}

/// A file in pieces.
pub type Pieces<'a> = Box<dyn Iterator<Item = String> + 'a>;

fn whole<'a>(text: String) -> Pieces<'a> {
    Box::new(std::iter::once(text))
}

/// Every format.
#[rustfmt::skip]
pub const FORMS: &[Form] = &[
    Form { name: "html", file: Some("index.html"), about: "an HTML report for a browser and for paper", render: |document| html::render(document).map(whole) },
    Form { name: "json", file: Some("cluster.json"), about: "the document itself", render: |document| pretty(document, "document").map(whole) },
    Form { name: "markdown", file: Some("summary.md"), about: "the verdict and its tables for GitHub", render: |document| Ok(whole(markdown::render(document))) },
    Form { name: "csv", file: Some("values.csv"), about: "one line per node, metric and pass, in base units", render: |document| Ok(Box::new(csv::lines(document))) },
    Form { name: "junit", file: Some("junit.xml"), about: "a test case per node and area, for CI systems", render: |document| Ok(Box::new(junit::pieces(document))) },
    Form { name: "prometheus", file: Some("cluster.prom"), about: "gauges for node_exporter's textfile collector", render: |document| Ok(whole(prometheus::render(document))) },
    Form { name: "drain", file: Some("drain.txt"), about: "the nodes confirmed to be slow, one name a line", render: |document| Ok(whole(drain(document))) },
    Form { name: "terminal", file: None, about: "the summary, in plain ASCII", render: |document| Ok(whole(terminal::render(document, &Style::PLAIN))) },
];

/// The format of this name.
#[must_use]
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}

/// The names of the nodes that are confirmed to be slow, one a line. Names that a shell or an option parser could
/// misread are left out, since the list is made for commands; no plan has such a node.
#[must_use]
pub fn drain(document: &ClusterDocument) -> String {
    let is_plain = |name: &&String| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with(['-', '.']) && name.bytes().all(plain)
    };
    document.drain.iter().filter(is_plain).flat_map(|name| [name.as_str(), "\n"]).collect()
}
