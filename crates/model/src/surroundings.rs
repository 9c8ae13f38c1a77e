//! What goes on around a measurement: counts that the kernel keeps of the whole machine, read at one moment, and what
//! was added between two.
//!
//! Plain data; `machine` reads it, `bench` judges it.

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
    /// CPU seconds that the hypervisor gave to others, over all CPUs.
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
    /// Bytes that the interface in use has carried, received ones only on loopback (where each is sent and received).
    pub net_bytes: Option<u64>,
    /// CPU seconds of this program in user mode, with workers and tools that have ended.
    pub own_user_seconds: f64,
    /// The same in the kernel.
    pub own_system_seconds: f64,
    /// Bytes that this program, with workers and tools that have ended, has moved to or from devices.
    pub own_disk_bytes: u64,
}

/// What was added between two moments; counts that went backwards are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// Seconds in between.
    pub seconds: f64,
    /// Share of all CPUs' time that others used: everything but ours.
    pub other_load: Option<f64>,
    /// The same without time in the kernel, which may have worked for us.
    pub other_user_load: Option<f64>,
    /// Share of all CPUs' time that was stolen.
    pub steal: Option<f64>,
    /// Bytes moved to or from swap per second.
    pub swapped_bytes_per_second: Option<f64>,
    /// Times too hot.
    pub thermal_events: Option<u64>,
    /// Times at the power limit.
    pub power_events: Option<u64>,
    /// Bytes that the disk moved for others.
    pub other_disk_bytes: Option<u64>,
    /// Bytes that the disk moved in all.
    pub disk_bytes: Option<u64>,
    /// Bytes that the interface carried.
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
            net_bytes: counted(self.net_bytes, earlier.net_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_not_others() {
        let before =
            Surroundings { cpus: 2, user_seconds: Some(10.0), system_seconds: Some(1.0), ..Surroundings::default() };
        let after = Surroundings {
            at_seconds: 2.0,
            user_seconds: Some(13.0),
            system_seconds: Some(1.5),
            own_user_seconds: 2.0,
            own_system_seconds: 0.5,
            disk_bytes: Some(5),
            ..before.clone()
        };
        let change = after.since(&before);
        assert_eq!((change.other_load, change.other_user_load), (Some(0.25), Some(0.25)));
        assert_eq!((change.steal, change.disk_bytes, change.other_disk_bytes), (None, None, None));
    }

    #[test]
    fn counts_that_went_backwards_are_unknown() {
        let before =
            Surroundings { user_seconds: Some(5.0), swapped_bytes: Some(9), cpus: 1, ..Surroundings::default() };
        let after = Surroundings { user_seconds: Some(4.0), swapped_bytes: Some(8), at_seconds: 1.0, ..before.clone() };
        let change = after.since(&before);
        assert_eq!((change.other_user_load, change.swapped_bytes_per_second), (None, None));
    }
}
