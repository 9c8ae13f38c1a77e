//! Whether the nodes of a cluster are equal: certain only if nothing is missing, differs, varies too much or is disturbed too
//! much.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::{ClusterDocument, ClusterVerdict, FleetNode, NodeState, Problem, Standing};
use model::number::percent_whole;
use stats::fleet::ENOUGH_NODES;

use super::interference::INTERFERENCE;
use super::problems::{count, problem};

/// Facts that are listed where they differ, and leave nodes with equal results equal.
const SOFTWARE: [&str; 3] = ["kernel", "system", "microcode"];

/// Sets the verdict of a document and its doubts, by everything else in it.
pub fn conclude(document: &mut ClusterDocument) {
    document.doubts = doubts(document);
    document.verdict = if document.nodes.iter().any(|node| node.standing == Standing::Slow) {
        ClusterVerdict::Slow
    } else if document.doubts.is_empty() {
        ClusterVerdict::Equal
    } else {
        ClusterVerdict::Inconclusive
    };
}

fn doubts(document: &ClusterDocument) -> Vec<Problem> {
    let names = |is: &dyn Fn(&FleetNode) -> bool| -> Vec<String> {
        document.nodes.iter().filter(|node| is(node)).map(|node| node.name.clone()).collect()
    };
    let is_over = |node: &FleetNode| matches!(node.state, NodeState::Done | NodeState::Partly);
    let [lack, are] = [("lacks", "lack"), ("is", "are")]
        .map(|(one, many)| move |nodes: &[String]| if nodes.len() == 1 { one } else { many });
    let fewer = fewer_results(document);
    let mut doubts = Vec::new();
    let mut add = |code: &str, nodes: Vec<String>, words: &dyn Fn(&[String]) -> String| {
        if !nodes.is_empty() {
            doubts.push(problem(code, format!("{} {}", count(nodes.len()), words(&nodes)), nodes));
        }
    };
    let without = names(&|node| node.state != NodeState::Done || fewer.contains(node.name.as_str()));
    add("results_missing", without, &|nodes| format!("{} results", lack(nodes)));
    let suspects = names(&|node| node.standing == Standing::Suspect);
    add("suspects", suspects, &|nodes| format!("{} suspected to be slow", are(nodes)));
    let alone = names(&|node| is_over(node) && node.standing == Standing::Unknown);
    add("not_compared", alone, &|nodes| format!("{} not compared with nodes of the same hardware", are(nodes)));
    doubts.extend(too_wide(document));
    doubts.extend(document.problems.iter().filter(|problem| problem.code == INTERFERENCE).cloned());
    doubts.extend(differences(document));
    if document.nodes.is_empty() {
        doubts.push(problem("no_nodes", "the plan has no nodes".to_owned(), Vec::new()));
    }
    doubts
}

/// The nodes without a result that other nodes of their hardware have.
fn fewer_results(document: &ClusterDocument) -> BTreeSet<&str> {
    let mut fewer = BTreeSet::new();
    for metric in &document.distributions {
        let group = || document.nodes.iter().filter(|node| node.group == Some(metric.group));
        if (metric.values.len() as u64) < document.groups.get(metric.group as usize).map_or(0, |group| group.nodes) {
            let have: BTreeSet<&str> = metric.values.iter().map(|value| value.node.as_str()).collect();
            fewer.extend(group().map(|node| node.name.as_str()).filter(|name| !have.contains(name)));
        }
    }
    fewer
}

/// The areas and results in which nodes vary too much for a slow one to stand out.
fn too_wide(document: &ClusterDocument) -> Vec<Problem> {
    let area = |limit: &&model::cluster::AreaLimit| limit.limit < limit.needed;
    let area = document.area_limits.iter().filter(area).map(|limit| {
        let share = percent_whole(limit.limit);
        let text =
            format!("the nodes vary too much in {}: only a node below {share} of the median stands out", limit.area);
        problem("spread_too_wide", text, Vec::new())
    });
    let mut results: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for metric in document.distributions.iter().filter(|metric| metric.limit.is_none()) {
        if metric.n < ENOUGH_NODES as u64 {
            continue;
        }
        results.entry(&metric.area).or_default().push(&metric.experiment);
    }
    let results = results.into_values().map(|ids| {
        let more = if ids.len() > 1 { format!(" and {} more", ids.len() - 1) } else { String::new() };
        let text = format!("the nodes vary too much in {}{more}: none can stand out", ids[0]);
        problem("spread_too_wide", text, Vec::new())
    });
    area.chain(results).collect()
}

fn differences(document: &ClusterDocument) -> Option<Problem> {
    let of_hardware = || document.differences.iter().filter(|of| !SOFTWARE.contains(&of.fact.as_str()));
    let facts: BTreeSet<&str> = of_hardware().map(|of| of.fact.as_str()).collect();
    let nodes: BTreeSet<&String> = of_hardware().flat_map(|of| &of.nodes).collect();
    let first = facts.first()?.replace('_', " ");
    let more = if facts.len() > 1 { format!(" and {} more", facts.len() - 1) } else { String::new() };
    let text = format!("the nodes differ in {first}{more}");
    Some(problem("settings_differ", text, nodes.into_iter().cloned().collect()))
}
