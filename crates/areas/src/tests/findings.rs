//! The rules of every area on rows made up by hand, the cut, and that the documented table is this one.

use std::collections::BTreeSet;

use model::document::{Finding, Row};
use model::experiment::{Area, Params, cpu_id};
use model::isa::Isa;
use model::machine::Machine;
use model::peak::{Efficiency, PeakKind};
use model::reference::{Reference, ReferenceSample};
use model::warning::{Confidence, WARNINGS, Warning, WarningCode};
use verdict::findings::rules::{EVERY_AREA, Rule};

use super::known;

/// FMA in fp64 on this many threads at this rate.
fn row(threads: u32, rate: f64) -> Row {
    let mut row = super::row();
    let Params::Cpu(params) = &mut row.params else { unreachable!() };
    params.threads = threads;
    row.id = cpu_id(params);
    known(&mut row.metrics[0].summary, rate);
    row
}

fn with_efficiency(mut row: Row, of: PeakKind, value: f64) -> Row {
    row.metrics[0].efficiency = Some(Efficiency { value, of });
    row
}

/// A row with a confidence because of a warning.
fn warned(mut row: Row, confidence: Confidence, code: WarningCode) -> Row {
    let rule = WARNINGS.iter().find(|rule| rule.code == code).unwrap();
    let threshold = if confidence == Confidence::Fair { rule.fair } else { rule.low };
    row.confidence = Some(confidence);
    row.warnings = vec![Warning::new(code, threshold.unwrap(), "Seen.")];
    row
}

fn found(rows: &[Row]) -> Vec<Finding> {
    verdict::findings::findings(rows, &Machine::default(), crate::RULES)
}

fn texts(rows: &[Row], code: &str) -> Vec<String> {
    found(rows).into_iter().filter(|finding| finding.code == code).map(|finding| finding.text).collect()
}

#[test]
fn results_with_low_confidence_are_counted_by_their_causes() {
    let rows = [
        warned(row(1, 1e9), Confidence::Low, WarningCode::WideInterval),
        warned(row(2, 2e9), Confidence::Low, WarningCode::WideInterval),
        warned(row(3, 3e9), Confidence::Low, WarningCode::TimeLost),
        row(4, 4e9),
    ];
    let expected = "CPU: low confidence in 3 of the 4 results: wide interval (2), time lost (1).";
    assert_eq!(texts(&rows, "disturbed"), [expected]);
    let disturbed = found(&rows).into_iter().find(|finding| finding.code == "disturbed").unwrap();
    assert_eq!(disturbed.evidence, [&rows[0], &rows[1], &rows[2]].map(|row| row.id.clone()));
    assert!(texts(&rows[3..], "disturbed").is_empty());
}

#[test]
fn what_several_areas_need_is_said_once() {
    let expected = |needs: &[Area]| -> Vec<(Area, String)> {
        let of = |area: &Area| {
            let code = if needs.contains(area) { WarningCode::WideInterval } else { WarningCode::TimeLost };
            let mut row = warned(row(1, 1e9), Confidence::Fair, code);
            (row.area, row.id) = (*area, format!("{area}/row"));
            row
        };
        let rows: Vec<Row> = Area::ALL.iter().map(of).collect();
        let tried = found(&rows).into_iter().filter(|finding| finding.code == "what_to_try");
        tried.map(|finding| (finding.area, finding.text.split_once(':').unwrap().0.to_owned())).collect()
    };
    assert_eq!(expected(Area::ALL), [(Area::Cpu, "CPU, LINPACK, memory, disk and network".to_owned())]);
    let two = [(Area::Cpu, "CPU, LINPACK and disk".to_owned()), (Area::Memory, "Memory and network".to_owned())];
    assert_eq!(expected(&[Area::Memory, Area::Net]), two);
}

#[test]
fn a_limit_binds_from_nine_tenths_of_it_on() {
    let of = |threads, share| with_efficiency(row(threads, 100.0), PeakKind::Sustained, share);
    let expected = "CPU: 92 % to 98 % of the limit at the measured clock in 2 of the 3 results: the execution units \
                    are the limit.";
    assert_eq!(texts(&[of(1, 0.98), of(2, 0.92), of(4, 0.7)], "limit_binds"), [expected]);
    assert!(texts(&[of(1, 0.89)], "limit_binds").is_empty());
    let mut wide = of(1, 0.98);
    wide.metrics[0].summary.ci95 = Some([80.0, 120.0]);
    assert!(texts(&[wide], "limit_binds").is_empty(), "known too badly");
    assert!(texts(&[with_efficiency(row(1, 1e9), PeakKind::Inferred, 1.0)], "limit_binds").is_empty());
}

fn compared(threads: u32, ratio: f64, explanation: &str) -> Row {
    let mut row = row(threads, 100e9);
    row.metrics[0].references = vec![Reference {
        tool: "likwid-bench".into(),
        samples: vec![ReferenceSample { value: 100e9, ours: 100e9 * ratio, pair: 1, start: 0.0 }],
        median: Some(100e9),
        ratio: Some(ratio),
        ratio_ci95: Some([0.99 * ratio, 1.01 * ratio]),
        pairs: 9,
        bytes_factor: 1.0,
        explanation: Some(explanation.to_owned()).filter(|text| !text.is_empty()),
        ..Reference::default()
    }];
    row
}

#[test]
fn of_each_tool_the_row_farthest_off_is_reported_and_those_that_agree() {
    let long = format!("{}.", "x".repeat(200));
    let rows = [compared(1, 1.1, ""), compared(2, 1.5, "it stops for output; its loop is scalar.")];
    let expected = "FP64 FMA (AVX2) on 2 threads: 1.50x the result of likwid-bench (150 GFLOP/s versus 100 GFLOP/s): \
                    it stops for output; its loop is scalar.";
    assert_eq!(texts(&rows, "reference_differs"), [expected]);
    let cut = texts(&[compared(2, 1.5, &format!("it stops for output; {long}"))], "reference_differs");
    assert!(cut[0].ends_with("100 GFLOP/s): it stops for output."), "{cut:?}");
    assert!(texts(&[compared(1, 1.03, "")], "reference_differs").is_empty());
    let rows = [compared(1, 1.03, ""), compared(2, 0.98, ""), compared(4, 1.5, "")];
    let expected = "likwid-bench agrees within 3.0 % in 2 of the 3 results.";
    assert_eq!(texts(&rows, "reference_agrees"), [expected]);
    assert!(texts(&rows[2..], "reference_agrees").is_empty());
}

#[test]
fn an_area_has_at_most_so_many_results_the_first_of_each_rule_before_any_second() {
    // Three series that do not scale, two kinds of limits, and two tools.
    let mut rows = Vec::new();
    for (isa, factor) in [(Isa::Scalar, 1.2), (Isa::Avx512, 1.0), (Isa::Sse2, 1.2)] {
        for (threads, rate) in [(1, 100.0), (2, 100.0 * factor)] {
            let mut row = with_efficiency(compared(threads, 1.0, ""), PeakKind::Sustained, 0.98);
            let Params::Cpu(params) = &mut row.params else { unreachable!() };
            params.isa = isa;
            row.id = cpu_id(params);
            known(&mut row.metrics[0].summary, rate);
            rows.push(row);
        }
    }
    let mut other_kind = with_efficiency(compared(3, 1.4, ""), PeakKind::Boost, 0.95);
    other_kind.metrics[0].references[0].tool = "other".into();
    rows.push(other_kind);
    let codes: Vec<String> = found(&rows).into_iter().map(|finding| finding.code).collect();
    let expected =
        ["scaling_limited", "scaling_limited", "scaling_none", "limit_binds", "reference_differs", "reference_agrees"];
    assert_eq!(codes, expected);
}

fn rules() -> impl Iterator<Item = (&'static str, &'static Rule)> {
    let own = crate::RULES.iter().flat_map(|area| area.findings.rules.iter().map(|rule| (area.area.name(), rule)));
    EVERY_AREA.iter().map(|rule| ("every", rule)).chain(own)
}

fn table() -> Vec<String> {
    let line = |(area, rule): (&str, &Rule)| {
        let Rule { code, pattern, tested, needs, evidence, .. } = rule;
        format!("| `{code}` | {area} | {pattern} | {tested} | {needs} | {evidence} |")
    };
    rules().map(line).collect()
}

const DOCUMENTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/findings.md");

#[test]
fn the_documented_table_is_the_programs() {
    let text = std::fs::read_to_string(DOCUMENTED).unwrap();
    let documented: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let hint = "to write it again: cargo test -p areas findings_document -- --ignored";
    assert_eq!(documented, table(), "{hint}");
}

#[test]
#[ignore = "writes the table of docs/reference/findings.md"]
fn findings_document() {
    let text = std::fs::read_to_string(DOCUMENTED).unwrap();
    let is_rule = |line: &&str| line.starts_with("| `");
    let before: Vec<&str> = text.lines().take_while(|line| !is_rule(line)).collect();
    let after: Vec<&str> = text.lines().skip(before.len()).skip_while(is_rule).collect();
    let table = table();
    let lines: Vec<&str> = before.into_iter().chain(table.iter().map(String::as_str)).chain(after).collect();
    std::fs::write(DOCUMENTED, lines.join("\n") + "\n").unwrap();
}

#[test]
fn codes_are_words_and_every_field_is_named() {
    let codes: BTreeSet<&str> = rules().map(|(_, rule)| rule.code).collect();
    assert_eq!(codes.len(), rules().count(), "no code twice");
    for (_, rule) in rules() {
        assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", rule.code);
        assert!(rule.pattern.ends_with('.'), "{}", rule.pattern);
        assert!(rule.pattern.matches('{').count() == rule.pattern.matches('}').count());
        assert!(["difference", "likeness", "bound", "values", "count"].contains(&rule.needs), "{}", rule.code);
    }
}
