//! Whether requests were made as planned: at the queue depth, at the load, and by threads with CPU time left.

use std::collections::BTreeSet;

use model::document::{DiskConditions, Row};
use model::experiment::DiskParams;
use model::io::DiskCache;
use model::number::{UnitScale, percent_tenths as percent, request_rate};
use model::sample::MetricName;
use model::warning::{Warning, WarningCode};

/// The share from which a thread's CPU was busy all the time: the rest is ticks of the scheduler.
const BUSY: f64 = 0.95;
/// The share of our own loop's rate from which the loop, not the device, takes most of a request's time.
const OF_LOOP: f64 = 0.80;
/// The feature of an engine that polls the device instead of waiting: its threads are always busy.
const POLLED: &str = "polled";

pub(super) fn warnings(params: &DiskParams, conditions: &DiskConditions, row: &Row) -> Vec<Warning> {
    if params.load_percent.is_some() {
        return load_not_kept(conditions, row).into_iter().collect();
    }
    if params.cache == DiskCache::Warm {
        // Requests that memory serves are never in flight.
        return cpu_bound(params, conditions, row).into_iter().collect();
    }
    let depth = depth_not_reached(params, conditions);
    // At a lower depth rate times latency is that depth.
    let little = if depth.is_none() { little(params, conditions, row) } else { None };
    [depth, little, cpu_bound(params, conditions, row)].into_iter().flatten().collect()
}

fn depth_not_reached(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    let achieved = conditions.depth_achieved.filter(|_| params.depth > 1)?;
    Warning::when(WarningCode::DepthNotReached, 1.0 - achieved / f64::from(params.depth), || {
        format!("The average queue depth was {achieved:.1}, not {}.", params.depth)
    })
}

/// Rate times mean latency is the queue depth (Little's law), both over all windows together.
fn little(params: &DiskParams, conditions: &DiskConditions, row: &Row) -> Option<Warning> {
    let latency = conditions.mean_latency_seconds?;
    let samples = &row.metric(MetricName::Iops)?.samples;
    let seconds: f64 = samples.iter().map(|sample| sample.seconds).sum();
    let requests: f64 = samples.iter().map(|sample| sample.value * sample.seconds).sum();
    let rate = if seconds > 0.0 { requests / seconds } else { return None };
    let should = f64::from(params.threads) * f64::from(params.depth);
    Warning::when(WarningCode::LittlesLaw, (rate * latency - should).abs() / should, || {
        let (depth, time) = (rate * latency, UnitScale::MICROSECONDS.fixed(latency, 1));
        format!("{} times {time} are a queue depth of {depth:.2}, not {should}.", request_rate(rate))
    })
}

fn cpu_bound(params: &DiskParams, conditions: &DiskConditions, row: &Row) -> Option<Warning> {
    let polled = conditions.features.iter().any(|feature| feature == POLLED);
    let busy = conditions.cpu_busy.filter(|_| !polled).unwrap_or(0.0);
    if busy >= BUSY {
        let seen = format!("The threads kept a CPU busy for {} of the time.", percent(busy));
        return Some(Warning::new(WarningCode::CpuBound, busy, &seen));
    }
    // Threads that share CPUs reach together what these CPUs can.
    let cpus = row.conditions.cpus.iter().collect::<BTreeSet<_>>().len();
    let loops = (params.threads.max(1) as usize).min(if cpus > 0 { cpus } else { usize::MAX });
    let each = row.metric(MetricName::Iops)?.summary.median / loops as f64;
    let of_loop = each / conditions.loop_iops.filter(|rate| *rate > 0.0)?;
    (of_loop >= OF_LOOP).then(|| {
        let who = if loops < params.threads as usize { "CPU" } else { "thread" };
        let seen = format!("Each {who} reached {} of its request rate without a device.", percent(of_loop));
        Warning::new(WarningCode::CpuBound, of_loop, &seen)
    })
}

fn load_not_kept(conditions: &DiskConditions, row: &Row) -> Option<Warning> {
    let late = conditions.late_share.unwrap_or(0.0);
    let made = row.metric(MetricName::Iops).map(|metric| metric.summary.median);
    let kept = made.zip(conditions.due_iops.filter(|due| *due > 0.0)).map_or(1.0, |(made, due)| made / due);
    Warning::when(WarningCode::LoadNotKept, late.max(1.0 - kept), || {
        let (late, made) = (percent(late), percent(kept.min(1.0)));
        format!("{late} of the requests started late, and {made} of the offered requests were made.")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{QUIET, codes, good, row};
    use super::*;
    use crate::tests::disk_params;

    fn of(depth: u32, conditions: DiskConditions) -> Vec<String> {
        codes(disk_params(depth), conditions)
    }

    #[test]
    fn fewer_in_flight_than_the_row_says_is_a_warning_once() {
        let few = DiskConditions { depth_achieved: Some(4.0), mean_latency_seconds: Some(4.0 / 1e5), ..good() };
        assert_eq!(of(32, few.clone()), ["depth_not_reached"]);
        let warm = DiskParams { cache: DiskCache::Warm, direct: false, ..disk_params(32) };
        assert_eq!(warnings(&warm, &few, &row(warm.clone(), few.clone(), &QUIET)), [], "nothing is in flight");
        assert_eq!(of(32, DiskConditions { depth_achieved: Some(29.5), ..good() }), [""; 0]);
        let single = DiskConditions { depth_achieved: Some(0.85), mean_latency_seconds: None, ..good() };
        assert_eq!(of(1, single), [""; 0], "of a single one there is nothing to reach");
    }

    #[test]
    fn rate_and_latency_that_do_not_fit_the_depth_are_a_warning() {
        let with = |in_flight: f64| DiskConditions { mean_latency_seconds: Some(in_flight / 1e5), ..good() };
        assert_eq!((of(32, with(30.0)), of(32, with(34.0))), (vec!["little".to_owned()], vec!["little".to_owned()]));
        assert_eq!((of(32, with(31.0)), of(32, with(33.0))), (vec![], vec![]));
        let uneven = [2e5, 0.5e5, 0.5e5, 2e5, 0.5e5, 0.5e5];
        let mean = 32.0 / (uneven.iter().sum::<f64>() / 6.0);
        let conditions = DiskConditions { mean_latency_seconds: Some(mean), ..good() };
        let found = little(&disk_params(32), &conditions, &row(disk_params(32), conditions.clone(), &uneven));
        assert!(found.is_none(), "an uneven rate fits its own latency: {found:?}");
        // The same number of requests in each window, the slow ones longer.
        let mut work = row(disk_params(32), good(), &uneven);
        let of_requests = work.metrics.iter_mut().find(|metric| metric.name.as_str() == "iops").unwrap();
        for sample in &mut of_requests.samples {
            sample.seconds = 1e5 / sample.value;
        }
        let latency = uneven.iter().map(|rate| 32.0 / rate).sum::<f64>() / 6.0;
        let conditions = DiskConditions { mean_latency_seconds: Some(latency), ..good() };
        assert!(little(&disk_params(32), &conditions, &work).is_none());
    }

    #[test]
    fn a_thread_without_time_left_is_bound_by_its_cpu() {
        assert_eq!(of(32, DiskConditions { cpu_busy: Some(0.99), ..good() }), ["cpu_bound"]);
        assert_eq!(of(32, DiskConditions { cpu_busy: Some(0.94), ..good() }), [""; 0]);
        assert_eq!(of(32, DiskConditions { loop_iops: Some(1.2e5), ..good() }), ["cpu_bound"]);
        assert_eq!(of(32, DiskConditions { loop_iops: Some(1.3e5), ..good() }), [""; 0]);
        let polled = DiskConditions { cpu_busy: Some(1.0), features: vec!["polled".into()], ..good() };
        assert_eq!(of(32, polled), [""; 0], "one that polls is always busy");
        let two = DiskParams { threads: 2, ..disk_params(32) };
        let halves = DiskConditions { loop_iops: Some(1e5), mean_latency_seconds: None, ..good() };
        assert_eq!(codes(two.clone(), halves.clone()), [""; 0], "each thread has a loop of its own");
        let mut row = row(two.clone(), halves.clone(), &QUIET);
        row.conditions.cpus = vec![0, 0];
        let found = cpu_bound(&two, &halves, &row).unwrap();
        assert!(found.text.starts_with("Each CPU reached 100"), "threads on one CPU share its loop: {found:?}");
        row.conditions.cpus = vec![0, 1];
        assert_eq!(cpu_bound(&two, &halves, &row), None);
    }

    #[test]
    fn a_load_that_was_not_kept_is_a_warning_and_the_depth_is_none() {
        let params = DiskParams { load_percent: Some(50), ..disk_params(32) };
        let kept = DiskConditions {
            depth_achieved: Some(3.0),
            due_iops: Some(1.01e5),
            full_iops: Some(2e5),
            late_share: Some(0.01),
            ..good()
        };
        let of = |conditions: DiskConditions| codes(params.clone(), conditions);
        assert_eq!(of(kept.clone()), [""; 0]);
        assert_eq!(of(DiskConditions { late_share: Some(0.1), ..kept.clone() }), ["load_not_kept"]);
        assert_eq!(of(DiskConditions { due_iops: Some(1.2e5), ..kept.clone() }), ["load_not_kept"]);
        let unknown = DiskConditions { late_share: None, due_iops: None, ..kept };
        assert_eq!(super::warnings(&params, &unknown, &row(params.clone(), unknown.clone(), &QUIET)), []);
    }
}
