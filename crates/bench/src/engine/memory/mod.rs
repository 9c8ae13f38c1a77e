//! The memory engine: streams over a working set, visits to its blocks, chases through every line of it, and lines
//! handed from core to core.
//!
//! Each thread maps, fills and owns its part after it has been pinned, so pages lie on its own node (or on the one that
//! the row names); filling is never timed. The data is different in every line, never zero, and checked: reads by their
//! checksum, writes and copies word by word in a random selection of what was covered since the last check.

mod buffers;
mod chase;
mod rows;
mod sets;
mod stream;
mod visits;

use model::experiment::{Area, Params};
use model::isa::MemoryPattern;
use model::machine::Machine;
use model::wire::Task;

use super::{Engine, Opened, Trouble};
use crate::plan::{PlanError, Planned, Request};

/// Measures memory.
pub(super) struct MemoryEngine;

impl Engine for MemoryEngine {
    fn area(&self) -> Area {
        Area::Memory
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        rows::expand(request, machine)
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let Params::Memory(params) = &task.experiment.params else {
            return Err(Trouble::Failed(format!("'{}' is no memory experiment", task.experiment.id)));
        };
        let seed = task.seed ^ (thread as u64) << 32;
        match params.pattern {
            MemoryPattern::Chase => chase::open(params, seed),
            MemoryPattern::Sequential if params.block.is_none() => stream::open(params, seed),
            MemoryPattern::Sequential | MemoryPattern::Random => visits::open(params, seed),
            MemoryPattern::Pair => Err(Trouble::Failed(format!("this version cannot open '{}'", task.experiment.id))),
        }
    }
}
