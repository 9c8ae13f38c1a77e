//! What the cores of the machine can do.

use std::collections::BTreeMap;

use kernels::features::{Feature, Features};
use model::machine::Machine;

/// The features of the cores of a machine, as they were detected.
#[derive(Clone, Debug)]
pub struct CoreFeatures {
    /// Those of the core that the program runs on.
    pub here: Features,
    /// Those of each kind of core, by the index of the kind; empty where all cores are of one kind.
    pub by_type: BTreeMap<usize, Features>,
}

impl CoreFeatures {
    /// The features of a machine whose cores are all of one kind.
    pub fn of_one_kind(here: Features) -> Self {
        Self { here, by_type: BTreeMap::new() }
    }

    /// What all of these CPUs can do.
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
