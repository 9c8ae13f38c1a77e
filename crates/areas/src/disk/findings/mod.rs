//! What disk results show together: deep queues without a gain, latency under load, and the steady state of a drive.

use model::document::{DiskConditions, Finding, Row};
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskSync};
use model::number::brief::{percent, requests, time, times};
use model::number::size_exact as size;
use model::sample::MetricName;
use verdict::findings::estimate::{Against, Estimate, rate, sane};
use verdict::findings::rules::{FindingRules, Rule};
use verdict::grouping::by_key;

use super::label::{LABELS, params as disk};

const DEPTH_NO_GAIN: Rule = Rule::new(
    "depth_no_gain",
    "likeness",
    "{what} do not gain from queue depth {depth}: {factor} the rate of depth 1, {waits} the latency.",
    "the deepest queue is not faster than one request at a time",
    "the two results",
);
const LOAD_KNEE: Rule = Rule::new(
    "load_knee",
    "values",
    "{what}: the p99 latency has at least doubled at a load of {load} ({knee}), compared with {least} at {from}.",
    "the first load at which p99 is at least twice that of the least load",
    "the two results",
);
const DISK_STEADY: Rule = Rule::new(
    "disk_steady",
    "values",
    "{what} reached steady state after {rounds} rounds: {rate}, {share} of the first round.",
    "a benchmark that writes until the drive is steady",
    "that result",
);

pub(super) const FINDINGS: FindingRules = FindingRules {
    describe,
    scaling_series: |series, _| {
        let is_free = |row: &&Row| is_on_device(row) && disk(row).is_some_and(is_free);
        series.iter().filter(|rows| rows.iter().all(is_free)).cloned().collect()
    },
    scaling_limit: |_, _, is_limited| is_limited.then(|| ": the device, or the path to it, is the limit".to_owned()),
    rules: &[DEPTH_NO_GAIN, LOAD_KNEE, DISK_STEADY],
    results: |quiet, _, _| {
        let rows: Vec<&Row> = quiet.iter().copied().filter(|row| is_on_device(row)).collect();
        depths(&rows).into_iter().chain(loads(&rows)).chain(quiet.iter().copied().filter_map(steady)).collect()
    },
    ..FindingRules::new(LABELS.title)
};

/// The ratio to the p99 of the least load at which a load curve has its knee.
const KNEE: f64 = 2.0;

/// `Random reads of 4 KiB at depth 32`.
fn describe(row: &Row) -> String {
    let Some(params) = disk(row) else { return row.id.clone() };
    let op = if params.op == DiskOp::Mixed { "mixed reads and writes" } else { &format!("{}s", params.op) };
    let sync = match params.sync {
        DiskSync::None => "",
        DiskSync::Dsync => " with O_DSYNC",
        DiskSync::Sync => " with O_SYNC",
    };
    let bypassed = params.cache == DiskCache::Bypassed;
    let cache = if bypassed { "" } else { &format!(" through a {} page cache", params.cache) };
    let layout = if params.layout == DiskLayout::PerThread { " of a file per thread" } else { "" };
    let depth = if params.depth > 1 { format!(" at depth {}", params.depth) } else { String::new() };
    let (pattern, block) = (params.pattern.name(), size(params.block));
    let (first, rest) = pattern.split_at(1);
    format!("{}{rest} {op} of {block}{sync}{cache}{layout}{depth}", first.to_uppercase())
}

fn conditions(row: &Row) -> Option<&DiskConditions> {
    row.conditions.disk.as_ref()
}

/// Whether a result was measured on a device, in one state: not while the drive became steady.
fn is_on_device(row: &Row) -> bool {
    let until_steady = conditions(row).is_some_and(|seen| seen.steady_range.is_some());
    disk(row).is_some_and(|params| params.engine != DiskEngine::Null) && !until_steady
}

fn steady(row: &Row) -> Option<Finding> {
    let seen = conditions(row)?;
    let (rounds, iops) = (seen.steady_rounds?, seen.steady_iops.and_then(sane)?);
    let first = sane(row.metric(MetricName::Iops)?.samples.first()?.value)?;
    let fields = [
        ("what", FINDINGS.describe_with_threads(row)),
        ("rounds", rounds.to_string()),
        ("rate", requests(iops)),
        ("share", percent(iops / first)),
    ];
    DISK_STEADY.finding(&fields, &[row])
}

fn is_free(params: &DiskParams) -> bool {
    params.load_percent.is_none()
}

/// Queues that gain nothing from their depth, the worst first.
fn depths(rows: &[&Row]) -> Vec<Finding> {
    let shallow = |row: &&Row| disk(row).is_some_and(|params| params.depth == 1 && is_free(params));
    let pairs = rows.iter().copied().filter(shallow).filter_map(|row| Some((row, deepest(row, rows)?)));
    let mut found: Vec<(f64, Finding)> = pairs.filter_map(|(shallow, deep)| depth(shallow, deep)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The result with the deepest queue that differs from this one in nothing else.
fn deepest<'a>(shallow: &Row, rows: &[&'a Row]) -> Option<&'a Row> {
    let params = disk(shallow)?;
    let depth = |row: &Row| disk(row).map_or(0, |params| params.depth);
    let alike =
        |row: &&Row| disk(row).is_some_and(|other| DiskParams { depth: params.depth, ..other.clone() } == *params);
    let deeper = rows.iter().copied().filter(|row| depth(row) > params.depth);
    deeper.filter(alike).max_by_key(|row| depth(row))
}

fn depth(shallow: &Row, deep: &Row) -> Option<(f64, Finding)> {
    let (one, many) = (rate(shallow)?, rate(deep)?);
    (many.against(one)? != Against::More).then_some(())?;
    let factor = many.median / one.median;
    let latency = |row| Estimate::of_result(row, MetricName::Latency).map(|latency| latency.median);
    let fields = [
        ("what", FINDINGS.describe_with_threads(shallow)),
        ("depth", disk(deep)?.depth.to_string()),
        ("factor", times(factor)),
        ("waits", times(latency(deep)? / latency(shallow)?)),
    ];
    Some((factor, DEPTH_NO_GAIN.finding(&fields, &[shallow, deep])?))
}

fn loads(rows: &[&Row]) -> Vec<Finding> {
    let common = |row: &&Row| {
        let params = disk(row).filter(|params| !is_free(params))?;
        Some(DiskParams { load_percent: None, ..params.clone() })
    };
    by_key(rows.iter().copied(), common).iter().filter_map(|(_, rows)| load(rows)).collect()
}

fn load(rows: &[&Row]) -> Option<Finding> {
    let load = |row: &Row| disk(row).and_then(|params| params.load_percent);
    let p99 = |row: &Row| sane(row.metric(MetricName::Latency)?.summary.percentiles?.p99);
    let mut points: Vec<(u32, f64, &Row)> = rows.iter().filter_map(|row| Some((load(row)?, p99(row)?, *row))).collect();
    points.sort_by_key(|point| point.0);
    let first = *points.first()?;
    let knee = points.iter().find(|point| point.1 >= KNEE * first.1)?;
    let at = |load: u32| format!("{load} %");
    let fields = [
        ("what", FINDINGS.describe_with_threads(first.2)),
        ("least", time(first.1)),
        ("load", at(knee.0)),
        ("knee", time(knee.1)),
        ("from", at(first.0)),
    ];
    LOAD_KNEE.finding(&fields, &[first.2, knee.2])
}

#[cfg(test)]
mod tests;
