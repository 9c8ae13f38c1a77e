//! The clock of a campaign.

use std::time::Duration;

use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

/// A clock; tests have their own.
pub trait Clock {
    /// Seconds since some moment.
    fn now(&mut self) -> f64;
    /// Sleeps so long, or until a signal asks us to stop: then which.
    fn sleep(&mut self, seconds: f64) -> Option<i32>;
}

/// The system's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

/// How often a sleeper looks for signals.
const LOOK_SECONDS: f64 = 0.1;

impl Clock for SystemClock {
    fn now(&mut self) -> f64 {
        monotonic_raw_seconds()
    }

    fn sleep(&mut self, seconds: f64) -> Option<i32> {
        let until = self.now() + seconds;
        loop {
            let left = until - self.now();
            if left <= 0.0 || stop_signal().is_some() {
                return stop_signal();
            }
            std::thread::sleep(Duration::from_secs_f64(left.min(LOOK_SECONDS)));
        }
    }
}
