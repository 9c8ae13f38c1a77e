//! The conditions of all threads of a disk benchmark.

use std::collections::BTreeSet;

use model::document::DiskConditions;

use crate::histogram::Histogram;

/// Facts of the file and bytes of the process are those of the first thread, missing features those of any thread; numbers
/// are the sum (rates), the mean, or the busiest thread's.
///
/// With more threads than CPUs no thread is busy all the time although the CPUs are: `cpu_busy` is then that of the CPUs.
pub(crate) fn of_threads(each: &[DiskConditions], cpus: &[u32]) -> Option<DiskConditions> {
    let values = |of: fn(&DiskConditions) -> Option<f64>| each.iter().filter_map(of).collect::<Vec<f64>>();
    let sum = |of: fn(&DiskConditions) -> Option<f64>| each.iter().map(of).sum::<Option<f64>>();
    let mean = |of: fn(&DiskConditions) -> Option<f64>| {
        let known = values(of);
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let most = |of: fn(&DiskConditions) -> Option<f64>| values(of).into_iter().reduce(f64::max);
    let distinct = cpus.iter().collect::<BTreeSet<_>>().len().max(1);
    let of_cpus = sum(|one| one.cpu_busy).map(|busy| busy / distinct as f64);
    let first = each.first()?;
    let mut features = first.features.clone();
    features.retain(|word| each.iter().all(|one| one.features.contains(word)));
    Some(DiskConditions {
        features,
        stepped_down: noted_by_any(each),
        depth_achieved: mean(|one| one.depth_achieved),
        full_iops: sum(|one| one.full_iops),
        due_iops: sum(|one| one.due_iops),
        late_share: mean(|one| one.late_share),
        read_share: mean(|one| one.read_share),
        read_latency_seconds: mean(|one| one.read_latency_seconds),
        write_latency_seconds: mean(|one| one.write_latency_seconds),
        flush_seconds: most(|one| one.flush_seconds),
        flushed_bytes_per_second: sum(|one| one.flushed_bytes_per_second),
        cached_share_before: most(|one| one.cached_share_before),
        cpu_busy: most(|one| one.cpu_busy).into_iter().chain(of_cpus).reduce(f64::max),
        cpu_seconds_per_request: mean(|one| one.cpu_seconds_per_request),
        loop_iops: most(|one| one.loop_iops),
        ..first.clone()
    })
}

/// Every note once, with the number of threads where not all have it.
fn noted_by_any(each: &[DiskConditions]) -> Vec<String> {
    let mut notes: Vec<(&String, usize)> = Vec::new();
    for note in each.iter().flat_map(|one| &one.stepped_down) {
        match notes.iter_mut().find(|(other, _)| *other == note) {
            Some((_, threads)) => *threads += 1,
            None => notes.push((note, 1)),
        }
    }
    let all = each.len();
    let with = |(note, threads): (&String, usize)| {
        if threads < all { format!("{note} (on {threads} of {all} threads)") } else { note.clone() }
    };
    notes.into_iter().map(with).collect()
}

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
        histogram.record(model::unit::whole_part(seconds * 1e9));
    }
}

/// The conditions of the lanes of a thread; none where they keep nothing apart.
pub(super) fn of_kinds<'a>(lanes: impl Iterator<Item = &'a Apart>) -> DiskConditions {
    let sum = lanes.cloned().reduce(|mut sum, lane| {
        sum.reads.add(&lane.reads);
        sum.writes.add(&lane.writes);
        sum
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
    fn rates_of_a_load_add_up_over_threads() {
        let of = |full_iops, due_iops, late_share| DiskConditions {
            full_iops,
            due_iops,
            late_share,
            ..DiskConditions::default()
        };
        let both =
            of_threads(&[of(Some(100.0), Some(50.0), Some(0.5)), of(Some(90.0), Some(40.0), Some(0.1))], &[0, 1]);
        assert_eq!(both, Some(of(Some(190.0), Some(90.0), Some(0.3))));
        assert_eq!(of_threads(&[of(Some(1.0), None, None)], &[0]), Some(of(Some(1.0), None, None)));
        assert_eq!(of_threads(&[], &[0]), None);
    }

    #[test]
    fn what_one_thread_could_not_have_is_reported() {
        let with = |words: &[&str], notes: &[&str]| DiskConditions {
            features: words.iter().map(ToString::to_string).collect(),
            stepped_down: notes.iter().map(ToString::to_string).collect(),
            ..DiskConditions::default()
        };
        let full = || with(&["registered_files", "registered_buffers"], &["no_sqarray: old"]);
        let plain = || with(&["registered_files"], &["no_sqarray: old", "registered_buffers: no memory"]);
        let all = of_threads(&[full(), plain(), plain()], &[0, 1]).unwrap();
        assert_eq!(all.features, ["registered_files"]);
        assert_eq!(all.stepped_down, ["no_sqarray: old", "registered_buffers: no memory (on 2 of 3 threads)"]);
    }

    #[test]
    fn threads_that_share_cpus_are_as_busy_as_these() {
        let busy = |share| DiskConditions {
            cpu_busy: Some(share),
            depth_achieved: Some(share * 10.0),
            ..DiskConditions::default()
        };
        let of = |shares: &[f64], cpus: &[u32]| {
            of_threads(&shares.iter().map(|share| busy(*share)).collect::<Vec<_>>(), cpus).unwrap()
        };
        assert_eq!(of(&[0.25, 0.25, 0.25, 0.25], &[0, 0, 0, 0]).cpu_busy, Some(1.0));
        assert_eq!(of(&[0.25, 0.5], &[0, 1]).cpu_busy, Some(0.5), "that of the busiest thread");
        assert_eq!(of(&[0.25, 0.75], &[0, 1]).depth_achieved, Some(5.0));
    }

    #[test]
    fn reads_and_writes_of_all_lanes_are_separate() {
        let mut lanes = [Apart::new(), Apart::new()];
        for (lane, write, milliseconds) in [(0, false, 1.0), (0, true, 10.0), (1, false, 2.0), (1, false, 3.0)] {
            lanes[lane].note(write, milliseconds * 1e-3);
        }
        let seen = of_kinds(lanes.iter());
        assert_eq!(seen.read_share, Some(0.75));
        let near = |found: Option<f64>, seconds: f64| found.is_some_and(|found| (found / seconds - 1.0).abs() < 2e-3);
        assert!(near(seen.read_latency_seconds, 2e-3) && near(seen.write_latency_seconds, 10e-3), "{seen:?}");
        let nothing = of_kinds([Apart::new()].iter());
        assert_eq!((nothing.read_share, nothing.read_latency_seconds), (None, None), "of nothing there is no share");
        assert_eq!(of_kinds(std::iter::empty()), DiskConditions::default());
    }
}
