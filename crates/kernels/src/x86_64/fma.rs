//! Floating-point multiply-add: fused where the CPU has FMA3 or AVX-512, else a multiplication and an addition.
//!
//! Separate steps form a product six steps ahead of its addition, so that only additions depend on each other and six
//! accumulators are enough: Zen has two additions a cycle of three cycles each. SSE overwrites a source, so the copy
//! before it is part of the step (eliminated at rename since Ivy Bridge and Zen).

use super::loops::{fused_loop, separate_loop, vector_loop};

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
