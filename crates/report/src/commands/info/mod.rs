//! `assay info`: every fact of a machine with its source, every limit with its arithmetic, and what is unknown.

mod facts;
mod peaks;
mod section;

use model::machine::{Machine, Storage, StorageDevice, Unknown};
use model::number::{UnitScale, percent_whole, size};
use model::peak::{InfoPeak, PeakInput};
use model::probe::{EngineProbe, LimitProbe, StorageProbe};
use serde_json::{Value, json};

use self::section::{Fact, Section};
use crate::layout::{paragraph, width, wrap};
use crate::style::{Style, Tone};

const SCHEMA: &str = "assay.info/1";

pub(crate) fn facts_of(machine: &Machine) -> Vec<(&'static str, Vec<[String; 3]>)> {
    let sections = facts::sections(machine).into_iter().filter(|section| !section.facts.is_empty());
    let parts = |fact: Fact| [fact.name, fact.value, fact.source];
    sections.map(|section| (section.title, section.facts.into_iter().map(parts).collect())).collect()
}

pub(crate) fn input_words(input: &PeakInput) -> (String, String) {
    let fact = peaks::input(input);
    (fact.name, fact.value)
}

/// The machine and its peaks as JSON.
pub fn info_json(machine: &Machine, peaks: &[InfoPeak]) -> Value {
    json!({ "schema": SCHEMA, "machine": machine, "peaks": peaks })
}

/// The machine and its peaks as text, ending in a newline.
pub fn info(machine: &Machine, peaks: &[InfoPeak], style: &Style) -> String {
    let mut sections = facts::sections(machine);
    sections.extend(peaks::sections(peaks, machine));
    sections.retain(|section| !section.facts.is_empty());
    let mut lines = paragraph(&title(machine), "", Tone::Strong, style);
    for section in &sections {
        lines.push(String::new());
        lines.extend(section.heading(style));
        lines.extend(section.lines(style));
    }
    lines.extend(unknowns(&machine.unknown, style));
    format!("{}\n", lines.join("\n"))
}

/// What is behind a directory as text, ending in a newline: its mount, and the devices under it down to the hardware.
pub fn storage(storage: &Storage, source: &str, style: &Style) -> String {
    let device = |device: &StorageDevice| {
        let whole = device.disk.iter().filter(|disk| **disk != device.name).map(|disk| format!(" of {disk}"));
        format!("{}{} ({})", device.name, whole.collect::<String>(), device.kind)
    };
    let chain: Vec<String> = storage.chain.iter().map(device).collect();
    let chain = if chain.is_empty() { "unknown to the kernel".to_owned() } else { chain.join(", on ") };
    let facts = [
        ("directory", Some(storage.directory.clone())),
        ("mounted at", storage.mount_point.clone()),
        ("file system", storage.filesystem.clone()),
        ("mounted from", storage.source.clone()),
        ("block devices", Some(chain)),
        ("in memory", storage.memory.clone()),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some(Fact::new(name, value?, source)));
    single("Storage behind this directory", facts.collect(), style)
}

/// What a measurement would find in a directory, as text, ending in a newline.
pub fn probe(probe: &StorageProbe, style: &Style) -> String {
    single("Measuring in this directory", probed(probe), style)
}

fn single(title: &'static str, facts: Vec<Fact>, style: &Style) -> String {
    let section = Section { title, facts, aside: None };
    format!("{}\n", [section.heading(style), section.lines(style)].concat().join("\n"))
}

fn probed(probe: &StorageProbe) -> Vec<Fact> {
    let fact = Fact::new;
    let mut facts = Vec::new();
    facts.extend(probe.obstacle.clone().map(|obstacle| fact("obstacle", obstacle, "access check")));
    if let (Some(total), Some(available)) = (probe.total_bytes, probe.available_bytes) {
        let share = percent_whole(available as f64 / total.max(1) as f64);
        facts.push(fact("free", format!("{} of {} ({share})", size(available), size(total)), "statvfs"));
    }
    let direct = match (&probe.no_direct, probe.offset_align_bytes, probe.memory_align_bytes) {
        (Some(why), ..) => Some(format!("none: {why}")),
        (None, Some(offset), Some(memory)) => {
            let [offset, memory] = [offset, memory].map(|bytes| size(bytes.into()));
            Some(format!("in multiples of {offset}, from memory at multiples of {memory}"))
        }
        _ => None,
    };
    facts.extend(direct.map(|direct| fact("direct I/O", direct, "statx, STATX_DIOALIGN")));
    for EngineProbe { engine, why_not } in &probe.engines {
        let value = why_not.as_ref().map_or_else(|| "available".to_owned(), |why| format!("not available: {why}"));
        facts.push(fact(engine.name(), value, "setup attempt"));
    }
    for LimitProbe { what, value, source } in &probe.limits {
        let scale = if what.contains("bytes") { UnitScale::MEGABYTES_PER_SECOND } else { UnitScale::IOPS };
        let way = if what.starts_with("read") { "limit of reads" } else { "limit of writes" };
        facts.push(fact(way, scale.fixed(*value, 1), source));
    }
    if let (Some(rate), Some(seconds)) = (probe.others_bytes_per_second, probe.watched_seconds) {
        let value = format!("{} over {seconds:.1} s", UnitScale::MEGABYTES_PER_SECOND.fixed(rate, 1));
        facts.push(fact("other traffic", value, "/sys/block/*/stat"));
    }
    facts
}

fn title(machine: &Machine) -> String {
    let words = crate::terminal::machine_words(machine);
    machine.host.as_ref().map_or_else(|| words.clone(), |host| format!("{host}: {words}"))
}

/// What is unknown, why, and the consequence; facts that share both are one entry.
fn unknowns(unknown: &[Unknown], style: &Style) -> Vec<String> {
    /// A name longer than this has a line of its own.
    const LONGEST_NAME: usize = 28;
    if unknown.is_empty() {
        return Vec::new();
    }
    let alike = |one: &Unknown, next: &Unknown| one.why == next.why && one.consequence == next.consequence;
    let names = |group: &[Unknown]| group.iter().map(|unknown| unknown.fact.as_str()).collect::<Vec<_>>().join(", ");
    let groups: Vec<(String, &Unknown)> = unknown.chunk_by(alike).map(|group| (names(group), &group[0])).collect();
    let is_narrow = style.width < 2 * LONGEST_NAME;
    let name_widths = groups.iter().map(|(names, _)| width(names)).filter(|width| *width <= LONGEST_NAME);
    let widest = name_widths.max().unwrap_or(LONGEST_NAME);
    let mut lines = vec![String::new(), style.paint("Unknown", Tone::Strong)];
    for (names, Unknown { why, consequence, .. }) in &groups {
        let text = style.clean(&format!("{}; so {consequence}", why.trim_end_matches('.')));
        let names = style.clean(names);
        if is_narrow {
            lines.extend(wrap(&names, "  ", style.width).into_iter().chain(wrap(&text, "    ", style.width)));
        } else if width(&names) <= widest {
            lines.extend(wrap(&text, &format!("  {names:<widest$}  "), style.width));
        } else {
            lines.push(format!("  {names}"));
            lines.extend(wrap(&text, &" ".repeat(widest + 4), style.width));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use model::io::DiskEngine;

    use super::*;
    use crate::style::Style;

    #[test]
    fn a_probe_says_what_is_known_and_leaves_out_what_is_not() {
        let found = StorageProbe {
            total_bytes: Some(100 << 30),
            available_bytes: Some(25 << 30),
            memory_align_bytes: Some(4),
            offset_align_bytes: Some(512),
            engines: vec![EngineProbe { engine: DiskEngine::IoUring, why_not: Some("no".into()) }],
            limits: vec![LimitProbe { what: "write_bytes_per_second".into(), value: 5e7, source: "io.max".into() }],
            others_bytes_per_second: Some(1.25e6),
            watched_seconds: Some(1.0),
            ..StorageProbe::default()
        };
        let shown: Vec<(String, String)> = probed(&found).into_iter().map(|fact| (fact.name, fact.value)).collect();
        let expected = [
            ("free", "25 GiB of 100 GiB (25 %)"),
            ("direct I/O", "in multiples of 512 B, from memory at multiples of 4 B"),
            ("io_uring", "not available: no"),
            ("limit of writes", "50.0 MB/s"),
            ("other traffic", "1.2 MB/s over 1.0 s"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let none = StorageProbe { no_direct: Some("it says so".into()), ..StorageProbe::default() };
        assert_eq!(probed(&none).iter().map(|fact| fact.value.as_str()).collect::<Vec<_>>(), ["none: it says so"]);
        assert!(probe(&found, &Style::PLAIN).starts_with("Measuring in this directory\n  free "));
    }
}
