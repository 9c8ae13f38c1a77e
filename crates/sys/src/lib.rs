//! The operating system made safe: clock, affinity, memory, this program's own code, usage, processes, thread teams, the
//! kernel's tick, cycle counters, raw CPUID, permission for tiles, files and requests in flight on them, network
//! interfaces, the system's linear algebra.
//!
//! One of the two crates that may use `unsafe`, each block with its reason. It holds no policy: which CPU, how much
//! memory and how long are the caller's to say.

pub mod blas;
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
