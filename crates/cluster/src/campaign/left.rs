//! What is left of a plan, as its folder says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::cluster::{Plan, Task, Work};

use crate::claim::claims;
use crate::folder::{Folder, State, read};
use crate::tasks;

/// A task that needs several nodes at the same moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Meeting {
    /// The node whose task it is.
    pub node: String,
    /// The task's name.
    pub task: String,
    /// All nodes that it needs, its own first.
    pub nodes: Vec<String>,
    /// Seconds that it is expected to take.
    pub seconds: f64,
}

/// What is left of a node's tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeLeft {
    /// Tasks that it does alone and that are not over.
    pub alone: u32,
    /// Seconds that these are expected to take.
    pub seconds: f64,
    /// Tasks of either kind that are over.
    pub over: u32,
}

/// What is left of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Every node of the plan.
    pub nodes: BTreeMap<String, NodeLeft>,
    /// Tasks that need several nodes and are not over.
    pub meetings: Vec<Meeting>,
}

impl Left {
    /// All of a plan that nobody has begun with.
    #[must_use]
    pub fn of(plan: &Plan, tasks: &[Task]) -> Self {
        let nodes = plan.nodes.iter().map(|node| (node.name.clone(), NodeLeft::default()));
        let mut left = Self { nodes: nodes.collect(), meetings: Vec::new() };
        for task in tasks {
            left.add(&task.node, &task.name, &task.clone().into());
        }
        left
    }

    fn add(&mut self, node: &str, task: &str, kind: &Kind) {
        let seconds = kind.seconds.max(0.0);
        if kind.with.is_empty() {
            let left = self.nodes.entry(node.to_owned()).or_default();
            left.alone += 1;
            left.seconds += seconds;
        } else {
            let nodes = std::iter::once(node).chain(kind.with.iter().map(String::as_str)).map(str::to_owned).collect();
            self.meetings.push(Meeting { node: node.to_owned(), task: task.to_owned(), nodes, seconds });
        }
    }

    /// Tasks that nodes do alone and that are not over.
    #[must_use]
    pub fn alone(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.alone)).sum()
    }

    /// All tasks that are not over.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.alone() + self.meetings.len() as u64
    }

    /// All tasks that are.
    #[must_use]
    pub fn over(&self) -> u64 {
        self.nodes.values().map(|node| u64::from(node.over)).sum()
    }
}

/// What each task is, by node and name: that never changes, so each file is read once.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<String, BTreeMap<String, Kind>>);

/// What a task needs.
#[derive(Clone, Debug)]
struct Kind {
    seconds: f64,
    /// The other nodes that it needs; empty where it needs none.
    with: Vec<String>,
}

impl From<Task> for Kind {
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
///
/// # Errors
/// A sentence: it cannot be read.
pub(super) fn look(folder: &Folder, plan: &Plan, known: &mut Known) -> Result<Left, String> {
    let mut left = Left::default();
    for node in &plan.nodes {
        let (names, over) = names_of_left(folder, &node.name)?;
        left.nodes.insert(node.name.clone(), NodeLeft { over, ..NodeLeft::default() });
        let known = known.0.entry(node.name.clone()).or_default();
        for (task, file) in names {
            if let Some(seconds) = plan.task_seconds.get(&task) {
                known.insert(task.clone(), Kind { seconds: *seconds, with: Vec::new() });
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
fn names_of_left(folder: &Folder, node: &str) -> Result<(BTreeMap<String, PathBuf>, u32), String> {
    let mut found = BTreeMap::new();
    // In the order in which a task moves, so that none is missed on its way.
    let waiting = folder.tasks(State::Waiting, node);
    for name in tasks::waiting(folder, node)? {
        let file = waiting.join(format!("{name}.json"));
        found.insert(name, file);
    }
    let running = folder.tasks(State::Running, node);
    for seen in claims(&running)?.into_iter().filter(|seen| !seen.name.starts_with('.')) {
        let file = running.join(seen.file());
        found.insert(seen.name, file);
    }
    let over = tasks::over(folder, node)?;
    found.retain(|name, _| !over.contains(name));
    Ok((found, u32::try_from(over.len()).unwrap_or(u32::MAX)))
}
