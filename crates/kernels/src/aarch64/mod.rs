//! The kernels of 64-bit Arm, in machine code.

pub(crate) mod features;

pub(crate) use crate::portable::{BLOCK_KERNELS, MEMORY_KERNELS, blocks, chain, chase, tiles};

use crate::arithmetic::kernel::Kernel;

/// Rows by operation and element; within these, widest first.
pub(crate) static KERNELS: &[Kernel] = &[];
