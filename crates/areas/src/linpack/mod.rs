//! The area `linpack`: dense systems of equations and products of matrices.

pub(crate) mod charts;
pub mod choice;
mod command;
pub(crate) mod cost;
mod expand;
mod findings;
mod headline;
mod judge;
pub mod label;
pub mod solver;

use model::experiment::Area as Name;
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Resource};

pub use choice::LinpackChoice;
pub use command::suite;
pub use cost::ProductRate;

use crate::request::AreaEntry;

pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores, Resource::Memory],
    judge: JudgeRules {
        work_per_thread: false,
        conditions: judge::conditions,
        losses: judge::set_losses,
        ..JudgeRules::DEFAULT
    },
    findings: findings::FINDINGS,
    limit: LimitRules { reach: headline::reach, published: headline::published, ..LimitRules::DEFAULT },
    answer: headline::ANSWER,
    ..AreaRules::new(Name::Linpack)
};

pub(crate) const AREA: AreaEntry = AreaEntry {
    expand: |request, machine| expand::expand(request, machine, &|cpus| request.features.common(machine, cpus)),
    method: |experiment| {
        let own = experiment.linpack()?;
        Some(solver::method(own.engine, own.op, own.element).to_owned())
    },
    labels: label::LABELS,
};
