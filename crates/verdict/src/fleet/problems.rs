//! Problems of a cluster's results: what failed, and what prevents a judgement.

use std::collections::BTreeMap;

use model::cluster::{Group, NodeState, Plan, Problem};
use stats::fleet::ENOUGH_NODES;

use super::results::NodeResults;

/// How far a node's clock may be from the file system's, in seconds, before times in its documents mislead.
const SKEWED: f64 = 5.0;

pub(super) fn problems(
    plan: &Plan,
    nodes: &[(NodeState, &NodeResults)],
    groups: &[Group],
    members: &[Vec<&str>],
) -> Vec<Problem> {
    let results: Vec<&NodeResults> = nodes.iter().map(|(_, node)| *node).collect();
    let mut problems = Vec::new();
    problems.extend(never_came_up(nodes));
    problems.extend(versions(plan, &results));
    problems.extend(results.iter().flat_map(|node| {
        let of = |(path, why): &(String, String)| {
            problem("broken_result", format!("'{path}' cannot be read: {why}"), vec![node.name.clone()])
        };
        node.broken.iter().map(of)
    }));
    problems.extend(without(&results));
    problems.extend(failed_rows(&results));
    problems.extend(skew(&results));
    problems.extend(shared_machines(&results));
    problems.extend(hardware(groups, members));
    problems
}

fn problem(code: &str, text: String, nodes: Vec<String>) -> Problem {
    Problem { code: code.to_owned(), text, nodes }
}

fn by_key<'a, K: Ord, I: IntoIterator<Item = K>>(
    nodes: &[&'a NodeResults],
    keys: impl Fn(&'a NodeResults) -> I,
) -> BTreeMap<K, Vec<String>> {
    let mut found: BTreeMap<K, Vec<String>> = BTreeMap::new();
    for node in nodes {
        for key in keys(node) {
            found.entry(key).or_default().push(node.name.clone());
        }
    }
    found
}

/// Nodes of which nothing is known, while another node is done.
fn never_came_up(nodes: &[(NodeState, &NodeResults)]) -> Option<Problem> {
    let any_done = nodes.iter().any(|(state, _)| matches!(state, NodeState::Done | NodeState::Partly));
    let silent = |(state, node): &&(NodeState, &NodeResults)| {
        let over = *state == NodeState::Failed || (any_done && *state == NodeState::Waiting);
        over && node.facts.is_none() && node.ok == 0
    };
    let silent: Vec<String> = nodes.iter().filter(silent).map(|(_, node)| node.name.clone()).collect();
    (!silent.is_empty()).then(|| {
        let text = format!("{} never reported anything", count(silent.len(), "node"));
        problem("never_came_up", text, silent)
    })
}

fn versions(plan: &Plan, nodes: &[&NodeResults]) -> Vec<Problem> {
    let version = |program: &model::document::Program| {
        format!("{} ({})", program.version, program.git.as_deref().unwrap_or("no commit known"))
    };
    let own = version(&plan.program);
    let other = |node: &NodeResults| node.program.as_ref().map(version).filter(|theirs| *theirs != own);
    let sentence = |(theirs, nodes): (String, Vec<String>)| {
        let count = count(nodes.len(), "node");
        let text = format!(
            "{count} measured with assay {theirs}, the plan was made with {own}: their results may mean something else"
        );
        problem("mixed_versions", text, nodes)
    };
    by_key(nodes, other).into_iter().map(sentence).collect()
}

/// Tasks without a result, by their reasons.
fn without(nodes: &[&NodeResults]) -> Vec<Problem> {
    let sentence = |((task, reason), nodes): (&(String, String), Vec<String>)| {
        problem("task_failed", format!("'{task}' has no result on {}: {reason}", count(nodes.len(), "node")), nodes)
    };
    by_key(nodes, |node| &node.without).into_iter().map(sentence).collect()
}

/// Benchmarks that failed in runs with a document; the reason is that of the first node.
fn failed_rows(nodes: &[&NodeResults]) -> Vec<Problem> {
    let reason = |id: &str| {
        let mut all = nodes.iter().flat_map(|node| &node.failed_rows);
        all.find(|(failed, _)| failed == id).map_or("", |(_, reason)| reason)
    };
    let sentence = |(id, nodes): (&String, Vec<String>)| {
        let text = format!("{id} failed on {}: {}", count(nodes.len(), "node"), reason(id));
        problem("experiment_failed", text, nodes)
    };
    by_key(nodes, |node| node.failed_rows.iter().map(|(id, _)| id)).into_iter().map(sentence).collect()
}

fn skew(nodes: &[&NodeResults]) -> Option<Problem> {
    let skewed = |node: &&&NodeResults| node.clock_skew.is_some_and(|skew| skew.abs() > SKEWED);
    let skewed: Vec<&&NodeResults> = nodes.iter().filter(skewed).collect();
    let most = skewed.iter().filter_map(|node| node.clock_skew).map(f64::abs).max_by(f64::total_cmp)?;
    let text = format!(
        "the clocks of {} are up to {most:.0} s from the file system's: times in their documents are wrong, results are not",
        count(skewed.len(), "node")
    );
    Some(problem("clock_skew", text, skewed.into_iter().map(|node| node.name.clone()).collect()))
}

fn shared_machines(nodes: &[&NodeResults]) -> Vec<Problem> {
    let sentence = |((host, _), nodes): (&(String, String), Vec<String>)| {
        let text = format!(
            "{} are one machine, '{host}': they share its CPUs and memory, so simultaneous \
             results are not those of a node, and a sum counts the machine {} times",
            count(nodes.len(), "node"),
            nodes.len()
        );
        problem("shared_machine", text, nodes)
    };
    let shared = by_key(nodes, |node| &node.machines).into_iter().filter(|(_, nodes)| nodes.len() > 1);
    shared.map(sentence).collect()
}

fn hardware(groups: &[Group], members: &[Vec<&str>]) -> Vec<Problem> {
    let names = |id: usize| members.get(id).into_iter().flatten().map(|name| (*name).to_owned()).collect();
    let mut problems = Vec::new();
    if groups.len() > 1 {
        let text = format!("{} kinds of hardware: nodes are compared with their equals only", groups.len());
        problems.push(problem("mixed_hardware", text, Vec::new()));
    }
    for (id, group) in groups.iter().enumerate().filter(|(_, group)| group.nodes < ENOUGH_NODES as u64) {
        let text = format!(
            "{} of equal hardware: at least {ENOUGH_NODES} are needed to decide which is slow",
            count(usize::try_from(group.nodes).unwrap_or(usize::MAX), "node")
        );
        problems.push(problem("small_group", text, names(id)));
    }
    problems
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
