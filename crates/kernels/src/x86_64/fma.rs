//! Floating-point multiply-add: fused where the CPU has FMA3 or AVX-512, else a multiplication and an addition.
//!
//! Separate steps form a product six steps ahead of its addition, so that only additions depend on each other and six
//! accumulators are enough: Zen has two additions a cycle of three cycles each. SSE overwrites a source, so the copy
//! before it is part of the step (eliminated at rename since Ivy Bridge and Zen).

use model::isa::{CpuOp, Element, Isa};

use super::loops::{fused_loop, separate_loop, vector_loop};
use crate::arithmetic::data::Data;
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::features::Feature;

fused_loop!(fp64_avx512, 24 of "zmm", 64, "vmovupd", "vfmadd231pd",
    paced: fp64_avx512_paced, "((\\acc & 3) + 2) / 3");
fused_loop!(fp32_avx512, 24 of "zmm", 64, "vmovups", "vfmadd231ps",
    paced: fp32_avx512_paced, "((\\acc & 3) + 2) / 3");
fused_loop!(fp64_avx512vl, 24 of "ymm", 32, "vmovupd", "{{evex}} vfmadd231pd");
fused_loop!(fp32_avx512vl, 24 of "ymm", 32, "vmovups", "{{evex}} vfmadd231ps");
fused_loop!(fp64_avx2, 12 of "ymm", 32, "vmovupd", "vfmadd231pd");
fused_loop!(fp32_avx2, 12 of "ymm", 32, "vmovups", "vfmadd231ps");
fused_loop!(fp64_scalar_fma3, 12 of "xmm", 8, "vmovsd", "vfmadd231sd");
fused_loop!(fp32_scalar_fma3, 12 of "xmm", 4, "vmovss", "vfmadd231ss");
separate_loop!(fp64_sse2, 16, "movupd", "movapd", "mulpd", "addpd", spaced: fp64_sse2_spaced);
separate_loop!(fp32_sse2, 16, "movups", "movaps", "mulps", "addps", spaced: fp32_sse2_spaced);
separate_loop!(fp64_scalar, 8, "movsd", "movapd", "mulsd", "addsd");
separate_loop!(fp32_scalar, 4, "movss", "movaps", "mulss", "addss");
// Half precision has so few bits that an accumulator can only advance by one unit per iteration: of eleven pairs of
// steps, five take back what the pair before has added.
vector_loop!(fp16_avx512_fp16 {
    register: "zmm", bytes: 64, load_store: "vmovups", operands: 0, "0,1,2,3,4,5",
    accumulators: 6, "6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29",
    body:
        1 x ["vfmadd231ph zmm\\acc, zmm0, zmm1", "vfmadd231ph zmm\\acc, zmm2, zmm3"],
        5 x [
            "vfmadd231ph zmm\\acc, zmm4, zmm1", "vfmadd231ph zmm\\acc, zmm5, zmm3",
            "vfmadd231ph zmm\\acc, zmm0, zmm1", "vfmadd231ph zmm\\acc, zmm2, zmm3",
        ],
    finish: "vzeroupper",
}, paced: fp16_avx512_fp16_paced, "((\\acc & 3) + 2) / 3");

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
pub(super) const FP64_SCALAR_FMA3: Kernel = FP64_SCALAR
    .named("fma/fp64/scalar/fma3", Isa::Scalar, &[Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 1, 2)
    .running(&["vfmadd231sd"], fp64_scalar_fma3);
pub(super) const FP64_SSE2: Kernel = FP64_SCALAR
    .named("fma/fp64/sse2", Isa::Sse2, &[Feature::Sse2])
    .sized(6, 2, 4)
    .running(&["movapd", "mulpd", "addpd"], fp64_sse2)
    .spaced_by(fp64_sse2_spaced, 47);
pub(super) const FP64_AVX2: Kernel = FP64_SCALAR
    .named("fma/fp64/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 4, 2)
    .running(&["vfmadd231pd"], fp64_avx2);
pub(super) const FP64_AVX512VL: Kernel = FP64_AVX2
    .named("fma/fp64/avx512vl", Isa::Avx512Vl, &[Feature::Avx512F, Feature::Avx512Vl])
    .sized(24, 4, 2)
    .running(&["vfmadd231pd"], fp64_avx512vl);
pub(super) const FP64_AVX512: Kernel = FP64_SCALAR
    .named("fma/fp64/avx512", Isa::Avx512, &[Feature::Avx512F])
    .counted_by("cpu-fma/1")
    .sized(24, 8, 2)
    .running(&["vfmadd231pd"], fp64_avx512)
    .paced_by(fp64_avx512_paced, 72);
pub(super) const FP32_SCALAR: Kernel = FP64_SCALAR
    .on_elements(Element::Fp32, "fp32", Data::Products(Float::Fp32))
    .named("fma/fp32/scalar", Isa::Scalar, &[Feature::Sse2])
    .running(&["movaps", "mulss", "addss"], fp32_scalar);
pub(super) const FP32_SCALAR_FMA3: Kernel = FP32_SCALAR
    .named("fma/fp32/scalar/fma3", Isa::Scalar, &[Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 1, 2)
    .running(&["vfmadd231ss"], fp32_scalar_fma3);
pub(super) const FP32_SSE2: Kernel = FP32_SCALAR
    .named("fma/fp32/sse2", Isa::Sse2, &[Feature::Sse2])
    .sized(6, 4, 4)
    .running(&["movaps", "mulps", "addps"], fp32_sse2)
    .spaced_by(fp32_sse2_spaced, 47);
pub(super) const FP32_AVX2: Kernel = FP32_SCALAR
    .named("fma/fp32/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .counted_by("cpu-fma/1")
    .sized(12, 8, 2)
    .running(&["vfmadd231ps"], fp32_avx2);
pub(super) const FP32_AVX512VL: Kernel = FP32_AVX2
    .named("fma/fp32/avx512vl", Isa::Avx512Vl, &[Feature::Avx512F, Feature::Avx512Vl])
    .sized(24, 8, 2)
    .running(&["vfmadd231ps"], fp32_avx512vl);
pub(super) const FP32_AVX512: Kernel = FP32_SCALAR
    .named("fma/fp32/avx512", Isa::Avx512, &[Feature::Avx512F])
    .counted_by("cpu-fma/1")
    .sized(24, 16, 2)
    .running(&["vfmadd231ps"], fp32_avx512)
    .paced_by(fp32_avx512_paced, 72);
pub(super) const FP16_AVX512_FP16: Kernel = FP32_AVX512
    .on_elements(Element::Fp16, "fp16", Data::AlternatingProducts(Float::Fp16))
    .named("fma/fp16/avx512_fp16", Isa::Avx512Fp16, &[Feature::Avx512F, Feature::Avx512Fp16])
    .sized(24, 32, 11)
    .running(&["vfmadd231ph"], fp16_avx512_fp16)
    .paced_by(fp16_avx512_fp16_paced, 396);
