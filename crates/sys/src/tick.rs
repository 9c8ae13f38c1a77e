//! Keeping the kernel's tick on CPUs whose threads sleep often and briefly.
//!
//! A CPU that goes to sleep stops its tick, and starts it again when it wakes up (`tick_nohz_idle_stop_tick` and
//! `tick_nohz_idle_exit`, `kernel/time/tick-sched.c`): where somebody waits for a device, for each request. Both set the
//! CPU's timer anew, unless another one is due sooner; in a virtual machine each time leaves the guest. Here a thread on
//! each CPU sleeps for half a tick at a time and does nothing else, so that there always is such a timer. It has the
//! scheduler's lowest policy: it never takes the CPU from whoever works there.
//!
//! It does not keep the CPU from sleeping, nor choose how deeply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::affinity;

/// What is taken for a tick where the kernel does not say: the longest that Linux can be built with (`HZ=100`).
const LONGEST_TICK: Duration = Duration::from_millis(10);

/// Ticks that are kept until this is dropped.
#[derive(Debug, Default)]
pub struct KeptTicks {
    over: Arc<AtomicBool>,
    keepers: Vec<JoinHandle<()>>,
}

impl KeptTicks {
    /// Keeps the tick of each of these CPUs (one may occur twice); of those where it cannot, nothing is kept.
    pub fn on(cpus: &[u32]) -> Self {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        let over = Arc::new(AtomicBool::new(false));
        let pause = tick() / 2;
        let keeper = |cpu| {
            let over = Arc::clone(&over);
            let keep = move || {
                if affinity::pin_to(cpu).is_ok() && yield_to_all() {
                    while !over.load(Ordering::Acquire) {
                        std::thread::sleep(pause);
                    }
                }
            };
            std::thread::Builder::new().name("tick".to_owned()).spawn(keep).ok()
        };
        let keepers = cpus.into_iter().filter_map(keeper).collect();
        Self { over, keepers }
    }
}

impl Drop for KeptTicks {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for keeper in self.keepers.drain(..) {
            let _ = keeper.join();
        }
    }
}

/// From one tick of the kernel to the next.
fn tick() -> Duration {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec. The coarse clock moves once a tick.
    let known = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut resolution) } == 0;
    let nanoseconds = u64::try_from(resolution.tv_nsec).unwrap_or(0);
    let said = Duration::from_nanos(nanoseconds);
    if known && !said.is_zero() && said < LONGEST_TICK { said } else { LONGEST_TICK }
}

/// The calling thread runs only where nobody else wants to; whether the kernel agreed.
fn yield_to_all() -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to live parameters, of which this policy wants priority 0.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads of this process that keep ticks: the policy and the CPUs of each, as the kernel has them.
    fn keepers() -> Vec<(String, String)> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let read = |task: &std::fs::DirEntry, name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let of = |task: std::fs::DirEntry| {
            let (stat, status) = (read(&task, "stat"), read(&task, "status"));
            // proc(5): the policy is field 41, the 39th after the name in parentheses.
            let policy = stat.rsplit_once(") ")?.1.split_whitespace().nth(38)?.to_owned();
            let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned();
            stat.contains("(tick)").then_some((policy, cpus))
        };
        let mut found: Vec<_> = tasks.filter_map(of).collect();
        found.sort();
        found
    }

    #[test]
    fn each_cpu_has_one_keeper_that_yields_to_all_and_leaves_with_its_owner() {
        let cpus = affinity::allowed_cpus().unwrap();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        let kept = KeptTicks::on(&[last, first, last, first]);
        let mut expected: Vec<_> = [first, last].iter().map(|cpu| ("5".to_owned(), cpu.to_string())).collect();
        expected.sort();
        expected.dedup();
        // Each says where it belongs as soon as it runs.
        let began = std::time::Instant::now();
        while keepers() != expected && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(keepers(), expected, "SCHED_IDLE is policy 5");
        drop(kept);
        assert_eq!(keepers(), []);
    }

    #[test]
    fn a_cpu_that_is_not_there_keeps_nothing() {
        drop(KeptTicks::on(&[9999]));
    }

    #[test]
    fn a_tick_is_one_to_ten_milliseconds() {
        assert!((Duration::from_millis(1)..=LONGEST_TICK).contains(&tick()), "{:?}", tick());
    }
}
