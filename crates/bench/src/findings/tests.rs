//! The rules as a whole: that the documented table is this one, that random documents lead to no finding that is false,
//! and that the checker which says so finds what is planted.

mod areas;
mod check;
mod every;
mod facts;
mod memory;
mod read;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use model::document::{Finding, Row, Status};
use model::experiment::Area;
use model::machine::Machine;
use model::sample::Summary;
use model::warning::{Grade, WARNINGS, Warning, WarningCode};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use stats::random::Random;

use super::rules::{Group, RULES, Rule};
use check::check;
use rows::Draw;

/// Sets a summary to a value known to one per cent from nine samples.
pub(crate) fn known(summary: &mut Summary, value: f64) {
    let (low, high) = (0.99 * value, 1.01 * value);
    (summary.n, summary.median, summary.ci95, summary.min, summary.max) = (9, value, Some([low, high]), low, high);
}

/// Documents that are looked at; the same ones every time.
const DOCUMENTS: u64 = 400;

fn drawn(seed: u64) -> (Vec<Row>, Machine) {
    let mut draw = Draw::new(seed);
    let machine = rows::machine(&mut draw);
    let mut rows = rows::rows(&mut draw);
    let random = &mut Random::new(seed);
    random.shuffle(&mut rows);
    (rows, machine)
}

/// Everything that could be said of a document, before the cut.
fn all_of(rows: &[Row], machine: &Machine) -> Vec<Finding> {
    Area::ALL.iter().flat_map(|area| super::of_area(*area, rows, machine)).collect()
}

#[test]
fn no_finding_is_false_of_its_rows() {
    let config = ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]));
    let outcome = runner.run(&any::<u64>(), |seed| {
        let (rows, machine) = drawn(seed);
        for finding in all_of(&rows, &machine) {
            let checked = check(&finding, &rows, &machine);
            prop_assert!(checked.is_ok(), "{}: {finding:#?}", checked.unwrap_err());
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn planted_lies_are_found() {
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..DOCUMENTS {
        let (rows, machine) = drawn(seed);
        for finding in all_of(&rows, &machine) {
            // A dozen of each rule are enough.
            let count = told.entry(finding.code.clone()).or_default();
            *count += 1;
            if *count > 12 {
                continue;
            }
            for lie in read::lies(&finding.text) {
                let false_one = Finding { text: lie, ..finding.clone() };
                assert!(check(&false_one, &rows, &machine).is_err(), "not found: {false_one:#?}, {}", finding.text);
            }
            planted_evidence(&finding, &rows, &machine);
        }
    }
    let missing: Vec<&str> = RULES.iter().map(|rule| rule.code).filter(|code| !told.contains_key(*code)).collect();
    assert!(missing.is_empty(), "no random document leads to {missing:?}");
}

/// Evidence that is not there, that is another row's, or that was disturbed.
fn planted_evidence(finding: &Finding, rows: &[Row], machine: &Machine) {
    let found = |evidence: Vec<String>, rows: &[Row], what: &str| {
        let planted = Finding { evidence, ..finding.clone() };
        assert!(check(&planted, rows, machine).is_err(), "{what} was not found: {planted:#?}");
    };
    found(Vec::new(), rows, "no evidence");
    let mut missing = finding.evidence.clone();
    missing[0].push_str("/never");
    found(missing, rows, "a row that is not there");
    let rule = RULES.iter().find(|rule| rule.code == finding.code).unwrap();
    let at = rows.iter().position(|row| row.id == finding.evidence[0]).unwrap();
    let mut changed = rows.to_vec();
    if rule.group == Group::Trust {
        changed[at].grade = None;
    } else {
        changed[at].grade = Some(Grade::C);
    }
    found(finding.evidence.clone(), &changed, "a disturbed row");
    // A row of other parameters, whose figures are others: of a single row or a pair it is always told.
    let other = rows.iter().find(|row| {
        row.area == finding.area
            && row.grade < Some(Grade::C)
            && row.grade.is_some()
            && !finding.evidence.contains(&row.id)
            && row.id.len() != finding.evidence[0].len()
    });
    // Of a table two rows with the same threads and block may be as good, and one advice may be of several warnings.
    let tells_rows = finding.evidence.len() < 3 && !["table_best", "what_to_try"].contains(&finding.code.as_str());
    if let Some(other) = other.filter(|_| tells_rows) {
        let mut swapped = finding.evidence.clone();
        swapped[0].clone_from(&other.id);
        found(swapped, rows, "a swapped row");
    }
}

#[test]
fn an_area_says_few_things_and_none_twice() {
    for seed in 0..DOCUMENTS / 4 {
        let (rows, machine) = drawn(seed);
        let found = super::findings(&rows, &machine);
        let group = |finding: &Finding| RULES.iter().find(|rule| rule.code == finding.code).unwrap().group;
        for area in Area::ALL {
            let own: Vec<&Finding> = found.iter().filter(|finding| finding.area == *area).collect();
            let results = own.iter().filter(|finding| group(finding) == Group::Result).count();
            assert!(results <= super::MOST, "{own:#?}");
            let texts: BTreeSet<&str> = own.iter().map(|finding| finding.text.as_str()).collect();
            assert_eq!(texts.len(), own.len(), "{own:#?}");
            let trust = own.iter().filter(|finding| group(finding) == Group::Trust).count();
            assert!(trust <= 2, "{own:#?}");
        }
        let areas: Vec<Area> = found.iter().map(|finding| finding.area).collect();
        assert!(areas.is_sorted(), "area by area");
        let tried: Vec<&str> = found
            .iter()
            .filter_map(|finding| finding.text.split_once("try this: "))
            .map(|(_, advice)| advice)
            .collect();
        assert_eq!(tried.iter().collect::<BTreeSet<_>>().len(), tried.len(), "an advice twice: {tried:#?}");
    }
}

#[test]
fn what_several_areas_need_is_said_once() {
    let (rows, machine) = drawn(1);
    let text = |needs: &[Area]| -> Vec<(Area, String)> {
        let mut rows = rows.clone();
        for row in &mut rows {
            (row.status, row.grade) = (Status::Ok, Some(Grade::B));
            let code = if needs.contains(&row.area) { WarningCode::WideInterval } else { WarningCode::Steal };
            let rule = WARNINGS.iter().find(|rule| rule.code == code).unwrap();
            row.warnings = vec![Warning::new(code, rule.b.unwrap_or(0.1), "Seen.")];
        }
        let found = super::findings(&rows, &machine).into_iter().filter(|finding| finding.code == "what_to_try");
        found.map(|finding| (finding.area, finding.text.split_once(':').unwrap().0.to_owned())).collect()
    };
    let all = "CPU, LINPACK, memory, disk and network".to_owned();
    assert_eq!(text(Area::ALL), [(Area::Cpu, all)]);
    let expected = [(Area::Cpu, "CPU, LINPACK and disk".to_owned()), (Area::Memory, "Memory and network".to_owned())];
    assert_eq!(text(&[Area::Memory, Area::Net]), expected);
}

/// A line of the documented table.
fn line(rule: &Rule) -> String {
    let areas = if rule.areas == Area::ALL {
        "every".to_owned()
    } else {
        rule.areas.iter().map(|area| area.name()).collect::<Vec<_>>().join(", ")
    };
    let (code, needs) = (rule.code, rule.needs.name());
    format!("| `{code}` | {areas} | {} | {} | {needs} | {} |", rule.pattern, rule.tested, rule.evidence)
}

const DOCUMENTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");

#[test]
fn the_documented_table_is_the_programs() {
    let text = std::fs::read_to_string(DOCUMENTED).unwrap();
    let documented: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let rules: Vec<String> = RULES.iter().map(line).collect();
    for (documented, rule) in documented.iter().zip(&rules) {
        assert_eq!(documented, rule);
    }
    assert_eq!(documented.len(), rules.len(), "to write it anew: cargo test -p bench findings_document -- --ignored");
}

#[test]
#[ignore = "writes the table of docs/findings.md anew"]
fn findings_document() {
    let text = std::fs::read_to_string(DOCUMENTED).unwrap();
    let is_rule = |line: &&str| line.starts_with("| `");
    let before: Vec<&str> = text.lines().take_while(|line| !is_rule(line)).collect();
    let after: Vec<&str> = text.lines().skip(before.len()).skip_while(is_rule).collect();
    let rules: Vec<String> = RULES.iter().map(line).collect();
    let lines: Vec<&str> = before.into_iter().chain(rules.iter().map(String::as_str)).chain(after).collect();
    std::fs::write(DOCUMENTED, lines.join("\n") + "\n").unwrap();
}

#[test]
fn codes_are_words_and_every_field_is_named() {
    let codes: BTreeSet<&str> = RULES.iter().map(|rule| rule.code).collect();
    assert_eq!(codes.len(), RULES.len(), "no code twice");
    for rule in RULES {
        assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", rule.code);
        assert!(rule.pattern.ends_with('.'), "{}", rule.pattern);
        assert!(rule.pattern.matches('{').count() == rule.pattern.matches('}').count() && !rule.areas.is_empty());
    }
}
