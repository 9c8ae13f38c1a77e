//! Other programs, swap, heat and traffic during the process runs.
//!
//! The kernel counts CPU time in ticks, so process runs are added up and the uncertainty is subtracted.

use std::collections::BTreeSet;

use model::document::{Conditions, DiskConditions, NetConditions};
use model::number::{UnitScale, percent_tenths as percent};
use model::plan::Planned;
use model::surroundings::Change;
use model::warning::{Warning, WarningCode};

use crate::rules::ProcessRun;

/// A tick of /proc/stat.
pub(super) const TICK_SECONDS: f64 = 0.01;

/// What shares are shares of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    pub(super) timed_seconds: f64,
    pub(super) part_of_cpus: f64,
    /// CPU seconds that other programs used during the process runs: at least, and at most.
    pub(super) others_seconds: Option<(f64, f64)>,
}

impl Scale {
    pub(super) fn of(planned: &Planned, runs: &[&ProcessRun]) -> Self {
        let online = runs.iter().map(|run| run.surroundings.cpus).max().filter(|cpus| *cpus > 0);
        let cpus = planned.cpus.iter().collect::<BTreeSet<_>>().len();
        let seconds = other_seconds(runs, |around| around.other_load);
        let uncertain = uncertain_seconds(runs);
        Self {
            timed_seconds: runs.iter().map(|run| run.seen.timed_seconds).sum(),
            part_of_cpus: online.map_or(0.0, |online| (cpus as f64 / f64::from(online)).min(1.0)),
            others_seconds: seconds.map(|seconds| ((seconds - uncertain).max(0.0), seconds + uncertain)),
        }
    }

    /// The part of a share of the threads' time that other programs can have taken, by the seconds they used.
    pub(super) fn by_programs(&self, share: f64) -> f64 {
        match self.others_seconds {
            Some((at_least, at_most)) if share * self.timed_seconds > at_most => at_least / self.timed_seconds,
            _ => share,
        }
    }
}

/// The error of the CPU seconds of other programs: a tick at each look, and one for the work that a process run leaves.
fn uncertain_seconds(runs: &[&ProcessRun]) -> f64 {
    TICK_SECONDS * (runs.len() + 1) as f64
}

/// CPU seconds of other programs over all process runs; `None` where one of them does not know.
fn other_seconds(runs: &[&ProcessRun], share: fn(&Change) -> Option<f64>) -> Option<f64> {
    let of = |run: &&ProcessRun| Some(share(&run.surroundings)? * available_seconds(&run.surroundings));
    runs.iter().map(of).sum::<Option<f64>>().filter(|_| !runs.is_empty())
}

fn available_seconds(around: &Change) -> f64 {
    around.seconds * f64::from(around.cpus.max(1))
}

pub(super) fn conditions(runs: &[&ProcessRun], conditions: &mut Conditions) {
    // For benchmarks that wait the kernel works, and does not count for whom.
    let waiting = runs.iter().any(|run| run.seen.waiting);
    let share: fn(&Change) -> Option<f64> =
        if waiting { |around| around.other_user_load } else { |around| around.other_load };
    let around = || runs.iter().map(|run| &run.surroundings);
    let available: f64 = around().map(available_seconds).sum();
    let seconds: f64 = around().map(|around| around.seconds).sum();
    conditions.other_load = other_seconds(runs, share)
        .filter(|_| available > 0.0)
        .map(|others| (others - uncertain_seconds(runs)).max(0.0) / available);
    let swapped: Option<f64> = around().map(|around| Some(around.swapped_bytes_per_second? * around.seconds)).sum();
    conditions.swapped_bytes_per_second = swapped.filter(|_| seconds > 0.0).map(|bytes| bytes / seconds);
    let events = |of: fn(&Change) -> Option<u64>| around().map(of).sum::<Option<u64>>().filter(|_| !runs.is_empty());
    conditions.thermal_events = events(|around| around.thermal_events);
    conditions.power_events = events(|around| around.power_events);
}

/// The share of a device's traffic that other programs caused; `None` if a process run does not know it.
pub fn others_share(runs: &[&ProcessRun], bytes: impl Fn(&ProcessRun) -> Option<(u64, u64)>) -> Option<f64> {
    let (mut others, mut all) = (0, 0);
    for run in runs {
        let (of_others, of_all) = bytes(run)?;
        others += of_others;
        all += of_all;
    }
    (all > 0).then(|| others as f64 / all as f64)
}

/// The warnings about the surroundings, except the load of other programs.
pub(super) fn warnings(conditions: &Conditions) -> Vec<Warning> {
    let threads = conditions.cpus.len() * conditions.launches.unwrap_or(1).max(1) as usize;
    let migrated = conditions.migrated_threads.unwrap_or(0);
    let swapped = conditions.swapped_bytes_per_second.unwrap_or(0.0);
    let remote = conditions.remote_pages.unwrap_or(0.0);
    let (hot, power) = (conditions.thermal_events.unwrap_or(0), conditions.power_events.unwrap_or(0));
    let disk = conditions.disk.as_ref().and_then(|disk: &DiskConditions| disk.other_share).unwrap_or(0.0);
    let net = conditions.net.as_ref().and_then(|net: &NetConditions| net.other_share).unwrap_or(0.0);
    let interface = conditions.net.as_ref().and_then(|net| net.interface.as_deref()).unwrap_or("the interface");
    let found = [
        Warning::when(WarningCode::Migrated, f64::from(migrated) / threads.max(1) as f64, || {
            format!("{migrated} of {threads} threads left the CPU that they were pinned to.")
        }),
        Warning::when(WarningCode::Swapping, swapped, || {
            format!("Swap traffic was {} per second.", UnitScale::KIBIBYTES.fixed(swapped, 0))
        }),
        Warning::when(WarningCode::RemotePages, remote, || {
            format!("{} of the buffers' pages are on another NUMA node.", percent(remote))
        }),
        Warning::when(WarningCode::ThermalLimit, hot as f64, || {
            format!("Cores or packages reached their temperature limit {hot} times.")
        }),
        Warning::when(WarningCode::PowerLimit, power as f64, || {
            format!("Cores or packages reached their power limit {power} times.")
        }),
        Warning::when(WarningCode::OtherDiskTraffic, disk, || {
            format!("Other processes caused {} of the device's traffic.", percent(disk))
        }),
        Warning::when(WarningCode::OtherNetTraffic, net, || {
            format!("Other processes caused {} of the traffic on {interface}.", percent(net))
        }),
    ];
    found.into_iter().flatten().collect()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact values")]
mod tests {
    use model::wire::Observations;

    use super::*;
    use crate::tests::planned;

    fn launched(surroundings: Change) -> ProcessRun {
        ProcessRun { surroundings, ..ProcessRun::default() }
    }

    fn quiet() -> Change {
        Change { seconds: 0.5, cpus: 2, other_load: Some(0.0), other_user_load: Some(0.0), ..Change::default() }
    }

    fn seen(launches: &[ProcessRun]) -> Conditions {
        let mut seen = Conditions::default();
        conditions(&launches.iter().collect::<Vec<_>>(), &mut seen);
        seen
    }

    fn codes(conditions: &Conditions) -> Vec<String> {
        warnings(conditions).into_iter().map(|warning| warning.code.to_string()).collect()
    }

    #[test]
    fn a_tick_here_and_there_is_nobodys_load() {
        let tick = Change { other_load: Some(0.01), ..quiet() };
        assert_eq!(seen(&vec![launched(tick); 3]).other_load, Some(0.0));
        assert_eq!(seen(&[launched(Change { other_load: Some(0.02), ..quiet() })]).other_load, Some(0.0));
        let busy = Change { other_load: Some(0.5), ..quiet() };
        let load = seen(&[launched(quiet()), launched(busy), launched(quiet())]).other_load.unwrap();
        assert!((load - (0.5 - 0.04) / 3.0).abs() < 1e-12, "{load}");
        assert_eq!(seen(&[launched(Change { other_load: None, ..quiet() })]).other_load, None);
        assert_eq!(seen(&[]), Conditions::default());
        let kernel = Change { other_load: Some(0.5), ..quiet() };
        let waiting = Observations { waiting: true, ..Observations::default() };
        let launch = ProcessRun { seen: waiting, ..launched(kernel) };
        assert_eq!(seen(&[launch]).other_load, Some(0.0));
    }

    #[test]
    fn programs_cannot_have_taken_more_than_they_used() {
        let planned = planned();
        let with = |other_load| {
            let seen = Observations { timed_seconds: 0.4, ..Observations::default() };
            let launch = ProcessRun { seen, ..launched(Change { other_load, ..quiet() }) };
            Scale::of(&planned, &[&launch])
        };
        assert_eq!(with(Some(0.5)).part_of_cpus, 0.5);
        assert_eq!(with(Some(0.5)).by_programs(0.9), 0.9);
        assert_eq!(with(Some(0.0)).by_programs(0.9), 0.0);
        assert!((with(Some(0.1)).by_programs(0.9) - 0.2).abs() < 1e-12, "0.08 s of 0.4 s");
        assert_eq!(with(Some(0.0)).by_programs(0.04), 0.04, "too little");
        assert_eq!(with(None).by_programs(0.9), 0.9);
    }

    #[test]
    fn swap_heat_and_power_are_added_up_and_moved_threads_named() {
        let troubled = Change {
            swapped_bytes_per_second: Some(9000.0),
            thermal_events: Some(2),
            power_events: Some(1),
            ..quiet()
        };
        let calm =
            Change { swapped_bytes_per_second: Some(0.0), thermal_events: Some(0), power_events: Some(0), ..quiet() };
        let found = seen(&[launched(troubled), launched(calm)]);
        assert_eq!(
            (found.swapped_bytes_per_second, found.thermal_events, found.power_events),
            (Some(4500.0), Some(2), Some(1))
        );
        assert_eq!(codes(&found), ["swapping", "thermal_limit", "power_limit"]);
        assert!(codes(&seen(&[launched(calm)])).is_empty());
        assert_eq!(seen(&[launched(quiet())]).thermal_events, None, "a hypervisor hides it");
        let found = |migrated, remote_pages| {
            codes(&Conditions { migrated_threads: Some(migrated), remote_pages, ..Conditions::default() })
        };
        assert_eq!(found(1, Some(0.06)), ["migrated", "remote_pages"]);
        assert!(found(0, Some(0.04)).is_empty() && found(0, None).is_empty());
    }
}
