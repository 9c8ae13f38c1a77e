//! The progress of a plan, for people and programs: tasks, nodes and why they wait, jobs, the time left.

use std::collections::BTreeMap;

use model::cluster::NodeState;
use serde::Serialize;

use super::labels;
use super::terminal::{WIDEST, block, cells};
use crate::formats::escape::one_line;
use crate::layout::{Align, Cell, cut, separated, table, table_width, width, wrap};
use crate::style::{Style, Tone};
use model::number::{counted, duration};

/// The most nodes, those that need attention first.
const MOST_NODES: usize = 16;
const MOST_REASON: usize = 300;
const MOST_JOBS: usize = 12;

/// The progress of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// The plan's name.
    pub plan: String,
    /// When this was found, UTC, ISO 8601.
    pub when: String,
    /// Tasks by state.
    pub tasks: TaskCounts,
    /// Expected seconds of measuring left over all nodes, by measured times where known.
    pub node_seconds_left: f64,
    /// Expected seconds until the end with the present number of working nodes; `None` where no node works.
    pub seconds_left: Option<f64>,
    /// Every node of the plan, in its order.
    pub nodes: Vec<NodeProgress>,
    /// Jobs of this plan in the scheduler.
    pub jobs: Vec<JobProgress>,
    /// Further sentences, such as that the scheduler does not answer.
    pub notes: Vec<String>,
}

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// No worker has taken them.
    pub waiting: u64,
    /// A worker is measuring them.
    pub running: u64,
    /// They have a result.
    pub done: u64,
    /// Every attempt failed.
    pub failed: u64,
    /// They are impossible.
    pub skipped: u64,
}

impl TaskCounts {
    /// All tasks.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.waiting + self.running + self.over()
    }

    /// Tasks that are finished.
    #[must_use]
    pub const fn over(self) -> u64 {
        self.done + self.failed + self.skipped
    }
}

/// The progress of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeProgress {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: NodeState,
    /// Its tasks.
    pub tasks: TaskCounts,
    /// Expected seconds of measuring left.
    pub seconds_left: f64,
    /// The task that is running.
    pub doing: Option<String>,
    /// Why it waits or failed.
    pub why: Option<String>,
}

/// A job of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobProgress {
    /// The scheduler's id.
    pub id: String,
    /// Its state, as the scheduler names it.
    pub state: String,
    /// Its nodes, or the nodes that it requests.
    pub nodes: Vec<String>,
    /// Why it waits.
    pub why: Option<String>,
}

impl Progress {
    /// Whether every task is finished.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.tasks.over() == self.tasks.all()
    }
}

/// One line for a log: `41 of 50 tasks finished (1 failed); nodes: 8 measured, 2 running; about 3 min 10 s left`.
#[must_use]
pub fn summary(progress: &Progress) -> String {
    let tasks = progress.tasks;
    let listed = |counts: &[(u64, &str)]| {
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let bad = listed(&[(tasks.failed, "failed"), (tasks.skipped, "skipped")]);
    let bad = if bad.is_empty() { bad } else { format!(" ({bad})") };
    let states = [NodeState::Done, NodeState::Partly, NodeState::Running, NodeState::Waiting, NodeState::Failed];
    let count = |state: NodeState| progress.nodes.iter().filter(|node| node.state == state).count() as u64;
    let nodes = listed(&states.map(|state| (count(state), labels::state(state))));
    let nodes = if nodes.is_empty() { nodes } else { format!("; nodes: {nodes}") };
    let left = match progress.seconds_left {
        _ if progress.is_over() => String::new(),
        Some(seconds) if seconds <= 0.0 => "; it takes longer than expected".to_owned(),
        Some(seconds) => format!("; about {} left", duration(seconds)),
        None => format!("; {} of measuring left, and no node is working", duration(progress.node_seconds_left)),
    };
    format!("{} of {} finished{bad}{nodes}{left}", tasks.over(), counted(tasks.all(), "task"))
}

/// The tables, ending in a newline.
#[must_use]
pub fn render(progress: &Progress, style: &Style) -> String {
    let style = &Style { width: style.width.min(WIDEST), ..*style };
    let bar_width = style.width.saturating_sub(50).min(30);
    let share = progress.tasks.over() as f64 / progress.tasks.all().max(1) as f64;
    let title = format!("Plan {}", style.clean(&one_line(&progress.plan)));
    let bar = style.paint(&style.bar(share, bar_width), Tone::Accent);
    let mut head = vec![format!("{}  {bar}", style.paint(&cut(&title, 46, style), Tone::Strong)).trim_end().to_owned()];
    head.extend(wrap(&format!("{} {}", progress.when, summary(progress)), "", style.width));
    let notes = progress.notes.iter().flat_map(|note| wrap(&style.clean(&one_line(note)), "", style.width)).collect();
    separated(&[head, states(progress, style), nodes(progress, style), jobs(progress, style), notes])
}

/// The most reasons of a state that are listed.
const MOST_REASONS: usize = 3;

type State<'a> = (NodeState, Vec<&'a NodeProgress>);

/// A line for each state of nodes: tasks, time left, and what most of its nodes do or wait for.
fn states(progress: &Progress, style: &Style) -> Vec<String> {
    let mut states: Vec<State<'_>> = Vec::new();
    for node in &progress.nodes {
        match states.iter_mut().find(|(state, _)| *state == node.state) {
            Some((_, nodes)) => nodes.push(node),
            None => states.push((node.state, vec![node])),
        }
    }
    states.sort_by_key(|(state, _)| look(*state).0);
    let texts = |of: &dyn Fn(&State<'_>) -> String, to: usize| cells(states.iter(), style, of, to);
    let names = states.iter().map(|(state, _)| Cell::new(labels::state(*state), look(*state).1));
    let tasks = |(_, nodes): &State<'_>| {
        let sum = |count: fn(TaskCounts) -> u64| nodes.iter().map(|node| count(node.tasks)).sum::<u64>();
        format!("{}/{}", sum(TaskCounts::over), sum(TaskCounts::all))
    };
    let left = |(_, nodes): &State<'_>| {
        let longest = nodes.iter().map(|node| node.seconds_left).fold(0.0, f64::max);
        if longest > 0.0 { duration(longest) } else { String::new() }
    };
    let mut blocks = vec![
        block("Nodes", Align::Left, names.collect()),
        block("count", Align::Right, texts(&|(_, nodes)| nodes.len().to_string(), 8)),
        block("tasks", Align::Right, texts(&tasks, 14)),
        block("longest left", Align::Right, texts(&left, 12)),
    ];
    let room = style.width.saturating_sub(table_width(&blocks, 2) + 2);
    blocks.push(block("task or reason", Align::Left, texts(&|(_, nodes)| reasons(nodes), room)));
    table(&blocks, 2, style)
}

/// What nodes do or wait for, the most frequent first, with the number of nodes.
fn reasons(nodes: &[&NodeProgress]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for text in nodes.iter().filter_map(|node| node.doing.as_deref().or(node.why.as_deref())) {
        *reasons.entry(text).or_default() += 1;
    }
    let mut reasons: Vec<(usize, &str)> = reasons.into_iter().map(|(text, count)| (count, text)).collect();
    reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let more = reasons.len().saturating_sub(MOST_REASONS);
    let one =
        |(count, text): &(usize, &str)| if nodes.len() > 1 { format!("{count}: {text}") } else { (*text).to_owned() };
    let mut parts: Vec<String> = reasons.iter().take(MOST_REASONS).map(one).collect();
    parts.extend((more > 0).then(|| format!("{more} more")));
    one_line(&parts.join("; "))
}

/// The order and the tone of nodes in a state: nodes that need attention first, finished nodes last.
const fn look(state: NodeState) -> (u8, Tone) {
    match state {
        NodeState::Running => (0, Tone::Accent),
        NodeState::Failed => (1, Tone::Bad),
        NodeState::Partly => (2, Tone::Plain),
        NodeState::Waiting => (3, Tone::Plain),
        NodeState::Done => (4, Tone::Good),
    }
}

fn nodes(progress: &Progress, style: &Style) -> Vec<String> {
    let mut shown: Vec<&NodeProgress> = progress.nodes.iter().collect();
    shown.sort_by_key(|node| look(node.state).0);
    shown.truncate(MOST_NODES);
    if shown.is_empty() {
        return Vec::new();
    }
    let texts = |of: &dyn Fn(&NodeProgress) -> String, to: usize| cells(shown.iter().copied(), style, of, to);
    let states = shown.iter().map(|node| Cell::new(labels::state(node.state), look(node.state).1));
    let left = |node: &NodeProgress| match node.tasks.over() == node.tasks.all() {
        true => String::new(),
        false if node.seconds_left <= 0.0 => "overdue".to_owned(),
        false => duration(node.seconds_left),
    };
    let mut blocks = vec![
        block("Node", Align::Left, texts(&|node| one_line(&node.name), 20)),
        block("state", Align::Left, states.collect()),
        block("tasks", Align::Right, texts(&|node| format!("{}/{}", node.tasks.over(), node.tasks.all()), 10)),
        block("time left", Align::Right, texts(&left, 12)),
    ];
    let whole = |node: &NodeProgress| {
        let doing = node.doing.as_deref().map(one_line);
        let text = doing.into_iter().chain(node.why.as_deref().map(one_line)).collect::<Vec<_>>().join("; ");
        cut(&style.clean(&text), MOST_REASON, style)
    };
    // A reason that is too long for the line is below it.
    let room = style.width.saturating_sub(table_width(&blocks, 2) + 2);
    let fits = |text: &String| width(text) <= room;
    blocks.push(block(
        "task or reason",
        Align::Left,
        texts(&|node| Some(whole(node)).filter(fits).unwrap_or_default(), room),
    ));
    let mut rows = table(&blocks, 2, style).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (node, row) in shown.iter().zip(rows) {
        lines.push(row);
        let below = Some(whole(node)).filter(|text| !fits(text)).map(|text| wrap(&text, "    ", style.width));
        lines.extend(below.iter().flatten().map(|line| style.paint(line, Tone::Dim)));
    }
    let more = progress.nodes.len() - shown.len();
    lines.extend((more > 0).then(|| format!("and {}", counted(more as u64, "more node"))));
    lines
}

fn jobs(progress: &Progress, style: &Style) -> Vec<String> {
    if progress.jobs.is_empty() {
        return Vec::new();
    }
    let line = |job: &JobProgress| {
        let why = job.why.as_deref().map_or_else(String::new, |why| format!(": {}", one_line(why)));
        let nodes = labels::some_of(&job.nodes, 4);
        let nodes = if nodes.is_empty() { String::new() } else { format!(" on {nodes}") };
        format!("{} {}{nodes}{why}", one_line(&job.id), one_line(&job.state))
    };
    let mut lines = vec![style.paint("Jobs", Tone::Strong)];
    let shown = progress.jobs.iter().take(MOST_JOBS);
    lines.extend(shown.flat_map(|job| wrap(&style.clean(&line(job)), "  ", style.width)));
    let more = progress.jobs.len().saturating_sub(MOST_JOBS);
    lines.extend((more > 0).then(|| format!("  and {}", counted(more as u64, "more job"))));
    lines
}
