//! What was seen while a row was measured, and what follows from it: conditions and warnings, by the rules in
//! `model::warning`.
//!
//! Lost time has many causes that show in the same gaps. Each cause that the kernel can name is taken off before the
//! next is blamed, so that a quota is not also called a busy neighbour.

use model::document::{Conditions, Row};
use model::machine::Machine;
use model::number::percent_tenths as percent;
use model::plan::Planned;
use model::sample::{Metric, MetricName, Sample};
use model::unit::Better;
use model::warning::{Cause, Grade, WARNINGS, Warning, WarningCode};
use model::wire::{CYCLE_COUNTER, Observations};

mod interference;
mod samples;
pub mod settings;
mod steady;
mod surroundings;
mod values;

use crate::rules::AreaRules;
use surroundings::Scale;
use values::{mean, percentile};

pub use crate::process_run::ProcessRun;
pub(crate) use steady::is_of_rounds;
pub use steady::set as set_steady;
pub use surroundings::others_share;
pub use values::median;

/// What marks the samples of a launch that others disturbed.
pub(crate) const DISTURBED: &str = "disturbed";

/// A tick of /proc/stat, in which stolen time is counted.
const TICK_SECONDS: f64 = 0.01;

/// By so much two slices of warm-up differ on a device that has settled: disks on a shared host, 100 ms each.
const USUAL_CHANGE: f64 = 0.2;

/// From this share of a row's highest clock on, a launch's is taken for the core's. A choice: a launch at a clock that is
/// really lower is left out too, which costs no more than a launch.
const FULL_CLOCK: f64 = 0.98;

/// What all launches of a row saw together. `best` is the most operations per cycle that the same kernel has shown in
/// any row.
pub fn conditions(
    rules: &AreaRules,
    planned: &Planned,
    metrics: &[Metric],
    launches: &[ProcessRun],
    best: Option<f64>,
    machine: &Machine,
) -> Conditions {
    let clocks = metrics.iter().find(|metric| metric.name == MetricName::Clock);
    let mut conditions = Conditions {
        clock_hz: clocks.map(|clock| clock.summary.median),
        clock_start_hz: clocks.and_then(|clock| Some(clock.samples.first()?.value)),
        clock_end_hz: clocks.and_then(|clock| Some(clock.samples.last()?.value)),
        quota_cpus: machine.cpu.quota_cpus,
        ..seen_by(rules, planned, &launches.iter().collect::<Vec<_>>())
    };
    let per_cycle = per_cycle_at_full_clock(launches, metrics.first());
    (conditions.ops_per_cycle, conditions.ops_per_cycle_p90) = (median(&per_cycle), percentile(&per_cycle, 90.0));
    if rules.judge.work_per_thread && !launches.iter().any(|launch| launch.seen.waiting) {
        conditions.slowest_over_fastest = metrics.first().and_then(slowest_over_fastest);
    }
    conditions.lost_share = lost_share(rules, planned, metrics, &conditions, best, machine);
    conditions
}

/// Operations per cycle of the bursts of all launches but those whose clock was far below the others': a chain that
/// tells the clock is slowed by whoever shares its core, and never sped up, so there are too many operations to a cycle
/// of it. Hardware that counts cycles is believed.
fn per_cycle_at_full_clock(launches: &[ProcessRun], headline: Option<&Metric>) -> Vec<f64> {
    let of = |launch: &ProcessRun| {
        let samples = headline.iter().flat_map(|metric| &metric.samples);
        let of_launch = samples.filter(|sample| sample.launch == launch.number);
        // Each thread has its own core.
        let threads = of_launch.flat_map(|sample| sample.per_thread.iter().filter_map(|thread| thread.clock_hz));
        threads.reduce(f64::min)
    };
    let highest = launches.iter().filter_map(of).reduce(f64::max).unwrap_or(0.0);
    let counted = launches.iter().all(|launch| launch.seen.clock_source == CYCLE_COUNTER);
    let full = |launch: &&ProcessRun| counted || of(launch).is_none_or(|hz| hz >= FULL_CLOCK * highest);
    launches.iter().filter(full).flat_map(|launch| launch.seen.ops_per_cycle.iter().copied()).collect()
}

/// What launches saw, without what their samples say.
fn seen_by(rules: &AreaRules, planned: &Planned, launches: &[&ProcessRun]) -> Conditions {
    let seen: Vec<&Observations> = launches.iter().map(|launch| &launch.seen).collect();
    let sum = |of: fn(&Observations) -> f64| seen.iter().map(|one| of(one)).sum::<f64>();
    // A row whose only launch was cut off has samples, and nothing is known of what was around them.
    let all = |of: fn(&Observations) -> f64| (!seen.is_empty()).then(|| sum(of));
    let count = |of: fn(&Observations) -> u64| seen.iter().map(|one| of(one)).reduce(|one, other| one + other);
    let some_sum = |of: fn(&Observations) -> Option<f64>| {
        seen.iter().map(|one| of(one)).collect::<Option<Vec<f64>>>().map(|all| all.iter().sum::<f64>())
    };
    let (timed, watched) = (sum(|one| one.timed_seconds), sum(|one| one.watched_seconds));
    let per_watched = |seconds: f64| (watched > 0.0).then(|| seconds / watched / planned.cpus.len() as f64);
    let ops: Vec<f64> = seen.iter().flat_map(|one| one.ops_per_cycle.iter().copied()).collect();
    let disagreement: Vec<f64> = seen.iter().flat_map(|one| one.clock_disagreement.iter().copied()).collect();
    let warm_up: Vec<f64> = seen.iter().filter_map(|one| one.warm_up_change).collect();
    // In every launch some thread is last: what counts is how far, as a rule.
    let least: Vec<f64> = seen.iter().filter_map(|one| one.least_cpu_share).collect();
    let settings = settings::of(launches);
    let mut conditions = Conditions {
        cpus: planned.cpus.clone(),
        clock_source: seen.first().map(|one| one.clock_source.clone()),
        clock_disagreement: median(&disagreement),
        cpu_share: (timed > 0.0).then(|| sum(|one| one.cpu_seconds) / timed),
        least_cpu_share: median(&least),
        steal: some_sum(|one| one.steal_seconds).and_then(per_watched),
        throttled: some_sum(|one| one.throttled_seconds).and_then(per_watched),
        nice: settings.nice,
        cpus_withheld: settings.cpus_withheld(),
        migrated_threads: count(|one| one.migrated_threads.into()).and_then(|all| u32::try_from(all).ok()),
        remote_pages: seen.iter().filter_map(|one| one.remote_pages).reduce(f64::max),
        involuntary_switches: count(|one| one.involuntary_switches),
        page_faults: count(|one| one.page_faults),
        ops_per_cycle: median(&ops),
        ops_per_cycle_p90: percentile(&ops, 90.0),
        lost_in_gaps: (timed > 0.0).then(|| sum(|one| one.gap_seconds) / timed),
        pages_obtained: seen.iter().filter_map(|one| one.pages_obtained).reduce(f64::min),
        order_seconds: seen.iter().filter_map(|one| one.order_seconds).reduce(f64::max),
        c_library: seen.iter().find_map(|one| one.c_library.clone()),
        start_spread_seconds: seen.iter().filter_map(|one| one.start_spread_seconds).reduce(f64::max),
        setup_seconds: all(|one| one.setup_seconds),
        warm_up_seconds: all(|one| one.warm_up_seconds),
        warm_up_change: median(&warm_up),
        launches: u32::try_from(seen.len()).ok().filter(|launches| *launches > 0),
        ..Conditions::default()
    };
    (rules.judge.conditions)(planned, launches, &mut conditions);
    if seen.iter().any(|one| one.waiting) {
        // Threads that wait use little of their CPUs: that is no sign of neighbours.
        (conditions.cpu_share, conditions.lost_in_gaps, conditions.clock_source) = (None, None, None);
        conditions.least_cpu_share = None;
    }
    surroundings::conditions(launches, &mut conditions);
    conditions
}

/// Share of the rate lost to others: how far the median falls short of what the cores do in their undisturbed bursts.
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
    let undisturbed = best * conditions.clock_hz?;
    // SMT siblings share one core's pipes: what one of them has, the other has not lost to strangers.
    let best = undisturbed * machine.cpu.one_per_core(&planned.cpus).len() as f64;
    Some((1.0 - metrics.first()?.summary.median / best).max(0.0))
}

/// Rate of the slowest thread over that of the fastest, the median over the samples; `None` of a single thread, and where
/// what is measured is no rate.
fn slowest_over_fastest(metric: &Metric) -> Option<f64> {
    let of_sample = |sample: &Sample| {
        let rates = || sample.per_thread.iter().map(|share| share.work / share.seconds).filter(|rate| *rate >= 0.0);
        let (slowest, fastest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
        (sample.per_thread.len() > 1 && fastest > 0.0).then(|| slowest / fastest)
    };
    let is_rate = metric.better == Better::Higher;
    median(&metric.samples.iter().filter(|_| is_rate).filter_map(of_sample).collect::<Vec<_>>())
}

/// The warnings of a row whose metrics and conditions are set.
pub fn warnings(rules: &AreaRules, planned: &Planned, row: &Row, launches: &[ProcessRun]) -> Vec<Warning> {
    let all: Vec<&ProcessRun> = launches.iter().collect();
    let mut warnings = interference::warnings(planned, &row.conditions, &Scale::of(planned, &all));
    warnings.extend(samples::clock(row));
    warnings.extend(surroundings::warnings(&row.conditions));
    warnings.extend(settings::warnings(planned, &settings::of(&all)));
    warnings.extend(set_up(&row.conditions, launches));
    warnings.extend((rules.judge.warnings)(row, launches));
    if let Some(headline) = row.metrics.first() {
        warnings.extend(disturbed_launches(headline, &warnings, launches.len()));
        if planned.sampling.until_steady {
            // Noise is not what tells one round from another.
            warnings.extend(steady::warning(row));
        } else {
            warnings.extend(samples::spread(planned.sampling.target, headline));
        }
    }
    warnings
}

/// The warnings that follow from the samples and conditions of a result alone, so that a stored result can be judged again.
pub(crate) fn warnings_of_stored(rules: &AreaRules, row: &Row) -> Vec<Warning> {
    let mut warnings = samples::clock(row);
    warnings.extend(surroundings::warnings(&row.conditions));
    warnings.extend((rules.judge.warnings)(row, &[]));
    if let Some(headline) = row.metrics.first() {
        let runs = row.conditions.launches.unwrap_or(0) as usize;
        let others = row.warnings.iter().filter(|warning| warning.code != WarningCode::DisturbedBlocks);
        warnings.extend(disturbed_launches(headline, &others.cloned().collect::<Vec<_>>(), runs));
        if steady::is_of_rounds(row) {
            warnings.extend(steady::warning(row));
        } else {
            warnings.extend(samples::of_samples(headline));
        }
    }
    warnings
}

/// The kinds of [`warnings_of_stored`], which replace those that a stored result has. Others rest on what only the worker
/// saw, on the plan or on the directory, so they are kept.
pub(crate) const RENEWED: &[WarningCode] = &[
    WarningCode::ClockChainsDisagree,
    WarningCode::ClockMoved,
    WarningCode::Migrated,
    WarningCode::Swapping,
    WarningCode::RemotePages,
    WarningCode::ThermalLimit,
    WarningCode::PowerLimit,
    WarningCode::OtherDiskTraffic,
    WarningCode::OtherNetTraffic,
    WarningCode::NotWritten,
    WarningCode::NotDirect,
    WarningCode::Cached,
    WarningCode::NotCold,
    WarningCode::NotWarm,
    WarningCode::Compressed,
    WarningCode::Amplified,
    WarningCode::DepthNotReached,
    WarningCode::LittlesLaw,
    WarningCode::LoadNotKept,
    WarningCode::CacheCliff,
    WarningCode::Unsteady,
    WarningCode::DeviceThrottled,
    WarningCode::NoSteadyState,
    WarningCode::DisturbedBlocks,
    WarningCode::Drifting,
    WarningCode::Bimodal,
    WarningCode::SlowFirst,
    WarningCode::Outliers,
    WarningCode::Autocorrelated,
    WarningCode::LaunchesDiffer,
];

/// What the samples' marks say of disturbed launches. Where the row as a whole is already held to be disturbed, that is
/// said with the cause.
fn disturbed_launches(headline: &Metric, found: &[Warning], launches: usize) -> Option<Warning> {
    if found.iter().any(is_by_others) {
        return None;
    }
    let marked = headline.samples.iter().filter(|sample| sample.flags.iter().any(|flag| flag == DISTURBED));
    disturbed_blocks(marked.count() as f64 / headline.samples.len().max(1) as f64, launches)
}

/// Whether a warning says that others left something below grade A.
fn is_by_others(warning: &Warning) -> bool {
    let of_others = WARNINGS.iter().any(|rule| rule.cause == Cause::Others && warning.code == rule.code);
    of_others && warning.grade > Grade::A
}

/// The warning of a row of so many launches, where this share of its samples is of launches that others disturbed.
pub fn disturbed_blocks(share: f64, launches: usize) -> Option<Warning> {
    Warning::when(WarningCode::DisturbedBlocks, share, || {
        format!("{} of the samples, from {launches} launches, were disturbed by others.", percent(share))
    })
}

/// The share of the rate that others took from one launch, where a warning of others would leave that launch below
/// grade A; 0 where only a symptom is known, such as swap. `best` is the most operations per cycle that the same kernel
/// has shown.
pub fn disturbed(rules: &AreaRules, planned: &Planned, launch: &ProcessRun, best: Option<f64>) -> Option<f64> {
    let mut launch = launch.clone();
    // One tick of stolen time is a large share of a short launch, and says no more than that there was some.
    launch.seen.steal_seconds = launch.seen.steal_seconds.map(|seconds| (seconds - TICK_SECONDS).max(0.0));
    let mut conditions = seen_by(rules, planned, &[&launch]);
    let best = best.or(conditions.ops_per_cycle_p90).filter(|best| *best > 0.0);
    conditions.lost_share = mean(&launch.seen.ops_per_cycle).zip(best).map(|(ops, best)| (1.0 - ops / best).max(0.0));
    let mut found = interference::warnings(planned, &conditions, &Scale::of(planned, &[&launch]));
    found.extend(surroundings::warnings(&conditions));
    found.retain(is_by_others);
    let is_share = |warning: &Warning| warning.code.known().is_some_and(WarningCode::is_share_of_the_rate);
    let share = |warning: &Warning| warning.figure.filter(|_| is_share(warning));
    (!found.is_empty()).then(|| found.iter().filter_map(share).fold(0.0, f64::max).min(1.0))
}

/// What was not as it should be before or beside the timed part.
fn set_up(conditions: &Conditions, launches: &[ProcessRun]) -> Vec<Warning> {
    let seen: Vec<&Observations> = launches.iter().map(|launch| &launch.seen).collect();
    let timed: f64 = seen.iter().map(|one| one.timed_seconds).sum();
    let faults = conditions.page_faults.unwrap_or(0);
    let faults_per_second = if timed > 0.0 { faults as f64 / timed } else { 0.0 };
    let refused = conditions.pages_obtained.map_or(0.0, |obtained| 1.0 - obtained);
    // What a device or a path does varies from slice to slice: only a change beyond that is one that has not settled.
    let waiting = seen.iter().any(|one| one.waiting);
    let change = conditions.warm_up_change.unwrap_or(0.0);
    let beyond = change - if waiting { USUAL_CHANGE } else { 0.0 };
    let by_system_call = seen.iter().any(|one| !one.counter_timer);
    [
        Warning::when(WarningCode::Timer, f64::from(u8::from(by_system_call)), || {
            "The time-stamp counter is missing or not invariant.".to_owned()
        }),
        Warning::when(WarningCode::PagesRefused, refused, || {
            format!("{} of the buffer is not in pages of the size asked for.", percent(refused))
        }),
        Warning::when(WarningCode::PageFaults, faults_per_second, || {
            format!("{faults} page faults, {faults_per_second:.0} a second.")
        }),
        Warning::when(WarningCode::NotSteady, beyond, || {
            format!("The rate still changed by {} when the warm-up ended.", percent(change))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
