//! Nodes as `JUnit` XML for CI systems: a suite for each area, a case for each node that was measured in it. Slow and
//! suspect nodes are failures, nodes without a judgement are skipped. Nodes without results are in the suite `measured`, those
//! with a known fault in the suite `faults`. The suite `verdict` has one case: skipped if it is inconclusive.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::cluster::{ClusterDocument, ClusterVerdict, FleetNode, NodeState, SlowNode, Standing};

use super::labels::{metric_name, passes, share};
use crate::formats::junit::{Case, Outcome, Suite, file};
use crate::grid::groups::grouped;
use model::number::{counted, percent};

/// The file in pieces, a suite each.
pub fn pieces(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    file(&format!("assay cluster {}", document.plan.name), suites(document))
}

fn suites(document: &ClusterDocument) -> Vec<Suite<'_>> {
    let nodes: HashMap<&str, &FleetNode> = document.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let slow: HashMap<&str, &SlowNode> = document.slow.iter().map(|slow| (slow.node.as_str(), slow)).collect();
    let started = document.plan.first.as_ref().unwrap_or(&document.plan.created);
    let suite = |name, cases| Suite { name, started, host: "", properties: Vec::new(), cases };
    let mut measured: HashSet<&str> = HashSet::new();
    let mut suites = vec![suite("verdict", vec![verdict(document)])];
    for (area, metrics) in grouped(&document.distributions, |metric| Some(metric.area.as_str())) {
        let mut slowest: BTreeMap<&str, Option<f64>> = BTreeMap::new();
        for (metric, value) in metrics.iter().flat_map(|metric| metric.values.iter().map(move |value| (metric, value)))
        {
            let least = slowest.entry(&value.node).or_insert(None);
            *least = [*least, share(value, metric)].into_iter().flatten().reduce(f64::min);
        }
        measured.extend(slowest.keys());
        let is_wide = document.area_limits.iter().any(|limit| limit.area == area && limit.limit < limit.needed);
        let cases = slowest.into_iter().map(|(node, slowest)| {
            let (slow, known) = (slow.get(node).copied(), nodes.get(node).copied());
            let output = slowest.map(|share| format!("slowest result: {} of the median", percent(share)));
            let attempts = known.map_or_else(Vec::new, |node| failed_attempts(node, Some(area)));
            let output = output.into_iter().chain(attempts).collect();
            let seconds = known.and_then(|node| node.seconds.get(area)).copied().unwrap_or_default();
            Case { seconds, output, ..case(node, area, judged(area, slow, known, is_wide)) }
        });
        suites.push(suite(area, cases.collect()));
    }
    let without = document.nodes.iter().filter(|node| !measured.contains(node.name.as_str())).map(|node| {
        let (seconds, output) = (node.seconds.values().sum(), failed_attempts(node, None));
        Case { seconds, output, ..case(&node.name, "measured", unmeasured(node)) }
    });
    let faulty = document.slow.iter().filter(|slow| slow.areas.is_empty()).map(|slow| {
        let outcome =
            failure(slow, "suspect", format!("{} has a fault, but does not stand out", slow.node), Vec::new());
        case(&slow.node, "faults", outcome)
    });
    for (name, cases) in [("measured", without.collect::<Vec<_>>()), ("faults", faulty.collect())] {
        suites.extend((!cases.is_empty()).then(|| suite(name, cases)));
    }
    suites
}

fn case<'a>(name: &'a str, area: &str, outcome: Outcome<'a>) -> Case<'a> {
    Case { name, class: format!("assay.cluster.{area}"), seconds: 0.0, outcome, output: Vec::new() }
}

fn verdict(document: &ClusterDocument) -> Case<'_> {
    let doubts: Vec<String> = document.doubts.iter().map(|doubt| doubt.text.clone()).collect();
    let slow = || format!("{} slow", counted(document.drain.len() as u64, "node"));
    let outcome = match document.verdict {
        ClusterVerdict::Equal => Outcome::Passed,
        ClusterVerdict::Slow => Outcome::Failed { kind: "slow", message: slow(), details: document.drain.clone() },
        ClusterVerdict::Inconclusive => Outcome::Skipped("inconclusive"),
    };
    Case { output: doubts, ..case("cluster", "verdict", outcome) }
}

/// The failed attempts at a node's tasks of an area, or at all of its tasks.
fn failed_attempts(node: &FleetNode, area: Option<&str>) -> Vec<String> {
    let own = node.failed_attempts.iter().filter(|of| area.is_none_or(|area| of.area == area));
    own.map(|of| format!("{} at '{}' failed: {}", counted(of.count, "attempt"), of.task, of.reason)).collect()
}

fn failure<'a>(slow: &SlowNode, kind: &'static str, message: String, mut details: Vec<String>) -> Outcome<'a> {
    details.extend(slow.causes.iter().map(|cause| format!("probable cause: {}", cause.text)));
    Outcome::Failed { kind, message, details }
}

/// The verdict on a node in an area.
fn judged<'a>(area: &str, slow: Option<&SlowNode>, node: Option<&FleetNode>, is_wide: bool) -> Outcome<'a> {
    let in_area = slow.filter(|slow| slow.areas.iter().any(|own| own == area));
    if let Some(slow) = in_area {
        let (kind, words) = match slow.standing {
            Standing::Suspect => ("suspect", "is suspected to be slow"),
            _ => ("slow", "is slow in two passes"),
        };
        let own = |experiment: &str| experiment.split('/').next() == Some(area) || experiment == format!("area:{area}");
        let deviations = slow.deviations.iter().filter(|deviation| own(&deviation.experiment));
        let lines = deviations.map(|deviation| {
            let what = metric_name(&deviation.experiment, &deviation.metric);
            format!("{what}: {} of the median", passes(&deviation.of_median))
        });
        return failure(slow, kind, format!("{} {words} in {area}", slow.node), lines.collect());
    }
    match node.map(|node| node.standing) {
        Some(Standing::Unknown) | None => {
            Outcome::Skipped("too few nodes of its hardware, or too few results, to judge it")
        }
        Some(_) if is_wide => Outcome::Skipped("the nodes vary too much for a slow one to stand out"),
        Some(_) => Outcome::Passed,
    }
}

/// The verdict on a node without results.
fn unmeasured(node: &FleetNode) -> Outcome<'_> {
    let why = node.why.as_deref();
    match node.state {
        NodeState::Failed => {
            let message = why.unwrap_or("every task failed").to_owned();
            Outcome::Failed { kind: "failed", details: vec![message.clone()], message }
        }
        NodeState::Running => Outcome::Skipped(why.unwrap_or("a worker is measuring it")),
        NodeState::Waiting => Outcome::Skipped(why.unwrap_or("no worker has taken it yet")),
        NodeState::Done | NodeState::Partly => Outcome::Skipped(why.unwrap_or("its results have no value")),
    }
}
