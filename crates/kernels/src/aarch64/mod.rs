//! The kernels of 64-bit Arm, in machine code.
//!
//! Every body is a naked function of one assembly block with registers fixed by hand, so no compiler can change it, and no
//! target feature has to be enabled. The calling convention is AAPCS64's: arguments in X0 to X2; X0 to X17, V0 to V7 and
//! V16 to V31 are the callee's to destroy, as are the upper halves of V8 to V15. X18 belongs to the platform. A kernel's
//! function is named like the kernel: `fma/fp64/neon` is `fma::fp64_neon`; scalable vectors have one for every length.
//!
//! No kernel keeps all pipes busy with two kinds of instruction: the pipes that multiply are those that add.

mod add;
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
const SCALAR: Needs = (Isa::Scalar, &[Feature::Asimd]);
const NEON: Needs = (Isa::Neon, &[Feature::Asimd]);
const NEON_FP16: Needs = (Isa::NeonFp16, &[Feature::AsimdHp]);
const NEON_DOTPROD: Needs = (Isa::NeonDotprod, &[Feature::AsimdDp]);
const NEON_I8MM: Needs = (Isa::NeonI8mm, &[Feature::I8mm]);
const NEON_BF16: Needs = (Isa::NeonBf16, &[Feature::Bf16]);

const DOT8_UNSIGNED: Kernel = dot(Element::Int8, "s32 <- u8 x s8", "cpu-dot-usdot/1", 4, [Range::U8, Range::S8]);
const DOT8: Kernel = dot(Element::Int8, "s32 <- s8 x s8", "cpu-dot-sdot/1", 4, [Range::S8, Range::S8]);
const DOT8_PAIRS: Kernel = dot(Element::Int8, "s32 <- s8 x s8", "cpu-dot-smull/1", 2, [Range::S8, Range::S8]);
const DOT16: Kernel = dot(Element::Int16, "s32 <- s16 x s16", "cpu-dot-smlal/1", 1, [Range::S16, Range::S16]);
const MATRIX8: Kernel = Kernel {
    method: "cpu-matrix-mmla/1",
    ..matrix(
        Element::Int8,
        "s32 <- s8 x s8",
        2 * 8,
        Data::IntegerDot { shape: Shape::Rows { side: 2, products: 8 }, first: Range::S8, second: Range::S8 },
    )
};
const MATRIX_BF16: Kernel = Kernel {
    method: "cpu-matrix-mmla/1",
    ..matrix(Element::Bf16, BF16, 2 * 4, factors(Shape::Rows { side: 2, products: 4 }, Float::Bf16))
};
const MULADD8: Kernel = muladd(Element::Int8, "s8", "cpu-muladd/1", 1);

const fn outer_fp64(side: usize) -> Kernel {
    outer(Element::Fp64, "fp64", 1, Data::OuterProducts { float: Float::Fp64, side })
}

const fn outer_fp32(side: usize) -> Kernel {
    outer(Element::Fp32, "fp32", 1, Data::OuterProducts { float: Float::Fp32, side })
}

const fn outer_fp16(side: usize) -> Kernel {
    outer(Element::Fp16, "fp32 <- fp16 x fp16", 2, factors(Shape::Rows { side, products: 2 }, Float::Fp16))
}

const fn outer_bf16(side: usize) -> Kernel {
    outer(Element::Bf16, BF16, 2, factors(Shape::Rows { side, products: 2 }, Float::Bf16))
}

/// A kernel whose lanes are the products of every row by every column, or sums of some.
const fn outer(element: Element, types: &'static str, products: u64, data: Data) -> Kernel {
    Kernel::of(CpuOp::Matrix, element, types, "cpu-matrix-outer/1", 2 * products, data)
}

/// The rows of some operations and elements. `@sme` is a body for outer products with its tiles and the bytes of a lane,
/// `@sve` one for scalable vectors with its pairs of steps: one row for each length of a vector, the widest first. The
/// other rows are needs, the last part of the name, accumulators, lanes and pairs, the instructions of a step, and the
/// body.
macro_rules! kernels {
    ($($kernel:tt $stem:literal {
        $(@sme $(+ $sme_feature:ident)? [$tiles:literal of $lane:literal] $sme_step:tt $sme:ident $outer:path;)?
        $(@sve $(+ $feature:ident)? [$pairs:literal] $scalable_step:tt $scalable:path;)?
        $($row:ident $needs:ident $isa:literal $numbers:tt $step:tt $body:path;)*
    })+) => {
        &[$(
            $(
                kernels!(@tiles 64 Sme512, $sme, $stem, "/sme/512", [$($sme_feature)?], $tiles, $lane, $sme_step, $outer),
                kernels!(@tiles 32 Sme256, $sme, $stem, "/sme/256", [$($sme_feature)?], $tiles, $lane, $sme_step, $outer),
                kernels!(@tiles 16 Sme128, $sme, $stem, "/sme/128", [$($sme_feature)?], $tiles, $lane, $sme_step, $outer),
            )?
            $(
                kernels!(@row 64 Sve512, $kernel, $stem, "/sve/512", [$($feature)?], $pairs, $scalable_step, $scalable),
                kernels!(@row 32 Sve256, $kernel, $stem, "/sve/256", [$($feature)?], $pairs, $scalable_step, $scalable),
                kernels!(@row 16 Sve128, $kernel, $stem, "/sve/128", [$($feature)?], $pairs, $scalable_step, $scalable),
            )?
            $($row.row(concat!($stem, "/", $isa), $needs, $numbers, &$step, $body),)*
        )+]
    };
    (@tiles $bytes:literal $length:ident, $kernel:ident, $stem:literal, $end:literal, [$($feature:ident)?], $tiles:literal,
        $lane:literal, $step:tt, $body:path
    ) => {
        $kernel($bytes / $lane).row(
            concat!($stem, $end),
            (Isa::Sme, &[Feature::$length $(, Feature::$feature)?]),
            [$tiles, ($bytes / $lane) * ($bytes / $lane), 4],
            &$step,
            $body,
        )
    };
    (@row $bytes:literal $length:ident, $kernel:ident, $stem:literal, $end:literal, [$($feature:ident)?], $pairs:literal,
        $step:tt, $body:path
    ) => {
        $kernel.row(
            concat!($stem, $end),
            (Isa::Sve, &[Feature::$length $(, Feature::$feature)?]),
            [24, $bytes / $kernel.data.lane_bytes(), $pairs],
            &$step,
            $body,
        )
    };
}

/// Rows by operation and element; within these, widest first, and fastest first where several are as wide.
pub(crate) static KERNELS: &[Kernel] = kernels! {
    FMA64 "fma/fp64" {
        @sve [2] ["fmla"] fma::fp64_sve;
        FMA64 NEON "neon" [24, 2, 2] ["fmla"] fma::fp64_neon;
        FMA64 SCALAR "scalar" [24, 1, 2] ["fmadd"] fma::fp64_scalar;
    }
    FMA32 "fma/fp32" {
        @sve [2] ["fmla"] fma::fp32_sve;
        FMA32 NEON "neon" [24, 4, 2] ["fmla"] fma::fp32_neon;
        FMA32 SCALAR "scalar" [24, 1, 2] ["fmadd"] fma::fp32_scalar;
    }
    FMA16 "fma/fp16" {
        @sve [11] ["fmla"] fma::fp16_sve;
        FMA16 NEON_FP16 "neon_fp16" [24, 8, 11] ["fmla"] fma::fp16_neon_fp16;
    }
    DOT8 "dot/int8" {
        @sve [2] ["sdot"] dot::int8_sve;
        DOT8_UNSIGNED NEON_I8MM "neon_i8mm" [24, 4, 2] ["usdot"] dot::int8_neon_i8mm;
        DOT8 NEON_DOTPROD "neon_dotprod" [24, 4, 2] ["sdot"] dot::int8_neon_dotprod;
        DOT8_PAIRS NEON "neon" [10, 4, 2] ["smull", "sadalp"] dot::int8_neon;
        DOT8_SINGLE ANY "scalar" [8, 1, 2] ["ldrsb", "madd"] dot::int8_scalar;
    }
    DOT16 "dot/int16" {
        DOT16 NEON "neon" [24, 4, 2] ["smlal"] dot::int16_neon;
        DOT16_SINGLE ANY "scalar" [8, 1, 2] ["ldrsh", "madd"] dot::int16_scalar;
    }
    DOT_BF16 "dot/bf16" {
        @sve + SveBf16 [2] ["bfdot"] dot::bf16_sve;
        DOT_BF16 NEON_BF16 "neon_bf16" [24, 4, 2] ["bfdot"] dot::bf16_neon_bf16;
    }
    MATRIX8 "matrix/int8" {
        @sve + SveI8mm [2] ["smmla"] matrix::int8_sve;
        MATRIX8 NEON_I8MM "neon_i8mm" [24, 4, 2] ["smmla"] matrix::int8_neon_i8mm;
    }
    MATRIX_BF16 "matrix/bf16" {
        @sme [4 of 4] ["bfmopa"] outer_bf16 matrix::bf16_sme;
        @sve + SveBf16 [2] ["bfmmla"] matrix::bf16_sve;
        MATRIX_BF16 NEON_BF16 "neon_bf16" [24, 4, 2] ["bfmmla"] matrix::bf16_neon_bf16;
    }
    _ "matrix/fp16" { @sme [4 of 4] ["fmopa"] outer_fp16 matrix::fp16_sme; }
    _ "matrix/fp32" { @sme [4 of 4] ["fmopa"] outer_fp32 matrix::fp32_sme; }
    _ "matrix/fp64" { @sme + SmeF64F64 [8 of 8] ["fmopa"] outer_fp64 matrix::fp64_sme; }
    MULADD8 "muladd/int8" {
        @sve [2] ["mla"] muladd::int8_sve;
        MULADD8 NEON "neon" [24, 16, 2] ["mla"] muladd::int8_neon;
    }
    MULADD16 "muladd/int16" {
        @sve [2] ["mla"] muladd::int16_sve;
        MULADD16 NEON "neon" [24, 8, 2] ["mla"] muladd::int16_neon;
    }
    MULADD32 "muladd/int32" {
        @sve [2] ["mla"] muladd::int32_sve;
        MULADD32 NEON "neon" [24, 4, 2] ["mla"] muladd::int32_neon;
    }
    MULADD64 "muladd/int64" {
        @sve [2] ["mla"] muladd::int64_sve;
        MULADD64 ANY "scalar" [12, 1, 2] ["madd"] muladd::int64_scalar;
    }
    ADD64 "add/fp64" {
        @sve [2] ["fadd"] add::fp64_sve;
        ADD64 NEON "neon" [24, 2, 2] ["fadd"] add::fp64_neon;
        ADD64 SCALAR "scalar" [24, 1, 2] ["fadd"] add::fp64_scalar;
    }
    ADD32 "add/fp32" {
        @sve [2] ["fadd"] add::fp32_sve;
        ADD32 NEON "neon" [24, 4, 2] ["fadd"] add::fp32_neon;
        ADD32 SCALAR "scalar" [24, 1, 2] ["fadd"] add::fp32_scalar;
    }
    PLAIN8 "plain/int8" { PLAIN8 ANY "scalar" [12, 1, 2] ["madd", "sub"] plain::int8_scalar; }
    PLAIN16 "plain/int16" { PLAIN16 ANY "scalar" [12, 1, 2] ["madd", "sub"] plain::int16_scalar; }
    PLAIN32 "plain/int32" { PLAIN32 ANY "scalar" [12, 1, 2] ["madd", "sub"] plain::int32_scalar; }
    PLAIN64 "plain/int64" { PLAIN64 ANY "scalar" [12, 1, 2] ["madd", "sub"] plain::int64_scalar; }
    PLAIN_FP32 "plain/fp32" { PLAIN_FP32 SCALAR "scalar" [24, 1, 2] ["fmadd", "fsub"] plain::fp32_scalar; }
    PLAIN_FP64 "plain/fp64" { PLAIN_FP64 SCALAR "scalar" [24, 1, 2] ["fmadd", "fsub"] plain::fp64_scalar; }
};
