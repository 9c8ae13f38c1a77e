//! CPU time, context switches and page faults, as the kernel counts them.

/// Counts of a thread, or of all threads of a process, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadUsage {
    pub cpu_seconds: f64,
    pub involuntary_switches: u64,
    /// Page faults, with and without I/O.
    pub page_faults: u64,
}

impl ThreadUsage {
    pub fn now() -> Self {
        Self::counted(libc::RUSAGE_THREAD, crate::clock::thread_cpu_seconds())
    }

    /// The counts of all threads of the process, ended ones included.
    pub fn of_process() -> Self {
        Self::counted(libc::RUSAGE_SELF, crate::clock::process_cpu_seconds())
    }

    fn counted(whose: libc::c_int, cpu_seconds: f64) -> Self {
        let usage = rusage(whose);
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        Self {
            cpu_seconds,
            involuntary_switches: count(usage.ru_nivcsw),
            page_faults: count(usage.ru_minflt) + count(usage.ru_majflt),
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds + other.cpu_seconds,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            page_faults: self.page_faults + other.page_faults,
        }
    }

    /// One of this number of equal parts.
    #[must_use]
    pub fn part_of(self, parts: usize) -> Self {
        let parts = parts.max(1) as u64;
        Self {
            cpu_seconds: self.cpu_seconds / parts as f64,
            involuntary_switches: self.involuntary_switches / parts,
            page_faults: self.page_faults / parts,
        }
    }

    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
        }
    }
}

/// The kernel's counts; zero on an error.
fn rusage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: all-zero bytes are a valid `rusage`, a struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is live and writable.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    usage
}

/// The CPU time of one thread, readable by the other threads of the process.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// That of the calling thread; `None` if the kernel has none.
    pub fn of_this_thread() -> Option<Self> {
        let mut clock: libc::clockid_t = 0;
        // SAFETY: the thread is the calling one, and the clock's place is live and writable for the call.
        let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        (status == 0).then_some(Self(clock))
    }

    /// CPU seconds since the thread began; `None` once it has ended.
    pub fn seconds(self) -> Option<f64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is live and writable for the call; the clock of a thread that has ended is an error, no fault.
        let status = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        (status == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }
}

/// Usage of this process and of its children that have ended and been waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    pub user_seconds: f64,
    pub system_seconds: f64,
    /// Bytes moved to or from devices.
    pub disk_bytes: u64,
    /// Bytes written to devices.
    pub disk_written_bytes: u64,
}

impl ProcessUsage {
    pub fn now() -> Self {
        /// The kernel's unit (getrusage(2), `ru_inblock`).
        const BLOCK_BYTES: u64 = 512;
        let mut sum = Self::default();
        for who in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
            let usage = rusage(who);
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            let blocks = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
            sum.user_seconds += seconds(usage.ru_utime);
            sum.system_seconds += seconds(usage.ru_stime);
            sum.disk_written_bytes += BLOCK_BYTES * blocks(usage.ru_oublock);
            sum.disk_bytes += BLOCK_BYTES * (blocks(usage.ru_inblock) + blocks(usage.ru_oublock));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_cpu_time_is_read_by_another_until_it_ends() {
        let (send, received) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while crate::clock::thread_cpu_seconds() < 0.01 {}
            send.send((CpuClock::of_this_thread(), crate::clock::thread_cpu_seconds())).unwrap();
            ended.recv().unwrap();
        });
        let (clock, own) = received.recv().unwrap();
        let clock = clock.unwrap();
        let read = clock.seconds().unwrap();
        assert!(read >= own && read < own + 1.0 && own > 0.0, "{read} s, by itself {own} s");
        end.send(()).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn the_process_has_the_counts_of_ended_threads() {
        let before = (ThreadUsage::now(), ThreadUsage::of_process());
        let busy = std::thread::spawn(|| {
            while crate::clock::thread_cpu_seconds() < 0.02 {}
            let mut region = crate::memory::Region::map(4 << 20, crate::memory::PageSize::Base).unwrap();
            region.as_mut_slice().fill(1);
        });
        busy.join().unwrap();
        let (own, all) = (ThreadUsage::now().since(before.0), ThreadUsage::of_process().since(before.1));
        assert!(all.cpu_seconds >= 0.02 && all.cpu_seconds > own.cpu_seconds, "{all:?}, {own:?}");
        assert!(all.page_faults >= 1024, "{all:?}");
        let half = ThreadUsage { cpu_seconds: 3.0, involuntary_switches: 5, page_faults: 4 }.part_of(2);
        assert_eq!(half, ThreadUsage { cpu_seconds: 1.5, involuntary_switches: 2, page_faults: 2 });
    }
}
