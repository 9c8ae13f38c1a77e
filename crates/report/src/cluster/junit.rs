//! Nodes as `JUnit` XML for CI systems: a suite for each area, a case for each node that was measured in it. Slow and
//! suspect nodes are failures, nodes without a judgement are skipped. Nodes without results are in the suite `measured`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use model::cluster::{ClusterDocument, FleetNode, NodeState, SlowNode, Standing};

use super::labels::{metric_name, passes, share};
use crate::formats::junit::{attribute, content};
use crate::grouped::grouped;
use model::number::percent;

/// The suite of nodes without results.
const MEASURED: &str = "measured";

/// The outcome of a case.
enum Verdict<'a> {
    Passed,
    Failed { kind: &'static str, message: String, body: String },
    Skipped(&'a str),
}

/// A case.
struct Case<'a> {
    node: &'a str,
    verdict: Verdict<'a>,
    /// The node's slowest result of the area as a share of the median.
    slowest: Option<f64>,
}

/// The file in pieces, a suite each.
pub fn pieces(document: &ClusterDocument) -> impl Iterator<Item = String> + '_ {
    let suites = suites(document);
    let cases = || suites.iter().flat_map(|(_, cases)| cases);
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay cluster {}\"{}>\n",
        attribute(&document.plan.name),
        counts(cases())
    );
    let tail = std::iter::once("</testsuites>\n".to_owned());
    std::iter::once(head).chain(suites.into_iter().map(move |(area, cases)| suite(area, &cases, document))).chain(tail)
}

/// The cases of each area, in the order of the document.
fn suites(document: &ClusterDocument) -> Vec<(&str, Vec<Case<'_>>)> {
    let nodes: HashMap<&str, &FleetNode> = document.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let slow: HashMap<&str, &SlowNode> = document.slow.iter().map(|slow| (slow.node.as_str(), slow)).collect();
    let mut measured: HashSet<&str> = HashSet::new();
    let mut suites: Vec<(&str, Vec<Case<'_>>)> = Vec::new();
    for (area, metrics) in grouped(document.distributions.iter().map(|metric| (metric.area.as_str(), metric))) {
        let mut slowest: BTreeMap<&str, Option<f64>> = BTreeMap::new();
        for (metric, value) in metrics.iter().flat_map(|metric| metric.values.iter().map(move |value| (metric, value)))
        {
            let least = slowest.entry(&value.node).or_insert(None);
            *least = [*least, share(value, metric)].into_iter().flatten().reduce(f64::min);
        }
        measured.extend(slowest.keys());
        let cases = slowest.into_iter().map(|(node, slowest)| Case {
            node,
            verdict: judged(area, slow.get(node).copied(), nodes.get(node).copied()),
            slowest,
        });
        suites.push((area, cases.collect()));
    }
    let without = document.nodes.iter().filter(|node| !measured.contains(node.name.as_str()));
    let without: Vec<Case<'_>> =
        without.map(|node| Case { node: &node.name, verdict: unmeasured(node), slowest: None }).collect();
    if !without.is_empty() {
        suites.push((MEASURED, without));
    }
    suites
}

/// The verdict on a node in an area.
fn judged<'a>(area: &str, slow: Option<&SlowNode>, node: Option<&FleetNode>) -> Verdict<'a> {
    let in_area = slow.filter(|slow| slow.areas.iter().any(|own| own == area));
    if let Some(slow) = in_area {
        let (kind, words) = match slow.standing {
            Standing::Suspect => ("suspect", "is suspected to be slow after one pass"),
            _ => ("slow", "is slow in two passes"),
        };
        let own = |experiment: &str| experiment.split('/').next() == Some(area) || experiment == format!("area:{area}");
        let deviations = slow.deviations.iter().filter(|deviation| own(&deviation.experiment));
        let lines = deviations.map(|deviation| {
            let what = metric_name(&deviation.experiment, &deviation.metric);
            format!("{what}: {} of the median", passes(&deviation.of_median))
        });
        let lines = lines.chain(slow.causes.iter().map(|cause| format!("probable cause: {}", cause.text)));
        let lines: Vec<String> = lines.map(|line| content(&line)).collect();
        let message = format!("{} {words} in {area}", slow.node);
        return Verdict::Failed { kind, message, body: lines.join("\n") };
    }
    match node.map(|node| node.standing) {
        Some(Standing::Unknown) | None => Verdict::Skipped("too few equal nodes or results to judge it"),
        Some(_) => Verdict::Passed,
    }
}

/// The verdict on a node without results.
fn unmeasured(node: &FleetNode) -> Verdict<'_> {
    let why = node.why.as_deref();
    match node.state {
        NodeState::Failed => {
            let message = why.unwrap_or("every task failed").to_owned();
            Verdict::Failed { kind: "failed", body: content(&message), message }
        }
        NodeState::Running => Verdict::Skipped(why.unwrap_or("a worker is measuring it")),
        NodeState::Waiting => Verdict::Skipped(why.unwrap_or("no worker has taken it yet")),
        NodeState::Done | NodeState::Partly => Verdict::Skipped(why.unwrap_or("its results have no value")),
    }
}

/// The attributes that count cases.
fn counts<'a>(cases: impl Iterator<Item = &'a Case<'a>>) -> String {
    let (mut all, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    for case in cases {
        all += 1;
        failed += u64::from(matches!(case.verdict, Verdict::Failed { .. }));
        skipped += u64::from(matches!(case.verdict, Verdict::Skipped(_)));
    }
    format!(" tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"0.000\"")
}

fn suite(area: &str, cases: &[Case<'_>], document: &ClusterDocument) -> String {
    // The schema requires a time without a zone.
    let created = document.plan.created.trim_end_matches('Z');
    let mut text = format!(
        "  <testsuite name=\"{}\"{} timestamp=\"{}\" hostname=\"\">\n",
        attribute(area),
        counts(cases.iter()),
        attribute(created)
    );
    for case in cases {
        text.push_str(&written(area, case));
    }
    text.push_str("  </testsuite>\n");
    text
}

fn written(area: &str, case: &Case<'_>) -> String {
    let mut text = format!(
        "    <testcase name=\"{}\" classname=\"assay.cluster.{}\" time=\"0.000\">\n",
        attribute(case.node),
        attribute(area)
    );
    // Writing to a String cannot fail.
    let _ = match &case.verdict {
        Verdict::Passed => Ok(()),
        Verdict::Failed { kind, message, body } => {
            writeln!(text, "      <failure message=\"{}\" type=\"{kind}\">{body}</failure>", attribute(message))
        }
        Verdict::Skipped(why) => writeln!(text, "      <skipped message=\"{}\"/>", attribute(why)),
    };
    if let Some(share) = case.slowest {
        let _ = writeln!(text, "      <system-out>slowest result: {} of the median</system-out>", percent(share));
    }
    text.push_str("    </testcase>\n");
    text
}
