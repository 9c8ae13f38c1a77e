//! Tidy CSV: one line per node, figure and pass, then one per pair of nodes; base units, absent facts are empty fields.
//! Quoted and made harmless for spreadsheets as [`crate::csv`] is. The lines come one by one: a million of them need no
//! memory.

use std::collections::HashMap;
use std::rc::Rc;

use model::cluster::{ClusterDocument, Distribution, FleetNode, PairMatrix, PairValue};

use super::words::of_median;
use crate::csv::line;

/// The columns. New ones come last, so that a column keeps its place.
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
];

/// The lines, the heading first, each with its end.
pub fn lines(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    let nodes: Known<'_> = Rc::new(document.nodes.iter().map(|node| (node.name.as_str(), node)).collect());
    let heading = line(&COLUMNS.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
    let values = document.distributions.iter().flat_map(move |figure| of_figure(figure, Rc::clone(&nodes)));
    let pairs = document.pairs.iter().flat_map(|matrix| matrix.pairs.iter().map(move |pair| of_pair(matrix, pair)));
    std::iter::once(heading).chain(values).chain(pairs)
}

/// Nodes by their names.
type Known<'a> = Rc<HashMap<&'a str, &'a FleetNode>>;

fn of_figure<'a>(figure: &'a Distribution, nodes: Known<'a>) -> impl Iterator<Item = String> + 'a {
    let passes = figure.values.iter().flat_map(|node| {
        let efficiency = |pass: usize| node.efficiency.filter(|_| pass == 0);
        node.values.iter().enumerate().map(move |(pass, value)| (node, pass, *value, efficiency(pass)))
    });
    passes.map(move |(node, pass, value, efficiency)| {
        let known = nodes.get(node.node.as_str());
        line(&[
            node.node.clone(),
            text(known.map(|known| known.state)),
            text(known.map(|known| known.standing)),
            figure.group.to_string(),
            figure.area.clone(),
            figure.experiment.clone(),
            figure.metric.clone(),
            figure.unit.to_string(),
            figure.better.to_string(),
            (pass + 1).to_string(),
            value.to_string(),
            figure.median.to_string(),
            text(of_median(value, figure.median, figure.better)),
            text(figure.limit),
            text(efficiency),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ])
    })
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
    ])
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
