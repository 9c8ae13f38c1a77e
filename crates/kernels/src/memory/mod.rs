//! Loops over memory: streams, block accesses, the pointer chase, and a line handed between cores.

pub mod blocks;
pub mod chase;
pub mod handoff;
pub(crate) mod kernel;
pub mod lines;
pub mod pattern;
mod streams;

pub use kernel::{MOST_SOURCES, MemoryKernel, SCALAR, Stride, UPDATE_STEP, combined, is_fp64};
pub use streams::{
    BoundMemory, CombineLoop, MEMORY_KERNELS, ReadLoop, Reading, UpdateLoop, WriteLoop, ZeroLoop, find, usable,
};
