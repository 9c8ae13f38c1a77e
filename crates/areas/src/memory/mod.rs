//! The area `memory`: memory and caches.

pub mod blocks;
pub(crate) mod charts;
pub mod choice;
mod command;
mod core_ceiling;
mod expand;
mod findings;
mod headline;
pub mod label;
mod levels;
mod seats;
pub mod sets;
pub mod working_sets;

use model::document::Row;
use model::experiment::{Area as Name, MemoryParams, Params};
use model::number::percent_tenths;
use model::unit::format_size;
use model::warning::{Warning, WarningCode};
use verdict::judge::{ProcessRun, settings};
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::MemoryChoice;
pub use command::suite;
pub use working_sets::is_beyond_caches;

use crate::request::AreaEntry;

pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores, Resource::Memory],
    judge: JudgeRules {
        warnings: memory_limit,
        together: |rows, machine| {
            levels::set(rows, machine);
            core_ceiling::set(rows, machine);
        },
        ..JudgeRules::DEFAULT
    },
    limit: LimitRules {
        reach: headline::reach,
        published: headline::published,
        applies: |params, cpus, machine| matches!(params, Params::Memory(params) if is_beyond_caches(params, cpus, machine)),
        measured_ceiling: false,
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.08, dedicated: 0.02 },
    findings: findings::FINDINGS,
    answer: headline::ANSWER,
    ..AreaRules::new(Name::Memory)
};

fn memory_limit(row: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let settings = settings::of(&runs.iter().collect::<Vec<_>>());
    let limit = settings.memory_limit_below_machine().filter(|limit| *limit > 0);
    let warning = |(params, limit): (&MemoryParams, u64)| {
        let needed = params.working_set as f64 / limit as f64;
        let seen = format!("The benchmark needs {} of the {} allowed.", percent_tenths(needed), format_size(limit));
        Warning::new(WarningCode::MemoryLimit, needed, &seen)
    };
    label::params(row).zip(limit).map(warning).into_iter().collect()
}

pub(crate) const AREA: AreaEntry = AreaEntry {
    expand: expand::expand,
    method: |experiment| experiment.memory().map(sets::method),
    labels: label::LABELS,
};

#[cfg(test)]
pub(crate) mod tests {
    use model::experiment::MemoryParams;
    use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};

    use super::{MemoryChoice, suite};
    use crate::request::{Choices, Request};
    use crate::tests::request_of;

    /// The first block of the suite with a change.
    pub(crate) fn stanza(change: impl Fn(&mut MemoryChoice)) -> MemoryChoice {
        let mut stanza = suite(&MemoryChoice::default()).unwrap().memory.remove(0);
        change(&mut stanza);
        stanza
    }

    /// The suite, requested with a choice of working sets or without one.
    pub(crate) fn request(chosen: bool) -> Request {
        let working_sets = if chosen { vec![1] } else { Vec::new() };
        let memory = MemoryChoice { working_sets, ..MemoryChoice::default() };
        let choices = Choices { memory, ..Choices::default() };
        Request { choices, ..request_of(suite(&MemoryChoice::default()).unwrap()) }
    }

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
