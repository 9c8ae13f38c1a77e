//! What the rows of disks say together: what the page cache adds, what a write on the medium costs, how rates grow with
//! depth, threads and block, order against chance, both directions at once, latency at a load, what was touched just
//! before, and whether our own loop or the flush left out has a part in a figure.
//!
//! Each rule names its rows by their parameters: they differ in what the rule is about and in nothing else. Disturbed
//! rows (grade C) and rows without a device take no part.

mod pairs;

use model::document::{DiskConditions, Finding, Row};
use model::experiment::{Area, DiskParams, Params};
use model::io::{DiskCache, DiskEngine};
use model::machine::Machine;
use model::sample::MetricName;

use super::figure::{Against, Figure, most, rate, sane};
use super::names::{disk_without_block, named};
use super::rules::Code;
use super::scaling;
use super::words::{bytes, percent, requests, size, time, times};

/// Fewer blocks are no curve.
const LEAST_BLOCKS: usize = 3;

/// Above this share of our own loop's rate, the loop and not the device sets a figure; as for the warning `cpu_bound`.
const LOOP_LIMITS: f64 = 0.8;

/// From this share of a rate on, the flush after it costs nothing worth a word.
const FLUSHED: f64 = 0.95;

/// The knee of a load curve is where the slowest hundredth takes this much longer than at the least load.
const KNEE: f64 = 2.0;

/// All findings of the disk area, of its quiet rows and their series.
pub(super) fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let rows: Vec<&Row> = quiet.iter().copied().filter(|row| is_on_device(row)).collect();
    let grow = |rows: &&Vec<&Row>| rows.iter().all(|row| is_on_device(row) && disk(row).is_some_and(is_free));
    let series: Vec<Vec<&Row>> = series.iter().filter(grow).cloned().collect();
    let mut findings = scaling::findings(Area::Disk, &series, machine);
    findings.extend(pairs::caches(&rows));
    findings.extend(pairs::durable(&rows));
    findings.extend(depths(&rows));
    findings.extend(blocks(&rows));
    findings.extend(pairs::orders(&rows));
    findings.extend(pairs::mixed(&rows));
    findings.extend(loads(&rows));
    findings.extend(pairs::again(&rows));
    findings.extend(own_loop(&rows));
    findings.extend(flushed(&rows));
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

fn iops(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Iops)
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

/// Which block is enough: for each kind of request the series with the fewest in flight. Classic tables say it
/// themselves.
fn blocks(rows: &[&Row]) -> Vec<Finding> {
    let mut kinds: Vec<(DiskParams, Vec<(Figure, &Row)>)> = Vec::new();
    for row in rows.iter().copied().filter(|row| row.classic.is_none()) {
        let (Some(params), Some(rate)) = (disk(row).filter(|params| is_free(params)), rate(row)) else { continue };
        let common = DiskParams { block: 0, ..params.clone() };
        match kinds.iter_mut().find(|(other, _)| *other == common) {
            Some((_, rows)) => rows.push((rate, row)),
            None => kinds.push((common, vec![(rate, row)])),
        }
    }
    kinds.retain(|(_, rows)| rows.len() >= LEAST_BLOCKS);
    kinds.sort_by_key(|(common, _)| common.depth.saturating_mul(common.threads));
    let mut told: Vec<DiskParams> = Vec::new();
    let mut findings = Vec::new();
    for (common, mut rows) in kinds {
        let kind = DiskParams { depth: 1, threads: 1, ..common };
        if !told.contains(&kind) {
            rows.sort_by_key(|(_, row)| disk(row).map(|params| params.block));
            findings.extend(block(&rows));
            told.push(kind);
        }
    }
    findings
}

/// The smallest block that is as fast as any, of these by their blocks.
fn block(rows: &[(Figure, &Row)]) -> Option<Finding> {
    let ((_, first), (_, last)) = (*rows.first()?, *rows.last()?);
    let (top, fastest) = most(rows.iter().copied())?;
    top.span?;
    let (rate, enough) = *rows.iter().find(|(rate, _)| rate.is_as_good_as(top))?;
    let block = |row: &Row| disk(row).map(|params| size(params.block));
    let threads = first.params.threads();
    let what = disk_without_block(disk(first)?);
    let fields = [
        ("what", if threads > 1 { format!("{what} on {threads} threads") } else { what }),
        ("from", block(first)?),
        ("to", block(last)?),
        ("block", block(enough)?),
        ("rate", bytes(rate.median)),
    ];
    Some(Code::BlockFlat.tell(Area::Disk, &fields, &[first, last, enough, fastest]))
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
    let (first, last) = (*points.first()?, *points.last()?);
    (first.0 < last.0).then_some(())?;
    let what = ("what", named(first.2));
    let least = ("least", time(first.1));
    let knee = points.iter().find(|point| point.1 >= KNEE * first.1);
    Some(if let Some(knee) = knee {
        let at = |load: u32| format!("{load} %");
        let fields = [what, least, ("load", at(knee.0)), ("knee", time(knee.1)), ("from", at(first.0))];
        Code::LoadKnee.tell(Area::Disk, &fields, &[first.2, knee.2])
    } else {
        let fields = [what, least, ("load", format!("{} %", last.0))];
        Code::LoadFlat.tell(Area::Disk, &fields, &points.iter().map(|point| point.2).collect::<Vec<_>>())
    })
}

/// Whether our own loop, without a device, sets a figure.
fn own_loop(rows: &[&Row]) -> Option<Finding> {
    let share = |row: &Row| {
        let own = conditions(row)?.loop_iops.and_then(sane)?;
        let (iops, threads) = (iops(row)?, f64::from(row.params.threads().max(1)));
        let [low, _] = iops.span?;
        (low / threads / own > LOOP_LIMITS).then_some((iops.median / threads / own, own))
    };
    let used = rows.iter().filter_map(|row| share(row).map(|(share, own)| (share, own, *row)));
    let (share, own, row) = used.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let fields = [("what", named(row)), ("share", percent(share)), ("own", requests(own))];
    Some(Code::LoopLimits.tell(Area::Disk, &fields, &[row]))
}

/// What writes come to with the flush after each sample counted in: past the page cache and through it the row that loses
/// most.
fn flushed(rows: &[&Row]) -> Vec<Finding> {
    let loses = |row: &Row| {
        let flushed = conditions(row)?.flushed_bytes_per_second.and_then(sane)?;
        let rate = rate(row)?;
        let share = flushed / rate.median;
        (flushed < rate.span?[0] && share < FLUSHED).then_some((share, flushed, rate))
    };
    let worst = |is_past: bool| {
        let writes = rows
            .iter()
            .copied()
            .filter(|row| disk(row).is_some_and(|own| is_free(own) && (own.cache == DiskCache::Bypassed) == is_past));
        let losing = writes.filter_map(|row| Some((loses(row)?, row)));
        let ((share, flushed, rate), row) = losing.min_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
        let fields = [
            ("what", named(row)),
            ("flushed", bytes(flushed)),
            ("share", percent(share)),
            ("rate", bytes(rate.median)),
        ];
        Some(Code::FlushCosts.tell(Area::Disk, &fields, &[row]))
    };
    [true, false].into_iter().filter_map(worst).collect()
}

#[cfg(test)]
mod tests;
