//! Findings about two or three rows that differ in one thing: the page cache, what a write waits for, the order, the
//! direction, what was touched just before.

use model::document::{Finding, Row};
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskOp, DiskPattern, DiskSync};
use model::sample::MetricName;

use super::super::ratio;
use super::super::words::percent;
use super::words::{figure, latency, name, requests, throughput};
use super::{conditions, disk, finding, is_free, with};

/// A cold page cache may have held this share of the file before a sample, and a warm one must have held all but this.
const STATE: f64 = 0.05;

/// Something between answers from memory of its own from this gain on: less may be the shorter way of a smaller place.
const CACHED: f64 = 1.2;

/// Below this ratio to what the time of both would give, reads and writes hinder each other; above its inverse they
/// overlap.
const HINDERS: f64 = 0.9;

/// What the page cache adds: the same past it, through a cold one, and through a warm one.
pub(super) fn caches(rows: &[&Row]) -> Vec<Finding> {
    let past = |row: &&&Row| disk(row).is_some_and(|params| params.cache == DiskCache::Bypassed && is_free(params));
    rows.iter().filter(past).filter_map(|row| cache_finding(row, rows)).collect()
}

fn cache_finding(past: &Row, rows: &[&Row]) -> Option<Finding> {
    let params = disk(past)?;
    let through = |cache| {
        let row = with(rows, &DiskParams { cache, direct: false, ..params.clone() })?;
        was_in_state(row, cache).then_some(row)
    };
    let (cold, warm) = (through(DiskCache::Cold), through(DiskCache::Warm));
    let told = |row: Option<&Row>, state: &str| -> Option<String> {
        let row = row?;
        let (factor, differs) = ratio(past, row, MetricName::Throughput)?;
        let factor = if differs { format!("{factor:.2}x") } else { "no different".to_owned() };
        Some(format!("{} through a {state} page cache, {factor}", figure(row)?))
    };
    let parts: Vec<String> = [told(cold, "cold"), told(warm, "warm")].into_iter().flatten().collect();
    let evidence: Vec<&Row> = [Some(past), cold, warm].into_iter().flatten().collect();
    (!parts.is_empty()).then_some(())?;
    let text = format!("{}: {} past the page cache; {}.", name(params), figure(past)?, parts.join("; "));
    Some(finding("page_cache_gain", text, &evidence))
}

/// Whether the page cache was as the row says, as far as that was looked at.
fn was_in_state(row: &Row, cache: DiskCache) -> bool {
    let writes = disk(row).is_some_and(|params| params.op.writes());
    let share = conditions(row).and_then(|seen| seen.cached_share_before).filter(|_| !writes);
    share.is_none_or(|share| match cache {
        DiskCache::Bypassed => true,
        DiskCache::Cold => share <= STATE,
        DiskCache::Warm => share >= 1.0 - STATE,
    })
}

/// What it costs that a write is over only when it is on the medium.
pub(super) fn durable(rows: &[&Row]) -> Vec<Finding> {
    let is_durable = |row: &&&Row| disk(row).is_some_and(|params| params.sync != DiskSync::None && is_free(params));
    let pair = |row: &&&Row| -> Option<Finding> {
        let params = disk(row)?;
        let plain = with(rows, &DiskParams { sync: DiskSync::None, ..params.clone() })?;
        let (factor, differs) = ratio(plain, row, MetricName::Latency)?;
        let told = format!("{} take {}", name(params), latency(row)?);
        let (code, text) = if differs && factor > 1.0 {
            let text = format!("{told}, {factor:.1}x the {} until the device has taken one.", latency(plain)?);
            ("durability_costs", text)
        } else {
            let text = format!(
                "{told}, no longer than the {} until the device has taken one: its cache is safe without power, or \
                 something between does not pass the flush on.",
                latency(plain)?
            );
            ("durability_is_free", text)
        };
        Some(finding(code, text, &[plain, row]))
    };
    rows.iter().filter(is_durable).filter_map(|row| pair(&row)).collect()
}

/// Requests at random against those in order, for each operation with the smallest block that both have, the fewest in
/// flight first.
pub(super) fn orders(rows: &[&Row]) -> Vec<Finding> {
    let random =
        |row: &Row| disk(row).filter(|params| params.pattern == DiskPattern::Random && is_free(params)).cloned();
    let mut pairs: Vec<(DiskParams, &Row, &Row)> = rows
        .iter()
        .copied()
        .filter_map(|row| {
            let params = random(row).filter(|params| params.cache == DiskCache::Bypassed)?;
            let in_order = with(rows, &DiskParams { pattern: DiskPattern::Sequential, ..params.clone() })?;
            Some((params, row, in_order))
        })
        .collect();
    pairs.sort_by_key(|(params, ..)| (params.depth * params.threads, params.block));
    let mut told: Vec<(DiskOp, DiskSync)> = Vec::new();
    let mut findings = Vec::new();
    for (params, random, in_order) in pairs {
        let kind = (params.op, params.sync);
        if !told.contains(&kind) {
            told.push(kind);
            findings.extend(order_finding(&params, random, in_order));
        }
    }
    findings
}

fn order_finding(params: &DiskParams, random: &Row, in_order: &Row) -> Option<Finding> {
    let (factor, differs) = ratio(in_order, random, MetricName::Throughput)?;
    let code = if differs { "order_matters" } else { "order_does_not_matter" };
    let comparison = match (differs, factor < 1.0) {
        (true, true) => format!("{} of the rate of those in order", percent(factor)),
        (true, false) => format!("{factor:.2}x the rate of those in order"),
        (false, _) => "no other rate than those in order".to_owned(),
    };
    let text =
        format!("{} have {comparison}: {} against {}.", name(params), throughput(random)?, throughput(in_order)?);
    Some(finding(code, text, &[random, in_order]))
}

/// Reads and writes in turn against what the time of both would give: for as many of the one as of the other the
/// harmonic mean of their rates.
pub(super) fn mixed(rows: &[&Row]) -> Vec<Finding> {
    let is_mixed = |row: &&&Row| disk(row).is_some_and(|params| params.op == DiskOp::Mixed && is_free(params));
    rows.iter().filter(is_mixed).filter_map(|row| mixed_finding(row, rows)).collect()
}

fn mixed_finding(row: &Row, rows: &[&Row]) -> Option<Finding> {
    let params = disk(row)?;
    let iops = |row: &Row| Some(row.metric(MetricName::Iops)?.summary.median).filter(|iops| *iops > 0.0);
    let of = |op| with(rows, &DiskParams { op, ..params.clone() });
    // A read waits for no medium, whatever the writes do.
    let reads = DiskParams { op: DiskOp::Read, sync: DiskSync::None, ..params.clone() };
    let (read, write) = (with(rows, &reads)?, of(DiskOp::Write)?);
    let expected = 2.0 / (1.0 / iops(read)? + 1.0 / iops(write)?);
    let share = iops(row)? / expected;
    let (code, comparison) = if share < HINDERS {
        ("mixed_hinders", "they hinder each other")
    } else if share > 1.0 / HINDERS {
        ("mixed_overlaps", "they overlap")
    } else {
        ("mixed_adds_up", "neither helps nor hinders the other")
    };
    let text = format!(
        "{} come to {}, {share:.2}x the {} that the time of reads alone ({}) and writes alone ({}) would give: \
         {comparison}.",
        name(params),
        requests(iops(row)?),
        requests(expected),
        requests(iops(read)?),
        requests(iops(write)?)
    );
    Some(finding(code, text, &[row, read, write]))
}

/// The operation on blocks that were not touched just before.
const fn untouched(op: DiskOp) -> Option<DiskOp> {
    match op {
        DiskOp::Reread => Some(DiskOp::Read),
        DiskOp::Rewrite => Some(DiskOp::Write),
        DiskOp::Read | DiskOp::Write | DiskOp::Mixed => None,
    }
}

/// What was touched just before against what was not: whether a cache in the drive, or of the host, answers.
pub(super) fn again(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &&Row| -> Option<Finding> {
        let params = disk(row).filter(|params| is_free(params))?;
        let fresh = with(rows, &DiskParams { op: untouched(params.op)?, ..params.clone() })?;
        let (factor, differs) = ratio(fresh, row, MetricName::Throughput)?;
        let (code, conclusion) = if differs && factor >= CACHED {
            ("touched_before_is_faster", "a cache in the drive or below it answers")
        } else {
            ("touched_before_is_not_faster", "no cache beyond the page cache shows")
        };
        let text = format!(
            "{} run at {}, {factor:.2}x the {} of blocks not touched just before: {conclusion}.",
            name(params),
            throughput(row)?,
            throughput(fresh)?
        );
        Some(finding(code, text, &[row, fresh]))
    };
    rows.iter().filter_map(pair).collect()
}
