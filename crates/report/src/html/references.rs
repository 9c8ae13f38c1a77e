//! Comparison with reference tools: both values, the ratio with its interval, why they may differ, and each command line.
//! Ratios and verdicts are the document's.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};
use model::document::{Document, Row, Status};
use model::number::{counted, digits};
use model::reference::Reference;
use model::sample::Metric;

use super::text;
use crate::grid::tables::{ours, scale, verdict_words};
use crate::reason::{NO_REASON, reason_words};
use areas::label::Label;

/// The comparisons, and the remarks that they refer to by number.
pub(super) fn lines(document: &Document) -> (Vec<Value>, Vec<String>) {
    let mut remarks: Vec<String> = Vec::new();
    let mut number = |remark: &str| {
        let remark = text::capital(remark);
        let place = remarks.iter().position(|own| *own == remark).unwrap_or_else(|| {
            remarks.push(remark);
            remarks.len() - 1
        });
        (place + 1).to_string()
    };
    let lines = all(document).map(|(row, metric, reference)| {
        let is_ok = reference.status == Status::Ok;
        let reason = || Some(reference.reason.as_deref().unwrap_or(NO_REASON));
        let remark = if is_ok { reference.explanation.as_deref() } else { reason() };
        let remark = remark.map(reason_words).unwrap_or_default();
        let parts = remark.trim_end_matches('.').split("; ").filter(|part| !part.is_empty());
        line(row, metric, reference, &parts.map(&mut number).collect::<Vec<_>>().join(", "))
    });
    let lines = lines.collect();
    (lines, remarks)
}

pub(super) fn tools(document: &Document) -> Vec<Value> {
    let started = all(document).filter(|(_, _, reference)| !reference.argv.is_empty());
    let mut tools: BTreeMap<&str, (&str, Vec<Value>)> = BTreeMap::new();
    for (row, _, reference) in started {
        let version = reference.version.as_deref().unwrap_or_default();
        let (_, calls) = tools.entry(&reference.tool).or_insert_with(|| (version, Vec::new()));
        let call = context! {
            what => Label::sentence(row),
            command => with_environment(&reference.env, &reference.argv),
            server => text::command(&reference.server_argv),
        };
        // A tool that gives two values of a result was called once.
        if calls.last() != Some(&call) {
            calls.push(call);
        }
    }
    tools.into_iter().map(|(name, (version, calls))| context! { name, version, calls }).collect()
}

fn all(document: &Document) -> impl Iterator<Item = (&Row, &Metric, &Reference)> {
    let metrics = document.experiments.iter().flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)));
    metrics.flat_map(|(row, metric)| metric.references.iter().map(move |reference| (row, metric, reference)))
}

fn with_environment(environment: &BTreeMap<String, String>, arguments: &[String]) -> String {
    let set = environment.iter().map(|(name, value)| format!("{name}={value}"));
    let clean = ["env", "-i"].map(str::to_owned).into_iter().filter(|_| !environment.is_empty());
    text::command(&clean.chain(set).chain(arguments.iter().cloned()).collect::<Vec<_>>())
}

fn line(row: &Row, metric: &Metric, reference: &Reference, remarks: &str) -> Value {
    let (ours, scale) = (ours(reference), scale(row, metric, reference));
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let written = |value: Option<f64>| {
        let value = finite(value).zip(scale);
        value.map_or_else(String::new, |(value, scale)| format!("{} {}", scale.digits(value), scale.unit()))
    };
    let words = Label::sentence(row);
    let is_first = row.metrics.first().is_some_and(|first| std::ptr::eq(first, metric));
    let is_ok = reference.status == Status::Ok;
    let interval = reference.ratio_ci95.map(|[low, high]| format!("{} to {}", digits(low), digits(high)));
    context! {
        what => if is_first { words } else { format!("{words}, {}", metric.name.as_str().replace('_', " ")) },
        tool => reference.tool,
        version => reference.version.as_deref().unwrap_or_default(),
        ours => written(ours),
        theirs => written(reference.median),
        ratio => reference.ratio.map_or_else(String::new, digits),
        interval,
        pairs => reference.samples.len(),
        verdict => if is_ok { verdict_words(reference.verdict) } else { reference.status.name() },
        remarks,
    }
}

/// `3 reference tools for 12 results`.
pub(super) fn summary(document: &Document) -> String {
    let tools: BTreeSet<&str> = all(document).map(|(_, _, reference)| reference.tool.as_str()).collect();
    let rows: BTreeSet<&str> = all(document).map(|(row, ..)| row.id.as_str()).collect();
    format!("{} for {}", counted(tools.len() as u64, "reference tool"), counted(rows.len() as u64, "result"))
}
