//! Tidy CSV: one line per node, metric and pass, then one per pair of nodes, then those of HPL across nodes; in base units,
//! absent values as empty fields, harmless for spreadsheets. Lines are made one by one, since there may be a million.

use std::collections::HashMap;
use std::rc::Rc;

use model::cluster::{ClusterDocument, ClusterHpl, Distribution, FleetNode, PairMatrix, PairValue};
use model::unit::{Better, Unit};

use super::labels::of_median;
use crate::formats::csv::line;

/// The columns. New ones are added at the end, so that a column keeps its index.
const COLUMNS: &[&str] = &[
    "node",
    "state",
    "standing",
    "group",
    "area",
    "experiment",
    "metric",
    "unit",
    "better",
    "pass",
    "value",
    "median",
    "of_median",
    "limit",
    "efficiency",
    "to",
    "together",
    "at_once",
    "reason",
    "nodes",
];

/// The lines with their newlines, the heading first.
pub fn lines(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    let nodes: Known<'_> = Rc::new(document.nodes.iter().map(|node| (node.name.as_str(), node)).collect());
    let heading = line(&COLUMNS.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
    let values = document.distributions.iter().flat_map(move |metric| of_metric(metric, Rc::clone(&nodes)));
    let pairs = document.pairs.iter().flat_map(|matrix| matrix.pairs.iter().map(move |pair| of_pair(matrix, pair)));
    std::iter::once(heading).chain(values).chain(pairs).chain(document.hpl.iter().flat_map(of_hpl))
}

/// Nodes by their names.
type Known<'a> = Rc<HashMap<&'a str, &'a FleetNode>>;

fn of_metric<'a>(metric: &'a Distribution, nodes: Known<'a>) -> impl Iterator<Item = String> + 'a {
    let passes = metric.values.iter().flat_map(|node| {
        let efficiency = |pass: usize| node.efficiency.filter(|_| pass == 0);
        node.values.iter().enumerate().map(move |(pass, value)| (node, pass, *value, efficiency(pass)))
    });
    passes.map(move |(node, pass, value, efficiency)| {
        let known = nodes.get(node.node.as_str());
        line(&[
            node.node.clone(),
            text(known.map(|known| known.state)),
            text(known.map(|known| known.standing)),
            metric.group.to_string(),
            metric.area.clone(),
            metric.experiment.clone(),
            metric.metric.clone(),
            metric.unit.to_string(),
            metric.better.to_string(),
            (pass + 1).to_string(),
            value.to_string(),
            metric.median.to_string(),
            text(of_median(value, metric.median, metric.better)),
            text(metric.limit),
            text(efficiency),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ])
    })
}

/// The lines of a run of HPL: its rate or the reason for a missing one, and the known values to compare it with.
fn of_hpl(hpl: &ClusterHpl) -> Vec<String> {
    let ClusterHpl { n, nb, p, q, .. } = hpl;
    let share = hpl.rate.zip(hpl.peak).map(|(rate, peak)| rate / peak).filter(|share| share.is_finite());
    let of = |metric: &str, unit: Unit, better: Better, value: Option<f64>| {
        let is_rate = metric == "throughput";
        let mut cells = vec![String::new(); COLUMNS.len()];
        let named = [
            ("area", "linpack".to_owned()),
            ("experiment", format!("hpl/n={n}/nb={nb}/p={p}/q={q}")),
            ("metric", metric.to_owned()),
            ("unit", unit.to_string()),
            ("better", better.to_string()),
            ("value", text(value)),
            ("efficiency", text(share.filter(|_| is_rate))),
            ("reason", text(hpl.reason.as_ref().filter(|_| is_rate))),
            ("nodes", hpl.nodes.join(" ")),
        ];
        for (column, cell) in named {
            if let Some(place) = COLUMNS.iter().position(|known| *known == column) {
                cells[place] = cell;
            }
        }
        line(&cells)
    };
    let others = [
        of("residual", Unit::One, Better::Lower, hpl.residual),
        of("sum_of_peaks", Unit::FlopPerSecond, Better::Higher, hpl.peak),
        of("sum_of_own_linpack", Unit::FlopPerSecond, Better::Higher, hpl.linpack),
    ];
    let known = [hpl.residual, hpl.peak, hpl.linpack];
    let others = others.into_iter().zip(known).filter_map(|(line, value)| value.map(|_| line));
    std::iter::once(of("throughput", Unit::FlopPerSecond, Better::Higher, hpl.rate)).chain(others).collect()
}

fn of_pair(matrix: &PairMatrix, pair: &PairValue) -> String {
    let share = pair.value.zip(matrix.median).and_then(|(value, median)| of_median(value, median, matrix.better));
    line(&[
        pair.from.clone(),
        String::new(),
        String::new(),
        String::new(),
        "net".to_owned(),
        matrix.experiment.clone(),
        matrix.metric.clone(),
        matrix.unit.to_string(),
        matrix.better.to_string(),
        String::new(),
        text(pair.value),
        text(matrix.median),
        text(share),
        String::new(),
        String::new(),
        pair.to.clone(),
        matrix.together.to_string(),
        pair.at_once.to_string(),
        text(pair.reason.as_ref()),
        String::new(),
    ])
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
