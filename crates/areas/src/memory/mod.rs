//! Memory: what belongs to the area `memory`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), which CPUs and nodes (`seats`), which instruction sets
//! and methods ([`sets`]), parts and blocks of a working set ([`blocks`]), the working sets ([`working_sets`]), the expansion into
//! planned benchmarks (`expand`). To come here: its findings (levels of a curve), its charts, its classic table.

pub mod blocks;
pub mod choice;
mod command;
mod expand;
pub mod label;
mod seats;
pub mod sets;
pub mod working_sets;

use model::experiment::{Area as Name, Experiment, Params};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use verdict::rules::{AreaRules, FindingRules, Resource};

pub use choice::MemoryChoice;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores, Resource::Memory],
    findings: FindingRules { results: verdict::findings::memory::findings },
    ..AreaRules::new(Name::Memory)
};

/// Memory.
pub(crate) struct MemoryArea;

impl Area for MemoryArea {
    fn name(&self) -> Name {
        Name::Memory
    }

    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError> {
        command::suite(&choices.memory)
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        expand::expand(request, machine)
    }

    fn method(&self, experiment: &Experiment) -> Option<String> {
        let Params::Memory(params) = &experiment.params else { return None };
        Some(sets::method(params))
    }

    fn labels(&self) -> Labels {
        label::LABELS
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::MemoryParams;
    use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};

    /// Parameters of one thread on huge pages, with blocks of this size.
    pub(super) fn params(pattern: MemoryPattern, op: MemoryOp, block: Option<u64>) -> MemoryParams {
        MemoryParams {
            pattern,
            op,
            block,
            working_set: 4 << 20,
            pages: Pages::Huge2M,
            isa: Isa::Scalar,
            chains: None,
            group: None,
            background: None,
            placement: None,
            threads: 1,
            level: None,
            nodes: None,
        }
    }
}
