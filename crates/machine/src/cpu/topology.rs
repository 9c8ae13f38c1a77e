//! Which logical CPUs share a core, a package and a kind of core: by the kernel's topology files, else APIC numbers in
//! CPUID, else `/proc/cpuinfo`. Kinds: CPUID leaf 0x1A (Intel) or 0x80000026 (AMD), else the kernel's lists.

use std::collections::BTreeMap;

use model::machine::{CoreKind, LogicalCpu};

use crate::cpu::arm;
use crate::cpu::arm::identity::Midr;
use crate::cpu::arm::kinds::{self, Kinds};
use crate::cpu::cpuinfo::CpuInfo;
use crate::cpu::dump::{Dump, Leaves, bit, bits};
use crate::list::{HIGHEST_CPU, parse_list};
use crate::sysroot::{Cpuid, Sysroot, label};
use crate::system::online::{CPUS, online_cpus, topology_file};

#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// Ascending by number; `core_type` still 0, `llc` and `node` still unknown.
    pub(crate) cpus: Vec<LogicalCpu>,
    pub(crate) source: String,
    /// Why CPUs are missing; their number is unknown then.
    pub(crate) partial: Option<String>,
}

struct CpuPlace {
    cpu: u32,
    package: u64,
    core: u64,
}

impl Topology {
    pub(crate) fn discover(root: &Sysroot, cpuinfo: &CpuInfo) -> Self {
        let cpuid = root.cpuid();
        let witnesses = [
            (without_clusters(root, from_sysfs(root)), label("sys/devices/system/cpu/cpu*/topology")),
            (from_dump(&cpuid.dump), format!("APIC numbers in {}", Cpuid::LABEL)),
            (from_cpuinfo(cpuinfo), label("proc/cpuinfo")),
        ];
        let best = witnesses.into_iter().enumerate().find(|(_, (places, _))| !places.is_empty());
        let Some((witness, (places, source))) = best else { return Self::default() };
        let partial = if witness == 1 { partial(&cpuid.dump) } else { None };
        Self { cpus: number(&places), source, partial }
    }

    pub(crate) fn counts(&self) -> Option<(u32, u32, u32)> {
        if self.partial.is_some() {
            return None;
        }
        let count = |number: fn(&LogicalCpu) -> u32| self.cpus.iter().map(number).max().map(|highest| highest + 1);
        Some((count(|cpu| cpu.package)?, count(|cpu| cpu.core)?, u32::try_from(self.cpus.len()).ok()?))
    }

    pub(crate) fn smt(&self) -> Option<bool> {
        let has_siblings = self.cpus.iter().any(|cpu| cpu.siblings.len() > 1);
        (has_siblings || self.partial.is_none() && !self.cpus.is_empty()).then_some(has_siblings)
    }
}

fn from_sysfs(root: &Sysroot) -> Vec<CpuPlace> {
    let online = online_cpus(root);
    let place = |cpu: u32| {
        let file = |name: &str| topology_file(cpu, name);
        // Some virtual machines have package -1.
        let package = root.number::<i64>(&file("physical_package_id"))?.max(0).unsigned_abs();
        let siblings = [("thread_siblings_list", "thread_siblings"), ("core_cpus_list", "core_cpus")];
        let siblings = siblings.iter().find_map(|(list, mask)| root.cpus_with(cpu, &file(list), &file(mask)));
        let first = siblings.and_then(|siblings| siblings.first().copied()).map(u64::from);
        // The number of a core in its package: apart from the numbers of CPUs.
        let of_package = || root.number::<u32>(&file("core_id")).map(|core| u64::from(core) | 1 << 32);
        Some(CpuPlace { cpu, package, core: first.or_else(of_package)? })
    };
    let places: Vec<CpuPlace> = online.iter().filter_map(|cpu| place(*cpu)).collect();
    if places.len() == online.len() { places } else { Vec::new() }
}

/// Before version 6.0, kernels on a device tree of Arm number clusters as packages. Only a server has several packages: it has
/// firmware's identity or several memory nodes.
fn without_clusters(root: &Sysroot, mut places: Vec<CpuPlace>) -> Vec<CpuPlace> {
    let is_node = |name: &String| crate::list::number_after(name, "node").is_some();
    let is_server = || {
        let nodes = root.names("sys/devices/system/node").iter().filter(|name| is_node(name)).count();
        nodes > 1 || root.text("sys/class/dmi/id/sys_vendor").is_some()
    };
    if places.iter().any(|place| place.package != places[0].package) && arm::is_arm(root) && !is_server() {
        for place in &mut places {
            // The core's number may be one of the cluster.
            (place.core, place.package) = (place.core | place.package << 40, 0);
        }
    }
    places
}

fn from_cpuinfo(cpuinfo: &CpuInfo) -> Vec<CpuPlace> {
    let place = |cpu: &BTreeMap<String, String>| {
        let number = |key: &str| cpu.get(key)?.parse::<u64>().ok();
        let package = number("physical id")?;
        let cpu = cpu.get("processor")?.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU)?;
        Some(CpuPlace { cpu, package, core: package << 32 | number("core id")? })
    };
    cpuinfo.cpus.iter().filter_map(place).collect()
}

fn from_dump(dump: &Dump) -> Vec<CpuPlace> {
    let place = |(cpu, leaves): (u32, &Leaves)| {
        let Apic { id, smt_bits, package_bits, .. } = Apic::from_leaves(leaves)?;
        // The lowest number in the core: kinds of core may have different numbers of bits.
        let core = u64::from(id) & u64::MAX.checked_shl(smt_bits)?;
        let package = u64::from(id).checked_shr(package_bits)?;
        Some(CpuPlace { cpu, package, core })
    };
    dump.cpus().filter_map(place).collect()
}

/// Why a dump of one CPU does not count the CPUs of its package. What CPUID counts is often more than the package has.
fn partial(dump: &Dump) -> Option<String> {
    let threads = Apic::from_leaves(dump.first()?)?.package_threads;
    (dump.cpus().count() == 1 && threads > 1)
        .then(|| format!("CPUID is known of 1 CPU of up to {threads} in a package"))
}

struct Apic {
    id: u32,
    /// Low bits that number the threads of a core.
    smt_bits: u32,
    package_bits: u32,
    /// The most CPUs that a package may have.
    package_threads: u32,
}

impl Apic {
    fn from_leaves(leaves: &Leaves) -> Option<Self> {
        [0x1f, 0xb, 0x8000_0026]
            .into_iter()
            .find_map(|leaf| Self::from_levels(leaves, leaf))
            .or_else(|| Self::from_amd(leaves))
            .or_else(|| Self::from_legacy(leaves))
    }

    /// Extended topology: a subleaf per level with its bits; type 1 separates the threads of a core.
    fn from_levels(leaves: &Leaves, leaf: u32) -> Option<Self> {
        let levels: Vec<_> = leaves.each(leaf, |level| bits(level.ecx, 15, 8) != 0).collect();
        let smt = levels.iter().find(|level| bits(level.ecx, 15, 8) == 1)?;
        let last = levels.last()?;
        let package_threads = bits(last.ebx, 15, 0);
        Some(Self { id: last.edx, smt_bits: bits(smt.eax, 4, 0), package_bits: bits(last.eax, 4, 0), package_threads })
    }

    /// AMD before extended topology: threads per core in leaf 0x8000001E, package size in 0x80000008.
    fn from_amd(leaves: &Leaves) -> Option<Self> {
        const TOPOLOGY_EXTENSIONS: u32 = 22;
        if !bit(leaves.get(0x8000_0001, 0)?.ecx, TOPOLOGY_EXTENSIONS) {
            return None;
        }
        let unit = leaves.get(0x8000_001e, 0)?;
        let threads_per_core = bits(unit.ebx, 15, 8) + 1;
        let size = leaves.get(0x8000_0008, 0)?.ecx;
        let package_bits = match bits(size, 15, 12) {
            0 => (bits(size, 7, 0) + 1).next_power_of_two().trailing_zeros(),
            bits => bits,
        };
        let smt_bits = threads_per_core.next_power_of_two().trailing_zeros();
        let package_threads = bits(size, 7, 0) + 1;
        Some(Self { id: unit.eax, smt_bits, package_bits: package_bits.max(smt_bits), package_threads })
    }

    /// The eight-bit APIC number of leaf 1, with the core count of leaf 4.
    fn from_legacy(leaves: &Leaves) -> Option<Self> {
        const MANY_THREADS: u32 = 28;
        let one = leaves.get(1, 0)?;
        let threads = if bit(one.edx, MANY_THREADS) { bits(one.ebx, 23, 16).max(1) } else { 1 };
        // AMD has the leaf and leaves it empty: its processors of that time have no SMT. Intel's without it have one core.
        let cache = leaves.get(4, 0).filter(|cache| bits(cache.eax, 4, 0) != 0);
        let has_one_core = cache.is_none() && leaves.vendor().is_some_and(|vendor| vendor == "GenuineIntel");
        let without = if has_one_core { 1 } else { threads };
        let cores = cache.map_or(without, |cache| bits(cache.eax, 31, 26) + 1).clamp(1, threads);
        let width = |count: u32| count.next_power_of_two().trailing_zeros();
        let package_bits = width(threads);
        let smt_bits = package_bits - width(cores).min(package_bits);
        Some(Self { id: bits(one.ebx, 31, 24), smt_bits, package_bits, package_threads: threads })
    }
}

fn number(places: &[CpuPlace]) -> Vec<LogicalCpu> {
    fn dense<K: Ord>(known: &mut BTreeMap<K, u32>, key: K) -> u32 {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(key).or_insert(next)
    }
    let (mut packages, mut cores) = (BTreeMap::new(), BTreeMap::new());
    let mut threads: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut cpus: Vec<LogicalCpu> = Vec::new();
    for place in places {
        let package = dense(&mut packages, place.package);
        let core = dense(&mut cores, (place.package, place.core));
        threads.entry(core).or_default().push(place.cpu);
        cpus.push(LogicalCpu { cpu: place.cpu, package, core, ..LogicalCpu::default() });
    }
    for cpu in &mut cpus {
        cpu.siblings.clone_from(&threads[&cpu.core]);
    }
    cpus
}

/// The kinds by CPU, empty if all cores are alike, with the source or the reason why they are unknown.
pub(crate) fn core_kinds(
    root: &Sysroot,
    cpuinfo: &CpuInfo,
    midrs: &BTreeMap<u32, Midr>,
    topology: &[LogicalCpu],
) -> (Kinds, Result<String, String>) {
    let alone = |kinds: BTreeMap<u32, CoreKind>| kinds.into_iter().map(|(cpu, kind)| (cpu, (kind, 0))).collect();
    let cpuid = root.cpuid();
    let known: BTreeMap<u32, CoreKind> =
        cpuid.dump.cpus().filter_map(|(cpu, leaves)| Some((cpu, kind_of(leaves)?))).collect();
    if !known.is_empty() {
        return (alone(without_l3(&cpuid.dump, known)), Ok(format!("leaves 0x1A, 0x80000026 in {}", Cpuid::LABEL)));
    }
    let by_size = strix_point(&cpuid.dump);
    if !by_size.is_empty() {
        let source = format!("size of the third-level cache, leaf 0x8000001D in {}", Cpuid::LABEL);
        return (alone(by_size), Ok(source));
    }
    let lists = [
        ("cpu_core", CoreKind::Performance),
        ("cpu_atom", CoreKind::Efficiency),
        ("cpu_lowpower", CoreKind::LowPowerEfficiency),
    ];
    let listed = lists.into_iter().flat_map(|(folder, kind)| {
        let list = root.text(&format!("sys/devices/{folder}/cpus")).unwrap_or_default();
        parse_list(&list).into_iter().map(move |cpu| (cpu, kind))
    });
    let listed: BTreeMap<u32, CoreKind> = listed.collect();
    if !listed.is_empty() {
        return (alone(listed), Ok(label("sys/devices/cpu_*/cpus")));
    }
    let by_siblings = by_siblings(root, topology);
    if !by_siblings.is_empty() {
        return (alone(by_siblings), Ok("cores with and without SMT".to_owned()));
    }
    kinds::by_part(root, cpuinfo, midrs, topology)
}

/// By SMT: of the cores of a bare machine with all CPUs online, only fast ones have siblings where cores differ.
fn by_siblings(root: &Sysroot, topology: &[LogicalCpu]) -> BTreeMap<u32, CoreKind> {
    let present = root.text(&format!("{CPUS}/present")).map(|list| parse_list(&list).len());
    let is_guest = root.cpuid().dump.cpus().any(|(_, leaves)| leaves.under_hypervisor());
    let has_siblings = |cpu: &LogicalCpu| cpu.siblings.len() > 1;
    let with = topology.iter().filter(|cpu| has_siblings(cpu)).count();
    if is_guest || present != Some(topology.len()) || with == 0 || with == topology.len() {
        return BTreeMap::new();
    }
    let kind = |cpu: &LogicalCpu| if has_siblings(cpu) { CoreKind::Performance } else { CoreKind::Efficiency };
    topology.iter().map(|cpu| (cpu.cpu, kind(cpu))).collect()
}

/// On a bare Strix Point, CPUID may not identify Zen 5 and 5c; Zen 5 shares the larger third-level cache.
fn strix_point(dump: &Dump) -> BTreeMap<u32, CoreKind> {
    const FAMILY: u32 = 0x1a;
    let is_one = |leaves: &Leaves| {
        let part = leaves.signature().map(|(family, model, _)| (family, model >> 4));
        part == Some((FAMILY, 2)) && !leaves.under_hypervisor()
    };
    let sets = |leaves: &Leaves| leaves.get(0x8000_001d, 3).map(|cache| cache.ecx);
    let of_cpu: BTreeMap<u32, u32> = dump
        .cpus()
        .filter(|(_, leaves)| is_one(leaves))
        .filter_map(|(cpu, leaves)| Some((cpu, sets(leaves)?)))
        .collect();
    let (Some(least), Some(most)) = (of_cpu.values().min().copied(), of_cpu.values().max().copied()) else {
        return BTreeMap::new();
    };
    let kind = |sets: u32| if sets == most { CoreKind::Performance } else { CoreKind::Efficiency };
    if least == most { BTreeMap::new() } else { of_cpu.into_iter().map(|(cpu, sets)| (cpu, kind(sets))).collect() }
}

/// By native model (Intel, leaf 0x1A) or core level (AMD, leaf 0x80000026, only if cores differ).
pub(crate) fn kind_of(leaves: &Leaves) -> Option<CoreKind> {
    const HETEROGENEOUS: u32 = 30;
    match bits(leaves.or_zero(0x1a, 0).eax, 31, 24) {
        0x20 => return Some(CoreKind::Efficiency),
        0x40 => return Some(CoreKind::Performance),
        _ => {}
    }
    let levels: Vec<_> = leaves.each(0x8000_0026, |level| bits(level.ecx, 15, 8) != 0).collect();
    if !levels.iter().any(|level| bit(level.eax, HETEROGENEOUS)) {
        return None;
    }
    match bits(levels.first()?.ebx, 31, 28) {
        0 => Some(CoreKind::Performance),
        1 => Some(CoreKind::Efficiency),
        _ => None,
    }
}

/// Small cores without the third-level cache that fast cores have are outside the main cluster.
fn without_l3(dump: &Dump, mut kinds: BTreeMap<u32, CoreKind>) -> BTreeMap<u32, CoreKind> {
    let has_l3 = |cpu: &u32| {
        let caches = dump.cpu(*cpu).into_iter().flat_map(|leaves| leaves.each(4, |cache| bits(cache.eax, 4, 0) != 0));
        caches.into_iter().any(|cache| bits(cache.eax, 7, 5) == 3)
    };
    let is_amd = |cpu: &u32| dump.cpu(*cpu).and_then(Leaves::vendor).is_some_and(|vendor| vendor == "AuthenticAMD");
    let fast_has = kinds.iter().any(|(cpu, kind)| *kind == CoreKind::Performance && has_l3(cpu));
    for (cpu, kind) in &mut kinds {
        if fast_has && *kind == CoreKind::Efficiency && !is_amd(cpu) && !has_l3(cpu) {
            *kind = CoreKind::LowPowerEfficiency;
        }
    }
    kinds
}

pub(crate) fn apic_number(leaves: &Leaves) -> Option<u32> {
    Apic::from_leaves(leaves).map(|apic| apic.id)
}
