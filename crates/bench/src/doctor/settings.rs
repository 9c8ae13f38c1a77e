//! Checks of the machine's settings, which do not change by themselves. Pure.
//!
//! What can be measured here is taken from the quick suite's plan.

use model::doctor::Check;
use model::machine::Machine;
use model::number::{clock, percent_whole as percent, size_rounded as rounded};
use model::surroundings::{IDLE_NICE, Settings};
use model::warning::WarningCode;

use super::rules::{by_rule, judged, known, passed, remark};
use model::disk_target::DiskTarget;
use model::plan::Planned;

/// Clock sources read without a system call: `tsc` on bare metal, the others in guests (Linux, `arch/x86/entry/vdso/vma.c`).
const FAST_CLOCK_SOURCES: &[&str] = &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) machine: &'a Machine,
    pub(super) settings: &'a Settings,
    pub(super) rows: &'a [Planned],
    pub(super) disk: Option<&'a DiskTarget>,
    pub(super) file_bytes: u64,
    pub(super) counter: bool,
    pub(super) swap: Swap,
    pub(super) no_loopback: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Swap {
    Unknown,
    Absent,
    /// The share in use.
    Used(f64),
}

pub(super) fn checks(facts: &Facts<'_>) -> Vec<Check> {
    let mut checks = vec![debug_build(), quota(facts), timer(facts)];
    checks.extend(processor(facts));
    checks.extend(memory(facts));
    checks.extend(disk(facts));
    checks.push(match facts.no_loopback {
        Some(why) => by_rule("loopback", 1.0, &sentence(why)),
        None => by_rule("loopback", 0.0, "The loopback interface is up and has an address."),
    });
    checks
}

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn debug_build() -> Check {
    if cfg!(debug_assertions) {
        judged(WarningCode::DebugBuild, 1.0, "This is a debug build.")
    } else {
        passed(WarningCode::DebugBuild.name(), "This is a release build.")
    }
}

/// Only the probe shows whether the quota stops threads.
fn quota(facts: &Facts<'_>) -> Check {
    let seen = match facts.machine.cpu.quota_cpus {
        Some(cpus) => format!("A control group limits CPU time to {cpus} CPUs."),
        None => unlimited(facts.machine, "cpu.quota_cpus", "CPU time"),
    };
    passed(WarningCode::CpuQuota.name(), &seen)
}

/// No limit of a control group was found: none exists, or no mount shows it.
fn unlimited(machine: &Machine, fact: &str, what: &str) -> String {
    let unknown = machine.unknown.iter().find(|unknown| unknown.fact == fact);
    unknown.map_or_else(|| format!("No control group limits {what}."), |unknown| format!("Unknown: {}.", unknown.why))
}

fn timer(facts: &Facts<'_>) -> Check {
    let is = if facts.counter { "available and invariant" } else { "missing or not invariant" };
    judged(WarningCode::Timer, flag(!facts.counter), &format!("The time-stamp counter is {is}."))
}

fn processor(facts: &Facts<'_>) -> Vec<Check> {
    let source = facts.machine.os.clocksource.as_deref();
    let siblings = facts.machine.cpu.topology.iter().map(|place| place.siblings.len()).max().filter(|most| *most > 0);
    let mut checks = vec![
        known("clock_source", source, "its clock source", |source| {
            let slow = flag(!FAST_CLOCK_SOURCES.contains(&source));
            by_rule("clock_source", slow, &format!("The kernel's clock source is {source}."))
        }),
        known("smt_siblings", siblings, "which CPUs share a core", |siblings| match siblings {
            1 => by_rule("smt_siblings", 1.0, "Each core shows one hardware thread."),
            more => remark("smt_siblings", more as f64, &format!("Each core has {more} hardware threads.")),
        }),
    ];
    checks.push(priority(facts.settings.nice));
    checks.extend(cpus(facts.settings));
    checks.extend(clock_settings(facts.settings, facts.machine.cpu.clock_cap_hz));
    checks
}

fn priority(nice: Option<i32>) -> Check {
    let code = WarningCode::LowPriority;
    known(code.name(), nice, "the priority of this program", |nice| match nice {
        IDLE_NICE => judged(code, f64::from(IDLE_NICE), "The program runs only on idle CPUs (idle policy)."),
        nice => judged(code, f64::from(nice), &format!("The program's nice value is {nice}.")),
    })
}

fn cpus(settings: &Settings) -> Vec<Check> {
    let (allowed, online) = (settings.allowed_cpus.len(), settings.online_cpus.len());
    let there = online + settings.offline_cpus().len();
    let check = |code: WarningCode, share, what, seen: String| {
        known(code.name(), share, what, |share| judged(code, share, &seen))
    };
    let may_be_used = format!("{} may be used.", part(allowed, online));
    let are_online = format!("{} are online.", part(online, there));
    vec![
        check(WarningCode::Affinity, settings.cpus_withheld(), "which CPUs may be used", may_be_used),
        check(WarningCode::CpusOffline, settings.cpus_offline(), "which CPUs are online", are_online),
    ]
}

fn part(some: usize, all: usize) -> String {
    if some == all { format!("All CPUs ({all})") } else { format!("{some} of {all} CPUs") }
}

fn clock_settings(settings: &Settings, cap_hz: Option<f64>) -> Vec<Check> {
    let slow = settings.slow_governors();
    let governor = match settings.governors.join(", ") {
        none if none.is_empty() => passed(
            WarningCode::Governor.name(),
            "Unknown: the kernel reports no governor; firmware or a hypervisor may control the clock.",
        ),
        all if slow.is_empty() => passed(WarningCode::Governor.name(), &format!("The governor is {all}.")),
        _ => judged(WarningCode::Governor, 1.0, &format!("The governor is {}.", slow.join(", "))),
    };
    let turbo = match settings.turbo {
        None => passed(WarningCode::TurboOff.name(), "Unknown: the kernel reports no turbo setting."),
        Some(true) => {
            let cap = cap_hz
                .map_or(String::new(), |hz| format!(", and a setting of the kernel caps the clock at {}", clock(hz)));
            passed(WarningCode::TurboOff.name(), &format!("Turbo is allowed{cap}."))
        }
        Some(false) => judged(WarningCode::TurboOff, 1.0, "Turbo is switched off."),
    };
    vec![governor, turbo]
}

fn memory(facts: &Facts<'_>) -> Vec<Check> {
    let memory = &facts.machine.memory;
    let largest = facts.rows.iter().filter_map(|row| Some(row.experiment.memory()?.working_set)).max();
    let limit = match facts.settings.memory_limit_below_machine() {
        None => passed(WarningCode::MemoryLimit.name(), &unlimited(facts.machine, "memory.limit_bytes", "memory")),
        Some(limit) => {
            let needed = largest.unwrap_or(0) as f64 / limit.max(1) as f64;
            let (limit, used) = (rounded(limit), percent(needed));
            let seen = format!("A control group limits memory to {limit}; memory benchmarks use {used} of it.");
            judged(WarningCode::MemoryLimit, needed, &seen)
        }
    };
    let swap = match facts.swap {
        Swap::Unknown => passed("swap_in_use", "Unknown: the kernel does not report its swap space."),
        Swap::Absent => passed("swap_in_use", "No swap space is configured."),
        Swap::Used(share) => by_rule("swap_in_use", share, &format!("{} of the swap space is in use.", percent(share))),
    };
    let huge = known("huge_pages", memory.huge_pages.transparent.as_deref(), "its huge page setting", |state| {
        by_rule("huge_pages", flag(state == "never"), &format!("Transparent huge pages are set to {state}."))
    });
    vec![limit, huge, swap, free_memory(facts, largest)]
}

fn free_memory(facts: &Facts<'_>, largest: Option<u64>) -> Check {
    let Some(largest) = largest else { return passed("free_memory", "Not checked: no planned benchmark uses memory.") };
    let cached = facts.rows.iter().flat_map(|row| &row.warnings);
    let cached = cached.filter(|warning| warning.code == WarningCode::PossiblyCached);
    let value = cached.filter_map(|warning| warning.value).fold(0.0, f64::max);
    let memory = &facts.machine.memory;
    let limited = memory.is_bound_by_group();
    let which = if limited { "left within the control group's limit" } else { "free" };
    let seen = match memory.obtainable_bytes() {
        Some(bytes) => format!("{} of memory are {which}, and working sets need {}.", rounded(bytes), rounded(largest)),
        None => format!("Working sets need {}.", rounded(largest)),
    };
    let check = by_rule("free_memory", value, &seen);
    if check.advice.is_empty() || !limited {
        return check;
    }
    Check { advice: "Raise the memory limit of the control group (memory.max).".to_owned(), ..check }
}

/// Without a directory only direct I/O is checked.
fn disk(facts: &Facts<'_>) -> Vec<Check> {
    let Some(disk) = facts.disk else {
        let why = "The store has no directory: ASSAY_STORE, XDG_DATA_HOME and HOME are unset.";
        return vec![passed("store_room", why), by_rule("direct_io", 1.0, why)];
    };
    let place = disk.directory.display();
    let behind = disk.storage.filesystem.as_deref().unwrap_or("an unknown file system");
    let (bad, seen) = match (&disk.obstacle, &disk.no_direct) {
        (Some(obstacle), _) => (1.0, sentence(obstacle)),
        (None, Some(why)) => (1.0, format!("'{place}' on {behind} does not support direct I/O: {why}.")),
        (None, None) => (0.0, format!("'{place}' on {behind} supports direct I/O.")),
    };
    let direct = by_rule("direct_io", bad, &seen);
    let uring = match &disk.no_io_uring {
        Some(why) => {
            let engine = if disk.no_libaio.is_none() { "libaio" } else { "sync (blocking threads)" };
            remark(
                "io_uring",
                1.0,
                &format!("io_uring is not available: {why}. Disk benchmarks use the engine {engine}."),
            )
        }
        None => by_rule("io_uring", 0.0, "io_uring is available."),
    };
    vec![room(facts, disk), direct, uring]
}

fn room(facts: &Facts<'_>, disk: &DiskTarget) -> Check {
    if disk.obstacle.is_some() || disk.no_direct.is_some() {
        return passed("store_room", "Not checked: disk benchmarks cannot run there.");
    }
    let size = |row: &Planned| {
        let size = row.experiment.disk()?.size;
        Some(if row.obstacle.is_some() { 0 } else { size })
    };
    let Some(size) = facts.rows.iter().filter_map(size).min() else {
        return passed("store_room", "Not checked: no planned benchmark uses a disk.");
    };
    let missing = 1.0 - (size as f64 / facts.file_bytes.max(1) as f64).min(1.0);
    let free = rounded(disk.available_bytes);
    let seen = format!("'{}' has {free} free; disk benchmarks use {}.", disk.directory.display(), rounded(size));
    by_rule("store_room", missing, &seen)
}

fn sentence(text: &str) -> String {
    // The name of an interface is no first word.
    if text.starts_with("lo ") {
        return format!("{text}.");
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = letters.as_str().trim_end_matches('.');
    format!("{first}{rest}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine_with_cpus;
    use areas::{Request, Suite, plan};
    use model::doctor::CheckStatus;
    use model::machine::Unknown;

    fn well() -> Machine {
        let mut machine = machine_with_cpus(2);
        machine.os.clocksource = Some("tsc".into());
        machine.memory.huge_pages.transparent = Some("madvise".into());
        machine
    }

    fn settings_of_two() -> Settings {
        Settings {
            present_cpus: vec![0, 1],
            online_cpus: vec![0, 1],
            allowed_cpus: vec![0, 1],
            governors: vec!["performance".into()],
            turbo: Some(true),
            nice: Some(0),
            memory_bytes: Some(16 << 30),
            ..Settings::default()
        }
    }

    fn target() -> DiskTarget {
        let storage = model::machine::Storage { filesystem: Some("ext4".into()), ..Default::default() };
        let (directory, total_bytes, available_bytes) = ("/store".into(), 100 << 30, 50 << 30);
        DiskTarget { directory, storage, total_bytes, available_bytes, ..DiskTarget::default() }
    }

    fn all(
        machine: &Machine,
        settings: &Settings,
        disk: Option<&DiskTarget>,
        change: impl FnOnce(&mut Facts<'_>),
    ) -> Vec<Check> {
        let request =
            Request { disk: disk.cloned(), ..crate::host::request(Suite::embedded("quick").unwrap(), machine) };
        let rows = plan(&request, machine).unwrap().rows;
        let mut facts = Facts {
            machine,
            settings,
            rows: &rows,
            disk,
            file_bytes: 1 << 30,
            counter: true,
            swap: Swap::Absent,
            no_loopback: None,
        };
        change(&mut facts);
        checks(&facts)
    }

    fn found(checks: Vec<Check>) -> Vec<(String, CheckStatus)> {
        let not_ok = checks.into_iter().filter(|check| check.status != CheckStatus::Ok);
        let of_ours = not_ok.filter(|check| check.code != WarningCode::DebugBuild.name());
        of_ours.map(|check| (check.code, check.status)).collect()
    }

    fn of_machine(change: impl FnOnce(&mut Machine)) -> Vec<(String, CheckStatus)> {
        let mut machine = well();
        change(&mut machine);
        found(all(&machine, &settings_of_two(), Some(&target()), |_| {}))
    }

    fn of_settings(change: impl FnOnce(&mut Settings)) -> Vec<(String, CheckStatus)> {
        let mut settings = settings_of_two();
        change(&mut settings);
        found(all(&well(), &settings, Some(&target()), |_| {}))
    }

    fn of_disk(disk: Option<&DiskTarget>) -> Vec<(String, CheckStatus)> {
        found(all(&well(), &settings_of_two(), disk, |_| {}))
    }

    fn warned(code: &str) -> Vec<(String, CheckStatus)> {
        vec![(code.to_owned(), CheckStatus::Warning)]
    }

    #[test]
    fn each_setting_is_judged_by_its_rule() {
        assert!(of_machine(|_| {}).is_empty());
        let of_facts = |change: fn(&mut Facts<'_>)| found(all(&well(), &settings_of_two(), Some(&target()), change));
        assert_eq!(of_facts(|facts| facts.counter = false), warned("timer"));
        assert_eq!(of_facts(|facts| facts.swap = Swap::Used(0.7)), warned("swap_in_use"));
        assert!(of_facts(|facts| facts.swap = Swap::Used(0.2)).is_empty());
        assert_eq!(of_facts(|facts| facts.no_loopback = Some("lo is down: ip link set lo up")), warned("loopback"));
        assert_eq!(of_machine(|machine| machine.os.clocksource = Some("hpet".into())), warned("clock_source"));
        let never = |machine: &mut Machine| machine.memory.huge_pages.transparent = Some("never".into());
        assert_eq!(of_machine(never), warned("huge_pages"));
        assert_eq!(of_machine(|machine| machine.memory.available_bytes = Some(160 << 20)), warned("free_memory"));
        assert_eq!(of_settings(|settings| settings.allowed_cpus = vec![0]), warned("affinity"));
        assert_eq!(of_settings(|settings| settings.present_cpus = vec![0, 1, 2]), warned("cpus_offline"));
        assert_eq!(of_settings(|settings| settings.nice = Some(10)), warned("low_priority"));
        assert_eq!(of_settings(|settings| settings.nice = Some(IDLE_NICE))[0].1, CheckStatus::Bad);
        assert!(of_settings(|settings| settings.nice = Some(-5)).is_empty());
        let limited = |bytes| of_settings(|settings: &mut Settings| settings.memory_limit_bytes = Some(bytes));
        assert!(limited(8 << 30).is_empty(), "a limit that leaves room");
        assert_eq!(limited(3 << 29), warned("memory_limit"));
        assert_eq!(limited(1 << 30), [("memory_limit".to_owned(), CheckStatus::Bad)]);
    }

    #[test]
    fn in_a_memory_cgroup_of_400_mib_the_limit_counts_and_not_the_free_memory_of_the_machine() {
        let mut machine = well();
        machine.memory.available_bytes = Some(19 << 30);
        machine.caches[0].bytes = Some(256 << 20);
        (machine.memory.limit_bytes, machine.memory.limit_used_bytes) = (Some(400 << 20), Some(16 << 20));
        let checks = all(&machine, &settings_of_two(), Some(&target()), |_| {});
        let check = checks.iter().find(|check| check.code == "free_memory").unwrap();
        assert_ne!(check.status, CheckStatus::Ok, "{check:?}");
        assert!(check.text.starts_with("384 MiB of memory are left within the control group's limit"), "{check:?}");
        assert!(check.advice.contains("memory.max"), "{check:?}");
    }

    #[test]
    fn limits_that_cannot_be_seen_are_unknown() {
        let unknown =
            |fact: &str| Unknown { fact: fact.into(), why: "no mount shows it".into(), consequence: String::new() };
        let machine = Machine { unknown: vec![unknown("cpu.quota_cpus"), unknown("memory.limit_bytes")], ..well() };
        let checks = all(&machine, &settings_of_two(), Some(&target()), |_| {});
        let of = checks.iter().filter(|check| ["cpu_quota", "memory_limit"].contains(&check.code.as_str()));
        assert_eq!(of.filter(|check| check.text == "Unknown: no mount shows it.").count(), 2, "{checks:#?}");
    }

    #[test]
    fn a_benchmark_of_another_area_that_cannot_run_takes_no_room() {
        let checks = all(&well(), &settings_of_two(), Some(&target()), |facts| {
            let seen = |row: &Planned| Planned { obstacle: Some("lo is down".into()), ..row.clone() };
            let rows: Vec<Planned> =
                facts.rows.iter().filter(|row| row.experiment.disk().is_none()).map(seen).collect();
            assert!(!rows.is_empty());
            let others = Facts { rows: &rows, ..*facts };
            assert!(super::room(&others, &target()).text.starts_with("Not checked"));
        });
        assert!(found(checks).is_empty());
    }

    #[test]
    fn governor_and_turbo_are_reported_with_advice_but_do_not_fail() {
        let slow = Settings { governors: vec!["powersave".into()], turbo: Some(false), ..settings_of_two() };
        let checks = all(&well(), &slow, Some(&target()), |_| {});
        let advice = |code: &str| checks.iter().find(|check| check.code == code).unwrap().advice.clone();
        assert!(advice("governor").contains("cpupower") && advice("turbo_off").contains("no_turbo"));
        assert!(found(checks).is_empty());
        let mut capped = well();
        capped.cpu.clock_cap_hz = Some(1.6e9);
        let checks = all(&capped, &settings_of_two(), Some(&target()), |_| {});
        let turbo = checks.iter().find(|check| check.code == "turbo_off").unwrap();
        assert_eq!(turbo.text, "Turbo is allowed, and a setting of the kernel caps the clock at 1.60 GHz.");
    }

    #[test]
    fn unknown_settings_are_reported_and_do_not_fail() {
        let checks = all(&machine_with_cpus(2), &Settings::default(), Some(&target()), |_| {});
        let unknown = checks.iter().filter(|check| check.text.starts_with("Unknown")).count();
        assert_eq!(unknown, 7, "{checks:#?}");
        assert!(found(checks).is_empty());
    }

    #[test]
    fn a_directory_that_cannot_be_measured_in_is_named_with_what_to_do() {
        let memory = DiskTarget { obstacle: Some("'/tmp' is tmpfs, which is memory".into()), ..target() };
        assert_eq!(of_disk(Some(&memory)), warned("direct_io"));
        let cached = DiskTarget { no_direct: Some("the file system refuses it".into()), ..target() };
        assert_eq!(of_disk(Some(&cached)), warned("direct_io"));
        for left in [100 << 20, 2900 << 20] {
            let full = DiskTarget { available_bytes: left, ..target() };
            assert_eq!(of_disk(Some(&full)), warned("store_room"));
        }
        let refused = DiskTarget { no_io_uring: Some("the kernel has it switched off".into()), ..target() };
        assert!(of_disk(Some(&refused)).is_empty(), "threads that wait do as well");
        // The engine is that of the plan.
        for no_libaio in [None, Some("a sandbox hides it".to_owned())] {
            let disk = DiskTarget { no_libaio, ..refused.clone() };
            let checks = all(&well(), &settings_of_two(), Some(&disk), |facts| {
                let engine = facts.rows.iter().find_map(|row| Some(row.experiment.disk()?.engine)).unwrap();
                let seen = super::disk(facts).into_iter().find(|check| check.code == "io_uring").unwrap();
                assert!(seen.text.contains(&format!("use the engine {engine}")), "{engine}: {seen:?}");
            });
            assert!(checks.iter().any(|check| check.code == "io_uring"));
        }
        assert_eq!(of_disk(None), warned("direct_io"));
    }
}
