//! The second pass: slow nodes are measured again, with healthy nodes as controls.

use std::collections::BTreeSet;

use model::cluster::{ClusterDocument, Distribution, NodeState, Outcome, SlowNode, Standing, SuiteTask, Task, Work};

use crate::folder::{Folder, OUTCOME, State, read};
use crate::tasks::finished;

/// Healthy nodes per group that are measured again with the suspects.
const CONTROLS: usize = 2;

/// The tasks of a second pass: the areas in which each suspect was slow, for it and two healthy nodes of its group.
pub fn second_pass(folder: &Folder, document: &ClusterDocument) -> Vec<Task> {
    let mut wanted: BTreeSet<(&str, &str)> = BTreeSet::new();
    for slow in document.slow.iter().filter(|slow| SlowNode::needs_second_pass(slow)) {
        let group = document.nodes.iter().find(|node| node.name == slow.node).and_then(|node| node.group);
        for area in &slow.areas {
            wanted.insert((&slow.node, area));
            for control in controls(document, group, area) {
                wanted.insert((control, area));
            }
        }
    }
    wanted.into_iter().filter_map(|(node, area)| again(folder, node, area)).collect()
}

/// The healthy nodes nearest to the median of the area's first result.
fn controls<'a>(document: &'a ClusterDocument, group: Option<u32>, area: &str) -> Vec<&'a str> {
    let of_area = |one: &&Distribution| Some(one.group) == group && one.area == area;
    let healthy = |name: &str| {
        document.nodes.iter().any(|node| {
            node.name == name
                && node.standing == Standing::Healthy
                && matches!(node.state, NodeState::Done | NodeState::Partly)
        })
    };
    let Some(distribution) = document.distributions.iter().find(of_area) else { return Vec::new() };
    let mut near: Vec<(f64, &str)> = distribution
        .values
        .iter()
        .map(|value| ((value.values[0] - distribution.median).abs(), value.node.as_str()))
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    near.into_iter().map(|(_, node)| node).filter(|node| healthy(node)).take(CONTROLS).collect()
}

/// The task that measured an area of a node, for a second pass; `None` if it is missing.
fn again(folder: &Folder, node: &str, area: &str) -> Option<Task> {
    let done = folder.tasks(State::Done, node);
    let first = finished(folder, node).ok()?.iter().find_map(|task| {
        let outcome: Outcome = read(&done.join(task).join(OUTCOME)).ok()?;
        let Work::Suite(suite) = &outcome.task.work else { return None };
        let holds = suite.areas.iter().any(|one| one == area) || suite.areas.is_empty();
        (outcome.task.pass == 1 && holds).then(|| outcome.task.clone())
    })?;
    let Work::Suite(suite) = &first.work else { return None };
    let name = format!("{area}.pass2");
    let areas = vec![area.to_owned()];
    let seconds = first.seconds / suite.areas.len().max(1) as f64;
    let work = Work::Suite(SuiteTask { areas, filter: suite.filter.clone() });
    Some(Task { node: node.to_owned(), name, pass: 2, seconds, tried: 0, work })
}
