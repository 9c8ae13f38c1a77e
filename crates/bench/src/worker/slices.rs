//! The time slices of a sample in which no thread lost time. Pure arithmetic on the records of its threads.

use model::sample::MetricName;
use model::wire::MetricSample;

use super::record::{Record, Stretch, counted_window, headline};
use crate::engines::Measure;

/// Length of a slice: five chunks, so that a few milliseconds between two interruptions give some.
const SLICE_SECONDS: f64 = 1e-3;

/// Notes the slices of a sample in its headline metric, and in the clock, which is measured for the whole sample.
pub(super) fn note(metrics: &mut [MetricSample], records: &[Record], measure: Measure) {
    let found = undisturbed(records, counted_window(records), measure);
    for (index, metric) in metrics.iter_mut().enumerate() {
        let is_clock = metric.name == MetricName::Clock;
        if index == 0 || is_clock {
            metric.sample.undisturbed = found.map(|(value, _)| if is_clock { metric.sample.value } else { value });
            metric.sample.slices = found.map(|(_, slices)| slices);
        }
    }
}

/// The value of a window's slices without lost time, and their number; of a latency under load, the first thread's.
fn undisturbed(records: &[Record], window: Stretch, measure: Measure) -> Option<(f64, u32)> {
    let counted = if measure == Measure::Loaded { &records[..records.len().min(1)] } else { records };
    let slices = model::unit::whole_part(window.seconds() / SLICE_SECONDS);
    let slice = |index: u64| {
        let begin = window.begin + index as f64 * SLICE_SECONDS;
        Stretch { begin, end: begin + SLICE_SECONDS }
    };
    let values: Vec<f64> = (0..slices)
        .map(slice)
        .filter(|slice| !records.iter().any(|record| record.lost_in(*slice)))
        .map(|slice| headline(measure, &counted.iter().map(|record| record.inside(slice)).collect::<Vec<_>>()).0)
        .filter(|value| value.is_finite() && *value > 0.0)
        .collect();
    stats::of_slices(&values).zip(u32::try_from(values.len()).ok())
}

#[cfg(test)]
mod tests {
    use model::unit::Unit;

    use super::*;
    use crate::worker::record::tests::record;

    const RATE: Measure = Measure::Rate(Unit::FlopPerSecond);
    /// 100 units of work a chunk of 200 us.
    const QUIET: f64 = 5e5;

    fn found(lengths: &[&[u64]], measure: Measure) -> Option<(f64, u32)> {
        let records: Vec<Record> = lengths.iter().map(|lengths| record(0, lengths)).collect();
        let end = lengths.iter().map(|lengths| lengths.iter().sum::<u64>()).min().unwrap();
        undisturbed(&records, Stretch { begin: 0.0, end: end as f64 * 1e-6 }, measure)
    }

    fn is(found: Option<(f64, u32)>, expected: f64, slices: u32) -> bool {
        found.is_some_and(|(value, n)| (value / expected - 1.0).abs() < 1e-9 && n == slices)
    }

    #[test]
    fn all_slices_of_a_quiet_sample_count() {
        assert!(is(found(&[&[200; 100]], RATE), QUIET, 20));
        assert!(is(found(&[&[200; 100], &[200; 100]], RATE), 2.0 * QUIET, 20));
        assert!(is(found(&[&[200; 100]], Measure::Latency), 1.0 / QUIET, 20));
        assert_eq!(found(&[&[200; 30]], RATE), None, "six slices are too few");
    }

    #[test]
    fn time_that_one_thread_loses_takes_its_slices_from_all() {
        let mut disturbed = [200; 100];
        disturbed[20] = 3200;
        disturbed[60] = 3200;
        let quiet = [200; 130];
        assert!(is(found(&[&disturbed, &quiet], RATE), 2.0 * QUIET, 18));
    }

    #[test]
    fn a_thread_that_has_half_of_the_time_keeps_its_rate_in_the_other_half() {
        // 4 ms of work, 4 ms for another process.
        let turns: Vec<u64> = (0..200).map(|chunk| if chunk % 20 == 19 { 4200 } else { 200 }).collect();
        let found = found(&[&turns], RATE);
        assert!(found.is_some_and(|(value, _)| (value / QUIET - 1.0).abs() < 1e-9), "{found:?}");
    }
}
