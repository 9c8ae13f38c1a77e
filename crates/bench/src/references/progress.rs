//! What a reference tool has measured alongside a benchmark, in a form that outlives an interrupted run.

use std::collections::BTreeMap;

use model::reference::ReferenceSample;
use serde::{Deserialize, Serialize};
use tools::Reading;
use tools::rate_search::RateSearch;

/// What a tool has measured alongside a benchmark so far. What it printed is in its file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolProgress {
    /// The tool's id.
    pub(crate) tool: String,
    /// Its runs, each with our value of the same pair.
    pub(crate) samples: Vec<ReferenceSample>,
    /// For each value that both sides report besides, ours and the tool's of every pair that has both.
    pub(crate) common: Vec<Vec<(f64, f64)>>,
    /// How fast the tool is run, where it has to keep a loss goal and has no search of its own.
    pub(crate) search: RateSearch,
    /// Why it has no value, if so.
    pub(crate) failed: Option<String>,
    /// How it was called last: the ports are known once it has ended.
    pub(crate) called: CommandLines,
    /// What was read from its last run.
    pub(crate) last: Option<Reading>,
}

/// How a tool was called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommandLines {
    pub(crate) argv: Vec<String>,
    pub(crate) server_argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
}
