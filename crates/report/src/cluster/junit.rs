//! Nodes as `JUnit` XML for CI systems: a suite for each area, a case for each node that was measured in it. Slow and
//! suspect nodes are failures, nodes without a judgement are skipped. Nodes without results are in the suite `measured`.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::cluster::{ClusterDocument, FleetNode, NodeState, SlowNode, Standing};

use super::labels::{metric_name, passes, share};
use crate::formats::junit::{Case, Outcome, Suite, file};
use crate::grid::groups::grouped;
use model::number::percent;

/// The file in pieces, a suite each.
pub fn pieces(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    file(&format!("assay cluster {}", document.plan.name), suites(document))
}

fn suites(document: &ClusterDocument) -> Vec<Suite<'_>> {
    let nodes: HashMap<&str, &FleetNode> = document.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let slow: HashMap<&str, &SlowNode> = document.slow.iter().map(|slow| (slow.node.as_str(), slow)).collect();
    let suite = |name, cases| Suite { name, started: &document.plan.created, host: "", properties: Vec::new(), cases };
    let mut measured: HashSet<&str> = HashSet::new();
    let mut suites = Vec::new();
    for (area, metrics) in grouped(&document.distributions, |metric| Some(metric.area.as_str())) {
        let mut slowest: BTreeMap<&str, Option<f64>> = BTreeMap::new();
        for (metric, value) in metrics.iter().flat_map(|metric| metric.values.iter().map(move |value| (metric, value)))
        {
            let least = slowest.entry(&value.node).or_insert(None);
            *least = [*least, share(value, metric)].into_iter().flatten().reduce(f64::min);
        }
        measured.extend(slowest.keys());
        let cases = slowest.into_iter().map(|(node, slowest)| {
            let output = slowest.map(|share| format!("slowest result: {} of the median", percent(share)));
            case(node, area, judged(area, slow.get(node).copied(), nodes.get(node).copied()), output)
        });
        suites.push(suite(area, cases.collect()));
    }
    let without = document.nodes.iter().filter(|node| !measured.contains(node.name.as_str()));
    let without: Vec<Case<'_>> = without.map(|node| case(&node.name, "measured", unmeasured(node), None)).collect();
    if !without.is_empty() {
        suites.push(suite("measured", without));
    }
    suites
}

fn case<'a>(name: &'a str, area: &str, outcome: Outcome<'a>, output: Option<String>) -> Case<'a> {
    Case { name, class: format!("assay.cluster.{area}"), seconds: 0.0, outcome, output: output.into_iter().collect() }
}

/// The verdict on a node in an area.
fn judged<'a>(area: &str, slow: Option<&SlowNode>, node: Option<&FleetNode>) -> Outcome<'a> {
    let in_area = slow.filter(|slow| slow.areas.iter().any(|own| own == area));
    if let Some(slow) = in_area {
        let (kind, words) = match slow.standing {
            Standing::Suspect => ("suspect", "is suspected to be slow after one pass"),
            _ => ("slow", "is slow in two passes"),
        };
        let own = |experiment: &str| experiment.split('/').next() == Some(area) || experiment == format!("area:{area}");
        let deviations = slow.deviations.iter().filter(|deviation| own(&deviation.experiment));
        let lines = deviations.map(|deviation| {
            let what = metric_name(&deviation.experiment, &deviation.metric);
            format!("{what}: {} of the median", passes(&deviation.of_median))
        });
        let details = lines.chain(slow.causes.iter().map(|cause| format!("probable cause: {}", cause.text))).collect();
        return Outcome::Failed { kind, message: format!("{} {words} in {area}", slow.node), details };
    }
    match node.map(|node| node.standing) {
        Some(Standing::Unknown) | None => {
            Outcome::Skipped("too few nodes of its hardware, or too few results, to judge it")
        }
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
