//! What the adapters of tools that go through memory ask of a benchmark, each in its own name.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};

use crate::difference::rules::{Reason, Rule};
use crate::error::ToolError;
use crate::output::Reading;

/// The arrays that STREAM's loops have; copy and scale use two at a time.
pub(crate) const STREAM_ARRAYS: f64 = 3.0;
/// Bytes of an element of theirs.
pub(crate) const STREAM_ELEMENT_BYTES: f64 = 8.0;

/// The parameters of a benchmark that goes straight through the arrays of its threads, each with its memory where it runs.
pub(crate) fn sequential<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, ToolError> {
    let params = any_pattern(tool, experiment)?;
    if params.pattern != MemoryPattern::Sequential {
        return Err(ToolError::Unsuitable(format!("{tool} has no {} pattern that is ours", params.pattern)));
    }
    if let Some(block) = params.block {
        let reason = format!("{tool} goes straight through its arrays, not in blocks of {block} B");
        return Err(ToolError::Unsuitable(reason));
    }
    Ok(params)
}

/// The parameters of a benchmark on memory whose nodes are not chosen.
pub(crate) fn any_pattern<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, ToolError> {
    let params = experiment.memory().ok_or_else(|| ToolError::Unsuitable(format!("{tool} measures memory")))?;
    match &params.nodes {
        None => Ok(params),
        Some(nodes) => Err(ToolError::Unsuitable(format!(
            "{tool} is not told on which node its memory is to lie, ours is ({nodes})"
        ))),
    }
}

/// Why a tool has no loop for an operation.
pub(crate) fn no_loop(tool: &str, op: MemoryOp) -> ToolError {
    ToolError::Unsuitable(format!("{tool} has no loop for {op}"))
}

/// The name of STREAM's loop for an operation.
pub(crate) const fn stream_loop(op: MemoryOp) -> Option<&'static str> {
    match op {
        MemoryOp::Copy => Some("Copy"),
        MemoryOp::Scale => Some("Scale"),
        MemoryOp::Add => Some("Add"),
        MemoryOp::Triad => Some("Triad"),
        _ => None,
    }
}

/// That STREAM's results are not confirmed.
pub(crate) fn not_validated(tool: &str) -> ToolError {
    ToolError::Failed(format!("{tool} does not say that its results are right"))
}

/// What sets STREAM's loops apart, as a program of its own or as part of another: the rules on stores, pages and passes.
pub(crate) fn stream_differences(tool: &str, rules: [&'static Rule; 3], reading: &Reading) -> Vec<Reason> {
    let [stores, pages, best] = rules;
    let mut reasons = vec![
        stores
            .says(format!("{tool}'s stores go past the cache or through it as its compiler chose, ours go through it")),
        pages.says(format!("{tool}'s arrays are in the pages that the system gives unasked")),
    ];
    let passes = reading.detail("passes").filter(|passes| *passes > 1.0);
    reasons.extend(passes.map(|passes| best.says(format!("{tool} reports the best of {passes} passes"))));
    reasons
}
