//! The validity log: every warning with its cause, its figure, its advice and its rows; and every row that has no
//! figures, with the reason.

use model::document::{Document, Row, Status};
use model::number::counted;
use model::warning::{Cause, Grade, WARNINGS, Warning};
use serde::Serialize;

use super::tables::Anchors;
use super::text::{capital, code_anchor, warning_words};
use crate::reason;
use crate::terminal::without_words;
use areas::label::Label;

/// All remarks of one kind.
#[derive(Debug, Serialize)]
pub(super) struct WarningKind {
    /// The end of its anchor.
    anchor: String,
    pub(super) title: String,
    /// The same inside a sentence.
    #[serde(skip)]
    pub(super) words: String,
    cause: Option<&'static str>,
    /// What it does to a number.
    consequence: Option<&'static str>,
    /// `27 rows`.
    pub(super) rows: String,
    /// What it did to them: `7 not to be quoted, 20 usable`.
    pub(super) effect: String,
    /// The worst that was seen.
    pub(super) worst: String,
    pub(super) advice: String,
    parts: Vec<Part>,
    #[serde(skip)]
    pub(super) disturbed: usize,
    #[serde(skip)]
    pub(super) doubtful: usize,
    #[serde(skip)]
    figure: f64,
}

/// The rows that it did the same to.
#[derive(Debug, Serialize)]
struct Part {
    effect: &'static str,
    lines: Vec<LogLine>,
    #[serde(skip)]
    grade: Grade,
}

/// One row's remark, or the reason why it has no figures.
#[derive(Debug, Serialize)]
pub(super) struct LogLine {
    anchor: Option<String>,
    what: String,
    text: String,
}

/// Rows that were not measured for the same reason.
#[derive(Debug, Serialize)]
pub(super) struct Absence {
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) rows: Vec<LogLine>,
}

/// Every kind of warning that was raised: those that lowered most grades first.
pub(super) fn kinds(document: &Document, anchors: &Anchors<'_>) -> Vec<WarningKind> {
    let mut kinds: Vec<WarningKind> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in &document.experiments {
        for warning in &row.warnings {
            let place = *places.entry(warning.code.as_str()).or_insert_with(|| {
                kinds.push(WarningKind::new(warning));
                kinds.len() - 1
            });
            kinds[place].add(row, warning, anchors);
        }
    }
    for kind in &mut kinds {
        kind.finish();
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse((kind.disturbed, kind.doubtful, kind.count())));
    kinds
}

impl WarningKind {
    fn new(warning: &Warning) -> Self {
        let rule = WARNINGS.iter().find(|rule| warning.code == rule.code);
        Self {
            anchor: code_anchor(warning.code.as_str()),
            title: title(warning.code.as_str()),
            words: warning_words(warning.code.as_str()),
            cause: rule.map(|rule| cause_words(rule.cause)),
            consequence: rule.map(|rule| rule.consequence),
            rows: String::new(),
            effect: String::new(),
            worst: String::new(),
            advice: String::new(),
            parts: Vec::new(),
            disturbed: 0,
            doubtful: 0,
            figure: f64::NEG_INFINITY,
        }
    }

    fn add(&mut self, row: &Row, warning: &Warning, anchors: &Anchors<'_>) {
        self.disturbed += usize::from(warning.grade == Grade::C);
        self.doubtful += usize::from(warning.grade == Grade::B);
        let figure = warning.figure.unwrap_or(f64::NEG_INFINITY);
        if self.parts.is_empty() || figure > self.figure {
            (self.figure, self.worst, self.advice) = (figure, warning.text.clone(), warning.advice.clone());
        }
        // What follows for a number is the same for all of a kind, and told above them.
        let own = self.consequence.and_then(|consequence| warning.text.strip_suffix(consequence));
        let text = own.unwrap_or(&warning.text).trim_end().to_owned();
        let line = LogLine { anchor: anchors.link(&row.id), what: Label::sentence(row), text };
        match self.parts.iter_mut().find(|part| part.grade == warning.grade) {
            Some(part) => part.lines.push(line),
            None => self.parts.push(Part { effect: effect(warning.grade), lines: vec![line], grade: warning.grade }),
        }
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|part| part.lines.len()).sum()
    }

    /// What can be said once all rows are there. What every one of them says is not said again beside each.
    fn finish(&mut self) {
        self.parts.sort_by_key(|part| std::cmp::Reverse(part.grade));
        self.rows = counted(self.count() as u64, "row");
        let parts = [(self.disturbed, effect(Grade::C)), (self.doubtful, effect(Grade::B))];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")).collect();
        self.effect = if parts.is_empty() { effect(Grade::A).to_owned() } else { parts.join(", ") };
        let mut lines = self.parts.iter().flat_map(|part| &part.lines);
        let first = lines.next().map(|line| line.text.clone()).unwrap_or_default();
        if lines.all(|line| line.text == first) {
            self.parts.iter_mut().flat_map(|part| &mut part.lines).for_each(|line| line.text.clear());
        }
        // The worst says it already, as a rule.
        self.consequence = self.consequence.filter(|consequence| !self.worst.contains(consequence));
    }
}

/// What a warning did to a row that it left at this grade.
const fn effect(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "changes no grade",
        Grade::B => "usable with this in mind",
        Grade::C => "not to be quoted",
    }
}

/// The same as a heading.
fn title(code: &str) -> String {
    let words = warning_words(code);
    if words.starts_with("vCPU") { words } else { capital(&words) }
}

const fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Setting => "a setting",
        Cause::Others => "others on this machine or its host",
        Cause::Method => "how it was measured",
        Cause::Samples => "the samples themselves",
        Cause::Knowledge => "what is known of the machine",
    }
}

/// Rows without figures, by what became of them and why.
pub(super) fn absences(document: &Document, anchors: &Anchors<'_>) -> Vec<Absence> {
    let mut alike: Vec<Vec<(&Row, String)>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in document.experiments.iter().filter(|row| row.status != Status::Ok) {
        let reason = without_words(row);
        let place = *places.entry(reason::shape(&reason)).or_insert_with(|| {
            alike.push(Vec::new());
            alike.len() - 1
        });
        alike[place].push((row, reason));
    }
    let mut absences: Vec<Absence> = alike.iter().filter_map(|rows| absence(rows, anchors)).collect();
    absences.sort_by_key(|absence| (absence.status != Status::Failed.name(), std::cmp::Reverse(absence.rows.len())));
    absences
}

/// Rows whose reasons differ in their figures at most; where they do, each row tells its own.
fn absence(rows: &[(&Row, String)], anchors: &Anchors<'_>) -> Option<Absence> {
    let (first, _) = rows.first()?;
    let status = first.status.name();
    let reasons: Vec<&str> = rows.iter().map(|(_, reason)| reason.as_str()).collect();
    let all = reason::merged(&reasons);
    let line = |(row, reason): &(&Row, String)| LogLine {
        anchor: anchors.link(&row.id),
        what: Label::sentence(row),
        text: if *reason == all { String::new() } else { after_status(reason, status) },
    };
    Some(Absence { status, reason: after_status(&all, status), rows: rows.iter().map(line).collect() })
}

/// A reason without the status that it begins with, which stands before it.
fn after_status(reason: &str, status: &str) -> String {
    let rest = reason.strip_prefix(capital(status).as_str()).map(|rest| rest.trim_start_matches([':', ' ']));
    rest.map_or_else(|| reason.to_owned(), capital)
}
