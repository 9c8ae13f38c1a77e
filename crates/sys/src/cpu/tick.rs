//! Keeping the kernel's tick on CPUs whose threads sleep often and briefly.
//!
//! A CPU that goes idle stops its tick, and restarts it when it wakes up (`tick_nohz_idle_stop_tick` and
//! `tick_nohz_idle_exit`, `kernel/time/tick-sched.c`). Both reprogram the CPU's timer unless another one is due sooner; in a
//! virtual machine each time exits the guest. So a thread of the lowest policy on each CPU is woken twice a tick, shortly
//! before the tick would be due, and does nothing else.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use crate::cpu::affinity;

/// The tick if the kernel does not report it: the longest that Linux can be built with (`HZ=100`).
const LONGEST_TICK: Duration = Duration::from_millis(10);

/// How long before the tick to wake. The tick is the nearer timer in this time, so it is short; but it is longer than
/// the kernel takes from one timer to the next, so that the keeper has set its next time when the tick comes.
const AHEAD: Duration = Duration::from_micros(20);

/// Keeps ticks until it is dropped.
#[derive(Debug, Default)]
pub struct KeptTicks {
    over: Arc<AtomicBool>,
    keepers: Vec<JoinHandle<()>>,
}

impl KeptTicks {
    /// Keeps the tick of each of these CPUs (one may occur twice) where that is possible.
    pub fn on(cpus: &[u32]) -> Self {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        let over = Arc::new(AtomicBool::new(false));
        let every = tick() / 2;
        let keeper = |cpu| {
            let over = Arc::clone(&over);
            let keep = move || {
                // The timer slack of 50 us would let it wake late.
                let slack = || set_current_timer_slack(NonZeroU64::new(1));
                if affinity::pin_to(cpu).is_ok() && yield_to_all() && slack().is_ok() {
                    while !over.load(Ordering::Acquire) && sleep_until_before_a_multiple_of(every) {}
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

fn tick() -> Duration {
    // The coarse clock moves once a tick.
    let reported = Duration::try_from(clock_getres(ClockId::MonotonicCoarse)).unwrap_or_default();
    if !reported.is_zero() && reported < LONGEST_TICK { reported } else { LONGEST_TICK }
}

/// Makes the calling thread run only on an idle CPU; whether the kernel agreed.
fn yield_to_all() -> bool {
    let priority: libc::c_int = 0;
    // By system call: musl's function refuses. `struct sched_param` is its priority.
    // SAFETY: the pointer is to live parameters, of which this policy takes priority 0.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority) == 0 }
}

/// Sleeps until shortly before the next multiple of this time since boot, where Linux has its ticks (since 6.4; before,
/// they are anywhere); whether that worked.
fn sleep_until_before_a_multiple_of(every: Duration) -> bool {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let until = before_a_multiple(now.tv_sec * 1_000_000_000 + now.tv_nsec, nanoseconds(every), nanoseconds(AHEAD));
    let until = Timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
    matches!(clock_nanosleep_absolute(ClockId::Monotonic, &until), Ok(()) | Err(Errno::INTR))
}

/// The first time after now that is `ahead` before a multiple of `of`; all in nanoseconds.
const fn before_a_multiple(now: i64, of: i64, ahead: i64) -> i64 {
    ((now + ahead) / of + 1) * of - ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads of this process that keep ticks: the policy and the CPUs of each.
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
        // Each moves to its CPU as soon as it runs.
        let began = crate::clock::monotonic_raw_seconds();
        while keepers() != expected && crate::clock::monotonic_raw_seconds() - began < 10.0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(keepers(), expected, "SCHED_IDLE is policy 5");
        drop(kept);
        assert_eq!(keepers(), []);
        drop(KeptTicks::on(&[9999]));
    }

    #[test]
    fn the_next_time_is_just_before_a_multiple_and_never_now() {
        for (now, next) in [(0, 1980), (1979, 1980), (1980, 3980), (1999, 3980), (2000, 3980), (3979, 3980)] {
            assert_eq!(before_a_multiple(now, 2000, 20), next, "{now}");
        }
    }

    #[test]
    fn a_tick_is_one_to_ten_milliseconds() {
        assert!((Duration::from_millis(1)..=LONGEST_TICK).contains(&tick()), "{:?}", tick());
    }
}
