//! The hardware and settings of a node as comparable words: one table.

use std::collections::BTreeMap;

use model::machine::{DiskLink, Machine};
use model::number::{UnitScale, clock};

/// Name to value; unknown facts are absent.
pub(super) type Words = BTreeMap<String, String>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// Facts that make a group, by the names of [`HARDWARE`]; see `groups`.
    pub(super) hardware: Words,
    pub(super) words: Words,
    pub(super) memory_bytes: Option<u64>,
}

pub(super) struct Fact {
    pub(super) name: &'static str,
    read: fn(&Machine) -> Option<String>,
}

const fn fact(name: &'static str, read: fn(&Machine) -> Option<String>) -> Fact {
    Fact { name, read }
}

fn text<T: ToString>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn count(count: usize) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

/// What a fact says where there is nothing of it.
pub(super) const NONE: &str = "none";

fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| NONE.to_owned())
}

/// The links that are below the maximum of their devices; `None` where it is known of no link.
fn below_maximum<'a>(links: impl Iterator<Item = &'a DiskLink> + Clone) -> Option<String> {
    let known = links.filter(|link| link.below_maximum.is_some());
    known.clone().next()?;
    let below = known.filter(|link| link.below_maximum == Some(true));
    Some(or_none(joined(below.map(|link| link.detail.clone()))))
}

fn switch(on: Option<bool>) -> Option<String> {
    on.map(|on| if on { "on" } else { "off" }.to_owned())
}

pub(super) const HARDWARE: &[Fact] = &[
    fact("processor", |machine| Some(machine.cpu.model_name.as_ref()?.trim().to_owned())),
    fact("family", |machine| {
        let cpu = &machine.cpu;
        Some(format!("{} {} {}", cpu.family?, cpu.model?, cpu.stepping?))
    }),
    fact("sockets", |machine| text(machine.cpu.packages)),
    fact("virtualization", |machine| {
        let below = machine.virtualization.as_ref();
        Some(below.map_or(NONE, |below| below.hypervisor.as_deref().unwrap_or("unknown")).to_owned())
    }),
];

/// Sizes that a fault may reduce, so they alone make no other kind of node; see `groups`.
pub(super) const SIZE: &[Fact] =
    &[fact("cores", |machine| text(machine.cpu.cores)), fact("CPUs", |machine| text(machine.cpu.threads))];

pub(super) const FACTS: &[Fact] = &[
    fact("kernel", |machine| machine.os.kernel.clone()),
    fact("system", |machine| machine.os.name.clone()),
    fact("clocksource", |machine| machine.os.clocksource.clone()),
    fact("microcode", |machine| machine.cpu.microcode.clone()),
    fact("governor", |machine| machine.cpu.governor.clone()),
    fact("frequency_driver", |machine| machine.cpu.scaling_driver.clone()),
    fact("turbo", |machine| switch(machine.cpu.turbo)),
    fact("smt", |machine| machine.cpu.smt_control.clone()),
    fact("cpu_quota", |machine| Some(or_none(machine.cpu.quota_cpus.map(|quota| format!("{quota:.2} CPUs"))))),
    fact("clock_cap", |machine| Some(or_none(machine.cpu.clock_cap_hz.map(clock)))),
    fact("usable_cpus", |machine| count(machine.cpu.available_cpus.len())),
    fact("cores", |machine| text(machine.cpu.cores)),
    fact("CPUs", |machine| text(machine.cpu.threads)),
    fact("memory_channels", |machine| text(machine.memory.channels)),
    fact("memory_modules", |machine| count(machine.memory.dimms.len())),
    fact("memory_speed", |machine| machine.memory.mts.map(|mts| format!("{mts:.0} MT/s"))),
    fact("memory_limit", |machine| {
        Some(or_none(machine.memory.limit_bytes.map(|bytes| format!("{} MiB", bytes >> 20))))
    }),
    fact("numa_nodes", |machine| count(machine.numa.len())),
    fact("numa_balancing", |machine| switch(machine.memory.numa_balancing)),
    fact("transparent_huge_pages", |machine| machine.memory.huge_pages.transparent.clone()),
    fact("huge_page_defrag", |machine| machine.memory.huge_pages.defrag.clone()),
    fact("disk_models", |machine| joined(machine.disks.iter().filter_map(|disk| disk.model.clone()))),
    fact("disk_links", |machine| {
        joined(machine.disks.iter().filter_map(|disk| Some(disk.link.as_ref()?.detail.clone())))
    }),
    fact("disk_link_below", |machine| below_maximum(machine.disks.iter().filter_map(|disk| disk.link.as_ref()))),
    fact("adapter_bus_below", |machine| below_maximum(machine.nics.iter().filter_map(|nic| nic.bus.as_ref()))),
    fact("link_speed", |machine| {
        let real = machine.nics.iter().filter(|nic| nic.speed_trusted == Some(true));
        joined(real.filter_map(|nic| {
            Some(format!("{} {}", nic.name, UnitScale::MEGABITS_PER_SECOND.fixed(nic.speed_bps?, 0)))
        }))
    }),
    fact("mtu", |machine| {
        let real =
            machine.nics.iter().filter(|nic| nic.is_virtual == Some(false) && nic.state.as_deref() == Some("up"));
        joined(real.filter_map(|nic| Some(format!("{} {}", nic.name, nic.mtu?))))
    }),
    fact("adapter_bus", |machine| joined(machine.nics.iter().filter_map(|nic| Some(nic.bus.as_ref()?.detail.clone())))),
];

/// Several words as one, sorted; `None` without any.
fn joined(words: impl Iterator<Item = String>) -> Option<String> {
    let mut words: Vec<String> = words.collect();
    words.sort();
    (!words.is_empty()).then(|| words.join(", "))
}

pub(super) fn facts_of(machine: &Machine, settings: &Words) -> Facts {
    let take = |facts: &[Fact]| -> Words {
        facts.iter().filter_map(|fact| Some((fact.name.to_owned(), (fact.read)(machine)?))).collect()
    };
    let mut hardware = take(HARDWARE);
    hardware.extend(take(SIZE));
    let mut words = take(FACTS);
    let mitigations = machine.cpu.mitigations.iter();
    words.extend(mitigations.map(|(name, state)| (format!("mitigation:{name}"), state.clone())));
    for (name, value) in settings {
        words.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Facts { hardware, words, memory_bytes: machine.memory.total_bytes }
}
