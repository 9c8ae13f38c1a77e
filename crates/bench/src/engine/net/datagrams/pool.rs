//! Where the threads of a launch bring together what a window gave, so that all go on with the same rate at the same
//! time.

use std::sync::{Condvar, Mutex, PoisonError};

use sys::clock::Timer;

/// What one flow, or all of them, gave in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Share {
    /// Datagrams sent.
    pub(in super::super) sent: u64,
    /// Those that came.
    pub(in super::super) came: u64,
}

/// The meeting of all threads.
#[derive(Debug, Default)]
pub(in super::super) struct Pool {
    state: Mutex<State>,
    met: Condvar,
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
    /// Waits for so many threads; what all brought, and the moment at which the last one came: the same for all.
    ///
    /// # Errors
    /// Another thread did not come.
    pub(super) fn meet(&self, threads: usize, share: Share, timer: &Timer) -> Result<(Share, u64), String> {
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
        let state = self.met.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner);
        if state.rounds == round { Err("another thread failed".to_owned()) } else { Ok(state.last) }
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

    #[test]
    fn all_threads_hear_the_same_in_every_round() {
        let (pool, timer) = (Pool::default(), Timer::system());
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
        let (pool, timer) = (Pool::default(), Timer::system());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.meet(2, Share::default(), &timer));
            pool.leave();
            assert!(waiting.join().unwrap().unwrap_err().contains("another thread failed"));
        });
    }
}
