//! The bodies of the memory streams: one block of 512 bytes per iteration, ascending, pass after pass.
//!
//! All have the same registers. R10 is the job; RDI goes through the target, RSI, RDX and RCX through the sources; R8
//! counts blocks down, R9 passes; RAX sums up how far the first pointer went. The end of a pass is a handful of
//! instructions on the scalar ports, which overlap with the vectors of the next. Vectors 0 to 7 are loaded, then
//! stored, in groups of eight; vector 8 is the operand.

mod bytes;
mod fp64;
mod streams;
mod words;

use model::isa::Isa::{Avx2, Avx512, Scalar, Sse2};
use model::isa::MemoryOp::{
    Add, AddNt, ByteLoop, Copy, CopyNt, Mix11, Mix21, Mix31, Read, RepMovsb, Scale, ScaleNt, Triad, TriadNt, Update,
    Write, WriteNt,
};

use self::streams::row;
use crate::memory::kernel::{MemoryKernel, Stride};

/// Rows by operation; within these, widest first.
pub(crate) static KERNELS: &[MemoryKernel] = &[
    row("read/avx512", Read, Avx512, words::read_avx512).summing(&["vmovdqa64"], "vpaddq"),
    row("read/avx2", Read, Avx2, words::read_avx2).summing(&["vmovdqa"], "vpaddq"),
    row("read/sse2", Read, Sse2, words::read_sse2).summing(&["movdqa"], "paddq"),
    row("write/avx512", Write, Avx512, words::write_avx512).by(&[], &["vpaddq"], "vmovdqa64"),
    row("write/avx2", Write, Avx2, words::write_avx2).by(&[], &["vpaddq"], "vmovdqa"),
    row("write/sse2", Write, Sse2, words::write_sse2).by(&[], &["paddq"], "movdqa"),
    row("write_nt/avx512", WriteNt, Avx512, words::write_nt_avx512).by(&[], &["vpaddq"], "vmovntdq"),
    row("write_nt/avx2", WriteNt, Avx2, words::write_nt_avx2).by(&[], &["vpaddq"], "vmovntdq"),
    row("write_nt/sse2", WriteNt, Sse2, words::write_nt_sse2).by(&[], &["paddq"], "movntdq"),
    row("copy/avx512", Copy, Avx512, words::copy_avx512).by(&["vmovdqa64"], &[], "vmovdqa64"),
    row("copy/avx2", Copy, Avx2, words::copy_avx2).by(&["vmovdqa"], &[], "vmovdqa"),
    row("copy/sse2", Copy, Sse2, words::copy_sse2).by(&["movdqa"], &[], "movdqa"),
    row("copy_nt/avx512", CopyNt, Avx512, words::copy_nt_avx512).by(&["vmovdqa64"], &[], "vmovntdq"),
    row("copy_nt/avx2", CopyNt, Avx2, words::copy_nt_avx2).by(&["vmovdqa"], &[], "vmovntdq"),
    row("copy_nt/sse2", CopyNt, Sse2, words::copy_nt_sse2).by(&["movdqa"], &[], "movntdq"),
    row("update/avx512", Update, Avx512, words::update_avx512).by(&["vpaddq"], &[], "vmovdqa64"),
    row("update/avx2", Update, Avx2, words::update_avx2).by(&["vpaddq"], &[], "vmovdqa"),
    row("update/sse2", Update, Sse2, words::update_sse2).by(&["movdqa"], &["paddq"], "movdqa"),
    row("scale/avx512", Scale, Avx512, fp64::scale_avx512).by(&["vmulpd"], &[], "vmovapd"),
    row("scale/avx2", Scale, Avx2, fp64::scale_avx2).by(&["vmulpd"], &[], "vmovapd"),
    row("scale/sse2", Scale, Sse2, fp64::scale_sse2).by(&["movapd"], &["mulpd"], "movapd"),
    row("scale_nt/avx512", ScaleNt, Avx512, fp64::scale_nt_avx512).by(&["vmulpd"], &[], "vmovntpd"),
    row("scale_nt/avx2", ScaleNt, Avx2, fp64::scale_nt_avx2).by(&["vmulpd"], &[], "vmovntpd"),
    row("scale_nt/sse2", ScaleNt, Sse2, fp64::scale_nt_sse2).by(&["movapd"], &["mulpd"], "movntpd"),
    row("add/avx512", Add, Avx512, fp64::add_avx512).by(&["vmovapd", "vaddpd"], &[], "vmovapd"),
    row("add/avx2", Add, Avx2, fp64::add_avx2).by(&["vmovapd", "vaddpd"], &[], "vmovapd"),
    row("add/sse2", Add, Sse2, fp64::add_sse2).by(&["movapd", "addpd"], &[], "movapd"),
    row("add_nt/avx512", AddNt, Avx512, fp64::add_nt_avx512).by(&["vmovapd", "vaddpd"], &[], "vmovntpd"),
    row("add_nt/avx2", AddNt, Avx2, fp64::add_nt_avx2).by(&["vmovapd", "vaddpd"], &[], "vmovntpd"),
    row("add_nt/sse2", AddNt, Sse2, fp64::add_nt_sse2).by(&["movapd", "addpd"], &[], "movntpd"),
    row("triad/avx512", Triad, Avx512, fp64::triad_avx512).by(&["vmovapd", "vfmadd213pd"], &[], "vmovapd"),
    row("triad/avx2", Triad, Avx2, fp64::triad_avx2).by(&["vmovapd", "vfmadd213pd"], &[], "vmovapd"),
    row("triad/sse2", Triad, Sse2, fp64::triad_sse2).by(&["movapd", "addpd"], &["mulpd"], "movapd"),
    row("triad_nt/avx512", TriadNt, Avx512, fp64::triad_nt_avx512).by(&["vmovapd", "vfmadd213pd"], &[], "vmovntpd"),
    row("triad_nt/avx2", TriadNt, Avx2, fp64::triad_nt_avx2).by(&["vmovapd", "vfmadd213pd"], &[], "vmovntpd"),
    row("triad_nt/sse2", TriadNt, Sse2, fp64::triad_nt_sse2).by(&["movapd", "addpd"], &["mulpd"], "movntpd"),
    row("mix_3_1/avx512", Mix31, Avx512, words::mix_3_1_avx512).by(&["vmovdqa64", "vpxorq", "vpxorq"], &[], "vmovntdq"),
    row("mix_3_1/avx2", Mix31, Avx2, words::mix_3_1_avx2).by(&["vmovdqa", "vpxor", "vpxor"], &[], "vmovntdq"),
    row("mix_3_1/sse2", Mix31, Sse2, words::mix_3_1_sse2).by(&["movdqa", "pxor", "pxor"], &[], "movntdq"),
    row("mix_2_1/avx512", Mix21, Avx512, words::mix_2_1_avx512).by(&["vmovdqa64", "vpxorq"], &[], "vmovntdq"),
    row("mix_2_1/avx2", Mix21, Avx2, words::mix_2_1_avx2).by(&["vmovdqa", "vpxor"], &[], "vmovntdq"),
    row("mix_2_1/sse2", Mix21, Sse2, words::mix_2_1_sse2).by(&["movdqa", "pxor"], &[], "movntdq"),
    row("mix_1_1/avx512", Mix11, Avx512, words::copy_nt_avx512).by(&["vmovdqa64"], &[], "vmovntdq"),
    row("mix_1_1/avx2", Mix11, Avx2, words::copy_nt_avx2).by(&["vmovdqa"], &[], "vmovntdq"),
    row("mix_1_1/sse2", Mix11, Sse2, words::copy_nt_sse2).by(&["movdqa"], &[], "movntdq"),
    row("rep_movsb/scalar", RepMovsb, Scalar, bytes::rep_movsb).by(&["movsb"], &[], "movsb").of_bytes(Stride::Pass),
    row("byte_loop/scalar", ByteLoop, Scalar, bytes::byte_loop).by(&["movzx"], &[], "mov").of_bytes(Stride::Byte),
];
