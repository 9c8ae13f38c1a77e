//! What trusted tools measured beside our rows: both figures, the ratio with its interval, why they may differ, and the
//! command line of each. Ratios and verdicts are the document's.

use std::collections::BTreeMap;

use model::document::{Document, Row, Status};
use model::reference::{Reference, Verdict};
use model::sample::Metric;
use serde::Serialize;

use super::tables::{Anchors, short};
use super::text;
use crate::terminal::reason_words;
use areas::label::Label;
use model::number::{Notation, UnitScale, counted, digits};

/// A tool beside a metric.
#[derive(Debug, Serialize)]
pub(super) struct Beside {
    accent: &'static str,
    anchor: Option<String>,
    #[serde(skip)]
    id: String,
    what: String,
    tool: String,
    version: String,
    /// Whether it ran and was read.
    measured: bool,
    ours: String,
    theirs: String,
    /// For sorting.
    ours_value: Option<String>,
    theirs_value: Option<String>,
    ratio_value: Option<String>,
    ratio: String,
    interval: String,
    pairs: usize,
    verdict: &'static str,
    /// Why the two may differ, or why there is no figure.
    remark: String,
}

/// A tool with the command lines that it was called by.
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    name: String,
    version: String,
    calls: Vec<Call>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Call {
    what: String,
    command: String,
    server: String,
}

/// Every tool beside every metric, in the order of the rows.
pub(super) fn lines(document: &Document, anchors: &Anchors<'_>) -> Vec<Beside> {
    all(document).map(|(row, metric, reference)| Beside::of(row, metric, reference, anchors)).collect()
}

/// Every tool that was started, with its command lines.
pub(super) fn tools(document: &Document) -> Vec<Tool> {
    let mut tools: BTreeMap<&str, Tool> = BTreeMap::new();
    for (row, _, reference) in all(document).filter(|(_, _, reference)| !reference.argv.is_empty()) {
        let tool = tools.entry(&reference.tool).or_insert_with(|| Tool {
            name: reference.tool.clone(),
            version: reference.version.clone().unwrap_or_default(),
            calls: Vec::new(),
        });
        tool.calls.push(Call {
            what: Label::sentence(row),
            command: with_environment(&reference.env, &reference.argv),
            server: text::command(&reference.server_argv),
        });
    }
    let mut tools: Vec<Tool> = tools.into_values().collect();
    // A tool that gives two figures of a row was called once.
    for tool in &mut tools {
        tool.calls.dedup();
    }
    tools
}

fn all(document: &Document) -> impl Iterator<Item = (&Row, &Metric, &Reference)> {
    let metrics = document.experiments.iter().flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)));
    metrics.flat_map(|(row, metric)| metric.references.iter().map(move |reference| (row, metric, reference)))
}

/// A command line with the environment that it was given.
fn with_environment(environment: &BTreeMap<String, String>, arguments: &[String]) -> String {
    let set = environment.iter().map(|(name, value)| format!("{name}={value}"));
    if environment.is_empty() {
        return text::command(arguments);
    }
    let words: Vec<String> = ["env".to_owned(), "-i".to_owned()].into_iter().chain(set).collect();
    format!("{} {}", text::command(&words), text::command(arguments))
}

impl Beside {
    fn of(row: &Row, metric: &Metric, reference: &Reference, anchors: &Anchors<'_>) -> Self {
        let measured = reference.status == Status::Ok;
        // Ours in this comparison is that of the same pairs, not of the whole row.
        let ours = reference.ratio.zip(reference.median).map(|(ratio, median)| ratio * median);
        let notation = Notation::of(row.area, metric.unit);
        let figures: Vec<f64> = ours.into_iter().chain(reference.median).collect();
        let scale = UnitScale::common(&figures, notation).or_else(|| Some(UnitScale::of(*figures.first()?, notation)));
        let told = |value: Option<f64>| {
            let value = value.filter(|value| value.is_finite()).zip(scale);
            value.map_or_else(String::new, |(value, scale)| format!("{} {}", scale.digits(value), scale.unit()))
        };
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite()).map(short);
        let row_words = Label::sentence(row);
        let headline = row.metrics.first().is_some_and(|first| std::ptr::eq(first, metric));
        Self {
            accent: text::accent(Some(row.area)),
            anchor: anchors.link(&row.id),
            id: row.id.clone(),
            what: if headline { row_words } else { format!("{row_words}, {}", metric.name.as_str().replace('_', " ")) },
            tool: reference.tool.clone(),
            version: reference.version.clone().unwrap_or_default(),
            measured,
            ours: told(ours),
            theirs: told(reference.median),
            ours_value: finite(ours),
            theirs_value: finite(reference.median),
            ratio_value: finite(reference.ratio),
            ratio: reference.ratio.map_or_else(String::new, digits),
            interval: reference
                .ratio_ci95
                .map_or_else(String::new, |[low, high]| format!("{} to {}", digits(low), digits(high))),
            pairs: reference.samples.len(),
            verdict: if measured { verdict_words(reference.verdict) } else { reference.status.name() },
            remark: remark(reference),
        }
    }
}

const fn verdict_words(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::AtLeast) => "at least as fast",
        Some(Verdict::Below) => "slower",
        Some(Verdict::Inconclusive) | None => "cannot tell",
    }
}

fn remark(reference: &Reference) -> String {
    if reference.status == Status::Ok {
        return reference.explanation.as_deref().map_or_else(String::new, |text| text::capital(&reason_words(text)));
    }
    text::capital(&reason_words(reference.reason.as_deref().unwrap_or("no reason was recorded")))
}

/// `3 tools beside 12 rows`.
pub(super) fn summary(lines: &[Beside]) -> String {
    let distinct = |of: fn(&Beside) -> &String| lines.iter().map(of).collect::<std::collections::BTreeSet<_>>().len();
    let tools = counted(distinct(|line| &line.tool) as u64, "tool");
    format!("{tools} beside {}", counted(distinct(|line| &line.id) as u64, "row"))
}
