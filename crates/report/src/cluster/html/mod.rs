//! The cluster's HTML report: one file with style, script, charts and data. Its layout is in `page.html` and `page.css`,
//! with the style and the script of a run's report.

mod charts;
pub(super) mod tables;

use minijinja::{Value, context};
use model::cluster::{ClusterDocument, is_of_paths};
use model::number::{counted, duration};

use super::csv;
use super::labels::{has_peaks, measured_from, some_of};
use super::verdict::{Counts, Outlook, Verdict};
use crate::formats::escape::one_line;
use crate::formats::json::pretty;
use crate::html::data::{File, MOST, fitting};
use crate::html::repeat::{Command, listed};
use crate::html::text::{capital, command};
use crate::html::{SCRIPT, set, style};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// With more values than this, the data are not in the report: each takes about ten bytes.
const MOST_VALUES: usize = 60_000;
/// From this number of nodes on, their list is folded and not printed.
const FOLDED_FROM: usize = 40;
const MOST_DRAINED: usize = 200;
const MOST_PROBLEMS: usize = 200;
const MOST_NAMES: usize = 12;

/// The whole report; an error where a value of the document is not finite, so that it cannot be packed into it.
pub fn render(document: &ClusterDocument) -> Result<String, String> {
    set(TEMPLATE, page(document)?)
}

fn page(document: &ClusterDocument) -> Result<Value, String> {
    let plan = &document.plan;
    let (deviations, deviations_left) = tables::deviations(document);
    let (nodes, nodes_left) = tables::nodes(document);
    let (name, node_count) = (one_line(&plan.name), counted(document.nodes.len() as u64, "node"));
    let version = &plan.program.version;
    let measured_by = !(*version == document.assay.version || version.is_empty());
    let head = context! {
        program => format!("Assay {}", one_line(&document.assay.version)),
        name,
        // A suite may be the text of a file.
        suite => plan.suite.lines().next().map(one_line).filter(|suite| suite.len() <= 40),
        when => measured_from(document),
        measured_by => measured_by.then(|| format!("measured by Assay {}", one_line(version))),
        nodes => node_count,
        took => format!("{} of measurement, summed over all nodes", duration(plan.node_seconds)),
    };
    Ok(context! {
        title => format!("{name} \u{b7} {node_count} \u{b7} Assay"),
        style => style() + STYLE,
        script => SCRIPT,
        head,
        verdict => said(&Verdict::of(document)),
        counts => numbers(document, Counts::of(document)),
        slow => tables::slow(document),
        has_paths => document.slow.iter().flat_map(|slow| &slow.deviations).any(|of| is_of_paths(&of.experiment)),
        has_peaks => has_peaks(document),
        has_deviations => document.slow.iter().any(|slow| slow.deviations.len() > 1),
        deviations,
        deviations_left,
        sections => charts::sections(document),
        squares => charts::squares(document),
        groups => tables::groups(document),
        differences => tables::differences(document),
        failed_attempts => tables::failed_attempts(document),
        problems => problems(document),
        problems_left => document.problems.len().saturating_sub(MOST_PROBLEMS),
        hpl => tables::hpl(document),
        nodes,
        nodes_left,
        is_long => document.nodes.len() >= FOLDED_FROM,
        drain => document.drain.iter().take(MOST_DRAINED).map(|name| one_line(name)).collect::<Vec<_>>(),
        drain_left => document.drain.len().saturating_sub(MOST_DRAINED),
        commands => commands(document),
        files => files(document)?,
    })
}

fn said(verdict: &Verdict) -> Value {
    let (mark, meaning, class) = match verdict.outlook {
        Outlook::Equal => ("=", "equal", "seal-high"),
        Outlook::Slower => ("!", "slower than before", "seal-fair"),
        Outlook::Inconclusive => ("?", "inconclusive", "seal-fair"),
        Outlook::Slow => ("!", "slow nodes", "seal-low"),
    };
    context! { sentences => verdict.sentences, next => verdict.next, mark, meaning, class }
}

/// The numbers at the top; most zeros are left out.
fn numbers(document: &ClusterDocument, counts: Counts) -> Vec<Value> {
    let plan = &document.plan;
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let attempts = document.nodes.iter().flat_map(|node| &node.failed_attempts).map(|of| of.count).sum();
    let (failed, attempts) = (count(plan.failed), count(attempts));
    let plural = |count: usize, one: &'static str, many: &'static str| if count == 1 { one } else { many };
    let groups = document.groups.len();
    let always = [
        (counts.all, plural(counts.all, "node in the plan", "nodes in the plan"), ""),
        (counts.measured, "measured", ""),
    ];
    let rest = [
        (counts.running, "running", ""),
        (counts.waiting, "waiting", ""),
        (counts.failed, "without results", "bad"),
        (if groups > 1 { groups } else { 0 }, "hardware types", ""),
        (counts.healthy, "not slow", "good"),
        (counts.slow, "slow, confirmed", "bad"),
        (counts.suspect, plural(counts.suspect, "suspect", "suspects"), "fair"),
        (counts.unknown, "not compared", "fair"),
        (counts.slower, "slower than before", "fair"),
        (failed, plural(failed, "failed task", "failed tasks"), "bad"),
        (attempts, plural(attempts, "failed attempt", "failed attempts"), "fair"),
    ];
    let count = |(value, what, class)| context! { value, what, class };
    always.into_iter().chain(rest.into_iter().filter(|(value, ..)| *value > 0)).map(count).collect()
}

fn problems(document: &ClusterDocument) -> Vec<Value> {
    let problem = |of: &model::cluster::Problem| {
        let title = capital(&one_line(&of.code).replace('_', " "));
        context! { title, text => one_line(&of.text), nodes => some_of(&of.nodes, MOST_NAMES) }
    };
    document.problems.iter().take(MOST_PROBLEMS).map(problem).collect()
}

fn commands(document: &ClusterDocument) -> Vec<Command> {
    let name = command(&[one_line(&document.plan.name)]);
    let plan = command(&document.plan.program.argv.iter().map(|word| one_line(word)).collect::<Vec<_>>());
    listed([
        ("Make the plan", plan),
        ("Measure what is missing, and slow nodes a second time", format!("assay cluster run {name}")),
        ("Show its progress", format!("assay cluster status {name}")),
        ("Make this report again", format!("assay cluster report {name}")),
        ("List the nodes to drain, one name a line", format!("assay cluster report {name} --format drain")),
        ("Make the report of one node", format!("assay report {name}/done/NODE/TASK/run")),
    ])
}

/// The document and the table of values, if they fit into a report.
fn files(document: &ClusterDocument) -> Result<Vec<File>, String> {
    let values: usize = document.distributions.iter().map(|metric| metric.values.len()).sum();
    let pairs: usize = document.pairs.iter().map(|matrix| matrix.pairs.len()).sum();
    if values + pairs > MOST_VALUES {
        return Ok(Vec::new());
    }
    let json = pretty(document, "document")?.into_bytes();
    let table = csv::lines(document).collect::<String>().into_bytes();
    let all = [
        ("cluster.json", "application/json", "the document", json),
        ("values.csv", "text/csv", "one line per node, metric and pass", table),
    ];
    Ok(fitting(all, MOST))
}
