//! How a thread spends a sample: short chunks with a time stamp after each, and clock looks between bursts.
//!
//! The loop neither allocates, locks, nor makes system calls of its own. Time lost in a long chunk counts as time of the work.

use model::wire::{CYCLE_COUNTER, Observations};
use sys::clock::Timer;
use sys::cycles::CycleCounter;
use sys::team::spin_until;
use sys::usage::ThreadUsage;

use super::clock_probe::{ClockProbe, Look, PacedLoop};
use super::record::{Burst, Pause, Record};
use crate::engines::{Measure, Profile, Trial};

/// Chunk length: long against restarting a loop of wide instructions, short enough to show gaps of microseconds.
const CHUNK_SECONDS: f64 = 200e-6;
const BURST_SECONDS: f64 = 1.1e-3;
/// Maximum chunks per burst, however fast they became.
const MOST_CHUNKS_IN_BURST: usize = 256;
pub(super) const COUNTED_BURST_SECONDS: f64 = 1e-3;
/// Minimum run of a paced loop for a clock look under load.
const PACED_SECONDS: f64 = 8e-6;
/// Divisor of the chunk that loads the core before the first look.
const LOADING: u64 = 4;
const CALIBRATION_TRIES: u32 = 4;
const SLICE_SECONDS: f64 = 10e-3;
/// Slices that differ by at most this are steady.
pub(super) const STEADY: f64 = 0.01;
/// The clock's source without counter and paced loop.
pub(super) const CHAINS: &str = "chains";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    Seconds(f64),
    /// This much work, in the profile's unit.
    Work(f64),
}

#[derive(Clone, Copy, Debug)]
enum End {
    At(u64),
    After(usize),
}

/// Maximum chunks of a sample with given work; chunks get longer instead.
const MOST_CHUNKS: f64 = (1 << 21) as f64;

#[derive(Debug)]
pub(super) struct Pacer {
    timer: Timer,
    probe: ClockProbe,
    counter: Option<CycleCounter>,
    profile: Profile,
    sample: Extent,
    chunk_iterations: u64,
    most_chunks: usize,
    chunks_in_sample: usize,
    paced: Option<PacedLoop>,
    /// Reused and pre-touched: no page faults in the timed part.
    buffers: Buffers,
    ops_per_cycle: Vec<f64>,
    clock_disagreement: Vec<f64>,
    looks: usize,
    paced_looks: usize,
}

#[derive(Debug, Default)]
struct Buffers {
    stamps: Vec<u64>,
    bursts: Vec<Burst>,
    pauses: Vec<Pause>,
}

fn touched<T: Clone + Default>(count: usize) -> Vec<T> {
    let mut buffer = vec![T::default(); count];
    // Zeroed memory may be untouched: write to it.
    buffer.fill_with(|| std::hint::black_box(T::default()));
    buffer.clear();
    buffer
}

impl Buffers {
    fn for_seconds(seconds: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sample is some minutes at most")]
        Self::for_chunks((4.0 * seconds / CHUNK_SECONDS) as usize)
    }

    fn for_chunks(chunks: usize) -> Self {
        let chunks = chunks.clamp(1 << 10, 1 << 22);
        Self { stamps: touched(chunks + 2), bursts: touched(chunks), pauses: touched(chunks) }
    }

    fn clear(&mut self) {
        self.stamps.clear();
        self.bursts.clear();
        self.pauses.clear();
    }

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
        sample: Extent,
    ) -> Self {
        let seconds = if let Extent::Seconds(seconds) = sample { seconds } else { SLICE_SECONDS };
        Self {
            timer,
            probe,
            counter,
            profile,
            sample,
            chunk_iterations: 1,
            most_chunks: 1,
            chunks_in_sample: 0,
            paced: None,
            buffers: Buffers::for_seconds(seconds),
            ops_per_cycle: Vec::new(),
            clock_disagreement: Vec::new(),
            looks: 0,
            paced_looks: 0,
        }
    }

    /// Sizes chunks by the fastest of some tries, because wide units start slowly.
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
        let whole = |count: f64| model::unit::whole_part(count.round().max(1.0));
        self.chunk_iterations = whole(CHUNK_SECONDS / per_iteration).min(most);
        if let Extent::Work(work) = self.sample {
            let iterations = work / self.profile.work_per_iteration;
            let chunks = (iterations / self.chunk_iterations as f64).ceil().clamp(1.0, MOST_CHUNKS);
            // Equal chunks that add up to the work, rounded up.
            self.chunk_iterations = whole((iterations / chunks).ceil()).min(most);
            let chunks = whole((iterations / self.chunk_iterations as f64).ceil());
            self.chunks_in_sample = usize::try_from(chunks).unwrap_or(usize::MAX);
            self.buffers = Buffers::for_chunks(2 * self.chunks_in_sample);
        }
        self.most_chunks = usize::try_from(most / self.chunk_iterations).unwrap_or(usize::MAX).max(1);
        let iterations = whole((self.timer.resolved(PACED_SECONDS) / per_iteration).ceil());
        let paced = |cycles| PacedLoop::new(iterations, cycles, per_iteration);
        self.paced = trial.profile().paced_cycles.map(paced);
        Ok(())
    }

    /// One sample from the time stamp `start`, with the kernel's counters of its timed part.
    pub(super) fn sample(&mut self, trial: &mut dyn Trial, start: u64) -> Result<(Record, ThreadUsage), String> {
        let end = match self.sample {
            Extent::Seconds(seconds) => End::At(start + self.timer.ticks(seconds)),
            Extent::Work(_) => End::After(self.chunks_in_sample),
        };
        let (record, looks, used) = self.measure(trial, start, end)?;
        self.note_bursts(&record, &looks);
        Ok((record, used))
    }

    pub(super) fn slice(&mut self, trial: &mut dyn Trial, start: u64) -> Result<f64, String> {
        let seconds = if let Extent::Seconds(seconds) = self.sample { seconds } else { SLICE_SECONDS };
        let end = End::At(start + self.timer.ticks(SLICE_SECONDS.min(seconds)));
        let (record, _, _) = self.measure(trial, start, end)?;
        Ok(record.work() / record.elapsed_seconds().max(1e-9))
    }

    /// Works from `start` to `end`; returns the record, all clock looks, and the kernel's counters.
    fn measure(
        &mut self,
        trial: &mut dyn Trial,
        start: u64,
        end: End,
    ) -> Result<(Record, Vec<Look>, ThreadUsage), String> {
        self.buffers.clear();
        let first_look = self.first_look(trial);
        spin_until(&self.timer, start);
        let before = ThreadUsage::now();
        self.work_until(trial, end)?;
        let used = ThreadUsage::now().since(before);
        if !self.profile.clock_between_bursts {
            // Stores still on their way to memory slow the first chain.
            self.probe.look();
        }
        let last_look = self.look(trial);
        trial.verify()?;
        let between = self.buffers.pauses.iter().map(|pause| pause.look);
        let looks: Vec<Look> = std::iter::once(first_look).chain(between).chain(std::iter::once(last_look)).collect();
        let work_per_chunk = self.chunk_iterations as f64 * self.profile.work_per_iteration;
        let Buffers { stamps, bursts, pauses } = &self.buffers;
        let record = Record::new(&self.timer, work_per_chunk, stamps, bursts, pauses, &looks);
        Ok((record, looks, used))
    }

    /// The timed part: bursts of chunks, with clock looks and checks between them if the profile asks for them.
    fn work_until(&mut self, trial: &mut dyn Trial, end: End) -> Result<(), String> {
        let pausing = self.profile.clock_between_bursts;
        let burst_ticks = self.timer.ticks(BURST_SECONDS);
        let most_chunks = self.most_chunks.min(MOST_CHUNKS_IN_BURST);
        let mut chunks_left = if let End::After(chunks) = end { chunks } else { usize::MAX };
        loop {
            let cycles = self.cycles();
            let mut now = self.timer.now();
            let first = self.buffers.stamps.len();
            self.buffers.stamps.push(now);
            let burst_ends = now + burst_ticks;
            for _ in 0..most_chunks.min(chunks_left) {
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
            chunks_left -= last - first;
            match end {
                _ if chunks_left == 0 => return Ok(()),
                End::At(end) if now >= end => return Ok(()),
                End::At(_) if self.buffers.full(most_chunks) => return Ok(()),
                End::After(_) if self.buffers.full(most_chunks) => {
                    return Err(format!("the sample is too long for its time stamps: {chunks_left} chunks are left"));
                }
                End::At(_) | End::After(_) => {}
            }
            if pausing {
                let look = self.look(trial);
                trial.verify()?;
                self.buffers.pauses.push(Pause { begin: now, end: self.timer.now(), look });
            }
        }
    }

    fn first_look(&mut self, trial: &mut dyn Trial) -> Look {
        let Some(paced) = &mut self.paced else { return self.probe.look() };
        trial.run((self.chunk_iterations / LOADING).max(1));
        self.probe.look_under_load(trial, paced)
    }

    fn look(&mut self, trial: &mut dyn Trial) -> Look {
        let Some(paced) = &mut self.paced else { return self.probe.look() };
        let burst = self.buffers.bursts.last().map_or(&[][..], |burst| &self.buffers.stamps[burst.first..=burst.last]);
        let quickest = burst.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
        if let Some(ticks) = quickest {
            paced.note_plain(self.timer.seconds(0, ticks) / self.chunk_iterations as f64);
        }
        self.probe.look_under_load(trial, paced)
    }

    /// Clock look for other work that loads the core like this trial.
    pub(super) fn look_at_clock(&mut self, trial: &mut dyn Trial) -> Look {
        let look = match &mut self.paced {
            Some(paced) => self.probe.look_under_load(trial, paced),
            None => self.probe.look(),
        };
        self.paced_looks += usize::from(look.paced);
        self.looks += 1;
        look
    }

    fn cycles(&self) -> Option<u64> {
        // Only with clock looks between bursts: elsewhere the system call would disturb the loop.
        self.counter.as_ref().filter(|_| self.profile.clock_between_bursts)?.read()
    }

    /// Collects operations per cycle of the bursts, and the chains' disagreement.
    fn note_bursts(&mut self, record: &Record, looks: &[Look]) {
        if self.paced.is_none() {
            // After a paced loop the clock may be rising, so the chains differ.
            self.clock_disagreement.extend(looks.iter().map(|look| look.disagreement));
        }
        self.paced_looks += looks.iter().filter(|look| look.paced).count();
        self.looks += looks.len();
        if !self.profile.clock_between_bursts || matches!(self.profile.measure, Measure::Latency | Measure::Loaded) {
            return;
        }
        for (index, burst) in record.bursts.iter().enumerate() {
            let between = looks.get(index..index + 2).map(|pair| clock_between(pair[0], pair[1]));
            let cycles = burst.cycles.or(between.map(|hz| burst.seconds * hz));
            if let Some(cycles) = cycles.filter(|cycles| burst.seconds >= COUNTED_BURST_SECONDS && *cycles > 0.0) {
                self.ops_per_cycle.push(burst.work / cycles);
            }
        }
    }

    pub(super) fn report(self, begun: Observations) -> Observations {
        let counted = self.counter.is_some() && self.profile.clock_between_bursts;
        // Most looks were under load.
        let chains = if 2 * self.paced_looks > self.looks { "paced" } else { CHAINS };
        let clock_source = if counted { CYCLE_COUNTER } else { chains }.to_owned();
        let Self { ops_per_cycle, clock_disagreement, .. } = self;
        Observations { ops_per_cycle, clock_disagreement, clock_source, ..begun }
    }
}

/// The clock of a burst from the looks around it; one under load is preferred.
fn clock_between(before: Look, after: Look) -> f64 {
    match (before.paced, after.paced) {
        (true, false) => before.hz,
        (false, true) => after.hz,
        _ => f64::midpoint(before.hz, after.hz),
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Steadiness {
    last: Option<f64>,
    pub(super) change: Option<f64>,
    within: f64,
}

impl Steadiness {
    pub(super) fn within(within: f64) -> Self {
        Self { last: None, change: None, within }
    }

    pub(super) fn settled_with(&mut self, rate: f64) -> bool {
        let before = self.last.replace(rate);
        self.change = before.map(|before| (rate - before).abs() / rate.max(before).max(f64::MIN_POSITIVE));
        self.change.is_some_and(|change| change <= self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::tests::NullTrial;

    fn pacer(trial: &NullTrial, seconds: f64) -> Pacer {
        let timer = Timer::system();
        Pacer::new(timer, ClockProbe::new(timer, 3), None, trial.profile(), Extent::Seconds(seconds))
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
        // The first chunk may start late.
        assert!(pacer.timer.seconds(start, pacer.timer.now()) >= 0.05, "it ended early");
        assert!((record.work() - trial.iterations_since_calibration() as f64).abs() < 0.5, "work is conserved");
    }

    #[test]
    fn a_given_work_is_done_in_full_and_hardly_more() {
        let mut trial = NullTrial::spinning(10e-6);
        let mut pacer = Pacer { sample: Extent::Work(999.5), ..pacer(&trial, 0.05) };
        pacer.calibrate(&mut trial).unwrap();
        let start = pacer.timer.now();
        let (record, _) = pacer.sample(&mut trial, start).unwrap();
        let chunks = pacer.chunks_in_sample as f64;
        assert!(record.work() >= 999.5 && record.work() < 1000.0 + chunks, "{} in {chunks}", record.work());
        assert!(record.elapsed_seconds() >= 9.995e-3, "{}", record.elapsed_seconds());
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
        let mut steadiness = Steadiness::within(0.01);
        assert_eq!([100.0, 120.0, 120.5].map(|rate| steadiness.settled_with(rate)), [false, false, true]);
        assert!(steadiness.change.is_some_and(|change| change < 0.01));
    }
}
