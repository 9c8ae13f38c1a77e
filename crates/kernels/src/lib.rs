//! The timed loops, one per instruction set, each with the work that it declares and the check that it was done.
//!
//! No clock, allocation, system call or policy: the caller brings the memory, pins the thread and times the call. Every
//! loop is chosen at run time from [`features::Features`], a plain value, so that a test may pretend to be any CPU.
#![no_std]

mod arithmetic;
pub mod chain;
pub mod dense;
mod detect;
pub mod features;
pub mod memory;
mod rng;
mod x86_64;

pub use arithmetic::{state, table};
pub use memory::{blocks, chase, handoff, lines, pattern};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("Assay runs on x86-64 Linux only");
