//! What the results in a plan's folder say of its nodes: who is equal to whom, how each figure is distributed over them,
//! who is slow and why.
//!
//! Results are streamed: a node's documents are read one after the other, medians and a few conditions are kept, and each
//! is dropped. A node has no document of its own beside those of its tasks, which are whole and stand where they were
//! published (`done/NODE/TASK/run/run.json`); the cluster's document names them. A file that cannot be read is a problem
//! with a name, never the end. Nothing is remembered between two calls: the folder is the truth.

mod again;
mod causes;
mod differences;
mod facts;
mod groups;
mod judged;
mod network;
mod problems;
mod results;
mod seen;

use model::cluster::{ClusterDocument, ClusterInfo, FleetNode, Group, NodeState, Plan, SCHEMA, SlowNode, Standing};
use model::document::Program;

pub use again::second_pass;

use crate::error::Result;
use crate::folder::Folder;
use crate::plan::suite::suite;
use facts::Facts;
use judged::Judged;
use results::{Catalogue, NodeResults};

/// Evaluates what there is in a plan's folder by now. `assay` is the program that asks, which the document names as its
/// maker: it need not be the one that made the plan.
///
/// # Errors
/// A sentence: there is no plan, or a folder of results cannot be looked through.
pub fn evaluate(folder: &Folder, assay: Program) -> Result<ClusterDocument> {
    let plan = folder.plan()?;
    let mut catalogue = Catalogue::default();
    let read = plan.nodes.iter().map(|node| NodeResults::read(folder, &node.name, &mut catalogue));
    let mut nodes = read.collect::<Result<Vec<NodeResults>>>()?;
    let facts: Vec<Option<&Facts>> = nodes.iter().map(|node| node.facts.as_ref()).collect();
    let (group_of, groups) = groups::groups(&facts);
    let members: Vec<Vec<usize>> = groups.iter().map(|group| members(&group_of, group.id)).collect();
    name_memory(&mut nodes, &members);
    let judged: Vec<Judged> = groups
        .iter()
        .zip(&members)
        .map(|(group, members)| {
            let its: Vec<&NodeResults> = members.iter().map(|member| &nodes[*member]).collect();
            judged::judge(group, &its, &catalogue)
        })
        .collect();
    let document = document(&plan, &nodes, &group_of, groups, judged, &members);
    Ok(ClusterDocument { assay, ..document })
}

/// What is known of a node by the time at which all meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standpoint {
    /// The node.
    pub(super) node: String,
    /// Its group of equal hardware; `None` while nothing is known of it.
    pub(super) group: Option<u32>,
    /// Most flop/s in fp64 that it has shown: of its own LINPACK, else what its units can sustain.
    pub(super) rate: Option<f64>,
}

/// What is known of each node of a plan by now, in the plan's order.
///
/// # Errors
/// A sentence: a folder of results cannot be looked through.
pub(super) fn standpoints(folder: &Folder, plan: &Plan) -> Result<Vec<Standpoint>> {
    let mut catalogue = Catalogue::default();
    let read = plan.nodes.iter().map(|node| NodeResults::read(folder, &node.name, &mut catalogue));
    let nodes = read.collect::<Result<Vec<NodeResults>>>()?;
    let facts: Vec<Option<&Facts>> = nodes.iter().map(|node| node.facts.as_ref()).collect();
    let (group_of, _) = groups::groups(&facts);
    let one = |(node, group): (&NodeResults, Option<u32>)| Standpoint {
        node: node.name.clone(),
        group,
        rate: node.linpack.or(node.peak),
    };
    Ok(nodes.iter().zip(group_of).map(one).collect())
}

fn members(group_of: &[Option<u32>], group: u32) -> Vec<usize> {
    (0..group_of.len()).filter(|node| group_of[*node] == Some(group)).collect()
}

/// Size of memory as a fact: nodes of a group have the same one unless there is a gap between them.
fn name_memory(nodes: &mut [NodeResults], members: &[Vec<usize>]) {
    for members in members {
        let facts: Vec<Option<&Facts>> = nodes.iter().map(|node| node.facts.as_ref()).collect();
        for (node, memory) in groups::memory_sizes(&facts, members) {
            if let Some(facts) = &mut nodes[node].facts {
                facts.words.insert("memory".to_owned(), memory);
            }
        }
    }
}

fn document(
    plan: &Plan,
    nodes: &[NodeResults],
    group_of: &[Option<u32>],
    groups: Vec<Group>,
    judged: Vec<Judged>,
    members: &[Vec<usize>],
) -> ClusterDocument {
    let mut standings = vec![Standing::Unknown; nodes.len()];
    let (mut distributions, mut slow, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for (judged, members) in judged.into_iter().zip(members) {
        for (member, standing) in members.iter().zip(judged.standings) {
            standings[*member] = standing;
        }
        distributions.extend(judged.distributions);
        slow.extend(judged.slow);
        differences.extend(judged.differences);
    }
    let lowest = |node: &SlowNode| node.deviations.first().map_or(1.0, |deviation| deviation.of_median[0]);
    slow.sort_by(|a: &SlowNode, b: &SlowNode| lowest(a).total_cmp(&lowest(b)));
    let states: Vec<NodeState> = nodes.iter().map(state).collect();
    let names: Vec<Vec<&str>> =
        members.iter().map(|members| members.iter().map(|member| nodes[*member].name.as_str()).collect()).collect();
    let with_states: Vec<(NodeState, &NodeResults)> = states.iter().copied().zip(nodes).collect();
    ClusterDocument {
        schema: SCHEMA.to_owned(),
        assay: plan.program.clone(),
        plan: info(plan, nodes),
        problems: problems::problems(plan, &with_states, &groups, &names),
        nodes: nodes
            .iter()
            .enumerate()
            .map(|(index, node)| FleetNode {
                name: node.name.clone(),
                state: states[index],
                why: why(states[index], node),
                group: group_of[index],
                standing: standings[index],
                runs: node.runs.clone(),
            })
            .collect(),
        groups,
        distributions,
        drain: slow.iter().filter(|slow| slow.standing == Standing::Slow).map(|slow| slow.node.clone()).collect(),
        slow,
        differences,
        pairs: network::pairs(nodes),
        hpl: network::hpl(nodes),
    }
}

fn info(plan: &Plan, nodes: &[NodeResults]) -> ClusterInfo {
    let sum = |count: fn(&NodeResults) -> u64| nodes.iter().map(count).sum();
    ClusterInfo {
        name: plan.name.clone(),
        created: plan.created.clone(),
        // A plan has the text of a suite's file.
        suite: suite(&plan.suite).map_or_else(|_| plan.suite.clone(), |suite| suite.name),
        program: plan.program.clone(),
        tasks: sum(NodeResults::tasks),
        ok: sum(|node| node.ok),
        failed: sum(|node| node.failed),
        skipped: sum(|node| node.skipped),
        left: sum(NodeResults::left),
        node_seconds: nodes.iter().map(|node| node.seconds).sum(),
    }
}

const fn state(node: &NodeResults) -> NodeState {
    match (node.left(), node.running, node.ok, node.failed + node.skipped) {
        (0, _, 0, 0) => NodeState::Waiting,
        (0, _, _, 0) => NodeState::Done,
        (0, _, 0, _) => NodeState::Failed,
        (0, ..) => NodeState::Partly,
        (_, 0, ..) => NodeState::Waiting,
        _ => NodeState::Running,
    }
}

/// Why a node is not done.
fn why(state: NodeState, node: &NodeResults) -> Option<String> {
    let reason = || node.without.first().map(|(task, reason)| format!("'{task}': {reason}"));
    match state {
        NodeState::Done => None,
        NodeState::Partly | NodeState::Failed => reason(),
        NodeState::Running => Some(format!("{} of {} tasks are left", node.left(), node.tasks())),
        NodeState::Waiting if node.tasks() == 0 => Some("it has no tasks".to_owned()),
        NodeState::Waiting => Some(format!("{} of {} tasks wait for a worker", node.waiting, node.tasks())),
    }
}

#[cfg(test)]
mod tests;
