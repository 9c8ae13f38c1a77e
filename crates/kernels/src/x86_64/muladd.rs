//! Element-wise multiply-add of packed whole numbers that wrap: `acc += a * b` in every element.
//!
//! A step is complete: it starts from packed elements and ends with packed sums, as an ordinary loop over arrays would.
//! x86 multiplies packed words and, later, doublewords and quadwords; what it lacks is built from what it has:
//!
//! * bytes from words: the even bytes' products are the low halves of the words' products, the odd bytes' those of
//!   words shifted down by words masked in place; a mask puts both together;
//! * quadwords, before AVX-512, from three products of doublewords: the low halves', and the mixed ones shifted up.
//!
//! Only the last addition is in the dependent chain, so few accumulators are enough, and of sixteen registers as many
//! or more hold products that are formed ahead of their additions.

use model::isa::{CpuOp, Element, Isa};

use super::loops::vector_loop;
use crate::data::Data;
use crate::features::Feature;
use crate::table::{Kernel, Pace, Spaced};

vector_loop!(
    /// Sixty-four bytes in six instructions; 16 accumulators in ZMM5-20. The immediate selects by the mask: ours where
    /// it is clear, the other where it is set.
    int8_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3,4",
        accumulators: 5, "5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20",
        body: 2 x [
            concat!(
                "vpsrlw zmm30, zmm0, 8; vpandd zmm31, zmm1, zmm4; vpmullw zmm30, zmm30, zmm31; ",
                "vpmullw zmm31, zmm0, zmm1; vpternlogd zmm31, zmm30, zmm4, 0xd8; ",
                "vpaddb zmm\\acc, zmm\\acc, zmm31",
            ),
            concat!(
                "vpsrlw zmm30, zmm2, 8; vpandd zmm31, zmm3, zmm4; vpmullw zmm30, zmm30, zmm31; ",
                "vpmullw zmm31, zmm2, zmm3; vpternlogd zmm31, zmm30, zmm4, 0xd8; ",
                "vpaddb zmm\\acc, zmm\\acc, zmm31",
            ),
        ],
        counted: "rax",
        paced: int8_avx512_paced, "4",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Thirty-two bytes in seven instructions; 4 accumulators in YMM10-13, products in YMM0-3.
    int8_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "4,5,6,7,8,9" from 4,
        accumulators: 10, "10,11,12,13",
        products: @ "0,1,2,3" concat!(
            "vpsrlw ymm15, ymm4, 8; vpand ymm\\acc, ymm5, ymm8; vpmullw ymm15, ymm15, ymm\\acc; ",
            "vpmullw ymm\\acc, ymm4, ymm5; vpand ymm\\acc, ymm\\acc, ymm9; vpor ymm\\acc, ymm\\acc, ymm15",
        ),
        body: 8 x [
            @ "0,1,2,3" concat!(
                "vpaddb ymm1\\acc, ymm1\\acc, ymm\\acc; ",
                "vpsrlw ymm15, ymm6, 8; vpand ymm\\acc, ymm7, ymm8; vpmullw ymm15, ymm15, ymm\\acc; ",
                "vpmullw ymm\\acc, ymm6, ymm7; vpand ymm\\acc, ymm\\acc, ymm9; vpor ymm\\acc, ymm\\acc, ymm15",
            ),
            @ "0,1,2,3" concat!(
                "vpaddb ymm1\\acc, ymm1\\acc, ymm\\acc; ",
                "vpsrlw ymm15, ymm4, 8; vpand ymm\\acc, ymm5, ymm8; vpmullw ymm15, ymm15, ymm\\acc; ",
                "vpmullw ymm\\acc, ymm4, ymm5; vpand ymm\\acc, ymm\\acc, ymm9; vpor ymm\\acc, ymm\\acc, ymm15",
            ),
        ],
        counted: "rax",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Sixteen bytes in seven instructions and three copies; 4 accumulators in XMM10-13, products in XMM0-3.
    int8_sse2 {
        register: "xmm", bytes: 16, load_store: "movdqu", operands: "4,5,6,7,8,9" from 4,
        accumulators: 10, "10,11,12,13",
        products: @ "0,1,2,3" concat!(
            "movdqa xmm15, xmm4; psrlw xmm15, 8; movdqa xmm\\acc, xmm5; pand xmm\\acc, xmm8; ",
            "pmullw xmm15, xmm\\acc; movdqa xmm\\acc, xmm4; pmullw xmm\\acc, xmm5; pand xmm\\acc, xmm9; ",
            "por xmm\\acc, xmm15",
        ),
        body: 9 x [
            @ "0,1,2,3" concat!(
                "paddb xmm1\\acc, xmm\\acc; ",
                "movdqa xmm15, xmm6; psrlw xmm15, 8; movdqa xmm\\acc, xmm7; pand xmm\\acc, xmm8; ",
                "pmullw xmm15, xmm\\acc; movdqa xmm\\acc, xmm6; pmullw xmm\\acc, xmm7; pand xmm\\acc, xmm9; ",
                "por xmm\\acc, xmm15",
            ),
            @ "0,1,2,3" concat!(
                "paddb xmm1\\acc, xmm\\acc; ",
                "movdqa xmm15, xmm4; psrlw xmm15, 8; movdqa xmm\\acc, xmm5; pand xmm\\acc, xmm8; ",
                "pmullw xmm15, xmm\\acc; movdqa xmm\\acc, xmm4; pmullw xmm\\acc, xmm5; pand xmm\\acc, xmm9; ",
                "por xmm\\acc, xmm15",
            ),
        ],
        counted: "rax",
        spaced: int8_sse2_spaced, "4", "4 * 72 - 2",
        finish: "",
    }
);
vector_loop!(
    /// Thirty-two elements in two instructions; 20 accumulators in ZMM10-29, two at a time.
    int16_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3",
        accumulators: 10, "10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29",
        body: 3 x [
            @ "0,1,2,3,4,5,6,7,8,9" concat!(
                "vpmullw zmm30, zmm0, zmm1; vpmullw zmm31, zmm0, zmm1;",
                "vpaddw zmm1\\acc, zmm1\\acc, zmm30; vpaddw zmm2\\acc, zmm2\\acc, zmm31",
            ),
            @ "0,1,2,3,4,5,6,7,8,9" concat!(
                "vpmullw zmm30, zmm2, zmm3; vpmullw zmm31, zmm2, zmm3;",
                "vpaddw zmm1\\acc, zmm1\\acc, zmm30; vpaddw zmm2\\acc, zmm2\\acc, zmm31",
            ),
        ],
        counted: "rax",
        paced: int16_avx512_paced, "3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Sixteen elements in two instructions; 4 accumulators in YMM12-15, their products in YMM4-11.
    int16_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "0,1,2,3",
        accumulators: 12, "12,13,14,15",
        products: @ "4,5,6,7" "vpmullw ymm\\acc, ymm0, ymm1", @ "8,9,10,11" "vpmullw ymm\\acc, ymm2, ymm3",
        body: 12 x [
            @ [(4, 12), (5, 13), (6, 14), (7, 15)]
                "vpaddw ymm\\acc, ymm\\acc, ymm\\product" => "vpmullw ymm\\product, ymm0, ymm1",
            @ [(8, 12), (9, 13), (10, 14), (11, 15)]
                "vpaddw ymm\\acc, ymm\\acc, ymm\\product" => "vpmullw ymm\\product, ymm2, ymm3",
        ],
        counted: "rax",
        spaced: int16_avx2_spaced, "1", "2 * 96 - 2",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight elements in two instructions and a copy; 4 accumulators in XMM12-15, their products in XMM4-11.
    int16_sse2 {
        register: "xmm", bytes: 16, load_store: "movdqu", operands: "0,1,2,3",
        accumulators: 12, "12,13,14,15",
        products: @ "4,5,6,7" "movdqa xmm\\acc, xmm0; pmullw xmm\\acc, xmm1",
            @ "8,9,10,11" "movdqa xmm\\acc, xmm2; pmullw xmm\\acc, xmm3",
        body: 12 x [
            @ [(4, 12), (5, 13), (6, 14), (7, 15)]
                "paddw xmm\\acc, xmm\\product; movdqa xmm\\product, xmm0; pmullw xmm\\product, xmm1",
            @ [(8, 12), (9, 13), (10, 14), (11, 15)]
                "paddw xmm\\acc, xmm\\product; movdqa xmm\\product, xmm2; pmullw xmm\\product, xmm3",
        ],
        counted: "rax",
        spaced: int16_sse2_spaced, "1", "96 - 2",
        finish: "",
    }
);
vector_loop!(
    /// Sixteen elements in two instructions; 24 accumulators in ZMM4-27.
    int32_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 3 x [
            "vpmulld zmm31, zmm0, zmm1; vpaddd zmm\\acc, zmm\\acc, zmm31",
            "vpmulld zmm31, zmm2, zmm3; vpaddd zmm\\acc, zmm\\acc, zmm31",
        ],
        paced: int32_avx512_paced, "2",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight elements in two instructions; 4 accumulators in YMM12-15, their products in YMM4-11. Spaced as the loop of
    /// 128 bits it is no faster: so many multiplications of 256 bits slow Emerald Rapids down by themselves.
    int32_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "0,1,2,3",
        accumulators: 12, "12,13,14,15",
        products: @ "4,5,6,7" "vpmulld ymm\\acc, ymm0, ymm1", @ "8,9,10,11" "vpmulld ymm\\acc, ymm2, ymm3",
        body: 12 x [
            @ [(4, 12), (5, 13), (6, 14), (7, 15)]
                "vpaddd ymm\\acc, ymm\\acc, ymm\\product; vpmulld ymm\\product, ymm0, ymm1",
            @ [(8, 12), (9, 13), (10, 14), (11, 15)]
                "vpaddd ymm\\acc, ymm\\acc, ymm\\product; vpmulld ymm\\product, ymm2, ymm3",
        ],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four elements in two instructions and a copy; 4 accumulators in XMM12-15, their products in XMM4-11.
    int32_sse4_1 {
        register: "xmm", bytes: 16, load_store: "movdqu", operands: "0,1,2,3",
        accumulators: 12, "12,13,14,15",
        products: @ "4,5,6,7" "movdqa xmm\\acc, xmm0; pmulld xmm\\acc, xmm1",
            @ "8,9,10,11" "movdqa xmm\\acc, xmm2; pmulld xmm\\acc, xmm3",
        body: 12 x [
            @ [(4, 12), (5, 13), (6, 14), (7, 15)]
                "paddd xmm\\acc, xmm\\product; movdqa xmm\\product, xmm0; pmulld xmm\\product, xmm1",
            @ [(8, 12), (9, 13), (10, 14), (11, 15)]
                "paddd xmm\\acc, xmm\\product; movdqa xmm\\product, xmm2; pmulld xmm\\product, xmm3",
        ],
        spaced: int32_sse4_1_spaced, "2", "2 * 96 - 1",
        finish: "",
    }
);
vector_loop!(
    /// Eight elements in two instructions; 24 accumulators in ZMM4-27.
    int64_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        body: 3 x [
            "vpmullq zmm31, zmm0, zmm1; vpaddq zmm\\acc, zmm\\acc, zmm31",
            "vpmullq zmm31, zmm2, zmm3; vpaddq zmm\\acc, zmm\\acc, zmm31",
        ],
        paced: int64_avx512_paced, "3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four elements in nine instructions; 5 accumulators in YMM10-14, products in YMM0-4.
    int64_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14",
        products: @ "0,1,2,3,4" concat!(
            "vpsrlq ymm\\acc, ymm6, 32; vpmuludq ymm\\acc, ymm\\acc, ymm7; vpsrlq ymm15, ymm7, 32; ",
            "vpmuludq ymm15, ymm15, ymm6; vpaddq ymm\\acc, ymm\\acc, ymm15; vpsllq ymm\\acc, ymm\\acc, 32; ",
            "vpmuludq ymm15, ymm6, ymm7; vpaddq ymm\\acc, ymm\\acc, ymm15",
        ),
        body: 6 x [
            @ "0,1,2,3,4" concat!(
                "vpaddq ymm1\\acc, ymm1\\acc, ymm\\acc; ",
                "vpsrlq ymm\\acc, ymm8, 32; vpmuludq ymm\\acc, ymm\\acc, ymm9; vpsrlq ymm15, ymm9, 32; ",
                "vpmuludq ymm15, ymm15, ymm8; vpaddq ymm\\acc, ymm\\acc, ymm15; vpsllq ymm\\acc, ymm\\acc, 32; ",
                "vpmuludq ymm15, ymm8, ymm9; vpaddq ymm\\acc, ymm\\acc, ymm15",
            ),
            @ "0,1,2,3,4" concat!(
                "vpaddq ymm1\\acc, ymm1\\acc, ymm\\acc; ",
                "vpsrlq ymm\\acc, ymm6, 32; vpmuludq ymm\\acc, ymm\\acc, ymm7; vpsrlq ymm15, ymm7, 32; ",
                "vpmuludq ymm15, ymm15, ymm6; vpaddq ymm\\acc, ymm\\acc, ymm15; vpsllq ymm\\acc, ymm\\acc, 32; ",
                "vpmuludq ymm15, ymm6, ymm7; vpaddq ymm\\acc, ymm\\acc, ymm15",
            ),
        ],
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Two elements in nine instructions and three copies; 5 accumulators in XMM10-14, products in XMM0-4.
    int64_sse2 {
        register: "xmm", bytes: 16, load_store: "movdqu", operands: "6,7,8,9" from 6,
        accumulators: 10, "10,11,12,13,14",
        products: @ "0,1,2,3,4" concat!(
            "movdqa xmm\\acc, xmm6; psrlq xmm\\acc, 32; pmuludq xmm\\acc, xmm7; movdqa xmm15, xmm7; ",
            "psrlq xmm15, 32; pmuludq xmm15, xmm6; paddq xmm\\acc, xmm15; psllq xmm\\acc, 32; ",
            "movdqa xmm15, xmm6; pmuludq xmm15, xmm7; paddq xmm\\acc, xmm15",
        ),
        body: 6 x [
            @ "0,1,2,3,4" concat!(
                "paddq xmm1\\acc, xmm\\acc; ",
                "movdqa xmm\\acc, xmm8; psrlq xmm\\acc, 32; pmuludq xmm\\acc, xmm9; movdqa xmm15, xmm9; ",
                "psrlq xmm15, 32; pmuludq xmm15, xmm8; paddq xmm\\acc, xmm15; psllq xmm\\acc, 32; ",
                "movdqa xmm15, xmm8; pmuludq xmm15, xmm9; paddq xmm\\acc, xmm15",
            ),
            @ "0,1,2,3,4" concat!(
                "paddq xmm1\\acc, xmm\\acc; ",
                "movdqa xmm\\acc, xmm6; psrlq xmm\\acc, 32; pmuludq xmm\\acc, xmm7; movdqa xmm15, xmm7; ",
                "psrlq xmm15, 32; pmuludq xmm15, xmm6; paddq xmm\\acc, xmm15; psllq xmm\\acc, 32; ",
                "movdqa xmm15, xmm6; pmuludq xmm15, xmm7; paddq xmm\\acc, xmm15",
            ),
        ],
        finish: "",
    }
);

/// Any x86-64: 128 bits of bytes. The other rows say where they differ.
pub(super) const INT8_SSE2: Kernel = Kernel {
    name: "muladd/int8/sse2",
    op: CpuOp::MulAdd,
    element: Element::Int8,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    method: "cpu-muladd-bytes/1",
    accumulator_type: "s8",
    accumulators: 4,
    accumulators_per_step: 1,
    lanes: 16,
    pairs: 9,
    step: &["movdqa", "psrlw", "movdqa", "pand", "pmullw", "movdqa", "pmullw", "pand", "por", "paddb"],
    operations_per_lane: 2,
    data: Data::Elements { bytes: 1 },
    body: int8_sse2,
    spaced: Some(Spaced { body: int8_sse2_spaced, nops: 286 }),
    pace: None,
};
/// 256 bits of bytes.
pub(super) const INT8_AVX2: Kernel = Kernel {
    name: "muladd/int8/avx2",
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    lanes: 32,
    pairs: 8,
    step: &["vpsrlw", "vpand", "vpmullw", "vpmullw", "vpand", "vpor", "vpaddb"],
    body: int8_avx2,
    spaced: None,
    ..INT8_SSE2
};
/// 512 bits of bytes.
pub(super) const INT8_AVX512: Kernel = Kernel {
    name: "muladd/int8/avx512",
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F, Feature::Avx512Bw],
    accumulators: 16,
    lanes: 64,
    pairs: 2,
    step: &["vpsrlw", "vpandd", "vpmullw", "vpmullw", "vpternlogd", "vpaddb"],
    body: int8_avx512,
    spaced: None,
    pace: Some(Pace { body: int8_avx512_paced, additions: 256 }),
    ..INT8_SSE2
};
/// 128 bits.
pub(super) const INT16_SSE2: Kernel = Kernel {
    name: "muladd/int16/sse2",
    element: Element::Int16,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    method: "cpu-muladd/1",
    accumulator_type: "s16",
    accumulators: 4,
    lanes: 8,
    pairs: 12,
    step: &["movdqa", "pmullw", "paddw"],
    data: Data::Elements { bytes: 2 },
    body: int16_sse2,
    spaced: Some(Spaced { body: int16_sse2_spaced, nops: 94 }),
    ..INT8_SSE2
};
/// 256 bits.
pub(super) const INT16_AVX2: Kernel = Kernel {
    name: "muladd/int16/avx2",
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    lanes: 16,
    step: &["vpmullw", "vpaddw"],
    body: int16_avx2,
    spaced: Some(Spaced { body: int16_avx2_spaced, nops: 190 }),
    ..INT16_SSE2
};
/// 512 bits.
pub(super) const INT16_AVX512: Kernel = Kernel {
    name: "muladd/int16/avx512",
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F, Feature::Avx512Bw],
    accumulators: 20,
    lanes: 32,
    pairs: 3,
    body: int16_avx512,
    spaced: None,
    pace: Some(Pace { body: int16_avx512_paced, additions: 180 }),
    ..INT16_AVX2
};
/// 128 bits.
pub(super) const INT32_SSE4_1: Kernel = Kernel {
    name: "muladd/int32/sse4_1",
    element: Element::Int32,
    isa: Isa::Sse41,
    requires: &[Feature::Sse41],
    method: "cpu-muladd/1",
    accumulator_type: "s32",
    accumulators: 4,
    lanes: 4,
    pairs: 12,
    step: &["movdqa", "pmulld", "paddd"],
    data: Data::Elements { bytes: 4 },
    body: int32_sse4_1,
    spaced: Some(Spaced { body: int32_sse4_1_spaced, nops: 191 }),
    ..INT8_SSE2
};
/// 256 bits.
pub(super) const INT32_AVX2: Kernel = Kernel {
    name: "muladd/int32/avx2",
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    lanes: 8,
    step: &["vpmulld", "vpaddd"],
    body: int32_avx2,
    spaced: None,
    ..INT32_SSE4_1
};
/// 512 bits.
pub(super) const INT32_AVX512: Kernel = Kernel {
    name: "muladd/int32/avx512",
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    accumulators: 24,
    lanes: 16,
    pairs: 3,
    body: int32_avx512,
    pace: Some(Pace { body: int32_avx512_paced, additions: 288 }),
    ..INT32_AVX2
};
/// 128 bits, from products of halves.
pub(super) const INT64_SSE2: Kernel = Kernel {
    name: "muladd/int64/sse2",
    element: Element::Int64,
    method: "cpu-muladd-halves/1",
    accumulator_type: "s64",
    accumulators: 5,
    lanes: 2,
    pairs: 6,
    step: &[
        "movdqa", "psrlq", "pmuludq", "movdqa", "psrlq", "pmuludq", "paddq", "psllq", "movdqa", "pmuludq", "paddq",
        "paddq",
    ],
    data: Data::Elements { bytes: 8 },
    body: int64_sse2,
    spaced: None,
    ..INT8_SSE2
};
/// 256 bits, from products of halves.
pub(super) const INT64_AVX2: Kernel = Kernel {
    name: "muladd/int64/avx2",
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    lanes: 4,
    step: &["vpsrlq", "vpmuludq", "vpsrlq", "vpmuludq", "vpaddq", "vpsllq", "vpmuludq", "vpaddq", "vpaddq"],
    body: int64_avx2,
    ..INT64_SSE2
};
/// 512 bits.
pub(super) const INT64_AVX512: Kernel = Kernel {
    name: "muladd/int64/avx512",
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F, Feature::Avx512Dq],
    method: "cpu-muladd/1",
    accumulators: 24,
    lanes: 8,
    pairs: 3,
    step: &["vpmullq", "vpaddq"],
    body: int64_avx512,
    pace: Some(Pace { body: int64_avx512_paced, additions: 432 }),
    ..INT64_SSE2
};
