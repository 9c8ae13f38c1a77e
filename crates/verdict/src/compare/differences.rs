//! The two sides of a comparison in words, and how their machines, programs and settings differ.

use std::collections::BTreeMap;

use model::comparison::Side;
use model::document::{Document, Row, RunInfo, Status};
use model::machine::Machine;
use model::number::{UnitScale, counted, percent_whole};
use model::sample::ExpectationVerdict;
use model::warning::Confidence;

use super::noise::MEMORY_MAY_DIFFER;

pub(crate) fn side(document: &Document) -> Side {
    let Document { assay, run, machine, .. } = document;
    // `0.1.0 (2849586)`
    let program = assay.git.as_ref().map_or_else(|| assay.version.clone(), |git| format!("{} ({git})", assay.version));
    let machine = machine_words(machine);
    Side {
        name: run.id.clone(),
        started: run.started.clone(),
        machine,
        program,
        switch: None,
        as_expected: as_expected(document),
    }
}

/// The results that are not below what they should be, and those with a verdict.
fn as_expected(document: &Document) -> Option<[u32; 2]> {
    let verdicts = document.experiments.iter().filter_map(|row| row.metrics.first()?.verdict);
    let (mut fine, mut all) = (0, 0);
    for verdict in verdicts {
        all += 1;
        fine += u32::from(verdict != ExpectationVerdict::Below);
    }
    (all > 0).then_some([fine, all])
}

/// `AMD EPYC 9575F, 2 cores, KVM guest`.
fn machine_words(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let name = cpu.model_name.as_ref().or(cpu.microarchitecture.as_ref());
    let mut parts = vec![name.map_or_else(|| "unknown processor".to_owned(), |name| name.trim().to_owned())];
    parts.extend(cpu.cores.map(|cores| counted(cores.into(), "core")));
    parts.extend(machine.virtualization.as_ref().map(|below| match &below.hypervisor {
        Some(name) => format!("{name} guest"),
        None => "virtual machine".to_owned(),
    }));
    parts.join(", ")
}

pub(crate) fn differences(base: &Document, new: &Document) -> Vec<String> {
    let (one, other) = (&base.machine, &new.machine);
    [machines(one, other), settings(one, other), programs(base, new), files(base, new)].into_iter().flatten().collect()
}

pub(super) fn warnings(base: &Document, new: &Document) -> Vec<String> {
    let (suites, declared) = (suites(base, new), declared(&base.run.declared, &new.run.declared));
    let cut_off = [cut_off(base, "BASE"), cut_off(new, "NEW")];
    let more = [suites, declared].into_iter().chain(cut_off).chain([order(base, new), confidences(base, new)]);
    differences(base, new).into_iter().chain(more.flatten()).collect()
}

/// `cores 2 against 4`, where they differ and at least one is known.
fn differing<T: PartialEq + ToString + ?Sized>(what: &str, base: Option<&T>, new: Option<&T>) -> Option<String> {
    let words = |value: Option<&T>| value.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    (base != new).then(|| format!("{what} {} against {}", words(base), words(new)))
}

fn sentence(begin: &str, differing: impl IntoIterator<Item = Option<String>>, end: &str) -> Option<String> {
    let parts: Vec<String> = differing.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{begin}: {}{end}.", parts.join(", ")))
}

fn machines(base: &Machine, new: &Machine) -> Option<String> {
    let name = |machine: &Machine| machine.cpu.model_name.as_ref().map(|name| name.trim().to_owned());
    let below = |machine: &Machine| {
        let virtualization = machine.virtualization.as_ref();
        virtualization.map_or("none", |below| below.hypervisor.as_deref().unwrap_or("unknown")).to_owned()
    };
    let all = [
        differing("name", base.host.as_ref(), new.host.as_ref()),
        differing("processor", name(base).as_ref(), name(new).as_ref()),
        differing("cores", base.cpu.cores.as_ref(), new.cpu.cores.as_ref()),
        differing("CPUs", base.cpu.threads.as_ref(), new.cpu.threads.as_ref()),
        memory(base.memory.total_bytes, new.memory.total_bytes),
        differing("hypervisor", Some(&below(base)), Some(&below(new))),
        differing("kernel", base.os.kernel.as_ref(), new.os.kernel.as_ref()),
        differing("microcode", base.cpu.microcode.as_ref(), new.cpu.microcode.as_ref()),
    ];
    sentence("The machines differ", all, "")
}

fn memory(base: Option<u64>, new: Option<u64>) -> Option<String> {
    let (base, new) = (base? as f64, new? as f64);
    let way = if new > base { "more" } else { "less" };
    let of_base = percent_whole(((new - base) / base.max(1.0)).abs());
    let differs = (new - base).abs() / base.max(new).max(1.0) > MEMORY_MAY_DIFFER;
    differs.then(|| format!("memory {of_base} {way} in NEW"))
}

fn settings(base: &Machine, new: &Machine) -> Option<String> {
    let switch = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" });
    let mitigations = |machine: &Machine| {
        let listed = machine.cpu.mitigations.values().any(|state| !state.is_empty());
        listed.then(|| machine.cpu.mitigations.clone())
    };
    let usable = |machine: &Machine| Some(machine.cpu.available_cpus.len()).filter(|count| *count > 0);
    let [base_pages, new_pages] = [base, new].map(|machine| machine.memory.huge_pages.transparent.as_ref());
    let all = [
        differing("governor", base.cpu.governor.as_ref(), new.cpu.governor.as_ref()),
        differing("turbo", switch(base.cpu.turbo), switch(new.cpu.turbo)),
        differing("SMT", base.cpu.smt_control.as_ref(), new.cpu.smt_control.as_ref()),
        differing("usable CPUs", usable(base).as_ref(), usable(new).as_ref()),
        differing_or_none("quota of CPUs", base.cpu.quota_cpus, new.cpu.quota_cpus),
        differing("transparent huge pages", base_pages, new_pages),
        differing("clock source", base.os.clocksource.as_ref(), new.os.clocksource.as_ref()),
        (mitigations(base) != mitigations(new)).then(|| "mitigations of processor vulnerabilities".to_owned()),
    ];
    sentence("The settings differ", all, "")
}

/// As [`differing`], where what is absent is known to be absent.
fn differing_or_none(what: &str, base: Option<f64>, new: Option<f64>) -> Option<String> {
    let words = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    differing(what, Some(&words(base)), Some(&words(new)))
}

fn programs(base: &Document, new: &Document) -> Option<String> {
    let (base, new) = (&base.assay, &new.assay);
    let all = [
        differing("version", Some(&base.version), Some(&new.version)),
        differing("commit", base.git.as_ref(), new.git.as_ref()),
        differing("build profile", Some(&base.profile), Some(&new.profile)),
    ];
    sentence("The programs that measured differ", all, "")
}

fn suites(base: &Document, new: &Document) -> Option<String> {
    let suite = differing("suite", Some(&base.run.suite), Some(&new.run.suite));
    suite.map(|suite| format!("The suites differ: {suite}; a benchmark may be sampled longer in one of them."))
}

/// Test files of different sizes of the same planned size, because laying one out was cut short.
fn files(base: &Document, new: &Document) -> Option<String> {
    let bytes = |row: &Row| row.conditions.disk.as_ref().and_then(|disk| disk.file_bytes);
    let mut differing = base.experiments.iter().filter_map(|row| {
        let other = new.experiments.iter().find(|other| other.id == row.id && other.params == row.params)?;
        let sizes = (bytes(row)?, bytes(other)?);
        (sizes.0 != sizes.1).then_some((&row.id, sizes))
    });
    let (id, (one, two)) = differing.next()?;
    let others = match differing.count() {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let sizes = format!("{} against {} for {id}{others}", in_words(one), in_words(two));
    let why = "since laying one out was cut short; a device caches more of a small file";
    Some(format!("The test files of the disk differ in size: {sizes}, {why}."))
}

fn in_words(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} B") } else { UnitScale::MEBIBYTES.fixed(bytes as f64, 0) }
}

fn declared(base: &BTreeMap<String, f64>, new: &BTreeMap<String, f64>) -> Option<String> {
    let keys = base.keys().chain(new.keys().filter(|key| !base.contains_key(*key)));
    let all = keys.map(|key| differing_or_none(key, base.get(key).copied(), new.get(key).copied()));
    sentence("The declared limits differ", all, "; results do not depend on them")
}

fn cut_off(document: &Document, side: &str) -> Option<String> {
    let measured = document.experiments.iter().filter(|row| row.status == Status::Ok).count();
    let planned = document.experiments.len();
    (!document.run.complete).then(|| format!("{side} was cut off: {measured} of {planned} benchmarks were measured."))
}

fn order(base: &Document, new: &Document) -> Option<String> {
    let (before, after) = (&base.run.started, &new.run.started);
    let known = !before.is_empty() && !after.is_empty();
    (known && after < before)
        .then(|| format!("NEW ({after}) began before BASE ({before}): swap them, or check the machine's clock."))
}

fn confidences(base: &Document, new: &Document) -> Option<String> {
    let words = |(side, run): (&str, &RunInfo)| {
        let confidence = run.confidence.filter(|confidence| *confidence > Confidence::High)?;
        Some(format!("{side} has {confidence} confidence"))
    };
    let low: Vec<String> = [("BASE", &base.run), ("NEW", &new.run)].into_iter().filter_map(words).collect();
    (!low.is_empty()).then(|| format!("{}: assay show lists the reasons.", low.join(" and ")))
}
