//! The processor: identity, kinds of core, clocks, and operations per cycle.

use std::collections::BTreeMap;

use model::isa::Isa;
use model::machine::{CoreKind, CoreType, Cpu, LogicalCpu, Machine, Withheld, WithheldBy};

use crate::cpu::arm::identity::Midr;
use crate::cpu::arm::{self, cores, hwcap, names};
use crate::cpu::cpuinfo::CpuInfo;
use crate::cpu::dump::Leaves;
use crate::cpu::features;
use crate::cpu::rates::ops_per_cycle;
use crate::cpu::sets;
use crate::cpu::topology::{self, Topology};
use crate::cpu::uarch::{self, Identity, Uarch};
use crate::cpu::units::Part;
use crate::ledger::{Found, Ledger};
use crate::sysroot::{Cpuid, Sysroot, label};
use crate::system::cgroup::Limits;
use crate::system::guest::{self, Guest};
use crate::system::{self, clock_in, cpufreq};

/// The identities of Arm's cores by CPU; empty on other processors.
type Midrs = BTreeMap<u32, Midr>;

/// All facts except what nodes and caches add to the topology ([`complete_topology`]).
pub(crate) fn discover(root: &Sysroot, limits: &mut Limits, ledger: &mut Ledger) -> Cpu {
    let cpuinfo = CpuInfo::read(root);
    let has_cpuid = !root.cpuid().dump.is_empty();
    let midrs = if has_cpuid { Midrs::new() } else { Midr::of_cpus(root, &cpuinfo) };
    let mut cpu = identity(root, &cpuinfo, &midrs, ledger);
    instruction_sets(root, &cpuinfo, &mut cpu, ledger);
    place(root, &cpuinfo, &mut cpu, ledger);
    available(root, limits, &mut cpu, ledger);
    system::controls(root, &mut cpu, ledger);
    cpu.tsc_hz = ledger.take("cpu.tsc_hz", tsc(root));
    core_types(root, &cpuinfo, &midrs, &mut cpu, ledger);
    clocks(root, &mut cpu, ledger);
    open_rates(&cpu, ledger);
    cpu
}

fn identity(root: &Sysroot, cpuinfo: &CpuInfo, midrs: &Midrs, ledger: &mut Ledger) -> Cpu {
    if let Some((cpu, _)) = midrs.first_key_value() {
        return arm_identity(root, cpuinfo, *cpu, ledger);
    }
    let cpuid = root.cpuid();
    let leaves = cpuid.dump.first();
    let leaf = |leaf: &str| format!("leaf {leaf} in {}", Cpuid::LABEL);
    let file = || label(CpuInfo::FILE);
    let text = |key: &str| cpuinfo.first(key).map(|text| (text.to_owned(), file()));
    let vendor = leaves.and_then(Leaves::vendor).map(|vendor| (vendor, leaf("0"))).or_else(|| text("vendor_id"));
    let brand = leaves.and_then(Leaves::brand).map(|brand| (brand, leaf("0x80000002"))).or_else(|| text("model name"));
    let listed = || Some((cpuinfo.number("cpu family")?, cpuinfo.number("model")?, cpuinfo.number("stepping")?));
    let signature = leaves.and_then(Leaves::signature).map(|signature| (signature, leaf("1")));
    let signature = signature.or_else(|| listed().map(|signature| (signature, file())));
    let why = no_identity(root);
    let signature = ledger.need("cpu.family", signature, why, "the microarchitecture is unknown");
    ledger.same("cpu.family", &["cpu.model", "cpu.stepping"]);
    let flagged = || Some((cpuinfo.first("flags")?.split(' ').any(|flag| flag == "hypervisor"), file()));
    let hypervisor = leaves.map(|leaves| (leaves.under_hypervisor(), leaf("1"))).or_else(flagged);
    let invented = "firmware and CPUID may be invented, so neither is used";
    let hypervisor = ledger.need("cpu.hypervisor_bit", hypervisor, why, invented);
    Cpu {
        vendor: ledger.need("cpu.vendor", vendor, why, "the microarchitecture is unknown"),
        model_name: ledger.need("cpu.model_name", brand, why, "the machine has no name in the results"),
        family: signature.map(|(family, _, _)| family),
        model: signature.map(|(_, model, _)| model),
        stepping: signature.map(|(_, _, stepping)| stepping),
        hypervisor_bit: hypervisor,
        microcode: ledger.take("cpu.microcode", text("microcode")),
        ..Cpu::default()
    }
}

/// Family is the implementer, model the part number, and stepping variant and revision.
fn arm_identity(root: &Sysroot, cpuinfo: &CpuInfo, first: u32, ledger: &mut Ledger) -> Cpu {
    let midr = ledger.take("cpu.family", Midr::of_cpu(root, cpuinfo, first));
    ledger.same("cpu.family", &["cpu.model", "cpu.stepping", "cpu.vendor"]);
    let core = midr.and_then(cores::look_up).map(|uarch| uarch.name);
    let why = "neither firmware's table, the cloud nor the device tree names the processor";
    let name = ledger.need("cpu.model_name", names::processor(root, cpuinfo, core), why, "its core stands for it");
    let hypervisor = guest::of_firmware(root).map(|(guest, source)| (guest != Guest::Bare, source));
    let why = "neither firmware's identity nor a device tree is known";
    let invented = "firmware may be invented, so it is not used";
    Cpu {
        vendor: midr.map(Midr::vendor),
        model_name: name,
        family: midr.map(|midr| midr.implementer),
        model: midr.map(|midr| midr.part),
        stepping: midr.map(Midr::stepping),
        hypervisor_bit: ledger.need("cpu.hypervisor_bit", hypervisor, why, invented),
        ..Cpu::default()
    }
}

fn instruction_sets(root: &Sysroot, cpuinfo: &CpuInfo, cpu: &mut Cpu, ledger: &mut Ledger) {
    let cpuid = root.cpuid();
    let file = label(CpuInfo::FILE);
    let of_arm = cpuinfo.first("Features");
    let passed = || hwcap::from_process(root).filter(|_| arm::is_arm(root));
    let found = features::from_cpuid(&cpuid.dump, None, cpuid.xcr0, Cpuid::LABEL)
        .or_else(|| cpuinfo.first("flags").map(|flags| features::from_flags(flags, &file)))
        .or_else(|| of_arm.and_then(|words| hwcap::from_words(words, &file)))
        .or_else(passed);
    if let Some(found) = found {
        ledger.source("cpu.isa", found.source);
        ledger.same("cpu.isa", &["cpu.features"]);
        cpu.isa = found.isa;
        cpu.features = found.names;
        let by_system = |(isa, why)| Withheld { isa, by: WithheldBy::OperatingSystem, why };
        cpu.withheld = found.not_enabled.into_iter().map(by_system).collect();
    } else {
        let why = match of_arm {
            Some(_) => format!("{file} lists the features of 32-bit processes"),
            None => no_identity(root).to_owned(),
        };
        ledger.missing("cpu.isa", why, "only scalar kernels can be chosen");
        cpu.isa = vec![Isa::Scalar];
    }
}

fn no_identity(root: &Sysroot) -> &'static str {
    arm::or_x86(root, "no MIDR and no /proc/cpuinfo", "no CPUID and no /proc/cpuinfo")
}

fn place(root: &Sysroot, cpuinfo: &CpuInfo, cpu: &mut Cpu, ledger: &mut Ledger) {
    let topology = Topology::discover(root, cpuinfo);
    if let Some((packages, cores, threads)) = topology.counts() {
        (cpu.packages, cpu.cores, cpu.threads) = (Some(packages), Some(cores), Some(threads));
        cpu.smt = topology.smt();
        ledger.source("cpu.topology", topology.source);
        ledger.same("cpu.topology", &["cpu.packages", "cpu.cores", "cpu.threads", "cpu.smt"]);
        if cpu.hypervisor_bit == Some(true) {
            let why = "a hypervisor decides which cores it shows";
            ledger.missing("cpu.host_topology", why, "two CPUs shown as cores may be SMT siblings of one");
        }
    } else {
        let of_x86 = "no /sys/devices/system/cpu, no CPUID, no /proc/cpuinfo";
        let none = arm::or_x86(root, "no /sys/devices/system/cpu", of_x86);
        let (why, consequence) = match &topology.partial {
            Some(why) => (why.as_str(), "the numbers of cores and CPUs are unknown"),
            None => (none, "cores and SMT siblings cannot be distinguished, so there is no peak"),
        };
        ledger.missing("cpu.topology", why, consequence);
        cpu.smt = topology.smt();
    }
    cpu.topology = topology.cpus;
}

/// The CPUs that this process may use: affinity within CPU sets; without either all.
fn available(root: &Sysroot, limits: &mut Limits, cpu: &mut Cpu, ledger: &mut Ledger) {
    let online: Vec<u32> = cpu.topology.iter().map(|place| place.cpu).collect();
    let (mut cpus, mut source) = (system::affinity(root), label(system::STATUS));
    if cpus.is_empty() {
        (cpus, source) = (online.clone(), "no affinity recorded: all CPUs".to_owned());
    }
    if let Some((set, from)) = limits.cpus.take() {
        cpus.retain(|cpu| set.contains(cpu));
        source = format!("{source}, {from}");
    }
    if !online.is_empty() {
        cpus.retain(|cpu| online.contains(cpu));
    }
    if !cpus.is_empty() {
        ledger.source("cpu.available_cpus", source);
    }
    cpu.available_cpus = cpus;
    cpu.quota_cpus = ledger.take("cpu.quota_cpus", limits.quota_cpus.take());
}

/// Groups CPUs by kind of core, fast kinds first, and numbers the kinds in the topology.
fn core_types(root: &Sysroot, cpuinfo: &CpuInfo, midrs: &Midrs, cpu: &mut Cpu, ledger: &mut Ledger) {
    let (kinds, source) = topology::core_kinds(root, cpuinfo, midrs, &cpu.topology);
    let mut groups: BTreeMap<(CoreKind, u32), Vec<&LogicalCpu>> = BTreeMap::new();
    for place in &cpu.topology {
        groups.entry(kinds.get(&place.cpu).copied().unwrap_or_default()).or_default().push(place);
    }
    let uniform = groups.len() == 1;
    let (mut types, mut hidden) = (Vec::new(), Vec::new());
    for ((kind, _), places) in &groups {
        let leaves = places.first().and_then(|place| root.cpuid().dump.cpu(place.cpu));
        let midr = places.first().and_then(|place| midrs.get(&place.cpu));
        let uarch =
            midr.map_or_else(|| look_up(cpu, *kind, leaves), |midr| cores::look_up(*midr).filter(|_| source.is_ok()));
        let mut cores: Vec<u32> = places.iter().map(|place| place.core).collect();
        cores.sort_unstable();
        cores.dedup();
        let cpus: Vec<u32> = places.iter().map(|place| place.cpu).collect();
        let own = features::from_cpuid(&root.cpuid().dump, Some(&cpus), root.cpuid().xcr0, Cpuid::LABEL);
        hidden.extend(uarch.zip(own.as_ref()).map(|(uarch, own)| sets::hidden(uarch, own)).unwrap_or_default());
        let (isa, features) = own.map_or_else(|| (cpu.isa.clone(), cpu.features.clone()), |own| (own.isa, own.names));
        types.push(CoreType {
            kind: if uniform { CoreKind::Uniform } else { *kind },
            microarchitecture: uarch.map(|uarch| uarch.name.to_owned()),
            cores: count(cores.len()),
            threads: count(places.len()),
            cpus,
            ops_per_cycle: ops_per_cycle(uarch, &isa, &features, &part(root, cpu, leaves)),
            isa,
            ..CoreType::default()
        });
    }
    match source {
        Err(why) => ledger.missing("cpu.core_types", why, "the kinds of core are not distinguished"),
        Ok(_) if types.is_empty() => {}
        Ok(_) if uniform && kinds.is_empty() => ledger.source("cpu.core_types", "all cores are of one kind"),
        Ok(source) => ledger.source("cpu.core_types", source),
    }
    for place in &mut cpu.topology {
        place.core_type = types.iter().position(|kind| kind.cpus.contains(&place.cpu)).map_or(0, count);
    }
    cpu.core_types = types;
    for withheld in hidden.into_iter().filter(|_| cpu.hypervisor_bit == Some(true)) {
        if cpu.withheld.iter().all(|known| known.isa != withheld.isa) {
            cpu.withheld.push(withheld);
        }
    }
    if !cpu.withheld.is_empty() {
        ledger.source("cpu.withheld", "with each instruction set");
    }
    name_microarchitecture(cpu, midrs, ledger);
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn name_microarchitecture(cpu: &mut Cpu, midrs: &Midrs, ledger: &mut Ledger) {
    let mut names: Vec<&str> = cpu.core_types.iter().filter_map(|kind| kind.microarchitecture.as_deref()).collect();
    names.dedup();
    let complete = !names.is_empty() && cpu.core_types.iter().all(|kind| kind.microarchitecture.is_some());
    let table = if midrs.is_empty() { "table of families and models" } else { "table of part numbers" };
    let name = complete.then(|| (names.join(" + "), table.to_owned()));
    let unknown = midrs.values().find(|midr| cores::look_up(**midr).is_none());
    let is_open = !midrs.is_empty() && ledger.unknown.iter().any(|unknown| unknown.fact == "cpu.core_types");
    let part = unknown.map(|midr| format!("the table has no row for part {:#05x} of {}", midr.part, midr.vendor()));
    let why = match part.as_deref() {
        _ if is_open => "the kinds of core are not distinguished",
        Some(part) => part,
        None => "the table has no row for this family, model and kind of core",
    };
    cpu.microarchitecture =
        ledger.need("cpu.microarchitecture", name, why, "peaks only as inferred from a measurement");
}

/// The table's row for a kind of core. Unidentified cores of a hybrid count as fast, on a bare machine only.
fn look_up(cpu: &Cpu, kind: CoreKind, leaves: Option<&Leaves>) -> Option<&'static Uarch> {
    let listed = || Some((cpu.family?, cpu.model?, cpu.stepping?));
    let (family, model, stepping) = leaves.and_then(Leaves::signature).or_else(listed)?;
    let identity = |kind| Identity { vendor: cpu.vendor.as_deref().unwrap_or_default(), family, model, stepping, kind };
    let certain = uarch::look_up(identity(kind));
    let bare = cpu.hypervisor_bit == Some(false);
    certain.or_else(|| (kind == CoreKind::Uniform && bare).then(|| uarch::look_up(identity(CoreKind::Performance)))?)
}

/// Base and boost clock of each kind of core; the machine's are those of its fastest kind.
fn clocks(root: &Sysroot, cpu: &mut Cpu, ledger: &mut Ledger) {
    let brand = cpu.model_name.clone().unwrap_or_default();
    for kind in &mut cpu.core_types {
        let first = kind.cpus.first().copied().unwrap_or(0);
        let prefix = format!("cpu.core_types.{}", kind.kind);
        let from_brand = brand_clock(&brand).map(|hz| (hz, "brand string".to_owned()));
        let frequency = |name: &str| clock_in(root, &cpufreq(first, name), 1e3);
        // The nominal clock from firmware (ACPI CPPC), MHz, for drivers without `base_frequency`.
        let nominal = || clock_in(root, &format!("sys/devices/system/cpu/cpu{first}/acpi_cppc/nominal_freq"), 1e6);
        let base = frequency("base_frequency")
            .or_else(nominal)
            .or_else(|| leaf_clock(root, first, |leaf| leaf.eax))
            .or(from_brand);
        let boost = frequency("cpuinfo_max_freq").or_else(|| leaf_clock(root, first, |leaf| leaf.ebx));
        kind.base_hz = ledger.take(&format!("{prefix}.base_hz"), base);
        kind.boost_hz = ledger.take(&format!("{prefix}.boost_hz"), boost);
    }
    let first = cpu.core_types.first();
    (cpu.base_hz, cpu.boost_hz) = (first.and_then(|kind| kind.base_hz), first.and_then(|kind| kind.boost_hz));
    let kind = first.map(|kind| kind.kind).unwrap_or_default();
    let of_x86 = "no cpufreq, no CPUID leaf 0x16, no clock in the brand string";
    let why = arm::or_x86(root, "no cpufreq, and firmware reports no clock", of_x86);
    for (fact, known) in [("base_hz", cpu.base_hz), ("boost_hz", cpu.boost_hz)] {
        let source = ledger.sources.get(&format!("cpu.core_types.{kind}.{fact}")).cloned();
        let consequence = "no peak at this clock, only the limit at the measured clock";
        ledger.need(&format!("cpu.{fact}"), known.zip(source), why, consequence);
    }
}

/// Leaf 0x16: MHz, 0 if unknown.
fn leaf_clock(root: &Sysroot, cpu: u32, register: impl Fn(crate::cpu::dump::Registers) -> u32) -> Found<f64> {
    let cpuid = root.cpuid();
    let mhz = cpuid.dump.cpu(cpu)?.get(0x16, 0).map(register).map(|mhz| mhz & 0xffff).filter(|mhz| *mhz > 0)?;
    Some((f64::from(mhz) * 1e6, format!("leaf 0x16 in {}", Cpuid::LABEL)))
}

fn brand_clock(brand: &str) -> Option<f64> {
    let clock = brand.rsplit_once('@')?.1.trim();
    let units = [("GHz", 1e9), ("MHz", 1e6)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((clock.strip_suffix(name)?, unit)))?;
    number.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0).map(|number| number * unit)
}

/// The TSC rate: leaf 0x15 (crystal x ratio), else a hypervisor's leaf 0x40000010 (kHz).
fn tsc(root: &Sysroot) -> Found<f64> {
    let cpuid = root.cpuid();
    let leaves = cpuid.dump.first()?;
    let ratio = leaves.or_zero(0x15, 0);
    if ratio.eax > 0 && ratio.ebx > 0 && ratio.ecx > 0 {
        let hz = f64::from(ratio.ecx) * f64::from(ratio.ebx) / f64::from(ratio.eax);
        return Some((hz, format!("leaf 0x15 in {}", Cpuid::LABEL)));
    }
    let khz = leaves.get(0x4000_0010, 0).map(|leaf| leaf.eax).filter(|khz| *khz > 0)?;
    Some((f64::from(khz) * 1e3, format!("leaf 0x40000010 in {}", Cpuid::LABEL)))
}

fn part(root: &Sysroot, cpu: &Cpu, leaves: Option<&Leaves>) -> Part {
    let datapath = |leaves: &Leaves| Some(leaves.get(0x8000_001a, 0)?.eax);
    Part {
        brand: cpu.model_name.clone().unwrap_or_default(),
        signature: (cpu.family.unwrap_or(0), cpu.model.unwrap_or(0)),
        datapath_bits: leaves.filter(|leaves| !leaves.under_hypervisor()).and_then(datapath),
        vector_bits: hwcap::vector_bits(root).map(|(bits, _)| bits),
    }
}

fn open_rates(cpu: &Cpu, ledger: &mut Ledger) {
    for kind in &cpu.core_types {
        let fact = format!("cpu.core_types.{}.ops_per_cycle", kind.kind);
        let open = kind.ops_per_cycle.iter().filter(|rate| !rate.candidates.is_empty());
        let open: Vec<&str> = open.map(|rate| rate.what.as_str()).collect();
        if !open.is_empty() {
            let units = if cpu.isa.contains(&Isa::Neon) {
                "vector pipes of 64 or 128 bits"
            } else {
                "one or two 512-bit units"
            };
            let why = format!("parts of this model have {units}: {}", open.join(", "));
            ledger.missing(&fact, why, "a measurement decides; until then peaks that depend on it are missing");
        }
        ledger.source(&fact, "with each value");
    }
}

pub(crate) fn complete_topology(machine: &mut Machine, llc: &BTreeMap<u32, u32>) {
    for place in &mut machine.cpu.topology {
        place.llc = llc.get(&place.cpu).copied();
        place.node = machine.numa.iter().find(|node| node.cpus.contains(&place.cpu)).map(|node| node.node);
    }
}
