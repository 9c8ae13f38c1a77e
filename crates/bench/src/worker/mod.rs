//! The worker: one process run of one benchmark, with its task on standard input and messages on standard output.

mod clock_probe;
mod context;
mod flow;
mod flow_record;
mod job;
mod observe;
mod paced;
mod pacing;
mod record;
mod serve;
mod slices;

pub use serve::serve;
