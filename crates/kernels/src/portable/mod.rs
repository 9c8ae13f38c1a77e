//! The kernels in plain Rust: the fallback of an architecture without a folder, and an example of a row. They compute
//! and verify like the others, but the compiler chooses the instructions and may use vectors where the row says
//! `scalar`.

pub(crate) mod blocks;
#[allow(dead_code, reason = "folders of machine code have their own")]
pub(crate) mod chain;
#[allow(dead_code, reason = "folders of machine code have their own")]
pub(crate) mod chase;
mod dot;
#[allow(dead_code, reason = "folders of machine code have their own")]
pub(crate) mod features;
mod fma;
mod memory;
mod plain;
pub mod tiles;

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::{Data, Range, Shape};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::Needs;
use crate::memory::blocks::kernel::BlockKernel;
use crate::memory::kernel::MemoryKernel;

/// The portable rows of [`blocks::BLOCK_KERNELS`](crate::blocks::BLOCK_KERNELS).
pub static BLOCK_KERNELS: &[BlockKernel] = blocks::KERNELS;

/// The portable rows of [`table::KERNELS`](crate::table::KERNELS).
pub static KERNELS: &[Kernel] = &[
    fma(Element::Fp64, "fp64", Float::Fp64).row("fma/fp64/scalar/portable", ANY, [8, 1, 2], &[], fma::fp64_scalar),
    fma(Element::Fp32, "fp32", Float::Fp32).row("fma/fp32/scalar/portable", ANY, [8, 1, 2], &[], fma::fp32_scalar),
    Kernel::of(
        CpuOp::Dot,
        Element::Int8,
        "s32 <- u8 x s8",
        "cpu-dot-scalar-portable/1",
        2,
        Data::IntegerDot { shape: Shape::Vector(1), first: Range::U8, second: Range::S8 },
    )
    .row("dot/int8/scalar/portable", ANY, [4, 1, 2], &[], dot::int8_scalar),
    plain(Element::Int32, "s32", Data::Affine { bytes: 4 }).row(
        "plain/int32/scalar/portable",
        ANY,
        [8, 1, 2],
        &[],
        plain::int32,
    ),
    plain(Element::Int64, "s64", Data::Affine { bytes: 8 }).row(
        "plain/int64/scalar/portable",
        ANY,
        [8, 1, 2],
        &[],
        plain::int64,
    ),
    plain(Element::Fp32, "fp32", Data::DoubledAndHalved(Float::Fp32)).row(
        "plain/fp32/scalar/portable",
        ANY,
        [8, 1, 2],
        &[],
        plain::fp32,
    ),
    plain(Element::Fp64, "fp64", Data::DoubledAndHalved(Float::Fp64)).row(
        "plain/fp64/scalar/portable",
        ANY,
        [8, 1, 2],
        &[],
        plain::fp64,
    ),
];

const ANY: Needs = (Isa::Scalar, &[]);

const fn fma(element: Element, types: &'static str, float: Float) -> Kernel {
    Kernel::of(CpuOp::Fma, element, types, "cpu-mul-add-portable/1", 2, Data::Products(float))
}

const fn plain(element: Element, types: &'static str, data: Data) -> Kernel {
    Kernel::of(CpuOp::Plain, element, types, "cpu-plain-portable/1", 3, data)
}

/// The portable rows of [`memory::MEMORY_KERNELS`](crate::memory::MEMORY_KERNELS).
pub static MEMORY_KERNELS: &[MemoryKernel] = memory::KERNELS;
