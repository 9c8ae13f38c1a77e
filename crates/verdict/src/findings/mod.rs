//! Findings: sentences by the rules of `docs/reference/findings.md`, with the results that are their evidence.
//!
//! Two values differ only if their spans do not overlap (`estimate`). Results with low confidence are no evidence.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::experiment::id_without_threads;
use model::machine::Machine;
use model::warning::WarningCode;

use crate::grouping::by_key;
use crate::rules::AreaRules;
use estimate::is_undisturbed;

pub mod estimate;
mod every;
pub mod rules;
mod scaling;
pub mod words;

use rules::{EVERY_AREA, Rule};

/// The most findings about an area's results; those on trust are not counted.
const MOST: usize = 6;

/// All findings, area by area.
pub fn findings(rows: &[Row], machine: &Machine, areas: &[AreaRules]) -> Vec<Finding> {
    let advice = every::what_to_try(rows, areas);
    let of_area = |area: &AreaRules| {
        let own: Vec<&Row> = rows.iter().filter(|row| row.area == area.area).collect();
        let mut found = of_area(&own, machine, area);
        // One cause may hold for several areas: only the first of them says what to try.
        found.extend(advice.iter().filter(|finding| finding.area == area.area).cloned());
        chosen(found, area.findings.rules)
    };
    areas.iter().flat_map(of_area).collect()
}

/// Every finding about the results of one area but what to try, in no order.
pub fn of_area(rows: &[&Row], machine: &Machine, area: &AreaRules) -> Vec<Finding> {
    let quiet: Vec<&Row> = rows.iter().copied().filter(|row| is_undisturbed(row)).collect();
    let mut found = every::findings(rows, area);
    let series = series(&quiet, area.computes());
    found.extend(scaling::findings(&(area.findings.scaling_series)(&series, machine), machine, area));
    found.extend((area.findings.results)(&quiet, &series, machine));
    found
}

/// The reported findings by importance: all on trust, then results by turns of the rules up to [`MOST`].
fn chosen(found: Vec<Finding>, own: &[Rule]) -> Vec<Finding> {
    let rules: Vec<&Rule> = EVERY_AREA.iter().chain(own).collect();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize, Finding)> = Vec::new();
    for finding in found {
        let rank = rules.iter().position(|rule| rule.code == finding.code).unwrap_or(rules.len());
        let nth = seen.entry(rank).or_default();
        ranked.push((*nth, rank, finding));
        *nth += 1;
    }
    ranked.sort_by_key(|(nth, rank, _)| (*nth, *rank));
    let is_result = |rank: usize| rules.get(rank).is_some_and(|rule| !rule.is_of_trust);
    let mut results = 0;
    ranked.retain(|(_, rank, _)| {
        results += usize::from(is_result(*rank));
        !is_result(*rank) || results <= MOST
    });
    ranked.sort_by_key(|(nth, rank, _)| (*rank, *nth));
    ranked.into_iter().map(|(.., finding)| finding).collect()
}

/// Results that differ only in threads, ascending; computing threads must not share a CPU.
fn series<'a>(quiet: &[&'a Row], computes: bool) -> Vec<Vec<&'a Row>> {
    let takes_turns = |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
    let counted = quiet.iter().copied().filter(|row| !(computes && takes_turns(row)));
    let mut series = by_key(counted, |row| Some(id_without_threads(&row.id)));
    for (_, rows) in &mut series {
        rows.sort_by_key(|row| row.params.threads());
    }
    series.into_iter().map(|(_, rows)| rows).collect()
}
