//! Dense systems of equations and products of matrices: what belongs to the area `linpack`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), which solver has what ([`solver`]), the classic series
//! (`series`), expected bytes and seconds (`cost`), the expansion into planned benchmarks (`expand`). To come here: its
//! findings, its conditions, its charts, its classic table.

pub mod choice;
mod command;
mod cost;
mod expand;
mod findings;
mod judge;
pub mod label;
mod series;
pub mod solver;

use model::experiment::{Area as Name, Experiment, Params};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use verdict::rules::{AreaRules, JudgeRules, Resource};

pub use choice::LinpackChoice;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores, Resource::Memory],
    judge: JudgeRules {
        work_per_thread: false,
        conditions: judge::conditions,
        losses: judge::set_losses,
        ..JudgeRules::DEFAULT
    },
    findings: findings::FINDINGS,
    ..AreaRules::new(Name::Linpack)
};

/// Dense systems of equations.
pub(crate) struct LinpackArea;

impl Area for LinpackArea {
    fn name(&self) -> Name {
        Name::Linpack
    }

    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError> {
        command::suite(&choices.linpack)
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        expand::expand(request, machine, &|cpus| request.features.common(machine, cpus))
    }

    fn method(&self, experiment: &Experiment) -> Option<String> {
        let Params::Linpack(params) = &experiment.params else { return None };
        Some(solver::method(params.engine, params.op, params.element).to_owned())
    }

    fn labels(&self) -> Labels {
        label::LABELS
    }
}
