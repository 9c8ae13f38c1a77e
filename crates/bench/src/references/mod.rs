//! Reference tools on this machine: finding them, running them, and trying each of them once.
//!
//! What a tool is, how it is called and what its output means is in the crate `tools`.

pub mod catalogue;
pub mod detect;
mod listening;
pub(crate) mod own;
pub mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::reference::ReferenceSample;
use serde::{Deserialize, Serialize};
use tools::Reading;
use tools::rate_search::RateSearch;

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
