//! Theoretical peaks: a core's operations per cycle x its clock, summed over the physical cores in use. SMT siblings
//! add nothing. An unknown value means no peak. For a plain scalar loop the vector maximum is listed too.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::disk_target::IoLimits;
use model::experiment::{DiskChoices, DiskParams, NetParams, disk_id, id_without_threads, net_id};
use model::io::{Direction, DiskOp, DiskPattern, NetMode, Protocol};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{CoreType, Machine, OpsPerCycle, Storage};
use model::number::clock;
use model::peak::{InfoPeak, Peak, PeakInput, PeakKind};

use crate::cpu::rates::resolve;
use crate::cpu::sets::core_prefix;
use crate::cpu::steps::{CpuKernel, kernels};
use crate::declared::Declared;
use crate::limits::disk::disk_peaks;
use crate::limits::memory::read_peaks;
use crate::limits::net::{NetEnd, NetPath, net_peaks};
use crate::limits::source;
use crate::published::processors::vector_clocks;
use crate::published::table::Published;

/// The peaks of a CPU kernel on the logical CPUs in `placement`. `clocks`, Hz, one per entry, are measured during the
/// work; `measured`, the 90th percentile of operations per cycle and core, settles what the table leaves open.
pub fn cpu_peaks(
    machine: &Machine,
    kernel: CpuKernel,
    placement: &[u32],
    clocks: Option<&[f64]>,
    measured: Option<f64>,
) -> Vec<Peak> {
    let cores = cores(machine, placement, clocks);
    // One value measured over different kinds of core does not describe either kind.
    let measured = measured.filter(|_| cores.len() == 1);
    let mut peaks = own_peaks(machine, kernel, &cores, measured).unwrap_or_default();
    if kernel.op == CpuOp::Plain {
        peaks.extend(vector_peak(machine, kernel.element, &cores));
    }
    peaks
}

fn own_peaks(machine: &Machine, kernel: CpuKernel, cores: &[Cores<'_>], measured: Option<f64>) -> Option<Vec<Peak>> {
    let resolved = |cores: &Cores<'_>| {
        let resolved = resolve(kernel, &machine.cpu.features, cores.ops_per_cycle(kernel)?, measured)?;
        Some((Rate { ops: resolved.value, source: resolved.source, of: String::new() }, resolved.inferred))
    };
    let found: Vec<(Rate, bool)> = cores.iter().map(resolved).collect::<Option<_>>()?;
    let inferred = found.iter().any(|(_, inferred)| *inferred);
    let rates: Vec<Rate> = found.into_iter().map(|(rate, _)| rate).collect();
    // A value inferred from a measurement cannot be the base of a datasheet peak.
    let kinds: &[PeakKind] =
        if inferred { &[PeakKind::Inferred] } else { &[PeakKind::Sustained, PeakKind::Boost, PeakKind::Base] };
    Some(kinds.iter().filter_map(|kind| sum(machine, *kind, kernel, cores, &rates)).collect())
}

/// The vector maximum of the same cores for the same element type, at the clock measured during the plain loop.
fn vector_peak(machine: &Machine, element: Element, cores: &[Cores<'_>]) -> Option<Peak> {
    let rates: Vec<Rate> = cores.iter().map(|cores| cores.fastest_vector(element)).collect::<Option<_>>()?;
    sum(machine, PeakKind::PlatformMaximum, CpuKernel { op: CpuOp::Plain, element, isa: Isa::Scalar }, cores, &rates)
}

struct Rate {
    ops: f64,
    source: String,
    of: String,
}

struct Cores<'m> {
    core_type: &'m CoreType,
    hybrid: bool,
    number: u32,
    /// Measured clock of each core, Hz; incomplete if not measured on all.
    clocks: Vec<f64>,
}

impl Cores<'_> {
    /// The clock of a peak and its source. Where the clocks of the kernel's vectors are published, they count: the base clock,
    /// and the highest clock of all cores. A boost clock is at most the kernel's cap.
    fn clock(&self, machine: &Machine, kind: PeakKind, kernel: CpuKernel) -> Option<(f64, String)> {
        let (hz, of) = self.uncapped_clock(machine, kind, kernel)?;
        match machine.cpu.clock_cap_hz {
            Some(cap) if kind == PeakKind::Boost && cap < hz => Some((cap, source(machine, "cpu.clock_cap_hz"))),
            _ => Some((hz, of)),
        }
    }

    fn uncapped_clock(&self, machine: &Machine, kind: PeakKind, kernel: CpuKernel) -> Option<(f64, String)> {
        let vectors = vector_clocks(machine, kernel.isa).filter(|_| kernel.op == CpuOp::Fma);
        let of_vectors = match kind {
            PeakKind::Boost if Some(self.number) == machine.cpu.cores => vectors.and_then(|clocks| clocks.all_core_hz),
            PeakKind::Base => vectors.map(|clocks| clocks.base_hz),
            _ => None,
        };
        if let Some(Published { value, origin, date }) = of_vectors {
            return Some((value, format!("published for {}: {origin}, {date}", kernel.isa.title())));
        }
        let listed = |fact: &str, hz: Option<f64>| {
            hz.map(|hz| (hz, source(machine, &format!("cpu.core_types.{}.{fact}", self.core_type.kind))))
        };
        match kind {
            PeakKind::Boost => listed("boost_hz", self.core_type.boost_hz),
            PeakKind::Base => listed("base_hz", self.core_type.base_hz),
            _ => self.measured_clock().map(|hz| (hz, "measured during the work".to_owned())),
        }
    }

    fn measured_clock(&self) -> Option<f64> {
        let complete = !self.clocks.is_empty() && self.clocks.len() == usize::try_from(self.number).ok()?;
        complete.then(|| self.clocks.iter().sum::<f64>() / f64::from(self.number))
    }

    fn ops_per_cycle(&self, kernel: CpuKernel) -> Option<&OpsPerCycle> {
        self.core_type.ops_per_cycle.iter().find(|ops| ops.what == kernel.what())
    }

    /// The fastest vector kernel for this type. If the number of 512-bit units is open, two are assumed.
    fn fastest_vector(&self, element: Element) -> Option<Rate> {
        let ops: &[CpuOp] = match element {
            Element::Int8 | Element::Int16 => &[CpuOp::Matrix, CpuOp::Dot],
            Element::Fp64 | Element::Fp32 | Element::Fp16 | Element::Bf16 => &[CpuOp::Fma],
            Element::Int32 | Element::Int64 => &[CpuOp::MulAdd],
        };
        let vectors = self.core_type.isa.iter().filter(|isa| **isa != Isa::Scalar);
        let kernels = vectors.flat_map(|isa| ops.iter().map(|op| CpuKernel { op: *op, element, isa: *isa }));
        let rated = kernels.filter_map(|kernel| {
            let known = self.ops_per_cycle(kernel)?;
            let most = known.candidates.iter().copied().max_by(f64::total_cmp).or(known.value)?;
            Some((kernel, most, &known.source))
        });
        let (kernel, ops, source) = rated.max_by(|one, other| one.1.total_cmp(&other.1))?;
        let of = format!(" ({}, {})", kernel.op, kernel.isa.title());
        Some(Rate { ops, source: source.clone(), of })
    }

    fn name(&self) -> String {
        format!("{}core{}", core_prefix(self.core_type.kind), if self.number == 1 { "" } else { "s" })
    }
}

fn cores<'m>(machine: &'m Machine, placement: &[u32], clocks: Option<&[f64]>) -> Vec<Cores<'m>> {
    let hybrid = machine.cpu.core_types.len() > 1;
    let clock_of = core_clocks(machine, placement, clocks);
    let mut cores: BTreeMap<usize, Cores<'m>> = BTreeMap::new();
    for cpu in machine.cpu.one_per_core(placement) {
        let of_cpu = |core_type: &CoreType| core_type.cpus.contains(&cpu);
        let Some(index) = machine.cpu.core_types.iter().position(of_cpu) else { return Vec::new() };
        let core_type = &machine.cpu.core_types[index];
        let kind = cores.entry(index).or_insert(Cores { core_type, hybrid, number: 0, clocks: Vec::new() });
        kind.number += 1;
        kind.clocks.extend(clock_of.get(&core_of(machine, cpu)));
    }
    cores.into_values().collect()
}

fn core_of(machine: &Machine, cpu: u32) -> u32 {
    machine.cpu.place(cpu).map_or(cpu, |place| place.core)
}

/// The clock of each physical core: the highest that its threads measured, since a busy sibling only hides cycles.
fn core_clocks(machine: &Machine, placement: &[u32], clocks: Option<&[f64]>) -> BTreeMap<u32, f64> {
    let mut of_core: BTreeMap<u32, f64> = BTreeMap::new();
    let measured = placement.iter().zip(clocks.unwrap_or_default()).filter(|(_, hz)| hz.is_finite() && **hz > 0.0);
    for (cpu, hz) in measured {
        let kept = of_core.entry(core_of(machine, *cpu)).or_insert(*hz);
        *kept = kept.max(*hz);
    }
    of_core
}

/// The sum over kinds of core of cores x clock x operations per cycle; `None` if a clock is unknown.
fn sum(machine: &Machine, kind: PeakKind, kernel: CpuKernel, cores: &[Cores<'_>], rates: &[Rate]) -> Option<Peak> {
    let unit = kernel.unit();
    let mut peak = crate::limits::peak(kind, 0.0, String::new(), Vec::new());
    for (cores, Rate { ops, source, of }) in cores.iter().zip(rates) {
        let (hz, clock_source) = cores.clock(machine, kind, kernel)?;
        peak.value += f64::from(cores.number) * hz * ops;
        let plus = if peak.formula.is_empty() { "" } else { " + " };
        let (number, name) = (cores.number, cores.name());
        let shown = if ops.fract() == 0.0 { ops.to_string() } else { format!("{ops:.2}") };
        write!(peak.formula, "{plus}{number} {name} x {} x {shown} {unit}{of}", clock(hz)).ok()?;
        let kind = if cores.hybrid { format!(" ({})", cores.core_type.kind) } else { String::new() };
        let input = |name: &str, value: f64, source: String| PeakInput { name: format!("{name}{kind}"), value, source };
        peak.inputs.push(input("cores", f64::from(number), "distinct physical cores used".to_owned()));
        peak.inputs.push(input("clock_hz", hz, clock_source));
        peak.inputs.push(input(unit, *ops, source.clone()));
    }
    (!peak.inputs.is_empty()).then_some(peak)
}

/// Every peak known without measuring work: each kernel on one core and on all, memory, disk and network. `clocks` are
/// measured clocks, Hz, by CPU; `behind` are the devices behind a directory and their limits.
pub fn info_peaks(
    machine: &Machine,
    declared: &Declared,
    clocks: &BTreeMap<u32, f64>,
    behind: Option<(&Storage, &IoLimits)>,
) -> Vec<InfoPeak> {
    let order = machine.cpu.placement_order();
    let cores = machine.cpu.one_per_core(&order);
    let mut placements = vec![cores.get(..1).unwrap_or_default(), &cores];
    placements.dedup();
    let mut peaks = Vec::new();
    for kernel in kernels(&machine.cpu.isa, &machine.cpu.features) {
        let unit = kernel.unit().replace("/cycle", "/s");
        for placement in &placements {
            let measured: Option<Vec<f64>> = placement.iter().map(|cpu| clocks.get(cpu).copied()).collect();
            let found = cpu_peaks(machine, kernel, placement, measured.as_deref(), None);
            peaks.extend(found.into_iter().map(|peak| info("cpu", kernel.what(), placement.len(), &unit, peak)));
        }
    }
    peaks.extend(memory_info(machine, declared, &cores));
    peaks.extend(disk_info(machine, declared, behind));
    peaks.extend(net_info(machine, declared));
    peaks
}

fn memory_info(machine: &Machine, declared: &Declared, cores: &[u32]) -> Vec<InfoPeak> {
    let node = |cpu: &u32| machine.cpu.place(*cpu).and_then(|place| place.node);
    let first: Vec<u32> = cores.iter().copied().filter(|cpu| node(cpu) == cores.first().and_then(node)).collect();
    let mut placements = vec![first.as_slice(), cores];
    placements.dedup_by_key(|placement| placement.len());
    let of = |placement: &&[u32]| {
        let threads = placement.len();
        let peaks = read_peaks(machine, declared, placement);
        peaks.into_iter().map(move |peak| info("memory", "memory/dram".to_owned(), threads, "B/s", peak))
    };
    placements.iter().flat_map(of).collect()
}

/// The usual disk benchmarks: large sequential and small random requests; and one small read at a time.
fn disk_info(machine: &Machine, declared: &Declared, behind: Option<(&Storage, &IoLimits)>) -> Vec<InfoPeak> {
    let (nowhere, unlimited) = (Storage::default(), IoLimits::default());
    let (storage, limits) = behind.unwrap_or((&nowhere, &unlimited));
    let of = |params: &DiskParams, unit: &'static str| {
        let what = id_without_threads(&disk_id(params, DiskChoices::default()));
        let found = disk_peaks(machine, declared, storage, limits, params);
        found.into_iter().map(|peak| info("disk", what.clone(), 1, unit, peak)).collect::<Vec<_>>()
    };
    let mut peaks = Vec::new();
    for (pattern, block, unit) in [(DiskPattern::Sequential, 1 << 20, "B/s"), (DiskPattern::Random, 4096, "1/s")] {
        for op in [DiskOp::Read, DiskOp::Write] {
            peaks.extend(of(&DiskParams::new(pattern, op, block, 32), unit));
        }
    }
    let one_by_one = of(&DiskParams::new(DiskPattern::Random, DiskOp::Read, 4096, 1), "1/s");
    let listed = |one: &InfoPeak| peaks.iter().any(|peak| (peak.kind, &peak.formula) == (one.kind, &one.formula));
    let single: Vec<_> = one_by_one.into_iter().filter(|one| one.kind == PeakKind::Datasheet && !listed(one)).collect();
    peaks.extend(single);
    peaks
}

/// A TCP stream and a ping-pong to an unknown peer, so that no interface is known.
fn net_info(machine: &Machine, declared: &Declared) -> Vec<InfoPeak> {
    let stream = net_row(Protocol::Tcp, NetMode::Stream, 128 << 10, Some(Direction::Up));
    let of = |(params, unit): (NetParams, &'static str)| {
        let what = id_without_threads(&net_id(&params));
        let near = NetEnd { machine, interface: None };
        let path = NetPath { near, far: None, is_version_6: None, two_copy_bytes_per_second: None };
        let found = net_peaks(&path, declared, &params);
        found.into_iter().map(move |peak| info("net", what.clone(), 1, unit, peak))
    };
    [(stream, "B/s"), (net_row(Protocol::Tcp, NetMode::Pingpong, 1, None), "s")].into_iter().flat_map(of).collect()
}

pub(crate) const fn net_row(protocol: Protocol, mode: NetMode, block: u64, direction: Option<Direction>) -> NetParams {
    NetParams {
        protocol,
        mode,
        block,
        direction,
        threads: 1,
        path: String::new(),
        zero_copy: None,
        segmentation: None,
        loss_goal_per_million: None,
        wait: None,
    }
}

fn info(area: &str, what: String, threads: usize, unit: &str, peak: Peak) -> InfoPeak {
    InfoPeak {
        area: area.to_owned(),
        what,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        kind: peak.kind,
        value: peak.value,
        unit: unit.to_owned(),
        formula: peak.formula,
        inputs: peak.inputs,
    }
}
