//! The network: what belongs to the area `net`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), modes, protocols and their parameters ([`modes`]), the
//! expansion into planned benchmarks with their CPUs ([`expand`]). To come here: its findings, its conditions and warnings, its
//! charts, its classic table.

pub mod choice;
mod command;
pub mod expand;
mod findings;
pub(crate) mod judge;
pub mod label;
pub mod modes;

use model::experiment::{Area as Name, Experiment, Params};
use model::io::NetMode;
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use verdict::rules::{AreaRules, JudgeRules, LimitRules, Noise, Resource};

pub use choice::NetChoice;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Network],
    judge: JudgeRules { conditions: judge::conditions, warnings: judge::warnings, ..JudgeRules::DEFAULT },
    limit: LimitRules {
        // Round trips under a load are slowed down on purpose.
        applies: |params, _, _| !is_mode(params, NetMode::Load),
        ..LimitRules::DEFAULT
    },
    noise: Noise { shared: 0.15, dedicated: 0.05 },
    // Each connection waits for its own round trips.
    scales: |params| !is_mode(params, NetMode::Pingpong),
    findings: findings::FINDINGS,
    ..AreaRules::new(Name::Net)
};

fn is_mode(params: &Params, mode: NetMode) -> bool {
    matches!(params, Params::Net(params) if params.mode == mode)
}

/// The network.
pub(crate) struct NetArea;

impl Area for NetArea {
    fn name(&self) -> Name {
        Name::Net
    }

    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError> {
        command::suite(&choices.net)
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        expand::expand(request, machine)
    }

    fn method(&self, experiment: &Experiment) -> Option<String> {
        let Params::Net(params) = &experiment.params else { return None };
        Some(expand::method(params))
    }

    fn labels(&self) -> Labels {
        label::LABELS
    }
}
