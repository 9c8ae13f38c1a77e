//! The core's clock without counters or privilege: two chains of dependent instructions, timed.
//!
//! Nothing can make such a chain faster than the core's clock; a busy sibling or a lost time slice makes it slower. So
//! the larger of the two is the clock, and their difference tells of a sibling.

use kernels::chain::{ADD, Chain, IMUL};
use sys::clock::Timer;

/// Length of one chain: long against the 20 ns of a time stamp, short against the 650 us for which a core keeps the
/// clock of its wide units after their last use (T. Downs, "Gathering Intel on Intel AVX-512 Transitions", 2020).
const CHAIN_SECONDS: f64 = 15e-6;

/// The two chains, sized for this core.
#[derive(Clone, Debug)]
pub(super) struct ClockProbe {
    timer: Timer,
    add: Sized,
    imul: Sized,
}

/// One chain at a length.
#[derive(Clone, Debug)]
struct Sized {
    chain: &'static Chain,
    iterations: u64,
    cycles: f64,
}

/// One look at the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// The clock: the larger of the two chains', in Hz.
    pub(super) hz: f64,
    /// Relative difference of the two chains.
    pub(super) disagreement: f64,
    /// How long the chains should have taken at that clock, in seconds.
    pub(super) nominal_seconds: f64,
    /// How long they took, in seconds.
    pub(super) seconds: f64,
}

impl ClockProbe {
    /// Sizes the chains; `imul_cycles` is the latency of a multiplication on this core.
    pub(super) fn new(timer: Timer, imul_cycles: u32) -> Self {
        Self { timer, add: Sized::new(&timer, &ADD, 1), imul: Sized::new(&timer, &IMUL, imul_cycles) }
    }

    /// Runs both chains.
    pub(super) fn look(&self) -> Look {
        let (add_seconds, imul_seconds) = (self.add.seconds(&self.timer), self.imul.seconds(&self.timer));
        let (add, imul) = (self.add.cycles / add_seconds, self.imul.cycles / imul_seconds);
        let hz = add.max(imul);
        Look {
            hz,
            disagreement: (add - imul).abs() / hz,
            nominal_seconds: (self.add.cycles + self.imul.cycles) / hz,
            seconds: add_seconds + imul_seconds,
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
            if seconds >= CHAIN_SECONDS || iterations >= 1 << 20 {
                return Self { chain, iterations, cycles: Chain::cycles_at(latency, iterations) as f64 };
            }
            iterations *= 2;
        }
    }

    /// Runs it once: the seconds it took, the time stamps' own taken off.
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
    fn the_two_chains_agree_within_what_a_noisy_host_does() {
        let probe = ClockProbe::new(Timer::system(), 3);
        let looks: Vec<Look> = (0..200).map(|_| probe.look()).collect();
        // The least disturbed look of many: no assertion on speed, only that two measures of one thing agree.
        let least = looks.iter().map(|look| look.disagreement).fold(f64::INFINITY, f64::min);
        assert!(least < 0.05, "the chains never came closer than {least}");
        assert!(looks.iter().all(|look| look.hz > 1e6 && look.hz < 1e11 && look.nominal_seconds > 0.0));
    }
}
