//! The suite of `assay net`.

use super::choice::NetChoice;
use super::modes::known_modes;
use crate::suite::Suite;
use model::experiment::Area;
use model::plan::PlanError;

const NET: &str = include_str!("../../../../suites/net.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &NetChoice) -> Result<Suite, PlanError> {
    let suite = Suite::parse(NET, "net")?;
    let net = choice.narrowed(&suite.net);
    if net.is_empty() {
        let known = known_modes();
        return Err(PlanError(format!("there is no network benchmark of that combination; there are {known}")));
    }
    let time_budget = suite.time_budget.filter(|_| choice.is_open());
    Ok(Suite { name: Area::Net.to_string(), net, time_budget, ..suite })
}
