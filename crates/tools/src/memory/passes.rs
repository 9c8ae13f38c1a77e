//! What the adapters of tools that measure memory ask of an experiment, each in its own name.

use model::experiment::{Experiment, MemoryParams, Params};
use model::isa::{MemoryOp, MemoryPattern};

/// The parameters of an experiment that goes straight through the arrays of its threads, each with its memory where it
/// runs.
///
/// # Errors
/// One sentence: why the tool cannot measure this.
pub(super) fn stream<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, String> {
    let params = of_memory(tool, experiment)?;
    if params.pattern != MemoryPattern::Sequential {
        return Err(format!("{tool} has no {} pattern that is ours", params.pattern));
    }
    if let Some(block) = params.block {
        return Err(format!("{tool} goes straight through its arrays, not in blocks of {block} B"));
    }
    Ok(params)
}

/// The parameters of an experiment on memory whose nodes are not chosen.
///
/// # Errors
/// One sentence: why the tool cannot measure this.
pub(super) fn of_memory<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a MemoryParams, String> {
    let Params::Memory(params) = &experiment.params else { return Err(format!("{tool} measures memory")) };
    if let Some(nodes) = &params.nodes {
        return Err(format!("{tool} is not told on which node its memory is to lie, ours is ({nodes})"));
    }
    Ok(params)
}

/// Why a tool has no loop for an operation.
pub(super) fn no_loop(tool: &str, op: MemoryOp) -> String {
    format!("{tool} has no loop for {op}")
}
