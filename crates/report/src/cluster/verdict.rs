//! The answer in three sentences: how many nodes were measured, whether they are equal, and the cause and next step.

use model::cluster::{ClusterDocument, FleetNode, NodeState, SlowNode, Standing};
use model::number::{counted, percent};

use super::labels::{some_of, title};
use crate::formats::escape::one_line;
use crate::html::text::{capital, command, listed};

const MOST_NAMED: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// All nodes are measured and equal.
    Equal,
    /// Something is missing, suspect or cannot be judged.
    Open,
    /// A node is slow.
    Slow,
}

#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) outlook: Outlook,
    pub(super) sentences: Vec<String>,
    /// The command at the end of the last sentence.
    pub(super) next: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) all: usize,
    pub(super) measured: usize,
    pub(super) partly: usize,
    pub(super) running: usize,
    pub(super) waiting: usize,
    pub(super) failed: usize,
    pub(super) healthy: usize,
    pub(super) slow: usize,
    pub(super) suspect: usize,
    /// Measured but not judged.
    pub(super) unknown: usize,
}

impl Counts {
    pub(super) fn of(document: &ClusterDocument) -> Self {
        let count = |is: &dyn Fn(&FleetNode) -> bool| document.nodes.iter().filter(|node| is(node)).count();
        let state = |state: NodeState| count(&|node| node.state == state);
        let standing = |standing: Standing| count(&|node| node.standing == standing);
        let is_measured = |node: &FleetNode| matches!(node.state, NodeState::Done | NodeState::Partly);
        Self {
            all: document.nodes.len(),
            measured: count(&is_measured),
            partly: state(NodeState::Partly),
            running: state(NodeState::Running),
            waiting: state(NodeState::Waiting),
            failed: state(NodeState::Failed),
            healthy: standing(Standing::Healthy),
            slow: standing(Standing::Slow),
            suspect: standing(Standing::Suspect),
            unknown: count(&|node| is_measured(node) && node.standing == Standing::Unknown),
        }
    }
}

impl Verdict {
    pub(super) fn of(document: &ClusterDocument) -> Self {
        let counts = Counts::of(document);
        let is_whole = counts.all > 0 && counts.measured == counts.all && counts.partly == 0;
        let outlook = match counts.slow {
            0 if is_whole && counts.suspect + counts.unknown == 0 => Outlook::Equal,
            0 => Outlook::Open,
            _ => Outlook::Slow,
        };
        let (last, next) = to_do(document, counts);
        let sentences = [measured(document, counts), equal(document, counts), last];
        Self { outlook, sentences: sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect(), next }
    }
}

/// `1 node is waiting`, `3 nodes are waiting`.
fn are(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {} {what}", if count == 1 { "is" } else { "are" }))
}

/// The number of measured nodes, and the states of the other nodes.
fn measured(document: &ClusterDocument, counts: Counts) -> String {
    let failed = (counts.failed > 0).then(|| format!("{} failed", counts.failed));
    let others = [are(counts.running, "running"), are(counts.waiting, "waiting"), failed].into_iter().flatten();
    let others: Vec<String> = others.collect();
    let first = match (counts.all, counts.measured) {
        (0, _) => return "The plan has no nodes.".to_owned(),
        (all, 0) => format!("Nothing was measured yet: of {}, {}", counted(all as u64, "node"), listed(&others)),
        (1, 1) => "The only node was measured".to_owned(),
        (all, measured) if all == measured => format!("All {all} nodes were measured"),
        (all, measured) => format!("{measured} of {all} nodes were measured; {}", listed(&others)),
    };
    let partly = match counts.partly {
        0 => String::new(),
        1 => ", 1 of them partly".to_owned(),
        more => format!(", {more} of them partly"),
    };
    let groups: Vec<String> = document.groups.iter().map(|group| group.nodes.to_string()).collect();
    let groups = match groups.len() {
        0 => String::new(),
        1 if counts.all == 1 => String::new(),
        1 => "; their hardware is equal".to_owned(),
        many => format!("; they form {many} groups of equal hardware, of {} nodes", some_of(&groups, 4)),
    };
    format!("{first}{partly}{groups}.")
}

/// Which nodes are slow, and in which areas.
fn equal(document: &ClusterDocument, counts: Counts) -> String {
    if counts.measured == 0 && document.slow.is_empty() {
        return String::new();
    }
    let of = |standing: Standing| document.slow.iter().filter(|slow| slow.standing == standing).collect::<Vec<_>>();
    let (slow, suspect) = (of(Standing::Slow), of(Standing::Suspect));
    let unknown = match (counts.unknown, counts.healthy + counts.slow + counts.suspect) {
        (0, _) => String::new(),
        (1, 0) if counts.measured == 1 => return "There is no other node to compare it with.".to_owned(),
        (_, 0) => return "Too few nodes of equal hardware have results to compare their speed.".to_owned(),
        (unknown, _) => format!(" {} could not be judged.", counted(unknown as u64, "more node")),
    };
    if slow.is_empty() && suspect.is_empty() {
        let them = match counts.healthy {
            all if all == counts.all => "They are equal".to_owned(),
            healthy => format!("{healthy} nodes are equal"),
        };
        return format!("{them}: no node is slower than its group's limit in any metric.{unknown}");
    }
    let named = |nodes: &[&SlowNode], how: &str| {
        let are = if nodes.len() == 1 { "node is" } else { "nodes are" };
        (!nodes.is_empty()).then(|| format!("{} {are} {how}: {}", nodes.len(), first_of(nodes)))
    };
    let parts = [named(&slow, "slow"), named(&suspect, "suspect after one pass")].into_iter().flatten();
    let rest = are(counts.healthy, "equal").map_or_else(String::new, |rest| format!(" The other {rest}."));
    format!("{}.{rest}{unknown}", capital(&parts.collect::<Vec<_>>().join("; ")))
}

/// The first nodes with their areas and shares of the median.
fn first_of(slow: &[&SlowNode]) -> String {
    let node = |slow: &&SlowNode| {
        let areas: Vec<String> = slow.areas.iter().map(|area| in_words(area)).collect();
        let share = slow.deviations.first().and_then(|worst| worst.of_median.first());
        let share = share.map_or_else(String::new, |share| format!(" ({} of the median)", percent(*share)));
        let place = if areas.is_empty() { String::new() } else { format!(" in {}", some_of(&areas, 3)) };
        format!("{}{place}{share}", one_line(&slow.node)).replace(" %", "\u{a0}%")
    };
    let names: Vec<String> = slow.iter().map(node).collect();
    some_of(&names, MOST_NAMED)
}

/// An area inside a sentence.
fn in_words(area: &str) -> String {
    match area {
        "cpu" => "CPU".to_owned(),
        "net" => "network".to_owned(),
        "linpack" => title(area),
        other => title(other).to_lowercase(),
    }
}

/// The most probable cause, the next step, and the command for it.
fn to_do(document: &ClusterDocument, counts: Counts) -> (String, Option<String>) {
    let resume = format!("assay cluster run {}", command(&[one_line(&document.plan.name)]));
    let mut sentences: Vec<String> = document.slow.first().map(cause).into_iter().collect();
    if !document.drain.is_empty() {
        let drained = some_of(&document.drain, MOST_NAMED);
        let them = if document.drain.len() == 1 { "it" } else { "them" };
        sentences.push(format!("Check {drained}, or take {them} out of service. Assay drained no node."));
    }
    let mut next = Some(resume);
    if counts.suspect > 0 {
        let whom = if counts.suspect == 1 { "the suspect" } else { "the suspects" };
        sentences.push(format!("Measure {whom} again with:"));
    } else if document.plan.left > 0 || counts.running + counts.waiting > 0 {
        sentences.push("Continue with:".to_owned());
    } else {
        next = None;
        if counts.failed + counts.partly > 0 {
            sentences.push("The list of nodes has the reasons for missing results.".to_owned());
        } else if document.slow.is_empty() && counts.all > 1 && counts.unknown == 0 {
            sentences.push("No action is needed.".to_owned());
        }
    }
    (sentences.join(" "), next)
}

fn cause(slow: &SlowNode) -> String {
    let node = one_line(&slow.node);
    match slow.causes.first() {
        Some(cause) => {
            let text = one_line(&cause.text);
            let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
            format!("Probable cause on {node}: {text}{end}")
        }
        None => {
            format!("The recorded settings of {node} match those of equal nodes: check its hardware and surroundings.")
        }
    }
}
