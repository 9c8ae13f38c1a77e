//! The bodies of the memory streams: one block of 512 bytes per iteration, ascending, pass after pass.
//!
//! All have the same registers. R10 is the job; RDI goes through the target, RSI, RDX and RCX through the sources; R8
//! counts blocks down, R9 passes; RAX sums up how far the first pointer went. The end of a pass is a handful of
//! instructions on the scalar ports, which overlap with the vectors of the next.
//!
//! Vectors 0 to 7 are loaded, then stored, in groups of eight; vector 8 is the operand.

mod bytes;
mod fp64;
mod streams;
mod words;

use crate::memory::kernel::MemoryKernel;

/// Rows by operation; within these, widest first.
pub(crate) static KERNELS: &[MemoryKernel] = &[
    words::READ_AVX512,
    words::READ_AVX2,
    words::READ_SSE2,
    words::WRITE_AVX512,
    words::WRITE_AVX2,
    words::WRITE_SSE2,
    words::WRITE_NT_AVX512,
    words::WRITE_NT_AVX2,
    words::WRITE_NT_SSE2,
    words::COPY_AVX512,
    words::COPY_AVX2,
    words::COPY_SSE2,
    words::COPY_NT_AVX512,
    words::COPY_NT_AVX2,
    words::COPY_NT_SSE2,
    words::UPDATE_AVX512,
    words::UPDATE_AVX2,
    words::UPDATE_SSE2,
    fp64::SCALE_AVX512,
    fp64::SCALE_AVX2,
    fp64::SCALE_SSE2,
    fp64::SCALE_NT_AVX512,
    fp64::SCALE_NT_AVX2,
    fp64::SCALE_NT_SSE2,
    fp64::ADD_AVX512,
    fp64::ADD_AVX2,
    fp64::ADD_SSE2,
    fp64::ADD_NT_AVX512,
    fp64::ADD_NT_AVX2,
    fp64::ADD_NT_SSE2,
    fp64::TRIAD_AVX512,
    fp64::TRIAD_AVX2,
    fp64::TRIAD_SSE2,
    fp64::TRIAD_NT_AVX512,
    fp64::TRIAD_NT_AVX2,
    fp64::TRIAD_NT_SSE2,
    words::MIX_3_1_AVX512,
    words::MIX_3_1_AVX2,
    words::MIX_3_1_SSE2,
    words::MIX_2_1_AVX512,
    words::MIX_2_1_AVX2,
    words::MIX_2_1_SSE2,
    words::MIX_1_1_AVX512,
    words::MIX_1_1_AVX2,
    words::MIX_1_1_SSE2,
    bytes::REP_MOVSB,
    bytes::BYTE_LOOP,
];
