//! Where the threads of a process run add up what a window gave, so that all go on with the same rate at the same time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use sys::clock::Timer;

/// Datagrams of one flow or of all flows in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) sent: u64,
    pub(crate) came: u64,
}

/// The error of a thread when another has failed, which has its own reason.
pub(crate) const ANOTHER_FAILED: &str = "another thread failed";

/// The error of a thread that has waited too long for another.
pub(crate) fn did_not_come(patience: Duration) -> String {
    format!(
        "another thread has not come within {:.0} s, longer than all of the launch may take; look whether the machine is \
         overloaded, or the process was stopped, and measure again",
        patience.as_secs_f64()
    )
}

#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    met: Condvar,
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    rounds: u64,
    waiting: usize,
    sum: Share,
    /// The sum of the last round, and when its last thread came.
    last: (Share, u64),
    /// A thread has failed, and will not come again.
    left: bool,
}

impl Pool {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { state: Mutex::default(), met: Condvar::new(), patience }
    }

    /// Waits for this many threads; the sum of what they bring, and the moment at which the last one came: the same for
    /// all. Fails if another thread did not come.
    pub(crate) fn meet(&self, threads: usize, share: Share, timer: &Timer) -> Result<(Share, u64), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.rounds;
        state.sum.sent += share.sent;
        state.sum.came += share.came;
        state.waiting += 1;
        if state.waiting >= threads {
            let sum = std::mem::take(&mut state.sum);
            (state.last, state.waiting, state.rounds) = ((sum, timer.now()), 0, round + 1);
            self.met.notify_all();
        }
        let waiting = |state: &mut State| state.rounds == round && !state.left;
        let waited = self.met.wait_timeout_while(state, self.patience, waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.rounds != round {
            return Ok(state.last);
        }
        if state.left {
            return Err(ANOTHER_FAILED.to_owned());
        }
        // No thread waits for this one either.
        state.left = true;
        self.met.notify_all();
        Err(did_not_come(self.patience))
    }

    /// A thread will not come again: no thread waits for it.
    pub(crate) fn leave(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).left = true;
        self.met.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(2);

    #[test]
    fn all_threads_hear_the_same_in_every_round() {
        let (pool, timer) = (Pool::new(PATIENCE), Timer::system());
        let answers: Vec<Vec<(Share, u64)>> = thread::scope(|scope| {
            let (pool, timer) = (&pool, &timer);
            let one = |thread: u64| {
                let share = |round| Share { sent: 10 * round + thread, came: round };
                (0..50).map(|round| pool.meet(3, share(round), timer).unwrap()).collect()
            };
            let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || one(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0], answers[2]);
        for (round, (sum, _)) in (0..).zip(&answers[0]) {
            assert_eq!(*sum, Share { sent: 30 * round + 3, came: 3 * round });
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_failed() {
        let (pool, timer) = (Pool::new(PATIENCE), Timer::system());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.meet(2, Share::default(), &timer));
            pool.leave();
            assert!(waiting.join().unwrap().unwrap_err().contains("another thread failed"));
        });
    }
    #[test]

    fn one_that_never_comes_is_waited_for_no_longer_than_a_launch() {
        let (pool, timer) = (Pool::new(Duration::from_millis(20)), Timer::system());
        let first = pool.meet(2, Share::default(), &timer).unwrap_err();
        assert!(first.contains("has not come within 0 s"), "{first}");
        // A later thread does not wait for the one that has given up.
        assert!(pool.meet(3, Share::default(), &timer).unwrap_err().contains("another thread failed"));
    }
}
