//! Floating-point additions of a number and, in turn, of its negative less one unit.

use model::isa::{CpuOp, Element, Isa};

use super::loops::vector_loop;
use crate::arithmetic::data::Data;
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::Feature;

/// Defines a loop of three-operand additions.
macro_rules! additions {
    ($name:ident, $register:literal, $bytes:literal, $move:literal, $add:literal, $first:literal, $accumulators:literal
        $(, $($paced:tt)*)?
    ) => {
        vector_loop!($name {
            register: $register, bytes: $bytes, load_store: $move, operands: 0, "0,1",
            accumulators: $first, $accumulators,
            body: 2 x [
                concat!($add, " ", $register, "\\acc, ", $register, "\\acc, ", $register, "0"),
                concat!($add, " ", $register, "\\acc, ", $register, "\\acc, ", $register, "1"),
            ],
            finish: "vzeroupper",
        } $(, $($paced)*)?);
    };
}
additions!(fp64_avx512, "zmm", 64, "vmovupd", "vaddpd",
    4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    paced: fp64_avx512_paced, "((\\acc & 3) + 2) / 3");
additions!(fp32_avx512, "zmm", 64, "vmovups", "vaddps",
    4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    paced: fp32_avx512_paced, "((\\acc & 3) + 2) / 3");
additions!(fp64_avx2, "ymm", 32, "vmovupd", "vaddpd", 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15");
additions!(fp32_avx2, "ymm", 32, "vmovups", "vaddps", 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15");

/// Defines a loop of SSE's two-operand additions.
macro_rules! sse_additions {
    ($name:ident, $bytes:literal, $move:literal, $add:literal) => {
        vector_loop!($name {
            register: "xmm", bytes: $bytes, load_store: $move, operands: 0, "0,1",
            accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            body: 2 x [concat!($add, " xmm\\acc, xmm0"), concat!($add, " xmm\\acc, xmm1")],
            finish: "",
        });
    };
}
sse_additions!(fp64_sse2, 16, "movupd", "addpd");
sse_additions!(fp64_scalar, 8, "movsd", "addsd");
sse_additions!(fp32_sse2, 16, "movups", "addps");
sse_additions!(fp32_scalar, 4, "movss", "addss");

pub(super) const FP64_SCALAR: Kernel = Kernel {
    name: "add/fp64/scalar",
    op: CpuOp::Add,
    element: Element::Fp64,
    isa: Isa::Scalar,
    requires: &[Feature::Sse2],
    method: "cpu-add/1",
    accumulator_type: "fp64",
    accumulators: 14,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: 2,
    step: &["addsd"],
    operations_per_lane: 1,
    data: Data::Sums(Float::Fp64),
    body: fp64_scalar,
    spaced: None,
    pace: None,
};
pub(super) const FP64_SSE2: Kernel =
    FP64_SCALAR.named("add/fp64/sse2", Isa::Sse2, &[Feature::Sse2]).sized(14, 2, 2).running(&["addpd"], fp64_sse2);
pub(super) const FP64_AVX2: Kernel =
    FP64_SCALAR.named("add/fp64/avx2", Isa::Avx2, &[Feature::Avx2]).sized(14, 4, 2).running(&["vaddpd"], fp64_avx2);
pub(super) const FP64_AVX512: Kernel = FP64_SCALAR
    .named("add/fp64/avx512", Isa::Avx512, &[Feature::Avx512F])
    .sized(24, 8, 2)
    .running(&["vaddpd"], fp64_avx512)
    .paced_by(fp64_avx512_paced, 72);
pub(super) const FP32_SCALAR: Kernel = FP64_SCALAR
    .on_elements(Element::Fp32, "fp32", Data::Sums(Float::Fp32))
    .named("add/fp32/scalar", Isa::Scalar, &[Feature::Sse2])
    .running(&["addss"], fp32_scalar);
pub(super) const FP32_SSE2: Kernel =
    FP32_SCALAR.named("add/fp32/sse2", Isa::Sse2, &[Feature::Sse2]).sized(14, 4, 2).running(&["addps"], fp32_sse2);
pub(super) const FP32_AVX2: Kernel =
    FP32_SCALAR.named("add/fp32/avx2", Isa::Avx2, &[Feature::Avx2]).sized(14, 8, 2).running(&["vaddps"], fp32_avx2);
pub(super) const FP32_AVX512: Kernel = FP32_SCALAR
    .named("add/fp32/avx512", Isa::Avx512, &[Feature::Avx512F])
    .sized(24, 16, 2)
    .running(&["vaddps"], fp32_avx512)
    .paced_by(fp32_avx512_paced, 72);
