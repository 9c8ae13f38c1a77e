//! Floating-point additions alone, of a number and of its negative but for one unit in turn.

use model::isa::{CpuOp, Element, Isa};

use super::loops::vector_loop;
use crate::arithmetic::data::Data;
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::Feature;

vector_loop!(
    /// Eight fp64 lanes; 24 accumulators in ZMM4-27.
    fp64_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovupd", operands: "0,1",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["vaddpd zmm\\acc, zmm\\acc, zmm0", "vaddpd zmm\\acc, zmm\\acc, zmm1"],
        paced: fp64_avx512_paced, "((\\acc & 3) + 2) / 3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four fp64 lanes; 14 accumulators in YMM2-15.
    fp64_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovupd", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vaddpd ymm\\acc, ymm\\acc, ymm0", "vaddpd ymm\\acc, ymm\\acc, ymm1"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Two fp64 lanes; 14 accumulators in XMM2-15.
    fp64_sse2 {
        register: "xmm", bytes: 16, load_store: "movupd", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["addpd xmm\\acc, xmm0", "addpd xmm\\acc, xmm1"],
        finish: "",
    }
);
vector_loop!(
    /// One fp64 lane; 14 accumulators in XMM2-15.
    fp64_scalar {
        register: "xmm", bytes: 8, load_store: "movsd", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["addsd xmm\\acc, xmm0", "addsd xmm\\acc, xmm1"],
        finish: "",
    }
);
vector_loop!(
    /// Sixteen fp32 lanes; 24 accumulators in ZMM4-27.
    fp32_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovups", operands: "0,1",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["vaddps zmm\\acc, zmm\\acc, zmm0", "vaddps zmm\\acc, zmm\\acc, zmm1"],
        paced: fp32_avx512_paced, "((\\acc & 3) + 2) / 3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight fp32 lanes; 14 accumulators in YMM2-15.
    fp32_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovups", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vaddps ymm\\acc, ymm\\acc, ymm0", "vaddps ymm\\acc, ymm\\acc, ymm1"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four fp32 lanes; 14 accumulators in XMM2-15.
    fp32_sse2 {
        register: "xmm", bytes: 16, load_store: "movups", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["addps xmm\\acc, xmm0", "addps xmm\\acc, xmm1"],
        finish: "",
    }
);
vector_loop!(
    /// One fp32 lane; 14 accumulators in XMM2-15.
    fp32_scalar {
        register: "xmm", bytes: 4, load_store: "movss", operands: "0,1",
        accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["addss xmm\\acc, xmm0", "addss xmm\\acc, xmm1"],
        finish: "",
    }
);

/// Any x86-64: one lane. The other rows say where they differ.
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
/// 128 bits.
pub(super) const FP64_SSE2: Kernel =
    FP64_SCALAR.named("add/fp64/sse2", Isa::Sse2, &[Feature::Sse2]).sized(14, 2, 2).running(&["addpd"], fp64_sse2);
/// 256 bits.
pub(super) const FP64_AVX2: Kernel =
    FP64_SCALAR.named("add/fp64/avx2", Isa::Avx2, &[Feature::Avx2]).sized(14, 4, 2).running(&["vaddpd"], fp64_avx2);
/// 512 bits.
pub(super) const FP64_AVX512: Kernel = FP64_SCALAR
    .named("add/fp64/avx512", Isa::Avx512, &[Feature::Avx512F])
    .sized(24, 8, 2)
    .running(&["vaddpd"], fp64_avx512)
    .paced_by(fp64_avx512_paced, 72);
/// One lane.
pub(super) const FP32_SCALAR: Kernel = FP64_SCALAR
    .on_elements(Element::Fp32, "fp32", Data::Sums(Float::Fp32))
    .named("add/fp32/scalar", Isa::Scalar, &[Feature::Sse2])
    .running(&["addss"], fp32_scalar);
/// 128 bits.
pub(super) const FP32_SSE2: Kernel =
    FP32_SCALAR.named("add/fp32/sse2", Isa::Sse2, &[Feature::Sse2]).sized(14, 4, 2).running(&["addps"], fp32_sse2);
/// 256 bits.
pub(super) const FP32_AVX2: Kernel =
    FP32_SCALAR.named("add/fp32/avx2", Isa::Avx2, &[Feature::Avx2]).sized(14, 8, 2).running(&["vaddps"], fp32_avx2);
/// 512 bits.
pub(super) const FP32_AVX512: Kernel = FP32_SCALAR
    .named("add/fp32/avx512", Isa::Avx512, &[Feature::Avx512F])
    .sized(24, 16, 2)
    .running(&["vaddps"], fp32_avx512)
    .paced_by(fp32_avx512_paced, 72);
