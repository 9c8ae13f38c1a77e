//! What the rows of one operation and element have in common on every architecture.

use model::isa::{CpuOp, Element};

use crate::arithmetic::data::{Data, Range, Shape};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;

pub(crate) const FMA64: Kernel =
    Kernel::of(CpuOp::Fma, Element::Fp64, "fp64", "cpu-fma/1", 2, Data::Products(Float::Fp64));
pub(crate) const FMA32: Kernel =
    Kernel::of(CpuOp::Fma, Element::Fp32, "fp32", "cpu-fma/1", 2, Data::Products(Float::Fp32));
pub(crate) const FMA16: Kernel =
    Kernel::of(CpuOp::Fma, Element::Fp16, "fp16", "cpu-fma/1", 2, Data::AlternatingProducts(Float::Fp16));
pub(crate) const DOT8_SINGLE: Kernel =
    dot(Element::Int8, "s32 <- u8 x s8", "cpu-dot-scalar/1", 1, [Range::U8, Range::S8]);
pub(crate) const DOT16_SINGLE: Kernel =
    dot(Element::Int16, "s32 <- s16 x s16", "cpu-dot-scalar/1", 1, [Range::S16, Range::S16]);
pub(crate) const DOT_BF16: Kernel =
    Kernel::of(CpuOp::Dot, Element::Bf16, BF16, "cpu-dot-bf16/1", 4, factors(Shape::Vector(2), Float::Bf16));
pub(crate) const MULADD16: Kernel = muladd(Element::Int16, "s16", "cpu-muladd/1", 2);
pub(crate) const MULADD32: Kernel = muladd(Element::Int32, "s32", "cpu-muladd/1", 4);
pub(crate) const MULADD64: Kernel = muladd(Element::Int64, "s64", "cpu-muladd/1", 8);
pub(crate) const ADD64: Kernel = Kernel::of(CpuOp::Add, Element::Fp64, "fp64", "cpu-add/1", 1, Data::Sums(Float::Fp64));
pub(crate) const ADD32: Kernel = Kernel::of(CpuOp::Add, Element::Fp32, "fp32", "cpu-add/1", 1, Data::Sums(Float::Fp32));
pub(crate) const PLAIN8: Kernel = plain(Element::Int8, "s8 in s32", Data::Affine { bytes: 1 });
pub(crate) const PLAIN16: Kernel = plain(Element::Int16, "s16 in s32", Data::Affine { bytes: 2 });
pub(crate) const PLAIN32: Kernel = plain(Element::Int32, "s32", Data::Affine { bytes: 4 });
pub(crate) const PLAIN64: Kernel = plain(Element::Int64, "s64", Data::Affine { bytes: 8 });
pub(crate) const PLAIN_FP32: Kernel = plain(Element::Fp32, "fp32", Data::DoubledAndHalved(Float::Fp32));
pub(crate) const PLAIN_FP64: Kernel = plain(Element::Fp64, "fp64", Data::DoubledAndHalved(Float::Fp64));

pub(crate) const BF16: &str = "fp32 <- bf16 x bf16";

pub(crate) const fn dot(
    element: Element,
    types: &'static str,
    method: &'static str,
    products: usize,
    of: [Range; 2],
) -> Kernel {
    let data = Data::IntegerDot { shape: Shape::Vector(products), first: of[0], second: of[1] };
    Kernel::of(CpuOp::Dot, element, types, method, 2 * products as u64, data)
}

pub(crate) const fn factors(shape: Shape, factor: Float) -> Data {
    Data::FloatDot { shape, factor }
}

pub(crate) const fn matrix(element: Element, types: &'static str, operations: u64, data: Data) -> Kernel {
    Kernel::of(CpuOp::Matrix, element, types, "cpu-matrix/1", operations, data)
}

pub(crate) const fn muladd(element: Element, types: &'static str, method: &'static str, bytes: usize) -> Kernel {
    Kernel::of(CpuOp::MulAdd, element, types, method, 2, Data::Elements { bytes })
}

pub(crate) const fn plain(element: Element, types: &'static str, data: Data) -> Kernel {
    Kernel::of(CpuOp::Plain, element, types, "cpu-plain/1", 3, data)
}
