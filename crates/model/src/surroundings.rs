//! The machine around a measurement: the kernel's counters, what two moments added, and the settings.

use serde::{Deserialize, Serialize};

/// Counts since boot, or since a device appeared. What cannot be read is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// `CLOCK_MONOTONIC_RAW` when it was read, in seconds.
    pub at_seconds: f64,
    /// CPUs that are online.
    pub cpus: u32,
    /// CPU seconds in user mode, nice included, over all CPUs.
    pub user_seconds: Option<f64>,
    /// CPU seconds in the kernel, interrupts included, over all CPUs.
    pub system_seconds: Option<f64>,
    /// CPU seconds stolen by other VMs, over all CPUs.
    pub steal_seconds: Option<f64>,
    /// Bytes moved to or from swap.
    pub swapped_bytes: Option<u64>,
    /// Seconds in which some task waited for a CPU (`/proc/pressure/cpu`).
    pub cpu_pressure_seconds: Option<f64>,
    /// Seconds in which some task waited for memory.
    pub memory_pressure_seconds: Option<f64>,
    /// Seconds in which some task waited for a device.
    pub io_pressure_seconds: Option<f64>,
    /// Times that a core or package was too hot.
    pub thermal_events: Option<u64>,
    /// Times that a core or package ran into its power limit.
    pub power_events: Option<u64>,
    /// Bytes that the devices under the disk's directory have read and written.
    pub disk_bytes: Option<u64>,
    /// Of these, bytes that they have written.
    pub disk_written_bytes: Option<u64>,
    /// How hot the one nearest to its limit is.
    pub disk_heat: Option<DiskHeat>,
    /// The rates of their links as trained now, together, in bytes per second.
    pub disk_link_bytes_per_second: Option<u64>,
    /// Bytes that the interface in use has carried, received ones only on loopback (where each is sent and received).
    pub net_bytes: Option<u64>,
    /// CPU seconds of this program in user mode, with workers and tools that have ended.
    pub own_user_seconds: f64,
    /// The same in the kernel.
    pub own_system_seconds: f64,
    /// Bytes that this program, with workers and tools that have ended, has moved to or from devices.
    pub own_disk_bytes: u64,
    /// Of these, bytes moved to devices.
    pub own_disk_written_bytes: u64,
}

/// The temperature of a disk and the one from which on it slows itself down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskHeat {
    /// Now, in degrees Celsius.
    pub celsius: f64,
    /// Its limit, in degrees Celsius.
    pub limit_celsius: f64,
}

impl DiskHeat {
    /// Degrees up to the limit; none or less at it.
    pub const fn headroom(self) -> f64 {
        self.limit_celsius - self.celsius
    }
}

/// What was added between two moments; counts that went backwards are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the counts of `Surroundings`")]
pub struct Change {
    pub seconds: f64,
    pub cpus: u32,
    /// Share of all CPUs' time that others used: everything but ours.
    pub other_load: Option<f64>,
    /// The same without time in the kernel, which may have worked for us.
    pub other_user_load: Option<f64>,
    /// Share of all CPUs' time that was stolen.
    pub steal: Option<f64>,
    /// Bytes moved to or from swap per second.
    pub swapped_bytes_per_second: Option<f64>,
    pub thermal_events: Option<u64>,
    pub power_events: Option<u64>,
    /// Bytes that the disk moved for others.
    pub other_disk_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
    pub disk_written_bytes: Option<u64>,
    pub own_disk_bytes: u64,
    pub own_disk_written_bytes: u64,
    pub disk_heat: Option<DiskHeat>,
    /// The rate of the disk's link at the end over that at the beginning.
    pub disk_link_share: Option<f64>,
    pub net_bytes: Option<u64>,
}

impl Surroundings {
    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Change {
        let seconds = self.at_seconds - earlier.at_seconds;
        let room = seconds * f64::from(self.cpus.max(1));
        let added = |now: Option<f64>, before: Option<f64>| Some(now? - before?).filter(|added| *added >= 0.0);
        let counted = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let share = |seconds: Option<f64>| seconds.filter(|_| room > 0.0).map(|seconds| seconds / room);
        let own_user = self.own_user_seconds - earlier.own_user_seconds;
        let own_system = self.own_system_seconds - earlier.own_system_seconds;
        let user = added(self.user_seconds, earlier.user_seconds).map(|user| (user - own_user).max(0.0));
        let system = added(self.system_seconds, earlier.system_seconds).map(|system| (system - own_system).max(0.0));
        let disk_bytes = counted(self.disk_bytes, earlier.disk_bytes);
        let own_disk_bytes = self.own_disk_bytes.saturating_sub(earlier.own_disk_bytes);
        Change {
            seconds,
            cpus: self.cpus,
            other_load: share(user.zip(system).map(|(user, system)| user + system)),
            other_user_load: share(user),
            steal: share(added(self.steal_seconds, earlier.steal_seconds)),
            swapped_bytes_per_second: counted(self.swapped_bytes, earlier.swapped_bytes)
                .filter(|_| seconds > 0.0)
                .map(|bytes| bytes as f64 / seconds),
            thermal_events: counted(self.thermal_events, earlier.thermal_events),
            power_events: counted(self.power_events, earlier.power_events),
            other_disk_bytes: disk_bytes.map(|bytes| bytes.saturating_sub(own_disk_bytes)),
            disk_bytes,
            disk_written_bytes: counted(self.disk_written_bytes, earlier.disk_written_bytes),
            own_disk_bytes,
            own_disk_written_bytes: self.own_disk_written_bytes.saturating_sub(earlier.own_disk_written_bytes),
            disk_heat: self.disk_heat,
            disk_link_share: self
                .disk_link_bytes_per_second
                .zip(earlier.disk_link_bytes_per_second.filter(|rate| *rate > 0))
                .map(|(now, before)| now as f64 / before as f64),
            net_bytes: counted(self.net_bytes, earlier.net_bytes),
        }
    }
}

/// The nice value that stands for a policy under which a process runs only when nothing else wants to.
pub const IDLE_NICE: i32 = 20;

/// What is set on the machine, or for this process, and bears on its speed. What cannot be read is `None`, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Present CPUs, online or not, ascending.
    pub present_cpus: Vec<u32>,
    /// CPUs that are switched on, ascending.
    pub online_cpus: Vec<u32>,
    /// CPUs of these that this process may use, by its affinity and its cpuset, ascending.
    pub allowed_cpus: Vec<u32>,
    /// Whether second hardware threads are switched off by the kernel's own switch (`smt/control`).
    pub smt_off: bool,
    /// The frequency governors in use, each once.
    pub governors: Vec<String>,
    /// The energy preferences in use, each once (`energy_performance_preference`).
    pub energy_preferences: Vec<String>,
    /// Whether clocks above the base are allowed.
    pub turbo: Option<bool>,
    /// Nice value of this process; [`IDLE_NICE`] for an idle policy.
    pub nice: Option<i32>,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// The tightest limit of this process's control groups on memory, in bytes.
    pub memory_limit_bytes: Option<u64>,
}

impl Settings {
    /// Share of the CPUs switched on that this process may not use.
    pub fn cpus_withheld(&self) -> Option<f64> {
        let (allowed, online) = (self.allowed_cpus.len(), self.online_cpus.len());
        (allowed > 0 && online > 0).then(|| (1.0 - allowed as f64 / online as f64).max(0.0))
    }

    /// CPUs that are offline, ascending; none where only second threads are off by the kernel's switch.
    pub fn offline_cpus(&self) -> Vec<u32> {
        let off: Vec<u32> = self.present_cpus.iter().filter(|cpu| !self.online_cpus.contains(cpu)).copied().collect();
        let siblings = self.smt_off && off.len() <= self.online_cpus.len();
        if siblings || self.online_cpus.is_empty() { Vec::new() } else { off }
    }

    /// Share of the CPUs that are switched off.
    pub fn cpus_offline(&self) -> Option<f64> {
        let (off, online) = (self.offline_cpus().len(), self.online_cpus.len());
        (!self.present_cpus.is_empty() && online > 0).then(|| off as f64 / (off + online) as f64)
    }

    /// A limit on memory below what the machine has, in bytes.
    pub fn memory_limit_below_machine(&self) -> Option<u64> {
        self.memory_limit_bytes.filter(|limit| self.memory_bytes.is_none_or(|all| *limit < all))
    }

    /// The governors that may hold the clock down: all but `performance`, unless the energy preference is speed.
    pub fn slow_governors(&self) -> Vec<&str> {
        const FAST: &str = "performance";
        let prefers_speed =
            !self.energy_preferences.is_empty() && self.energy_preferences.iter().all(|one| one == FAST);
        self.governors.iter().map(String::as_str).filter(|one| !prefers_speed && *one != FAST).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_withheld_or_switched_off() {
        let settings = Settings {
            present_cpus: (0..8).collect(),
            online_cpus: vec![0, 1, 2, 3, 4, 5],
            allowed_cpus: vec![0, 1, 2],
            ..Settings::default()
        };
        assert_eq!((settings.cpus_withheld(), settings.cpus_offline()), (Some(0.5), Some(0.25)));
        assert_eq!(settings.offline_cpus(), [6, 7]);
        let siblings = Settings { smt_off: true, ..settings };
        assert_eq!((siblings.offline_cpus(), siblings.cpus_offline()), (vec![], Some(0.0)));
        assert_eq!((Settings::default().cpus_withheld(), Settings::default().cpus_offline()), (None, None));
    }

    #[test]
    fn an_energy_preference_for_speed_overrides_the_governor() {
        let named = |governors: &[&str], preferences: &[&str]| Settings {
            governors: governors.iter().map(ToString::to_string).collect(),
            energy_preferences: preferences.iter().map(ToString::to_string).collect(),
            ..Settings::default()
        };
        assert_eq!(named(&["performance", "powersave"], &[]).slow_governors(), ["powersave"]);
        assert_eq!(named(&["powersave"], &["balance_performance"]).slow_governors(), ["powersave"]);
        assert!(named(&["powersave"], &["performance"]).slow_governors().is_empty());
        assert!(named(&["performance"], &["balance_power"]).slow_governors().is_empty());
    }

    #[test]
    fn a_limit_above_the_memory_is_none() {
        let limited = |limit, all| Settings { memory_limit_bytes: limit, memory_bytes: all, ..Settings::default() };
        assert_eq!(limited(Some(5), Some(6)).memory_limit_below_machine(), Some(5));
        assert_eq!(limited(Some(6), Some(6)).memory_limit_below_machine(), None);
        assert_eq!(limited(Some(6), None).memory_limit_below_machine(), Some(6));
        assert_eq!(limited(None, Some(6)).memory_limit_below_machine(), None);
    }

    #[test]
    fn what_is_ours_is_not_others_and_counts_that_went_backwards_are_unknown() {
        let before =
            Surroundings { cpus: 2, user_seconds: Some(10.0), system_seconds: Some(1.0), ..Default::default() };
        let before = Surroundings { steal_seconds: Some(5.0), swapped_bytes: Some(9), ..before };
        let after = Surroundings {
            at_seconds: 2.0,
            user_seconds: Some(13.0),
            system_seconds: Some(1.5),
            own_user_seconds: 2.0,
            own_system_seconds: 0.5,
            disk_bytes: Some(5),
            steal_seconds: Some(4.0),
            swapped_bytes: Some(8),
            ..before.clone()
        };
        let change = after.since(&before);
        assert_eq!((change.other_load, change.other_user_load), (Some(0.25), Some(0.25)));
        assert_eq!((change.steal, change.swapped_bytes_per_second), (None, None));
        assert_eq!((change.disk_bytes, change.other_disk_bytes), (None, None));
    }
}
