//! What went on all over the machine while a row was measured: programs, swap, heat, traffic of others.
//!
//! The kernel counts CPU time in ticks, and what is counted of all programs less what is counted of ours is off by a
//! tick or so at each look. So launches are added up before anything is judged, and the uncertainty is taken off.

use model::document::{Conditions, DiskConditions, NetConditions};
use model::experiment::Params;
use model::number::{UnitScale, percent_tenths as percent};
use model::plan::Planned;
use model::surroundings::Change;
use model::warning::{Warning, WarningCode};

use super::disk;
use super::process_run::{ProcessRun, journal_bytes};

/// A tick of /proc/stat: what a sum may be off by at each look, and once more for what a launch leaves to be done.
const TICK_SECONDS: f64 = 0.01;

/// Bytes on loopback in a launch that are neither data nor counted: how two ends find each other and part.
const MEETING_BYTES: u64 = 64 << 10;

/// What shares are shares of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    /// Seconds inside samples, all threads.
    pub(super) timed_seconds: f64,
    /// CPUs of the row over CPUs online.
    pub(super) part_of_cpus: f64,
    /// CPU seconds that other programs used during the launches: at least, and at most.
    pub(super) others_seconds: Option<(f64, f64)>,
}

impl Scale {
    pub(super) fn of(planned: &Planned, launches: &[&ProcessRun]) -> Self {
        let online = launches.iter().map(|launch| launch.surroundings.cpus).max().filter(|cpus| *cpus > 0);
        let mut cpus = planned.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let seconds = other_seconds(launches, |around| around.other_load);
        Self {
            timed_seconds: launches.iter().map(|launch| launch.seen.timed_seconds).sum(),
            part_of_cpus: online.map_or(0.0, |online| (cpus.len() as f64 / f64::from(online)).min(1.0)),
            others_seconds: seconds.map(|seconds| {
                let uncertain = uncertain_seconds(launches);
                ((seconds - uncertain).max(0.0), seconds + uncertain)
            }),
        }
    }

    /// How much of a share of the threads' time other programs can have taken: all of it, where they used as many CPU
    /// seconds at most; else what they certainly used.
    pub(super) fn by_programs(&self, share: f64) -> f64 {
        match self.others_seconds {
            Some((at_least, at_most)) if share * self.timed_seconds > at_most => at_least / self.timed_seconds,
            _ => share,
        }
    }
}

/// By how much the CPU seconds of others may be off.
fn uncertain_seconds(launches: &[&ProcessRun]) -> f64 {
    TICK_SECONDS * (launches.len() + 1) as f64
}

/// CPU seconds of others over all launches; `None` where one of them does not say.
fn other_seconds(launches: &[&ProcessRun], share: fn(&Change) -> Option<f64>) -> Option<f64> {
    let of = |launch: &&ProcessRun| Some(share(&launch.surroundings)? * room(&launch.surroundings));
    launches.iter().map(of).sum::<Option<f64>>().filter(|_| !launches.is_empty())
}

/// CPU seconds that there were.
fn room(around: &Change) -> f64 {
    around.seconds * f64::from(around.cpus.max(1))
}

/// Puts into the conditions what all launches saw around them.
pub(super) fn conditions(planned: &Planned, launches: &[&ProcessRun], conditions: &mut Conditions) {
    let waiting = launches.iter().any(|launch| launch.seen.waiting);
    // For rows that wait the kernel works, and nobody says for whom.
    let share: fn(&Change) -> Option<f64> =
        if waiting { |around| around.other_user_load } else { |around| around.other_load };
    let rooms: f64 = launches.iter().map(|launch| room(&launch.surroundings)).sum();
    let seconds: f64 = launches.iter().map(|launch| launch.surroundings.seconds).sum();
    conditions.other_load = other_seconds(launches, share)
        .filter(|_| rooms > 0.0)
        .map(|others| (others - uncertain_seconds(launches)).max(0.0) / rooms);
    let swapped =
        |launch: &&ProcessRun| Some(launch.surroundings.swapped_bytes_per_second? * launch.surroundings.seconds);
    let swapped: Option<f64> = launches.iter().map(swapped).sum();
    conditions.swapped_bytes_per_second = swapped.filter(|_| seconds > 0.0).map(|bytes| bytes / seconds);
    let events =
        |of: fn(&Change) -> Option<u64>| launches.iter().map(|launch| of(&launch.surroundings)).sum::<Option<u64>>();
    let any = !launches.is_empty();
    conditions.thermal_events = events(|around| around.thermal_events).filter(|_| any);
    conditions.power_events = events(|around| around.power_events).filter(|_| any);
    if let Some(disk) = &mut conditions.disk {
        disk.other_share = other_disk_share(planned, launches);
    }
    if let Some(net) = &mut conditions.net {
        net.other_share = other_net_share(launches);
    }
}

/// Bytes that the device moved for others over all that it moved; `None` for rows without a device, and for those that
/// the page cache may serve: their own bytes reach the device at any time. Where it wrote so much more than we did that
/// the row is called amplified, only what it read is held to be others'.
fn other_disk_share(planned: &Planned, launches: &[&ProcessRun]) -> Option<f64> {
    let Params::Disk(params) = &planned.experiment.params else { return None };
    if !disk::request::goes_past_the_cache(params) {
        return None;
    }
    let amplified = disk::is_amplified(params, launches);
    others(
        launches,
        |launch| journal_bytes(&launch.surroundings),
        |launch| {
            let around = &launch.surroundings;
            let written = around.disk_written_bytes.filter(|_| amplified).unwrap_or(0);
            let others = around.other_disk_bytes?.saturating_sub(written.saturating_sub(around.own_disk_written_bytes));
            Some((others, around.disk_bytes?))
        },
    )
}

/// Bytes that the interface carried for others over all that it carried.
fn other_net_share(launches: &[&ProcessRun]) -> Option<f64> {
    others(
        launches,
        |_| MEETING_BYTES,
        |launch| {
            let (all, ours) = (launch.surroundings.net_bytes?, launch.seen.net.as_ref()?.link_bytes?);
            Some((all.saturating_sub(ours), all))
        },
    )
}

/// The share of others over all launches, from bytes of others and of all; so many bytes of others a launch are none.
fn others(
    launches: &[&ProcessRun],
    allowed_bytes: impl Fn(&ProcessRun) -> u64,
    bytes: impl Fn(&ProcessRun) -> Option<(u64, u64)>,
) -> Option<f64> {
    let (mut others, mut all) = (0, 0);
    for launch in launches {
        let (of_others, of_all) = bytes(launch)?;
        others += of_others.saturating_sub(allowed_bytes(launch));
        all += of_all;
    }
    (all > 0).then(|| others as f64 / all as f64)
}

/// The warnings of what went on around, but for the programs beside it.
pub(super) fn warnings(conditions: &Conditions) -> Vec<Warning> {
    let threads = conditions.cpus.len() * conditions.launches.unwrap_or(1).max(1) as usize;
    let migrated = conditions.migrated_threads.unwrap_or(0);
    let swapped = conditions.swapped_bytes_per_second.unwrap_or(0.0);
    let remote = conditions.remote_pages.unwrap_or(0.0);
    let (hot, power) = (conditions.thermal_events.unwrap_or(0), conditions.power_events.unwrap_or(0));
    let disk = conditions.disk.as_ref().and_then(|disk: &DiskConditions| disk.other_share).unwrap_or(0.0);
    let net = conditions.net.as_ref().and_then(|net: &NetConditions| net.other_share).unwrap_or(0.0);
    let interface = conditions.net.as_ref().and_then(|net| net.interface.as_deref()).unwrap_or("the interface");
    [
        Warning::when(WarningCode::Migrated, f64::from(migrated) / threads.max(1) as f64, || {
            format!("{migrated} of {threads} threads were no longer on the CPU that they had been pinned to.")
        }),
        Warning::when(WarningCode::Swapping, swapped, || {
            format!("{} a second went to or came from swap.", UnitScale::KIBIBYTES.fixed(swapped, 0))
        }),
        Warning::when(WarningCode::RemotePages, remote, || {
            format!("{} of the buffers' pages are on another node.", percent(remote))
        }),
        Warning::when(WarningCode::ThermalLimit, hot as f64, || format!("Cores or packages were too hot {hot} times.")),
        Warning::when(WarningCode::PowerLimit, power as f64, || {
            format!("Cores or packages ran into their power limit {power} times.")
        }),
        Warning::when(WarningCode::OtherDiskTraffic, disk, || {
            format!("{} of the device's bytes were not ours.", percent(disk))
        }),
        Warning::when(WarningCode::OtherNetTraffic, net, || {
            format!("{} of the bytes on {interface} were not ours.", percent(net))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use model::experiment::DiskParams;
    use model::io::{DiskEngine, DiskOp};
    use model::wire::Observations;

    use super::super::process_run::JOURNAL_BYTES;
    use super::*;
    use crate::tests::{disk_params, planned};

    fn launched(surroundings: Change) -> ProcessRun {
        ProcessRun { surroundings, ..ProcessRun::default() }
    }

    /// Half a second on two CPUs, one of which we used.
    fn quiet() -> Change {
        Change { seconds: 0.5, cpus: 2, other_load: Some(0.0), other_user_load: Some(0.0), ..Change::default() }
    }

    fn seen(launches: &[ProcessRun]) -> Conditions {
        let mut seen = Conditions::default();
        conditions(&planned(), &launches.iter().collect::<Vec<_>>(), &mut seen);
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
    }

    #[test]
    fn what_the_kernel_does_for_rows_that_wait_is_no_load() {
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
        assert_eq!(with(Some(0.0)).by_programs(0.04), 0.04, "too little to tell");
        assert_eq!(with(None).by_programs(0.9), 0.9);
    }

    #[test]
    fn swap_heat_and_power_are_added_up() {
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
    }

    #[test]
    fn moved_threads_and_remote_pages_are_named() {
        let found = |migrated, remote_pages| {
            codes(&Conditions { migrated_threads: Some(migrated), remote_pages, ..Conditions::default() })
        };
        assert_eq!(found(1, Some(0.06)), ["migrated", "remote_pages"]);
        assert!(found(0, Some(0.04)).is_empty() && found(0, None).is_empty());
    }

    #[test]
    fn bytes_of_others_on_the_disk_are_beyond_ours_and_the_journals() {
        let mut planned = planned();
        planned.experiment.params = Params::Disk(disk_params(1));
        let share = |planned: &Planned, other_disk_bytes: u64| {
            let change = Change { disk_bytes: Some(100 << 20), other_disk_bytes: Some(other_disk_bytes), ..quiet() };
            let launch = launched(change);
            let mut found = Conditions { disk: Some(DiskConditions::default()), ..Conditions::default() };
            conditions(planned, &[&launch, &launch], &mut found);
            (found.disk.as_ref().unwrap().other_share, codes(&found))
        };
        assert_eq!(share(&planned, 1 << 20), (Some(0.0), vec![]));
        assert_eq!(share(&planned, 3 << 19), (Some(0.005), vec![]));
        assert_eq!(share(&planned, 5 << 20), (Some(0.04), vec!["other_disk_traffic".to_owned()]));
        assert_eq!(share(&planned, 51 << 20), (Some(0.5), vec!["other_disk_traffic".to_owned()]));
        let params = |direct, engine| Params::Disk(DiskParams { direct, engine, ..disk_params(1) });
        planned.experiment.params = params(false, DiskEngine::Sync);
        assert_eq!(share(&planned, 51 << 20), (None, vec![]), "its own may come at any time");
        planned.experiment.params = params(true, DiskEngine::Null);
        assert_eq!(share(&planned, 51 << 20), (None, vec![]), "nothing is asked of a device");
    }

    #[test]
    fn a_longer_launch_allows_the_journal_more() {
        let of = |seconds| journal_bytes(&Change { seconds, ..quiet() }) / JOURNAL_BYTES;
        assert_eq!([0.2, 1.0, 2.5, f64::NAN].map(of), [1, 1, 3, 0]);
    }

    #[test]
    fn what_a_file_system_writes_more_than_we_do_is_not_others() {
        let mut planned = planned();
        let params = DiskParams { op: DiskOp::Write, ..disk_params(1) };
        planned.experiment.params = Params::Disk(params);
        let share = |written: u64, read: u64| {
            let change = Change {
                disk_bytes: Some((written + read) << 20),
                disk_written_bytes: Some(written << 20),
                own_disk_bytes: 100 << 20,
                own_disk_written_bytes: 100 << 20,
                other_disk_bytes: Some((written + read - 100) << 20),
                ..quiet()
            };
            let mut found = Conditions { disk: Some(DiskConditions::default()), ..Conditions::default() };
            conditions(&planned, &[&launched(change)], &mut found);
            found.disk.unwrap().other_share.unwrap()
        };
        assert_eq!((share(200, 0), share(105, 0)), (0.0, 4.0 / 105.0));
        assert!((share(200, 201) - 200.0 / 401.0).abs() < 1e-9, "what it read is");
    }

    #[test]
    fn bytes_of_others_on_the_interface_are_beyond_our_connections() {
        let share = |all: u64, link_bytes| {
            let net = Some(NetConditions { link_bytes, ..NetConditions::default() });
            let seen = Observations { waiting: true, net: net.clone(), ..Observations::default() };
            let launch = ProcessRun { seen, ..launched(Change { net_bytes: Some(all), ..quiet() }) };
            let mut found = Conditions { net, ..Conditions::default() };
            conditions(&planned(), &[&launch], &mut found);
            (found.net.as_ref().unwrap().other_share, codes(&found))
        };
        assert_eq!(share((64 << 10) + 1000, Some(1000)), (Some(0.0), vec![]));
        assert_eq!(share(1000, Some(1010)), (Some(0.0), vec![]));
        let (other, found) = share(10 << 20, Some(5 << 20));
        assert!((other.unwrap() - 0.494).abs() < 1e-3 && found == ["other_net_traffic"], "{other:?} {found:?}");
        assert_eq!(share(10 << 20, None), (None, vec![]));
    }
}
