//! The area `net`: the network.

pub(crate) mod charts;
pub mod choice;
mod command;
pub mod expand;
mod findings;
mod headline;
pub(crate) mod judge;
pub mod label;
pub mod modes;

use model::experiment::{Area as Name, Params};
use model::io::NetMode;
use model::plan::Plan;
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::NetChoice;
pub use command::suite;
pub use judge::tcp_together;

use crate::request::AreaEntry;

pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Network],
    judge: JudgeRules { conditions: judge::conditions, warnings: judge::warnings, ..JudgeRules::DEFAULT },
    limit: LimitRules {
        reach: headline::reach,
        published: headline::published,
        // Round trips under a load are slowed down on purpose.
        applies: |params, _, _| !is_mode(params, NetMode::Load),
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.15, dedicated: 0.05 },
    // Each connection waits for its own round trips.
    scales: |params| !is_mode(params, NetMode::Pingpong),
    findings: findings::FINDINGS,
    answer: headline::ANSWER,
    ..AreaRules::new(Name::Net)
};

fn is_mode(params: &Params, mode: NetMode) -> bool {
    matches!(params, Params::Net(params) if params.mode == mode)
}

/// Why a plan of network benchmarks alone can measure none of them.
pub fn impossible(plan: &Plan) -> Option<&str> {
    let alone = plan.rows.iter().all(|row| row.experiment.area == Name::Net);
    plan.impossible(Name::Net).filter(|_| alone)
}

pub(crate) const AREA: AreaEntry = AreaEntry {
    expand: expand::expand,
    method: |experiment| experiment.net().map(expand::method),
    labels: label::LABELS,
};
