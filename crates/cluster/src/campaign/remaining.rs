//! What is left of a plan, as its folder says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::cluster::{Plan, Task, Work};

use crate::claims::claim::claims;
use crate::error::Result;
use crate::folder::{Folder, read};
use crate::tasks;

/// A task that needs several nodes at the same moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JointTask {
    /// The node whose task it is.
    pub(crate) node: String,
    /// The task's name.
    pub(crate) task: String,
    /// All nodes that it needs, its own first.
    pub(crate) nodes: Vec<String>,
    /// Seconds that it is expected to take.
    pub(crate) seconds: f64,
}

/// What is left of a node's tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeRemaining {
    /// Tasks that it does alone and that are not over.
    pub(crate) alone: u32,
    /// Seconds that these are expected to take.
    pub(crate) seconds: f64,
    /// Tasks of either kind that are over.
    pub(crate) over: u32,
}

/// What is left of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Remaining {
    /// Every node of the plan.
    pub(crate) nodes: BTreeMap<String, NodeRemaining>,
    /// Tasks that need several nodes and are not over.
    pub(crate) meetings: Vec<JointTask>,
}

impl Remaining {
    /// All of a plan that nobody has begun with.
    pub(crate) fn of(plan: &Plan, tasks: &[Task]) -> Self {
        let nodes = plan.nodes.iter().map(|node| (node.name.clone(), NodeRemaining::default()));
        let mut left = Self { nodes: nodes.collect(), meetings: Vec::new() };
        for task in tasks {
            left.add(&task.node, &task.name, &task.clone().into());
        }
        left
    }

    fn add(&mut self, node: &str, task: &str, kind: &TaskNeeds) {
        let seconds = kind.seconds.max(0.0);
        if kind.with.is_empty() {
            let left = self.nodes.entry(node.to_owned()).or_default();
            left.alone += 1;
            left.seconds += seconds;
        } else {
            let nodes = std::iter::once(node).chain(kind.with.iter().map(String::as_str)).map(str::to_owned).collect();
            self.meetings.push(JointTask { node: node.to_owned(), task: task.to_owned(), nodes, seconds });
        }
    }

    /// Tasks that nodes do alone and that are not over.
    pub(crate) fn alone(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.alone)).sum()
    }

    /// All tasks that are not over.
    pub(crate) fn all(&self) -> u64 {
        self.alone() + self.meetings.len() as u64
    }

    /// All tasks that are.
    pub(crate) fn over(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.over)).sum()
    }
}

/// What each task is, by node and name: that never changes, so each file is read once.
#[derive(Debug, Default)]
pub(super) struct NeedsCache(BTreeMap<String, BTreeMap<String, TaskNeeds>>);

/// What a task needs.
#[derive(Clone, Debug)]
struct TaskNeeds {
    seconds: f64,
    /// The other nodes that it needs; empty where it needs none.
    with: Vec<String>,
}

impl From<Task> for TaskNeeds {
    fn from(task: Task) -> Self {
        let with = match task.work {
            Work::Suite(_) => Vec::new(),
            Work::Pair(pair) => vec![pair.to],
            Work::Hpl(hpl) => hpl.nodes.into_iter().filter(|node| *node != task.node).collect(),
        };
        Self { seconds: task.seconds, with }
    }
}

/// Looks through a plan's folder.
pub(super) fn look(folder: &Folder, plan: &Plan, known: &mut NeedsCache) -> Result<Remaining> {
    let mut left = Remaining::default();
    for node in &plan.nodes {
        let (names, over) = names_of_left(folder, &node.name)?;
        left.nodes.insert(node.name.clone(), NodeRemaining { over, ..NodeRemaining::default() });
        let known = known.0.entry(node.name.clone()).or_default();
        for (task, file) in names {
            if let Some(seconds) = plan.task_seconds.get(&task) {
                known.insert(task.clone(), TaskNeeds { seconds: *seconds, with: Vec::new() });
            } else if !known.contains_key(&task) {
                // One that has moved on since the names were read is seen in the next round.
                let Ok(read) = read::<Task>(&file) else { continue };
                known.insert(task.clone(), read.into());
            }
            left.add(&node.name, &task, &known[&task]);
        }
    }
    Ok(left)
}

/// The tasks of a node that are not over, with their files. A worker that was killed between the publication of a
/// result and the removal of its task's file leaves both: such a task is over.
fn names_of_left(folder: &Folder, node: &str) -> Result<(BTreeMap<String, PathBuf>, u32)> {
    let mut found = BTreeMap::new();
    // In the order in which a task moves, so that none is missed on its way.
    let (waiting, running) = folder.open_tasks(node);
    for name in tasks::waiting(folder, node)? {
        let file = waiting.join(format!("{name}.json"));
        found.insert(name, file);
    }
    for seen in claims(&running)?.into_iter().filter(|seen| !seen.name.starts_with('.')) {
        let file = running.join(seen.file());
        found.insert(seen.name, file);
    }
    let over = tasks::finished(folder, node)?;
    found.retain(|name, _| !over.contains(name));
    Ok((found, u32::try_from(over.len()).unwrap_or(u32::MAX)))
}
