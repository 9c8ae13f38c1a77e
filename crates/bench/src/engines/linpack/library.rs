//! A problem that a library with threads of its own works on: one thread of the launch calls it, the others sleep until
//! it is done, so that the library has their CPUs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use model::linpack::LinpackConditions;
use model::unit::format_size;
use model::wire::Task;
use sys::memory::PageSize;
use sys::numbers::{Number, Numbers};

use super::team::Team;
use super::{Residuals, Trouble};

/// The thread that calls the library.
const CALLER: usize = 0;

/// A library with the data of a problem.
pub(super) trait Library: Send {
    /// Makes the data anew.
    fn fill(&mut self);

    /// Works the problem, on as many threads as the row has.
    ///
    /// # Errors
    /// The library refuses it.
    fn work(&mut self) -> Result<(), String>;

    /// Checks the result against the data drawn again.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&mut self) -> Result<Residuals, String>;

    /// Share of its buffers in huge pages.
    fn huge_share(&self) -> Option<f64>;

    /// What it is, and the bytes that it works on.
    fn describe(&self) -> LinpackConditions;
}

/// The launch's threads around a library.
pub(super) struct Around {
    library: Mutex<Box<dyn Library>>,
    turns: Mutex<Turns>,
    done: Condvar,
}

/// How often the library was called, and how often each thread has waited for it.
struct Turns {
    finished: u64,
    waited: Vec<u64>,
    abandoned: bool,
}

impl Around {
    pub(super) fn new(library: Box<dyn Library>, threads: usize) -> Self {
        let turns = Turns { finished: 0, waited: vec![0; threads], abandoned: false };
        Self { library: Mutex::new(library), turns: Mutex::new(turns), done: Condvar::new() }
    }

    fn library(&self) -> MutexGuard<'_, Box<dyn Library>> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until the library has done what this thread has not seen yet.
    fn wait(&self, thread: usize) -> Result<(), String> {
        let mut turns = self.turns();
        turns.waited[thread] += 1;
        let turn = turns.waited[thread];
        while turns.finished < turn && !turns.abandoned {
            turns = self.done.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        if turns.finished < turn { Err("the thread that calls the library has given up".to_owned()) } else { Ok(()) }
    }
}

impl Team for Around {
    fn fill(&self, thread: usize) -> Result<(), String> {
        if thread == CALLER {
            self.library().fill();
        }
        Ok(())
    }

    fn work(&self, thread: usize, _look: &mut dyn FnMut()) -> Result<(), String> {
        if thread != CALLER {
            return self.wait(thread);
        }
        let worked = self.library().work();
        let mut turns = self.turns();
        match worked {
            Ok(()) => turns.finished += 1,
            Err(_) => turns.abandoned = true,
        }
        self.done.notify_all();
        worked
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        // The others report what is below whatever the caller finds.
        if thread == CALLER { self.library().check() } else { Ok(Residuals { scaled: 0.0, raw: None }) }
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn abandon(&self) {
        self.turns().abandoned = true;
        self.done.notify_all();
    }

    fn huge_share(&self) -> Option<f64> {
        self.library().huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        self.library().describe()
    }
}

/// Does something that starts threads, which may then run on the row's CPUs and nowhere else.
///
/// # Errors
/// What it says; the CPUs cannot be chosen.
pub(super) fn on_the_rows_cpus<T>(task: &Task, start: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let chosen = |error: std::io::Error| Trouble::Failed(format!("the CPUs of a library cannot be chosen: {error}"));
    let before = sys::affinity::allowed_cpus().map_err(chosen)?;
    sys::affinity::restrict_to(&task.cpus).map_err(chosen)?;
    let started = start();
    sys::affinity::restrict_to(&before).map_err(chosen)?;
    started
}

/// So many elements, as an index.
///
/// # Errors
/// They cannot be addressed.
pub(super) fn index(count: u64) -> Result<usize, Trouble> {
    usize::try_from(count).map_err(|_| Trouble::Failed(format!("{count} elements are more than can be addressed")))
}

/// Maps room for numbers, in huge pages as our own solver has them.
///
/// # Errors
/// There is none.
pub(super) fn map<T: Number>(len: Option<usize>, align: u64) -> Result<Numbers<T>, Trouble> {
    let mapped = len.zip(usize::try_from(align).ok()).map(|(len, align)| Numbers::map(len, align, PageSize::Huge));
    mapped.ok_or_else(|| Trouble::Failed("the matrix is larger than can be addressed".to_owned()))?.map_err(|error| {
        let size = format_size((len.unwrap_or(0) * size_of::<T>()) as u64);
        Trouble::Unavailable(format!("no memory for a matrix of {size}: {error}; choose a smaller --n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library that notes its calls, and fails at one of them.
    struct Counting {
        calls: u32,
        fails_at: u32,
    }

    impl Library for Counting {
        fn fill(&mut self) {}

        fn work(&mut self) -> Result<(), String> {
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.calls += 1;
            if self.calls == self.fails_at { Err("refused".to_owned()) } else { Ok(()) }
        }

        fn check(&mut self) -> Result<Residuals, String> {
            Ok(Residuals { scaled: f64::from(self.calls), raw: None })
        }

        fn huge_share(&self) -> Option<f64> {
            None
        }

        fn describe(&self) -> LinpackConditions {
            LinpackConditions::default()
        }
    }

    fn run(fails_at: u32, rounds: usize) -> Vec<Vec<Result<(), String>>> {
        let team = Around::new(Box::new(Counting { calls: 0, fails_at }), 3);
        let work = |thread: usize| (0..rounds).map(|_| team.work(thread, &mut || {})).collect::<Vec<_>>();
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        all
    }

    #[test]
    fn all_threads_go_on_when_the_library_is_done() {
        assert!(run(0, 4).iter().flatten().all(Result::is_ok));
    }

    #[test]
    fn nobody_waits_for_a_library_that_has_refused() {
        let all = run(2, 2);
        assert_eq!(all[CALLER][1], Err("refused".to_owned()));
        for thread in &all[1..] {
            assert!(thread[0].is_ok() && thread[1].as_ref().unwrap_err().contains("given up"), "{thread:?}");
        }
    }

    #[test]
    fn only_the_caller_checks() {
        let team = Around::new(Box::new(Counting { calls: 7, fails_at: 0 }), 2);
        assert_eq!(team.check(CALLER).map(|found| found.scaled), Ok(7.0));
        assert_eq!(team.check(1).map(|found| found.scaled), Ok(0.0));
        team.abandon();
        assert!(team.work(1, &mut || {}).is_err());
    }
}
