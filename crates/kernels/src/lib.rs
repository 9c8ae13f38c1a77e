//! The loops that are timed: arithmetic, clock chains, memory streams and the pointer chase, one per instruction set,
//! each beside the work that it declares and the check that it was done.
//!
//! * [`table::KERNELS`] — arithmetic, verified by [`state::ArithmeticState`];
//! * [`chain`] — dependent instructions of a known latency, whose rate is the core's clock;
//! * [`memory::MEMORY_KERNELS`] — streams over [`lines::Block`]s, verified against a [`pattern::Pattern`];
//! * [`visits::VISIT_KERNELS`] — visits to blocks in ascending or random order, verified against a
//!   [`visits::Content`];
//! * [`chase::Chase`] — dependent loads through random cycles over every line;
//! * [`dense`] — products and systems of linear equations, by a crew of threads;
//! * [`handoff::HandoffLine`] — a line that goes from core to core and back.
//!
//! What it is not: it reads no clock, allocates nothing, makes no system call and decides no policy. A caller brings
//! the memory, pins the thread, times the call and says how often. Every loop is chosen at run time from
//! [`features::Features`], a plain value, so that a test may pretend to be any CPU; nothing here depends on
//! compile-time target features.
//!
//! The machine code lives in one folder per architecture with the same file names in each; `portable` is plain Rust,
//! the fallback where an architecture has no folder yet, and is compiled and tested everywhere.
#![no_std]

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
pub use memory::{chase, handoff, lines, pattern, visits};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
use portable as native;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use x86_64 as native;
