//! Where the threads of a process run meet: they add up what each brings, and all continue with the same result.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use sys::clock::Timer;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) sent: u64,
    pub(crate) came: u64,
}

/// `S` is what the threads add up, and `R` what the last one to arrive makes of it.
pub(crate) struct Pool<S = Share, R = (Share, u64)> {
    state: Mutex<State<S, R>>,
    met: Condvar,
    patience: Duration,
}

struct State<S, R> {
    rounds: u64,
    waiting: usize,
    sum: S,
    last: Result<R, String>,
    /// A thread has failed, and will not come again.
    left: bool,
}

impl Pool {
    /// Waits for this many threads; the sum of what they bring, and when the last one came. Fails if a thread did not come.
    pub(crate) fn meet(&self, threads: usize, share: Share, timer: &Timer) -> Result<(Share, u64), String> {
        let add = |sum: &mut Share| {
            sum.sent += share.sent;
            sum.came += share.came;
        };
        self.round(threads, add, |sum| Ok((sum, timer.now())))
    }
}

impl<S: Default, R: Clone + Default> Pool<S, R> {
    /// Threads wait for each other no longer than `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        let state = State { rounds: 0, waiting: 0, sum: S::default(), last: Ok(R::default()), left: false };
        Self { state: Mutex::new(state), met: Condvar::new(), patience }
    }

    /// Waits for this many threads, each of which adds to the sum; what the last one makes of it.
    pub(crate) fn round(
        &self,
        threads: usize,
        add: impl FnOnce(&mut S),
        finish: impl FnOnce(S) -> Result<R, String>,
    ) -> Result<R, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.rounds;
        add(&mut state.sum);
        state.waiting += 1;
        if state.waiting >= threads {
            let sum = std::mem::take(&mut state.sum);
            (state.last, state.waiting, state.rounds) = (finish(sum), 0, round + 1);
            self.met.notify_all();
        }
        let waiting = |state: &mut State<S, R>| state.rounds == round && !state.left;
        let waited = self.met.wait_timeout_while(state, self.patience, waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.rounds != round {
            return state.last.clone();
        }
        if state.left {
            return Err("another thread failed".to_owned());
        }
        // No thread waits for this one either.
        state.left = true;
        self.met.notify_all();
        Err(format!(
            "another thread did not arrive within {:.0} s, the limit of the process run. Check whether the machine is \
             overloaded or the process was stopped, and measure again",
            self.patience.as_secs_f64()
        ))
    }

    pub(crate) fn leave(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).left = true;
        self.met.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(120);

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
    fn one_that_never_comes_is_waited_for_no_longer_than_a_launch() {
        let (pool, timer) = (Pool::new(Duration::from_millis(20)), Timer::system());
        let first = pool.meet(2, Share::default(), &timer).unwrap_err();
        assert!(first.contains("did not arrive within 0 s"), "{first}");
        assert!(pool.meet(3, Share::default(), &timer).unwrap_err().contains("another thread failed"));
    }
}
