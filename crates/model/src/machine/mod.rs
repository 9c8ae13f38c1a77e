//! What a machine is: facts in base units, each with its source. An absent fact is `None`, never 0 or a guess.

mod cloud;
mod cpu;
mod disk;
mod expected;
mod memory;
mod net;

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cloud::{Cloud, Provider};
pub use cpu::{Cache, CoreKind, CoreType, Cpu, LogicalCpu, OpsPerCycle, Withheld, WithheldBy};
pub use disk::{Disk, DiskLink, DiskQueue, DriveSheet, SharedLink, Storage, StorageDevice};
pub use expected::{ExpectedQuantity, MachineExpectation};
pub use memory::{Dimm, HugePages, HugePool, Memory, NodeRating, NumaNode};
pub use net::{InfinibandPort, Nic};

/// One machine as discovery saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Machine {
    /// The host's name.
    pub host: Option<String>,
    /// Kernel and distribution.
    pub os: Os,
    /// Processor: identity, topology, instruction sets, clocks and limits.
    pub cpu: Cpu,
    /// Every cache, once per group of CPUs that share it.
    pub caches: Vec<Cache>,
    /// Main memory and its limits.
    pub memory: Memory,
    /// Memory nodes.
    pub numa: Vec<NumaNode>,
    /// Block devices.
    pub disks: Vec<Disk>,
    /// Links that the data of several of these disks passes, those with the fewest disks behind them first.
    pub shared_links: Vec<SharedLink>,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// What this machine runs on top of; `None` on bare metal, or where unknown (then see `unknown`).
    pub virtualization: Option<Virtualization>,
    /// The cloud and its machine type; `None` where neither firmware nor the user states one.
    pub cloud: Option<Cloud>,
    /// What it should reach by published values and by machines like it, the most specific source first.
    pub expected: Vec<MachineExpectation>,
    /// Where each fact came from: dotted path of the fact (`cpu.quota_cpus`) to its source.
    pub sources: BTreeMap<String, String>,
    /// What could not be found, why, and what follows from that.
    pub unknown: Vec<Unknown>,
}

/// The operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Os {
    /// Distribution and version, as `/etc/os-release` puts it.
    pub name: Option<String>,
    /// Kernel release (`uname -r`).
    pub kernel: Option<String>,
    /// Kernel build (`uname -v`).
    pub kernel_build: Option<String>,
    /// The kernel's current clock source.
    pub clocksource: Option<String>,
}

/// The hypervisor underneath.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Virtualization {
    /// Its common name (`KVM`, `Hyper-V`, `Xen`); `None` where the signature is not a known one.
    pub hypervisor: Option<String>,
    /// The twelve characters of CPUID leaf 0x40000000.
    pub signature: Option<String>,
}

/// A fact that could not be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Unknown {
    /// Dotted path of the fact, such as `memory.mts`.
    pub fact: String,
    /// Why it is not known.
    pub why: String,
    /// What cannot be said or done without it.
    pub consequence: String,
}

impl Machine {
    /// The caches of data that serve a CPU, the one nearest to it first: level and size, B.
    pub fn data_caches_of(&self, cpu: u32) -> Vec<(u32, u64)> {
        let serving = self.caches.iter().filter(|cache| cache.kind != "instruction" && cache.cpus.contains(&cpu));
        let mut found: Vec<(u32, u64)> = serving.filter_map(|cache| Some((cache.level, cache.bytes?))).collect();
        found.sort_unstable();
        found
    }

    /// The packages by which memory controllers and caches count. A hypervisor makes packages up, often one for each CPU:
    /// under one they are no more than the memory nodes that have CPUs.
    pub fn packages(&self) -> u32 {
        let packages = self.cpu.packages.unwrap_or(1).max(1);
        if self.virtualization.is_none() && self.cpu.hypervisor_bit != Some(true) {
            return packages;
        }
        let nodes = self.numa.iter().filter(|node| !node.cpus.is_empty()).count();
        packages.min(u32::try_from(nodes).unwrap_or(1).max(1))
    }

    /// The distinct last-level caches that serve these CPUs together, B; `None` where none is known.
    pub fn last_level_caches_behind(&self, cpus: &[u32]) -> Option<u64> {
        let level = self.caches.iter().filter(|cache| cache.kind != "instruction").map(|cache| cache.level).max()?;
        let serving = |cache: &&Cache| cache.level == level && cpus.iter().any(|cpu| cache.cpus.contains(cpu));
        let package = |cache: &Cache| self.cpu.place(*cache.cpus.first()?).map(|place| place.package);
        let mut packages = std::collections::BTreeSet::new();
        let most = usize::try_from(self.packages()).unwrap_or(1);
        let of_a_real_package = |cache: &&Cache| {
            let package = package(cache);
            packages.contains(&package) || packages.len() < most && packages.insert(package)
        };
        let caches = self.caches.iter().filter(serving).filter(of_a_real_package);
        let bytes: u64 = caches.filter_map(|cache| cache.bytes).sum();
        (bytes > 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_a_hypervisor_made_up_multiply_nothing() {
        let place = |cpu| LogicalCpu { cpu, package: cpu, core: cpu, siblings: vec![cpu], ..LogicalCpu::default() };
        let cache = |cpu| Cache { level: 3, bytes: Some(100), cpus: vec![cpu], ..Cache::default() };
        let mut machine = Machine { caches: (0..4).map(cache).collect(), ..Machine::default() };
        (machine.cpu.packages, machine.cpu.topology) = (Some(4), (0..4).map(place).collect());
        assert_eq!((machine.packages(), machine.last_level_caches_behind(&[0, 1, 2, 3])), (4, Some(400)));
        machine.cpu.hypervisor_bit = Some(true);
        machine.numa = vec![NumaNode { cpus: vec![0, 1, 2, 3], ..NumaNode::default() }];
        assert_eq!((machine.packages(), machine.last_level_caches_behind(&[0, 1, 2, 3])), (1, Some(100)));
        assert_eq!(machine.last_level_caches_behind(&[3]), Some(100));
        machine.numa = vec![NumaNode { cpus: vec![0, 1], ..NumaNode::default() }; 2];
        assert_eq!(machine.last_level_caches_behind(&[0, 1, 2, 3]), Some(200));
    }

    #[test]
    fn an_empty_object_is_a_machine_of_unknowns() {
        let machine: Machine = serde_json::from_str("{}").unwrap();
        assert_eq!(machine, Machine::default());
        assert!(serde_json::to_value(&machine).unwrap()["cpu"]["base_hz"].is_null());
    }
}
