//! `assay doctor`: whether numbers taken on this machine now can be trusted, in five seconds, before anything is
//! measured.
//!
//! It looks at the settings, watches what others do while we do nothing, and runs our own kernel for a moment. What a
//! row can be warned of is judged by the one table in `model::warning`; what no row can be warned of has its rule in
//! [`LOOKS`]. It stores nothing and changes nothing.

mod looks;
mod probing;
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
pub use looks::{LOOKS, Look, Thresholds};
use model::disk_target::DiskTarget;
use model::plan::{Plan, Planned};
pub use waiting::{Host, Source, Waited, wait_until_quiet};

/// Seconds after which nothing new is begun, of the five that a diagnosis may take.
const NOTHING_NEW_SECONDS: f64 = 4.6;

/// Seconds that are watched: at most, and at least.
const WATCH_SECONDS: [f64; 2] = [2.0, 1.0];

/// Seconds that are kept free after the watching, besides what the probe is expected to take: warm-ups, and workers
/// that start slowly where others keep the CPUs busy.
const RESERVE_SECONDS: f64 = 0.5;

/// Seconds within which a reference tool must say its version.
const VERSION_SECONDS: f64 = 0.5;

/// Least time over which the timer is calibrated, which here only shows its kind.
const CALIBRATION: Duration = Duration::from_millis(1);

/// The interface that network rows of one machine go through.
const LOOPBACK: &str = "lo";

/// What a diagnosis is given.
#[derive(Debug)]
pub struct Patient {
    /// How to start workers.
    pub worker: WorkerCommand,
    /// This program.
    pub program: Program,
    /// Where reference tools are looked for.
    pub places: Places,
    /// The store's directory, in which disks are measured unless another is named.
    pub store: Option<PathBuf>,
    /// `CLOCK_MONOTONIC_RAW` when the program began, in seconds.
    pub began: f64,
}

/// The names of all checks, in the order in which they are shown: warnings in their table's order, then what else is
/// looked at.
pub fn check_names() -> Vec<&'static str> {
    let warned = WARNINGS.iter().map(|rule| rule.code).filter(|code| probing::concerns(*code));
    let mut names: Vec<&'static str> = warned.map(WarningCode::name).collect();
    for look in looks::LOOKS {
        if !names.contains(&look.name) {
            names.push(look.name);
        }
    }
    names
}

/// Examines this machine. Whatever cannot be looked at is told of, and never an error. A signal to stop ends it soon,
/// and what it says then is worth nothing.
pub fn diagnose(patient: &Patient) -> Diagnosis {
    // Before anything is watched, so that the tools' own work is not taken for that of others.
    let references = catalogue::found(&patient.places, VERSION_SECONDS);
    let machine = machine::discover(&Sysroot::host());
    let disk = patient.store.clone().map(|directory| crate::target::look(directory, false));
    let mut found = found_settings(&machine, disk.as_ref());
    let probe = probing::plan_of(&machine);
    found.extend(watch(patient, disk.as_ref(), probe.as_ref().map_or(0.0, Plan::expected_seconds)));
    let rows = probe.and_then(|plan| probing::measure(&plan, &setting(patient, &machine, &Declared::default())));
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

/// The checks of how the machine is set.
fn found_settings(machine: &Machine, disk: Option<&DiskTarget>) -> Vec<Check> {
    let suite = Suite::embedded("quick").ok();
    let file_bytes =
        suite.iter().flat_map(|suite| &suite.disk).flat_map(|block| &block.size).copied().max().unwrap_or(0);
    let request = suite.map(|suite| Request { disk: disk.cloned(), ..crate::host::request(suite, machine) });
    let planned = request.and_then(|request| plan(&request, machine).ok());
    let rows: Vec<Planned> = planned.map(|plan| plan.rows).unwrap_or_default();
    let root = Sysroot::host();
    settings::checks(&settings::Facts {
        machine,
        settings: &machine::settings(&root),
        rows: &rows,
        disk,
        file_bytes,
        counter: Calibration::begin().finish(CALIBRATION).source() == TimerSource::Counter,
        swap_used: root.text("proc/meminfo").and_then(|text| swap_used(&text)),
    })
}

/// Share of the swap space that is in use; `None` where there is none.
fn swap_used(meminfo: &str) -> Option<f64> {
    let kilobytes = |key: &str| -> Option<f64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let (total, free) = (kilobytes("SwapTotal")?, kilobytes("SwapFree")?);
    (total > 0.0).then(|| 1.0 - free / total)
}

/// What others do meanwhile, while we wait.
fn watch(patient: &Patient, disk: Option<&DiskTarget>, probe_seconds: f64) -> Vec<Check> {
    let devices = disk.into_iter().flat_map(|disk| &disk.storage.chain).map(|device| device.name.clone());
    let watched = Watched { disks: devices.collect(), interface: Some(LOOPBACK.to_owned()) };
    let mut host = Host::watching(watched);
    let left = NOTHING_NEW_SECONDS - RESERVE_SECONDS - probe_seconds - (monotonic_raw_seconds() - patient.began);
    let [most, least] = WATCH_SECONDS;
    let before = host.look();
    let after = waiting::look_after(left.clamp(least, most), &mut host);
    watching::checks(&before, &after)
}

fn setting<'a>(patient: &Patient, machine: &'a Machine, declared: &'a Declared) -> Setting<'a> {
    Setting {
        worker: patient.worker.clone(),
        machine,
        declared,
        program: patient.program.clone(),
        id: String::new(),
        time_budget: Some(NOTHING_NEW_SECONDS),
        write_budget: None,
        repeats_fill_budget: false,
        wait_quiet: None,
        began: patient.began,
        verify_only: false,
        disk: None,
        places: Places::default(),
        stored: false,
        server: None,
    }
}

/// One check of each name, in the fixed order: the worst that was found; of equals the one with a figure that a rule
/// judged, else the first.
fn worst_of_each(found: &[Check]) -> Vec<Check> {
    let worst = |name: &&'static str| {
        let of_name = found.iter().filter(|check| check.code == *name);
        let better_told = |one: &Check, other: &Check| {
            let rank = |check: &Check| (check.status, !check.advice.is_empty());
            rank(other) > rank(one)
        };
        of_name.cloned().reduce(|worst, check| if better_told(&worst, &check) { check } else { worst })
    };
    let unseen = |name: &str| looks::told(name, "Not looked at: the probe has not come so far.");
    check_names().iter().map(|name| worst(name).unwrap_or_else(|| unseen(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_place() {
        let names = check_names();
        for name in &names {
            assert_eq!(names.iter().filter(|other| other == &name).count(), 1, "{name}");
            let known = name.parse::<WarningCode>().is_ok() || looks::Look::find(name).is_some();
            assert!(known, "{name}");
        }
        assert!(names.len() > 30 && names[0] == "debug_build" && names.contains(&"io_uring"), "{names:?}");
    }

    #[test]
    fn the_worst_of_a_name_is_told_and_none_is_missing() {
        let found = [
            looks::told("steal", "Nothing."),
            looks::judged(WarningCode::Steal, 0.5, "Much."),
            looks::judged(WarningCode::Steal, 0.01, "Some."),
            looks::judged(WarningCode::Governor, 1.0, "Slow."),
            looks::told("governor", "Fine."),
        ];
        let checks = worst_of_each(&found);
        assert_eq!(checks.iter().map(|check| check.code.as_str()).collect::<Vec<_>>(), check_names());
        let text = |code: &str| checks.iter().find(|check| check.code == code).unwrap().text.clone();
        assert!(text("steal").starts_with("Much.") && text("governor").starts_with("Slow."));
        assert!(text("io_uring").starts_with("Not looked at"));
    }

    #[test]
    fn swap_is_read_or_absent() {
        assert_eq!(swap_used("SwapTotal:       1000 kB\nSwapFree:         250 kB\n"), Some(0.75));
        assert_eq!(swap_used("SwapTotal:          0 kB\nSwapFree:           0 kB\n"), None);
        assert_eq!(swap_used("SwapTotal: many kB\nSwapFree: 1 kB\n"), None);
    }
}
