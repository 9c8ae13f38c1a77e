//! What was seen while a row was measured, and what follows from it: conditions and warnings, by the rules in
//! `model::warning`.
//!
//! Lost time has many causes that show in the same gaps. Each cause that the kernel can name is taken off before the
//! next is blamed, so that a quota is not also called a busy neighbour.

use model::document::{Conditions, Row};
use model::machine::Machine;
use model::sample::{Metric, MetricName, Sample};
use model::surroundings::Change;
use model::unit::Better;
use model::warning::{Warning, WarningCode};
use model::wire::Observations;

use crate::plan::Planned;

mod io;

/// Launch medians that differ this many times more than samples within a launch make placement the larger cause.
const LAUNCHES_MATTER: f64 = 3.0;

/// What one launch saw, and what went on around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Launched {
    /// What its worker reports.
    pub(crate) seen: Observations,
    /// What the kernel counted all over the machine meanwhile.
    pub(crate) around: Change,
    /// Samples that it gave.
    pub(crate) samples: u32,
    /// Whether it was made because others had disturbed an earlier one.
    pub(crate) repeat: bool,
}

/// What all launches of a row saw together. `best` is the most operations per cycle that the same kernel has shown in
/// any row.
pub(crate) fn conditions(
    planned: &Planned,
    metrics: &[Metric],
    launches: &[Launched],
    best: Option<f64>,
    machine: &Machine,
) -> Conditions {
    let seen: Vec<&Observations> = launches.iter().map(|launch| &launch.seen).collect();
    let sum = |of: fn(&Observations) -> f64| seen.iter().map(|one| of(one)).sum::<f64>();
    let some_sum = |of: fn(&Observations) -> Option<f64>| {
        seen.iter().map(|one| of(one)).collect::<Option<Vec<f64>>>().map(|all| all.iter().sum::<f64>())
    };
    let (timed, watched) = (sum(|one| one.timed_seconds), sum(|one| one.watched_seconds));
    let per_watched = |seconds: f64| (watched > 0.0).then(|| seconds / watched / planned.cpus.len() as f64);
    let ops: Vec<f64> = seen.iter().flat_map(|one| one.ops_per_cycle.iter().copied()).collect();
    let disagreement: Vec<f64> = seen.iter().flat_map(|one| one.clock_disagreement.iter().copied()).collect();
    let warm_up: Vec<f64> = seen.iter().map(|one| one.warm_up_change).collect();
    let clocks = metrics.iter().find(|metric| metric.name == MetricName::Clock.name());
    let mut conditions = Conditions {
        cpus: planned.cpus.clone(),
        clock_hz: clocks.map(|clock| clock.summary.median),
        clock_source: seen.first().map(|one| one.clock_source.clone()),
        clock_start_hz: clocks.and_then(|clock| Some(clock.samples.first()?.value)),
        clock_end_hz: clocks.and_then(|clock| Some(clock.samples.last()?.value)),
        clock_disagreement: median(&disagreement),
        cpu_share: (timed > 0.0).then(|| sum(|one| one.cpu_seconds) / timed),
        steal: some_sum(|one| one.steal_seconds).and_then(per_watched),
        throttled: some_sum(|one| one.throttled_seconds).and_then(per_watched),
        quota_cpus: machine.cpu.quota_cpus,
        involuntary_switches: Some(seen.iter().map(|one| one.involuntary_switches).sum()),
        page_faults: Some(seen.iter().map(|one| one.page_faults).sum()),
        ops_per_cycle: median(&ops),
        ops_per_cycle_p90: percentile(&ops, 90.0),
        lost_in_gaps: (timed > 0.0).then(|| sum(|one| one.gap_seconds) / timed),
        pages_obtained: seen.iter().filter_map(|one| one.pages_obtained).reduce(f64::min),
        setup_seconds: Some(sum(|one| one.setup_seconds)),
        warm_up_seconds: Some(sum(|one| one.warm_up_seconds)),
        warm_up_change: median(&warm_up),
        launches: u32::try_from(seen.len()).ok(),
        ..Conditions::default()
    };
    if seen.iter().any(|one| one.waiting) {
        // Threads that wait use little of their CPUs: that is no sign of neighbours.
        (conditions.cpu_share, conditions.lost_in_gaps, conditions.clock_source) = (None, None, None);
        conditions.disk = io::disk(&seen, (timed > 0.0).then(|| sum(|one| one.cpu_seconds) / timed));
        conditions.net = io::net(&seen, (timed > 0.0).then(|| sum(|one| one.cpu_seconds) / timed));
    }
    conditions.lost_share = lost_share(planned, metrics, &conditions, best, machine);
    conditions
}

/// Share of the rate lost to others: how far the median falls short of what the cores do in their undisturbed bursts.
fn lost_share(
    planned: &Planned,
    metrics: &[Metric],
    conditions: &Conditions,
    best: Option<f64>,
    machine: &Machine,
) -> Option<f64> {
    let undisturbed = best.or(conditions.ops_per_cycle_p90)? * conditions.clock_hz?;
    // SMT siblings share one core's pipes: what one of them has, the other has not lost to strangers.
    let best = undisturbed * machine.cpu.one_per_core(&planned.cpus).len() as f64;
    Some((1.0 - metrics.first()?.summary.median / best).max(0.0))
}

/// The warnings of a row whose metrics and conditions are set.
pub(crate) fn warnings(planned: &Planned, row: &Row, launches: &[Launched]) -> Vec<Warning> {
    let mut warnings = others(planned, &row.conditions);
    warnings.extend(clock(row));
    warnings.extend(set_up(&row.conditions, launches));
    warnings.extend(io::warnings(row));
    if let Some(headline) = row.metrics.first() {
        warnings.extend(spread(planned, headline));
    }
    warnings
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Time and rate lost to others, each cause once.
fn others(planned: &Planned, conditions: &Conditions) -> Vec<Warning> {
    let throttled = conditions.throttled.unwrap_or(0.0);
    let steal = conditions.steal.unwrap_or(0.0);
    let gaps = conditions.lost_in_gaps.unwrap_or(0.0);
    // With more threads than CPUs the others on the CPU are our own, which is another warning.
    let own_turns = planned.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed.name());
    let not_ours = (1.0 - conditions.cpu_share.unwrap_or(1.0)).max(0.0);
    let neighbours = if own_turns { 0.0 } else { (not_ours - throttled).max(0.0) };
    let unexplained = (gaps - not_ours - steal).max(0.0);
    let invisible = (conditions.lost_share.unwrap_or(0.0) - gaps.max(not_ours)).max(0.0);
    let switches = conditions.involuntary_switches.unwrap_or(0);
    let quota = conditions.quota_cpus.map_or_else(String::new, |cpus| format!(" of {cpus} CPUs"));
    [
        Warning::when(WarningCode::CpuQuota, throttled, || {
            format!("A control group's quota{quota} stopped the threads for {} of the time.", percent(throttled))
        }),
        Warning::when(WarningCode::CpuShared, neighbours, || {
            format!(
                "The threads had their CPUs for {} of the time ({switches} involuntary switches).",
                percent(1.0 - not_ours)
            )
        }),
        Warning::when(WarningCode::Steal, steal, || format!("{} of the time was stolen.", percent(steal))),
        Warning::when(WarningCode::VcpuShared, invisible, || {
            format!("{} of the rate was lost while the threads were running.", percent(invisible))
        }),
        Warning::when(WarningCode::TimeLost, unexplained, || {
            format!("{} of the time vanished in gaps that the kernel does not account for.", percent(unexplained))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A clock that moved, or that the two chains do not agree on.
fn clock(row: &Row) -> Vec<Warning> {
    let disagreement = row.conditions.clock_disagreement.unwrap_or(0.0);
    let moved = row.metric(MetricName::Clock).map_or(0.0, |clock| first_to_last_third(&clock.samples));
    [
        Warning::when(WarningCode::ClockChainsDisagree, disagreement, || {
            format!("The two clock chains differ by {}.", percent(disagreement))
        }),
        Warning::when(WarningCode::ClockMoved, moved, || {
            format!("The clock moved by {} from the first samples to the last.", percent(moved))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Relative change of the median from the first third of the samples to the last.
fn first_to_last_third(samples: &[Sample]) -> f64 {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let third = values.len() / 3;
    let (first, last) = (median(&values[..third]), median(&values[values.len() - third..]));
    first.zip(last).map_or(0.0, |(first, last)| (last - first).abs() / first.max(last))
}

/// What was not as it should be before or beside the timed part.
fn set_up(conditions: &Conditions, launches: &[Launched]) -> Vec<Warning> {
    let seen: Vec<&Observations> = launches.iter().map(|launch| &launch.seen).collect();
    let timed: f64 = seen.iter().map(|one| one.timed_seconds).sum();
    let faults = conditions.page_faults.unwrap_or(0);
    let faults_per_second = if timed > 0.0 { faults as f64 / timed } else { 0.0 };
    let refused = conditions.pages_obtained.map_or(0.0, |obtained| 1.0 - obtained);
    // What a device or a path does varies from slice to slice: only a change beyond that is one that has not settled.
    let waiting = seen.iter().any(|one| one.waiting);
    let change = conditions.warm_up_change.unwrap_or(0.0) - if waiting { io::USUAL_CHANGE } else { 0.0 };
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
        Warning::when(WarningCode::NotSteady, change, || {
            format!("The rate still changed by {} when the warm-up ended.", percent(change))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the samples themselves say.
fn spread(planned: &Planned, headline: &Metric) -> Vec<Warning> {
    let values: Vec<f64> = headline.samples.iter().map(|sample| sample.value).collect();
    let Ok(summary) = stats::summarise(&values) else { return Vec::new() };
    let target = planned.sampling.target;
    let half_width = summary.relative_half_width().unwrap_or(0.0);
    let wide = Warning::when(WarningCode::WideInterval, half_width / target, || {
        format!("The 95 % interval is ±{}, the aim ±{}.", percent(half_width), percent(target))
    });
    let placement = launches_differ(&headline.samples);
    let differ = (placement > LAUNCHES_MATTER).then(|| {
        Warning::new(
            WarningCode::LaunchesDiffer,
            placement,
            &format!("Launches differ {placement:.1} times more than samples within one."),
        )
    });
    summary.warnings.iter().filter_map(|found| of_values(found, headline.better)).chain(wide).chain(differ).collect()
}

/// A warning of `stats` in the document's words.
fn of_values(found: &stats::Warning, better: Better) -> Option<Warning> {
    let (code, figure) = match found {
        stats::Warning::TooFew { n, needed } => (WarningCode::FewSamples, needed.saturating_sub(*n) as f64),
        stats::Warning::Drifting { .. } => (WarningCode::Drifting, 1.0),
        stats::Warning::Bimodal(_) => (WarningCode::Bimodal, 1.0),
        // A first value that is better than the rest is no slow start; if it is the start of a decline, that is a
        // drift.
        stats::Warning::FirstApart { ratio } if (*ratio < 1.0) != (better == Better::Higher) => return None,
        stats::Warning::FirstApart { .. } => (WarningCode::SlowFirst, 1.0),
        stats::Warning::Outliers { indices } => (WarningCode::Outliers, indices.len() as f64),
        stats::Warning::Autocorrelated { r, .. } => (WarningCode::Autocorrelated, *r),
        stats::Warning::GroupsDiffer { ratio, .. } => (WarningCode::LaunchesDiffer, *ratio),
        // The interval's width says it, against the area's own target.
        stats::Warning::HighSpread { .. } => return None,
    };
    let sentence = found.to_string();
    let mut letters = sentence.chars();
    let capital = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    Some(Warning::new(code, figure, &format!("{capital}{}.", letters.as_str())))
}

/// Spread of the launches' medians over the spread within launches; 0 where it cannot be told.
fn launches_differ(samples: &[Sample]) -> f64 {
    let mut launches: Vec<u32> = samples.iter().map(|sample| sample.launch).collect();
    launches.dedup();
    let of = |launch: &u32| -> Vec<f64> {
        samples.iter().filter(|sample| sample.launch == *launch).map(|sample| sample.value).collect()
    };
    let groups: Vec<Vec<f64>> = launches.iter().map(of).filter(|group| group.len() >= 2).collect();
    if groups.len() < 3 {
        return 0.0;
    }
    let medians: Vec<f64> = groups.iter().filter_map(|group| median(group)).collect();
    let within: Vec<f64> = groups.iter().filter_map(|group| stats::summarise(group).ok()?.stddev).collect();
    let between = stats::summarise(&medians).ok().and_then(|summary| summary.stddev).unwrap_or(0.0);
    // A difference below a percent of the median is not worth a sentence, however quiet the launches were.
    let centre = median(&medians).unwrap_or(0.0);
    match median(&within) {
        Some(within) if within > 0.0 && between > 0.01 * centre => between / within,
        _ => 0.0,
    }
}

fn median(values: &[f64]) -> Option<f64> {
    stats::summarise(values).ok().map(|summary| summary.median)
}

fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    stats::Observations::new(values).ok()?.percentile(percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::planned;

    fn codes(conditions: &Conditions) -> Vec<String> {
        others(&planned(), conditions).into_iter().map(|warning| warning.code).collect()
    }

    fn quiet() -> Conditions {
        Conditions {
            cpu_share: Some(0.999),
            lost_in_gaps: Some(0.001),
            lost_share: Some(0.005),
            ..Conditions::default()
        }
    }

    #[test]
    fn a_quiet_row_has_nothing_to_say() {
        assert!(codes(&quiet()).is_empty());
    }

    #[test]
    fn a_quota_is_not_also_a_neighbour() {
        let throttled = Conditions {
            cpu_share: Some(0.5),
            throttled: Some(0.5),
            quota_cpus: Some(0.5),
            lost_in_gaps: Some(0.5),
            lost_share: Some(0.5),
            ..quiet()
        };
        assert_eq!(codes(&throttled), ["cpu_quota"]);
        let text = &others(&planned(), &throttled)[0].text;
        assert!(text.contains("0.5 CPUs") && text.contains("50.0 %"), "{text}");
    }

    #[test]
    fn a_neighbour_on_the_same_cpu_is_named() {
        let shared = Conditions { cpu_share: Some(0.5), lost_in_gaps: Some(0.5), lost_share: Some(0.5), ..quiet() };
        assert_eq!(codes(&shared), ["cpu_shared"]);
    }

    #[test]
    fn an_invisible_sibling_shows_in_operations_per_cycle_alone() {
        assert_eq!(codes(&Conditions { lost_share: Some(0.3), ..quiet() }), ["vcpu_shared"]);
    }

    #[test]
    fn gaps_that_nobody_accounts_for_are_lost_time() {
        let gaps = Conditions { lost_in_gaps: Some(0.2), lost_share: Some(0.2), ..quiet() };
        assert_eq!(codes(&gaps), ["time_lost"]);
        assert_eq!(codes(&Conditions { steal: Some(0.2), ..gaps }), ["steal"]);
    }

    #[test]
    fn a_first_sample_is_slow_only_in_the_direction_that_is_worse() {
        let low = stats::Warning::FirstApart { ratio: 0.8 };
        assert_eq!(of_values(&low, Better::Higher).unwrap().code, "slow_first");
        assert!(of_values(&low, Better::Lower).is_none(), "a low latency is no slow start");
    }

    #[test]
    fn placement_shows_between_launches() {
        let sample = |launch: u32, value: f64| Sample { launch, ..crate::tests::metric_sample(value).sample };
        let apart: Vec<Sample> =
            (1..=4).flat_map(|launch| [0.0, 0.1, 0.2].map(|x| sample(launch, 10.0 * f64::from(launch) + x))).collect();
        assert!(launches_differ(&apart) > LAUNCHES_MATTER);
        let alike: Vec<Sample> = (1..=4).flat_map(|launch| [1.0, 2.0, 3.0].map(|x| sample(launch, x))).collect();
        assert!(launches_differ(&alike) < 1.0);
    }
}
