//! What the rows of disks say together: what the page cache adds, what a write on the medium costs, how rates grow with
//! depth, threads and block, order against chance, both directions at once, latency at a load, what was touched just
//! before, and whether our own loop or the flush left out has a part in a figure.
//!
//! Each rule names its rows by their parameters: they differ in what the rule is about and in nothing else. Disturbed
//! rows (grade C) and rows without a device take no part. Two figures differ only where their intervals do not meet;
//! where one has none, where they are a tenth apart.

mod pairs;
mod words;

use model::document::{DiskConditions, Finding, Row};
use model::experiment::{Area, DiskParams, Params};
use model::io::{DiskCache, DiskEngine};
use model::sample::MetricName;
use model::warning::Grade;

use super::words::{capital, lower, percent, time};
use super::{FEW, LIMITED, size};
use crate::scaling::rate;
use words::{figure, name, rate_words, requests};

/// From this share of the highest rate on, larger blocks bring no more.
const FLAT: f64 = 0.95;

/// Fewer blocks are no curve.
const LEAST_BLOCKS: usize = 3;

/// Above this share of our own loop's rate, the loop and not the device sets a figure; as for the warning `cpu_bound`.
const LOOP_LIMITS: f64 = 0.8;

/// Below this share of our own loop's rate, the loop has no part in a figure.
const LOOP_FREE: f64 = 0.5;

/// From this share of a rate on, the flush after it costs nothing worth a word.
const FLUSHED: f64 = 0.95;

/// The knee of a load curve is where the slowest hundredth takes this much longer than at the least load.
const KNEE: f64 = 2.0;

/// All findings of the disk area.
pub(super) fn findings(rows: &[Row], series: &[Vec<&Row>]) -> Vec<Finding> {
    let quiet: Vec<&Row> = rows.iter().filter(|row| is_quiet(row)).collect();
    let mut findings = pairs::caches(&quiet);
    findings.extend(pairs::durable(&quiet));
    findings.extend(depths(rows));
    findings.extend(growth(series));
    findings.extend(blocks(&quiet));
    findings.extend(pairs::orders(&quiet));
    findings.extend(pairs::mixed(&quiet));
    findings.extend(loads(&quiet));
    findings.extend(pairs::again(&quiet));
    findings.extend(own_loop(&quiet));
    findings.extend(flushed(&quiet));
    findings.extend(rows.iter().filter_map(steady));
    findings
}

fn disk(row: &Row) -> Option<&DiskParams> {
    if let Params::Disk(params) = &row.params { Some(params) } else { None }
}

fn conditions(row: &Row) -> Option<&DiskConditions> {
    row.conditions.disk.as_ref()
}

/// Whether a row was measured on a device, and not disturbed.
fn is_quiet(row: &Row) -> bool {
    let on_device = disk(row).is_some_and(|params| params.engine != DiskEngine::Null);
    on_device && row.grade.is_some_and(|grade| grade < Grade::C) && !is_until_steady(row)
}

/// Whether a row went on until the drive was steady: its median is of all rounds, and no figure of one state.
fn is_until_steady(row: &Row) -> bool {
    conditions(row).is_some_and(|seen| seen.steady_range.is_some())
}

/// The steady state that a drive came to, which is what such a row is for.
fn steady(row: &Row) -> Option<Finding> {
    let (params, seen) = (disk(row)?, conditions(row)?);
    let (rounds, iops) = (seen.steady_rounds?, seen.steady_iops?);
    row.grade.filter(|grade| *grade < Grade::C)?;
    let first = row.metric(MetricName::Iops)?.samples.first()?.value;
    let text = format!(
        "{} are steady after {rounds} rounds, at {} ({}), {} of the first round's; the five rounds range over {} of \
         their mean and drift by {}.",
        name(params),
        requests(iops),
        rate_words(iops * params.block as f64),
        percent(iops / first),
        percent(seen.steady_range?),
        percent(seen.steady_drift?),
    );
    Some(finding("disk_steady", text, &[row]))
}

/// Whether nothing holds a row back on purpose.
fn is_free(params: &DiskParams) -> bool {
    params.load_percent.is_none()
}

fn finding(code: &str, text: String, evidence: &[&Row]) -> Finding {
    let mut ids: Vec<String> = Vec::new();
    for row in evidence {
        if !ids.contains(&row.id) {
            ids.push(row.id.clone());
        }
    }
    Finding { code: code.to_owned(), area: Area::Disk, text, evidence: ids }
}

/// The rows that have exactly these parameters, whatever their engine: what is buffered need not have that of what is
/// not.
fn with<'a>(rows: &[&'a Row], wanted: &DiskParams) -> Option<&'a Row> {
    let common = |params: &DiskParams| DiskParams { engine: DiskEngine::Sync, ..params.clone() };
    rows.iter().copied().find(|row| disk(row).map(common) == Some(common(wanted)))
}

/// What a deeper queue brings, for rows that differ in their depth alone.
fn depths(rows: &[Row]) -> Vec<Finding> {
    let is_shallow = |row: &&Row| {
        row.grade.is_some()
            && !is_until_steady(row)
            && disk(row).is_some_and(|params| params.depth == 1 && is_free(params) && params.engine != DiskEngine::Null)
    };
    rows.iter().filter(is_shallow).filter_map(|shallow| depth_finding(shallow, deepest(shallow, rows)?)).collect()
}

/// The row that differs from this one only in having the deepest queue of all.
fn deepest<'a>(shallow: &Row, rows: &'a [Row]) -> Option<&'a Row> {
    let params = disk(shallow)?;
    let depth = |row: &Row| disk(row).map_or(0, |params| params.depth);
    let alike =
        |row: &&Row| disk(row).is_some_and(|other| DiskParams { depth: params.depth, ..other.clone() } == *params);
    let counts = |row: &&Row| row.grade.is_some() && !is_until_steady(row);
    let deeper = rows.iter().filter(counts).filter(|row| depth(row) > params.depth);
    deeper.filter(alike).max_by_key(|row| depth(row))
}

fn depth_finding(shallow: &Row, deep: &Row) -> Option<Finding> {
    let (one_request, depth) = (disk(shallow)?, disk(deep)?.depth);
    let median = |row: &Row| row.metric(MetricName::Latency).map(|metric| metric.summary.median);
    let factor = rate(deep)? / rate(shallow)?;
    let waits = median(deep)? / median(shallow)?;
    let disturbed = [shallow, deep].iter().any(|row| row.grade == Some(Grade::C));
    let (code, what) = if disturbed {
        ("depth_disturbed", "; these rows were disturbed".to_owned())
    } else {
        ("depth_gain", format!(" ({} against {})", figure(deep)?, figure(shallow)?))
    };
    let text = format!(
        "{}: {depth} requests in flight bring {factor:.1}x the rate of one, and each waits {waits:.1}x as long{what}.",
        name(one_request)
    );
    Some(finding(code, text, &[shallow, deep]))
}

/// How rates grow with their threads: a sentence each where they are few, else one for all.
fn growth(series: &[Vec<&Row>]) -> Vec<Finding> {
    let steps: Vec<(f64, &Row, &Row)> = series.iter().filter_map(|rows| step(rows)).collect();
    if steps.len() <= FEW {
        return steps.iter().filter_map(|(factor, first, last)| growth_finding(*factor, first, last)).collect();
    }
    let least = steps.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let most = steps.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(least), Some(most)) = (least, most) else { return Vec::new() };
    let end = |step: &(f64, &Row, &Row)| {
        let (few, many) = (step.1.params.threads(), step.2.params.threads());
        Some(format!("{:.2}x from {few} to {many} threads ({})", step.0, lower(&name(&one_thread(step.1)?))))
    };
    let (Some(low), Some(high)) = (end(least), end(most)) else { return Vec::new() };
    let text = format!("Of {} kinds of requests to disks the rate grows {low} to {high}.", steps.len());
    vec![finding("disk_scaling", text, &[least.1, least.2, most.1, most.2])]
}

/// The rate with the most threads over that with the fewest, of rows that may be compared.
fn step<'a>(rows: &[&'a Row]) -> Option<(f64, &'a Row, &'a Row)> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    let comparable = rows.iter().all(|row| is_quiet(row)) && disk(first).is_some_and(is_free);
    let several = first.params.threads() < last.params.threads();
    (comparable && several).then_some(())?;
    Some((rate(last)? / rate(first)?, first, last))
}

/// What a row does, its threads left out.
fn one_thread(row: &Row) -> Option<DiskParams> {
    disk(row).map(|params| DiskParams { threads: 1, ..params.clone() })
}

fn growth_finding(factor: f64, first: &Row, last: &Row) -> Option<Finding> {
    let (few, many) = (first.params.threads(), last.params.threads());
    let share = factor * f64::from(few) / f64::from(many);
    let code = match share {
        share if share >= super::SCALES => "scaling_linear",
        share if share >= LIMITED => "scaling_sublinear",
        _ => "scaling_limited",
    };
    let text = format!(
        "{} scale {factor:.2}x from {few} to {many} threads, {:.0} % of the ideal ({} against {}).",
        name(&one_thread(first)?),
        100.0 * share,
        figure(last)?,
        figure(first)?
    );
    Some(finding(code, text, &[first, last]))
}

/// From which block on bytes per second are flat: for each kind of request the series with the fewest in flight.
fn blocks(rows: &[&Row]) -> Vec<Finding> {
    let mut kinds: Vec<(DiskParams, Vec<&Row>)> = Vec::new();
    for row in rows.iter().copied().filter(|row| rate(row).is_some()) {
        let Some(params) = disk(row).filter(|params| is_free(params)) else { continue };
        let common = DiskParams { block: 0, ..params.clone() };
        match kinds.iter_mut().find(|(other, _)| *other == common) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((common, vec![row])),
        }
    }
    kinds.retain(|(_, rows)| rows.len() >= LEAST_BLOCKS);
    kinds.sort_by_key(|(common, _)| common.depth * common.threads);
    let mut told: Vec<DiskParams> = Vec::new();
    let mut findings = Vec::new();
    for (common, mut rows) in kinds {
        let kind = DiskParams { depth: 1, threads: 1, ..common };
        if !told.contains(&kind) {
            rows.sort_by_key(|row| disk(row).map(|params| params.block));
            findings.extend(block_finding(&rows));
            told.push(kind);
        }
    }
    findings
}

fn block_finding(rows: &[&Row]) -> Option<Finding> {
    let (first, last) = (rows.first()?, rows.last()?);
    let (small, large) = (disk(first)?.block, disk(last)?.block);
    let best = rows.iter().copied().reduce(|best, other| if rate(other) > rate(best) { other } else { best })?;
    let most = rate(best)?;
    let is_flat = |row: &Row| rate(row).is_some_and(|rate| rate >= FLAT * most);
    let from = rows.iter().rposition(|row| !is_flat(row)).map_or(0, |index| index + 1);
    let from_to = format!("{} over blocks of {} to {}", name_of_kind(disk(first)?), size(small), size(large));
    let (code, text) = match rows.get(from) {
        Some(row) if from + 1 < rows.len() => {
            let block = disk(row)?.block;
            let text = format!(
                "{from_to}: bytes per second are flat from {} on, within {:.0} % of the most, {}.",
                size(block),
                100.0 * (1.0 - FLAT),
                words::throughput(best)?
            );
            ("block_flat", text)
        }
        Some(_) => {
            let text =
                format!("{from_to}: the largest block moves the most, {}; more may be had.", words::throughput(best)?);
            ("block_grows", text)
        }
        None => {
            let block = disk(best)?.block;
            let share = rate(last)? / most;
            let text = format!(
                "{from_to}: most with {}, {}; the largest comes to {} of it.",
                size(block),
                words::throughput(best)?,
                percent(share)
            );
            ("block_best", text)
        }
    };
    Some(finding(code, text, &[first, best, last]))
}

/// What is done in which order, with what is in flight, the block left out.
fn name_of_kind(params: &DiskParams) -> String {
    capital(&format!("{}{}", words::act(params), words::how(params)))
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
    curves.iter().filter_map(|(common, rows)| load_finding(common, rows)).collect()
}

fn load_finding(common: &DiskParams, rows: &[&Row]) -> Option<Finding> {
    let load = |row: &Row| disk(row).and_then(|params| params.load_percent);
    let p99 = |row: &Row| Some(row.metric(MetricName::Latency)?.summary.percentiles?.p99).filter(|p99| *p99 > 0.0);
    let mut points: Vec<(u32, f64, &Row)> = rows.iter().filter_map(|row| Some((load(row)?, p99(row)?, *row))).collect();
    points.sort_by_key(|point| point.0);
    let (first, last) = (*points.first()?, *points.last()?);
    (points.len() > 1).then_some(())?;
    let told = |(load, p99, row): (u32, f64, &Row)| {
        let requests = row.metric(MetricName::Iops).map(|metric| format!(" ({})", requests(metric.summary.median)));
        format!("{} at {load} % of the highest rate{}", time(p99), requests.unwrap_or_default())
    };
    let begins = format!("{}, latency from the moment each was due: p99 is {}", name(common), told(first));
    let knee = points.iter().find(|point| point.1 >= KNEE * first.1);
    let (code, text, knee) = if let Some(knee) = knee {
        let text = format!("{begins}; it has doubled at {} %: {}.", knee.0, told(*knee));
        ("load_knee", text, *knee)
    } else {
        let text = format!("{begins} and stays below twice that up to {} %: {}.", last.0, told(last));
        ("load_flat", text, last)
    };
    Some(finding(code, text, &[first.2, knee.2]))
}

/// Whether our own loop, without a device, is far above what was measured.
fn own_loop(rows: &[&Row]) -> Option<Finding> {
    let share = |row: &Row| {
        let own = conditions(row)?.loop_iops.filter(|own| *own > 0.0)?;
        let iops = row.metric(MetricName::Iops)?.summary.median / f64::from(row.params.threads().max(1));
        Some((iops / own, own))
    };
    let used = rows.iter().filter_map(|row| share(row).map(|(share, own)| (share, own, *row)));
    let (share, own, row) = used.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (code, conclusion) = match share {
        share if share > LOOP_LIMITS => ("loop_limits", "the loop, not the device, sets that figure"),
        share if share >= LOOP_FREE => ("loop_has_a_part", "it has a part in that figure"),
        _ => ("loop_is_free", "no figure is the loop's"),
    };
    let text = format!(
        "Our own loop without a device makes {} a thread; what comes nearest, {}, takes {} of that: {conclusion}.",
        requests(own),
        lower(&name(disk(row)?)),
        percent(share)
    );
    Some(finding(code, text, &[row]))
}

/// What writes come to with the flush after each sample counted in: past the page cache one sentence for all, through
/// it one each, since it is then that they are written.
fn flushed(rows: &[&Row]) -> Vec<Finding> {
    let share = |row: &Row| Some(conditions(row)?.flushed_bytes_per_second? / rate(row)?);
    let writes = rows.iter().copied().filter(|row| disk(row).is_some_and(is_free));
    let writes: Vec<(f64, &Row)> = writes.filter_map(|row| Some((share(row)?, row))).collect();
    let is_past = |row: &Row| disk(row).is_some_and(|params| params.cache == DiskCache::Bypassed);
    let (past, through): (Vec<_>, Vec<_>) = writes.into_iter().partition(|(_, row)| is_past(row));
    let least = past.iter().min_by(|a, b| a.0.total_cmp(&b.0)).and_then(|(share, row)| {
        let (code, text) = if *share >= FLUSHED {
            let kept = percent(share.min(1.0));
            let text = format!("With the flush after them counted in, writes keep {kept} of their rate or more.");
            ("flush_is_free", text)
        } else {
            let text = format!(
                "With the flush after them counted in, writes lose up to {} of their rate: {} come to {} instead of \
                 {}.",
                percent(1.0 - share),
                lower(&name(disk(row)?)),
                rate_words(conditions(row)?.flushed_bytes_per_second?),
                words::throughput(row)?
            );
            ("flush_costs", text)
        };
        Some(finding(code, text, &[row]))
    });
    let each = through.iter().filter_map(|(share, row)| {
        let text = format!(
            "{} run at {}, and at {} ({}) when the flush that writes them to the device is counted in.",
            name(disk(row)?),
            words::throughput(row)?,
            rate_words(conditions(row)?.flushed_bytes_per_second?),
            percent(*share)
        );
        Some(finding("flush_of_cached_writes", text, &[row]))
    });
    least.into_iter().chain(each).collect()
}

#[cfg(test)]
mod tests;
