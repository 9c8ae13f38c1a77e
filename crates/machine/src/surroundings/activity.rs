//! What the machine is doing just now: load, free memory, time stolen by the hypervisor or withheld by a quota.
//!
//! Unlike the facts of [`crate::discover`] these are read again and again, before, during and after a measurement.

use crate::sysroot::Sysroot;

/// Ticks per second of /proc/stat: `USER_HZ`, 100 on every architecture that Linux runs on today but Alpha and Itanium.
pub(crate) const TICKS_PER_SECOND: f64 = 100.0;

/// The state of a machine at one moment. What cannot be read is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Memory that new work can have, B.
    pub memory_available_bytes: Option<u64>,
    /// Time stolen by the hypervisor since boot, all CPUs together, s.
    pub steal_seconds: Option<f64>,
}

/// Reads the machine's state.
pub fn activity(root: &Sysroot) -> Activity {
    Activity {
        load_average: root.text("proc/loadavg").and_then(|text| load_average(&text)),
        memory_available_bytes: root.text("proc/meminfo").and_then(|text| available_bytes(&text)),
        steal_seconds: steal_seconds(root, None),
    }
}

/// Seconds that the hypervisor has stolen from these CPUs since boot, or from all of them.
pub fn steal_seconds(root: &Sysroot, cpus: Option<&[u32]>) -> Option<f64> {
    steal_ticks(&root.text("proc/stat")?, cpus).map(|ticks| ticks as f64 / TICKS_PER_SECOND)
}

/// Seconds that CPU quotas have stopped this process's control groups so far, summed over CPUs; `None` where no quota
/// is set.
pub fn throttled_seconds(root: &Sysroot) -> Option<f64> {
    crate::system::cgroup::throttled_seconds(root)
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
    Some([fields.next()?, fields.next()?, fields.next()?])
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The eighth count of a `cpuN` line, summed over these CPUs; `None` where none of them has such a count.
fn steal_ticks(stat: &str, cpus: Option<&[u32]>) -> Option<u64> {
    let of_line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let cpu: u32 = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        cpus.is_none_or(|cpus| cpus.contains(&cpu)).then(|| fields.nth(7)?.parse::<u64>().ok())?
    };
    stat.lines().filter_map(of_line).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_read_of_the_cpus_asked_about() {
        let stat = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 20 9 10\nintr 5\n";
        assert_eq!(steal_ticks(stat, Some(&[0])), Some(8));
        assert_eq!(steal_ticks(stat, None), Some(28));
        assert_eq!(steal_ticks(stat, Some(&[7])), None);
        assert_eq!(steal_ticks("cpu0 1 2\ngarbage", None), None);
    }

    #[test]
    fn load_and_memory_are_read_or_absent() {
        assert_eq!(load_average("0.50 0.25 1.00 1/90 1234"), Some([0.5, 0.25, 1.0]));
        assert_eq!(load_average("x"), None);
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:    1000 kB\n"), Some(1_024_000));
        assert_eq!(available_bytes("MemAvailable: many kB"), None);
    }
}
