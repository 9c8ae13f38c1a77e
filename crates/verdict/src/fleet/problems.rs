//! What went wrong, or stands in the way of a judgement.

use std::collections::BTreeMap;

use model::cluster::{Group, NodeState, Plan, Problem};
use stats::fleet::ENOUGH_NODES;

use super::results::NodeResults;

/// A node's clock this far from the file system's makes times in its documents misleading, in seconds.
const SKEWED: f64 = 5.0;

/// All problems of a plan's results.
pub(super) fn problems(
    plan: &Plan,
    nodes: &[(NodeState, &NodeResults)],
    groups: &[Group],
    members: &[Vec<&str>],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(never_came_up(nodes));
    problems.extend(versions(plan, nodes));
    problems.extend(broken(nodes));
    problems.extend(without(nodes));
    problems.extend(failed_rows(nodes));
    problems.extend(skew(nodes));
    problems.extend(shared_machines(nodes));
    problems.extend(hardware(groups, members));
    problems
}

fn problem(code: &str, text: String, nodes: Vec<String>) -> Problem {
    Problem { code: code.to_owned(), text, nodes }
}

/// Nodes of which there is nothing at all, while others are done.
fn never_came_up(nodes: &[(NodeState, &NodeResults)]) -> Option<Problem> {
    let anybody = nodes.iter().any(|(state, _)| matches!(state, NodeState::Done | NodeState::Partly));
    let silent = |state: NodeState, node: &NodeResults| {
        let over = matches!(state, NodeState::Failed) || (anybody && state == NodeState::Waiting);
        over && node.facts.is_none() && node.ok == 0
    };
    let silent: Vec<String> =
        nodes.iter().filter(|(state, node)| silent(*state, node)).map(|(_, node)| node.name.clone()).collect();
    (!silent.is_empty()).then(|| {
        let text = format!("{} never came up: nothing of them is known", count(silent.len(), "node"));
        problem("never_came_up", text, silent)
    })
}

fn versions(plan: &Plan, nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let mut other: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, node) in nodes {
        let Some(program) = &node.program else { continue };
        if program.version != plan.program.version || program.git != plan.program.git {
            other.entry(version(program)).or_default().push(node.name.clone());
        }
    }
    let sentence = |(theirs, nodes): (String, Vec<String>)| {
        let text = format!(
            "{} measured with assay {theirs}, the plan was made with {}: their figures may mean something else",
            count(nodes.len(), "node"),
            version(&plan.program)
        );
        problem("mixed_versions", text, nodes)
    };
    other.into_iter().map(sentence).collect()
}

fn version(program: &model::document::Program) -> String {
    format!("{} ({})", program.version, program.git.as_deref().unwrap_or("no commit known"))
}

fn broken(nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let all = nodes.iter().flat_map(|(_, node)| node.broken.iter().map(move |(path, why)| (node, path, why)));
    let one = |(node, path, why): (&&NodeResults, &String, &String)| {
        problem("broken_result", format!("'{path}' cannot be read: {why}"), vec![node.name.clone()])
    };
    all.map(one).collect()
}

/// Tasks without a result, by their reasons.
fn without(nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let mut reasons: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (_, node) in nodes {
        for (task, reason) in &node.without {
            reasons.entry((task, reason)).or_default().push(node.name.clone());
        }
    }
    let sentence = |((task, reason), nodes): ((&str, &str), Vec<String>)| {
        problem("task_failed", format!("'{task}' has no result on {}: {reason}", count(nodes.len(), "node")), nodes)
    };
    reasons.into_iter().map(sentence).collect()
}

/// Experiments that failed inside documents that there are.
fn failed_rows(nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let mut rows: BTreeMap<&str, (&str, Vec<String>)> = BTreeMap::new();
    for (_, node) in nodes {
        for (id, reason) in &node.failed_rows {
            rows.entry(id).or_insert((reason, Vec::new())).1.push(node.name.clone());
        }
    }
    let sentence = |(id, (reason, nodes)): (&str, (&str, Vec<String>))| {
        problem("experiment_failed", format!("{id} failed on {}: {reason}", count(nodes.len(), "node")), nodes)
    };
    rows.into_iter().map(sentence).collect()
}

fn skew(nodes: &[(NodeState, &NodeResults)]) -> Option<Problem> {
    let skewed = |node: &NodeResults| node.clock_skew.is_some_and(|skew| skew.abs() > SKEWED);
    let skewed: Vec<&NodeResults> = nodes.iter().map(|(_, node)| *node).filter(|node| skewed(node)).collect();
    let most = skewed.iter().filter_map(|node| node.clock_skew).map(f64::abs).max_by(f64::total_cmp)?;
    let text = format!(
        "the clocks of {} are up to {most:.0} s from the file system's: times in their documents mislead, figures do not",
        count(skewed.len(), "node")
    );
    Some(problem("clock_skew", text, skewed.into_iter().map(|node| node.name.clone()).collect()))
}

/// Several nodes of the plan on one machine, as where a cluster is only tried out.
fn shared_machines(nodes: &[(NodeState, &NodeResults)]) -> Vec<Problem> {
    let mut on: BTreeMap<&(String, String), Vec<String>> = BTreeMap::new();
    for (_, node) in nodes {
        for machine in &node.machines {
            on.entry(machine).or_default().push(node.name.clone());
        }
    }
    let sentence = |((host, _), nodes): (&(String, String), Vec<String>)| {
        let text = format!(
            "{} are one machine, '{host}': they share its CPUs and its memory, so what they measured at the same time is \
             no figure of a node, and a sum over them counts the machine {} times",
            count(nodes.len(), "node"),
            nodes.len()
        );
        problem("shared_machine", text, nodes)
    };
    on.into_iter().filter(|(_, nodes)| nodes.len() > 1).map(sentence).collect()
}

fn hardware(groups: &[Group], members: &[Vec<&str>]) -> Vec<Problem> {
    let names = |id: usize| members.get(id).into_iter().flatten().map(|name| (*name).to_owned()).collect();
    let mut problems = Vec::new();
    if groups.len() > 1 {
        let text = format!("{} kinds of hardware: nodes are only compared with their equals", groups.len());
        problems.push(problem("mixed_hardware", text, Vec::new()));
    }
    for (id, group) in groups.iter().enumerate().filter(|(_, group)| group.nodes < ENOUGH_NODES as u64) {
        let text = format!(
            "{} of equal hardware: fewer than {ENOUGH_NODES} cannot tell which of them is slow",
            count(usize::try_from(group.nodes).unwrap_or(usize::MAX), "node")
        );
        problems.push(problem("small_group", text, names(id)));
    }
    problems
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
