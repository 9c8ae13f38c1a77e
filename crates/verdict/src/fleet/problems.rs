//! Problems of a cluster's results: what failed, and what prevents a judgement.

use std::collections::BTreeMap;

use model::cluster::{BELOW_EXPECTED, Group, NodeState, Plan, Problem};
use model::number::counted;
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
    let broken = |node: &&NodeResults| -> Vec<Problem> {
        let text = |(path, why): &(String, String)| format!("'{path}' cannot be read: {why}");
        node.broken.iter().map(|file| problem("broken_result", text(file), vec![node.name.clone()])).collect()
    };
    let others: Vec<&NodeResults> = nodes.iter().filter(|node| reason(node).is_none()).map(|(_, node)| *node).collect();
    let first = not_started(nodes).into_iter().chain(no_results(nodes)).chain(versions(plan, &results));
    let of_tasks =
        results.iter().flat_map(broken).chain(without(&others)).chain(failed_rows(&results)).chain(below(&results));
    let of_nodes = not_exclusive(plan)
        .into_iter()
        .chain(skew(&results))
        .chain(shared_machines(&results))
        .chain(hardware(groups, members));
    first.chain(of_tasks).chain(of_nodes).collect()
}

pub(super) fn problem(code: &str, text: String, nodes: Vec<String>) -> Problem {
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
fn not_started(nodes: &[(NodeState, &NodeResults)]) -> Option<Problem> {
    let any_done = nodes.iter().any(|(state, _)| matches!(state, NodeState::Done | NodeState::Partly));
    let silent = |(state, node): &&(NodeState, &NodeResults)| {
        any_done && *state == NodeState::Waiting && node.facts.is_none() && node.ok == 0
    };
    let silent: Vec<String> = nodes.iter().filter(silent).map(|(_, node)| node.name.clone()).collect();
    (!silent.is_empty()).then(|| problem("not_started", format!("{} not started", has(silent.len())), silent))
}

/// The one reason why no task of a node has a result, such as that the node is drained.
fn reason<'a>((state, node): &(NodeState, &'a NodeResults)) -> Option<&'a str> {
    let mut reasons = node.without.iter().map(|(_, reason)| reason.as_str());
    let first = reasons.next().filter(|_| *state == NodeState::Failed)?;
    reasons.all(|reason| reason == first).then_some(first)
}

/// Nodes without any result, by the reason.
fn no_results(nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (reason, node) in nodes.iter().filter_map(|node| Some((reason(node)?, node.1))) {
        found.entry(reason).or_default().push(node.name.clone());
    }
    let sentence = |(reason, nodes): (&str, Vec<String>)| {
        problem("no_results", format!("{} no results: {reason}", has(nodes.len())), nodes)
    };
    found.into_iter().map(sentence).collect()
}

fn versions(plan: &Plan, nodes: &[&NodeResults]) -> Vec<Problem> {
    let version = |program: &model::document::Program| {
        format!("{} ({})", program.version, program.git.as_deref().unwrap_or("no commit known"))
    };
    let own = version(&plan.program);
    let other = |node: &NodeResults| node.program.as_ref().map(version).filter(|theirs| *theirs != own);
    let sentence = |(theirs, nodes): (String, Vec<String>)| {
        let who = format!("{} measured with assay {theirs}, the plan was made with {own}", count(nodes.len()));
        problem("mixed_versions", format!("{who}: their results may not be comparable"), nodes)
    };
    by_key(nodes, other).into_iter().map(sentence).collect()
}

fn without(nodes: &[&NodeResults]) -> Vec<Problem> {
    let sentence = |((task, reason), nodes): (&(String, String), Vec<String>)| {
        problem("task_failed", format!("'{task}' has no result on {}: {reason}", count(nodes.len())), nodes)
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
        problem("experiment_failed", format!("{id} failed on {}: {}", count(nodes.len()), reason(id)), nodes)
    };
    by_key(nodes, |node| node.failed_rows.iter().map(|(id, _)| id)).into_iter().map(sentence).collect()
}

/// Results below what they should be, which a batch of equally slow nodes does not show.
fn below(nodes: &[&NodeResults]) -> Vec<Problem> {
    let sentence = |((id, source), mut nodes): (&(String, String), Vec<String>)| {
        nodes.dedup();
        problem(BELOW_EXPECTED, format!("{id} is below what it should be ({source}) on {}", count(nodes.len())), nodes)
    };
    by_key(nodes, |node| &node.below).into_iter().map(sentence).collect()
}

fn not_exclusive(plan: &Plan) -> Option<Problem> {
    let text = "other jobs could run on the nodes: results may contain their load, so a slow node is not certain. Plan \
                without --shared in a partition that grants whole nodes";
    (plan.exclusive == Some(false)).then(|| problem("not_exclusive", text.to_owned(), Vec::new()))
}

fn skew(nodes: &[&NodeResults]) -> Option<Problem> {
    let skewed = |node: &&&NodeResults| node.clock_skew.is_some_and(|skew| skew.abs() > SKEWED);
    let skewed: Vec<&&NodeResults> = nodes.iter().filter(skewed).collect();
    let most = skewed.iter().filter_map(|node| node.clock_skew).map(f64::abs).max_by(f64::total_cmp)?;
    let text = format!(
        "the clocks of {} are up to {most:.0} s from the file system's: times in their documents are wrong, results are not",
        count(skewed.len())
    );
    Some(problem("clock_skew", text, skewed.into_iter().map(|node| node.name.clone()).collect()))
}

fn shared_machines(nodes: &[&NodeResults]) -> Vec<Problem> {
    let sentence = |((host, _), nodes): (&(String, String), Vec<String>)| {
        let text = format!(
            "{} are one machine, '{host}': they share its CPUs and memory, so simultaneous results are not those of a \
             node, and a sum counts the machine {} times",
            count(nodes.len()),
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
        let text =
            format!("the plan has {} hardware types: a node is compared only with nodes of its type", groups.len());
        problems.push(problem("mixed_hardware", text, Vec::new()));
    }
    for (id, group) in groups.iter().enumerate().filter(|(_, group)| group.nodes < ENOUGH_NODES as u64) {
        let nodes = counted(group.nodes, "node");
        let text = format!("{nodes} of a hardware type: {ENOUGH_NODES} are needed to decide which is slow");
        problems.push(problem("small_group", text, names(id)));
    }
    problems
}

pub(super) fn count(nodes: usize) -> String {
    counted(nodes as u64, "node")
}

/// `1 node has`, `3 nodes have`.
pub(super) fn has(nodes: usize) -> String {
    format!("{} {}", count(nodes), if nodes == 1 { "has" } else { "have" })
}
