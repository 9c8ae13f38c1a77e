//! What the rows say together, each sentence by a rule of one table from the rows that it names (`docs/findings.md`).
//!
//! Rows of grade C take part in nothing but the sentence that says not to quote them. A difference is told only where the
//! spans of both figures do not meet (`figure`). Of everything that could be said, an area says at most `MOST`
//! results: the first of each rule in the order of the table, then the second of each.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::experiment::Area;
use model::machine::Machine;
use model::warning::WarningCode;

use crate::rules::AreaRules;
use crate::scaling::stem;
use figure::is_quiet;
use rules::{Group, RULES};

pub mod cpu;
pub mod disk;
mod every;
mod figure;
pub mod linpack;
pub mod memory;
mod names;
pub mod net;
mod rules;
mod scaling;
mod tables;
mod words;

/// Results that an area has at most; what is disturbed, what to try and the classic tables stand besides.
const MOST: usize = 6;

/// All findings, area by area.
#[must_use]
pub fn findings(rows: &[Row], machine: &Machine, rules: &[AreaRules]) -> Vec<Finding> {
    Area::ALL.iter().flat_map(|area| chosen(*area, of_area(&AreaRules::of(rules, *area), rows, machine))).collect()
}

/// Everything that can be said of an area.
fn of_area(rules: &AreaRules, rows: &[Row], machine: &Machine) -> Vec<Finding> {
    let area = rules.area;
    let own: Vec<&Row> = rows.iter().filter(|row| row.area == area).collect();
    let quiet: Vec<&Row> = own.iter().copied().filter(|row| is_quiet(row)).collect();
    let series = series(&quiet, rules.computes());
    let mut findings = every::findings(area, &own);
    // One cause may hold for several areas: then only the first of them says what to try.
    findings.extend(every::what_to_try(rows).into_iter().filter(|finding| finding.area == area));
    findings.extend(tables::findings(area, &own));
    findings.extend((rules.findings.results)(&quiet, &series, machine));
    findings
}

/// The findings that are told, in the order of the table: trust and tables all, of the results the first of each rule,
/// then the second, until there are enough.
fn chosen(area: Area, found: Vec<Finding>) -> Vec<Finding> {
    let rank = |finding: &Finding| RULES.iter().position(|rule| rule.code == finding.code).unwrap_or(RULES.len());
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize, Finding)> = Vec::new();
    for finding in found.into_iter().filter(|finding| finding.area == area) {
        let rank = rank(&finding);
        let nth = seen.entry(rank).or_default();
        ranked.push((*nth, rank, finding));
        *nth += 1;
    }
    ranked.sort_by_key(|(nth, rank, _)| (*nth, *rank));
    let is_result = |rank: usize| RULES.get(rank).is_some_and(|rule| rule.group == Group::Result);
    let mut results = 0;
    ranked.retain(|(_, rank, _)| {
        results += usize::from(is_result(*rank));
        !is_result(*rank) || results <= MOST
    });
    ranked.sort_by_key(|(nth, rank, _)| (*rank, *nth));
    ranked.into_iter().map(|(.., finding)| finding).collect()
}

/// Rows that differ in their threads alone, by the id without them, each ascending in threads; of rows that compute, only
/// as long as no two threads take turns on a CPU.
fn series<'a>(quiet: &[&'a Row], computes: bool) -> Vec<Vec<&'a Row>> {
    let takes_turns = |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
    let mut series: Vec<(String, Vec<&'a Row>)> = Vec::new();
    for row in quiet.iter().copied().filter(|row| !(computes && takes_turns(row))) {
        let stem = stem(row);
        match series.iter_mut().find(|(other, _)| *other == stem) {
            Some((_, rows)) => rows.push(row),
            None => series.push((stem, vec![row])),
        }
    }
    let sorted = |mut rows: Vec<&'a Row>| {
        rows.sort_by_key(|row| row.params.threads());
        rows
    };
    series.into_iter().map(|(_, rows)| sorted(rows)).collect()
}

#[cfg(test)]
pub(crate) mod tests;
