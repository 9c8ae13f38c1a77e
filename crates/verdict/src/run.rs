//! Judges what only the results of a run together show.

use model::document::{Document, Row};
use model::warning::Confidence;

use crate::rules::AreaRules;
use crate::{answer, expectation, findings, scaling};

/// Sets confidence, scaling and findings of a run.
pub fn judge_together(document: &mut Document, rules: &[AreaRules]) {
    let (rows, machine) = (&mut document.experiments, &document.machine);
    for rules in rules {
        (rules.judge.together)(rows, machine);
    }
    document.run.confidence = headline_confidence(rows);
    scaling::set(rows, rules);
    for row in rows.iter_mut() {
        expectation::set(&AreaRules::of(rules, row.area), row, machine);
    }
    document.findings = findings::findings(rows, machine, rules);
    document.answers = answer::answers(document, rules);
}

/// The worst confidence of the headline results: all but the scalar ones, which are for comparison only.
pub fn headline_confidence(rows: &[Row]) -> Option<Confidence> {
    let is_headline = |row: &&Row| !row.id.contains("/scalar/");
    rows.iter().filter(is_headline).filter_map(|row| row.confidence).max()
}
