//! The answer in sentences: how many nodes were measured, whether they are equal, which are slow and in what, and the cause and
//! next step.

use std::collections::HashSet;

use model::cluster::{
    ClusterDocument, ClusterVerdict, Difference, Distribution, FleetNode, NodeState, SlowNode, Standing, is_of_paths,
};
use model::number::{counted, percent};

use super::labels::{some_of, title, with_nodes};
use crate::formats::escape::one_line;
use crate::grid::groups::grouped;
use crate::html::text::{capital, command, listed};

const MOST_NAMED: usize = 3;
const MOST_DOUBTS: usize = 3;
const MOST_EXPLAINED: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The nodes are equal.
    Equal,
    /// The same, but nodes are slower than in an earlier plan.
    Slower,
    /// Something is missing, suspect or cannot be judged.
    Inconclusive,
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
    /// Slower than in an earlier plan.
    pub(super) slower: usize,
}

impl Counts {
    pub(super) fn of(document: &ClusterDocument) -> Self {
        let count = |is: &dyn Fn(&FleetNode) -> bool| document.nodes.iter().filter(|node| is(node)).count();
        let state = |state: NodeState| count(&|node| node.state == state);
        let standing = |standing: Standing| count(&|node| node.standing == standing);
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
            slower: document.history.as_ref().map_or(0, |history| history.slower.len()),
        }
    }
}

fn is_measured(node: &FleetNode) -> bool {
    matches!(node.state, NodeState::Done | NodeState::Partly)
}

impl Verdict {
    pub(super) fn of(document: &ClusterDocument) -> Self {
        let counts = Counts::of(document);
        let outlook = match document.verdict {
            ClusterVerdict::Equal if counts.slower == 0 => Outlook::Equal,
            ClusterVerdict::Equal => Outlook::Slower,
            ClusterVerdict::Inconclusive => Outlook::Inconclusive,
            ClusterVerdict::Slow => Outlook::Slow,
        };
        let (last, next) = to_do(document, counts);
        let judged = [in_a_word(document), slow(document, counts), before(document)];
        let judged: Vec<String> = judged.into_iter().filter(|sentence| !sentence.is_empty()).collect();
        let sentences = [measured(document, counts), judged.join(" "), last];
        Self { outlook, sentences: sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect(), next }
    }
}

/// The verdict, and why it is inconclusive: `Verdict: inconclusive, because the nodes differ in kernel.`
fn in_a_word(document: &ClusterDocument) -> String {
    // The next sentence names suspects and nodes that were not compared.
    let is_named = |code: &str| ["suspects", "not_compared"].contains(&code);
    let doubts = document.doubts.iter().filter(|doubt| !is_named(&doubt.code)).map(|doubt| with_nodes(doubt, 2));
    let doubts: Vec<String> = doubts.filter(|_| document.verdict == ClusterVerdict::Inconclusive).collect();
    let more = doubts.len().saturating_sub(MOST_DOUBTS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let why = doubts.iter().take(MOST_DOUBTS).cloned().collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { why } else { format!(", because {why}{more}") };
    format!("Verdict: {}{why}.", document.verdict)
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
        (all, 0) if counts.failed == all => format!("No result: {} failed", counted(all as u64, "node")),
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
        1 if counts.all == 1 || document.verdict == ClusterVerdict::Inconclusive => String::new(),
        1 => format!("; {}", alike(&document.differences)),
        many => format!("; they are of {many} hardware types ({} nodes)", some_of(&groups, 4)),
    };
    format!("{first}{partly}{groups}.")
}

/// Whether nodes of one group are equal, or the facts in which they differ: `they differ in kernel (n03 and n04)`.
fn alike(differences: &[Difference]) -> String {
    let fact = |(fact, of): (&str, Vec<&Difference>)| {
        let nodes: Vec<String> = of.iter().flat_map(|difference| difference.nodes.clone()).collect();
        format!("{} ({})", one_line(fact).replace('_', " "), some_of(&nodes, 2))
    };
    let facts: Vec<String> = grouped(differences, |of| Some(of.fact.as_str())).into_iter().map(fact).collect();
    if facts.is_empty() {
        return "their hardware and settings are equal".to_owned();
    }
    format!("they differ in {}", some_of(&facts, MOST_NAMED))
}

/// Which nodes are slow and in which areas, and what was not judged.
fn slow(document: &ClusterDocument, counts: Counts) -> String {
    if counts.measured == 0 && document.slow.is_empty() {
        return String::new();
    }
    let of = |standing: Standing| document.slow.iter().filter(|slow| slow.standing == standing).collect::<Vec<_>>();
    let (slow, suspect) = (of(Standing::Slow), of(Standing::Suspect));
    let unknown = match (counts.unknown, counts.healthy + counts.slow + counts.suspect) {
        (0, _) => String::new(),
        (1, 0) if counts.measured == 1 => return "There is no other node to compare it with.".to_owned(),
        (_, 0) => return "Too few nodes of the same hardware have results to compare their speed.".to_owned(),
        (unknown, _) => format!(" {} could not be compared.", counted(unknown as u64, "more node")),
    };
    let unknown = unknown + &network(document);
    let named = |nodes: &[&SlowNode], [is, are]: [&str; 2]| {
        let how = if nodes.len() == 1 { format!("node {is}") } else { format!("nodes {are}") };
        (!nodes.is_empty()).then(|| format!("{} {how}: {}", nodes.len(), first_of(nodes)))
    };
    let (once, suspect): (Vec<_>, Vec<_>) = suspect.into_iter().partition(|slow| slow.needs_second_pass());
    let (faulty, twice): (Vec<_>, Vec<_>) = suspect.into_iter().partition(|slow| slow.areas.is_empty());
    let parts = [
        named(&slow, ["is slow", "are slow"]),
        named(&once, ["was slow once and needs a second measurement", "were slow once and need a second measurement"]),
        named(&twice, ["was slow twice, which may be chance", "were slow twice, which may be chance"]),
        named(&faulty, ["has a fault, but does not stand out", "have a fault, but do not stand out"]),
    ];
    let parts = parts.into_iter().flatten();
    let parts = capital(&parts.collect::<Vec<_>>().join("; "));
    match (parts.is_empty(), counts.healthy) {
        (true, _) => format!("No node is slow{}.{unknown}", judged(document)),
        (_, 0) => format!("{parts}.{unknown}"),
        _ => format!("{parts}. No other node is slow{}.{unknown}", judged(document)),
    }
}

/// Which nodes are slower than in an earlier plan.
fn before(document: &ClusterDocument) -> String {
    let Some(history) = &document.history else { return String::new() };
    let plan = format!("'{}'", one_line(&history.plan));
    let nodes: Vec<String> = history.slower.iter().map(|slower| slower.node.clone()).collect();
    match (history.compared, nodes.len()) {
        (0, _) => format!("No node could be compared with {plan}."),
        (_, 0) => format!("No node is slower than in {plan}."),
        (all, count) => {
            let are = if count == 1 { "is" } else { "are" };
            let named = some_of(&nodes, MOST_NAMED);
            format!("{count} of {} {are} slower than in {plan}: {named}.", counted(all, "node"))
        }
    }
}

/// The areas in which a slow node would stand out: ` in CPU, memory or network`.
fn judged(document: &ClusterDocument) -> String {
    let mut areas: Vec<String> = Vec::new();
    let wide = |metric: &&Distribution| {
        let of_area = document.area_limits.iter().filter(|limit| limit.area == metric.area);
        metric.limit.is_none() || of_area.clone().any(|limit| limit.limit < limit.needed)
    };
    for metric in document.distributions.iter().filter(|metric| !wide(metric)) {
        let loopback = metric.area == "net" && !metric.is_of_paths();
        areas.push(if loopback { "loopback".to_owned() } else { in_words(&metric.area) });
    }
    let mut seen = HashSet::new();
    areas.retain(|area| seen.insert(area.clone()));
    match areas.as_slice() {
        [] => String::new(),
        [only] => format!(" in {only}"),
        [first @ .., last] => format!(" in {} or {last}", first.join(", ")),
    }
}

/// Measured nodes without a measured path to or from another node.
fn without_paths(document: &ClusterDocument) -> Vec<String> {
    let pairs = document.pairs.iter().flat_map(|matrix| &matrix.pairs).filter(|pair| pair.value.is_some());
    let with: HashSet<&str> = pairs.flat_map(|pair| [pair.from.as_str(), pair.to.as_str()]).collect();
    let without = |node: &&FleetNode| is_measured(node) && !with.contains(node.name.as_str());
    document.nodes.iter().filter(without).map(|node| one_line(&node.name)).collect()
}

/// Where the network between nodes was not measured.
fn network(document: &ClusterDocument) -> String {
    let without = without_paths(document);
    match without.len() {
        0 => String::new(),
        _ if document.pairs.is_empty() => {
            " The network between the nodes was not measured (assay cluster plan --pairs).".to_owned()
        }
        _ => format!(" The network of {} was not measured.", some_of(&without, MOST_NAMED)),
    }
}

/// The first nodes with their areas and shares: `n06 (network: 41.0 % of the other nodes' paths)`.
fn first_of(slow: &[&SlowNode]) -> String {
    let node = |slow: &&SlowNode| {
        let areas: Vec<String> = slow.areas.iter().map(|area| in_words(area)).collect();
        let share = slow.deviations.first().and_then(|worst| {
            let of = if is_of_paths(&worst.experiment) { "other nodes' paths" } else { "median" };
            Some(format!("{} of the {of}", percent(*worst.of_median.first()?)))
        });
        let parts = [some_of(&areas, 3), share.unwrap_or_default()];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(": ")) };
        format!("{}{parts}", one_line(&slow.node)).replace(" %", "\u{a0}%")
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
    let mut sentences: Vec<String> = document.slow.iter().take(MOST_EXPLAINED).map(cause).collect();
    if !document.drain.is_empty() {
        let drained = some_of(&document.drain, MOST_NAMED);
        let them = if document.drain.len() == 1 { "it" } else { "them" };
        sentences.push(format!("Check {drained} or drain {them}: Assay never drains a node."));
    }
    let mut next = Some(resume);
    if document.slow.iter().any(SlowNode::needs_second_pass) {
        sentences.push("For the second measurement run:".to_owned());
    } else if document.plan.left > 0 || counts.running + counts.waiting > 0 {
        sentences.push("To measure the rest run:".to_owned());
    } else {
        next = None;
        if counts.failed + counts.partly > 0 {
            sentences.push("The list of nodes has the reasons for missing results.".to_owned());
        } else if counts.slower > 0 {
            sentences.push("To find what changed, compare the two runs of a node: assay compare.".to_owned());
        } else if document.verdict == ClusterVerdict::Equal {
            sentences.push("No action is needed.".to_owned());
        } else if document.doubts.iter().any(|doubt| ["interference", "spread_too_wide"].contains(&&*doubt.code)) {
            sentences
                .push("Measure with a new plan while no other job runs on the nodes, without --shared.".to_owned());
        }
    }
    (sentences.join(" "), next)
}

fn cause(slow: &SlowNode) -> String {
    let node = one_line(&slow.node);
    if let Some(cause) = slow.causes.first() {
        let text = one_line(&cause.text);
        let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
        let which = if slow.areas.is_empty() { "Fault" } else { "Probable cause" };
        return format!("{which} on {node}: {text}{end}");
    }
    let paths = slow.deviations.first().is_some_and(|worst| is_of_paths(&worst.experiment));
    let check = if paths { "adapter, cable and switch port" } else { "kernel log, cooling and firmware settings" };
    format!("No recorded fact explains why {node} is slow: check its {check}.")
}
