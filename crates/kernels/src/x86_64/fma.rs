//! Floating-point multiply-add: fused where the CPU has FMA3 or AVX-512, else a multiplication and an addition.
//!
//! Fused steps are `acc += a * b` with both factors in registers. Separate ones form the product six steps ahead of its
//! addition; legacy SSE overwrites a source, so the copy before it is part of the step (eliminated at rename since Ivy
//! Bridge and Zen). Only the addition is then in the dependent chain, so six accumulators are enough, which Zen needs:
//! two additions a cycle of three cycles each.
//!
//! Half precision has so few bits that an accumulator can only advance by one unit per iteration: every second pair of
//! steps takes back what the one before has added.

use model::isa::{CpuOp, Element, Isa};

use super::loops::vector_loop;
use crate::arithmetic::data::Data;
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::Feature;

vector_loop!(
    /// Eight fp64 lanes; 24 accumulators in ZMM4-27.
    fp64_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovupd", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["vfmadd231pd zmm\\acc, zmm0, zmm1", "vfmadd231pd zmm\\acc, zmm2, zmm3"],
        paced: fp64_avx512_paced, "((\\acc & 3) + 2) / 3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Sixteen fp32 lanes; 24 accumulators in ZMM4-27.
    fp32_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovups", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["vfmadd231ps zmm\\acc, zmm0, zmm1", "vfmadd231ps zmm\\acc, zmm2, zmm3"],
        paced: fp32_avx512_paced, "((\\acc & 3) + 2) / 3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Thirty-two fp16 lanes; 24 accumulators in ZMM6-29. Eleven pairs of steps, six forward and five back.
    fp16_avx512_fp16 {
        register: "zmm", bytes: 64, load_store: "vmovups", operands: "0,1,2,3,4,5",
        accumulators: 6, "6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29",
        body:
            1 x ["vfmadd231ph zmm\\acc, zmm0, zmm1", "vfmadd231ph zmm\\acc, zmm2, zmm3"],
            5 x [
                "vfmadd231ph zmm\\acc, zmm4, zmm1", "vfmadd231ph zmm\\acc, zmm5, zmm3",
                "vfmadd231ph zmm\\acc, zmm0, zmm1", "vfmadd231ph zmm\\acc, zmm2, zmm3",
            ],
        paced: fp16_avx512_fp16_paced, "((\\acc & 3) + 2) / 3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four fp64 lanes in AVX-512's encoding, as the prefix says; 24 accumulators in YMM4-27.
    fp64_avx512vl {
        register: "ymm", bytes: 32, load_store: "vmovupd", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["{{evex}} vfmadd231pd ymm\\acc, ymm0, ymm1", "{{evex}} vfmadd231pd ymm\\acc, ymm2, ymm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight fp32 lanes in AVX-512's encoding, as the prefix says; 24 accumulators in YMM4-27.
    fp32_avx512vl {
        register: "ymm", bytes: 32, load_store: "vmovups", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 2 x ["{{evex}} vfmadd231ps ymm\\acc, ymm0, ymm1", "{{evex}} vfmadd231ps ymm\\acc, ymm2, ymm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four fp64 lanes; 12 accumulators in YMM4-15.
    fp64_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovupd", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vfmadd231pd ymm\\acc, ymm0, ymm1", "vfmadd231pd ymm\\acc, ymm2, ymm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight fp32 lanes; 12 accumulators in YMM4-15.
    fp32_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovups", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vfmadd231ps ymm\\acc, ymm0, ymm1", "vfmadd231ps ymm\\acc, ymm2, ymm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// One fp64 lane, fused; 12 accumulators in XMM4-15.
    fp64_scalar_fma3 {
        register: "xmm", bytes: 8, load_store: "vmovsd", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vfmadd231sd xmm\\acc, xmm0, xmm1", "vfmadd231sd xmm\\acc, xmm2, xmm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// One fp32 lane, fused; 12 accumulators in XMM4-15.
    fp32_scalar_fma3 {
        register: "xmm", bytes: 4, load_store: "vmovss", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
        body: 2 x ["vfmadd231ss xmm\\acc, xmm0, xmm1", "vfmadd231ss xmm\\acc, xmm2, xmm3"],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Two fp64 lanes, separate; 6 accumulators in XMM10-15, their products in XMM0-5.
    fp64_sse2 {
        register: "xmm", bytes: 16, load_store: "movupd", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14,15",
        products: @ "0,1,2,3,4,5" "movapd xmm\\acc, xmm6; mulpd xmm\\acc, xmm7",
        body: 4 x [
            @ "0,1,2,3,4,5" "addpd xmm1\\acc, xmm\\acc; movapd xmm\\acc, xmm8; mulpd xmm\\acc, xmm9",
            @ "0,1,2,3,4,5" "addpd xmm1\\acc, xmm\\acc; movapd xmm\\acc, xmm6; mulpd xmm\\acc, xmm7",
        ],
        spaced: fp64_sse2_spaced, "1", "48 - 1",
        finish: "",
    }
);
vector_loop!(
    /// Four fp32 lanes, separate; 6 accumulators in XMM10-15, their products in XMM0-5.
    fp32_sse2 {
        register: "xmm", bytes: 16, load_store: "movups", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14,15",
        products: @ "0,1,2,3,4,5" "movaps xmm\\acc, xmm6; mulps xmm\\acc, xmm7",
        body: 4 x [
            @ "0,1,2,3,4,5" "addps xmm1\\acc, xmm\\acc; movaps xmm\\acc, xmm8; mulps xmm\\acc, xmm9",
            @ "0,1,2,3,4,5" "addps xmm1\\acc, xmm\\acc; movaps xmm\\acc, xmm6; mulps xmm\\acc, xmm7",
        ],
        spaced: fp32_sse2_spaced, "1", "48 - 1",
        finish: "",
    }
);
vector_loop!(
    /// One fp64 lane, separate; 6 accumulators in XMM10-15, their products in XMM0-5.
    fp64_scalar {
        register: "xmm", bytes: 8, load_store: "movsd", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14,15",
        products: @ "0,1,2,3,4,5" "movapd xmm\\acc, xmm6; mulsd xmm\\acc, xmm7",
        body: 4 x [
            @ "0,1,2,3,4,5" "addsd xmm1\\acc, xmm\\acc; movapd xmm\\acc, xmm8; mulsd xmm\\acc, xmm9",
            @ "0,1,2,3,4,5" "addsd xmm1\\acc, xmm\\acc; movapd xmm\\acc, xmm6; mulsd xmm\\acc, xmm7",
        ],
        finish: "",
    }
);
vector_loop!(
    /// One fp32 lane, separate; 6 accumulators in XMM10-15, their products in XMM0-5.
    fp32_scalar {
        register: "xmm", bytes: 4, load_store: "movss", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14,15",
        products: @ "0,1,2,3,4,5" "movaps xmm\\acc, xmm6; mulss xmm\\acc, xmm7",
        body: 4 x [
            @ "0,1,2,3,4,5" "addss xmm1\\acc, xmm\\acc; movaps xmm\\acc, xmm8; mulss xmm\\acc, xmm9",
            @ "0,1,2,3,4,5" "addss xmm1\\acc, xmm\\acc; movaps xmm\\acc, xmm6; mulss xmm\\acc, xmm7",
        ],
        finish: "",
    }
);

/// Any x86-64: one lane, separate. The other fp64 rows say where they differ.
pub(super) const FP64_SCALAR: Kernel = Kernel {
    name: "fma/fp64/scalar",
    op: CpuOp::Fma,
    element: Element::Fp64,
    isa: Isa::Scalar,
    requires: &[Feature::Sse2],
    method: "cpu-mul-add/1",
    accumulator_type: "fp64",
    accumulators: 6,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: 4,
    step: &["movapd", "mulsd", "addsd"],
    operations_per_lane: 2,
    data: Data::Products(Float::Fp64),
    body: fp64_scalar,
    spaced: None,
    pace: None,
};
/// One lane, fused.
pub(super) const FP64_SCALAR_FMA3: Kernel = FP64_SCALAR
    .named("fma/fp64/scalar/fma3", Isa::Scalar, &[Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 1, 2)
    .running(&["vfmadd231sd"], fp64_scalar_fma3);
/// 128 bits, separate.
pub(super) const FP64_SSE2: Kernel = FP64_SCALAR
    .named("fma/fp64/sse2", Isa::Sse2, &[Feature::Sse2])
    .sized(6, 2, 4)
    .running(&["movapd", "mulpd", "addpd"], fp64_sse2)
    .spaced_by(fp64_sse2_spaced, 47);
/// 256 bits, fused.
pub(super) const FP64_AVX2: Kernel = FP64_SCALAR
    .named("fma/fp64/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 4, 2)
    .running(&["vfmadd231pd"], fp64_avx2);
/// 256 bits, fused, in AVX-512's encoding and with its registers.
pub(super) const FP64_AVX512VL: Kernel = FP64_AVX2
    .named("fma/fp64/avx512vl", Isa::Avx512Vl, &[Feature::Avx512F, Feature::Avx512Vl])
    .sized(24, 4, 2)
    .running(&["vfmadd231pd"], fp64_avx512vl);
/// 512 bits, fused.
pub(super) const FP64_AVX512: Kernel = FP64_SCALAR
    .named("fma/fp64/avx512", Isa::Avx512, &[Feature::Avx512F])
    .counted_by("cpu-fma/1")
    .sized(24, 8, 2)
    .running(&["vfmadd231pd"], fp64_avx512)
    .paced_by(fp64_avx512_paced, 72);
/// Any x86-64: one lane, separate. The other fp32 rows say where they differ.
pub(super) const FP32_SCALAR: Kernel = Kernel {
    name: "fma/fp32/scalar",
    op: CpuOp::Fma,
    element: Element::Fp32,
    isa: Isa::Scalar,
    requires: &[Feature::Sse2],
    method: "cpu-mul-add/1",
    accumulator_type: "fp32",
    accumulators: 6,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: 4,
    step: &["movaps", "mulss", "addss"],
    operations_per_lane: 2,
    data: Data::Products(Float::Fp32),
    body: fp32_scalar,
    spaced: None,
    pace: None,
};
/// One lane, fused.
pub(super) const FP32_SCALAR_FMA3: Kernel = FP32_SCALAR
    .named("fma/fp32/scalar/fma3", Isa::Scalar, &[Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 1, 2)
    .running(&["vfmadd231ss"], fp32_scalar_fma3);
/// 128 bits, separate.
pub(super) const FP32_SSE2: Kernel = FP32_SCALAR
    .named("fma/fp32/sse2", Isa::Sse2, &[Feature::Sse2])
    .sized(6, 4, 4)
    .running(&["movaps", "mulps", "addps"], fp32_sse2)
    .spaced_by(fp32_sse2_spaced, 47);
/// 256 bits, fused.
pub(super) const FP32_AVX2: Kernel = FP32_SCALAR
    .named("fma/fp32/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 8, 2)
    .running(&["vfmadd231ps"], fp32_avx2);
/// 256 bits, fused, in AVX-512's encoding and with its registers.
pub(super) const FP32_AVX512VL: Kernel = FP32_AVX2
    .named("fma/fp32/avx512vl", Isa::Avx512Vl, &[Feature::Avx512F, Feature::Avx512Vl])
    .sized(24, 8, 2)
    .running(&["vfmadd231ps"], fp32_avx512vl);
/// 512 bits, fused.
pub(super) const FP32_AVX512: Kernel = FP32_SCALAR
    .named("fma/fp32/avx512", Isa::Avx512, &[Feature::Avx512F])
    .counted_by("cpu-fma/1")
    .sized(24, 16, 2)
    .running(&["vfmadd231ps"], fp32_avx512)
    .paced_by(fp32_avx512_paced, 72);
/// 512 bits, fused, half precision.
pub(super) const FP16_AVX512_FP16: Kernel = FP32_AVX512
    .on_elements(Element::Fp16, "fp16", Data::AlternatingProducts(Float::Fp16))
    .named("fma/fp16/avx512_fp16", Isa::Avx512Fp16, &[Feature::Avx512F, Feature::Avx512Fp16])
    .sized(24, 32, 11)
    .running(&["vfmadd231ph"], fp16_avx512_fp16)
    .paced_by(fp16_avx512_fp16_paced, 396);
