//! A trial of known time and work that fails on request, to test the harness itself.

use std::time::Duration;

use model::unit::Unit;
use sys::clock::Timer;

use super::{Measure, Profile, Trial};

#[derive(Debug)]
pub(crate) struct NullTrial {
    timer: Timer,
    per_iteration: Duration,
    checks_left: u32,
    iterations: u64,
    longest_run: u64,
}

impl NullTrial {
    /// Spins for this many seconds per iteration.
    pub(crate) fn spinning(seconds: f64) -> Self {
        let per_iteration = Duration::from_secs_f64(seconds);
        Self { timer: Timer::system(), per_iteration, checks_left: u32::MAX, iterations: 0, longest_run: 0 }
    }

    /// Results are wrong after this many checks.
    pub(crate) fn failing_after(checks: u32) -> Self {
        Self { checks_left: checks, ..Self::spinning(1e-6) }
    }

    /// Iterations in runs of full length, without the shorter ones of calibration.
    pub(crate) fn iterations_since_calibration(&self) -> u64 {
        self.iterations
    }
}

impl Trial for NullTrial {
    fn profile(&self) -> Profile {
        let unpaced = Profile::unpaced(Measure::Rate(Unit::OpPerSecond), 1.0);
        Profile { most_iterations: 1 << 20, clock_between_bursts: true, ..unpaced }
    }

    fn run(&mut self, iterations: u64) {
        if iterations > self.longest_run {
            self.longest_run = iterations;
            self.iterations = 0;
        }
        let ends = self.timer.now() + self.timer.ticks(self.per_iteration.as_secs_f64() * iterations as f64);
        sys::team::spin_until(&self.timer, ends);
        self.iterations += iterations;
    }

    fn verify(&mut self) -> Result<(), String> {
        self.checks_left = self.checks_left.checked_sub(1).ok_or("wrong on purpose")?;
        Ok(())
    }
}
