//! Tools that measure memory, and what their adapters share.

pub(crate) mod likwid_bench;
pub(crate) mod multichase;
pub(crate) mod pmbw;
pub(crate) mod stream;
pub(crate) mod sysbench;

use crate::output::Reading;
use crate::tool::{Reason, Rule};
use model::experiment::{Experiment, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};

/// STREAM's arrays; copy and scale use two at a time.
pub(crate) const STREAM_ARRAYS: f64 = 3.0;
pub(crate) const STREAM_ELEMENT_BYTES: f64 = 8.0;

/// The parameters of a sequential benchmark with local memory.
pub(crate) fn sequential<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, String> {
    let params = any_pattern(tool, experiment)?;
    if params.pattern != MemoryPattern::Sequential {
        return Err(format!("{tool} does not have our {} pattern", params.pattern));
    }
    if let Some(block) = params.block {
        return Err(format!("{tool} accesses its arrays sequentially, not in blocks of {block} B"));
    }
    Ok(params)
}

/// The parameters of a memory benchmark without chosen nodes.
pub(crate) fn any_pattern<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, String> {
    let params = experiment.memory().ok_or_else(|| format!("{tool} measures memory"))?;
    match &params.nodes {
        None => Ok(params),
        Some(nodes) => Err(format!("{tool} cannot choose the node of its memory, ours does ({nodes})")),
    }
}

pub(crate) fn no_loop(tool: &str, op: MemoryOp) -> String {
    format!("{tool} has no loop for {op}")
}

pub(crate) const fn stream_loop(op: MemoryOp) -> Option<&'static str> {
    match op {
        MemoryOp::Copy => Some("Copy"),
        MemoryOp::Scale => Some("Scale"),
        MemoryOp::Add => Some("Add"),
        MemoryOp::Triad => Some("Triad"),
        _ => None,
    }
}

pub(crate) fn not_validated(tool: &str) -> String {
    format!("{tool} does not report that its results are correct")
}

/// The differences of STREAM's loops, alone or in another program: the rules on stores, pages and passes.
pub(crate) fn stream_differences(tool: &str, rules: [&'static Rule; 3], reading: &Reading) -> Vec<Option<Reason>> {
    let [stores, pages, best] = rules;
    let passes = reading.detail("passes").unwrap_or_default();
    vec![
        stores.says(format!("{tool}'s compiler chose whether its stores bypass the cache, ours do not bypass it")),
        pages.says(format!("{tool}'s arrays use the system's default pages")),
        best.says_if(passes > 1.0, format!("{tool} reports the best of {passes} passes")),
    ]
}
