//! The memory engine: streams, accesses to blocks, chases, and lines handed from core to core. Each thread maps, fills and owns
//! its part after it has been pinned. The data differ in every line, are never zero, and are checked: reads by a sum that grows
//! with every pass, writes word by word in a random selection of what was covered since the last check.

mod accesses;
mod buffers;
mod chase;
mod handoff;
mod loaded;
mod nodes;
mod stream;

use model::experiment::{Area, Experiment};
use model::isa::MemoryPattern;
use model::wire::Task;

use super::{Engine, Opened, Placement, Trouble, params_of};

pub(super) struct MemoryEngine;

impl Engine for MemoryEngine {
    fn area(&self) -> Area {
        Area::Memory
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let params = params_of(task, Experiment::memory)?;
        let seed = task.seed ^ (thread as u64) << 32;
        nodes::bind(params)?;
        Ok(Opened::Paced(match params.pattern {
            MemoryPattern::Pair => return handoff::open(task, thread),
            MemoryPattern::Chase if params.background.is_some() => loaded::open(params, seed, thread)?,
            MemoryPattern::Chase => Box::new(chase::open(params, seed)?),
            MemoryPattern::Sequential if params.block.is_none() => {
                Box::new(stream::StreamTrial::open(params, seed, thread)?)
            }
            MemoryPattern::Sequential | MemoryPattern::Random => Box::new(accesses::AccessTrial::open(params, seed)?),
        }))
    }

    fn placement(&self, task: &Task, of_threads: Vec<u32>) -> Placement {
        let homes = match task.experiment.memory() {
            Some(params) => nodes::homes(params, of_threads),
            None => of_threads,
        };
        Placement { keeps_ticks: false, homes }
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::{MemoryParams, Params};
    use model::isa::{Isa, MemoryOp};

    use super::*;
    use crate::tests::memory_params;

    pub(super) fn params(pattern: MemoryPattern, op: MemoryOp, working_set: u64) -> MemoryParams {
        MemoryParams { pattern, op, working_set, isa: Isa::Scalar, ..memory_params(MemoryOp::Read, 1) }
    }

    #[test]
    fn memory_is_taken_from_the_node_that_the_row_names() {
        let chase = params(MemoryPattern::Chase, MemoryOp::Load, 4 << 20);
        let open = |nodes: &str| {
            let params = Params::Memory(MemoryParams { nodes: Some(nodes.to_owned()), ..chase.clone() });
            let mut task = crate::tests::task();
            (task.experiment.area, task.experiment.params) = (Area::Memory, params);
            // On a thread of its own, as in a worker, because the policy is the thread's.
            std::thread::spawn(move || match MemoryEngine.open(&task, 0)? {
                Opened::Paced(mut trial) => {
                    trial.run(10);
                    trial.verify().map_err(Trouble::Failed)
                }
                Opened::Flow(_) | Opened::Job { .. } => Err(Trouble::Failed("a chase keeps no time".to_owned())),
            })
            .join()
            .unwrap()
        };
        match open("0-0") {
            Ok(()) => {}
            // A kernel without nodes, or a container that forbids the call.
            Err(trouble) => assert!(trouble.to_string().contains("set_mempolicy"), "{trouble:?}"),
        }
        assert!(matches!(open("0-1023"), Err(Trouble::Unavailable(_))));
        assert!(matches!(open("zero"), Err(Trouble::Failed(_))));
    }
}
