//! How far a plan is, for people and programs: tasks, nodes and why they wait, jobs, the time left. The folder's files
//! are where the figures are from, the queue where the reasons are from; both are read by others.

use model::cluster::NodeState;
use serde::Serialize;

use super::labels;
use crate::formats::escape::one_line;
use crate::layout::{Align, Block, Cell, Column, cut, table, table_width, width, wrap};
use crate::style::{Style, Tone};
use model::number::{counted, duration};

/// No wider than this, whatever there is room for.
const WIDEST: usize = 100;
/// Nodes that are shown: those that something can be said of come first.
const MOST_NODES: usize = 24;
/// No more of a reason is told.
const MOST_REASON: usize = 300;
/// Jobs that are shown.
const MOST_JOBS: usize = 12;

/// How far a plan is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// The plan's name.
    pub plan: String,
    /// Tasks by what became of them.
    pub tasks: TaskCounts,
    /// Expected seconds of measuring that are left, over all nodes; by what was measured where that is known.
    pub node_seconds_left: f64,
    /// Expected seconds until all is over, with as many nodes at work as there are now; `None` where none is.
    pub seconds_left: Option<f64>,
    /// Every node of the plan, in its order.
    pub nodes: Vec<NodeProgress>,
    /// Jobs of this plan that the scheduler still has.
    pub jobs: Vec<JobProgress>,
    /// What else is to be known, such as that the scheduler cannot be asked; sentences.
    pub notes: Vec<String>,
}

/// Tasks by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Nobody has got to them.
    pub waiting: u64,
    /// A worker is at them.
    pub running: u64,
    /// There is a result.
    pub done: u64,
    /// Tried for the last time, without one.
    pub failed: u64,
    /// Cannot be done.
    pub skipped: u64,
}

impl TaskCounts {
    /// All of them.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.waiting + self.running + self.over()
    }

    /// Those that nobody has to look at any more.
    #[must_use]
    pub const fn over(self) -> u64 {
        self.done + self.failed + self.skipped
    }
}

/// How far a node is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeProgress {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: NodeState,
    /// Its tasks.
    pub tasks: TaskCounts,
    /// Expected seconds of measuring that are left on it.
    pub seconds_left: f64,
    /// The task that a worker is at.
    pub doing: Option<String>,
    /// Why it waits or failed, in a sentence.
    pub why: Option<String>,
}

/// A job of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobProgress {
    /// The scheduler's id.
    pub id: String,
    /// Its state, in the scheduler's word.
    pub state: String,
    /// Its nodes, or those that it asks for.
    pub nodes: Vec<String>,
    /// Why it waits.
    pub why: Option<String>,
}

impl Progress {
    /// Nodes in this state.
    fn count(&self, state: NodeState) -> usize {
        self.nodes.iter().filter(|node| node.state == state).count()
    }

    /// Whether nothing is left to be done.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.tasks.over() == self.tasks.all()
    }
}

/// One line, fit for a log: `41 of 50 tasks are over (1 failed); nodes: 8 done, 2 running; 3 min 10 s left`.
#[must_use]
pub fn summary(progress: &Progress) -> String {
    let tasks = progress.tasks;
    let bad: Vec<String> = [(tasks.failed, "failed"), (tasks.skipped, "skipped")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let bad = if bad.is_empty() { String::new() } else { format!(" ({})", bad.join(", ")) };
    let states = [NodeState::Done, NodeState::Partly, NodeState::Running, NodeState::Waiting, NodeState::Failed];
    let nodes = states.into_iter().map(|state| (progress.count(state), labels::state(state)));
    let nodes: Vec<String> =
        nodes.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let nodes = if nodes.is_empty() { String::new() } else { format!("; nodes: {}", nodes.join(", ")) };
    let left = match progress.seconds_left {
        _ if progress.is_over() => String::new(),
        Some(seconds) if seconds <= 0.0 => "; it takes longer than was expected".to_owned(),
        Some(seconds) => format!("; about {} left", duration(seconds)),
        None => format!("; {} of measuring left, and nobody is at it", duration(progress.node_seconds_left)),
    };
    format!("{} of {} over{bad}{nodes}{left}", tasks.over(), counted(tasks.all(), "task"))
}

/// The tables, ending in a newline.
#[must_use]
pub fn render(progress: &Progress, style: &Style) -> String {
    let style = &Style { width: style.width.min(WIDEST), ..*style };
    let bar_width = style.width.saturating_sub(50).min(30);
    let share = progress.tasks.over() as f64 / (progress.tasks.all().max(1)) as f64;
    let title = format!("Plan {}", style.clean(&one_line(&progress.plan)));
    let bar = style.paint(&style.bar(share, bar_width), Tone::Accent);
    let mut head = vec![format!("{}  {bar}", style.paint(&cut(&title, 46, style), Tone::Strong)).trim_end().to_owned()];
    head.extend(wrap(&summary(progress), "", style.width));
    let paragraphs = [head, nodes(progress, style), jobs(progress, style), notes(progress, style)];
    let paragraphs = paragraphs.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    format!("{}\n", paragraphs.collect::<Vec<_>>().join("\n\n"))
}

/// What there is to do about a node comes first, what is over last.
const fn rank(state: NodeState) -> u8 {
    match state {
        NodeState::Running => 0,
        NodeState::Failed => 1,
        NodeState::Partly => 2,
        NodeState::Waiting => 3,
        NodeState::Done => 4,
    }
}

const fn tone(state: NodeState) -> Tone {
    match state {
        NodeState::Done => Tone::Good,
        NodeState::Partly | NodeState::Waiting => Tone::Plain,
        NodeState::Running => Tone::Accent,
        NodeState::Failed => Tone::Bad,
    }
}

fn nodes(progress: &Progress, style: &Style) -> Vec<String> {
    let mut shown: Vec<&NodeProgress> = progress.nodes.iter().collect();
    shown.sort_by_key(|node| rank(node.state));
    shown.truncate(MOST_NODES);
    if shown.is_empty() {
        return Vec::new();
    }
    let texts = |of: &dyn Fn(&NodeProgress) -> String, to: usize| -> Vec<Cell> {
        shown.iter().map(|node| Cell::plain(cut(&style.clean(&of(node)), to, style))).collect()
    };
    let column = |heading: &str, align: Align, cells: Vec<Cell>| {
        let of_heading = if align == Align::Left { Align::Left } else { Align::Right };
        Block::new(heading, of_heading, vec![Column::new(align, cells)])
    };
    let states = shown.iter().map(|node| Cell::new(labels::state(node.state), tone(node.state)));
    let left = |node: &NodeProgress| match node.tasks.over() == node.tasks.all() {
        true => String::new(),
        false if node.seconds_left <= 0.0 => "overdue".to_owned(),
        false => duration(node.seconds_left),
    };
    let mut blocks = vec![
        column("Node", Align::Left, texts(&|node| one_line(&node.name), 20)),
        column("state", Align::Left, states.collect()),
        column("tasks", Align::Right, texts(&|node| format!("{}/{}", node.tasks.over(), node.tasks.all()), 10)),
        column("left", Align::Right, texts(&left, 12)),
    ];
    let whole = |node: &NodeProgress| {
        let doing = node.doing.as_deref().map(one_line);
        let text = doing.into_iter().chain(node.why.as_deref().map(one_line)).collect::<Vec<_>>().join("; ");
        cut(&style.clean(&text), MOST_REASON, style)
    };
    // A reason that is too long for the line stands whole below it: cut, it would tell nothing.
    let room = style.width.saturating_sub(table_width(&blocks, 2) + 2);
    let fits = |text: &str| width(text) <= room;
    let beside = |node: &NodeProgress| Some(whole(node)).filter(|text| fits(text)).unwrap_or_default();
    blocks.push(column("what, or why", Align::Left, texts(&beside, room)));
    let mut rows = table(&blocks, 2, style).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (node, row) in shown.iter().zip(rows) {
        lines.push(row);
        let text = whole(node);
        if !fits(&text) {
            lines.extend(wrap(&text, "    ", style.width).into_iter().map(|line| style.paint(&line, Tone::Dim)));
        }
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

fn notes(progress: &Progress, style: &Style) -> Vec<String> {
    progress.notes.iter().flat_map(|note| wrap(&style.clean(&one_line(note)), "", style.width)).collect()
}
