//! The core's clock without counters or privilege: two timed chains of dependent instructions.
//!
//! Nothing makes a chain faster than the clock; a busy sibling or a lost time slice makes it slower. So the faster chain is
//! the clock, the difference a sibling. Where wide units lower the clock only while they work, the chain runs in the loop.

use kernels::chain::{ADD, Chain, SECOND};
use sys::clock::Timer;

use crate::engines::Trial;

/// Length of one chain: long against a time stamp of 20 ns, short against the 650 us for which a core keeps the clock of its
/// wide units (T. Downs, "Gathering Intel on Intel AVX-512 Transitions", 2020).
const CHAIN_SECONDS: f64 = 15e-6;

#[derive(Clone, Debug)]
pub(super) struct ClockProbe {
    timer: Timer,
    add: Sized,
    second: Sized,
}

#[derive(Clone, Debug)]
struct Sized {
    chain: &'static Chain,
    iterations: u64,
    cycles: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// The faster chain's clock in Hz.
    pub(super) hz: f64,
    pub(super) disagreement: f64,
    /// Expected seconds of the chains at that clock.
    pub(super) nominal_seconds: f64,
    pub(super) seconds: f64,
    /// The clock is that of a paced loop under load.
    pub(super) paced: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PacedLoop {
    pub(super) iterations: u64,
    /// Cycles per iteration if the chain paces it.
    pub(super) cycles: f64,
    /// Seconds per iteration without the chain, in the last burst.
    pub(super) plain_seconds: f64,
    least_plain_seconds: f64,
    least_seconds: f64,
}

/// The latency of an addition between registers, in cycles, on every core known (uops.info, `ADD (R64, R64)`).
const ADD_CYCLES: u32 = 1;
/// Runs of a paced loop per look: a disturbance seldom hits both.
const PACED_RUNS: u32 = 2;
/// The chain paces a loop that is this much slower with it, in this burst and in the best of all. Otherwise the work paces it
/// (busy sibling, fewer units). The best counts because a disturbed run is slower, too.
const PACED_BY_CHAIN: f64 = 1.03;

impl ClockProbe {
    pub(super) fn new(timer: Timer, imul_cycles: u32) -> Self {
        Self {
            timer,
            add: Sized::new(&timer, &ADD, ADD_CYCLES),
            second: Sized::new(&timer, &SECOND, SECOND.latency_on(imul_cycles)),
        }
    }

    pub(super) fn look(&self) -> Look {
        let (add_seconds, second_seconds) = (self.add.seconds(&self.timer), self.second.seconds(&self.timer));
        let (add, second) = (self.add.cycles / add_seconds, self.second.cycles / second_seconds);
        let hz = add.max(second);
        Look {
            hz,
            disagreement: (add - second).abs() / hz,
            nominal_seconds: (self.add.cycles + self.second.cycles) / hz,
            seconds: add_seconds + second_seconds,
            paced: false,
        }
    }

    /// Runs the paced loop of a trial right after its work, then both chains.
    pub(super) fn look_under_load(&self, trial: &mut dyn Trial, paced: &mut PacedLoop) -> Look {
        let (mut least, mut all) = (f64::INFINITY, 0.0);
        for _ in 0..PACED_RUNS {
            let start = self.timer.now();
            trial.run_paced(paced.iterations);
            let seconds = (self.timer.seconds(start, self.timer.now()) - self.timer.overhead_seconds()).max(1e-9);
            (least, all) = (least.min(seconds), all + seconds);
        }
        self.look().after_paced(paced, least, all)
    }
}

impl PacedLoop {
    pub(super) fn new(iterations: u64, cycles: f64, plain_seconds: f64) -> Self {
        Self { iterations, cycles, plain_seconds, least_plain_seconds: plain_seconds, least_seconds: f64::INFINITY }
    }

    pub(super) fn note_plain(&mut self, seconds: f64) {
        self.plain_seconds = seconds;
        self.least_plain_seconds = self.least_plain_seconds.min(seconds);
    }

    fn is_by_chain(&mut self, seconds: f64) -> bool {
        self.least_seconds = self.least_seconds.min(seconds);
        seconds >= PACED_BY_CHAIN * self.plain_seconds
            && self.least_seconds >= PACED_BY_CHAIN * self.least_plain_seconds
    }
}

impl Look {
    /// Adds the paced loop's runs: the fastest took `least` seconds, all took `all`.
    fn after_paced(self, paced: &mut PacedLoop, least: f64, all: f64) -> Self {
        let iterations = paced.iterations as f64;
        let by_chain = paced.is_by_chain(least / iterations);
        Self {
            hz: if by_chain { paced.cycles * iterations / least } else { self.hz },
            nominal_seconds: self.nominal_seconds + f64::from(PACED_RUNS) * least,
            seconds: self.seconds + all,
            paced: by_chain,
            ..self
        }
    }
}

impl Sized {
    fn new(timer: &Timer, chain: &'static Chain, latency: u32) -> Self {
        let mut iterations = 64;
        loop {
            let start = timer.now();
            std::hint::black_box(chain.run(iterations));
            let seconds = timer.seconds(start, timer.now());
            if seconds >= timer.resolved(CHAIN_SECONDS) || iterations >= 1 << 20 {
                return Self { chain, iterations, cycles: Chain::cycles_at(latency, iterations) as f64 };
            }
            iterations *= 2;
        }
    }

    fn seconds(&self, timer: &Timer) -> f64 {
        let start = timer.now();
        std::hint::black_box(self.chain.run(self.iterations));
        (timer.seconds(start, timer.now()) - timer.overhead_seconds()).max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_loop_shows_the_clock_only_where_its_chain_paces_it() {
        let look = Look { hz: 3e9, disagreement: 0.0, nominal_seconds: 30e-6, seconds: 31e-6, paced: false };
        // 100 iterations of 96 cycles at 2.8 GHz; without the chain an iteration takes half as long.
        let least = 9600.0 / 2.8e9;
        let mut paced = PacedLoop::new(100, 96.0, least / 200.0);
        let loaded = look.after_paced(&mut paced, least, 2.5 * least);
        assert!(loaded.paced && (loaded.hz - 2.8e9).abs() < 1.0, "{loaded:?}");
        assert!((loaded.nominal_seconds - (30e-6 + 2.0 * least)).abs() < 1e-12, "{loaded:?}");
        assert!((loaded.seconds - (31e-6 + 2.5 * least)).abs() < 1e-12, "{loaded:?}");
        // As slow without the chain: a busy sibling paces it.
        paced.note_plain(least / 100.0);
        let bound = look.after_paced(&mut paced, least, 2.0 * least);
        assert!(!bound.paced && (bound.hz - 3e9).abs() < 1.0, "{bound:?}");
        paced.note_plain(least / 200.0);
        assert!(look.after_paced(&mut paced, least, 2.0 * least).paced, "the sibling has gone");
    }

    #[test]
    fn a_disturbed_run_of_a_loop_that_its_work_paces_is_not_taken_for_the_clock() {
        // 96 cycles of work at 3.7 GHz, a chain of 72 that never shows: a core that cuts wide vectors in two.
        let (hz, run) = (3.7e9, 9600.0 / 3.7e9);
        let look = Look { hz, disagreement: 0.0, nominal_seconds: 30e-6, seconds: 31e-6, paced: false };
        let mut paced = PacedLoop::new(100, 72.0, 1.002 * run / 100.0);
        for disturbed in [1.0, 1.01, 1.2, 1.05, 2.0, 1.0, 1.04] {
            paced.note_plain(run / 100.0);
            let seen = look.after_paced(&mut paced, disturbed * run, 2.0 * disturbed * run);
            assert!(!seen.paced && (seen.hz - hz).abs() < 1.0, "{disturbed} {seen:?}");
        }
    }

    #[test]
    fn the_two_chains_agree_within_what_a_noisy_host_does() {
        let probe = ClockProbe::new(Timer::system(), 3);
        let looks: Vec<Look> = (0..200).map(|_| probe.look()).collect();
        let least = looks.iter().map(|look| look.disagreement).fold(f64::INFINITY, f64::min);
        assert!(least < 0.05, "the chains never came closer than {least}");
        assert!(looks.iter().all(|look| look.hz > 1e6 && look.hz < 1e11 && look.nominal_seconds > 0.0));
    }

    #[test]
    fn the_chain_takes_the_cycles_that_the_hardware_counts_within_half_a_percent() {
        /// About 0.25 ms each.
        const ITERATIONS: u64 = 1 << 14;
        const TRIES: usize = 50;
        let Some(counter) = sys::cycles::CycleCounter::open() else {
            eprintln!("SKIPPED: no cycle counter here (perf_event_open), so the clock from the chain is not compared");
            return;
        };
        let expected = Chain::cycles_at(ADD_CYCLES, ITERATIONS) as f64;
        let share = |_| {
            let before = counter.read().unwrap();
            std::hint::black_box(ADD.run(ITERATIONS));
            (counter.read().unwrap() - before) as f64 / expected
        };
        // A busy sibling can only add cycles.
        let least = (0..TRIES).map(share).fold(f64::INFINITY, f64::min);
        assert!((least - 1.0).abs() < 0.005, "the chain of {expected} cycles took {least} times as many");
    }
}
