//! What a plan's results say of its nodes, from a [`ClusterDocument`] to bytes: a page, text for a terminal, tables
//! for programs, a list of nodes to drain. Beside it, how far a plan is (`status`).
//!
//! Nothing is judged here: who is slow and why is the document's. What never grows with the nodes is drawn; what grows
//! with them (the list of nodes, the table of values) is text, a line each.

pub mod csv;
pub mod drain;
pub mod html;
pub mod json;
pub mod junit;
mod labels;
pub mod status;
pub mod terminal;
mod verdict;

use model::cluster::ClusterDocument;

use crate::render::RenderError;
use crate::style::Style;

/// A form of the report.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// The file in the plan's `report` folder; `None` for what is only printed.
    pub file: Option<&'static str>,
    /// What it is, for `--help`.
    pub about: &'static str,
    /// The renderer: the pieces of the file in their order, so that a large one is never held whole.
    pub render: fn(&ClusterDocument) -> Result<Pieces<'_>, RenderError>,
}

/// A file in pieces.
pub type Pieces<'a> = Box<dyn Iterator<Item = String> + 'a>;

fn whole<'a>(text: String) -> Pieces<'a> {
    Box::new(std::iter::once(text))
}

/// Every form.
#[rustfmt::skip]
pub const FORMS: &[Form] = &[
    Form { name: "html", file: Some("index.html"), about: "a page of its own for a browser and for paper", render: |document| html::render(document).map(whole) },
    Form { name: "json", file: Some("cluster.json"), about: "the document itself", render: |document| json::render(document).map(whole) },
    Form { name: "csv", file: Some("values.csv"), about: "one line per node, figure and pass, in base units", render: |document| Ok(Box::new(csv::lines(document))) },
    Form { name: "junit", file: Some("junit.xml"), about: "a test case per node and area, for CI systems", render: |document| Ok(Box::new(junit::pieces(document))) },
    Form { name: "drain", file: Some("drain.txt"), about: "the nodes confirmed to be slow, a name a line", render: |document| Ok(whole(drain::render(document))) },
    Form { name: "terminal", file: None, about: "the summary, in plain ASCII", render: |document| Ok(whole(terminal::render(document, &Style::PLAIN))) },
];

/// The form of this name.
#[must_use]
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}
