//! What the rows say together, each sentence by a stated rule from the rows that it names.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::linpack::LinpackOp;
use model::machine::Machine;
use model::sample::{Metric, MetricName};
use model::unit::format_size;
use model::warning::Grade;

use crate::scaling::{rate, stem};

mod cpu;
mod disk;
mod linpack;
pub(crate) mod memory;
mod net;
mod words;

/// From this share of the ideal on, a rate scales with its threads.
const SCALES: f64 = 0.95;

/// Below this share of the ideal, something other than the cores is the limit.
const LIMITED: f64 = 0.8;

/// Up to so many series get a sentence each.
const FEW: usize = 3;

/// Two figures of which one has no interval differ from this ratio on.
const DIFFERS: f64 = 1.1;

/// All findings, in the order of the rows.
pub(crate) fn findings(rows: &[Row], machine: &Machine) -> Vec<Finding> {
    let series = series(rows);
    let mut findings = cpu::findings(rows, &series, machine);
    findings.extend(memory::findings(rows, &series, machine));
    let others = series.iter().filter(|rows| rows.first().is_some_and(|row| !has_own_rules(row.area)));
    findings.extend(others.filter_map(|rows| scaling(rows)));
    findings.extend(linpack::findings(rows, machine));
    findings.extend(disk::findings(rows, &series));
    findings.extend(net::findings(rows, &series));
    findings
}

/// Whether an area says itself how its rates grow with their threads.
const fn has_own_rules(area: Area) -> bool {
    matches!(area, Area::Cpu | Area::Memory | Area::Disk | Area::Net)
}

/// Rows that differ in their threads alone, by the id without them, each ascending in threads; only what was measured.
fn series(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut order: Vec<String> = Vec::new();
    let mut by_stem: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.grade.is_some()) {
        let stem = stem(row);
        if !order.contains(&stem) {
            order.push(stem.clone());
        }
        by_stem.entry(stem).or_default().push(row);
    }
    let mut series: Vec<Vec<&Row>> = order.iter().filter_map(|stem| by_stem.remove(stem)).collect();
    for rows in &mut series {
        rows.sort_by_key(|row| row.params.threads());
    }
    series
}

/// How a rate scales from the fewest threads to the most.
fn scaling(rows: &[&Row]) -> Option<Finding> {
    let (first, last) = (rows.first()?, rows.last()?);
    let (few, many) = (first.params.threads(), last.params.threads());
    let factor = rate(last)? / rate(first)?;
    let share = factor / (f64::from(many) / f64::from(few));
    if few == many {
        return None;
    }
    let disturbed = rows.iter().any(|row| row.grade == Some(Grade::C));
    let (code, what) = if disturbed {
        ("scaling_disturbed", ", which says little: these rows were disturbed".to_owned())
    } else if share >= SCALES {
        ("scaling_linear", String::new())
    } else if share >= LIMITED {
        ("scaling_sublinear", format!(", {:.0} % of the ideal", 100.0 * share))
    } else if first.area == Area::Memory {
        ("scaling_limited", format!(": bandwidth, not cores, is the limit with {many} threads"))
    } else {
        ("scaling_limited", format!(", {:.0} % of the ideal: the threads share a core, or its clock", 100.0 * share))
    };
    Some(Finding {
        code: code.to_owned(),
        area: first.area,
        text: format!("{} scales {factor:.2}x from {few} to {many} threads{what}.", name(first)),
        evidence: vec![first.id.clone(), last.id.clone()],
    })
}

/// What a row measures, in words.
fn name(row: &Row) -> String {
    match &row.params {
        Params::Cpu(params) => cpu::words(params, row.classic.is_some()),
        Params::Memory(params) => match params.op.name().strip_suffix("_nt") {
            Some(op) => format!("Memory {op} (non-temporal)"),
            None => format!("Memory {}", params.op),
        },
        Params::Linpack(params) => match params.op {
            LinpackOp::Gemm => format!("GEMM of {}", params.element),
            LinpackOp::Lu | LinpackOp::LuMixed => format!("LINPACK (N = {})", params.n),
        },
        Params::Disk(_) | Params::Net(_) | Params::Other(_) => row.id.clone(),
    }
}

/// Median and interval of a metric.
fn known(row: &Row, name: MetricName) -> Option<(f64, Option<[f64; 2]>)> {
    row.metric(name).map(|metric| (metric.summary.median, metric.summary.ci95)).filter(|(median, _)| *median > 0.0)
}

/// Whether two rows differ in a metric by more than their spread, and by how much: the second over the first.
fn ratio(first: &Row, second: &Row, name: MetricName) -> Option<(f64, bool)> {
    let ((a, a_interval), (b, b_interval)) = (known(first, name)?, known(second, name)?);
    let differs = match (a_interval, b_interval) {
        (Some([a_low, a_high]), Some([b_low, b_high])) => a_high < b_low || b_high < a_low,
        _ => !(1.0 / DIFFERS..=DIFFERS).contains(&(b / a)),
    };
    Some((b / a, differs))
}

/// From how many samples a median is, and how far it is known: `n=9, ±0.8 %`.
fn basis(metric: &Metric) -> String {
    let summary = &metric.summary;
    let half = summary.ci95.map(|[low, high]| 50.0 * (high - low).abs() / summary.median.abs());
    half.map_or_else(|| format!("n={}", summary.n), |half| format!("n={}, ±{half:.1} %", summary.n))
}

/// A size as a sentence has it: `128 KiB`.
fn size(bytes: u64) -> String {
    let text = format_size(bytes);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    format!("{} {}", &text[..digits], &text[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::document;

    #[test]
    fn a_finding_follows_from_the_rows_it_names() {
        let mut rows = document().experiments;
        let mut second = rows[0].clone();
        second.id = second.id.replace("/t1", "/t2");
        if let Params::Cpu(params) = &mut second.params {
            params.threads = 2;
        }
        second.metrics[0].summary.median *= 1.98;
        rows.push(second);
        let found = findings(&rows, &Machine::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, "scaling_linear");
        assert!(found[0].text.contains("1.98x from 1 to 2 threads"), "{}", found[0].text);
        assert!(found[0].evidence.iter().all(|id| rows.iter().any(|row| row.id == *id)));
    }

    #[test]
    fn no_cause_is_drawn_from_disturbed_rows() {
        let mut rows = document().experiments;
        let mut second = rows[0].clone();
        second.id = second.id.replace("/t1", "/t2");
        second.grade = Some(Grade::C);
        if let Params::Cpu(params) = &mut second.params {
            params.threads = 2;
        }
        rows.push(second);
        let found = findings(&rows, &Machine::default());
        assert_eq!(found[0].code, "scaling_disturbed");
        assert!(!found[0].text.contains("share a core"), "{}", found[0].text);
    }

    #[test]
    fn one_thread_count_says_nothing_about_scaling() {
        assert!(findings(&document().experiments, &Machine::default()).is_empty());
    }
}
