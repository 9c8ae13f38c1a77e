//! The operating system made safe: clock, CPUs, memory, files, requests in flight, sockets, processes and the system's
//! linear algebra. Holds no policy: which CPU, how much memory and how long are the caller's choice.
#![expect(missing_docs, reason = "most items are named after what they are")]

pub mod blas;
mod calls;
pub mod clock;
pub mod cpu;
pub mod file;
pub mod memory;
pub mod net;
pub mod process;
pub mod queue;
pub mod team;

pub use cpu::{affinity, cpuid, cycles, tick, tiles};
pub use memory::{copy, numbers, pages};
pub use process::{code, usage};
