//! Reference tools on this machine: finding them, running them, and trying each of them once.
//!
//! What a tool is, how it is called and what its output means is in the crate `tools`.

pub mod catalogue;
pub mod detect;
pub(crate) mod left;
mod listening;
pub(crate) mod own;
pub mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::document::NotCompared;
use model::plan::Plan;
use model::reference::ReferenceSample;
use serde::{Deserialize, Serialize};
use tools::Reading;
use tools::rate_search::RateSearch;

/// Those of these tools that run alongside no benchmark of a plan, each with the reason.
pub fn not_compared(plan: &Plan, tools: &[String]) -> Vec<NotCompared> {
    let is_unused = |id: &&String| !plan.rows.iter().any(|row| row.reference_tools.contains(id));
    let why = |id: &String| {
        let tool = tools::find(id)?;
        let method = areas::method(&(tool.description().example)());
        // Those that differ from its own benchmark in no more than parameters.
        let mut alike = plan.rows.iter().filter(|row| Some(&row.experiment.method) == method.as_ref());
        let reason = alike.find_map(|row| tool.supports(&row.experiment).err());
        let none = || format!("{} are not in this plan, or run without tools", tool.description().compared_with);
        Some(NotCompared { tool: id.clone(), reason: reason.unwrap_or_else(none) })
    };
    tools.iter().filter(is_unused).filter_map(why).collect()
}

/// Progress of a reference tool, in a form that outlives an interrupted run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolProgress {
    pub(crate) tool: String,
    pub(crate) samples: Vec<ReferenceSample>,
    /// Pairs (ours, the tool's) of other common values.
    pub(crate) common: Vec<Vec<(f64, f64)>>,
    pub(crate) search: RateSearch,
    pub(crate) failed: Option<String>,
    pub(crate) called: CommandLines,
    pub(crate) last: Option<Reading>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommandLines {
    pub(crate) argv: Vec<String>,
    pub(crate) server_argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
}
