//! Findings about two or three rows that differ in one thing: the page cache, what a write waits for, the order, the
//! direction, what was touched just before.

use model::document::{Finding, Row};
use model::experiment::{Area, DiskParams};
use model::io::{DiskCache, DiskOp, DiskPattern, DiskSync};

use super::super::figure::{Against, Figure, rate};
use super::super::names::named;
use super::super::rules::Code;
use super::super::words::{bytes, requests, time, times};
use super::{conditions, disk, iops, is_free, latency, with};

/// A cold page cache may have held this share of the file before a sample, and a warm one must have held all but this.
const STATE: f64 = 0.05;

/// Something between answers from memory of its own from this gain on: less may be the shorter way of a smaller place.
const CACHED: f64 = 1.2;

/// Below this ratio to what the time of both would give, reads and writes hinder each other; above its inverse they
/// overlap.
const HINDERS: f64 = 0.9;

/// What the page cache adds: the same past it, and through a warm one, or a cold one. The largest gain first.
pub(super) fn caches(rows: &[&Row]) -> Vec<Finding> {
    let past = |row: &&Row| disk(row).is_some_and(|params| params.cache == DiskCache::Bypassed && is_free(params));
    let through = |past: &Row, cache: DiskCache| {
        let params = DiskParams { cache, direct: false, ..disk(past)?.clone() };
        let row = with(rows, &params).filter(|row| was_in_state(row, cache))?;
        let (direct, cached) = (rate(past)?, rate(row)?);
        let factor = cached.differs(direct)?;
        let fields = [
            ("what", named(past)),
            ("state", cache.to_string()),
            ("through", bytes(cached.median)),
            ("factor", times(factor)),
            ("past", bytes(direct.median)),
        ];
        Some((factor, Code::PageCacheGain.tell(Area::Disk, &fields, &[past, row])))
    };
    let mut found: Vec<(f64, Finding)> = rows
        .iter()
        .copied()
        .filter(past)
        .flat_map(|row| [DiskCache::Warm, DiskCache::Cold].into_iter().filter_map(move |cache| through(row, cache)))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
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
    let is_durable = |row: &&Row| disk(row).is_some_and(|params| params.sync != DiskSync::None && is_free(params));
    let pair = |row: &Row| -> Option<Finding> {
        let plain = with(rows, &DiskParams { sync: DiskSync::None, ..disk(row)?.clone() })?;
        let (waits, taken) = (latency(row)?, latency(plain)?);
        let code = match waits.against(taken)? {
            Against::More => Code::DurabilityCosts,
            Against::Alike | Against::Less => Code::DurabilityIsFree,
        };
        let fields = [
            ("what", named(row)),
            ("durable", time(waits.median)),
            ("factor", times(waits.median / taken.median)),
            ("plain", time(taken.median)),
        ];
        Some(code.tell(Area::Disk, &fields, &[plain, row]))
    };
    rows.iter().copied().filter(is_durable).filter_map(pair).collect()
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
    pairs.sort_by_key(|(params, ..)| (params.depth.saturating_mul(params.threads), params.block));
    let mut told: Vec<(DiskOp, DiskSync)> = Vec::new();
    let mut findings = Vec::new();
    for (params, random, in_order) in pairs {
        let kind = (params.op, params.sync);
        if !told.contains(&kind) {
            told.push(kind);
            findings.extend(order(random, in_order));
        }
    }
    findings
}

fn order(random: &Row, in_order: &Row) -> Option<Finding> {
    let (chance, order) = (rate(random)?, rate(in_order)?);
    let code = match chance.against(order)? {
        Against::Alike => Code::OrderDoesNotMatter,
        Against::Less | Against::More => Code::OrderMatters,
    };
    let fields = [
        ("what", named(random)),
        ("factor", times(chance.median / order.median)),
        ("random", bytes(chance.median)),
        ("ordered", bytes(order.median)),
    ];
    Some(code.tell(Area::Disk, &fields, &[random, in_order]))
}

/// Reads and writes in turn against what the time of both would give: for as many of the one as of the other the
/// harmonic mean of their rates.
pub(super) fn mixed(rows: &[&Row]) -> Vec<Finding> {
    let is_mixed = |row: &&Row| disk(row).is_some_and(|params| params.op == DiskOp::Mixed && is_free(params));
    rows.iter().copied().filter(is_mixed).filter_map(|row| in_turn(row, rows)).collect()
}

fn in_turn(row: &Row, rows: &[&Row]) -> Option<Finding> {
    let params = disk(row)?;
    // A read waits for no medium, whatever the writes do.
    let reads = DiskParams { op: DiskOp::Read, sync: DiskSync::None, ..params.clone() };
    let (read, write) = (with(rows, &reads)?, with(rows, &DiskParams { op: DiskOp::Write, ..params.clone() })?);
    let (ours, reads, writes) = (iops(row)?, iops(read)?, iops(write)?);
    let harmonic = |read: f64, write: f64| 2.0 / (1.0 / read + 1.0 / write);
    let span =
        reads.span.zip(writes.span).map(|(read, write)| [harmonic(read[0], write[0]), harmonic(read[1], write[1])]);
    let expected = Figure { median: harmonic(reads.median, writes.median), span, ..reads };
    let share = ours.over(expected)?;
    let [low, high] = share.span?;
    let code = if share.median < HINDERS && high < 1.0 {
        Code::MixedHinders
    } else if share.median > 1.0 / HINDERS && low > 1.0 {
        Code::MixedOverlaps
    } else {
        return None;
    };
    let fields = [
        ("what", named(row)),
        ("mixed", requests(ours.median)),
        ("factor", times(share.median)),
        ("expected", requests(expected.median)),
    ];
    Some(code.tell(Area::Disk, &fields, &[row, read, write]))
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
    let pair = |row: &Row| -> Option<Finding> {
        let params = disk(row).filter(|params| is_free(params))?;
        let fresh = with(rows, &DiskParams { op: untouched(params.op)?, ..params.clone() })?;
        let (touched, untouched) = (rate(row)?, rate(fresh)?);
        let factor = touched.differs(untouched).filter(|factor| *factor >= CACHED)?;
        let fields = [
            ("what", named(row)),
            ("again", bytes(touched.median)),
            ("factor", times(factor)),
            ("fresh", bytes(untouched.median)),
        ];
        Some(Code::TouchedBefore.tell(Area::Disk, &fields, &[row, fresh]))
    };
    rows.iter().copied().filter_map(pair).collect()
}
