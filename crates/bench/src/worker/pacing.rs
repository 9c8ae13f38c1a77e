//! How one thread spends a sample: short chunks of work with a time stamp after each, and looks at the clock between
//! bursts.
//!
//! The loop allocates nothing, takes no lock and makes no system call that is not the thing measured. It watches
//! itself: a chunk that took longer than its neighbours is time lost, and stays in the time that the work is divided
//! by.

use sys::clock::Timer;
use sys::cycles::CycleCounter;
use sys::team::spin_until;
use sys::usage::ThreadUsage;

use super::clock_probe::{ClockProbe, Look};
use super::record::{Burst, Pause, Record};
use crate::engine::{Measure, Profile, Trial};

/// Length of a chunk: long against stopping and starting a loop of wide instructions with a time stamp between, and
/// short enough that a gap of a few microseconds still stands out.
const CHUNK_SECONDS: f64 = 200e-6;

/// Length of a burst between two looks at the clock. At least a millisecond, so that operations per cycle over it mean
/// something.
const BURST_SECONDS: f64 = 1.1e-3;

/// Chunks in a burst at most, however quick they have become since they were sized.
const MOST_CHUNKS_IN_BURST: usize = 256;

/// Bursts at least this long count for operations per cycle.
pub(super) const COUNTED_BURST_SECONDS: f64 = 1e-3;

/// Runs of each length while a chunk is sized.
const CALIBRATION_TRIES: u32 = 4;

/// Length of a slice of warm-up.
const SLICE_SECONDS: f64 = 10e-3;

/// Two slices of warm-up that differ by no more than this are steady.
const STEADY: f64 = 0.01;

/// Runs one trial on one thread.
#[derive(Debug)]
pub(super) struct Pacer {
    timer: Timer,
    probe: ClockProbe,
    counter: Option<CycleCounter>,
    profile: Profile,
    sample_seconds: f64,
    chunk_iterations: u64,
    /// Chunks between two checks at most.
    most_chunks: usize,
    /// Reused from sample to sample, and touched before the first, so that no page fault falls into the timed part.
    buffers: Buffers,
    ops_per_cycle: Vec<f64>,
    clock_disagreement: Vec<f64>,
}

/// What is noted while the clock is running.
#[derive(Debug, Default)]
struct Buffers {
    stamps: Vec<u64>,
    bursts: Vec<Burst>,
    pauses: Vec<Pause>,
}

/// Room for `count` elements whose pages are there already.
fn touched<T: Clone + Default>(count: usize) -> Vec<T> {
    let mut buffer = vec![T::default(); count];
    // A zeroed allocation may be untouched memory still: write to it.
    buffer.fill_with(|| std::hint::black_box(T::default()));
    buffer.clear();
    buffer
}

impl Buffers {
    fn for_seconds(seconds: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sample is at most some minutes long"
        )]
        let chunks = ((4.0 * seconds / CHUNK_SECONDS) as usize).clamp(1 << 10, 1 << 22);
        Self { stamps: touched(chunks + 2), bursts: touched(chunks), pauses: touched(chunks) }
    }

    fn clear(&mut self) {
        self.stamps.clear();
        self.bursts.clear();
        self.pauses.clear();
    }

    /// Whether one more burst of so many chunks may not fit.
    fn full(&self, chunks: usize) -> bool {
        self.stamps.len() + chunks + 2 > self.stamps.capacity() || self.bursts.len() + 1 >= self.bursts.capacity()
    }
}

impl Pacer {
    pub(super) fn new(
        timer: Timer,
        probe: ClockProbe,
        counter: Option<CycleCounter>,
        profile: Profile,
        sample_seconds: f64,
    ) -> Self {
        Self {
            timer,
            probe,
            counter,
            profile,
            sample_seconds,
            chunk_iterations: 1,
            most_chunks: 1,
            buffers: Buffers::for_seconds(sample_seconds),
            ops_per_cycle: Vec::new(),
            clock_disagreement: Vec::new(),
        }
    }

    /// Finds how many iterations make a chunk. Wide units may be slow to start, so the quickest of some tries counts.
    pub(super) fn calibrate(&mut self, trial: &mut dyn Trial) -> Result<(), String> {
        let most = self.profile.most_iterations;
        let mut iterations = 1;
        let seconds = loop {
            let mut quickest = f64::INFINITY;
            for _ in 0..CALIBRATION_TRIES {
                let start = self.timer.now();
                trial.run(iterations);
                quickest = quickest.min(self.timer.seconds(start, self.timer.now()));
                trial.verify()?;
            }
            if quickest >= CHUNK_SECONDS / 2.0 || iterations > most / 2 {
                break quickest;
            }
            iterations *= 2;
        };
        let per_iteration = (seconds / iterations as f64).max(1e-12);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and bounded by the limit beside it"
        )]
        let whole = |count: f64| (count.round().max(1.0)) as u64;
        self.chunk_iterations = whole(CHUNK_SECONDS / per_iteration).min(most);
        self.most_chunks = usize::try_from(most / self.chunk_iterations).unwrap_or(usize::MAX).max(1);
        Ok(())
    }

    /// One sample that starts at the time stamp `start`, and what the kernel counted in its timed part.
    pub(super) fn sample(&mut self, trial: &mut dyn Trial, start: u64) -> Result<(Record, ThreadUsage), String> {
        let (record, looks, used) = self.measure(trial, start, self.sample_seconds)?;
        self.note_bursts(&record, &looks);
        Ok((record, used))
    }

    /// A slice of warm-up; its rate in work per second.
    pub(super) fn slice(&mut self, trial: &mut dyn Trial, start: u64) -> Result<f64, String> {
        let (record, _, _) = self.measure(trial, start, SLICE_SECONDS.min(self.sample_seconds))?;
        Ok(record.work() / record.elapsed_seconds().max(1e-9))
    }

    /// Works from `start` for `seconds`; what was noted, every look at the clock (before, between and after), and what
    /// the kernel counted meanwhile.
    fn measure(
        &mut self,
        trial: &mut dyn Trial,
        start: u64,
        seconds: f64,
    ) -> Result<(Record, Vec<Look>, ThreadUsage), String> {
        self.buffers.clear();
        let first_look = self.probe.look();
        spin_until(&self.timer, start);
        let before = ThreadUsage::now();
        self.work_until(trial, start + self.timer.ticks(seconds))?;
        let used = ThreadUsage::now().since(before);
        if !self.profile.clock_between_bursts {
            // Stores that are still on their way to memory slow the first chain after them.
            self.probe.look();
        }
        let last_look = self.probe.look();
        trial.verify()?;
        let between = self.buffers.pauses.iter().map(|pause| pause.look);
        let looks: Vec<Look> = std::iter::once(first_look).chain(between).chain(std::iter::once(last_look)).collect();
        let work_per_chunk = self.chunk_iterations as f64 * self.profile.work_per_iteration;
        let record = Record::new(
            &self.timer,
            work_per_chunk,
            &self.buffers.stamps,
            &self.buffers.bursts,
            &self.buffers.pauses,
            &looks,
        );
        Ok((record, looks, used))
    }

    /// The timed part: bursts of chunks until `end`, and a pause for clock and check between them where the profile
    /// wants it.
    fn work_until(&mut self, trial: &mut dyn Trial, end: u64) -> Result<(), String> {
        let pausing = self.profile.clock_between_bursts;
        let burst_ticks = self.timer.ticks(BURST_SECONDS);
        let most_chunks = self.most_chunks.min(MOST_CHUNKS_IN_BURST);
        loop {
            let cycles = self.cycles();
            let mut now = self.timer.now();
            let first = self.buffers.stamps.len();
            self.buffers.stamps.push(now);
            let burst_ends = now + burst_ticks;
            for _ in 0..most_chunks {
                trial.run(self.chunk_iterations);
                now = self.timer.now();
                self.buffers.stamps.push(now);
                if now >= burst_ends {
                    break;
                }
            }
            let last = self.buffers.stamps.len() - 1;
            let cycles = self.cycles().zip(cycles).map(|(after, before)| after.saturating_sub(before));
            self.buffers.bursts.push(Burst { first, last, cycles });
            if now >= end || self.buffers.full(most_chunks) {
                return Ok(());
            }
            if pausing {
                let look = self.probe.look();
                trial.verify()?;
                self.buffers.pauses.push(Pause { begin: now, end: self.timer.now(), look });
            }
        }
    }

    fn cycles(&self) -> Option<u64> {
        // Read only where the clock is looked at between bursts: elsewhere a system call would disturb the loop.
        self.counter.as_ref().filter(|_| self.profile.clock_between_bursts)?.read()
    }

    /// Notes operations per cycle of the sample's bursts, and how far the chains disagreed.
    fn note_bursts(&mut self, record: &Record, looks: &[Look]) {
        self.clock_disagreement.extend(looks.iter().map(|look| look.disagreement));
        if !self.profile.clock_between_bursts || matches!(self.profile.measure, Measure::Latency) {
            return;
        }
        for (index, burst) in record.bursts().enumerate() {
            let beside = looks.get(index..index + 2).map(|pair| f64::midpoint(pair[0].hz, pair[1].hz));
            let cycles = burst.cycles.or(beside.map(|hz| burst.seconds * hz));
            if let Some(cycles) = cycles.filter(|cycles| burst.seconds >= COUNTED_BURST_SECONDS && *cycles > 0.0) {
                self.ops_per_cycle.push(burst.work / cycles);
            }
        }
    }

    /// Operations per cycle of every burst of a millisecond or more so far.
    pub(super) fn take_ops_per_cycle(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.ops_per_cycle)
    }

    /// The chains' relative difference at every look so far.
    pub(super) fn take_clock_disagreement(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.clock_disagreement)
    }

    /// Whether cycles come from the hardware's counter.
    pub(super) fn has_cycle_counter(&self) -> bool {
        self.counter.is_some() && self.profile.clock_between_bursts
    }
}

/// Whether a rate has settled, from one slice to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steadiness {
    last: Option<f64>,
    change: f64,
    /// What two slices may differ by.
    within: f64,
}

impl Default for Steadiness {
    fn default() -> Self {
        Self::within(STEADY)
    }
}

impl Steadiness {
    /// Slices that differ by no more than this are steady.
    pub(super) fn within(within: f64) -> Self {
        Self { last: None, change: 0.0, within }
    }

    /// Notes a slice's rate; whether it agrees with the one before.
    pub(super) fn settled_with(&mut self, rate: f64) -> bool {
        let before = self.last.replace(rate);
        self.change = before.map_or(1.0, |before| (rate - before).abs() / rate.max(before).max(f64::MIN_POSITIVE));
        self.change <= self.within
    }

    /// The last relative change; 1 before there were two slices.
    pub(super) fn change(&self) -> f64 {
        self.change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::null::NullTrial;

    fn pacer(trial: &NullTrial, seconds: f64) -> Pacer {
        let timer = Timer::system();
        Pacer::new(timer, ClockProbe::new(timer, 3), None, trial.profile(), seconds)
    }

    #[test]
    fn a_trial_of_known_time_is_measured_at_its_rate() {
        // Each iteration spins for 10 us by the same timer, so the rate can only be at or a little below 100 000 / s.
        let mut trial = NullTrial::spinning(10e-6);
        let mut pacer = pacer(&trial, 0.05);
        pacer.calibrate(&mut trial).unwrap();
        let start = pacer.timer.now();
        let (record, _) = pacer.sample(&mut trial, start).unwrap();
        let rate = record.work() / record.elapsed_seconds();
        assert!(rate <= 100_500.0, "more work than time allows: {rate}");
        assert!(record.elapsed_seconds() >= 0.05);
        assert!((record.work() - trial.iterations_since_calibration() as f64).abs() < 0.5, "work is conserved");
    }

    #[test]
    fn a_failed_check_ends_the_sample() {
        let mut trial = NullTrial::failing_after(3);
        let mut pacer = pacer(&trial, 0.05);
        let outcome = pacer.calibrate(&mut trial).and_then(|()| {
            let start = pacer.timer.now();
            pacer.sample(&mut trial, start).map(|_| ())
        });
        assert_eq!(outcome.unwrap_err(), "wrong on purpose");
    }

    #[test]
    fn steady_means_two_slices_that_agree() {
        let mut steadiness = Steadiness::default();
        assert!(!steadiness.settled_with(100.0));
        assert!(!steadiness.settled_with(120.0));
        assert!(steadiness.settled_with(120.5));
        assert!(steadiness.change() < 0.01);
    }
}
