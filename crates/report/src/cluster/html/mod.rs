//! The cluster's report as a page: one file as a run's page is, with its style, script, charts and data inside.
//!
//! The first screen answers: how many nodes, are they equal, which are slow, why, and what to do. What it says is worked
//! out here as plain values; how it is set is in `page.html` and `page.css` beside this file, on top of the style and the
//! script of a run's page.

mod figures;
mod tables;

use model::cluster::ClusterDocument;
use serde::Serialize;

use super::labels::some_of;
use super::verdict::{Counts, Outlook, Verdict};
use super::{csv, json};
use crate::formats::escape::one_line;
use crate::html::data::{File, fitting};
use crate::html::text::{command, moment};
use crate::html::{SCRIPT, set, style};
use crate::render::RenderError;
use figures::{Figure, Section};
use model::number::{counted, duration};
use tables::Table;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// From so many values on, the data stay outside the page: packed, each takes some ten bytes of it.
const MOST_VALUES: usize = 60_000;
/// From so many nodes on, their list is folded and does not go to paper.
const FOLDED_FROM: usize = 40;
/// Nodes of the drain list that are shown on the page.
const MOST_DRAINED: usize = 200;
/// Nodes that are named beside a problem.
const MOST_NAMES: usize = 12;

/// The whole page.
///
/// # Errors
/// Where the document holds a figure that is not finite, so that it cannot be packed into the page.
pub fn render(document: &ClusterDocument) -> Result<String, RenderError> {
    set(TEMPLATE, &Page::of(document)?)
}

/// Everything on the page.
#[derive(Debug, Serialize)]
struct Page {
    title: String,
    style: String,
    script: &'static str,
    head: Head,
    verdict: Said,
    counts: Vec<Count>,
    slow: Table,
    deviations: Table,
    deviations_left: usize,
    sections: Vec<Section>,
    squares: Vec<Figure>,
    groups: Table,
    differences: Table,
    problems: Vec<Problem>,
    hpl: Table,
    nodes: Table,
    nodes_left: usize,
    is_long: bool,
    drain: Vec<String>,
    drain_left: usize,
    commands: Vec<Command>,
    files: Vec<File>,
    has: Has,
}

/// Which sections there are: a template does not ask tables whether they are empty.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a section each, read by the template alone")]
struct Has {
    slow: bool,
    deviations: bool,
    groups: bool,
    differences: bool,
    hpl: bool,
}

#[derive(Debug, Serialize)]
struct Head {
    program: String,
    name: String,
    suite: String,
    created: String,
    measured_by: String,
    nodes: String,
    took: String,
}

#[derive(Debug, Serialize)]
struct Said {
    sentences: Vec<String>,
    /// The command that comes next.
    next: Option<String>,
    mark: &'static str,
    meaning: &'static str,
    class: &'static str,
}

/// A number at the top.
#[derive(Debug, Serialize)]
struct Count {
    value: usize,
    what: &'static str,
    class: &'static str,
}

#[derive(Debug, Serialize)]
struct Problem {
    title: String,
    text: String,
    nodes: String,
}

#[derive(Debug, Serialize)]
struct Command {
    about: &'static str,
    command: String,
}

impl Page {
    fn of(document: &ClusterDocument) -> Result<Self, RenderError> {
        let counts = Counts::of(document);
        let head = Head::of(document);
        let (deviations, deviations_left) = tables::deviations(document);
        let (nodes, nodes_left) = tables::nodes(document);
        let (slow, groups) = (tables::slow(document), tables::groups(document));
        let (differences, hpl) = (tables::differences(document), tables::hpl(document));
        let shown = document.drain.iter().take(MOST_DRAINED).map(|name| one_line(name));
        Ok(Self {
            title: format!("{} \u{b7} {} \u{b7} Assay", head.name, head.nodes),
            style: style() + STYLE,
            script: SCRIPT,
            verdict: said(&Verdict::of(document)),
            counts: numbers(document, counts),
            has: Has {
                slow: !slow.is_empty(),
                deviations: document.slow.iter().any(|slow| slow.deviations.len() > 1),
                groups: !groups.is_empty(),
                differences: !differences.is_empty(),
                hpl: !hpl.is_empty(),
            },
            slow,
            deviations,
            deviations_left,
            sections: figures::sections(document),
            squares: figures::squares(document),
            groups,
            differences,
            problems: problems(document),
            hpl,
            nodes,
            nodes_left,
            is_long: document.nodes.len() >= FOLDED_FROM,
            drain: shown.collect(),
            drain_left: document.drain.len().saturating_sub(MOST_DRAINED),
            commands: commands(document),
            files: files(document)?,
            head,
        })
    }
}

impl Head {
    fn of(document: &ClusterDocument) -> Self {
        let plan = &document.plan;
        let measured = &plan.program.version;
        Self {
            program: format!("Assay {}", one_line(&document.assay.version)),
            name: one_line(&plan.name),
            // A suite may be the text of a file.
            suite: plan.suite.lines().next().map(one_line).filter(|suite| suite.len() <= 40).unwrap_or_default(),
            created: moment(&plan.created),
            measured_by: if measured == &document.assay.version || measured.is_empty() {
                String::new()
            } else {
                format!("measured by Assay {}", one_line(measured))
            },
            nodes: counted(document.nodes.len() as u64, "node"),
            took: format!("{} of measuring over all nodes", duration(plan.node_seconds)),
        }
    }
}

fn said(verdict: &Verdict) -> Said {
    let (mark, meaning, class) = match verdict.outlook {
        Outlook::Equal => ("=", "the nodes are equal", "seal-a"),
        Outlook::Open => ("?", "not all is known yet", "seal-b"),
        Outlook::Slow => ("!", "slow nodes", "seal-c"),
    };
    Said { sentences: verdict.sentences.clone(), next: verdict.next.clone(), mark, meaning, class }
}

/// The numbers at the top; what is zero and says nothing is left out.
fn numbers(document: &ClusterDocument, counts: Counts) -> Vec<Count> {
    let plan = &document.plan;
    let failed = usize::try_from(plan.failed).unwrap_or(usize::MAX);
    let plural = |count: usize, one: &'static str, many: &'static str| if count == 1 { one } else { many };
    let groups = document.groups.len();
    let always = [
        (counts.all, plural(counts.all, "node in the plan", "nodes in the plan"), ""),
        (counts.measured, "measured", ""),
    ];
    let rest = [
        (counts.running, "running", ""),
        (counts.waiting, "waiting", ""),
        (counts.failed, "without any result", "bad"),
        (groups, plural(groups, "group of equal hardware", "groups of equal hardware"), ""),
        (counts.healthy, "healthy", "good"),
        (counts.slow, "slow, confirmed", "bad"),
        (counts.suspect, "suspect, one pass", "fair"),
        (counts.unknown, "cannot be judged", "fair"),
        (failed, plural(failed, "failed task", "failed tasks"), "bad"),
    ];
    let count = |(value, what, class)| Count { value, what, class };
    always.into_iter().chain(rest.into_iter().filter(|(value, ..)| *value > 0)).map(count).collect()
}

fn problems(document: &ClusterDocument) -> Vec<Problem> {
    let problem = |of: &model::cluster::Problem| Problem {
        title: crate::html::text::capital(&one_line(&of.code).replace('_', " ")),
        text: one_line(&of.text),
        nodes: some_of(&of.nodes, MOST_NAMES),
    };
    document.problems.iter().map(problem).collect()
}

fn commands(document: &ClusterDocument) -> Vec<Command> {
    let name = command(&[one_line(&document.plan.name)]);
    let plan = command(&document.plan.program.argv.iter().map(|word| one_line(word)).collect::<Vec<_>>());
    let all = [
        ("The plan was made by", plan),
        ("What is still left of it, and slow nodes a second time", format!("assay cluster run {name}")),
        ("How far it is", format!("assay cluster status {name}")),
        ("This report anew", format!("assay cluster report {name}")),
        ("The nodes to drain, a name a line", format!("assay cluster report {name} --format drain")),
        ("Everything about one node", format!("assay report {name}/done/NODE/TASK/run")),
    ];
    all.into_iter()
        .filter(|(_, command)| !command.is_empty())
        .map(|(about, command)| Command { about, command })
        .collect()
}

/// The document and the table of values, where they fit into a page.
fn files(document: &ClusterDocument) -> Result<Vec<File>, RenderError> {
    let values: usize = document.distributions.iter().map(|figure| figure.values.len()).sum();
    let pairs: usize = document.pairs.iter().map(|matrix| matrix.pairs.len()).sum();
    // Whether it can be written at all is said of large documents by their file beside the page.
    if values + pairs > MOST_VALUES {
        return Ok(Vec::new());
    }
    let json = json::render(document)?.into_bytes();
    let table = csv::lines(document).collect::<String>().into_bytes();
    fitting([
        ("cluster.json", "application/json", "the document", json),
        ("values.csv", "text/csv", "one line per node, figure and pass", table),
    ])
}
