//! The worker: one launch of one benchmark in a process of its own, the task on standard input, messages on standard
//! output.
//!
//! It knows nothing of other launches, of statistics or of where its messages go: the same worker serves a local run and
//! one that `srun` started.

mod clock_probe;
mod flow;
mod flow_record;
mod job;
mod job_record;
mod launch;
mod observe;
mod paced;
mod pacing;
mod record;
mod serve;
mod thread;

pub use serve::serve;
