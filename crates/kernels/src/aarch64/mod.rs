//! The kernels of 64-bit Arm, in machine code.

pub(crate) mod blocks;
pub(crate) mod chain;
pub(crate) mod chase;
pub(crate) mod features;
mod memory;
pub(crate) mod tiles;

use crate::arithmetic::kernel::Kernel;

pub(crate) use blocks::KERNELS as BLOCK_KERNELS;
pub(crate) use memory::KERNELS as MEMORY_KERNELS;

/// Rows by operation and element; within these, widest first.
pub(crate) static KERNELS: &[Kernel] = &[];
