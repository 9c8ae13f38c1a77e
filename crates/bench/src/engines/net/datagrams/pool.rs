//! Where the threads of a launch bring together what a window gave, so that all go on with the same rate at the same
//! time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use sys::clock::Timer;

/// What one flow, or all of them, gave in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Share {
    /// Datagrams sent.
    pub(in super::super) sent: u64,
    /// Those that came.
    pub(in super::super) came: u64,
}

/// The sentence for a thread whose partner has failed, which says why itself.
pub(in super::super) const ANOTHER_FAILED: &str = "another thread failed";

/// The sentence for a thread that has waited so long for another.
pub(in super::super) fn did_not_come(patience: Duration) -> String {
    format!(
        "another thread has not come within {:.0} s, longer than all of the launch may take; look whether the machine is \
         overloaded, or the process was stopped, and measure again",
        patience.as_secs_f64()
    )
}

/// The meeting of all threads.
#[derive(Debug)]
pub(in super::super) struct Pool {
    state: Mutex<State>,
    met: Condvar,
    /// Who has not come by then will not.
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    rounds: u64,
    waiting: usize,
    sum: Share,
    /// What the last round came to, and when its last thread came.
    last: (Share, u64),
    /// A thread has failed, and will not come any more.
    left: bool,
}

impl Pool {
    /// Nobody has come yet; and nobody waits longer than this for another.
    pub(in super::super) fn new(patience: Duration) -> Self {
        Self { state: Mutex::default(), met: Condvar::new(), patience }
    }

    /// Waits for so many threads; what all brought, and the moment at which the last one came: the same for all.
    ///
    /// # Errors
    /// Another thread did not come.
    pub(in super::super) fn meet(&self, threads: usize, share: Share, timer: &Timer) -> Result<(Share, u64), String> {
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
        // Nor does anybody wait for this one.
        state.left = true;
        self.met.notify_all();
        Err(did_not_come(self.patience))
    }

    /// A thread will not come any more: nobody waits for it.
    pub(in super::super) fn leave(&self) {
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
        // Who comes later still is not let wait for the one that has given up.
        assert!(pool.meet(3, Share::default(), &timer).unwrap_err().contains("another thread failed"));
    }
}
