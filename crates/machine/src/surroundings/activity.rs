//! The present load of the machine: load average, free memory, stolen time.

use model::document::MachineState;

use crate::memory::kilobytes;
use crate::sysroot::Sysroot;

/// `USER_HZ`: 100 on every architecture that Linux supports except Alpha and Itanium.
pub(crate) const TICKS_PER_SECOND: f64 = 100.0;

/// Reads the load.
pub fn activity(root: &Sysroot) -> MachineState {
    MachineState {
        load_average: root.text("proc/loadavg").and_then(|text| load_average(&text)),
        memory_available_bytes: root.text("proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable")),
        steal_seconds: steal_seconds(root, None),
        at_seconds: None,
    }
}

/// Seconds stolen by the hypervisor since boot, from these CPUs or from all.
pub fn steal_seconds(root: &Sysroot, cpus: Option<&[u32]>) -> Option<f64> {
    steal_ticks(&root.text("proc/stat")?, cpus).map(|ticks| ticks as f64 / TICKS_PER_SECOND)
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
    Some([fields.next()?, fields.next()?, fields.next()?])
}

/// The eighth count of a `cpuN` line, summed over these CPUs.
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
    fn the_load_is_read_or_absent() {
        assert_eq!(load_average("0.50 0.25 1.00 1/90 1234"), Some([0.5, 0.25, 1.0]));
        assert_eq!(load_average("x"), None);
    }
}
