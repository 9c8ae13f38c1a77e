//! One thread of a launch: it opens its part and runs it the way that part is timed.

use sys::clock::monotonic_raw_seconds;
use sys::team::Gate;

use super::launch::{Ended, Launch, ThreadReport};
use super::{flow, job, paced};
use crate::engines::Opened;

/// Runs one thread's part from preparation to the last check.
pub(super) fn run(launch: &Launch, thread: usize, gate: &Gate) -> Result<ThreadReport, Ended> {
    let began = monotonic_raw_seconds();
    match launch.engine.open(launch.task, thread).map_err(Some)? {
        Opened::Paced(trial) => paced::run(launch, thread, gate, trial, began),
        Opened::Flow(flow) => flow::run(launch, thread, gate, flow, began),
        Opened::Job { job, bound } => job::run(launch, thread, gate, job::Parts { job, bound }, began),
    }
}
