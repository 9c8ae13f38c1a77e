//! The tasks of HPL: over all nodes of a plan, and over groups of equal hardware.

use std::collections::BTreeSet;

use model::cluster::{HplPlan, HplTask, Plan, PlanNode, Task, Work};
use verdict::fleet::Standpoint;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::tasks;

const NAME: &str = "hpl";
/// Expected seconds if the plan has no limit: a matrix that fills the memory takes hours.
const UNBOUNDED_SECONDS: f64 = 4.0 * 3600.0;
/// Overhead of a run in seconds: the nodes become ready, processes start on each.
const AROUND_SECONDS: f64 = 30.0;

pub(crate) fn task(nodes: &[PlanNode], hpl: &HplPlan) -> Result<Task> {
    let (Some(first), true) = (nodes.first(), nodes.len() > 1) else {
        return Err(Error::Request("HPL across nodes needs at least two nodes. Omit --hpl"));
    };
    Ok(task_of(NAME.to_owned(), &first.name, nodes.iter().map(|node| node.name.clone()).collect(), hpl))
}

fn task_of(name: String, leader: &str, nodes: Vec<String>, hpl: &HplPlan) -> Task {
    Task {
        node: leader.to_owned(),
        name,
        pass: 1,
        seconds: hpl.most_seconds.unwrap_or(UNBOUNDED_SECONDS) + AROUND_SECONDS,
        tried: 0,
        work: Work::Hpl(HplTask { nodes }),
    }
}

/// The tasks of groups of equal nodes, if there is more than one group: over unequal nodes HPL runs at the pace of the
/// slowest. A group of one node has the LINPACK of its suite.
pub(super) fn tasks_of_groups(plan: &Plan, hpl: &HplPlan, known: &[Standpoint]) -> Vec<Task> {
    let Some(leader) = plan.nodes.first() else { return Vec::new() };
    let groups: BTreeSet<u32> = known.iter().filter_map(|standpoint| standpoint.group).collect();
    if groups.len() < 2 {
        return Vec::new();
    }
    let members = |group: u32| -> Vec<String> {
        let with = plan.nodes.iter().zip(known);
        with.filter(|(_, standpoint)| standpoint.group == Some(group)).map(|(node, _)| node.name.clone()).collect()
    };
    let named = groups.into_iter().map(|group| (format!("{NAME}.group-{}", group + 1), members(group)));
    named.filter(|(_, nodes)| nodes.len() > 1).map(|(name, nodes)| task_of(name, &leader.name, nodes, hpl)).collect()
}

pub(super) fn unfinished(folder: &Folder, leader: &str) -> Result<BTreeSet<String>> {
    Ok(tasks::unfinished(folder, leader)?.0.into_keys().filter(|name| is_hpl(name)).collect())
}

pub(super) fn is_hpl(name: &str) -> bool {
    name == NAME || name.strip_prefix(NAME).is_some_and(|rest| rest.starts_with(".group-"))
}
