//! A problem that a library solves with threads of its own: one of ours calls it, the others leave it their CPUs.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use model::linpack::LinpackConditions;
use model::wire::Task;

use super::parts::Team;
use super::{Residuals, Trouble};
use crate::locks::lock;

const CALLER: usize = 0;

pub(super) trait Data: Send + 'static {
    fn fill(&mut self);

    fn check(&self) -> Result<Residuals, String>;

    fn describe(&self) -> (Option<f64>, LinpackConditions);
}

struct Around<D, S> {
    problem: Mutex<(D, S)>,
    turns: Mutex<Turns>,
    done: Condvar,
}

struct Turns {
    finished: u64,
    waited: Vec<u64>,
    abandoned: bool,
}

/// The team of this many threads whose first one solves the problem by calling a library.
pub(super) fn team<D: Data>(
    data: D,
    threads: usize,
    solve: impl FnMut(&mut D) -> Result<(), String> + Send + 'static,
) -> Arc<dyn Team> {
    let turns = Mutex::new(Turns { finished: 0, waited: vec![0; threads], abandoned: false });
    Arc::new(Around { problem: Mutex::new((data, solve)), turns, done: Condvar::new() })
}

impl<D, S> Around<D, S> {
    fn wait(&self, thread: usize) -> Result<(), String> {
        let mut turns = lock(&self.turns);
        turns.waited[thread] += 1;
        let turn = turns.waited[thread];
        let waiting = |turns: &mut Turns| turns.finished < turn && !turns.abandoned;
        turns = self.done.wait_while(turns, waiting).unwrap_or_else(PoisonError::into_inner);
        if turns.finished < turn { Err("the thread that calls the library has given up".to_owned()) } else { Ok(()) }
    }
}

impl<D: Data, S: FnMut(&mut D) -> Result<(), String> + Send> Team for Around<D, S> {
    fn fill(&self, thread: usize) -> Result<(), String> {
        if thread == CALLER {
            lock(&self.problem).0.fill();
        }
        Ok(())
    }

    fn work(&self, thread: usize, _look: &mut dyn FnMut()) -> Result<(), String> {
        if thread != CALLER {
            return self.wait(thread);
        }
        let (data, solve) = &mut *lock(&self.problem);
        let worked = solve(data);
        let mut turns = lock(&self.turns);
        match worked {
            Ok(()) => turns.finished += 1,
            Err(_) => turns.abandoned = true,
        }
        self.done.notify_all();
        worked
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        // The residual of the other threads is below whatever the caller finds.
        if thread == CALLER { lock(&self.problem).0.check() } else { Ok(Residuals { scaled: 0.0, raw: None }) }
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn abandon(&self) {
        lock(&self.turns).abandoned = true;
        self.done.notify_all();
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        lock(&self.problem).0.describe()
    }
}

pub(super) fn on_the_rows_cpus<T>(task: &Task, start: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let chosen = |error: std::io::Error| Trouble::Failed(format!("the CPUs of a library cannot be chosen: {error}"));
    let before = sys::affinity::allowed_cpus().map_err(chosen)?;
    sys::affinity::restrict_to(&task.cpus).map_err(chosen)?;
    let started = start();
    sys::affinity::restrict_to(&before).map_err(chosen)?;
    started
}

#[cfg(test)]
mod tests {
    use super::super::tests::NoData;
    use super::*;

    fn failing_at(call: u32) -> Arc<dyn Team> {
        let mut calls = 0;
        team(NoData, 3, move |_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            calls += 1;
            if calls == call { Err("refused".to_owned()) } else { Ok(()) }
        })
    }

    fn run(team: &dyn Team, rounds: usize) -> Vec<Vec<Result<(), String>>> {
        let work = |thread: usize| (0..rounds).map(|_| team.work(thread, &mut || {})).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_threads_go_on_when_the_library_is_done_and_none_waits_once_it_has_refused() {
        assert!(run(&*failing_at(0), 4).iter().flatten().all(Result::is_ok));
        let all = run(&*failing_at(2), 2);
        assert_eq!(all[CALLER][1], Err("refused".to_owned()));
        for thread in &all[1..] {
            assert!(thread[0].is_ok() && thread[1].as_ref().unwrap_err().contains("given up"), "{thread:?}");
        }
    }

    #[test]
    fn only_the_caller_checks() {
        let team = failing_at(0);
        assert!(team.check(CALLER).is_ok_and(|found| found.scaled > 0.0));
        assert_eq!(team.check(1).map(|found| found.scaled), Ok(0.0));
        team.abandon();
        assert!(team.work(1, &mut || {}).is_err());
    }
}
