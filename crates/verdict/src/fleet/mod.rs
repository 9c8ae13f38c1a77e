//! Judges the nodes of a cluster from [`NodeResults`]: which of them is slower than nodes of the same hardware, and why.

mod causes;
mod conclusion;
mod differences;
mod earlier;
mod facts;
mod groups;
mod interference;
mod judged;
mod network;
mod problems;
mod results;
mod seen;

use model::cluster::{
    ClusterDocument, ClusterInfo, ClusterVerdict, FleetNode, Group, NodeState, Plan, SCHEMA, SlowNode, Standing,
};
use model::document::Program;

use crate::rules::AreaRules;
#[doc(hidden)]
pub use causes::codes as cause_codes;
pub use conclusion::conclude;
pub use earlier::Earlier;
use facts::Facts;
use judged::Judged;
pub use results::{Catalogue, NodeResults, Run};

/// The results of a plan.
#[derive(Debug, Default)]
pub struct Results {
    /// The plan's nodes, in its order.
    pub nodes: Vec<NodeResults>,
    /// The earlier plan that each node is compared with.
    pub earlier: Option<Earlier>,
    /// The metrics of all of them.
    pub catalogue: Catalogue,
}

/// Evaluates the results of a plan; `assay` is the program that evaluates.
pub fn evaluate(plan: &Plan, suite: String, assay: Program, results: Results, rules: &[AreaRules]) -> ClusterDocument {
    let Results { mut nodes, earlier, mut catalogue } = results;
    network::add_paths(&mut nodes, &mut catalogue);
    let facts: Vec<Option<&Facts>> = nodes.iter().map(|node| node.facts.as_ref()).collect();
    let (group_of, groups) = groups::groups(&facts);
    let members = |group: &Group| (0..nodes.len()).filter(|node| group_of[*node] == Some(group.id)).collect();
    let members: Vec<Vec<usize>> = groups.iter().map(members).collect();
    name_memory(&mut nodes, &members);
    let judge = |(group, members): (&Group, &Vec<usize>)| {
        let its: Vec<&NodeResults> = members.iter().map(|member| &nodes[*member]).collect();
        judged::judge(group, &its, &catalogue, rules)
    };
    let judged: Vec<Judged> = groups.iter().zip(&members).map(judge).collect();
    let mut document = document(plan, &nodes, &group_of, groups, judged, &members);
    (document.assay, document.plan.suite) = (assay, suite);
    if let Some(mut earlier) = earlier {
        network::add_paths(&mut earlier.nodes, &mut catalogue);
        let (history, problems) = earlier::hold(plan, &nodes, &earlier, &catalogue, rules);
        document.history = Some(history);
        document.problems.extend(problems);
    }
    conclude(&mut document);
    document
}

/// What is known of a node before HPL runs across nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Standpoint {
    /// The node.
    pub node: String,
    /// Its group of the same hardware; `None` while unknown.
    pub group: Option<u32>,
    /// Its rate in fp64, flop/s: of its own LINPACK, else its limit at the measured clock.
    pub rate: Option<f64>,
}

/// What is known of each node, in their order.
pub fn standpoints(nodes: &[NodeResults]) -> Vec<Standpoint> {
    let facts: Vec<Option<&Facts>> = nodes.iter().map(|node| node.facts.as_ref()).collect();
    let (group_of, _) = groups::groups(&facts);
    let one = |(node, group): (&NodeResults, Option<u32>)| Standpoint {
        node: node.name.clone(),
        group,
        rate: node.linpack.or(node.peak),
    };
    nodes.iter().zip(group_of).map(one).collect()
}

/// Adds the memory size as a fact: nodes of a group have the same one unless there is a gap between them.
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
    let names: Vec<Vec<&str>> =
        members.iter().map(|members| members.iter().map(|member| nodes[*member].name.as_str()).collect()).collect();
    let with_states: Vec<(NodeState, &NodeResults)> = nodes.iter().map(|node| (state(node), node)).collect();
    let mut standings = vec![Standing::Unknown; nodes.len()];
    let (mut distributions, mut area_limits) = (Vec::new(), Vec::new());
    let (mut slow, mut differences) = (Vec::new(), Vec::new());
    let mut problems = problems::problems(plan, &with_states, &groups, &names);
    for (judged, members) in judged.into_iter().zip(members) {
        for (member, standing) in members.iter().zip(judged.standings) {
            standings[*member] = standing;
        }
        distributions.extend(judged.distributions);
        area_limits.extend(judged.limits);
        slow.extend(judged.slow);
        differences.extend(judged.differences);
        problems.extend(judged.hiding);
    }
    let lowest = |node: &SlowNode| node.deviations.first().map_or(1.0, |deviation| deviation.of_median[0]);
    slow.sort_by(|a: &SlowNode, b: &SlowNode| lowest(a).total_cmp(&lowest(b)));
    let fleet_node = |(index, (state, node)): (usize, &(NodeState, &NodeResults))| FleetNode {
        name: node.name.clone(),
        state: *state,
        why: why(*state, node),
        group: group_of[index],
        standing: standings[index],
        runs: node.runs.clone(),
        last: node.began.last().cloned(),
        seconds: node.seconds.clone(),
        failed_attempts: node.failed_attempts.clone(),
    };
    ClusterDocument {
        schema: SCHEMA.to_owned(),
        assay: plan.program.clone(),
        plan: info(plan, nodes),
        verdict: ClusterVerdict::default(),
        doubts: Vec::new(),
        problems,
        nodes: with_states.iter().enumerate().map(fleet_node).collect(),
        groups,
        distributions,
        area_limits,
        drain: slow.iter().filter(|slow| slow.standing == Standing::Slow).map(|slow| slow.node.clone()).collect(),
        slow,
        differences,
        pairs: network::pairs(nodes),
        hpl: network::hpl(nodes),
        history: None,
    }
}

fn info(plan: &Plan, nodes: &[NodeResults]) -> ClusterInfo {
    let sum = |count: fn(&NodeResults) -> u64| nodes.iter().map(count).sum();
    ClusterInfo {
        name: plan.name.clone(),
        created: plan.created.clone(),
        suite: plan.suite.clone(),
        program: plan.program.clone(),
        tasks: sum(NodeResults::tasks),
        ok: sum(|node| node.ok),
        failed: sum(|node| node.failed),
        skipped: sum(|node| node.skipped),
        left: sum(NodeResults::left),
        node_seconds: nodes.iter().flat_map(|node| node.seconds.values()).sum(),
        first: nodes.iter().filter_map(|node| node.began.first()).min().cloned(),
        last: nodes.iter().filter_map(|node| node.began.last()).max().cloned(),
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

fn why(state: NodeState, node: &NodeResults) -> Option<String> {
    let reason = || node.without.first().map(|(task, reason)| format!("'{task}': {reason}"));
    match state {
        NodeState::Done => None,
        NodeState::Partly | NodeState::Failed => reason(),
        NodeState::Running => Some(format!("{} of {} tasks remain", node.left(), node.tasks())),
        NodeState::Waiting if node.tasks() == 0 => Some("it has no tasks".to_owned()),
        NodeState::Waiting => Some(format!("{} of {} tasks wait for a worker", node.waiting, node.tasks())),
    }
}
