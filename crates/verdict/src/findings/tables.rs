//! What each classic table comes to: the fewest threads and the smallest block that are as fast as any, and the highest
//! efficiency with where it occurs.

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::io::{DiskCache, NetMode};
use model::isa::MemoryPattern;
use model::sample::MetricName;

use super::every::{efficiency, peak_words};
use super::figure::{Figure, is_quiet, most};
use super::names::named;
use super::rules::Code;
use super::words::{LONGEST, percent, size, threads};

/// Requests of this many bytes stand in the disk's tables of latency and IOPS, larger ones in that of throughput.
const IOPS_BLOCK: u64 = 1024;

/// A row of a table: what it answers, and its threads and block.
struct Place<'a> {
    row: &'a Row,
    workload: String,
    threads: u32,
    /// Bytes, or of LINPACK the order.
    block: Option<u64>,
    rate: Option<Figure>,
}

/// All of them, of one area.
pub(super) fn findings(area: Area, rows: &[&Row]) -> Vec<Finding> {
    let mut tables: Vec<(&'static str, Vec<Place<'_>>)> = Vec::new();
    for row in rows.iter().copied().filter(|row| is_quiet(row)) {
        let Some((table, place)) = place(row) else { continue };
        match tables.iter_mut().find(|(name, _)| *name == table) {
            Some((_, places)) => places.push(place),
            None => tables.push((table, vec![place])),
        }
    }
    let mut findings = Vec::new();
    for (table, places) in &tables {
        findings.extend(best(area, table, places));
        findings.extend(highest(area, table, places));
    }
    findings
}

/// In which table a row stands, and where.
fn place(row: &Row) -> Option<(&'static str, Place<'_>)> {
    let classic = row.classic.as_ref()?;
    let label = classic.workload.clone();
    let (table, workload, block, name) = match &row.params {
        Params::Cpu(params) => {
            let workload = format!("{label} {}", params.element);
            match classic.class.as_deref() {
                Some("plain") => ("CPU, plain", workload, None, MetricName::Throughput),
                _ => ("CPU, vector", workload, None, MetricName::Throughput),
            }
        }
        Params::Linpack(params) => ("LINPACK", label, Some(params.n), MetricName::Throughput),
        Params::Memory(params) if params.pattern == MemoryPattern::Chase => {
            ("Memory latency", label, None, MetricName::Latency)
        }
        Params::Memory(params) if params.block.is_some() => {
            ("Memory throughput", label, params.block, MetricName::Throughput)
        }
        Params::Memory(params) if params.pattern != MemoryPattern::Sequential => {
            ("Memory random access", label, None, MetricName::Throughput)
        }
        Params::Memory(params) => ("STREAM", params.op.to_string(), None, MetricName::Throughput),
        Params::Disk(params) if params.cache != DiskCache::Bypassed => return None,
        Params::Disk(params) if params.block <= IOPS_BLOCK => ("Disk IOPS", label, None, MetricName::Iops),
        Params::Disk(params) => ("Disk throughput", label, Some(params.block), MetricName::Throughput),
        Params::Net(params) if matches!(params.mode, NetMode::Stream | NetMode::NoDrop) => {
            ("Network rate", label, Some(params.block), MetricName::Throughput)
        }
        Params::Net(_) => ("Network latency", label, None, MetricName::Latency),
        Params::Other(_) => return None,
    };
    // Of times no thread count is the best: each thread waits for itself.
    let rate = if name == MetricName::Latency { None } else { Figure::of(row, name) };
    Some((table, Place { row, workload, threads: row.params.threads(), block, rate }))
}

/// Of each workload the fewest threads, then the smallest block, that are as fast as any.
fn best(area: Area, table: &str, places: &[Place<'_>]) -> Option<Finding> {
    let mut workloads: Vec<&str> = Vec::new();
    for place in places {
        if !workloads.contains(&place.workload.as_str()) {
            workloads.push(&place.workload);
        }
    }
    let mut answers: Vec<(String, Vec<&str>, Vec<&Row>)> = Vec::new();
    for workload in workloads {
        let own: Vec<&Place<'_>> = places.iter().filter(|place| place.workload == workload).collect();
        let Some((answer, rows)) = answer(&own) else { continue };
        match answers.iter_mut().find(|(other, ..)| *other == answer) {
            Some((_, labels, evidence)) => {
                labels.push(workload);
                evidence.extend(rows);
            }
            None => answers.push((answer, vec![workload], rows)),
        }
    }
    (!answers.is_empty()).then_some(())?;
    // As many answers as fit, those of the most workloads first.
    answers.sort_by_key(|(_, labels, _)| std::cmp::Reverse(labels.len()));
    loop {
        let told: Vec<String> =
            answers.iter().map(|(answer, labels, _)| format!("{answer} ({})", labels.join(", "))).collect();
        let evidence: Vec<&Row> = answers.iter().flat_map(|(.., rows)| rows.iter().copied()).collect();
        let fields = [("table", table.to_owned()), ("best", told.join("; "))];
        let found = Code::TableBest.tell(area, &fields, &evidence);
        if found.text.chars().count() <= LONGEST || answers.len() == 1 {
            return Some(found);
        }
        answers.pop();
    }
}

/// `2 threads and 8 MiB`, with the row that it is of and the fastest; `None` where there is no choice.
fn answer<'a>(places: &[&Place<'a>]) -> Option<(String, Vec<&'a Row>)> {
    let known: Vec<(Figure, &Place<'a>)> =
        places.iter().filter_map(|place| Some((place.rate.filter(|rate| rate.span.is_some())?, *place))).collect();
    let (top, fastest) = most(known.iter().map(|(rate, place)| (*rate, place.row)))?;
    let several = |of: fn(&Place<'_>) -> u64| known.iter().any(|(_, place)| of(place) != of(known[0].1));
    let by_threads = several(|place| u64::from(place.threads));
    let by_block = several(|place| place.block.unwrap_or(0));
    (by_threads || by_block).then_some(())?;
    let enough = known.iter().filter(|(rate, _)| rate.is_as_good_as(top));
    let (_, chosen) = enough.min_by_key(|(_, place)| (place.threads, place.block))?;
    let block = chosen.block.map(|block| match chosen.row.params {
        Params::Linpack(_) => format!("N = {block}"),
        _ => size(block),
    });
    let told: Vec<String> =
        by_threads.then(|| threads(chosen.threads)).into_iter().chain(block.filter(|_| by_block)).collect();
    Some((told.join(" and "), vec![chosen.row, fastest]))
}

/// The highest efficiency of a table and where it occurs.
fn highest(area: Area, table: &str, places: &[Place<'_>]) -> Option<Finding> {
    let known = places.iter().filter_map(|place| Some((efficiency(place.row)?, place.row)));
    let ((share, kind), row) =
        known.reduce(|best, other| if other.0.0.median > best.0.0.median { other } else { best })?;
    let fields = [
        ("table", table.to_owned()),
        ("share", percent(share.median)),
        ("kind", peak_words(kind, area).0.to_owned()),
        ("what", named(row)),
    ];
    Some(Code::TableEfficiency.tell(area, &fields, &[row]))
}
