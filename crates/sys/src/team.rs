//! A team of threads: started and pinned before anything is timed, they start together, and meet at spinning gates.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Timer, monotonic_raw_seconds};
use crate::cpu::affinity;

/// Spins before the processor is yielded: with more threads than CPUs, the awaited ones must run.
const SPINS: u32 = 2000;

/// How long a waiting thread yields. One that is not there by then waits for a device: others could use this CPU.
const YIELDING_SECONDS: f64 = 0.1;

/// How long a waiting thread sleeps between two checks after that.
const NAP: Duration = Duration::from_micros(50);

/// A meeting point for a fixed number of threads, usable any number of times; the last to arrive opens it.
#[derive(Debug)]
pub struct Gate {
    threads: u32,
    arrived: AtomicU32,
    round: AtomicU32,
    deadline: AtomicU64,
    broken: AtomicBool,
}

/// A thread of the team has given up, so the rest must not wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl Gate {
    pub fn new(threads: u32) -> Self {
        Self {
            threads,
            arrived: AtomicU32::new(0),
            round: AtomicU32::new(0),
            deadline: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until every thread has arrived; all then get the same time stamp, `delay` seconds ahead, to start at.
    pub fn meet(&self, timer: &Timer, delay: f64) -> Result<u64, Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.deadline.store(timer.now() + timer.ticks(delay), Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
        } else {
            self.wait_for_round_after(round)?;
        }
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(self.deadline.load(Ordering::Acquire)) }
    }

    fn wait_for_round_after(&self, round: u32) -> Result<(), Broken> {
        let mut spins = 0;
        let mut since = None;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return Err(Broken);
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else if monotonic_raw_seconds() - *since.get_or_insert_with(monotonic_raw_seconds) < YIELDING_SECONDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
        }
        Ok(())
    }

    /// Releases all waiting threads with an error: the caller cannot continue.
    pub fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }
}

/// Breaks the gate if the thread that holds it leaves by a panic.
struct BreakOnPanic<'a>(&'a Gate);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

pub fn spin_until(timer: &Timer, ticks: u64) {
    while timer.now() < ticks {
        std::hint::spin_loop();
    }
}

/// Runs `work(thread, gate)` on one pinned thread per CPU of the list (a CPU may occur twice) and returns the results
/// in the list's order, or the error of the first thread that could not be pinned, panicked or failed.
pub fn run<T, F>(cpus: &[u32], work: F) -> Result<Vec<T>, String>
where
    T: Send,
    F: Fn(usize, &Gate) -> Result<T, String> + Sync,
{
    let gate = Gate::new(u32::try_from(cpus.len()).unwrap_or(u32::MAX));
    let one = |thread: usize, cpu: u32| -> Result<T, String> {
        let _guard = BreakOnPanic(&gate);
        let pinned = affinity::pin_to(cpu).map_err(|error| unpinnable(cpu, &error));
        pinned.and_then(|()| work(thread, &gate)).inspect_err(|_| gate.give_up())
    };
    std::thread::scope(|scope| {
        let start = |(thread, cpu): (usize, &u32)| {
            let cpu = *cpu;
            let one = &one;
            std::thread::Builder::new()
                .name(format!("worker-{thread}"))
                .spawn_scoped(scope, move || one(thread, cpu))
                .map_err(|error| format!("cannot start thread {thread}: {error}"))
                .inspect_err(|_| gate.give_up())
        };
        let threads: Vec<_> = cpus.iter().enumerate().map(start).collect();
        let results = threads.into_iter().map(|thread| thread?.join().map_err(|_| "a thread panicked".to_owned())?);
        let (good, bad): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        // A broken gate is a consequence; report the cause.
        let errors: Vec<String> = bad.into_iter().filter_map(Result::err).collect();
        let cause = errors.iter().find(|error| !error.is_empty()).or(errors.first());
        cause.map_or_else(|| Ok(good.into_iter().filter_map(Result::ok).collect()), |cause| Err(cause.clone()))
    })
}

fn unpinnable(cpu: u32, error: &io::Error) -> String {
    let folder = Path::new("/sys/devices/system/cpu").join(format!("cpu{cpu}"));
    let switch = folder.join("online");
    let why = if fs::read_to_string(&switch).is_ok_and(|state| state.trim() == "0") {
        format!("it is switched off; switch it on ('echo 1 > {}' as root)", switch.display())
    } else if error.raw_os_error() != Some(libc::EINVAL) {
        format!("{error}; allow sched_setaffinity")
    } else if folder.exists() {
        "this process may not run there (the cpuset of its container or control group leaves it out); allow it".into()
    } else {
        "the system has no such CPU now (switched off, or taken away by the hypervisor); bring it back".into()
    };
    format!("cannot pin a thread to CPU {cpu}: {why}, or start the run again, which then plans without it")
}

impl From<Broken> for String {
    /// Empty: the thread that gave up reports the cause.
    fn from(_: Broken) -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_cpus() -> Vec<u32> {
        let cpus = affinity::allowed_cpus().unwrap();
        vec![cpus[0], *cpus.last().unwrap()]
    }

    #[test]
    fn all_threads_get_the_same_start() {
        let timer = Timer::system();
        let starts = run(&two_cpus(), |_, gate| {
            (0..100).map(|_| gate.meet(&timer, 0.0).map_err(String::from)).collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
        assert_eq!(starts[0], starts[1]);
        assert!(starts[0].is_sorted());
    }

    #[test]
    fn a_thread_that_fails_or_panics_lets_nobody_wait() {
        let timer = Timer::system();
        let failed = run(&two_cpus(), |thread, gate| {
            if thread == 0 {
                return Err("no memory".to_owned());
            }
            gate.meet(&timer, 0.0).map_err(String::from)
        });
        assert_eq!(failed.unwrap_err(), "no memory");
        let panicked = run(&two_cpus(), |thread, gate| {
            assert!(thread != 0, "a panic on purpose");
            gate.meet(&timer, 0.0).map_err(String::from)
        });
        assert_eq!(panicked.unwrap_err(), "a thread panicked");
    }

    #[test]
    fn an_unpinnable_cpu_is_reported_with_the_reason_and_the_fix() {
        let error = run(&[9999], |_, _| Ok(())).unwrap_err();
        assert!(error.contains("CPU 9999") && error.contains("no such CPU now"), "{error}");
        assert!(error.contains("start the run again"), "{error}");
        let here = affinity::allowed_cpus().unwrap()[0];
        let outside = unpinnable(here, &io::Error::from_raw_os_error(libc::EINVAL));
        assert!(outside.contains("cpuset") || outside.contains("no such CPU now"), "{outside}");
        let forbidden = unpinnable(here, &io::Error::from_raw_os_error(libc::EPERM));
        assert!(forbidden.contains("sched_setaffinity") && !forbidden.contains("cpuset"), "{forbidden}");
    }
}
