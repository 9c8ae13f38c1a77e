//! What other processes did while we were idle: checks from two looks at the kernel's counters. Pure.

use model::doctor::Check;
use model::number::{UnitScale, byte_rate, percent_tenths as percent};
use model::surroundings::Surroundings;
use model::warning::WarningCode;

use super::rules::{by_rule, judged, known};

/// Resolution of /proc/stat: `USER_HZ`.
const TICK_SECONDS: f64 = 0.01;
/// Possible error of a difference, in ticks; load is the sum of two counters.
const LOAD_TICKS: f64 = 2.0;
const STEAL_TICKS: f64 = 1.0;
/// A file system's own writes: journal commits, times of files. ext4 writes up to 200 KiB.
const JOURNAL_BYTES: u64 = 256 << 10;

pub(super) fn checks(before: &Surroundings, after: &Surroundings) -> Vec<Check> {
    others(before, after).into_iter().chain(pressure(before, after)).collect()
}

/// Changes that come and go with other processes, so that waiting helps.
pub(super) fn others(before: &Surroundings, after: &Surroundings) -> Vec<Check> {
    let change = after.since(before);
    let room = change.seconds * f64::from(after.cpus.max(1));
    let less = |share: f64, ticks: f64| if room > 0.0 { (share - ticks * TICK_SECONDS / room).max(0.0) } else { share };
    let disk = change.other_disk_bytes.map(|bytes| bytes.saturating_sub(JOURNAL_BYTES));
    let steal = change.steal.map(|share| less(share, STEAL_TICKS));
    let load = change.other_load.map(|share| less(share, LOAD_TICKS));
    let per_second =
        |bytes: Option<u64>| bytes.filter(|_| change.seconds > 0.0).map(|bytes| bytes as f64 / change.seconds);
    vec![
        of(WarningCode::Steal, steal, "stolen time", |share| {
            format!("The hypervisor stole {} of the CPU time.", percent(share))
        }),
        of(WarningCode::OtherLoad, load, "the CPUs' time", |share| {
            format!("Other processes used {} of the CPU time while no benchmark ran.", percent(share))
        }),
        of(WarningCode::Swapping, change.swapped_bytes_per_second, "swapping", |rate| {
            format!("The kernel swapped {} in or out.", rate_in_words(rate))
        }),
        events(WarningCode::ThermalLimit, change.thermal_events, "too hot"),
        events(WarningCode::PowerLimit, change.power_events, "at its power limit"),
        traffic(WarningCode::OtherDiskTraffic, per_second(disk), "The disk", "the disk's traffic"),
        traffic(WarningCode::OtherNetTraffic, per_second(change.net_bytes), "Loopback", "the interface's traffic"),
    ]
}

fn rate_in_words(rate: f64) -> String {
    if rate >= 1e6 { byte_rate(rate) } else { UnitScale::KILOBYTES_PER_SECOND.fixed(rate, 0) }
}

fn of(code: WarningCode, value: Option<f64>, what: &str, sentence: impl FnOnce(f64) -> String) -> Check {
    known(code.name(), value, what, |value| judged(code, value, &sentence(value)))
}

fn events(code: WarningCode, count: Option<u64>, what: &str) -> Check {
    of(code, count.map(|count| count as f64), &format!("when a processor is {what}"), |_| match count {
        Some(0) | None => format!("No processor was {what}."),
        Some(count) => format!("A processor was {what} {count} times."),
    })
}

/// Judged by rate, because there is no traffic of ours to compare with.
fn traffic(code: WarningCode, rate: Option<f64>, carrier: &str, what: &str) -> Check {
    known(code.name(), rate, what, |rate| {
        by_rule(code.name(), rate, &format!("{carrier} carried {} of other processes.", rate_in_words(rate)))
    })
}

fn pressure(before: &Surroundings, after: &Surroundings) -> [Check; 3] {
    let seconds = after.at_seconds - before.at_seconds;
    let check = |name: &str, what: &str, of: fn(&Surroundings) -> Option<f64>| {
        let waited = of(after).zip(of(before)).map(|(after, before)| after - before);
        let share = waited.filter(|waited| seconds > 0.0 && *waited >= 0.0).map(|waited| waited / seconds);
        known(name, share, &format!("which tasks wait for {what} (/proc/pressure)"), |share| {
            by_rule(name, share, &format!("Some task waited for {what} for {} of the time.", percent(share)))
        })
    };
    [
        check("cpu_pressure", "a CPU", |counts| counts.cpu_pressure_seconds),
        check("memory_pressure", "memory", |counts| counts.memory_pressure_seconds),
        check("io_pressure", "a device", |counts| counts.io_pressure_seconds),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::doctor::CheckStatus;

    pub(in crate::doctor) fn quiet_at(seconds: f64) -> Surroundings {
        Surroundings {
            at_seconds: seconds,
            cpus: 2,
            user_seconds: Some(10.0),
            system_seconds: Some(5.0),
            steal_seconds: Some(1.0),
            swapped_bytes: Some(0),
            cpu_pressure_seconds: Some(1.0),
            memory_pressure_seconds: Some(1.0),
            io_pressure_seconds: Some(1.0),
            thermal_events: Some(0),
            power_events: Some(0),
            disk_bytes: Some(0),
            net_bytes: Some(0),
            ..Surroundings::default()
        }
    }

    fn found(change: impl FnOnce(&mut Surroundings)) -> Vec<(String, CheckStatus)> {
        let mut after = quiet_at(2.0);
        change(&mut after);
        let checks = checks(&quiet_at(0.0), &after);
        let not_ok = checks.into_iter().filter(|check| check.status != CheckStatus::Ok);
        not_ok.map(|check| (check.code, check.status)).collect()
    }

    fn one(code: &str, status: CheckStatus) -> Vec<(String, CheckStatus)> {
        vec![(code.to_owned(), status)]
    }

    #[test]
    fn a_quiet_machine_has_nothing_against_it() {
        assert!(found(|_| {}).is_empty());
        assert!(found(|after| after.user_seconds = Some(10.05)).is_empty(), "a few ticks are no load");
        assert!(found(|after| after.steal_seconds = Some(1.01)).is_empty(), "a tick is no steal");
        assert!(found(|after| (after.disk_bytes, after.net_bytes) = (Some(100_000), Some(1_000_000))).is_empty());
    }

    #[test]
    fn each_disturbance_is_named_once_and_by_the_table() {
        use CheckStatus::{Bad, Warning};
        assert_eq!(found(|after| after.user_seconds = Some(10.15)), one("other_load", Warning));
        assert_eq!(found(|after| after.user_seconds = Some(12.0)), one("other_load", Bad));
        assert_eq!(found(|after| after.system_seconds = Some(6.0)), one("other_load", Bad));
        assert_eq!(found(|after| after.steal_seconds = Some(1.05)), one("steal", Warning));
        assert_eq!(found(|after| after.swapped_bytes = Some(16_384)), one("swapping", Warning));
        assert_eq!(found(|after| after.thermal_events = Some(3)), one("thermal_limit", Warning));
        assert_eq!(found(|after| after.power_events = Some(1)), one("power_limit", Warning));
        assert_eq!(found(|after| after.disk_bytes = Some(3_000_000)), one("other_disk_traffic", Warning));
        assert_eq!(found(|after| after.disk_bytes = Some(300_000_000)), one("other_disk_traffic", Bad));
        assert_eq!(found(|after| after.net_bytes = Some(30_000_000)), one("other_net_traffic", Warning));
        assert_eq!(found(|after| after.cpu_pressure_seconds = Some(1.5)), one("cpu_pressure", Warning));
        assert_eq!(found(|after| after.memory_pressure_seconds = Some(1.5)), one("memory_pressure", Bad));
        assert_eq!(found(|after| after.io_pressure_seconds = Some(1.5)), one("io_pressure", Warning));
    }

    #[test]
    fn what_we_did_ourselves_is_not_held_against_the_machine() {
        let ours = |after: &mut Surroundings| {
            (after.user_seconds, after.own_user_seconds) = (Some(12.0), 2.0);
            (after.disk_bytes, after.own_disk_bytes) = (Some(50_000_000), 50_000_000);
        };
        assert!(found(ours).is_empty());
    }

    #[test]
    fn unknown_counters_are_reported_and_do_not_fail() {
        let nothing = |seconds| Surroundings { at_seconds: seconds, ..Surroundings::default() };
        let checks = checks(&nothing(0.0), &nothing(2.0));
        assert!(checks.iter().all(|check| check.status == CheckStatus::Ok), "{checks:#?}");
        assert!(checks.iter().all(|check| check.text.starts_with("Unknown")), "{checks:#?}");
        let at_once = super::checks(&quiet_at(1.0), &quiet_at(1.0));
        assert!(at_once.iter().all(|check| check.status == CheckStatus::Ok), "{at_once:#?}");
    }
}
