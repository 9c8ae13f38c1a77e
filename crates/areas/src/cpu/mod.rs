//! The area `cpu`: arithmetic.

pub(crate) mod charts;
pub mod choice;
mod command;
mod expand;
mod findings;
mod headline;
pub mod label;

use kernels::table::{KERNELS, Kernel};
use model::document::Row;
use model::experiment::Area as Name;
use model::warning::{Warning, WarningCode};
use verdict::judge::{ProcessRun, settings};
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Resource};

pub use choice::CpuChoice;
pub use command::suite;
pub use expand::NOP;

use crate::request::AreaEntry;

pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Cores],
    judge: JudgeRules { warnings: turbo_off, ..JudgeRules::DEFAULT },
    findings: findings::FINDINGS,
    limit: LimitRules { reach: headline::reach, published: headline::published, ..LimitRules::DEFAULT },
    answer: headline::ANSWER,
    ..AreaRules::new(Name::Cpu)
};

fn turbo_off(_: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let off = settings::of(&runs.iter().collect::<Vec<_>>()).turbo == Some(false);
    let warning = || Warning::new(WarningCode::TurboOff, 1.0, "Turbo is off.");
    off.then(warning).into_iter().collect()
}

pub(crate) const AREA: AreaEntry = AreaEntry {
    expand: |request, machine| expand::expand(request, machine, &|cpus| request.features.common(machine, cpus)),
    method: |experiment| {
        let own = experiment.cpu()?;
        let is_its = |kernel: &&Kernel| (kernel.op, kernel.element, kernel.isa) == (own.op, own.element, own.isa);
        KERNELS.iter().find(is_its).map(|kernel| kernel.method.to_owned())
    },
    labels: label::LABELS,
};
