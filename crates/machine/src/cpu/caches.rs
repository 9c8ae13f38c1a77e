//! Caches and the CPUs that share them: from sysfs first, since CPUID shows a virtual machine the host's caches. On Arm a
//! device tree completes what sysfs leaves open.

use std::collections::BTreeMap;

use model::machine::{Cache, LogicalCpu};

use crate::cpu::arm::device_tree;
use crate::cpu::dump::{Dump, Leaves, Registers, bits};
use crate::sysroot::{Cpuid, Sysroot, label};

/// Every cache once per group of CPUs that share it, with the source.
pub(crate) fn discover(root: &Sysroot, topology: &[LogicalCpu]) -> (Vec<Cache>, String) {
    let mut from_files = from_sysfs(root, topology);
    let source = label("sys/devices/system/cpu/cpu*/cache");
    let is_complete = !from_files.is_empty() && from_files.iter().all(|cache| cache.bytes.is_some());
    let cpuid = root.cpuid();
    if is_complete || !cpuid.dump.is_empty() && !from_files.is_empty() {
        return (from_files, source);
    }
    let (of_tree, tree) = device_tree::caches(root, topology);
    if !from_files.is_empty() {
        let complete = from_files.iter_mut().map(|cache| complete(cache, &of_tree)).filter(|found| *found).count();
        return (from_files, if complete > 0 { format!("{source}, {tree}") } else { source });
    }
    if !of_tree.is_empty() {
        return (of_tree, tree);
    }
    (from_dump(&cpuid.dump, topology), format!("leaves 4, 0x8000001D in {}", Cpuid::LABEL))
}

/// Takes the size that another source has of the same cache; whether there is one.
fn complete(cache: &mut Cache, others: &[Cache]) -> bool {
    let first = cache.cpus.first();
    let kind = |one: &Cache| (one.level, one.kind == "instruction");
    let found =
        others.iter().find(|other| kind(other) == kind(cache) && first.is_some_and(|cpu| other.cpus.contains(cpu)));
    let Some(found) = found.filter(|_| cache.bytes.is_none()) else { return false };
    (cache.bytes, cache.line_bytes, cache.ways) = (found.bytes, found.line_bytes, found.ways);
    true
}

pub(crate) fn last_level_groups(caches: &[Cache]) -> BTreeMap<u32, u32> {
    let mut groups = BTreeMap::new();
    let mut best: BTreeMap<u32, u32> = BTreeMap::new();
    for (number, cache) in caches.iter().enumerate().filter(|(_, cache)| cache.kind != "instruction") {
        for &cpu in &cache.cpus {
            if best.get(&cpu).is_none_or(|level| *level < cache.level) {
                best.insert(cpu, cache.level);
                groups.insert(cpu, number);
            }
        }
    }
    let mut dense: Vec<usize> = groups.values().copied().collect();
    dense.sort_unstable();
    dense.dedup();
    let index = |number| dense.binary_search(&number).ok().and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
    groups.into_iter().map(|(cpu, number)| (cpu, index(number))).collect()
}

fn from_sysfs(root: &Sysroot, topology: &[LogicalCpu]) -> Vec<Cache> {
    let mut caches = BTreeMap::new();
    for cpu in topology.iter().map(|place| place.cpu) {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        for index in root.names(&folder).iter().filter(|name| name.starts_with("index")) {
            let file = |name: &str| format!("{folder}/{index}/{name}");
            let (Some(level), Some(kind)) = (root.number(&file("level")), root.text(&file("type"))) else { continue };
            // Without the CPUs that share a cache their number is unknown: CPUID may show it.
            let shared = root.cpus_with(cpu, &file("shared_cpu_list"), &file("shared_cpu_map"));
            let Some(mut shared) = shared else {
                return Vec::new();
            };
            // Offline CPUs stay in the list.
            shared.retain(|cpu| topology.iter().any(|place| place.cpu == *cpu));
            let cache = Cache {
                level,
                kind: kind.to_lowercase(),
                bytes: root.text(&file("size")).and_then(|size| parse_size(&size)),
                line_bytes: root.number(&file("coherency_line_size")),
                ways: root.number(&file("ways_of_associativity")).filter(|ways| *ways > 0),
                cpus: shared,
            };
            caches.entry((level, cache.kind.clone(), cache.cpus.first().copied())).or_insert(cache);
        }
    }
    caches.into_values().collect()
}

fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Caches from leaf 4 or 0x8000001D. CPUs whose APIC numbers agree above the cache's share bits share it.
fn from_dump(dump: &Dump, topology: &[LogicalCpu]) -> Vec<Cache> {
    // Kinds of core may share a level by different numbers of bits: the group alone is not distinct.
    let mut caches: BTreeMap<(u32, String, u32, u64), Cache> = BTreeMap::new();
    for (cpu, leaves) in dump.cpus() {
        let Some(apic) = crate::cpu::topology::apic_number(leaves) else { continue };
        for registers in cache_leaves(leaves) {
            let kind = match bits(registers.eax, 4, 0) {
                1 => "data",
                2 => "instruction",
                _ => "unified",
            };
            let level = bits(registers.eax, 7, 5);
            let share_bits = (bits(registers.eax, 25, 14) + 1).next_power_of_two().trailing_zeros();
            let cache = caches
                .entry((level, kind.to_owned(), share_bits, u64::from(apic) >> share_bits))
                .or_insert_with(|| Cache {
                    level,
                    kind: kind.to_owned(),
                    bytes: Some(size(registers)),
                    line_bytes: Some(bits(registers.ebx, 11, 0) + 1),
                    ways: Some(bits(registers.ebx, 31, 22) + 1),
                    cpus: Vec::new(),
                });
            if topology.iter().any(|place| place.cpu == cpu) {
                cache.cpus.push(cpu);
            }
        }
    }
    let mut caches: Vec<Cache> = caches.into_values().filter(|cache| !cache.cpus.is_empty()).collect();
    caches.sort_by(|a, b| (a.level, &a.kind, &a.cpus).cmp(&(b.level, &b.kind, &b.cpus)));
    caches
}

fn cache_leaves(leaves: &Leaves) -> Vec<Registers> {
    let present = |cache: Registers| bits(cache.eax, 4, 0) != 0;
    let intel: Vec<Registers> = leaves.each(4, present).collect();
    if intel.is_empty() { leaves.each(0x8000_001d, present).collect() } else { intel }
}

/// Ways x partitions x line x sets.
fn size(cache: Registers) -> u64 {
    let (ways, partitions, line) = (bits(cache.ebx, 31, 22), bits(cache.ebx, 21, 12), bits(cache.ebx, 11, 0));
    [ways, partitions, line, cache.ecx].into_iter().map(|less_one| u64::from(less_one) + 1).fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("36608K"), Some(36608 << 10));
        assert_eq!(parse_size("64"), Some(64));
        assert_eq!(parse_size("1X"), None);
        assert_eq!(parse_size("99999999999999999999K"), None);
        assert_eq!(parse_size("18446744073709551615G"), None);
    }

    #[test]
    fn the_last_level_is_the_highest_each_cpu_has() {
        let cache =
            |level, cpus: &[u32]| Cache { level, kind: "unified".into(), cpus: cpus.to_vec(), ..Cache::default() };
        let groups = last_level_groups(&[cache(2, &[0]), cache(2, &[1]), cache(2, &[2]), cache(3, &[0, 1])]);
        assert_eq!(groups, BTreeMap::from([(0, 1), (1, 1), (2, 0)]));
    }
}
