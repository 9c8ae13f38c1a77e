//! `assay doctor`: checks in five seconds whether results measured now can be trusted.
//!
//! It reads settings, watches other processes, and runs our own kernel briefly. It stores and changes nothing.

mod probing;
mod rules;
mod settings;
mod waiting;
mod watching;

use std::path::PathBuf;
use std::time::Duration;

use areas::{Request, Suite, plan};
use machine::{Declared, Sysroot, Watched};
use model::doctor::{Check, CheckStatus, Diagnosis, SCHEMA};
use model::document::Program;
use model::machine::Machine;
use model::warning::{WARNINGS, WarningCode};
use sys::clock::{Calibration, Source as TimerSource, monotonic_raw_seconds};

use crate::references::catalogue;
use crate::references::detect::Places;
use crate::runner::{Setting, WorkerCommand};

use model::disk_target::DiskTarget;
use model::plan::Plan;
use settings::Swap;
pub(crate) use waiting::{Host, Source, wait_until_quiet};

const NOTHING_NEW_SECONDS: f64 = 4.6;
/// Maximum and minimum seconds of watching.
const WATCH_SECONDS: [f64; 2] = [2.0, 1.0];
/// Seconds reserved in addition to the probe's own: warm-ups, and workers that start slowly on a busy host.
const RESERVE_SECONDS: f64 = 0.5;
const VERSION_SECONDS: f64 = 0.5;
const CALIBRATION: Duration = Duration::from_millis(1);
const LOOPBACK: &str = "lo";

#[derive(Debug)]
pub struct Patient {
    pub worker: WorkerCommand,
    pub program: Program,
    pub places: Places,
    /// The store, where disks are measured by default.
    pub store: Option<PathBuf>,
    /// `CLOCK_MONOTONIC_RAW` at program start, in seconds.
    pub began: f64,
}

/// Names of all checks in display order: warnings first.
pub fn check_names() -> Vec<&'static str> {
    let warned = WARNINGS.iter().map(|rule| rule.code).filter(|code| probing::concerns(*code));
    let mut names: Vec<&'static str> = warned.map(WarningCode::name).collect();
    let own: Vec<&str> = rules::RULES.iter().map(|rule| rule.name).filter(|name| !names.contains(name)).collect();
    names.extend(own);
    names
}

/// Examines this machine. What cannot be checked is reported as such. After a stop signal the result is meaningless.
pub fn diagnose(patient: &Patient) -> Diagnosis {
    // Before watching, so that the tools' own CPU time does not count as load.
    let references = catalogue::found(&patient.places, VERSION_SECONDS);
    let machine = machine::discover(&Sysroot::host());
    let disk = patient.store.clone().map(|directory| crate::target::look(directory, false));
    let mut found = found_settings(&machine, disk.as_ref());
    let probe = probing::plan_of(&machine);
    found.extend(watch(patient, disk.as_ref(), probe.as_ref().map_or(0.0, Plan::expected_seconds)));
    let (worker, program, declared) = (patient.worker.clone(), patient.program.clone(), Declared::default());
    let setting = Setting {
        time_budget: Some(NOTHING_NEW_SECONDS),
        ..Setting::new(worker, program, &machine, &declared, patient.began)
    };
    let rows = probe.and_then(|plan| probing::measure(&plan, &setting));
    found.extend(probing::checks(&rows));
    let checks = worst_of_each(&found);
    Diagnosis {
        schema: SCHEMA.to_owned(),
        quotable: checks.iter().all(|check| check.status != CheckStatus::Bad),
        seconds: monotonic_raw_seconds() - patient.began,
        checks,
        references,
    }
}

fn found_settings(machine: &Machine, disk: Option<&DiskTarget>) -> Vec<Check> {
    let suite = Suite::embedded("quick").ok();
    let sizes = suite.iter().flat_map(|suite| &suite.disk).flat_map(|block| &block.size);
    let file_bytes = sizes.copied().max().unwrap_or(0);
    let request = suite.map(|suite| Request { disk: disk.cloned(), ..crate::host::request(suite, machine) });
    let rows = request.and_then(|request| plan(&request, machine).ok()).map(|plan| plan.rows).unwrap_or_default();
    let root = Sysroot::host();
    settings::checks(&settings::Facts {
        machine,
        settings: &machine::settings(&root),
        rows: &rows,
        disk,
        file_bytes,
        counter: Calibration::begin().finish(CALIBRATION).source() == TimerSource::Counter,
        swap: swap(&root.text("proc/meminfo").unwrap_or_default()),
        no_loopback: crate::net::no_loopback().as_deref(),
    })
}

fn swap(meminfo: &str) -> Swap {
    let kilobytes = |key: &str| -> Option<f64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    match (kilobytes("SwapTotal"), kilobytes("SwapFree")) {
        (Some(total), _) if total <= 0.0 => Swap::Absent,
        (Some(total), Some(free)) => Swap::Used(1.0 - free / total),
        _ => Swap::Unknown,
    }
}

fn watch(patient: &Patient, disk: Option<&DiskTarget>, probe_seconds: f64) -> Vec<Check> {
    let devices = disk.into_iter().flat_map(|disk| &disk.storage.chain).map(|device| device.name.clone());
    let watched = Watched { disks: devices.collect(), interface: Some(LOOPBACK.to_owned()) };
    let mut host = Host(watched);
    let left = NOTHING_NEW_SECONDS - RESERVE_SECONDS - probe_seconds - (monotonic_raw_seconds() - patient.began);
    let [most, least] = WATCH_SECONDS;
    let before = host.look();
    let after = waiting::look_after(left.clamp(least, most), &mut host);
    watching::checks(&before, &after)
}

fn worst_of_each(found: &[Check]) -> Vec<Check> {
    let rank = |check: &&Check| (check.status, !check.advice.is_empty());
    let worst = |name: &&'static str| {
        // Of equal ones the first.
        let found = found.iter().rev().filter(|check| check.code == *name).max_by_key(rank);
        found.cloned().unwrap_or_else(|| rules::passed(name, "Not checked: the probe did not get that far."))
    };
    check_names().iter().map(worst).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_place() {
        let names = check_names();
        for name in &names {
            assert_eq!(names.iter().filter(|other| other == &name).count(), 1, "{name}");
            let known = name.parse::<WarningCode>().is_ok() || rules::Rule::find(name).is_some();
            assert!(known, "{name}");
        }
        assert!(names.len() > 30 && names[0] == "debug_build" && names.contains(&"io_uring"), "{names:?}");
    }

    #[test]
    fn the_worst_check_of_a_name_is_reported_and_none_is_missing() {
        let found = [
            rules::passed("steal", "Nothing."),
            rules::judged(WarningCode::Steal, 0.5, "Much."),
            rules::judged(WarningCode::Steal, 0.01, "Some."),
            rules::judged(WarningCode::Governor, 1.0, "Slow."),
            rules::passed("governor", "Fine."),
        ];
        let checks = worst_of_each(&found);
        assert_eq!(checks.iter().map(|check| check.code.as_str()).collect::<Vec<_>>(), check_names());
        let text = |code: &str| checks.iter().find(|check| check.code == code).unwrap().text.clone();
        assert!(text("steal").starts_with("Much.") && text("governor").starts_with("Slow."));
        assert!(text("io_uring").starts_with("Not checked"));
    }

    #[test]
    fn swap_is_read_or_absent_or_unknown() {
        assert_eq!(swap("SwapTotal:       1000 kB\nSwapFree:         250 kB\n"), Swap::Used(0.75));
        assert_eq!(swap("SwapTotal:          0 kB\nSwapFree:           0 kB\n"), Swap::Absent);
        for unknown in ["SwapTotal: many kB\nSwapFree: 1 kB\n", "SwapTotal: 1000 kB\n", ""] {
            assert_eq!(swap(unknown), Swap::Unknown, "a machine that hides it may have some");
        }
    }
}
