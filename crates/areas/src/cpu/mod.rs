//! Arithmetic: what belongs to the area `cpu`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), the expansion into planned benchmarks with ids and
//! classic labels (`expand`). To come here: its findings, its charts, its classic table, what its results are compared
//! with.

pub mod choice;
mod command;
mod expand;
mod findings;
pub mod label;

use kernels::table::KERNELS;
use model::document::Row;
use model::experiment::{Area as Name, CpuParams, Experiment, Params};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use model::warning::{Warning, WarningCode};
use verdict::judge::{ProcessRun, settings};
use verdict::rules::{AreaRules, JudgeRules, Resource};

pub use choice::CpuChoice;
pub use expand::NOP;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores],
    judge: JudgeRules { warnings: turbo_off, ..JudgeRules::DEFAULT },
    findings: findings::FINDINGS,
    ..AreaRules::new(Name::Cpu)
};

/// The warning for a clock that may not exceed the base.
fn turbo_off(_: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let off = settings::of(&runs.iter().collect::<Vec<_>>()).turbo == Some(false);
    let warning = || Warning::new(WarningCode::TurboOff, 1.0, "Clocks above the base are switched off.");
    off.then(warning).into_iter().collect()
}

/// Arithmetic.
pub(crate) struct CpuArea;

impl Area for CpuArea {
    fn name(&self) -> Name {
        Name::Cpu
    }

    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError> {
        command::suite(&choices.cpu)
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        expand::expand(request, machine, &|cpus| request.features.common(machine, cpus))
    }

    fn method(&self, experiment: &Experiment) -> Option<String> {
        let Params::Cpu(CpuParams { op, element, isa, .. }) = experiment.params else { return None };
        let is_its = |kernel: &&kernels::table::Kernel| (kernel.op, kernel.element, kernel.isa) == (op, element, isa);
        KERNELS.iter().find(is_its).map(|kernel| kernel.method.to_owned())
    }

    fn labels(&self) -> Labels {
        label::LABELS
    }
}
