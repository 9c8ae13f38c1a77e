//! Waits for a quiet machine before a process run (`--wait-quiet`): until no other process would lower the confidence.

use std::time::Duration;

use machine::{Sysroot, Watched, surroundings};
use model::doctor::CheckStatus;
use model::surroundings::Surroundings;

use super::watching::others;

/// Seconds between two looks: 25 ticks of the kernel's counters.
const LOOK_SECONDS: f64 = 0.25;
/// Quiet looks required after a disturbance, which may only pause.
const QUIET_LOOKS: u32 = 2;
const PAUSE_SECONDS: f64 = 0.05;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waited {
    pub(crate) seconds: f64,
    pub(crate) quiet: bool,
    pub(crate) because: Option<String>,
}

pub(crate) trait Source {
    fn look(&mut self) -> Surroundings;

    fn pause(&mut self, seconds: f64);

    fn is_stopped(&self) -> bool;
}

/// This host, with these devices watched.
#[derive(Debug)]
pub(crate) struct Host(pub(crate) Watched);

impl Source for Host {
    fn look(&mut self) -> Surroundings {
        surroundings(&Sysroot::host(), &self.0)
    }

    fn pause(&mut self, seconds: f64) {
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }

    fn is_stopped(&self) -> bool {
        sys::process::stop_signal().is_some()
    }
}

/// Waits until the machine is quiet, at most about this long. Looks at least once; a stop signal ends it.
pub(crate) fn wait_until_quiet(limit_seconds: f64, source: &mut dyn Source) -> Waited {
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

/// A look after this time, or at a stop signal.
pub(super) fn look_after(seconds: f64, source: &mut dyn Source) -> Surroundings {
    let mut left = seconds;
    while left > 0.0 && !source.is_stopped() {
        source.pause(left.min(PAUSE_SECONDS));
        left -= PAUSE_SECONDS;
    }
    source.look()
}

fn disturbance(before: &Surroundings, after: &Surroundings) -> Option<String> {
    let found = others(before, after).into_iter().rev().filter(|check| check.status != CheckStatus::Ok);
    found.max_by_key(|check| check.status).map(|check| check.text)
}

#[cfg(test)]
mod tests {
    use super::super::watching::tests::quiet_at;
    use super::*;

    struct Played {
        now: f64,
        busy_until: f64,
        stopped_at: f64,
    }

    fn busy_until(busy_until: f64) -> Played {
        Played { now: 0.0, busy_until, stopped_at: f64::INFINITY }
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
    fn only_a_disturbance_is_waited_out_and_reported() {
        let waited = wait_until_quiet(60.0, &mut busy_until(0.0));
        assert!(waited.quiet && waited.because.is_none(), "{waited:?}");
        assert!(waited.seconds < 2.0 * LOOK_SECONDS, "{waited:?}");
        let waited = wait_until_quiet(60.0, &mut busy_until(5.0));
        assert!(waited.quiet && (5.0..7.0).contains(&waited.seconds), "{waited:?}");
        assert!(waited.because.unwrap().starts_with("Other processes used"));
    }

    #[test]
    fn the_limit_ends_it_and_so_does_a_signal() {
        let forever = || busy_until(f64::INFINITY);
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
