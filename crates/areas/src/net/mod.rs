//! The network: what belongs to the area `net`.
//!
//! Here: the choice ([`choice`]), the suite of the command (`command`), modes, protocols and their parameters ([`modes`]), the
//! expansion into planned benchmarks with their CPUs ([`expand`]). To come here: its findings, its conditions and warnings, its
//! charts, its classic table.

pub mod choice;
mod command;
pub mod expand;
pub mod label;
pub mod modes;

use model::experiment::{Area as Name, Experiment, Params};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use verdict::rules::{AreaRules, FindingRules, Resource};

pub use choice::NetChoice;

use crate::area::Area;
use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// How its results are judged.
pub(crate) const RULES: AreaRules = AreaRules {
    uses: &[Resource::Network],
    findings: FindingRules { results: verdict::findings::net::findings },
    ..AreaRules::new(Name::Net)
};

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
