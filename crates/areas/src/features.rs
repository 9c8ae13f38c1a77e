//! What a machine offers: features of its cores, and memory to allocate.

use std::collections::BTreeMap;

use kernels::features::{Feature, Features};
use model::machine::Machine;

/// The detected features of a machine's cores.
#[derive(Clone, Debug)]
pub struct CoreFeatures {
    /// Features of the core that the program runs on.
    pub here: Features,
    /// Features of each core type by its index; empty if all cores are of one type.
    pub by_type: BTreeMap<usize, Features>,
}

impl CoreFeatures {
    /// The features of a machine whose cores are all of one type.
    pub fn of_one_kind(here: Features) -> Self {
        Self { here, by_type: BTreeMap::new() }
    }

    /// The features that all of these CPUs have.
    pub fn common(&self, machine: &Machine, cpus: &[u32]) -> Features {
        let uses = |index: usize| machine.cpu.core_types[index].cpus.iter().any(|cpu| cpus.contains(cpu));
        let used: Vec<Features> =
            self.by_type.iter().filter(|(index, _)| uses(**index)).map(|(_, found)| *found).collect();
        if used.is_empty() {
            return self.here;
        }
        let everywhere = |feature: &&Feature| used.iter().all(|features| features.has(**feature));
        let binds = used.iter().all(|features| features.binds_at_renaming());
        Features::having(&Feature::ALL.iter().filter(everywhere).copied().collect::<Vec<_>>()).on_binding_core(binds)
    }
}

/// Bytes that can be allocated: what is available, or what the control group still allows.
pub(crate) fn obtainable_bytes(machine: &Machine) -> Option<u64> {
    let memory = &machine.memory;
    let in_group = memory.limit_bytes.map(|limit| limit.saturating_sub(memory.limit_used_bytes.unwrap_or(0)));
    memory.available_bytes.into_iter().chain(in_group).min()
}
