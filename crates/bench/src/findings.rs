//! What the rows say together, each sentence by a stated rule from the rows that it names.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::sample::MetricName;
use model::warning::Grade;

/// From this share of the ideal on, a rate scales with its threads.
const SCALES: f64 = 0.95;

/// Below this share of the ideal, something other than the cores is the limit.
const LIMITED: f64 = 0.8;

/// A page size that changes latency by less than this is not worth a sentence.
const TRANSLATION_MATTERS: f64 = 1.05;

/// All findings, in the order of the rows.
pub(crate) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = series(rows).into_iter().filter_map(|rows| scaling(&rows)).collect();
    findings.extend(translation(rows));
    findings
}

/// Rows that differ in their threads alone, by the id without them, each ascending in threads; only what was measured.
fn series(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut order: Vec<&str> = Vec::new();
    let mut by_stem: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.grade.is_some()) {
        let stem = row.id.rsplit_once('/').map_or(row.id.as_str(), |(stem, _)| stem);
        if !order.contains(&stem) {
            order.push(stem);
        }
        by_stem.entry(stem).or_default().push(row);
    }
    let mut series: Vec<Vec<&Row>> = order.iter().filter_map(|stem| by_stem.remove(stem)).collect();
    for rows in &mut series {
        rows.sort_by_key(|row| row.params.threads());
    }
    series
}

fn throughput(row: &Row) -> Option<f64> {
    row.metric(MetricName::Throughput).map(|metric| metric.summary.median)
}

/// How a rate scales from the fewest threads to the most.
fn scaling(rows: &[&Row]) -> Option<Finding> {
    let (first, last) = (rows.first()?, rows.last()?);
    let (few, many) = (first.params.threads(), last.params.threads());
    let factor = throughput(last)? / throughput(first)?;
    let share = factor / (f64::from(many) / f64::from(few));
    if few == many || first.id.contains("/scalar/") {
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
        Params::Cpu(params) => format!("{} {}", params.element.name().to_uppercase(), params.op.name().to_uppercase()),
        Params::Memory(params) => match params.op.name().strip_suffix("_nt") {
            Some(op) => format!("Memory {op} (non-temporal)"),
            None => format!("Memory {}", params.op),
        },
        Params::Disk(_) | Params::Net(_) | Params::Other(_) => row.id.clone(),
    }
}

/// What address translation costs: the same chase with small pages and with huge ones.
fn translation(rows: &[Row]) -> Option<Finding> {
    let latency = |id: &str| {
        let row = rows.iter().find(|row| row.id == id && row.grade.is_some())?;
        Some((row, row.metric(MetricName::Latency)?.summary.median))
    };
    let latency = |id: &str| latency(id).filter(|(row, _)| row.grade != Some(Grade::C));
    let (huge, with_huge) = latency("memory/chase-load/2MiB/t1")?;
    let (small, with_small) = latency("memory/chase-load/4KiB/t1")?;
    let factor = with_small / with_huge;
    (factor >= TRANSLATION_MATTERS).then(|| Finding {
        code: "translation_cost".to_owned(),
        area: Area::Memory,
        text: format!(
            "A random access takes {:.0} ns with 4 KiB pages and {:.0} ns with 2 MiB pages: address translation costs {:.0} ns.",
            1e9 * with_small,
            1e9 * with_huge,
            1e9 * (with_small - with_huge)
        ),
        evidence: vec![huge.id.clone(), small.id.clone()],
    })
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
        let found = findings(&rows);
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
        let found = findings(&rows);
        assert_eq!(found[0].code, "scaling_disturbed");
        assert!(!found[0].text.contains("share a core"), "{}", found[0].text);
    }

    #[test]
    fn one_thread_count_says_nothing_about_scaling() {
        assert!(findings(&document().experiments).is_empty());
    }
}
