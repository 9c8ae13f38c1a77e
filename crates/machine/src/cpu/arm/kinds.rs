//! Kinds of core by part number and highest clock, the fast ones by the kernel's `cpu_capacity` first. Parts decide the kind:
//! cores of one part are of one kind, also where their clocks differ.

use std::collections::{BTreeMap, BTreeSet};

use model::machine::{CoreKind, LogicalCpu};

use crate::cpu::arm::identity::Midr;
use crate::cpu::cpuinfo::CpuInfo;
use crate::sysroot::{Sysroot, label};
use crate::system::online::CPUS;

/// The kind of each CPU, and the rank among several of one kind.
pub(crate) type Kinds = BTreeMap<u32, (CoreKind, u32)>;

type Part = (u32, u32);

/// Highest clock, kHz (0: unknown), and part.
type Group = (u32, Part);

fn number(root: &Sysroot, cpu: u32, file: &str) -> u32 {
    root.number(&format!("{CPUS}/cpu{cpu}/{file}")).unwrap_or(0)
}

/// The kinds by CPU, empty if all cores are alike, with the source or the reason why they are unknown.
pub(crate) fn by_part(
    root: &Sysroot,
    cpuinfo: &CpuInfo,
    midrs: &BTreeMap<u32, Midr>,
    topology: &[LogicalCpu],
) -> (Kinds, Result<String, String>) {
    let part = |place: &LogicalCpu| midrs.get(&place.cpu).map(|midr| (midr.implementer, midr.part));
    let parts: Option<Vec<Part>> = topology.iter().map(part).collect();
    let capacities: Vec<u32> = topology.iter().map(|place| number(root, place.cpu, "cpu_capacity")).collect();
    let Some(parts) = parts else {
        let alike = capacities.windows(2).all(|pair| pair[0] == pair[1]);
        let unknown = || Err("the kernel's cpu_capacity differs, and no part number is known".to_owned());
        return (Kinds::new(), if alike { Ok(label(CPUS)) } else { unknown() });
    };
    let groups = groups(root, &parts, topology);
    if cpuinfo.is_of_one_cpu && has_clusters(root, topology) {
        let file = label(CpuInfo::FILE);
        return (Kinds::new(), Err(format!("{file} states the part of one core, and there are several clusters")));
    }
    let source = Ok(format!("part numbers, cpu_capacity and clocks in {}", label(CPUS)));
    let order = fastest_first(&groups, &capacities);
    if order.len() < 2 {
        return (Kinds::new(), source);
    }
    let mut by_speed: Vec<Part> = Vec::new();
    for (_, part) in &order {
        if !by_speed.contains(part) {
            by_speed.push(*part);
        }
    }
    let kind = |part| match (by_speed.iter().position(|known| *known == part).unwrap_or(0), by_speed.len()) {
        (_, 1) => CoreKind::Uniform,
        (0, _) => CoreKind::Performance,
        (last, number) if number > 2 && last + 1 == number => CoreKind::LowPowerEfficiency,
        _ => CoreKind::Efficiency,
    };
    let rank = |group| order.iter().position(|known| *known == group).and_then(|rank| u32::try_from(rank).ok());
    let of_cpu = |(place, group): (&LogicalCpu, Group)| (place.cpu, (kind(group.1), rank(group).unwrap_or(0)));
    (topology.iter().zip(groups).map(of_cpu).collect(), source)
}

/// The group of each CPU. One without a clock is in the fastest of its part.
fn groups(root: &Sysroot, parts: &[Part], topology: &[LogicalCpu]) -> Vec<Group> {
    let clock = |place: &LogicalCpu| number(root, place.cpu, "cpufreq/cpuinfo_max_freq");
    let own: Vec<Group> = topology.iter().zip(parts).map(|(place, part)| (clock(place), *part)).collect();
    let fastest = |part: Part| own.iter().filter(|(_, of)| *of == part).map(|(clock, _)| *clock).max().unwrap_or(0);
    own.iter().map(|(clock, part)| (if *clock > 0 { *clock } else { fastest(*part) }, *part)).collect()
}

/// The distinct groups, by the highest capacity in each, then by clock.
fn fastest_first(groups: &[Group], capacities: &[u32]) -> Vec<Group> {
    let mut highest: BTreeMap<Group, u32> = BTreeMap::new();
    for (group, capacity) in groups.iter().zip(capacities) {
        let known = highest.entry(*group).or_default();
        *known = (*known).max(*capacity);
    }
    let mut order: Vec<(u32, Group)> = highest.into_iter().map(|(group, capacity)| (capacity, group)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    order.into_iter().map(|(_, group)| group).collect()
}

/// Whether CPUs differ in the kernel's package or in their highest clock.
fn has_clusters(root: &Sysroot, topology: &[LogicalCpu]) -> bool {
    let differ = |file| {
        let numbers =
            topology.iter().filter_map(|place| root.number::<u32>(&format!("{CPUS}/cpu{}/{file}", place.cpu)));
        numbers.collect::<BTreeSet<_>>().len() > 1
    };
    ["topology/physical_package_id", "cpufreq/cpuinfo_max_freq"].into_iter().any(differ)
}
