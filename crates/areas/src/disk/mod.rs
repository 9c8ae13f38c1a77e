//! The area `disk`: block storage.

mod beforehand;
pub(crate) mod charts;
pub mod choice;
mod command;
mod expand;
pub mod familiar;
pub mod feasible;
mod findings;
pub mod footprint;
mod headline;
pub(crate) mod judge;
pub mod label;
pub mod room;
pub mod stretch;
pub mod words;

use model::experiment::{Area as Name, Params};
use model::plan::Plan;
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::DiskChoice;
pub use command::suite;

use crate::request::{AreaEntry, Request};
use crate::suite::Suite;

pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Disk],
    judge: JudgeRules {
        conditions: judge::conditions,
        warnings: judge::warnings,
        together: judge::limits::hold_against_each_other,
        ..JudgeRules::DEFAULT
    },
    limit: LimitRules {
        reach: headline::reach,
        published: headline::published,
        applies: |params, _, _| matches!(params, Params::Disk(params) if params.has_device() && params.load_percent.is_none()),
        exceeds_datasheet: true,
        unknown: "The device does not report its speed.",
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.15, dedicated: 0.08 },
    findings: findings::FINDINGS,
    answer: headline::ANSWER,
    ..AreaRules::new(Name::Disk)
};

/// Whether a request for these areas, or all, measures a disk with this suite.
pub fn is_wanted(suite: &Suite, areas: &[Name]) -> bool {
    !suite.disk.is_empty() && (areas.is_empty() || areas.contains(&Name::Disk))
}

/// Why the plan of a request cannot measure any disk, although the user chose a disk or how to measure it.
pub fn impossible<'p>(plan: &'p Plan, request: &Request) -> Option<&'p str> {
    let chosen = !request.choices.disk.is_open() || request.disk.as_ref().is_some_and(|target| target.named);
    plan.impossible(Name::Disk).filter(|_| chosen)
}

pub(crate) const AREA: AreaEntry = AreaEntry {
    expand: expand::expand,
    method: |experiment| Some(expand::method_of(experiment.disk()?, &experiment.method)),
    labels: label::LABELS,
};
