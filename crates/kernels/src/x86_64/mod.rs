//! The kernels of x86-64, in machine code.
//!
//! Every body is a naked function: the whole of it, load, loop and store, is one assembly block with registers fixed by
//! hand, so no compiler can fold, hoist, spill or widen anything, and no target feature has to be enabled to build it.
//! The calling convention is System V's: arguments in RDI, RSI and RDX; all vector registers (ZMM16-31 included), RAX,
//! RCX and R8-R11 are the callee's to destroy, which is why no clobbers are declared. Bodies that use 256- or 512-bit
//! registers end with VZEROUPPER, so that legacy SSE code after them runs at full speed.

pub(crate) mod chain;
pub(crate) mod chase;
mod dot;
pub(crate) mod features;
mod fma;
mod loops;
mod memory;

use crate::memory::MemoryKernel;
use crate::table::Kernel;

/// Rows by operation and element; within these, widest first.
pub(crate) static KERNELS: &[Kernel] = &[
    fma::FP64_AVX512,
    fma::FP64_AVX2,
    fma::FP64_SSE2,
    fma::FP64_SCALAR_FMA3,
    fma::FP64_SCALAR,
    fma::FP32_AVX512,
    fma::FP32_AVX2,
    fma::FP32_SSE2,
    fma::FP32_SCALAR_FMA3,
    fma::FP32_SCALAR,
    dot::INT8_AVX512_VNNI,
    dot::INT8_AVX512,
    dot::INT8_AVX_VNNI,
    dot::INT8_AVX2,
    dot::INT8_SSSE3,
    dot::INT8_SCALAR,
];

/// Rows by operation; within these, widest first.
pub(crate) static MEMORY_KERNELS: &[MemoryKernel] = &[
    memory::READ_AVX512,
    memory::READ_AVX2,
    memory::READ_SSE2,
    memory::WRITE_AVX512,
    memory::WRITE_AVX2,
    memory::WRITE_SSE2,
    memory::WRITE_NT_AVX512,
    memory::WRITE_NT_AVX2,
    memory::WRITE_NT_SSE2,
    memory::COPY_AVX512,
    memory::COPY_AVX2,
    memory::COPY_SSE2,
    memory::COPY_NT_AVX512,
    memory::COPY_NT_AVX2,
    memory::COPY_NT_SSE2,
];
