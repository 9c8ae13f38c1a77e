//! Settings that a user can change during a run: CPUs, governors, turbo, priority, memory limit.

use model::surroundings::{IDLE_NICE, Settings};

use crate::list::parse_list;
use crate::memory::kilobytes;
use crate::sysroot::Sysroot;
use crate::system::cgroup::Limits;
use crate::system::online::online_cpus;
use crate::system::{affinity, in_use, turbo};

/// `SCHED_IDLE` (`linux/sched.h`).
const POLICY_IDLE: u32 = 5;

/// Reads the settings.
pub fn settings(root: &Sysroot) -> Settings {
    let list = |name: &str| {
        root.text(&format!("sys/devices/system/cpu/{name}")).map(|text| parse_list(&text)).unwrap_or_default()
    };
    let online_cpus = online_cpus(root);
    let mut allowed_cpus = affinity(root);
    // Offline CPUs stay in the mask.
    allowed_cpus.retain(|cpu| online_cpus.is_empty() || online_cpus.contains(cpu));
    let smt = root.text("sys/devices/system/cpu/smt/control");
    Settings {
        present_cpus: list("present"),
        smt_off: smt.is_some_and(|control| control == "off" || control == "forceoff"),
        governors: in_use(root, &online_cpus, "scaling_governor"),
        energy_preferences: in_use(root, &online_cpus, "energy_performance_preference"),
        turbo: turbo(root).map(|(on, _)| on),
        nice: root.text("proc/self/stat").and_then(|stat| nice(&stat)),
        memory_bytes: root.text("proc/meminfo").and_then(|text| kilobytes(&text, "MemTotal")),
        memory_limit_bytes: Limits::discover(root).memory_bytes.map(|(bytes, _)| bytes),
        online_cpus,
        allowed_cpus,
    }
}

/// The nice value in /proc/PID/stat, or [`IDLE_NICE`] for an idle policy (proc(5): fields 19 and 41).
fn nice(stat: &str) -> Option<i32> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let nice = fields.nth(19 - 3)?.parse().ok()?;
    let policy: Option<u32> = fields.nth(41 - 19 - 1).and_then(|field| field.parse().ok());
    Some(if policy == Some(POLICY_IDLE) { IDLE_NICE } else { nice })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Recorded from `nice -n 10 sleep`, with this policy and name.
    fn stat(name: &str, policy: u32) -> String {
        format!(
            "4321 ({name}) S 4300 4321 4300 34816 4321 4194304 120 0 0 0 0 0 0 0 30 10 1 0 7700 3026944 450 \
             18446744073709551615 1 2 3 0 0 0 0 0 0 1 0 0 17 1 0 {policy} 0 0 0 4 5 6 7 8 9 10 0"
        )
    }

    #[test]
    fn nice_and_an_idle_policy_are_read_behind_any_name() {
        assert_eq!(nice(&stat("sleep", 0)), Some(10));
        assert_eq!(nice(&stat("a) S 1 (b", 3)), Some(10));
        assert_eq!(nice(&stat("sleep", POLICY_IDLE)), Some(IDLE_NICE));
        assert_eq!(nice("4321 (sleep) S 1 2"), None);
        assert_eq!(nice("garbage"), None);
    }

    #[test]
    fn a_restricted_machine_says_so() {
        let cpu = "sys/devices/system/cpu";
        let fixture = Fixture::new("settings")
            .file(&format!("{cpu}/present"), "0-3\n")
            .file(&format!("{cpu}/online"), "0-2\n")
            .file(&format!("{cpu}/smt/control"), "on\n")
            .file(&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "powersave\n")
            .file(&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "powersave\n")
            .file(&format!("{cpu}/cpu2/cpufreq/scaling_governor"), "performance\n")
            .file(&format!("{cpu}/cpu0/cpufreq/energy_performance_preference"), "balance_power\n")
            .file(&format!("{cpu}/intel_pstate/no_turbo"), "1\n")
            .file("proc/self/status", "Name:\tassay\nCpus_allowed_list:\t1-3\n")
            .file("proc/self/stat", &stat("assay", 0))
            .file("proc/meminfo", "MemTotal:       24684096 kB\n")
            .file("proc/self/mountinfo", "2 1 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("proc/self/cgroup", "0::/a\n")
            .file("sys/fs/cgroup/a/memory.max", "1073741824\n");
        let found = settings(&fixture.root());
        assert_eq!((found.allowed_cpus.as_slice(), found.offline_cpus()), ([1, 2].as_slice(), vec![3]));
        assert_eq!(found.governors, ["performance", "powersave"]);
        assert_eq!(found.energy_preferences, ["balance_power"]);
        assert_eq!((found.turbo, found.nice, found.smt_off), (Some(false), Some(10), false));
        assert_eq!(found.memory_limit_below_machine(), Some(1 << 30));
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        assert_eq!(settings(&Fixture::new("no-settings").root()), Settings::default());
    }
}
