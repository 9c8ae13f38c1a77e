//! What goes on around a measurement, all over the machine: read before and after, and judged by the difference.
//!
//! Counts of the kernel only; what of it was our own doing is put beside them, so that the rest is others'.

use model::surroundings::Surroundings;
use sys::usage::ProcessUsage;

use crate::sysroot::Sysroot;

/// Ticks per second of /proc/stat: `USER_HZ`, 100 on every architecture that Linux runs on today but Alpha and Itanium.
const TICKS_PER_SECOND: f64 = 100.0;

/// What to look at besides the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Disks whose traffic counts, by their names under /sys/block.
    pub disks: Vec<String>,
    /// The network interface whose traffic counts.
    pub interface: Option<String>,
}

/// Reads the counts now.
pub fn surroundings(root: &Sysroot, _watched: &Watched) -> Surroundings {
    let own = ProcessUsage::now();
    let stat = root.text("proc/stat").unwrap_or_default();
    let ticks = stat
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .map(|line| line.split_ascii_whitespace().map_while(|count| count.parse::<u64>().ok()).collect::<Vec<_>>());
    let sum = |fields: &[usize]| {
        let ticks = ticks.as_ref()?;
        let sum = fields.iter().map(|field| ticks.get(*field).copied()).sum::<Option<u64>>()?;
        Some(sum as f64 / TICKS_PER_SECOND)
    };
    let is_cpu =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Surroundings {
        at_seconds: sys::clock::monotonic_raw_seconds(),
        cpus: u32::try_from(stat.lines().filter(is_cpu).count()).unwrap_or(u32::MAX),
        user_seconds: sum(&[0, 1]),
        system_seconds: sum(&[2, 5, 6]),
        steal_seconds: sum(&[7]),
        own_user_seconds: own.user_seconds,
        own_system_seconds: own.system_seconds,
        own_disk_bytes: own.disk_bytes,
        ..Surroundings::default()
    }
}
