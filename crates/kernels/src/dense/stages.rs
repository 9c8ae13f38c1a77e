//! How threads go through the stages of one problem (the steps of a factorisation, the parts of a product) without
//! meeting after each.
//!
//! In every stage all columns are processed once, by whichever thread takes them. A stage only needs the same columns
//! to have passed the stage before, so a thread that finds nothing left continues with the next stage, one ahead of the
//! slowest, and waits only if another thread still has its columns. On a host that preempts CPUs for some milliseconds,
//! threads that met would all wait each time.
//!
//! Two stages are kept: the callers ensure that none begins before all have finished the one before the last.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::dense::crew::MOST_THREADS;

/// Work along one dimension that threads take in pieces, stage after stage: large pieces first and small ones at the
/// end, so that all finish at about the same time. Each counter has a stage (upper half, from 1) and a position in it
/// (lower half); the first thread of a stage overwrites that of the stage before the last.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    next: [AtomicU64; 2],
    done: [AtomicU64; 2],
}

/// The size of pieces: whole `unit`s but for the last, from `least` to `most`, for this number of threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) unit: usize,
    pub(super) most: usize,
    pub(super) least: usize,
    pub(super) threads: usize,
}

impl Share {
    fn piece(self, left: usize) -> usize {
        // A thread alone waits for no other.
        let fair = if self.threads == 1 { left } else { left / (2 * self.threads) };
        (fair.clamp(self.least, self.most.max(self.least)).div_ceil(self.unit) * self.unit).min(left)
    }
}

impl Jobs {
    pub(super) fn restart(&self) {
        for counter in self.next.iter().chain(&self.done) {
            counter.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self, stage: usize, all: Range<usize>, share: Share) -> Option<Range<usize>> {
        let at = |counter: u64| place_in(counter, stage).unwrap_or(all.start);
        let piece = |at: usize| at..at + share.piece(all.end.saturating_sub(at));
        let advance = |counter: u64| {
            let piece = piece(at(counter));
            (!piece.is_empty()).then(|| counter_at(stage, piece.end))
        };
        // A thread that finds nothing left sees what those that took the pieces have stored before.
        let before = self.next[stage % 2].fetch_update(Ordering::AcqRel, Ordering::Acquire, advance).ok()?;
        Some(piece(at(before)))
    }

    /// Notes that `count` of a stage's work is done.
    pub(super) fn note_done(&self, stage: usize, count: usize) {
        let add = |counter: u64| Some(counter_at(stage, place_in(counter, stage).unwrap_or(0) + count));
        // It cannot fail: `add` always returns a value.
        let _ = self.done[stage % 2].fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
    }

    pub(super) fn done(&self, stage: usize) -> usize {
        place_in(self.done[stage % 2].load(Ordering::Acquire), stage).unwrap_or(0)
    }
}

const fn counter_at(stage: usize, place: usize) -> u64 {
    (stage as u64 + 1) << 32 | place as u64
}

fn place_in(counter: u64, stage: usize) -> Option<usize> {
    (counter >> 32 == stage as u64 + 1).then(|| usize::try_from(counter & PLACE).ok()).flatten()
}

const PLACE: u64 = u32::MAX as u64;

/// The stage of every thread of a crew. Several share a cache line: each is written a few times in some milliseconds.
#[derive(Debug)]
pub(super) struct CrewStages {
    places: [ThreadStage; MOST_THREADS],
    threads: usize,
}

#[derive(Debug)]
struct ThreadStage {
    finished: AtomicUsize,
    /// Its columns: the first, and one past the last.
    columns: AtomicU64,
}

/// Unknown columns, possibly any.
const ANY: u64 = PLACE;

impl CrewStages {
    pub(super) const fn new(threads: usize) -> Self {
        let places =
            [const { ThreadStage { finished: AtomicUsize::new(0), columns: AtomicU64::new(ANY) } }; MOST_THREADS];
        Self { places, threads }
    }

    fn all(&self) -> &[ThreadStage] {
        &self.places[..self.threads]
    }

    pub(super) fn restart(&self) {
        for place in self.all() {
            place.finished.store(0, Ordering::Relaxed);
            place.columns.store(ANY, Ordering::Relaxed);
        }
    }

    /// This thread is about to take unknown columns.
    pub(super) fn take(&self, thread: usize) {
        self.places[thread].columns.store(ANY, Ordering::SeqCst);
    }

    /// This thread has taken these columns, and is done with those that it had before.
    pub(super) fn have(&self, thread: usize, columns: &Range<usize>) {
        let [start, end] = [columns.start, columns.end].map(|column| column as u64 & PLACE);
        self.places[thread].columns.store(start << 32 | end, Ordering::Release);
    }

    pub(super) fn finish(&self, thread: usize, stage: usize) {
        self.places[thread].finished.store(stage + 1, Ordering::Release);
    }

    pub(super) fn have_finished(&self, stages: usize) -> bool {
        self.all().iter().all(|place| place.finished.load(Ordering::Acquire) >= stages)
    }

    /// Whether no thread in an earlier stage has any of these columns.
    pub(super) fn are_through(&self, stage: usize, columns: &Range<usize>) -> bool {
        self.all().iter().all(|place| {
            place.finished.load(Ordering::Acquire) >= stage || {
                let theirs = place.columns.load(Ordering::Acquire);
                let (start, end) = (theirs >> 32, theirs & PLACE);
                end <= columns.start as u64 || columns.end as u64 <= start
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share { unit: 8, most: 64, least: 16, threads: 2 };

    #[test]
    fn every_stage_hands_out_everything_once() {
        let jobs = Jobs::default();
        for run in 0..2 {
            for stage in 0..5 {
                let (mut end, mut longest) = (8 * stage, 64);
                while let Some(piece) = jobs.take(stage, 8 * stage..300, SHARE) {
                    assert_eq!(piece.start, end, "run {run}, stage {stage}");
                    assert!(piece.len() <= longest && (piece.len() % 8 == 0 || piece.end == 300), "{piece:?}");
                    (end, longest) = (piece.end, piece.len());
                }
                assert_eq!(end, 300);
            }
            jobs.restart();
        }
        assert_eq!(jobs.take(0, 5..5, SHARE), None, "nothing to do");
        let alone = Share { threads: 1, most: 1000, ..SHARE };
        assert_eq!(jobs.take(1, 0..300, alone), Some(0..300), "a thread alone takes all");
    }

    #[test]
    fn done_work_is_counted_for_each_stage() {
        let jobs = Jobs::default();
        jobs.note_done(0, 3);
        jobs.note_done(1, 5);
        jobs.note_done(0, 4);
        assert_eq!((jobs.done(0), jobs.done(1), jobs.done(2)), (7, 5, 0));
        jobs.note_done(2, 1);
        assert_eq!((jobs.done(1), jobs.done(2)), (5, 1));
    }

    #[test]
    fn columns_are_free_once_nobody_behind_has_them() {
        let places = CrewStages::new(3);
        places.restart();
        assert!(places.are_through(0, &(0..10)), "there is no stage before the first");
        assert!(!places.are_through(1, &(0..10)), "the columns of the other threads are unknown");
        places.finish(0, 0);
        places.have(1, &(10..20));
        places.have(2, &(30..40));
        assert!(places.are_through(1, &(0..10)) && places.are_through(1, &(20..30)));
        assert!(!places.are_through(1, &(0..11)) && !places.are_through(1, &(39..50)));
        places.take(2);
        assert!(!places.are_through(1, &(0..10)));
        places.finish(2, 0);
        places.finish(1, 0);
        assert!(places.have_finished(1) && !places.have_finished(2) && places.are_through(1, &(0..99)));
    }
}
