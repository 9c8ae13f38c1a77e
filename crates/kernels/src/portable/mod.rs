//! The kernels in plain Rust: the fallback of an architecture without a folder, and an example of a row. They compute
//! and verify like the others, but the compiler chooses the instructions and may use vectors where the row says
//! `scalar`.

pub(crate) mod blocks;
pub(crate) mod chain;
pub(crate) mod chase;
mod dot;
pub(crate) mod features;
mod fma;
mod memory;
mod plain;
pub mod tiles;

use crate::arithmetic::kernel::Kernel;
use crate::memory::blocks::kernel::BlockKernel;
use crate::memory::kernel::MemoryKernel;

/// The portable rows of [`blocks::BLOCK_KERNELS`](crate::blocks::BLOCK_KERNELS).
pub static BLOCK_KERNELS: &[BlockKernel] = blocks::KERNELS;

/// The portable rows of [`table::KERNELS`](crate::table::KERNELS).
pub static KERNELS: &[Kernel] =
    &[fma::FP64_SCALAR, fma::FP32_SCALAR, dot::INT8_SCALAR, plain::INT32, plain::INT64, plain::FP32, plain::FP64];

/// The portable rows of [`memory::MEMORY_KERNELS`](crate::memory::MEMORY_KERNELS).
pub static MEMORY_KERNELS: &[MemoryKernel] = &[
    memory::READ_SCALAR,
    memory::WRITE_SCALAR,
    memory::COPY_SCALAR,
    memory::UPDATE_SCALAR,
    memory::SCALE_SCALAR,
    memory::ADD_SCALAR,
    memory::TRIAD_SCALAR,
    memory::BYTE_LOOP,
];
