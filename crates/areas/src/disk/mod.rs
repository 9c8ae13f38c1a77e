//! Disks: what belongs to the area `disk`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), sizes of test files ([`room`]), memory that a benchmark
//! takes ([`footprint`]), stretches that are visited again ([`stretch`]), what cannot be measured ([`feasible`]), warnings known
//! beforehand (`beforehand`), the expansion into planned benchmarks (`expand`). To come here: its findings, its conditions and
//! warnings after a measurement, its charts, its classic table.

mod beforehand;
pub mod choice;
mod command;
mod expand;
pub mod familiar;
pub mod feasible;
mod findings;
pub mod footprint;
pub(crate) mod judge;
pub mod label;
pub mod room;
pub mod stretch;
pub mod words;

use model::experiment::{Area as Name, Experiment, Params};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::DiskChoice;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Disk],
    judge: JudgeRules {
        conditions: judge::conditions,
        warnings: judge::warnings,
        together: judge::limits::hold_against_each_other,
        ..JudgeRules::DEFAULT
    },
    limit: LimitRules {
        applies: |params, _, _| matches!(params, Params::Disk(params) if params.has_device() && params.load_percent.is_none()),
        exceeds_datasheet: true,
        unknown: "The device says nothing of its speed.",
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.15, dedicated: 0.08 },
    findings: findings::FINDINGS,
    ..AreaRules::new(Name::Disk)
};

/// Disks.
pub(crate) struct DiskArea;

impl Area for DiskArea {
    fn name(&self) -> Name {
        Name::Disk
    }

    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError> {
        command::suite(&choices.disk)
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        expand::expand(request, machine)
    }

    fn method(&self, experiment: &Experiment) -> Option<String> {
        let Params::Disk(params) = &experiment.params else { return None };
        Some(expand::method_of(params, &experiment.method).to_owned())
    }

    fn labels(&self) -> Labels {
        label::LABELS
    }
}
