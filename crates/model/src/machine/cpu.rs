//! The processor: identity, topology, caches, clocks and what a core finishes per cycle.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::isa::Isa;
use crate::words::words;

/// The processor, totals over all packages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Cpu {
    /// `GenuineIntel`, `AuthenticAMD`, …
    pub vendor: Option<String>,
    /// The brand string.
    pub model_name: Option<String>,
    /// Display family.
    pub family: Option<u32>,
    /// Display model.
    pub model: Option<u32>,
    /// Stepping.
    pub stepping: Option<u32>,
    /// Name of the microarchitecture; on hybrids, of each core type joined by ` + `.
    pub microarchitecture: Option<String>,
    /// Sockets.
    pub packages: Option<u32>,
    /// Physical cores, all packages together.
    pub cores: Option<u32>,
    /// Logical CPUs, all packages together.
    pub threads: Option<u32>,
    /// Whether any core shows more than one hardware thread.
    pub smt: Option<bool>,
    /// The kinds of core, fastest first; one entry on a uniform machine.
    pub core_types: Vec<CoreType>,
    /// Where each logical CPU sits, ascending by number.
    pub topology: Vec<LogicalCpu>,
    /// The instruction sets that the CPU has and the operating system enables, in our words.
    pub isa: Vec<Isa>,
    /// The instruction sets that the cores have and that cannot be used here.
    pub withheld: Vec<Withheld>,
    /// Raw features behind them, in the kernel's spelling, as enabled.
    pub features: Vec<String>,
    /// The CPUs that this process may run on.
    pub available_cpus: Vec<u32>,
    /// The tightest CPU quota on the way to the root of the control groups, in CPUs; `None` without one.
    pub quota_cpus: Option<f64>,
    /// Guaranteed clock, Hz.
    pub base_hz: Option<f64>,
    /// Highest single-core clock, Hz.
    pub boost_hz: Option<f64>,
    /// Rate of the time stamp counter as CPUID gives it, Hz.
    pub tsc_hz: Option<f64>,
    /// Whether CPUID says that a hypervisor is present.
    pub hypervisor_bit: Option<bool>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Frequency driver.
    pub scaling_driver: Option<String>,
    /// Frequency governor; several, joined by `, `, where CPUs differ.
    pub governor: Option<String>,
    /// Whether boost clocks are allowed.
    pub turbo: Option<bool>,
    /// The highest clock that a setting of the kernel allows, Hz, where it is below the processor's own.
    pub clock_cap_hz: Option<f64>,
    /// The kernel's SMT switch (`on`, `off`, `notsupported`, …).
    pub smt_control: Option<String>,
    /// State of each known hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

words! {
    /// What a core is in comparison with the machine's other cores.
    #[derive(Default)]
    CoreKind, "kind of core", {
        /// All cores are of one kind.
        #[default]
        Uniform => "uniform",
        /// The fast cores of a hybrid.
        Performance => "performance",
        /// The small cores of a hybrid.
        Efficiency => "efficiency",
        /// Small cores outside the main cluster.
        LowPowerEfficiency => "low_power_efficiency",
    }
}

/// One kind of core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CoreType {
    /// Which kind.
    pub kind: CoreKind,
    /// Its microarchitecture.
    pub microarchitecture: Option<String>,
    /// Physical cores of this kind.
    pub cores: u32,
    /// Logical CPUs of this kind.
    pub threads: u32,
    /// Their numbers.
    pub cpus: Vec<u32>,
    /// Guaranteed clock, Hz.
    pub base_hz: Option<f64>,
    /// Highest single-core clock, Hz.
    pub boost_hz: Option<f64>,
    /// The instruction sets that these cores have and the operating system enables; [`Cpu::isa`] are those of all kinds.
    pub isa: Vec<Isa>,
    /// What one such core can finish in a clock cycle.
    pub ops_per_cycle: Vec<OpsPerCycle>,
}

words! {
    /// Who keeps an instruction set from us that the core has.
    WithheldBy, "keeper of an instruction set", {
        /// Its registers are not saved, or the permission for them was refused.
        OperatingSystem => "operating_system",
        /// The microarchitecture has it, and the guest's CPUID does not say so.
        Hypervisor => "hypervisor",
    }
}

/// An instruction set that cannot be used here though these cores have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Withheld {
    /// The instruction set.
    pub isa: Isa,
    /// Who keeps it from us.
    pub by: WithheldBy,
    /// How that is known, for a reader.
    pub why: String,
}

/// Work per clock cycle of one core for one kernel. An op is one multiply or one add: a multiply-add counts two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct OpsPerCycle {
    /// The experiment's id without its threads, such as `cpu/fma/fp64/avx512`.
    pub what: String,
    /// The count; `None` where the table does not know, or knows only `candidates`.
    pub value: Option<f64>,
    /// Where parts of one model differ and CPUID cannot distinguish them: the possible counts. A probe decides.
    pub candidates: Vec<f64>,
    /// `flop/cycle` or `op/cycle`.
    pub unit: String,
    /// The source of the count.
    pub source: String,
}

/// Where one logical CPU sits. Package, core and cache group have our own numbers, dense from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LogicalCpu {
    /// The kernel's number.
    pub cpu: u32,
    /// Socket.
    pub package: u32,
    /// Physical core, unique over the machine: CPUs with the same number are SMT siblings.
    pub core: u32,
    /// Index into [`Cpu::core_types`].
    pub core_type: u32,
    /// Memory node, the kernel's number.
    pub node: Option<u32>,
    /// The CPUs of the same physical core, itself included, ascending.
    pub siblings: Vec<u32>,
    /// Group of CPUs that share the last-level cache.
    pub llc: Option<u32>,
}

/// One cache, as one group of CPUs shares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Cache {
    /// 1, 2, 3, …
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Line size, B.
    pub line_bytes: Option<u32>,
    /// Associativity.
    pub ways: Option<u32>,
    /// The CPUs that share it.
    pub cpus: Vec<u32>,
}

impl Cpu {
    /// CPUs that this process may run on; without a known one as many as can be counted.
    pub fn count(&self) -> u32 {
        u32::try_from(self.available_cpus.len()).ok().filter(|cpus| *cpus > 0).unwrap_or(u32::MAX)
    }

    /// One logical CPU per physical core among `cpus`, in their order; an unlisted CPU counts as a core.
    pub fn one_per_core(&self, cpus: &[u32]) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let core = |cpu: u32| self.place(cpu).map_or((u32::MAX, cpu), |place| (place.core, 0));
        cpus.iter().copied().filter(|cpu| seen.insert(core(*cpu))).collect()
    }

    /// Where one logical CPU sits.
    pub fn place(&self, cpu: u32) -> Option<&LogicalCpu> {
        self.topology.iter().find(|place| place.cpu == cpu)
    }

    /// The kind of core behind one logical CPU.
    pub fn core_type_of(&self, cpu: u32) -> Option<&CoreType> {
        self.core_types.iter().find(|core_type| core_type.cpus.contains(&cpu))
    }

    /// The available CPUs in the order of threads: one per core, fast core types first, then SMT siblings.
    pub fn placement_order(&self) -> Vec<u32> {
        let mut available = self.available_cpus.clone();
        available.sort_by_cached_key(|&cpu| (self.place(cpu).map_or(0, |place| place.core_type), cpu));
        let mut order = self.one_per_core(&available);
        let first: BTreeSet<u32> = order.iter().copied().collect();
        order.extend(available.into_iter().filter(|cpu| !first.contains(cpu)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(cpu: u32, core: u32, core_type: u32) -> LogicalCpu {
        LogicalCpu { cpu, core, core_type, ..LogicalCpu::default() }
    }

    #[test]
    fn threads_take_one_cpu_per_core_first_and_fast_cores_before_slow_ones() {
        let cpu = Cpu {
            topology: vec![place(0, 0, 1), place(1, 1, 0), place(2, 1, 0), place(3, 2, 0), place(4, 2, 0)],
            available_cpus: vec![0, 1, 2, 3, 4],
            ..Cpu::default()
        };
        assert_eq!(cpu.placement_order(), [1, 3, 0, 2, 4]);
        assert_eq!(cpu.one_per_core(&[1, 2, 9]), [1, 9]);
    }
}
