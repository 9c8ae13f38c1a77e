//! Durations of reads and writes apart, for benchmarks that make both.

use model::document::DiskConditions;

use crate::histogram::Histogram;

#[derive(Clone, Debug)]
pub(super) struct Apart {
    reads: Histogram,
    writes: Histogram,
}

impl Apart {
    pub(super) fn new() -> Self {
        Self { reads: Histogram::new(), writes: Histogram::new() }
    }

    #[inline]
    pub(super) fn note(&mut self, write: bool, seconds: f64) {
        let histogram = if write { &mut self.writes } else { &mut self.reads };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an hour of nanoseconds fits")]
        histogram.record((seconds * 1e9) as u64);
    }
}

/// The conditions of the lanes of a thread; none where they keep nothing apart.
pub(super) fn conditions<'a>(lanes: impl Iterator<Item = &'a Apart>) -> DiskConditions {
    let sum = lanes.fold(None, |sum: Option<Apart>, lane| {
        let mut sum = sum.unwrap_or_else(Apart::new);
        sum.reads.add(&lane.reads);
        sum.writes.add(&lane.writes);
        Some(sum)
    });
    let Some(sum) = sum else { return DiskConditions::default() };
    let (reads, writes) = (sum.reads.count(), sum.writes.count());
    let all = reads + writes;
    DiskConditions {
        read_share: (all > 0).then(|| reads as f64 / all as f64),
        read_latency_seconds: sum.reads.quantile(0.5),
        write_latency_seconds: sum.writes.quantile(0.5),
        ..DiskConditions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_of_all_lanes_are_separate() {
        let mut lanes = [Apart::new(), Apart::new()];
        for (lane, write, milliseconds) in [(0, false, 1.0), (0, true, 10.0), (1, false, 2.0), (1, false, 3.0)] {
            lanes[lane].note(write, milliseconds * 1e-3);
        }
        let seen = conditions(lanes.iter());
        assert_eq!(seen.read_share, Some(0.75));
        // To three digits, as histograms keep them.
        let near = |found: Option<f64>, seconds: f64| found.is_some_and(|found| (found / seconds - 1.0).abs() < 2e-3);
        assert!(near(seen.read_latency_seconds, 2e-3) && near(seen.write_latency_seconds, 10e-3), "{seen:?}");
        let nothing = conditions([Apart::new()].iter());
        assert_eq!((nothing.read_share, nothing.read_latency_seconds), (None, None), "of nothing there is no share");
        assert_eq!(conditions(std::iter::empty()), DiskConditions::default());
    }
}
