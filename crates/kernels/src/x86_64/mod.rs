//! The kernels of x86-64, in machine code.
//!
//! Every body is a naked function of one assembly block with registers fixed by hand, so no compiler can fold, hoist,
//! spill or widen anything, and no target feature has to be enabled to build it. The calling convention is System V's:
//! arguments in RDI, RSI and RDX; all vector registers (ZMM16-31 included), RAX, RCX and R8-R11 are the callee's to
//! destroy, so that no clobbers are declared. Bodies that use 256- or 512-bit registers end with VZEROUPPER, so that
//! legacy SSE code after them runs at full speed; those that use tiles release them. A kernel's function is named like
//! the kernel: `fma/fp64/avx512` is `fma::fp64_avx512`.

mod add;
mod all_pipes;
pub(crate) mod blocks;
pub(crate) mod chain;
pub(crate) mod chase;
mod dot;
pub(crate) mod features;
mod fma;
mod loops;
mod matrix;
mod memory;
mod muladd;
mod plain;
pub(crate) mod tiles;

use crate::arithmetic::kernel::Kernel;

pub(crate) use blocks::KERNELS as BLOCK_KERNELS;
pub(crate) use memory::KERNELS as MEMORY_KERNELS;

/// Rows by operation and element; within these, widest first, and fastest first where several are as wide.
pub(crate) static KERNELS: &[Kernel] = &[
    fma::FP64_AVX512,
    fma::FP64_AVX512VL,
    fma::FP64_AVX2,
    fma::FP64_SSE2,
    fma::FP64_SCALAR_FMA3,
    fma::FP64_SCALAR,
    fma::FP32_AVX512,
    fma::FP32_AVX512VL,
    fma::FP32_AVX2,
    fma::FP32_SSE2,
    fma::FP32_SCALAR_FMA3,
    fma::FP32_SCALAR,
    fma::FP16_AVX512_FP16,
    dot::INT8_AVX512_VNNI,
    dot::INT8_AVX512,
    dot::INT8_AVX_VNNI,
    dot::INT8_AVX_VNNI_INT8,
    dot::INT8_AVX2,
    dot::INT8_SSSE3,
    dot::INT8_SCALAR,
    dot::INT16_AVX512_VNNI,
    dot::INT16_AVX512,
    dot::INT16_AVX_VNNI,
    dot::INT16_AVX2,
    dot::INT16_SSE2,
    dot::INT16_SCALAR,
    dot::BF16_AVX512_BF16,
    matrix::INT8_AMX,
    matrix::BF16_AMX,
    matrix::FP16_AMX,
    muladd::INT8_AVX512,
    muladd::INT8_AVX2,
    muladd::INT8_SSE2,
    muladd::INT16_AVX512,
    muladd::INT16_AVX2,
    muladd::INT16_SSE2,
    muladd::INT32_AVX512,
    muladd::INT32_AVX2,
    muladd::INT32_SSE4_1,
    muladd::INT64_AVX512,
    muladd::INT64_AVX2,
    muladd::INT64_SSE2,
    add::FP64_AVX512,
    add::FP64_AVX2,
    add::FP64_SSE2,
    add::FP64_SCALAR,
    add::FP32_AVX512,
    add::FP32_AVX2,
    add::FP32_SSE2,
    add::FP32_SCALAR,
    all_pipes::FP64_AVX512,
    all_pipes::FP64_AVX2,
    all_pipes::FP32_AVX512,
    all_pipes::FP32_AVX2,
    plain::INT8_SCALAR,
    plain::INT16_SCALAR,
    plain::INT32_SCALAR,
    plain::INT64_SCALAR,
    plain::FP32_SCALAR,
    plain::FP64_SCALAR,
];
