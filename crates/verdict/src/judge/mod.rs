//! Conditions and warnings of a result; the thresholds are in `model::warning`.
//!
//! Each cause of lost time is subtracted before the next, so that a quota is not also called interference.

use model::document::{Conditions, Row};
use model::machine::Machine;
use model::number::percent_tenths as percent;
use model::plan::Planned;
use model::sample::{Metric, MetricName, Sample};
use model::unit::Better;
use model::warning::{Cause, Confidence, WARNINGS, Warning, WarningCode};
use model::wire::{CYCLE_COUNTER, Observations};

mod interference;
mod samples;
pub mod settings;
mod steady;
mod surroundings;

use crate::rules::AreaRules;
use surroundings::{Scale, TICK_SECONDS};

pub use crate::rules::ProcessRun;
pub use crate::samples::median;
use crate::samples::{DISTURBED, percentile};
pub use steady::set as set_steady;
pub use surroundings::others_share;

/// How far two slices of warm-up differ on a device that has settled: disks on a shared host, 100 ms each.
const USUAL_CHANGE: f64 = 0.2;
/// A process run at this share of the highest clock ran at full clock. A choice.
const FULL_CLOCK: f64 = 0.98;

/// The conditions of a result. `best` is the most operations per cycle that the same kernel has shown in any result.
pub fn conditions(
    rules: &AreaRules,
    planned: &Planned,
    metrics: &[Metric],
    runs: &[ProcessRun],
    best: Option<f64>,
    machine: &Machine,
) -> Conditions {
    let clocks = metrics.iter().find(|metric| metric.name == MetricName::Clock);
    let mut conditions = Conditions {
        clock_hz: clocks.map(|clock| clock.summary.median),
        clock_start_hz: clocks.and_then(|clock| Some(clock.samples.first()?.value)),
        clock_end_hz: clocks.and_then(|clock| Some(clock.samples.last()?.value)),
        quota_cpus: machine.cpu.quota_cpus,
        ..seen_by(rules, planned, &runs.iter().collect::<Vec<_>>())
    };
    let per_cycle = per_cycle_at_full_clock(runs, metrics.first());
    (conditions.ops_per_cycle, conditions.ops_per_cycle_p90) = (median(&per_cycle), percentile(&per_cycle, 90.0));
    if rules.judge.work_per_thread && !runs.iter().any(|run| run.seen.waiting) {
        conditions.slowest_over_fastest = metrics.first().and_then(slowest_over_fastest);
    }
    conditions.lost_share = lost_share(rules, planned, metrics, &conditions, best, machine);
    conditions
}

/// Operations per cycle of the bursts of all process runs at full clock: interference on the same core slows the chain
/// that measures the clock, which makes the operations per cycle too many. Hardware that counts cycles is believed.
fn per_cycle_at_full_clock(runs: &[ProcessRun], headline: Option<&Metric>) -> Vec<f64> {
    let clock = |run: &ProcessRun| {
        let samples = headline.iter().flat_map(|metric| &metric.samples).filter(|sample| sample.launch == run.number);
        // Each thread has its own core.
        samples.flat_map(|sample| sample.per_thread.iter().filter_map(|thread| thread.clock_hz)).reduce(f64::min)
    };
    let highest = runs.iter().filter_map(clock).reduce(f64::max).unwrap_or(0.0);
    let counted = runs.iter().all(|run| run.seen.clock_source == CYCLE_COUNTER);
    let full = |run: &&ProcessRun| counted || clock(run).is_none_or(|hz| hz >= FULL_CLOCK * highest);
    runs.iter().filter(full).flat_map(|run| run.seen.ops_per_cycle.iter().copied()).collect()
}

/// The conditions that process runs saw, without what the samples show.
fn seen_by(rules: &AreaRules, planned: &Planned, runs: &[&ProcessRun]) -> Conditions {
    let seen: Vec<&Observations> = runs.iter().map(|run| &run.seen).collect();
    let sum = |of: fn(&Observations) -> f64| seen.iter().map(|one| of(one)).sum::<f64>();
    // A result whose only process run was cut off has samples and nothing else.
    let all = |of: fn(&Observations) -> f64| (!seen.is_empty()).then(|| sum(of));
    let count = |of: fn(&Observations) -> u64| seen.iter().map(|one| of(one)).reduce(|one, other| one + other);
    let some = |of: fn(&Observations) -> Option<f64>| seen.iter().filter_map(|one| of(one)).collect::<Vec<f64>>();
    let most = |of: fn(&Observations) -> Option<f64>| some(of).into_iter().reduce(f64::max);
    let (timed, watched) = (sum(|one| one.timed_seconds), sum(|one| one.watched_seconds));
    let per_watched = |of: fn(&Observations) -> Option<f64>| {
        let seconds: f64 = seen.iter().map(|one| of(one)).sum::<Option<f64>>()?;
        (watched > 0.0).then(|| seconds / watched / planned.cpus.len() as f64)
    };
    let ops: Vec<f64> = seen.iter().flat_map(|one| one.ops_per_cycle.iter().copied()).collect();
    let disagreement: Vec<f64> = seen.iter().flat_map(|one| one.clock_disagreement.iter().copied()).collect();
    let settings = settings::of(runs);
    let mut conditions = Conditions {
        cpus: planned.cpus.clone(),
        clock_source: seen.first().map(|one| one.clock_source.clone()),
        clock_disagreement: median(&disagreement),
        cpu_share: (timed > 0.0).then(|| sum(|one| one.cpu_seconds) / timed),
        // Some thread is last in every process run: what counts is the median distance.
        least_cpu_share: median(&some(|one| one.least_cpu_share)),
        steal: per_watched(|one| one.steal_seconds),
        throttled: per_watched(|one| one.throttled_seconds),
        nice: settings.nice,
        cpus_withheld: settings.cpus_withheld(),
        migrated_threads: count(|one| one.migrated_threads.into()).and_then(|all| u32::try_from(all).ok()),
        remote_pages: most(|one| one.remote_pages),
        involuntary_switches: count(|one| one.involuntary_switches),
        page_faults: count(|one| one.page_faults),
        ops_per_cycle: median(&ops),
        ops_per_cycle_p90: percentile(&ops, 90.0),
        lost_in_gaps: (timed > 0.0).then(|| sum(|one| one.gap_seconds) / timed),
        pages_obtained: some(|one| one.pages_obtained).into_iter().reduce(f64::min),
        order_seconds: most(|one| one.order_seconds),
        c_library: seen.iter().find_map(|one| one.c_library.clone()),
        start_spread_seconds: most(|one| one.start_spread_seconds),
        setup_seconds: all(|one| one.setup_seconds),
        warm_up_seconds: all(|one| one.warm_up_seconds),
        warm_up_change: median(&some(|one| one.warm_up_change)),
        launches: u32::try_from(seen.len()).ok().filter(|runs| *runs > 0),
        ..Conditions::default()
    };
    (rules.judge.conditions)(planned, runs, &mut conditions);
    if seen.iter().any(|one| one.waiting) {
        // Threads that wait use little of their CPUs, which is no sign of interference.
        (conditions.cpu_share, conditions.lost_in_gaps, conditions.clock_source) = (None, None, None);
        conditions.least_cpu_share = None;
    }
    surroundings::conditions(runs, &mut conditions);
    conditions
}

/// Share of the rate lost to interference: how far the median falls short of what the cores do in undisturbed bursts.
fn lost_share(
    rules: &AreaRules,
    planned: &Planned,
    metrics: &[Metric],
    conditions: &Conditions,
    best: Option<f64>,
    machine: &Machine,
) -> Option<f64> {
    let best = best.or(conditions.ops_per_cycle_p90)?;
    if !rules.judge.work_per_thread {
        return conditions.ops_per_cycle.map(|ops| (1.0 - ops / best).max(0.0));
    }
    // SMT siblings share one core's pipes: what one of them gets, the other has not lost to interference.
    let undisturbed = best * conditions.clock_hz? * machine.cpu.one_per_core(&planned.cpus).len() as f64;
    Some((1.0 - metrics.first()?.summary.median / undisturbed).max(0.0))
}

/// Rate of the slowest thread over the fastest, as the median over samples; `None` for one thread or no rate.
fn slowest_over_fastest(metric: &Metric) -> Option<f64> {
    let of_sample = |sample: &Sample| {
        let rates = || sample.per_thread.iter().map(|share| share.work / share.seconds).filter(|rate| *rate >= 0.0);
        let (slowest, fastest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
        (sample.per_thread.len() > 1 && fastest > 0.0).then(|| slowest / fastest)
    };
    let is_rate = metric.better == Better::Higher;
    median(&metric.samples.iter().filter(|_| is_rate).filter_map(of_sample).collect::<Vec<_>>())
}

/// The warnings of a result whose metrics and conditions are set.
pub fn warnings(rules: &AreaRules, planned: &Planned, row: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let all: Vec<&ProcessRun> = runs.iter().collect();
    let mut warnings = interference::warnings(planned, &row.conditions, &Scale::of(planned, &all));
    warnings.extend(samples::clock(row));
    warnings.extend(surroundings::warnings(&row.conditions));
    warnings.extend(settings::warnings(planned, &settings::of(&all)));
    warnings.extend(set_up(&row.conditions, runs));
    warnings.extend((rules.judge.warnings)(row, runs));
    if let Some(headline) = row.metrics.first() {
        warnings.extend(disturbed_runs(headline, &warnings, runs.len()));
        if planned.sampling.until_steady {
            // Rounds until the drive is steady differ by more than noise.
            warnings.extend(steady::warning(row));
        } else {
            warnings.extend(samples::spread(planned.sampling.target, headline));
        }
    }
    warnings
}

/// The warning for samples from process runs with interference, unless a warning names its cause already.
fn disturbed_runs(headline: &Metric, found: &[Warning], runs: usize) -> Option<Warning> {
    if found.iter().any(is_interference) {
        return None;
    }
    let marked = headline.samples.iter().filter(|sample| sample.flags.iter().any(|flag| flag == DISTURBED));
    let share = marked.count() as f64 / headline.samples.len().max(1) as f64;
    Warning::when(WarningCode::DisturbedBlocks, share, || {
        format!("{} of the samples, from {runs} process runs, had interference.", percent(share))
    })
}

/// Whether a warning is about interference that costs the result its high confidence.
fn is_interference(warning: &Warning) -> bool {
    let by_others = WARNINGS.iter().any(|rule| rule.cause == Cause::Others && warning.code == rule.code);
    by_others && warning.confidence > Confidence::High
}

/// The share of the rate that one process run lost to interference, where that alone would cost it high confidence; 0 where only
/// a symptom is known, such as swap. `best` is the most operations per cycle that the same kernel has shown.
pub fn disturbed(rules: &AreaRules, planned: &Planned, run: &ProcessRun, best: Option<f64>) -> Option<f64> {
    let mut run = run.clone();
    // One tick of stolen time is a large share of a short process run, and says no more than that there was some.
    run.seen.steal_seconds = run.seen.steal_seconds.map(|seconds| (seconds - TICK_SECONDS).max(0.0));
    let mut conditions = seen_by(rules, planned, &[&run]);
    let best = best.or(conditions.ops_per_cycle_p90).filter(|best| *best > 0.0);
    conditions.lost_share = stats::Observations::new(&run.seen.ops_per_cycle)
        .map(|ops| ops.mean())
        .zip(best)
        .map(|(ops, best)| (1.0 - ops / best).max(0.0));
    let mut found = interference::warnings(planned, &conditions, &Scale::of(planned, &[&run]));
    found.extend(surroundings::warnings(&conditions));
    found.retain(is_interference);
    let is_share = |warning: &Warning| warning.code.known().is_some_and(WarningCode::is_share_of_the_rate);
    let share = |warning: &Warning| warning.value.filter(|_| is_share(warning));
    (!found.is_empty()).then(|| found.iter().filter_map(share).fold(0.0, f64::max).min(1.0))
}

fn set_up(conditions: &Conditions, runs: &[ProcessRun]) -> Vec<Warning> {
    let timed: f64 = runs.iter().map(|run| run.seen.timed_seconds).sum();
    let faults = conditions.page_faults.unwrap_or(0);
    let faults_per_second = if timed > 0.0 { faults as f64 / timed } else { 0.0 };
    let refused = conditions.pages_obtained.map_or(0.0, |obtained| 1.0 - obtained);
    // The rate of a device or a path varies from slice to slice: only a change beyond that has not settled.
    let waiting = runs.iter().any(|run| run.seen.waiting);
    let change = conditions.warm_up_change.unwrap_or(0.0);
    let beyond = change - if waiting { USUAL_CHANGE } else { 0.0 };
    let by_system_call = runs.iter().any(|run| !run.seen.counter_timer);
    let found = [
        Warning::when(WarningCode::Timer, f64::from(u8::from(by_system_call)), || {
            "The time-stamp counter is missing or not invariant.".to_owned()
        }),
        Warning::when(WarningCode::PagesRefused, refused, || {
            format!("{} of the buffer is not in pages of the requested size.", percent(refused))
        }),
        Warning::when(WarningCode::PageFaults, faults_per_second, || {
            format!("{faults} page faults, {faults_per_second:.0} per second.")
        }),
        Warning::when(WarningCode::NotSteady, beyond, || {
            format!("The rate still changed by {} when the warm-up ended.", percent(change))
        }),
    ];
    found.into_iter().flatten().collect()
}
