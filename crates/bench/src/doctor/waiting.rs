//! Waiting for a quiet machine before a launch (`--wait-quiet`).
//!
//! Quiet is when nothing that others do would leave a row below grade A. Only what comes and goes is waited for: a
//! setting stays as it is however long one waits.

use std::time::Duration;

use machine::{Sysroot, Watched, surroundings};
use model::doctor::CheckStatus;
use model::surroundings::Surroundings;

use super::watching::others;

/// Seconds between two looks. A tick of the kernel's counts is 10 ms, so that 25 of them lie in between.
const LOOK_SECONDS: f64 = 0.25;

/// Looks in a row without anything in between that must follow a disturbance: what pauses for a moment is not over.
const QUIET_LOOKS: u32 = 2;

/// Seconds a signal to stop may go unnoticed.
const PAUSE_SECONDS: f64 = 0.05;

/// What came of waiting.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// Seconds spent.
    pub seconds: f64,
    /// Whether the machine is quiet now.
    pub quiet: bool,
    /// What others did last, in a sentence, if it was not quiet all along.
    pub because: Option<String>,
}

/// Where the machine is looked at.
pub trait Source {
    /// What the kernel counts now.
    fn look(&mut self) -> Surroundings;

    /// Lets so many seconds pass.
    fn pause(&mut self, seconds: f64);

    /// Whether somebody wants us to stop.
    fn is_stopped(&self) -> bool;
}

/// This machine.
#[derive(Debug)]
pub struct Host {
    root: Sysroot,
    watched: Watched,
}

impl Host {
    /// This machine, with these disks and this interface.
    pub fn watching(watched: Watched) -> Self {
        Self { root: Sysroot::host(), watched }
    }
}

impl Source for Host {
    fn look(&mut self) -> Surroundings {
        surroundings(&self.root, &self.watched)
    }

    fn pause(&mut self, seconds: f64) {
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }

    fn is_stopped(&self) -> bool {
        sys::process::stop_signal().is_some()
    }
}

/// Waits until the machine is quiet, for about so many seconds at most; looks once even where there is no time to wait.
/// A signal to stop ends it at once.
pub fn wait_until_quiet(limit_seconds: f64, source: &mut dyn Source) -> Waited {
    let began = source.look();
    let mut before = began.clone();
    let mut because: Option<String> = None;
    let mut quiet_looks = 0;
    loop {
        let after = look_after(LOOK_SECONDS, source);
        let seconds = after.at_seconds - began.at_seconds;
        match disturbance(&before, &after) {
            Some(disturbance) => (because, quiet_looks) = (Some(disturbance), 0),
            None => quiet_looks += 1,
        }
        let quiet = quiet_looks >= if because.is_some() { QUIET_LOOKS } else { 1 };
        if quiet || seconds >= limit_seconds || source.is_stopped() {
            return Waited { seconds, quiet, because };
        }
        before = after;
    }
}

/// A look after so many seconds, or the one that is just possible when we are to stop.
pub(super) fn look_after(seconds: f64, source: &mut dyn Source) -> Surroundings {
    let mut left = seconds;
    while left > 0.0 && !source.is_stopped() {
        source.pause(left.min(PAUSE_SECONDS));
        left -= PAUSE_SECONDS;
    }
    source.look()
}

/// The worst that others did in between, in a sentence.
fn disturbance(before: &Surroundings, after: &Surroundings) -> Option<String> {
    let found = others(before, after).into_iter().filter(|check| check.status != CheckStatus::Ok);
    found.reduce(|worst, check| if check.status > worst.status { check } else { worst }).map(|check| check.text)
}

#[cfg(test)]
mod tests {
    use super::super::watching::tests::quiet_at;
    use super::*;

    /// A machine whose others use all of a CPU until this moment.
    struct Played {
        now: f64,
        busy_until: f64,
        stopped_at: f64,
    }

    impl Played {
        fn busy_until(busy_until: f64) -> Self {
            Self { now: 0.0, busy_until, stopped_at: f64::INFINITY }
        }
    }

    impl Source for Played {
        fn look(&mut self) -> Surroundings {
            let user_seconds = Some(self.now.min(self.busy_until));
            Surroundings { user_seconds, ..quiet_at(self.now) }
        }

        fn pause(&mut self, seconds: f64) {
            self.now += seconds;
        }

        fn is_stopped(&self) -> bool {
            self.now >= self.stopped_at
        }
    }

    #[test]
    fn a_quiet_machine_is_not_waited_for() {
        let waited = wait_until_quiet(60.0, &mut Played::busy_until(0.0));
        assert!(waited.quiet && waited.because.is_none(), "{waited:?}");
        assert!(waited.seconds < 2.0 * LOOK_SECONDS, "{waited:?}");
    }

    #[test]
    fn a_disturbance_is_waited_out_and_told_of() {
        let waited = wait_until_quiet(60.0, &mut Played::busy_until(5.0));
        assert!(waited.quiet, "{waited:?}");
        assert!((5.0..7.0).contains(&waited.seconds), "{waited:?}");
        assert!(waited.because.unwrap().starts_with("Others used"));
    }

    #[test]
    fn the_limit_ends_it_and_so_does_a_signal() {
        let forever = || Played::busy_until(f64::INFINITY);
        let waited = wait_until_quiet(3.0, &mut forever());
        assert!(!waited.quiet && (3.0..4.0).contains(&waited.seconds), "{waited:?}");
        let none_left = wait_until_quiet(0.0, &mut forever());
        assert!(!none_left.quiet && none_left.seconds < 1.0, "{none_left:?}");
        let stopped = wait_until_quiet(60.0, &mut Played { stopped_at: 1.0, ..forever() });
        assert!(!stopped.quiet && stopped.seconds < 1.5, "{stopped:?}");
    }

    #[test]
    fn a_clock_that_stands_still_does_not_hang_it() {
        struct Still(u32);
        impl Source for Still {
            fn look(&mut self) -> Surroundings {
                self.0 += 1;
                Surroundings::default()
            }
            fn pause(&mut self, _: f64) {}
            fn is_stopped(&self) -> bool {
                false
            }
        }
        let mut still = Still(0);
        assert!(wait_until_quiet(1.0, &mut still).quiet);
        assert_eq!(still.0, 2);
    }
}
