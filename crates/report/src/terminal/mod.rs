//! The result as a stranger reads it in a terminal: one line about the run, a table per area, what trusted tools
//! measured beside it, footnotes that say why and what to do, and the findings.
//!
//! It prints nothing and decides nothing: figures, grades and texts are the document's. What is live (progress, time
//! left) is `cli`'s; [`row_line`] gives it the words for one row.

mod header;
mod line;
mod notes;
mod references;
mod sampling;
mod section;
mod table;

use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::peak::PeakKind;
use model::sample::{Metric, MetricName};
use model::warning::Grade;

use crate::layout::wrap;
use crate::style::{Style, Tone};
use crate::{Render, RenderError};

pub(crate) use header::machine_words;
pub use line::{provisional_line, row_line};

/// Writes the tables.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// How they are set.
    pub style: Style,
}

impl Render for Terminal {
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError> {
        Ok(render(document, &self.style).into_bytes())
    }
}

/// The whole result, ending in a newline.
pub fn render(document: &Document, style: &Style) -> String {
    let sections = section::sections(document);
    let notes = notes::Notes::collect(&sections);
    let mut paragraphs = vec![header::lines(document, style)];
    paragraphs.extend(sections.iter().map(|section| table::lines(section, &notes, style)));
    paragraphs.extend(references::paragraphs(&sections, style));
    let how = [sampling::lines(document, style), legend(document, style)].concat();
    paragraphs.extend([notes.lines(style), findings(document, style), how]);
    let paragraphs: Vec<String> =
        paragraphs.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    format!("{}\n", paragraphs.join("\n\n"))
}

fn findings(document: &Document, style: &Style) -> Vec<String> {
    document.findings.iter().flat_map(|finding| wrap(&style.clean(&finding.text), "", style.width)).collect()
}

/// How to read the tables, where there is anything to read.
fn legend(document: &Document, style: &Style) -> Vec<String> {
    let measured = || document.experiments.iter().filter(|row| row.status == Status::Ok);
    if measured().next().is_none() {
        return Vec::new();
    }
    let metrics = || measured().filter_map(|row| row.metrics.first());
    let mut text = format!("Figures are medians {} half of their 95 % interval", style.plus_minus());
    let too_few = metrics().find(|metric| metric.summary.ci95.is_none()).map(|metric| metric.summary.n);
    text.push_str(&too_few.map_or_else(|| ".".to_owned(), |n| format!(" (n={n}: too few samples for one).")));
    let kinds = || metrics().filter_map(|metric| metric.efficiency).map(|efficiency| efficiency.of);
    if kinds().any(|kind| kind != PeakKind::MeasuredCeiling) {
        text.push_str(" Of peak: the share of what the hardware could do at most; assay info shows the arithmetic.");
    }
    if kinds().any(|kind| kind == PeakKind::MeasuredCeiling) {
        text.push_str(" Of ceiling: the share of the best that another measurement on this machine reached.");
    }
    if measured().any(|row| p99(row).is_some()) {
        text.push_str(" p99: 99 % of the requests or round trips took no longer.");
    }
    if document.experiments.iter().any(table::shows_loss) {
        text.push_str(" Lost: the share of the rate that others on this machine or its host took.");
    }
    text.push_str(" Grade A: trust it. B: usable, mind its footnote. C: disturbed, do not quote it.");
    wrap(&text, "", style.width).iter().map(|line| style.paint(line, Tone::Dim)).collect()
}

/// The figure that a row stands for.
fn headline(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|_| row.status == Status::Ok)
}

/// What 99 % of a measured row's requests or round trips took at most, in seconds; `None` where they were not timed one
/// by one.
fn p99(row: &Row) -> Option<f64> {
    let timed = matches!(row.area, Area::Disk | Area::Net) && row.status == Status::Ok;
    let latency = row.metric(MetricName::Latency).filter(|_| timed)?;
    latency.summary.percentiles.map(|percentiles| percentiles.p99)
}

/// The colour of a grade.
const fn grade_tone(grade: Grade) -> Tone {
    match grade {
        Grade::A => Tone::Good,
        Grade::B => Tone::Fair,
        Grade::C => Tone::Bad,
    }
}
