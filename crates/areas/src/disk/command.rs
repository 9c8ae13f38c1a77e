//! The suite of `assay disk`.

use super::choice::DiskChoice;
use crate::suite::Suite;
use model::experiment::Area;
use model::plan::PlanError;

const DISK: &str = include_str!("../../../../suites/disk.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &DiskChoice) -> Result<Suite, PlanError> {
    let suite = Suite::parse(DISK, "disk")?;
    let disk: Vec<DiskChoice> = suite.disk.iter().filter_map(|block| choice.narrowed(block)).collect();
    if disk.is_empty() {
        let words = |block: &DiskChoice| {
            let patterns: Vec<&str> = block.pattern.iter().map(|pattern| pattern.name()).collect();
            let ops: Vec<&str> = block.op.iter().map(|op| op.name()).collect();
            format!("{} with {}", patterns.join(", "), ops.join(", "))
        };
        let known: Vec<String> = suite.disk.iter().filter(|block| block.base).map(words).collect();
        return Err(PlanError(format!("there is no disk benchmark of that combination; known: {}", known.join("; "))));
    }
    let time_budget = suite.time_budget.filter(|_| choice.is_open());
    Ok(Suite { name: Area::Disk.to_string(), disk, time_budget, ..suite })
}
