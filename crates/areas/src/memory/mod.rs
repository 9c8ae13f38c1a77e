//! Memory: what belongs to the area `memory`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), which CPUs and nodes (`seats`), which instruction sets
//! and methods ([`sets`]), parts and blocks of a working set ([`blocks`]), the working sets ([`working_sets`]), the expansion into
//! planned benchmarks (`expand`). To come here: its findings (levels of a curve), its charts, its classic table.

pub mod blocks;
pub mod choice;
mod command;
mod core_ceiling;
mod expand;
mod findings;
pub mod label;
mod levels;
mod seats;
pub mod sets;
pub mod working_sets;

use model::document::Row;
use model::experiment::{Area as Name, Experiment, MemoryParams, Params};
use model::machine::Machine;
use model::number::percent_tenths;
use model::plan::{PlanError, Planned};
use model::unit::format_size;
use model::warning::{Warning, WarningCode};
use verdict::judge::{ProcessRun, settings};
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::MemoryChoice;
pub use working_sets::is_beyond_caches;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores, Resource::Memory],
    judge: JudgeRules { warnings: memory_limit, together, ..JudgeRules::DEFAULT },
    limit: LimitRules {
        applies: |params, cpus, machine| matches!(params, Params::Memory(params) if is_beyond_caches(params, cpus, machine)),
        measured_ceiling: false,
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.08, dedicated: 0.02 },
    findings: findings::FINDINGS,
    ..AreaRules::new(Name::Memory)
};

/// The warning for a limit below the machine's memory.
fn memory_limit(row: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let settings = settings::of(&runs.iter().collect::<Vec<_>>());
    let limit = settings.memory_limit_below_machine().filter(|limit| *limit > 0);
    let warning = |(params, limit): (&MemoryParams, u64)| {
        let needed = params.working_set as f64 / limit as f64;
        let seen = format!("The row needs {} of the {} allowed.", percent_tenths(needed), format_size(limit));
        Warning::new(WarningCode::MemoryLimit, needed, &seen)
    };
    label::params(row).zip(limit).map(warning).into_iter().collect()
}

/// Sets the level of the memory hierarchy, and what one core reaches.
fn together(rows: &mut [Row], machine: &Machine) {
    levels::set(rows, machine);
    core_ceiling::set(rows);
}

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
pub(crate) mod tests {
    use model::experiment::MemoryParams;
    use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};

    /// Parameters of one thread on huge pages, with blocks of this size.
    pub(crate) fn params(pattern: MemoryPattern, op: MemoryOp, block: Option<u64>) -> MemoryParams {
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
