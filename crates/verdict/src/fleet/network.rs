//! Results between nodes and of HPL across them, and the paths of each node as values of that node.

use std::collections::BTreeMap;

use model::cluster::{ClusterHpl, Outcome, OutcomeStatus, PairMatrix, PairValue, Work};
use model::experiment::Area;
use model::unit::Better;
use stats::{Interval, Observations};

use super::results::{Between, Catalogue, Measured, MetricKey, NodeResults, OwnValue};
use crate::expectation::JudgedValue;

/// Adds the median over the paths to each node, and over those from it, to its values. As a second pass counts the better
/// of the medians over even and over odd rounds: a lasting fault is in both.
pub(super) fn add_paths(nodes: &mut [NodeResults], catalogue: &mut Catalogue) {
    let index: BTreeMap<&str, usize> = nodes.iter().enumerate().map(|(node, of)| (of.name.as_str(), node)).collect();
    let mut paths: BTreeMap<(usize, usize), Vec<(f64, bool, u64)>> = BTreeMap::new();
    let all = nodes.iter().enumerate().flat_map(|(from, node)| node.between.iter().map(move |between| (from, between)));
    for (from, between) in all {
        let (Ok((key, unit, better, value)), Some(to)) = (&between.value, index.get(between.to.as_str())) else {
            continue;
        };
        for (direction, node) in [("inbound", *to), ("outbound", from)] {
            let together = if between.together { "-together" } else { "" };
            let benchmark = key.experiment.strip_prefix("net/").unwrap_or(&key.experiment);
            let experiment = format!("net/{direction}{together}/{benchmark}");
            let key = MetricKey { experiment, metric: key.metric.clone() };
            let metric = catalogue.place(key, Area::Net, *unit, *better);
            paths.entry((node, metric)).or_default().push((*value, between.round % 2 == 1, between.meaning));
        }
    }
    for ((node, metric), values) in paths {
        let better = catalogue.metrics[metric].3;
        let measured = |value| Measured { metric, value, efficiency: None };
        let half = |odd: bool| {
            let of_half = values.iter().filter(|(_, is_odd, _)| *is_odd == odd);
            middle(of_half.map(|(value, ..)| *value).collect(), better)
        };
        let better_half = half(false).zip(half(true)).and_then(|(even, odd)| middle(vec![even, odd], better));
        nodes[node].second.extend(better_half.map(measured));
        let meaning = values[0].2;
        let values: Vec<f64> = values.into_iter().map(|(value, ..)| value).collect();
        let interval = Observations::new(&values).and_then(|values| Interval::of_median(&values));
        let judged = |value| Some(JudgedValue { value, interval: interval?.bounds, is_low: false });
        let own = |value| OwnValue { pass: 1, meaning, judged: judged(value) };
        let of_all = middle(values, better);
        nodes[node].own.extend(of_all.map(|value| (metric, own(value))));
        nodes[node].first.extend(of_all.map(measured));
    }
}

/// The median, or the better one of two in the middle: the other path may be slow by its peer.
fn middle(mut values: Vec<f64>, better: Better) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let place = match better {
        Better::Higher => values.len() / 2,
        Better::Lower => values.len().saturating_sub(1) / 2,
    };
    values.get(place).copied()
}

/// The matrices of all results between nodes. A pair that failed has its reason in each of them.
pub(super) fn pairs(nodes: &[NodeResults]) -> Vec<PairMatrix> {
    let mut matrices: BTreeMap<(bool, String, String), PairMatrix> = BTreeMap::new();
    let all = || nodes.iter().flat_map(|node| node.between.iter().map(move |between| (node.name.as_str(), between)));
    for (_, between) in all() {
        let Ok((key, unit, better, _)) = &between.value else { continue };
        let place = (between.together, key.experiment.clone(), key.metric.clone());
        matrices.entry(place).or_insert_with(|| PairMatrix {
            experiment: key.experiment.clone(),
            metric: key.metric.clone(),
            unit: *unit,
            better: *better,
            together: between.together,
            median: None,
            pairs: Vec::new(),
        });
    }
    for (from, between) in all() {
        for matrix in matrices.values_mut().filter(|matrix| matrix.together == between.together) {
            matrix.pairs.extend(pair(from, between, matrix));
        }
    }
    let mut matrices: Vec<PairMatrix> = matrices.into_values().collect();
    for matrix in &mut matrices {
        let values: Vec<f64> = matrix.pairs.iter().filter_map(|pair| pair.value).collect();
        matrix.median = Observations::new(&values).map(|values| values.median());
    }
    matrices
}

fn pair(from: &str, between: &Between, matrix: &PairMatrix) -> Option<PairValue> {
    let (value, reason) = match &between.value {
        Ok((key, _, _, value)) if key.experiment == matrix.experiment && key.metric == matrix.metric => {
            (Some(*value), None)
        }
        Ok(_) => return None,
        Err(reason) => (None, Some(reason.clone())),
    };
    Some(PairValue { from: from.to_owned(), to: between.to.clone(), value, at_once: between.at_once, reason })
}

pub(super) fn hpl(nodes: &[NodeResults]) -> Vec<ClusterHpl> {
    let known: BTreeMap<&str, &NodeResults> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    nodes.iter().flat_map(|node| &node.hpl).filter_map(|outcome| one_hpl(outcome, &known)).collect()
}

fn one_hpl(outcome: &Outcome, known: &BTreeMap<&str, &NodeResults>) -> Option<ClusterHpl> {
    let Work::Hpl(task) = &outcome.task.work else { return None };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts that HPL printed")]
    let count = |name: &str| outcome.value(name).unwrap_or(0.0) as u64;
    let sum = |of: fn(&NodeResults) -> Option<f64>| {
        task.nodes.iter().map(|node| known.get(node.as_str()).and_then(|node| of(node))).sum::<Option<f64>>()
    };
    let rate = outcome.value("flop_per_s").filter(|_| outcome.status == OutcomeStatus::Ok);
    Some(ClusterHpl {
        nodes: task.nodes.clone(),
        n: count("n"),
        nb: count("nb"),
        p: count("p"),
        q: count("q"),
        rate,
        residual: outcome.value("residual"),
        peak: sum(|node| node.peak),
        linpack: sum(|node| node.linpack),
        reason: rate.is_none().then(|| outcome.reason.clone().unwrap_or_else(|| "it printed no rate".to_owned())),
    })
}
