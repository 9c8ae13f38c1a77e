//! What limits the results: every warning with its cause, its advice and its results; and every result without values, with the
//! reason.

use std::cmp::Reverse;

use minijinja::{Value, context};
use model::document::{Document, Row, Status};
use model::number::counted;
use model::warning::{Cause, Confidence, WARNINGS, Warning};
use serde::Serialize;

use super::tables::Anchors;
use super::text::{capital, code_anchor, warning_words};
use crate::grid::groups::grouped;
use crate::reason::{self, without_words};
use areas::label::Label;

#[derive(Debug, Serialize)]
pub(super) struct WarningKind {
    anchor: String,
    title: String,
    cause: Option<&'static str>,
    consequence: Option<&'static str>,
    /// `27 rows`.
    rows: String,
    effect: String,
    worst: String,
    advice: String,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
struct Part {
    effect: &'static str,
    count: usize,
    /// The texts with their results; none where the confidence is high, or where too many results have the warning, which
    /// are marked in the tables.
    groups: Vec<Group>,
    #[serde(skip)]
    confidence: Confidence,
}

#[derive(Debug, Serialize)]
struct Group {
    text: String,
    rows: Vec<Link>,
}

#[derive(Debug, Serialize)]
struct Link {
    anchor: Option<String>,
    what: String,
}

/// Results grouped by their texts, which are left out where all are the same.
fn by_text<'a>(lines: impl Iterator<Item = (&'a Row, String)>, anchors: &Anchors<'_>) -> Vec<Group> {
    let link = |row: &Row| Link { anchor: anchors.link(&row.id), what: Label::sentence(row) };
    let groups = grouped(lines, |(_, text)| Some(text.clone())).into_iter();
    let group = |(text, lines): (String, Vec<(&Row, String)>)| Group {
        text,
        rows: lines.into_iter().map(|(row, _)| link(row)).collect(),
    };
    groups.map(group).collect()
}

/// Every kind of warning; those that lowered most confidences first.
pub(super) fn kinds(document: &Document, anchors: &Anchors<'_>) -> Vec<WarningKind> {
    let warnings = document.experiments.iter().flat_map(|row| row.warnings.iter().map(move |warning| (row, warning)));
    let groups = grouped(warnings, |(_, warning)| Some(warning.code.as_str())).into_iter();
    let kinds = groups.map(|(code, warnings)| WarningKind::new(code, &warnings, anchors));
    let mut kinds: Vec<WarningKind> = kinds.collect();
    kinds.sort_by_key(|kind| Reverse(LEVELS.map(|confidence| kind.count(confidence))));
    kinds
}

/// The most results of a warning that lowered no confidence to low.
const MOST_LISTED: usize = 24;

const LEVELS: [Confidence; 3] = [Confidence::Low, Confidence::Fair, Confidence::High];

impl WarningKind {
    fn new(code: &str, warnings: &[(&Row, &Warning)], anchors: &Anchors<'_>) -> Self {
        let rule = WARNINGS.iter().find(|rule| warnings[0].1.code == rule.code);
        let consequence = rule.map(|rule| rule.consequence);
        let text = |warning: &Warning| {
            // The consequence is the same for all, and above them.
            let own = consequence.and_then(|consequence| warning.text.strip_suffix(consequence));
            own.unwrap_or(&warning.text).trim_end().to_owned()
        };
        let parts = LEVELS.into_iter().map(|confidence| {
            let own = warnings.iter().filter(|(_, warning)| warning.confidence == confidence);
            let is_listed = match confidence {
                Confidence::Low => true,
                Confidence::Fair => own.clone().count() <= MOST_LISTED,
                Confidence::High => false,
            };
            let listed = own.clone().filter(|_| is_listed);
            let groups = by_text(listed.map(|(row, warning)| (*row, text(warning))), anchors);
            Part { effect: effect(confidence), count: own.count(), groups, confidence }
        });
        let parts: Vec<Part> = parts.filter(|part| part.count > 0).collect();
        let lowered = parts.iter().filter(|part| part.confidence > Confidence::High);
        let lowered: Vec<String> = lowered.map(|part| format!("{} {}", part.count, part.effect)).collect();
        let number = |warning: &Warning| warning.value.unwrap_or(f64::NEG_INFINITY);
        let all = warnings.iter().map(|(_, warning)| *warning);
        let worst = all.reduce(|worst, other| if number(other) > number(worst) { other } else { worst });
        let (worst, advice) = worst.map(|worst| (worst.text.clone(), worst.advice.clone())).unwrap_or_default();
        let words = warning_words(code);
        Self {
            anchor: code_anchor(code),
            title: if words.starts_with("vCPU") { words } else { capital(&words) },
            cause: rule.map(|rule| cause_words(rule.cause)),
            consequence: consequence.filter(|consequence| !worst.contains(consequence)),
            rows: counted(warnings.len() as u64, "result"),
            effect: match &parts[..] {
                [only] => only.effect.to_owned(),
                _ => lowered.join(", "),
            },
            worst,
            advice,
            parts,
        }
    }

    fn count(&self, confidence: Confidence) -> usize {
        self.parts.iter().find(|part| part.confidence == confidence).map_or(0, |part| part.count)
    }
}

const fn effect(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "changes no confidence",
        Confidence::Fair => "usable with care",
        Confidence::Low => "low confidence",
    }
}

const fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Setting => "a setting",
        Cause::Others => "other processes, or other VMs on the host",
        Cause::Method => "the method of measuring",
        Cause::Samples => "the samples themselves",
        Cause::Knowledge => "missing knowledge of the machine",
    }
}

pub(super) fn absences(document: &Document, anchors: &Anchors<'_>) -> Vec<Value> {
    let without = document.experiments.iter().filter(|row| row.status != Status::Ok);
    let mut alike = grouped(without.map(|row| (row, without_words(row))), |(_, reason)| Some(reason::shape(reason)));
    alike.sort_by_key(|(_, rows)| (rows[0].0.status.name() != Status::Failed.name(), Reverse(rows.len())));
    alike.iter().map(|(_, rows)| absence(rows, anchors)).collect()
}

/// Results whose reasons differ in their numbers only; where they do, each has its own.
fn absence(rows: &[(&Row, String)], anchors: &Anchors<'_>) -> Value {
    let status = rows[0].0.status.name();
    let reasons: Vec<&str> = rows.iter().map(|(_, reason)| reason.as_str()).collect();
    let all = reason::merged(&reasons);
    let own = |reason: &String| if *reason == all { String::new() } else { after_status(reason, status) };
    let groups = by_text(rows.iter().map(|(row, reason)| (*row, own(reason))), anchors);
    let count = counted(rows.len() as u64, "result");
    context! { status, reason => after_status(&all, status), count, groups }
}

/// A reason without the status at its beginning, which is printed before it.
fn after_status(reason: &str, status: &str) -> String {
    let rest = reason.strip_prefix(capital(status).as_str()).map(|rest| rest.trim_start_matches([':', ' ']));
    rest.map_or_else(|| reason.to_owned(), capital)
}
