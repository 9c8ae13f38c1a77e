//! The unfinished tasks of a plan, from its folder.

use std::collections::BTreeMap;

use model::cluster::{Plan, Task, Work};

use crate::error::Result;
use crate::folder::{Folder, read_task};
use crate::scheduler::job::JobTasks;
use crate::tasks::unfinished;

/// A task that needs several nodes at the same time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JointTask {
    pub(super) node: String,
    pub(super) task: String,
    /// All nodes that it needs, its own first.
    pub(super) nodes: Vec<String>,
    pub(super) seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeRemaining {
    /// Unfinished tasks of this node alone.
    pub(super) alone: u32,
    pub(super) seconds: f64,
    /// Expected seconds of the shortest of them.
    pub(super) shortest: f64,
    /// Finished tasks of all kinds.
    pub(super) over: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Remaining {
    pub(super) nodes: BTreeMap<String, NodeRemaining>,
    /// Unfinished tasks that need several nodes.
    pub(super) meetings: Vec<JointTask>,
}

impl Remaining {
    pub(super) fn of(plan: &Plan, tasks: &[Task]) -> Self {
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
            left.shortest = if left.alone == 0 { seconds } else { left.shortest.min(seconds) };
            left.alone += 1;
            left.seconds += seconds;
        } else {
            let nodes = std::iter::once(node).chain(kind.with.iter().map(String::as_str)).map(str::to_owned).collect();
            self.meetings.push(JointTask { node: node.to_owned(), task: task.to_owned(), nodes, seconds });
        }
    }

    /// Without nodes that were excluded, and without tasks that need one of them; how many tasks these are.
    pub(super) fn exclude(&mut self, nodes: &[String]) -> u64 {
        let all = self.all();
        self.nodes.retain(|node, _| !nodes.contains(node));
        self.meetings.retain(|meeting| !meeting.nodes.iter().any(|node| nodes.contains(node)));
        all - self.all()
    }

    /// Expected seconds of a job with these tasks on these nodes.
    pub(super) fn seconds(&self, nodes: &[String], tasks: JobTasks) -> f64 {
        let of = |node: &String| self.nodes.get(node).map_or(0.0, |left| left.seconds);
        match tasks {
            JobTasks::Alone => nodes.iter().map(of).fold(0.0, f64::max),
            // One after another.
            JobTasks::Together => self.meetings.iter().map(|meeting| meeting.seconds).sum(),
        }
    }

    pub(super) fn alone(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.alone)).sum()
    }

    pub(super) fn all(&self) -> u64 {
        self.alone() + self.meetings.len() as u64
    }

    pub(super) fn over_on(&self, node: &str) -> u32 {
        self.nodes.get(node).map_or(0, |node| node.over)
    }

    pub(super) fn over(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.over)).sum()
    }
}

/// What each task needs, by node and name: it never changes, so each file is read once.
#[derive(Debug, Default)]
pub(super) struct NeedsCache(BTreeMap<String, BTreeMap<String, TaskNeeds>>);

#[derive(Clone, Debug)]
struct TaskNeeds {
    seconds: f64,
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

pub(super) fn look(folder: &Folder, plan: &Plan, known: &mut NeedsCache) -> Result<Remaining> {
    let mut left = Remaining::default();
    for node in &plan.nodes {
        let (names, finished) = unfinished(folder, &node.name)?;
        let over = u32::try_from(finished).unwrap_or(u32::MAX);
        left.nodes.insert(node.name.clone(), NodeRemaining { over, ..NodeRemaining::default() });
        let known = known.0.entry(node.name.clone()).or_default();
        for (task, file) in names {
            if let Some(seconds) = plan.task_seconds.get(&task) {
                known.insert(task.clone(), TaskNeeds { seconds: *seconds, with: Vec::new() });
            } else if !known.contains_key(&task) {
                // A task that has moved since the names were read is seen in the next round.
                let Ok(read) = read_task(&file) else { continue };
                known.insert(task.clone(), read.into());
            }
            left.add(&node.name, &task, &known[&task]);
        }
    }
    Ok(left)
}
