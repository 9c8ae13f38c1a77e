//! The timed loops, one per instruction set, each with the work that it declares and the check that it was done.
//!
//! No clock, allocation, system call or policy: the caller brings the memory, pins the thread and times the call. Every
//! loop is chosen at run time from [`features::Features`], a plain value, so that a test may pretend to be any CPU. The
//! folders of machine code have the same file names; `portable` needs no instruction set, and is tested everywhere.
#![no_std]

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod aarch64;
mod arithmetic;
pub mod chain;
pub mod dense;
mod detect;
pub mod features;
pub mod memory;
pub mod portable;
mod rng;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;

pub use arithmetic::{state, table};
pub use memory::{blocks, chase, handoff, lines, pattern};

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
use aarch64 as native;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
use portable as native;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use x86_64 as native;
