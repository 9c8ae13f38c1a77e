//! Metrics of a sample from the records of a flow's threads.

use model::sample::{Sample, ThreadShare};
use model::wire::MetricSample;
use sys::clock::Timer;

use crate::engines::{Carried, FlowMetric, FlowProfile, Tally, Window};
use crate::histogram::Histogram;

#[derive(Clone, Debug)]
pub(super) struct FlowRecord {
    pub(super) tally: Tally,
    pub(super) window: Window,
}

pub(super) fn merged(records: &[FlowRecord]) -> Histogram {
    let mut all = Histogram::new();
    records.iter().for_each(|record| all.add(&record.tally.durations));
    all
}

/// The metrics of a sample, over the threads' common window, which ends with the last thread.
pub(super) fn combine(
    records: &[FlowRecord],
    durations: &Histogram,
    profile: FlowProfile,
    timer: &Timer,
    template: &Sample,
) -> Vec<MetricSample> {
    let of = |kind: &FlowMetric| {
        let (name, unit, better) = kind.metric();
        let taking_part = taking_part(*kind, records);
        let per_thread: Vec<ThreadShare> = taking_part.map(|record| share_of(*kind, record, timer)).collect();
        let work: f64 = per_thread.iter().map(|share| share.work).sum();
        let seconds = per_thread.iter().map(|share| share.seconds).fold(0.0, f64::max);
        let sample = |value| Sample { value, work: Some(work), seconds, per_thread, ..template.clone() };
        let sample = match kind {
            FlowMetric::Latency => sample(durations.quantile(0.5)?),
            FlowMetric::LatencyOf(together) => sample(durations.quantile(0.5)? / f64::from(*together)),
            FlowMetric::Bytes | FlowMetric::Requests | FlowMetric::RoundTrips | FlowMetric::Up | FlowMetric::Down => {
                sample(work / seconds)
            }
            // What is not a rate has no work to divide among threads.
            kind => Sample { value: carried(*kind, records)?, seconds, ..template.clone() },
        };
        Some(MetricSample { name, unit, better, sample })
    };
    profile.metrics.iter().filter_map(of).collect()
}

/// The threads that contribute to a metric: probes measure latency only, streams bytes only.
fn taking_part(kind: FlowMetric, records: &[FlowRecord]) -> impl Iterator<Item = &FlowRecord> {
    let times = |record: &&FlowRecord| record.tally.durations.count() > 0;
    let moves = |record: &&FlowRecord| record.tally.bytes > 0;
    let mixed = records.iter().any(|record| times(&record) && !moves(&record))
        && records.iter().any(|record| moves(&record) && !times(&record));
    records.iter().filter(move |record| match kind {
        FlowMetric::Latency => !mixed || times(record),
        FlowMetric::Bytes => !mixed || moves(record),
        _ => true,
    })
}

fn share_of(kind: FlowMetric, record: &FlowRecord, timer: &Timer) -> ThreadShare {
    let tally = &record.tally;
    let work = match kind {
        FlowMetric::Bytes => tally.bytes as f64,
        FlowMetric::Up => tally.carried.up_bytes as f64,
        FlowMetric::Down => tally.bytes.saturating_sub(tally.carried.up_bytes) as f64,
        // Only one side counts operations that both see.
        FlowMetric::LatencyOf(together) => tally.durations.count() as f64 * f64::from(together),
        _ => tally.operations as f64,
    };
    ThreadShare { work, seconds: timer.seconds(record.window.begin, record.window.end), clock_hz: None }
}

/// Shares are of all threads' datagrams together; jitter is the maximum.
fn carried(kind: FlowMetric, records: &[FlowRecord]) -> Option<f64> {
    let all = || records.iter().map(|record| &record.tally.carried);
    let sum = |of: fn(&Carried) -> u64| all().map(of).sum::<u64>() as f64;
    let share = |part: f64, of: f64| Some(part / of).filter(|share| share.is_finite());
    let came = || sum(|one| one.datagrams_came);
    match kind {
        FlowMetric::CpuCost => {
            let bytes = records.iter().map(|record| record.tally.bytes).sum::<u64>() as f64;
            let seconds = all().map(|one| one.cpu_seconds).sum::<Option<f64>>();
            seconds.and_then(|seconds| share(seconds, bytes))
        }
        FlowMetric::Retransmits => all().map(|one| one.retransmits).sum::<Option<u64>>().map(|count| count as f64),
        FlowMetric::Loss => {
            let sent = sum(|one| one.datagrams_sent);
            share(sent - came(), sent)
        }
        FlowMetric::Duplicates => share(sum(|one| one.duplicates), came()),
        FlowMetric::Reordered => share(sum(|one| one.reordered), came()),
        FlowMetric::Jitter => all().filter_map(|one| one.jitter_seconds).reduce(f64::max),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;

    const SECOND: Window = Window { begin: 0, end: 1_000_000_000 };

    fn counted(window: Window, count: impl FnOnce(&mut Tally)) -> FlowRecord {
        let mut tally = Tally::new(&Timer::system());
        tally.begin(window);
        count(&mut tally);
        FlowRecord { tally, window }
    }

    fn record(window: Window, lengths: &[u64]) -> FlowRecord {
        counted(window, |tally| {
            let mut now = 0;
            for length in lengths {
                tally.note(now, now + length, 4096);
                now += length;
            }
        })
    }

    fn combined(records: &[FlowRecord], metrics: &'static [FlowMetric]) -> Vec<MetricSample> {
        let profile = FlowProfile { metrics, lead_microseconds: 0, drains: false };
        let template = Sample { start: 3.0, ..crate::tests::metric_sample(1.0).sample };
        combine(records, &merged(records), profile, &Timer::system(), &template)
    }

    #[test]
    fn only_what_ends_inside_the_window_counts() {
        let window = Window { begin: 1_000_000, end: 2_000_000 };
        let record = record(window, &[100_000; 40]);
        assert_eq!((record.tally.operations, record.tally.bytes), (10, 40_960));
        assert_eq!(record.tally.durations.count(), 10);
    }

    #[test]
    fn rates_add_up_over_threads_and_a_latency_is_one_threads() {
        let records = [record(SECOND, &[1_000_000; 999]), record(SECOND, &[2_000_000; 499])];
        let metrics = combined(&records, &[FlowMetric::Requests, FlowMetric::Bytes, FlowMetric::Latency]);
        let value = |name: MetricName| metrics.iter().find(|metric| metric.name == name).unwrap().sample.value;
        assert!((value(MetricName::Iops) - 1498.0).abs() < 1e-6);
        assert!((value(MetricName::Throughput) - 1498.0 * 4096.0).abs() < 1e-3);
        assert!((value(MetricName::Latency) / 1e-3 - 1.0).abs() < 2e-3, "two threads do not halve it");
        assert_eq!(metrics[0].name, MetricName::Iops, "the profile's first is the headline");
        assert_eq!(metrics[0].sample.per_thread.len(), 2);
    }

    #[test]
    fn who_has_nothing_left_to_do_ends_early_and_the_last_one_ends_the_window() {
        let window = Window { begin: 0, end: Window::NO_END };
        let mut records = [record(window, &[1_000_000; 100]), record(window, &[2_000_000; 150])];
        for (record, over) in records.iter_mut().zip([100_000_000, 300_000_000]) {
            record.tally.over(over);
            record.window = record.tally.window();
        }
        let metrics = combined(&records, &[FlowMetric::Requests]);
        let sample = &metrics[0].sample;
        assert!((sample.value - 250.0 / 0.3).abs() < 1e-6 && (sample.seconds - 0.3).abs() < 1e-12, "{sample:?}");
        assert!((sample.per_thread.iter().map(|share| share.work).sum::<f64>() - 250.0).abs() < 1e-9);
        assert!((sample.per_thread[0].seconds - 0.1).abs() < 1e-12);
    }

    #[test]
    fn operations_timed_together_are_separate_in_the_latency() {
        let records = [record(SECOND, &[1_000_000; 900]), counted(SECOND, |tally| tally.came(5, 0))];
        let metrics = combined(&records, &[FlowMetric::LatencyOf(250)]);
        let sample = &metrics[0].sample;
        assert!((sample.value / 4e-6 - 1.0).abs() < 2e-3, "{}", sample.value);
        assert_eq!(sample.work, Some(225_000.0));
    }

    #[test]
    fn transfers_have_their_directions_costs_and_losses() {
        const METRICS: &[FlowMetric] = &[
            FlowMetric::Bytes,
            FlowMetric::Up,
            FlowMetric::Down,
            FlowMetric::CpuCost,
            FlowMetric::Retransmits,
            FlowMetric::Loss,
            FlowMetric::Duplicates,
            FlowMetric::Reordered,
            FlowMetric::Jitter,
        ];
        let record = |bytes, carried| {
            counted(SECOND, |tally| {
                tally.counted_there(1, bytes);
                tally.carried = carried;
            })
        };
        let up = Carried {
            up_bytes: 600,
            cpu_seconds: Some(3.0),
            retransmits: Some(2),
            datagrams_sent: 100,
            datagrams_came: 80,
            duplicates: 8,
            reordered: 4,
            jitter_seconds: Some(0.5),
            above_goal: false,
        };
        let down = Carried { up_bytes: 0, cpu_seconds: Some(1.0), jitter_seconds: None, ..up };
        let values = |records: &[FlowRecord]| -> Vec<(&'static str, f64)> {
            combined(records, METRICS).iter().map(|metric| (metric.name.name(), metric.sample.value)).collect()
        };
        let expected = [
            ("throughput", 1000.0),
            ("throughput_up", 600.0),
            ("throughput_down", 400.0),
            ("cpu_cost", 4e-3),
            ("retransmits", 4.0),
            ("loss", 0.2),
            ("duplicates", 0.1),
            ("reordered", 0.05),
            ("jitter", 0.5),
        ];
        let found = values(&[record(600, up), record(400, down)]);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-12, "{found:?} {expected:?}");
        }
        let unknown = Carried { cpu_seconds: None, retransmits: None, datagrams_sent: 0, datagrams_came: 0, ..down };
        let found = values(&[record(1, unknown)]);
        assert_eq!(
            found.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["throughput", "throughput_up", "throughput_down"]
        );
    }

    #[test]
    fn round_trips_and_streams_have_separate_threads() {
        let probes = |tally: &mut Tally| (0..400).for_each(|probe| tally.note(probe, probe + 1_000_000, 0));
        let stream = |bytes| counted(SECOND, |tally| tally.came(5, bytes));
        let metrics =
            combined(&[counted(SECOND, probes), stream(600), stream(400)], &[FlowMetric::Latency, FlowMetric::Bytes]);
        let [latency, bytes] = &metrics[..] else { panic!("{metrics:?}") };
        assert!((latency.sample.value / 1e-3 - 1.0).abs() < 2e-3);
        assert_eq!((latency.sample.work, latency.sample.per_thread.len()), (Some(400.0), 1));
        assert_eq!((bytes.sample.work, bytes.sample.per_thread.len()), (Some(1000.0), 2));
        assert!((bytes.sample.value - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn the_tail_of_a_latency_is_that_of_all_threads_together() {
        // Of 20 000 round trips one took 50 ms and three took 5 ms.
        let of = |slow: &[u64]| record(SECOND, &[vec![10_000; 4999], slow.to_vec()].concat());
        let records = [of(&[10_000]), of(&[5_000_000, 5_000_000]), of(&[50_000_000]), of(&[5_000_000, 10_000])];
        let all = merged(&records);
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 2e-3, "{found} {expected}");
        let text = all.encode().unwrap();
        let found = Histogram::decode(&text).unwrap().percentiles().unwrap();
        assert_eq!(found.count, 20_002);
        near(found.p50, 10e-6);
        near(found.p99_9, 10e-6);
        near(found.p99_99, 5e-3);
        near(found.max, 50e-3);
    }

    #[test]
    fn an_operation_that_is_not_timed_has_no_latency() {
        let twice = |tally: &mut Tally| {
            tally.came(5, 1 << 20);
            tally.came(1_000_000_000, 1 << 20);
        };
        let metrics = combined(&[counted(SECOND, twice)], &[FlowMetric::Bytes, FlowMetric::Latency]);
        assert_eq!(metrics.len(), 1);
        assert!((metrics[0].sample.value - f64::from(1 << 20)).abs() < 1e-6);
    }
}
