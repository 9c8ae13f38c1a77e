//! The tables of a cluster's HTML report.

use model::cluster::{
    ClusterDocument, ClusterHpl, Deviation, Difference, FailedAttempts, FleetNode, Group, NodeState, SlowNode, Standing,
};
use serde::Serialize;

use crate::cluster::labels::{self, has_peaks, metric_name, passes, slowest_shares, some_of, standing};
use crate::formats::escape::one_line;
use crate::formats::markdown::escaped;
use crate::html::text::capital;
use model::number::{counted, digits, percent, quantity};
use model::unit::Unit;

const OF_PEAK: &str = "Of peak";
const MOST_NAMES: usize = 12;
const MOST_DEVIATIONS: usize = 500;
/// With more nodes than this, only outliers and nodes without results are listed.
const MOST_LISTED: usize = 20_000;

#[derive(Debug, Serialize)]
pub(in crate::cluster) struct Table {
    title: &'static str,
    /// The classes of its numeric columns: `n3 n4`.
    numeric: String,
    columns: Vec<&'static str>,
    lines: Vec<Vec<Cell>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Cell {
    text: String,
    /// The sort key, where it is not the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    long: bool,
}

pub(super) fn cell(text: String) -> Cell {
    Cell { value: None, long: text.chars().count() > 28, text }
}

/// A long text, which may have several lines.
fn long(text: String) -> Cell {
    Cell { long: true, ..cell(text) }
}

pub(super) fn number_cell(value: f64, text: String) -> Cell {
    Cell { value: value.is_finite().then(|| value.to_string()), long: false, text }
}

/// A cell with a share; empty where it is unknown.
pub(super) fn share_cell(share: Option<f64>) -> Cell {
    share.map_or_else(|| cell(String::new()), |share| number_cell(share, percent(share)))
}

/// A column of a table over items of a kind: its heading, whether it has numbers, and its cells.
pub(super) type Column<'a, T> = (&'static str, bool, &'a dyn Fn(&T) -> Cell);

impl Table {
    pub(super) fn new<'a, T: 'a>(
        title: &'static str,
        items: impl IntoIterator<Item = &'a T>,
        columns: &[Column<'_, T>],
    ) -> Self {
        let numeric = (1..).zip(columns).filter(|(_, (_, is_numeric, _))| *is_numeric);
        let line = |item| columns.iter().map(|(.., cell)| cell(item)).collect();
        Self {
            title,
            numeric: numeric.map(|(place, _)| format!("n{place}")).collect::<Vec<_>>().join(" "),
            columns: columns.iter().map(|(heading, ..)| *heading).collect(),
            lines: items.into_iter().map(line).collect(),
        }
    }

    /// The table in Markdown with its title and at most this many lines; nothing if it is empty.
    pub(in crate::cluster) fn markdown(&self, most: usize) -> Option<String> {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let shown =
            self.lines.iter().take(most).map(|cells| line(cells.iter().map(|cell| escaped(&cell.text)).collect()));
        let head = [
            line(self.columns.iter().map(|column| escaped(column)).collect()),
            line(vec!["---".into(); self.columns.len()]),
        ];
        let more = self.lines.len().saturating_sub(most);
        let more = if more > 0 { format!("\n\nand {more} more, in the HTML report") } else { String::new() };
        let lines: Vec<String> = head.into_iter().chain(shown).collect();
        (!self.lines.is_empty()).then(|| format!("## {}\n\n{}{more}", self.title, lines.join("\n")))
    }
}

fn cause_words(slow: &SlowNode) -> String {
    let causes: Vec<String> = slow.causes.iter().map(|cause| one_line(&cause.text)).collect();
    if causes.is_empty() {
        return "No recorded fact explains it.".to_owned();
    }
    capital(&causes.join("; "))
}

/// Slow nodes, the slowest first, each with its worst metric.
pub(in crate::cluster) fn slow(document: &ClusterDocument) -> Table {
    let areas = |slow: &SlowNode| slow.areas.iter().map(|area| labels::title(area)).collect::<Vec<_>>().join(", ");
    let worst = |slow: &SlowNode| {
        slow.deviations.first().map_or_else(String::new, |worst| metric_name(&worst.experiment, &worst.metric))
    };
    let columns: [Column<'_, SlowNode>; 7] = [
        ("Node", false, &|slow| cell(one_line(&slow.node))),
        ("Speed", false, &|slow| cell(standing(slow.standing).to_owned())),
        ("Slow in", false, &|slow| cell(areas(slow))),
        ("Slowest result", false, &|slow| long(worst(slow))),
        ("Of the median: first, second measurement", true, &|slow| of_median(slow.deviations.first())),
        (OF_PEAK, true, &|slow| of_peak(slow.deviations.first())),
        ("Probable cause", false, &|slow| long(cause_words(slow))),
    ];
    let columns = with_known_peaks(document, columns.into());
    Table::new(if document.drain.is_empty() { "Suspects" } else { "Slow nodes" }, &document.slow, &columns)
}

/// Columns without that of shares of limits, if none is known.
fn with_known_peaks<'a, T>(document: &ClusterDocument, mut columns: Vec<Column<'a, T>>) -> Vec<Column<'a, T>> {
    columns.retain(|(heading, ..)| *heading != OF_PEAK || has_peaks(document));
    columns
}

fn of_median(of: Option<&Deviation>) -> Cell {
    let Some((of, first)) = of.and_then(|of| Some((of, of.of_median.first()?))) else { return cell(String::new()) };
    number_cell(*first, passes(&of.of_median))
}

fn of_peak(of: Option<&Deviation>) -> Cell {
    let Some(of) = of else { return cell(String::new()) };
    of.efficiency.map_or_else(|| cell(labels::UNKNOWN.to_owned()), |share| number_cell(share, percent(share)))
}

/// The metrics in which slow nodes are outliers, and how many are left out.
pub(super) fn deviations(document: &ClusterDocument) -> (Table, usize) {
    let all = document.slow.iter().flat_map(|slow| slow.deviations.iter().map(move |of| (slow, of)));
    let all: Vec<(&SlowNode, &Deviation)> = all.collect();
    let columns: [Column<'_, (&SlowNode, &Deviation)>; 4] = [
        ("Node", false, &|(slow, _)| cell(one_line(&slow.node))),
        ("Metric", false, &|(_, of)| cell(metric_name(&of.experiment, &of.metric))),
        ("Of the median: first, second measurement", true, &|(_, of)| of_median(Some(of))),
        (OF_PEAK, true, &|(_, of)| of_peak(Some(of))),
    ];
    let columns = with_known_peaks(document, columns.into());
    let shown = all.iter().take(MOST_DEVIATIONS);
    let table = Table::new("All results in which these nodes are slow", shown, &columns);
    (table, all.len().saturating_sub(MOST_DEVIATIONS))
}

pub(in crate::cluster) fn groups(document: &ClusterDocument) -> Table {
    let hardware = |group: &Group| {
        let facts = group.hardware.iter().map(|(name, value)| format!("{} {}", one_line(name), one_line(value)));
        facts.collect::<Vec<_>>().join(", ")
    };
    let names = |group: &Group| -> Vec<String> {
        document.nodes.iter().filter(|node| node.group == Some(group.id)).map(|node| node.name.clone()).collect()
    };
    let columns: [Column<'_, Group>; 4] = [
        ("Hardware type", false, &|of| cell(of.id.to_string())),
        ("Nodes", true, &|of| number_cell(of.nodes as f64, of.nodes.to_string())),
        ("Hardware", false, &|of| long(hardware(of))),
        ("Which", false, &|of| long(some_of(&names(of), MOST_NAMES))),
    ];
    Table::new("Hardware types", &document.groups, &columns)
}

/// Facts in which nodes differ from most of their group.
pub(in crate::cluster) fn differences(document: &ClusterDocument) -> Table {
    let columns: [Column<'_, Difference>; 6] = [
        ("What", false, &|of| cell(one_line(&of.fact))),
        ("Hardware type", false, &|of| cell(of.group.to_string())),
        ("Most nodes have", false, &|of| {
            long(if of.majority.is_empty() { "\u{2013}".into() } else { one_line(&of.majority) })
        }),
        ("These have", false, &|of| long(one_line(&of.value))),
        ("Nodes", true, &|of| number_cell(of.nodes.len() as f64, of.nodes.len().to_string())),
        ("Which", false, &|of| long(some_of(&of.nodes, MOST_NAMES))),
    ];
    let title = "Hardware and settings of nodes that differ from most nodes of their type";
    Table::new(title, &document.differences, &columns)
}

/// Attempts that failed, also where a later one had a result.
pub(in crate::cluster) fn failed_attempts(document: &ClusterDocument) -> Table {
    let all = document.nodes.iter().flat_map(|node| node.failed_attempts.iter().map(move |of| (node, of)));
    let all: Vec<(&FleetNode, &FailedAttempts)> = all.take(MOST_DEVIATIONS).collect();
    let columns: [Column<'_, (&FleetNode, &FailedAttempts)>; 4] = [
        ("Node", false, &|(node, _)| cell(one_line(&node.name))),
        ("Task", false, &|(_, of)| cell(one_line(&of.task))),
        ("Attempts", true, &|(_, of)| number_cell(of.count as f64, of.count.to_string())),
        ("Reason", false, &|(_, of)| long(one_line(&of.reason))),
    ];
    Table::new("Failed attempts", &all, &columns)
}

/// Nodes with their states, and how many are left out.
pub(super) fn nodes(document: &ClusterDocument) -> (Table, usize) {
    let slowest = slowest_shares(document);
    let stands_out =
        |node: &FleetNode| node.state != NodeState::Done || matches!(node.standing, Standing::Slow | Standing::Suspect);
    let all = document.nodes.len();
    let listed = document.nodes.iter().filter(|node| all <= MOST_LISTED || stands_out(node)).take(MOST_LISTED);
    let why = |node: &FleetNode| node.why.as_deref().map_or_else(String::new, one_line);
    let share = |node: &FleetNode| slowest.get(node.name.as_str()).map(|share| digits(share * 100.0));
    let columns: [Column<'_, FleetNode>; 6] = [
        ("Node", false, &|node| cell(one_line(&node.name))),
        ("State", false, &|node| cell(labels::state(node.state).to_owned())),
        ("Hardware type", false, &|node| cell(node.group.map_or_else(String::new, |group| group.to_string()))),
        ("Speed", false, &|node| cell(standing(node.standing).to_owned())),
        ("Slowest result, % of the median", true, &|node| cell(share(node).unwrap_or_default())),
        ("Why", false, &|node| long(why(node))),
    ];
    let shown = if listed.clone().all(|node| why(node).is_empty()) { 5 } else { 6 };
    let table = Table::new("Every node", listed, &columns[..shown]);
    let left_out = all - table.lines.len();
    (table, left_out)
}

pub(super) fn hpl(document: &ClusterDocument) -> Table {
    let flops = |rate: f64| number_cell(rate, quantity(rate, Unit::FlopPerSecond));
    let known = |rate: Option<f64>| rate.map_or_else(|| cell(labels::UNKNOWN.to_owned()), flops);
    let reason = |of: &ClusterHpl| long(of.reason.as_deref().map_or_else(|| "no result".to_owned(), one_line));
    let share = |of: &ClusterHpl, whole: Option<f64>| {
        share_cell(of.rate.zip(whole).map(|(rate, whole)| rate / whole).filter(|share| share.is_finite()))
    };
    let residual = |residual: f64| number_cell(residual, digits(residual));
    let columns: [Column<'_, ClusterHpl>; 11] = [
        ("Nodes", false, &|of| cell(counted(of.nodes.len() as u64, "node"))),
        ("N", true, &|of| number_cell(of.n as f64, of.n.to_string())),
        ("NB", true, &|of| number_cell(of.nb as f64, of.nb.to_string())),
        ("Grid", false, &|of| cell(format!("{} x {}", of.p, of.q))),
        ("Rate", true, &|of| of.rate.map_or_else(|| reason(of), flops)),
        ("Sum of FP64 peaks", true, &|of| known(of.peak)),
        ("Of peak", true, &|of| share(of, of.peak)),
        ("Sum of LINPACK results", true, &|of| known(of.linpack)),
        ("Of LINPACK results", true, &|of| share(of, of.linpack)),
        ("Scaled residual", true, &|of| of.residual.map_or_else(|| cell(String::new()), residual)),
        ("Which", false, &|of| long(some_of(&of.nodes, MOST_NAMES))),
    ];
    Table::new("HPL across nodes", &document.hpl, &columns)
}
