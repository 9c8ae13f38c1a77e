//! The kernels of x86-64, in machine code.
//!
//! Every body is a naked function of one assembly block with registers fixed by hand, so no compiler can change it, and no
//! target feature has to be enabled. The calling convention is System V's: arguments in RDI, RSI and RDX; vector registers,
//! RAX, RCX and R8-R11 are the callee's to destroy. Bodies with 256- or 512-bit registers end with VZEROUPPER, those with
//! tiles release them. A kernel's function is named like the kernel: `fma/fp64/avx512` is `fma::fp64_avx512`.

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

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::common::{
    ADD32, ADD64, BF16, DOT_BF16, DOT8_SINGLE, DOT16_SINGLE, FMA16, FMA32, FMA64, MULADD16, MULADD32, MULADD64,
    PLAIN_FP32, PLAIN_FP64, PLAIN8, PLAIN16, PLAIN32, PLAIN64, dot, factors, matrix, muladd,
};
use crate::arithmetic::data::{Data, Range, Shape};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::{Feature, Needs};

pub(crate) use blocks::KERNELS as BLOCK_KERNELS;
pub(crate) use memory::KERNELS as MEMORY_KERNELS;

const ANY: Needs = (Isa::Scalar, &[]);
const SCALAR: Needs = (Isa::Scalar, &[Feature::Sse2]);
const SCALAR_FMA3: Needs = (Isa::Scalar, &[Feature::Fma]);
const SSE2: Needs = (Isa::Sse2, &[Feature::Sse2]);
const SSSE3: Needs = (Isa::Ssse3, &[Feature::Ssse3]);
const SSE4_1: Needs = (Isa::Sse41, &[Feature::Sse41]);
const AVX2: Needs = (Isa::Avx2, &[Feature::Avx2]);
const AVX2_FMA: Needs = (Isa::Avx2, &[Feature::Avx2, Feature::Fma]);
const AVX512: Needs = (Isa::Avx512, &[Feature::Avx512F]);
const AVX512BW: Needs = (Isa::Avx512, &[Feature::Avx512F, Feature::Avx512Bw]);
const AVX512DQ: Needs = (Isa::Avx512, &[Feature::Avx512F, Feature::Avx512Dq]);
const AVX512VL: Needs = (Isa::Avx512Vl, &[Feature::Avx512F, Feature::Avx512Vl]);
const AVX512_FP16: Needs = (Isa::Avx512Fp16, &[Feature::Avx512F, Feature::Avx512Fp16]);
const AVX512_VNNI: Needs = (Isa::Avx512Vnni, &[Feature::Avx512F, Feature::Avx512Vnni]);
const AVX_VNNI: Needs = (Isa::AvxVnni, &[Feature::AvxVnni]);
const AVX_VNNI_INT8: Needs = (Isa::AvxVnniInt8, &[Feature::AvxVnniInt8]);
const AVX512_BF16: Needs = (Isa::Avx512Bf16, &[Feature::Avx512F, Feature::Avx512Bf16]);
const AMX_INT8: Needs = (Isa::Amx, &[Feature::AmxTile, Feature::AmxInt8]);
const AMX_BF16: Needs = (Isa::Amx, &[Feature::AmxTile, Feature::AmxBf16]);
const AMX_FP16: Needs = (Isa::Amx, &[Feature::AmxTile, Feature::AmxFp16]);

/// Multiplication and addition by separate instructions.
const MUL_ADD64: Kernel = Kernel { method: "cpu-mul-add/1", ..FMA64 };
const MUL_ADD32: Kernel = Kernel { method: "cpu-mul-add/1", ..FMA32 };
const DOT8: Kernel = dot(Element::Int8, "s32 <- u8 x s8", "cpu-dot-vnni/1", 4, [Range::U8, Range::S8]);
const DOT8_PAIRS: Kernel = dot(Element::Int8, "s32 <- u8 x s8", "cpu-dot-maddubs/1", 4, [Range::U7, Range::S8]);
const DOT8_SIGNED: Kernel = dot(Element::Int8, "s32 <- s8 x s8", "cpu-dot-vnni/1", 4, [Range::S8, Range::S8]);
const DOT16: Kernel = dot(Element::Int16, "s32 <- s16 x s16", "cpu-dot-vnni/1", 2, [Range::S16, Range::S16]);
const DOT16_PAIRS: Kernel = Kernel { method: "cpu-dot-maddwd/1", ..DOT16 };
const MATRIX8: Kernel = matrix(Element::Int8, "s32 <- u8 x s8", 2 * 64, WHOLE_TILE);
const MATRIX_BF16: Kernel = matrix(Element::Bf16, BF16, 2 * 32, factors(Shape::TILE_OF_PAIRS, Float::Bf16));
const MATRIX_FP16: Kernel =
    matrix(Element::Fp16, "fp32 <- fp16 x fp16", 2 * 32, factors(Shape::TILE_OF_PAIRS, Float::Fp16));
const MULADD8: Kernel = muladd(Element::Int8, "s8", "cpu-muladd-bytes/1", 1);
const MULADD64_HALVES: Kernel = Kernel { method: "cpu-muladd-halves/1", ..MULADD64 };
const ALL64: Kernel = all_pipes(Element::Fp64, "fp64", Float::Fp64);
const ALL32: Kernel = all_pipes(Element::Fp32, "fp32", Float::Fp32);
const WHOLE_TILE: Data = Data::IntegerDot { shape: Shape::TILE_OF_BYTES, first: Range::U8, second: Range::S8 };

const fn all_pipes(element: Element, types: &'static str, float: Float) -> Kernel {
    let data = Data::ProductsAndSums(float);
    Kernel { accumulators_per_step: 2, ..Kernel::of(CpuOp::AllPipes, element, types, "cpu-all-pipes/1", 3, data) }
}

/// Rows by operation and element; within these, widest first, and fastest first where several are as wide.
pub(crate) static KERNELS: &[Kernel] = &[
    FMA64
        .row("fma/fp64/avx512", AVX512, [24, 8, 2], &["vfmadd231pd"], fma::fp64_avx512)
        .paced_by(fma::fp64_avx512_paced, 72),
    FMA64.row("fma/fp64/avx512vl", AVX512VL, [24, 4, 2], &["vfmadd231pd"], fma::fp64_avx512vl),
    FMA64.row("fma/fp64/avx2", AVX2_FMA, [12, 4, 2], &["vfmadd231pd"], fma::fp64_avx2),
    MUL_ADD64
        .row("fma/fp64/sse2", SSE2, [6, 2, 4], &["movapd", "mulpd", "addpd"], fma::fp64_sse2)
        .spaced_by(fma::fp64_sse2_spaced, 47),
    FMA64.row("fma/fp64/scalar/fma3", SCALAR_FMA3, [12, 1, 2], &["vfmadd231sd"], fma::fp64_scalar_fma3),
    MUL_ADD64.row("fma/fp64/scalar", SCALAR, [6, 1, 4], &["movapd", "mulsd", "addsd"], fma::fp64_scalar),
    FMA32
        .row("fma/fp32/avx512", AVX512, [24, 16, 2], &["vfmadd231ps"], fma::fp32_avx512)
        .paced_by(fma::fp32_avx512_paced, 72),
    FMA32.row("fma/fp32/avx512vl", AVX512VL, [24, 8, 2], &["vfmadd231ps"], fma::fp32_avx512vl),
    FMA32.row("fma/fp32/avx2", AVX2_FMA, [12, 8, 2], &["vfmadd231ps"], fma::fp32_avx2),
    MUL_ADD32
        .row("fma/fp32/sse2", SSE2, [6, 4, 4], &["movaps", "mulps", "addps"], fma::fp32_sse2)
        .spaced_by(fma::fp32_sse2_spaced, 47),
    FMA32.row("fma/fp32/scalar/fma3", SCALAR_FMA3, [12, 1, 2], &["vfmadd231ss"], fma::fp32_scalar_fma3),
    MUL_ADD32.row("fma/fp32/scalar", SCALAR, [6, 1, 4], &["movaps", "mulss", "addss"], fma::fp32_scalar),
    FMA16
        .row("fma/fp16/avx512_fp16", AVX512_FP16, [24, 32, 11], &["vfmadd231ph"], fma::fp16_avx512_fp16)
        .paced_by(fma::fp16_avx512_fp16_paced, 396),
    DOT8.row("dot/int8/avx512_vnni", AVX512_VNNI, [24, 16, 2], &["vpdpbusd"], dot::int8_avx512_vnni)
        .paced_by(dot::int8_avx512_vnni_paced, 72),
    DOT8_PAIRS
        .row("dot/int8/avx512", AVX512BW, [24, 16, 2], &["vpmaddubsw", "vpmaddwd", "vpaddd"], dot::int8_avx512)
        .paced_by(dot::int8_avx512_paced, 192),
    DOT8.row("dot/int8/avx_vnni", AVX_VNNI, [12, 8, 2], &["vpdpbusd"], dot::int8_avx_vnni),
    DOT8_SIGNED.row("dot/int8/avx_vnni_int8", AVX_VNNI_INT8, [12, 8, 2], &["vpdpbssd"], dot::int8_avx_vnni_int8),
    DOT8_PAIRS
        .row("dot/int8/avx2", AVX2, [2, 8, 27], &["vpmaddubsw", "vpmaddwd", "vpaddd"], dot::int8_avx2)
        .spaced_by(dot::int8_avx2_spaced, 323),
    DOT8_PAIRS
        .row("dot/int8/ssse3", SSSE3, [2, 4, 27], &["movdqa", "pmaddubsw", "pmaddwd", "paddd"], dot::int8_ssse3)
        .spaced_by(dot::int8_ssse3_spaced, 215),
    DOT8_SINGLE.row("dot/int8/scalar", ANY, [4, 1, 2], &["movsx", "imul", "add"], dot::int8_scalar),
    DOT16
        .row("dot/int16/avx512_vnni", AVX512_VNNI, [24, 16, 2], &["vpdpwssd"], dot::int16_avx512_vnni)
        .paced_by(dot::int16_avx512_vnni_paced, 72),
    DOT16_PAIRS
        .row("dot/int16/avx512", AVX512BW, [4, 16, 18], &["vpmaddwd", "vpaddd"], dot::int16_avx512)
        .paced_by(dot::int16_avx512_paced, 216),
    DOT16.row("dot/int16/avx_vnni", AVX_VNNI, [12, 8, 2], &["vpdpwssd"], dot::int16_avx_vnni),
    DOT16_PAIRS
        .row("dot/int16/avx2", AVX2, [6, 8, 4], &["vpmaddwd", "vpaddd"], dot::int16_avx2)
        .spaced_by(dot::int16_avx2_spaced, 95),
    DOT16_PAIRS
        .row("dot/int16/sse2", SSE2, [6, 4, 4], &["movdqa", "pmaddwd", "paddd"], dot::int16_sse2)
        .spaced_by(dot::int16_sse2_spaced, 47),
    DOT16_SINGLE.row("dot/int16/scalar", ANY, [4, 1, 2], &["movsx", "imul", "add"], dot::int16_scalar),
    DOT_BF16
        .row("dot/bf16/avx512_bf16", AVX512_BF16, [24, 16, 2], &["vdpbf16ps"], dot::bf16_avx512_bf16)
        .paced_by(dot::bf16_avx512_bf16_paced, 204),
    MATRIX8
        .row("matrix/int8/amx", AMX_INT8, [4, 16 * 16, 4], &["tdpbusd"], matrix::int8_amx)
        .paced_by(matrix::int8_amx_paced, 768),
    MATRIX_BF16
        .row("matrix/bf16/amx", AMX_BF16, [4, 16 * 16, 4], &["tdpbf16ps"], matrix::bf16_amx)
        .paced_by(matrix::bf16_amx_paced, 768),
    MATRIX_FP16
        .row("matrix/fp16/amx", AMX_FP16, [4, 16 * 16, 4], &["tdpfp16ps"], matrix::fp16_amx)
        .paced_by(matrix::fp16_amx_paced, 768),
    MULADD8
        .row(
            "muladd/int8/avx512",
            AVX512BW,
            [16, 64, 2],
            &["vpsrlw", "vpandd", "vpmullw", "vpmullw", "vpternlogd", "vpaddb"],
            muladd::int8_avx512,
        )
        .paced_by(muladd::int8_avx512_paced, 256),
    MULADD8.row(
        "muladd/int8/avx2",
        AVX2,
        [4, 32, 8],
        &["vpsrlw", "vpand", "vpmullw", "vpmullw", "vpand", "vpor", "vpaddb"],
        muladd::int8_avx2,
    ),
    MULADD8
        .row(
            "muladd/int8/sse2",
            SSE2,
            [4, 16, 9],
            &["movdqa", "psrlw", "movdqa", "pand", "pmullw", "movdqa", "pmullw", "pand", "por", "paddb"],
            muladd::int8_sse2,
        )
        .spaced_by(muladd::int8_sse2_spaced, 286),
    MULADD16
        .row("muladd/int16/avx512", AVX512BW, [4, 32, 18], &["vpmullw", "vpaddw"], muladd::int16_avx512)
        .paced_by(muladd::int16_avx512_paced, 216),
    MULADD16
        .row("muladd/int16/avx2", AVX2, [4, 16, 12], &["vpmullw", "vpaddw"], muladd::int16_avx2)
        .spaced_by(muladd::int16_avx2_spaced, 190),
    MULADD16
        .row("muladd/int16/sse2", SSE2, [4, 8, 12], &["movdqa", "pmullw", "paddw"], muladd::int16_sse2)
        .spaced_by(muladd::int16_sse2_spaced, 94),
    MULADD32
        .row("muladd/int32/avx512", AVX512, [4, 16, 18], &["vpmulld", "vpaddd"], muladd::int32_avx512)
        .spaced_by(muladd::int32_avx512_spaced, 287)
        .paced_by(muladd::int32_avx512_paced, 288),
    MULADD32
        .row("muladd/int32/avx2", AVX2, [2, 8, 60], &["vpmulld", "vpaddd"], muladd::int32_avx2)
        .spaced_by(muladd::int32_avx2_spaced, 725),
    MULADD32
        .row("muladd/int32/sse4_1", SSE4_1, [4, 4, 12], &["movdqa", "pmulld", "paddd"], muladd::int32_sse4_1)
        .spaced_by(muladd::int32_sse4_1_spaced, 191),
    MULADD64
        .row("muladd/int64/avx512", AVX512DQ, [4, 8, 18], &["vpmullq", "vpaddq"], muladd::int64_avx512)
        .paced_by(muladd::int64_avx512_paced, 432),
    MULADD64_HALVES
        .row(
            "muladd/int64/avx2",
            AVX2,
            [4, 4, 6],
            &["vpsrlq", "vpmuludq", "vpsrlq", "vpmuludq", "vpaddq", "vpsllq", "vpmuludq", "vpaddq", "vpaddq"],
            muladd::int64_avx2,
        )
        .spaced_by(muladd::int64_avx2_spaced, 431),
    MULADD64_HALVES
        .row(
            "muladd/int64/sse2",
            SSE2,
            [4, 2, 6],
            &[
                "movdqa", "psrlq", "pmuludq", "movdqa", "psrlq", "pmuludq", "paddq", "psllq", "movdqa", "pmuludq",
                "paddq", "paddq",
            ],
            muladd::int64_sse2,
        )
        .spaced_by(muladd::int64_sse2_spaced, 287),
    ADD64
        .row("add/fp64/avx512", AVX512, [24, 8, 2], &["vaddpd"], add::fp64_avx512)
        .paced_by(add::fp64_avx512_paced, 72),
    ADD64.row("add/fp64/avx2", AVX2, [14, 4, 2], &["vaddpd"], add::fp64_avx2),
    ADD64.row("add/fp64/sse2", SSE2, [14, 2, 2], &["addpd"], add::fp64_sse2),
    ADD64.row("add/fp64/scalar", SCALAR, [14, 1, 2], &["addsd"], add::fp64_scalar),
    ADD32
        .row("add/fp32/avx512", AVX512, [24, 16, 2], &["vaddps"], add::fp32_avx512)
        .paced_by(add::fp32_avx512_paced, 72),
    ADD32.row("add/fp32/avx2", AVX2, [14, 8, 2], &["vaddps"], add::fp32_avx2),
    ADD32.row("add/fp32/sse2", SSE2, [14, 4, 2], &["addps"], add::fp32_sse2),
    ADD32.row("add/fp32/scalar", SCALAR, [14, 1, 2], &["addss"], add::fp32_scalar),
    ALL64
        .row("all_pipes/fp64/avx512", AVX512, [24, 8, 2], &["vfmadd231pd", "vaddpd"], all_pipes::fp64_avx512)
        .paced_by(all_pipes::fp64_avx512_paced, 52),
    ALL64
        .row("all_pipes/fp64/avx2", AVX2_FMA, [14, 4, 3], &["vfmadd231pd", "vaddpd"], all_pipes::fp64_avx2)
        .spaced_by(all_pipes::fp64_avx2_spaced, 83)
        .paced_by(all_pipes::fp64_avx2_paced, 42),
    ALL32
        .row("all_pipes/fp32/avx512", AVX512, [24, 16, 2], &["vfmadd231ps", "vaddps"], all_pipes::fp32_avx512)
        .paced_by(all_pipes::fp32_avx512_paced, 52),
    ALL32
        .row("all_pipes/fp32/avx2", AVX2_FMA, [14, 8, 3], &["vfmadd231ps", "vaddps"], all_pipes::fp32_avx2)
        .spaced_by(all_pipes::fp32_avx2_spaced, 83)
        .paced_by(all_pipes::fp32_avx2_paced, 42),
    PLAIN8.row("plain/int8/scalar", ANY, [10, 1, 2], &["imul", "add", "sub"], plain::int8_scalar),
    PLAIN16.row("plain/int16/scalar", ANY, [10, 1, 2], &["imul", "add", "sub"], plain::int16_scalar),
    PLAIN32.row("plain/int32/scalar", ANY, [10, 1, 2], &["imul", "add", "sub"], plain::int32_scalar),
    PLAIN64.row("plain/int64/scalar", ANY, [10, 1, 2], &["imul", "add", "sub"], plain::int64_scalar),
    PLAIN_FP32
        .row("plain/fp32/scalar", SCALAR, [12, 1, 2], &["mulss", "addss", "subss"], plain::fp32_scalar)
        .spaced_by(plain::fp32_scalar_spaced, 143),
    PLAIN_FP64
        .row("plain/fp64/scalar", SCALAR, [12, 1, 2], &["mulsd", "addsd", "subsd"], plain::fp64_scalar)
        .spaced_by(plain::fp64_scalar_spaced, 143),
];
