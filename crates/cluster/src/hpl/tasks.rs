//! The tasks of HPL: over all nodes of a plan, and over those of equal hardware where they differ.

use std::collections::BTreeSet;

use model::cluster::{HplPlan, HplTask, Plan, PlanNode, Task, Work};
use verdict::fleet::Standpoint;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::tasks;

/// What the names of its tasks begin with.
const NAME: &str = "hpl";

/// Expected seconds where the plan does not bound the time: as much memory as there is takes hours.
const UNBOUNDED_SECONDS: f64 = 4.0 * 3600.0;

/// Seconds around a run: until all are there, and the start of its processes on every node.
const AROUND_SECONDS: f64 = 30.0;

/// The task of HPL over all nodes of a plan.
pub(crate) fn task(nodes: &[PlanNode], hpl: &HplPlan) -> Result<Task> {
    let (Some(first), true) = (nodes.first(), nodes.len() > 1) else {
        return Err(Error::Request(
            "HPL across nodes needs at least two; leave --hpl out, the suite solves on a node alone",
        ));
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

/// The tasks of nodes that are equal among themselves, where not all are: HPL gives every process as much to do, so over
/// unequal nodes it says what the weakest lets it. A node that is the only one of its kind has its own LINPACK.
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

/// The names of the tasks of HPL that are not finished.
pub(super) fn unfinished(folder: &Folder, leader: &str) -> Result<BTreeSet<String>> {
    Ok(tasks::unfinished(folder, leader)?.0.into_keys().filter(|name| is_hpl(name)).collect())
}

/// Whether a task of this name is one of HPL; areas have other names, and so have pairs.
pub(super) fn is_hpl(name: &str) -> bool {
    name == NAME || name.strip_prefix(NAME).is_some_and(|rest| rest.starts_with(".group-"))
}
