//! The tables of a cluster's HTML report.

use model::cluster::{ClusterDocument, Deviation, NodeState, SlowNode, Standing};
use serde::Serialize;

use crate::cluster::labels::{self, metric_name, passes, slowest_shares, some_of, standing};
use crate::formats::escape::one_line;
use crate::html::text::capital;
use model::number::{counted, digits, percent, quantity};
use model::unit::Unit;

/// The most names in a cell.
const MOST_NAMES: usize = 12;
/// The most deviations of all slow nodes together.
const MOST_DEVIATIONS: usize = 500;
/// With more nodes than this, only outliers and nodes without results are listed.
const MOST_LISTED: usize = 20_000;

/// A table that can be sorted.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    title: String,
    /// The classes of its numeric columns.
    numeric: &'static str,
    columns: Vec<String>,
    lines: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Debug, Serialize)]
pub(super) struct Cell {
    text: String,
    /// The sort key, where it is not the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    long: bool,
}

/// A cell with text.
pub(super) fn cell(text: String) -> Cell {
    Cell { value: None, long: text.chars().count() > 28, text }
}

/// A long text, which may have several lines.
fn long(text: String) -> Cell {
    Cell { long: true, ..cell(text) }
}

/// A cell with a number.
pub(super) fn number_cell(value: f64, text: String) -> Cell {
    Cell { value: value.is_finite().then(|| value.to_string()), long: false, text }
}

/// A cell with a share; empty where it is unknown.
pub(super) fn share_cell(share: Option<f64>) -> Cell {
    share.map_or_else(|| cell(String::new()), |share| number_cell(share, percent(share)))
}

impl Table {
    pub(super) fn new(title: &str, columns: &[&str], numeric: &'static str, lines: Vec<Vec<Cell>>) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.to_owned(), numeric, columns, lines }
    }
}

/// Slow nodes, the slowest first, each with its worst metric.
pub(super) fn slow(document: &ClusterDocument) -> Table {
    let line = |slow: &SlowNode| {
        let worst = slow.deviations.first();
        let causes: Vec<String> = slow.causes.iter().map(|cause| one_line(&cause.text)).collect();
        let causes = if causes.is_empty() {
            "Its recorded settings match those of equal nodes.".to_owned()
        } else {
            capital(&causes.join(" "))
        };
        let areas: Vec<String> = slow.areas.iter().map(|area| labels::title(area)).collect();
        let more = match slow.deviations.len() {
            0 | 1 => String::new(),
            all => format!(" (worst of {all})"),
        };
        vec![
            cell(one_line(&slow.node)),
            cell(standing(slow.standing).to_owned()),
            cell(areas.join(", ")),
            long(worst.map_or_else(String::new, |worst| metric_name(&worst.experiment, &worst.metric) + &more)),
            of_median(worst),
            of_peak(worst),
            long(causes),
        ]
    };
    let columns =
        ["Node", "Standing", "Slow in", "Worst metric", "Of the median, by pass", "Of peak", "Probable cause"];
    Table::new("Slow and suspect nodes", &columns, "n5 n6", document.slow.iter().map(line).collect())
}

fn of_median(of: Option<&Deviation>) -> Cell {
    let Some((of, first)) = of.and_then(|of| Some((of, of.of_median.first()?))) else { return cell(String::new()) };
    number_cell(*first, passes(&of.of_median))
}

fn of_peak(of: Option<&Deviation>) -> Cell {
    of.and_then(|of| of.efficiency)
        .map_or_else(|| cell("\u{2013}".to_owned()), |share| number_cell(share, percent(share)))
}

/// The metrics in which slow nodes are outliers, and how many are left out.
pub(super) fn deviations(document: &ClusterDocument) -> (Table, usize) {
    let all = document.slow.iter().flat_map(|slow| slow.deviations.iter().map(move |of| (slow, of)));
    let lines = all.clone().take(MOST_DEVIATIONS).map(|(slow, of)| {
        vec![
            cell(one_line(&slow.node)),
            cell(metric_name(&of.experiment, &of.metric)),
            of_median(Some(of)),
            of_peak(Some(of)),
        ]
    });
    let columns = ["Node", "Metric", "Of the median, by pass", "Of peak"];
    let table = Table::new("Every metric in which they are outliers", &columns, "n3 n4", lines.collect());
    (table, all.count().saturating_sub(MOST_DEVIATIONS))
}

fn hardware_words(group: &model::cluster::Group) -> String {
    let facts = group.hardware.iter().map(|(name, value)| format!("{} {}", one_line(name), one_line(value)));
    facts.collect::<Vec<_>>().join(", ")
}

/// Groups of equal hardware.
pub(super) fn groups(document: &ClusterDocument) -> Table {
    let line = |of: &model::cluster::Group| {
        let nodes = document.nodes.iter().filter(|node| node.group == Some(of.id));
        let names: Vec<String> = nodes.map(|node| node.name.clone()).collect();
        vec![
            cell(of.id.to_string()),
            number_cell(of.nodes as f64, of.nodes.to_string()),
            long(hardware_words(of)),
            long(some_of(&names, MOST_NAMES)),
        ]
    };
    let columns = ["Group", "Nodes", "Hardware", "Which"];
    Table::new("Groups of equal hardware", &columns, "n2", document.groups.iter().map(line).collect())
}

/// Facts in which nodes differ from most of their group.
pub(super) fn differences(document: &ClusterDocument) -> Table {
    let line = |of: &model::cluster::Difference| {
        vec![
            cell(one_line(&of.fact)),
            cell(of.group.to_string()),
            long(one_line(&of.majority)),
            long(one_line(&of.value)),
            number_cell(of.nodes.len() as f64, of.nodes.len().to_string()),
            long(some_of(&of.nodes, MOST_NAMES)),
        ]
    };
    let columns = ["Fact", "Group", "Most nodes have", "These have", "Nodes", "Which"];
    let lines = document.differences.iter().map(line).collect();
    Table::new("Settings and facts in which nodes differ from most of their group", &columns, "n5", lines)
}

/// Nodes with their states, and how many are left out.
pub(super) fn nodes(document: &ClusterDocument) -> (Table, usize) {
    let slowest = slowest_shares(document);
    let stands_out = |node: &model::cluster::FleetNode| {
        node.state != NodeState::Done || matches!(node.standing, Standing::Slow | Standing::Suspect)
    };
    let all = document.nodes.len();
    let listed = document.nodes.iter().filter(|node| all <= MOST_LISTED || stands_out(node)).take(MOST_LISTED);
    let line = |node: &model::cluster::FleetNode| {
        let share = slowest.get(node.name.as_str()).map(|share| digits(share * 100.0));
        vec![
            cell(one_line(&node.name)),
            cell(labels::state(node.state).to_owned()),
            cell(node.group.map_or_else(String::new, |group| group.to_string())),
            cell(standing(node.standing).to_owned()),
            cell(share.unwrap_or_default()),
            long(node.why.as_deref().map_or_else(String::new, one_line)),
        ]
    };
    let mut lines: Vec<Vec<Cell>> = listed.map(line).collect();
    let left_out = all - lines.len();
    let mut columns = vec!["Node", "State", "Group", "Standing", "Slowest result, % of the median", "Why"];
    if lines.iter().all(|line| line[5].text.is_empty()) {
        columns.pop();
        for line in &mut lines {
            line.truncate(5);
        }
    }
    (Table::new("Every node", &columns, "n5", lines), left_out)
}

/// HPL across nodes.
pub(super) fn hpl(document: &ClusterDocument) -> Table {
    let line = |of: &model::cluster::ClusterHpl| {
        let value_of = |rate: Option<f64>| {
            rate.map_or_else(
                || cell("unknown".to_owned()),
                |rate| number_cell(rate, quantity(rate, Unit::FlopPerSecond)),
            )
        };
        let share = of.rate.zip(of.peak).map(|(rate, peak)| rate / peak).filter(|share| share.is_finite());
        let of_linpack = of.rate.zip(of.linpack).map(|(rate, sum)| rate / sum).filter(|share| share.is_finite());
        let rate = of.rate.map_or_else(
            || long(of.reason.as_deref().map_or_else(|| "no result".to_owned(), one_line)),
            |rate| number_cell(rate, quantity(rate, Unit::FlopPerSecond)),
        );
        vec![
            cell(counted(of.nodes.len() as u64, "node")),
            number_cell(of.n as f64, of.n.to_string()),
            number_cell(of.nb as f64, of.nb.to_string()),
            cell(format!("{} x {}", of.p, of.q)),
            rate,
            value_of(of.peak),
            share_cell(share),
            value_of(of.linpack),
            share_cell(of_linpack),
            of.residual.map_or_else(|| cell(String::new()), |residual| number_cell(residual, digits(residual))),
            long(some_of(&of.nodes, MOST_NAMES)),
        ]
    };
    let columns = [
        "Nodes",
        "N",
        "NB",
        "Grid",
        "Rate",
        "Sum of peaks, FP64",
        "Of peak",
        "Sum of own LINPACK",
        "Of own LINPACK",
        "Scaled residual",
        "Which",
    ];
    Table::new("HPL across nodes", &columns, "n2 n3 n5 n6 n7 n8 n9 n10", document.hpl.iter().map(line).collect())
}
