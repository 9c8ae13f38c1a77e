//! Which of many equal nodes are slow: by single results ([`Spread`], the rule of cluster operators), and by the results of
//! an area together (`combined`), since single ones overlook a node that is a tenth slower in everything. One pass makes a
//! suspect. A node is slow if it is low in a second pass as well, and on average over both. The change of healthy nodes that
//! were measured again alongside it is subtracted. A node that is low again without being confirmed stays a suspect.

mod combined;
mod spread;

use combined::combine;
use spread::spread;
pub use spread::{ENOUGH_NODES, Sort, Spread, TooWide};

use crate::observations::median;
use crate::summary::Better;

/// Nodes that chance may make low twice, for a single result to count alone. If k of n nodes were low once and not
/// again, the chance is k / n, and k^2 / n nodes are low twice by chance. So a result that interference slows now and
/// then accuses only nodes that are lower than that.
const CHANCE: f64 = 0.005;
/// Huber's constant: 95 % of a mean's efficiency for normal data.
const HUBER: f64 = 1.345;
/// Steps of the estimate; each removes most of the remaining error, and a tenth of the noise is enough.
const STEPS: u32 = 8;
/// The least scale of a result, as a share of its area's typical scale: at most four times its weight, so that one that
/// never varies (a cloud's limit of a disk) does not decide alone.
const LEAST_OF_TYPICAL: f64 = 0.5;
/// Nodes from which on only a result's own spread counts. In smaller groups the typical spread of its area has the
/// weight of the missing nodes, since four values can agree by chance.
const KNOWN_BY_NODES: f64 = 20.0;

/// One result over a group of equal nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupResult {
    /// The area it belongs to, as a number from 0.
    pub area: usize,
    /// Its class.
    pub sort: Sort,
    /// Which values are better.
    pub better: Better,
    /// Each node's value in the first pass.
    pub first: Vec<Option<f64>>,
    /// Values of a second pass: node and value, each node at most once.
    pub second: Vec<(usize, f64)>,
}

/// The subject of a piece of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The results of an area together.
    Area(usize),
    /// A single result.
    Result(usize),
}

/// Evidence that a node is slow.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its subject.
    pub subject: Subject,
    /// The node's value over the group's median, by pass; below 1 is worse.
    pub of_median: Vec<f64>,
    /// Below this it stood out in the first pass.
    pub limit: f64,
    /// Whether a second pass confirms it.
    pub confirmed: bool,
    /// Whether the node is not low in a second pass.
    pub refuted: bool,
}

/// The judgement of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStanding {
    /// Nothing stands out, or a second pass did not confirm it.
    Healthy,
    /// It stands out in the only pass, or is low in a second one as well without being confirmed.
    Suspect,
    /// It is low in two passes.
    Slow,
    /// It has too few equals, or no results.
    Unknown,
}

/// A node's judgement and evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeVerdict {
    /// The judgement.
    pub standing: NodeStanding,
    /// The evidence, the lowest first, without what a second pass refuted.
    pub evidence: Vec<Evidence>,
}

/// The judgement of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetVerdict {
    /// Each result over the nodes; `None` without values, or with one that is not a positive number.
    pub spreads: Vec<Option<Spread>>,
    /// For each area, the ratio to the median below which a node stands out by all results together; `None` for too few nodes.
    pub areas: Vec<Option<f64>>,
    /// The nodes.
    pub nodes: Vec<NodeVerdict>,
}

/// Judges a group of equal nodes by their results.
pub fn judge_fleet(nodes: usize, results: &[GroupResult]) -> FleetVerdict {
    let present = |result: &GroupResult| result.first.iter().flatten().copied().collect::<Vec<f64>>();
    let mut spreads: Vec<_> =
        results.iter().map(|result| spread(&present(result), result.better, result.sort)).collect();
    widen(results, &mut spreads);
    let ratios: Vec<Ratios> =
        results.iter().zip(&spreads).map(|(result, spread)| Ratios::new(result, spread.as_ref(), nodes)).collect();
    let mut against: Vec<Vec<Evidence>> = vec![Vec::new(); nodes];
    let count = results.iter().map(|result| result.area + 1).max().unwrap_or(0);
    let mut areas = vec![None; count];
    if nodes >= ENOUGH_NODES {
        for (area, limit) in areas.iter_mut().enumerate() {
            let (of_area, its): (Vec<usize>, Vec<&Ratios>) =
                ratios.iter().enumerate().filter(|(index, _)| results[*index].area == area).unzip();
            let Some(first) = of_area.first() else { continue };
            *limit = together(area, results[*first].sort, count, &its, &mut against);
        }
        for (index, (spread, ratios)) in spreads.iter().zip(&ratios).enumerate() {
            if let Some(spread) = spread {
                alone(index, results[index].sort, spread, ratios, &mut against);
            }
        }
    }
    let measured = |node: usize| ratios.iter().any(|ratios| ratios.first.get(node).copied().flatten().is_some());
    let verdicts = against.into_iter().enumerate();
    let nodes = verdicts.map(|(node, found)| verdict(found, nodes >= ENOUGH_NODES && measured(node))).collect();
    FleetVerdict { spreads, areas, nodes }
}

/// The logarithms of each node's ratio to the group's median, inverted for costs so that less is worse.
struct Ratios {
    /// The spread over nodes.
    scale: f64,
    first: Vec<Option<f64>>,
    second: Vec<(usize, f64)>,
}

impl Ratios {
    fn new(result: &GroupResult, spread: Option<&Spread>, nodes: usize) -> Self {
        let Some(spread) = spread else { return Self { scale: 1.0, first: vec![None; nodes], second: Vec::new() } };
        let logarithm = |value: f64| spread.ratio(value).map(f64::ln);
        let mut first: Vec<Option<f64>> = result.first.iter().map(|value| value.and_then(logarithm)).collect();
        first.resize(nodes, None);
        let known = |(node, value): &(usize, f64)| Some((*node, logarithm(*value)?)).filter(|(node, _)| *node < nodes);
        Self { scale: spread.scale, first, second: result.second.iter().filter_map(known).collect() }
    }
}

/// Widens the limits of small groups towards the typical spread of the area.
fn widen(results: &[GroupResult], spreads: &mut [Option<Spread>]) {
    let typical: Vec<Option<f64>> = results
        .iter()
        .map(|result| {
            let of_area = results.iter().zip(spreads.iter()).filter(|(other, _)| other.area == result.area);
            let scales: Vec<f64> = of_area.filter_map(|(_, spread)| Some(spread.as_ref()?.scale)).collect();
            (!scales.is_empty()).then(|| median(&scales))
        })
        .collect();
    for ((result, spread), typical) in results.iter().zip(spreads).zip(typical) {
        if let (Some(spread), Some(typical)) = (spread, typical) {
            let own = (spread.n as f64 / KNOWN_BY_NODES).min(1.0);
            let scale = (own * spread.scale * spread.scale + (1.0 - own) * typical * typical).sqrt();
            spread.set_limit(scale.max(spread.scale), result.sort);
        }
    }
}

/// Adds the evidence of an area's results together; returns the ratio to the median below which a node stands out.
fn together(area: usize, sort: Sort, areas: usize, results: &[&Ratios], against: &mut [Vec<Evidence>]) -> Option<f64> {
    let scales: Vec<f64> = results.iter().map(|result| result.scale).collect();
    let firsts: Vec<&[Option<f64>]> = results.iter().map(|result| result.first.as_slice()).collect();
    let first = middles(&firsts, &scales, against.len());
    let combined = combine(&first, sort, areas)?;
    let limit = (combined.screen - combined.centre).exp();
    let least = 1.0 - sort.least_drop();
    let again: Vec<Vec<Option<f64>>> = results.iter().map(|result| spread_out(&result.second, against.len())).collect();
    let again: Vec<&[Option<f64>]> = again.iter().map(Vec::as_slice).collect();
    let second = middles(&again, &scales, against.len());
    let stands_out = |node: usize| first[node].is_some_and(|value| value < combined.screen);
    let drift = drift(&first, &second, stands_out);
    for node in (0..against.len()).filter(|node| stands_out(*node)) {
        let Some(low) = first[node].map(|value| value - combined.centre) else { continue };
        let low_again = second[node].map(|value| value - combined.centre - drift);
        let confirmed = low_again
            .is_some_and(|again| again.exp() < least && f64::midpoint(low, again) < combined.limit - combined.centre);
        against[node].push(Evidence {
            subject: Subject::Area(area),
            of_median: std::iter::once(low).chain(low_again).map(f64::exp).collect(),
            limit,
            confirmed,
            refuted: low_again.is_some_and(|again| again.exp() >= least),
        });
    }
    Some(limit)
}

/// The evidence of a single result.
fn alone(index: usize, sort: Sort, spread: &Spread, ratios: &Ratios, against: &mut [Vec<Evidence>]) {
    let Ok(limit) = spread.limit_ratio else { return };
    let stands_out = |node: usize| ratios.first[node].is_some_and(|value| value.exp() < limit);
    let second = spread_out(&ratios.second, against.len());
    let drift = drift(&ratios.first, &second, stands_out);
    let again = |node: usize| second[node].map(|value| (value - drift).exp());
    // Nodes that were low once and not again: they show how often chance makes a node low.
    let was_chance = |node: &usize| stands_out(*node) && again(*node).is_some_and(|again| again >= limit);
    let cleared: Vec<f64> =
        (0..against.len()).filter(was_chance).filter_map(|node| ratios.first[node].map(f64::exp)).collect();
    for node in (0..against.len()).filter(|node| stands_out(*node)) {
        let Some(low) = ratios.first[node].map(f64::exp) else { continue };
        let low_again = again(node);
        // It must be as far off again, and the result must not be low by chance that often.
        let confirmed = low_again.is_some_and(|again| {
            let refuted = cleared.iter().filter(|once| **once <= low.max(again)).count() as f64;
            again < limit && refuted * refuted <= CHANCE * against.len() as f64
        });
        against[node].push(Evidence {
            subject: Subject::Result(index),
            of_median: std::iter::once(low).chain(low_again).collect(),
            limit,
            confirmed,
            refuted: low_again.is_some_and(|again| again >= 1.0 - sort.least_drop()),
        });
    }
}

fn spread_out(values: &[(usize, f64)], nodes: usize) -> Vec<Option<f64>> {
    let mut out = vec![None; nodes];
    for (node, value) in values {
        out[*node] = Some(*value);
    }
    out
}

/// Each node's centre over its results, if it has at least half of the results that any node has.
fn middles(results: &[&[Option<f64>]], scales: &[f64], nodes: usize) -> Vec<Option<f64>> {
    let held: Vec<usize> = (0..results.len()).filter(|one| results[*one].iter().any(Option::is_some)).collect();
    let scales_of_held: Vec<f64> = held.iter().map(|one| scales[*one]).collect();
    let least = if held.is_empty() { 1.0 } else { median(&scales_of_held) * LEAST_OF_TYPICAL };
    let middle = |node: usize| {
        let known = held.iter().filter_map(|one| Some((results[*one][node]?, scales[*one].max(least))));
        let values: Vec<(f64, f64)> = known.collect();
        (!values.is_empty() && values.len() * 2 >= held.len()).then(|| location(&values))
    };
    (0..nodes).map(middle).collect()
}

/// The centre of (value, scale) pairs: Huber's estimate of location (P. J. Huber, "Robust estimation of a location
/// parameter", Annals of Mathematical Statistics 35, 1964), from the median on. Near values count by their precision,
/// far ones ever less, so that neither a result that always varies nor one that is grossly off decides.
fn location(values: &[(f64, f64)]) -> f64 {
    let mut middle = median(&values.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    for _ in 0..STEPS {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (value, scale) in values {
            let away = ((value - middle) / scale).abs();
            let weight = (HUBER / away.max(HUBER)) / (scale * scale);
            sum += weight * value;
            weights += weight;
        }
        middle = sum / weights;
    }
    middle
}

/// By how much healthy nodes were slower in the second pass than in the first, as a logarithm. Never above 0: if they
/// were faster, that is evidence against no node.
fn drift(first: &[Option<f64>], second: &[Option<f64>], stands_out: impl Fn(usize) -> bool) -> f64 {
    let controls = (0..first.len()).filter(|node| !stands_out(*node));
    let changes: Vec<f64> = controls.filter_map(|node| Some(second[node]? - first[node]?)).collect();
    if changes.is_empty() { 0.0 } else { median(&changes).min(0.0) }
}

fn verdict(found: Vec<Evidence>, is_measured: bool) -> NodeVerdict {
    let is_slow = found.iter().any(|one| one.confirmed);
    // What leaves a node a suspect is no evidence against one that is slow in something else.
    let counts = |one: &Evidence| one.confirmed || one.of_median.len() == 1 || !(is_slow || one.refuted);
    let mut evidence: Vec<Evidence> = found.into_iter().filter(counts).collect();
    evidence.sort_by(|a, b| a.of_median[0].total_cmp(&b.of_median[0]));
    let standing = if is_slow {
        NodeStanding::Slow
    } else if !evidence.is_empty() {
        NodeStanding::Suspect
    } else if is_measured {
        NodeStanding::Healthy
    } else {
        NodeStanding::Unknown
    };
    NodeVerdict { standing, evidence }
}

#[cfg(test)]
mod tests;
