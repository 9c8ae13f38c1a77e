//! What the rows of disks say together: what the page cache adds, what a deeper queue brings, latency under load, and the
//! steady state of a drive.
//!
//! Each rule names its rows by their parameters: they differ in what the rule is about and in nothing else. Disturbed
//! rows (grade C) and rows without a device take no part.

use model::document::{DiskConditions, Finding, Row};
use model::experiment::{Area, DiskParams, Params};
use model::io::{DiskCache, DiskEngine};
use model::machine::Machine;
use model::sample::MetricName;

use super::figure::{Against, Figure, rate, sane};
use super::names::named;
use super::rules::Code;
use super::scaling;
use super::words::{bytes, percent, requests, time, times};

/// A cold page cache may have held this share of the file before a sample, and a warm one must have held all but this.
const STATE: f64 = 0.05;

/// The knee of a load curve is where the slowest hundredth takes this much longer than at the least load.
const KNEE: f64 = 2.0;

/// All findings of the disk area, of its quiet rows and their series.
pub fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let rows: Vec<&Row> = quiet.iter().copied().filter(|row| is_on_device(row)).collect();
    let grow = |rows: &&Vec<&Row>| rows.iter().all(|row| is_on_device(row) && disk(row).is_some_and(is_free));
    let series: Vec<Vec<&Row>> = series.iter().filter(grow).cloned().collect();
    let mut findings = scaling::findings(Area::Disk, &series, machine);
    findings.extend(caches(&rows));
    findings.extend(depths(&rows));
    findings.extend(loads(&rows));
    findings.extend(quiet.iter().copied().filter_map(steady));
    findings
}

fn disk(row: &Row) -> Option<&DiskParams> {
    if let Params::Disk(params) = &row.params { Some(params) } else { None }
}

fn conditions(row: &Row) -> Option<&DiskConditions> {
    row.conditions.disk.as_ref()
}

/// Whether a row was measured on a device; one that went on until the drive was steady is a figure of no one state.
fn is_on_device(row: &Row) -> bool {
    let until_steady = conditions(row).is_some_and(|seen| seen.steady_range.is_some());
    disk(row).is_some_and(|params| params.engine != DiskEngine::Null) && !until_steady
}

fn latency(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Latency)
}

/// The steady state that a drive came to, which is what such a row is for.
fn steady(row: &Row) -> Option<Finding> {
    let seen = conditions(row)?;
    let (rounds, iops) = (seen.steady_rounds?, seen.steady_iops.and_then(sane)?);
    let first = sane(row.metric(MetricName::Iops)?.samples.first()?.value)?;
    let fields = [
        ("what", named(row)),
        ("rounds", rounds.to_string()),
        ("rate", requests(iops)),
        ("share", percent(iops / first)),
    ];
    Some(Code::DiskSteady.tell(Area::Disk, &fields, &[row]))
}

/// Whether nothing holds a row back on purpose.
fn is_free(params: &DiskParams) -> bool {
    params.load_percent.is_none()
}

/// The rows that have exactly these parameters, whatever their engine: what is buffered need not have that of what is
/// not.
fn with<'a>(rows: &[&'a Row], wanted: &DiskParams) -> Option<&'a Row> {
    let common = |params: &DiskParams| DiskParams { engine: DiskEngine::Sync, ..params.clone() };
    rows.iter().copied().find(|row| disk(row).map(common) == Some(common(wanted)))
}

/// What the page cache adds: the same past it, and through a warm one, or a cold one. The largest gain first.
fn caches(rows: &[&Row]) -> Vec<Finding> {
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

/// What a deeper queue brings, for rows that differ in their depth alone: the largest gains first.
fn depths(rows: &[&Row]) -> Vec<Finding> {
    let shallow = |row: &&Row| disk(row).is_some_and(|params| params.depth == 1 && is_free(params));
    let pairs = rows.iter().copied().filter(shallow).filter_map(|row| Some((row, deepest(row, rows)?)));
    let mut found: Vec<(f64, Finding)> = pairs.filter_map(|(shallow, deep)| depth(shallow, deep)).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The row that differs from this one only in having the deepest queue of all.
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
    let code = if many.against(one)? == Against::More { Code::DepthGain } else { Code::DepthNoGain };
    let factor = many.median / one.median;
    let fields = [
        ("what", named(shallow)),
        ("depth", disk(deep)?.depth.to_string()),
        ("factor", times(factor)),
        ("waits", times(latency(deep)?.median / latency(shallow)?.median)),
    ];
    Some((factor, code.tell(Area::Disk, &fields, &[shallow, deep])))
}

/// Where latency leaves what it is at a low load, for each experiment with two loads or more.
fn loads(rows: &[&Row]) -> Vec<Finding> {
    let mut curves: Vec<(DiskParams, Vec<&Row>)> = Vec::new();
    for row in rows.iter().copied() {
        let Some(params) = disk(row).filter(|params| !is_free(params)) else { continue };
        let common = DiskParams { load_percent: None, ..params.clone() };
        match curves.iter_mut().find(|(other, _)| *other == common) {
            Some((_, rows)) => rows.push(row),
            None => curves.push((common, vec![row])),
        }
    }
    curves.iter().filter_map(|(_, rows)| load(rows)).collect()
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
        ("what", named(first.2)),
        ("least", time(first.1)),
        ("load", at(knee.0)),
        ("knee", time(knee.1)),
        ("from", at(first.0)),
    ];
    Some(Code::LoadKnee.tell(Area::Disk, &fields, &[first.2, knee.2]))
}

#[cfg(test)]
mod tests;
