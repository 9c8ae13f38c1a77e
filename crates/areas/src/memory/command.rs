//! The suite of `assay memory`.

use super::choice::MemoryChoice;
use crate::suite::Suite;
use model::experiment::Area;
use model::isa::MemoryOp;
use model::plan::PlanError;

const MEMORY: &str = include_str!("../../../../suites/memory.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &MemoryChoice) -> Result<Suite, PlanError> {
    let suite = Suite::parse(MEMORY, "memory")?;
    let memory: Vec<MemoryChoice> = suite.memory.iter().filter_map(|block| choice.narrowed(block)).collect();
    if memory.is_empty() {
        let streams: Vec<&str> = MemoryOp::STREAMS.iter().map(|op| op.name()).collect();
        let blocks: Vec<&str> = MemoryOp::OF_BLOCKS.iter().map(|op| op.name()).collect();
        return Err(PlanError(format!(
            "there is no memory benchmark of that combination; known: --pattern sequential with --op {}; random with \
             {} in blocks, and increment; chase with load; pair with handoff; --nodes with read, copy_nt and load",
            streams.join(", "),
            blocks.join(", ")
        )));
    }
    Ok(Suite { name: Area::Memory.to_string(), memory, ..suite })
}
