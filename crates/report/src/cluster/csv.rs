//! Tidy CSV: one line per node, metric and pass, then one per pair of nodes, then those of HPL across nodes; in base units,
//! absent values as empty fields, harmless for spreadsheets. Lines are made one by one, since there may be a million.

use std::collections::HashMap;
use std::rc::Rc;

use model::cluster::{ClusterDocument, ClusterHpl, Distribution, FleetNode, PairMatrix, PairValue};
use model::unit::{Better, Unit};

use super::labels::of_median;
use crate::formats::csv::{line, text};

/// The columns. New ones are added at the end, so that a column keeps its index.
const COLUMNS: &str = "node state standing group area experiment metric unit better pass value median of_median limit \
                       efficiency to together at_once reason nodes measured";

/// The lines with their newlines, the heading first.
pub fn lines(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    let nodes: Known<'_> = Rc::new(document.nodes.iter().map(|node| (node.name.as_str(), node)).collect());
    let values = document.distributions.iter().flat_map(move |metric| of_metric(metric, Rc::clone(&nodes)));
    let pairs = document.pairs.iter().flat_map(|matrix| matrix.pairs.iter().map(move |pair| of_pair(matrix, pair)));
    let heading = std::iter::once(COLUMNS.replace(' ', ",") + "\n");
    heading.chain(values).chain(pairs).chain(document.hpl.iter().flat_map(of_hpl))
}

/// A line with these cells by their columns.
fn record(cells: &[(&str, String)]) -> String {
    let cell =
        |column| cells.iter().find(|(name, _)| *name == column).map_or_else(String::new, |(_, cell)| cell.clone());
    line(&COLUMNS.split(' ').map(cell).collect::<Vec<_>>())
}

type Known<'a> = Rc<HashMap<&'a str, &'a FleetNode>>;

fn of_metric<'a>(metric: &'a Distribution, nodes: Known<'a>) -> impl Iterator<Item = String> + 'a {
    let passes = metric.values.iter().flat_map(|node| {
        let efficiency = |pass: usize| node.efficiency.filter(|_| pass == 0);
        node.values.iter().enumerate().map(move |(pass, value)| (node, pass, *value, efficiency(pass)))
    });
    passes.map(move |(node, pass, value, efficiency)| {
        let known = nodes.get(node.node.as_str());
        record(&[
            ("node", node.node.clone()),
            ("state", text(known.map(|known| known.state))),
            ("standing", text(known.map(|known| known.standing))),
            ("group", metric.group.to_string()),
            ("area", metric.area.clone()),
            ("experiment", metric.experiment.clone()),
            ("metric", metric.metric.clone()),
            ("unit", metric.unit.to_string()),
            ("better", metric.better.to_string()),
            ("pass", (pass + 1).to_string()),
            ("value", value.to_string()),
            ("median", metric.median.to_string()),
            ("of_median", text(of_median(value, metric.median, metric.better))),
            ("limit", text(metric.limit)),
            ("efficiency", text(efficiency)),
            ("measured", text(known.and_then(|known| known.last.as_ref()))),
        ])
    })
}

/// The lines of a run of HPL: its rate or the reason for a missing one, and the known values to compare it with.
fn of_hpl(hpl: &ClusterHpl) -> Vec<String> {
    let ClusterHpl { n, nb, p, q, .. } = hpl;
    let share = hpl.rate.zip(hpl.peak).map(|(rate, peak)| rate / peak).filter(|share| share.is_finite());
    let values = [
        ("throughput", Unit::FlopPerSecond, Better::Higher, hpl.rate),
        ("residual", Unit::One, Better::Lower, hpl.residual),
        ("sum_of_peaks", Unit::FlopPerSecond, Better::Higher, hpl.peak),
        ("sum_of_own_linpack", Unit::FlopPerSecond, Better::Higher, hpl.linpack),
    ];
    let is_rate = |metric: &str| metric == "throughput";
    let shown = values.into_iter().filter(|(metric, .., value)| is_rate(metric) || value.is_some());
    let line = shown.map(|(metric, unit, better, value)| {
        record(&[
            ("area", "linpack".to_owned()),
            ("experiment", format!("hpl/n={n}/nb={nb}/p={p}/q={q}")),
            ("metric", metric.to_owned()),
            ("unit", unit.to_string()),
            ("better", better.to_string()),
            ("value", text(value)),
            ("efficiency", text(share.filter(|_| is_rate(metric)))),
            ("reason", text(hpl.reason.as_ref().filter(|_| is_rate(metric)))),
            ("nodes", hpl.nodes.join(" ")),
        ])
    });
    line.collect()
}

fn of_pair(matrix: &PairMatrix, pair: &PairValue) -> String {
    let share = pair.value.zip(matrix.median).and_then(|(value, median)| of_median(value, median, matrix.better));
    record(&[
        ("node", pair.from.clone()),
        ("area", "net".to_owned()),
        ("experiment", matrix.experiment.clone()),
        ("metric", matrix.metric.clone()),
        ("unit", matrix.unit.to_string()),
        ("better", matrix.better.to_string()),
        ("value", text(pair.value)),
        ("median", text(matrix.median)),
        ("of_median", text(share)),
        ("to", pair.to.clone()),
        ("together", matrix.together.to_string()),
        ("at_once", pair.at_once.to_string()),
        ("reason", text(pair.reason.as_ref())),
    ])
}
