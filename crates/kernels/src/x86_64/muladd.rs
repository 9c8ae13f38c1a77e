//! Element-wise multiply-add of packed whole numbers that wrap: `acc += a * b` in every element.
//!
//! x86 multiplies packed words and, later, doublewords and quadwords. Bytes are multiplied as words, the odd ones shifted
//! down, and put together by a mask. Quadwords, before AVX-512, take three products of doublewords: the low halves', and the
//! mixed ones shifted up. Only the last addition is in the dependent chain; other registers hold products ahead of it.

use super::loops::{products_far_ahead, vector_loop};

// The immediate selects by the mask: the register itself where it is clear, the other one where it is set.
vector_loop!(int8_avx512 {
    register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: 0, "0,1,2,3,4",
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
    finish: "vzeroupper",
}, paced: int8_avx512_paced, "4");
vector_loop!(int8_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu", operands: 4, "4,5,6,7,8,9",
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
});
vector_loop!(int8_sse2 {
    register: "xmm", bytes: 16, load_store: "movdqu", operands: 4, "4,5,6,7,8,9",
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
    finish: "",
}, spaced: int8_sse2_spaced, "4", "4 * 72 - 2");
products_far_ahead!(int16_avx512, "vpmullw", "vpaddw" counted "rax",
    paced: int16_avx512_paced, "1 - (\\acc & 1) * (1 - \\acc / 28)");
vector_loop!(int16_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu", operands: 0, "0,1,2,3",
    accumulators: 12, "12,13,14,15",
    products: @ "4,5,6,7" "vpmullw ymm\\acc, ymm0, ymm1", @ "8,9,10,11" "vpmullw ymm\\acc, ymm2, ymm3",
    body: 12 x [
        @ [(4, 12), (5, 13), (6, 14), (7, 15)]
            "vpaddw ymm\\acc, ymm\\acc, ymm\\product" => "vpmullw ymm\\product, ymm0, ymm1",
        @ [(8, 12), (9, 13), (10, 14), (11, 15)]
            "vpaddw ymm\\acc, ymm\\acc, ymm\\product" => "vpmullw ymm\\product, ymm2, ymm3",
    ],
    counted: "rax",
    finish: "vzeroupper",
}, spaced: int16_avx2_spaced, "1", "2 * 96 - 2");
vector_loop!(int16_sse2 {
    register: "xmm", bytes: 16, load_store: "movdqu", operands: 0, "0,1,2,3",
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
    finish: "",
}, spaced: int16_sse2_spaced, "1", "96 - 2");
products_far_ahead!(int32_avx512, "vpmulld", "vpaddd",
    paced: int32_avx512_paced, "1", spaced: int32_avx512_spaced, "1", "2 * 144 - 1");
// Products are as many steps ahead as VPMULLD takes cycles. Spaced, a step takes 16 bytes, so that 64 hold four steps:
// 24 micro-operations, which are three full lines of the micro-op cache. With longer or other NOPs Emerald Rapids loses
// 2 to 7 % at 256 bits, as additions take the ports of the multiplications after a disturbance and keep them. One
// cycle in 241 has nothing but NOPs and the loop's end. (Thousands of orders and lengths tried by a search, 2026-11.)
vector_loop!(int32_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu", operands: 0, "0,1,2,3",
    accumulators: 14, "14,15",
    products: @ "6,7,10,11" "vpmulld ymm\\acc, ymm0, ymm1", @ "4,5,8,9,12,13" "vpmulld ymm\\acc, ymm2, ymm3",
    body: 12 x [
        @ {
            [product acc a b]
            [4 14 0 1], [5 15 0 1], [6 14 2 3], [7 15 2 3], [8 14 0 1], [9 15 0 1], [10 14 2 3], [11 15 2 3],
            [12 14 0 1], [13 15 0 1], [4 14 2 3], [5 15 2 3], [6 14 0 1], [7 15 0 1], [8 14 2 3], [9 15 2 3],
            [10 14 0 1], [11 15 0 1], [12 14 2 3], [13 15 2 3]
        }
            "{{vex3}} vpaddd ymm\\acc, ymm\\acc, ymm\\product" => "vpmulld ymm\\product, ymm\\a, ymm\\b" => "",
    ], 1 x [@ "14" "" => "" => "" => "" => ""],
    finish: "vzeroupper",
}, spaced: int32_avx2_spaced, "1" two, "3 * 240 + 6 - 1");
vector_loop!(int32_sse4_1 {
    register: "xmm", bytes: 16, load_store: "movdqu", operands: 0, "0,1,2,3",
    accumulators: 12, "12,13,14,15",
    products: @ "4,5,6,7" "movdqa xmm\\acc, xmm0; pmulld xmm\\acc, xmm1",
        @ "8,9,10,11" "movdqa xmm\\acc, xmm2; pmulld xmm\\acc, xmm3",
    body: 12 x [
        @ [(4, 12), (5, 13), (6, 14), (7, 15)]
            "paddd xmm\\acc, xmm\\product; movdqa xmm\\product, xmm0; pmulld xmm\\product, xmm1",
        @ [(8, 12), (9, 13), (10, 14), (11, 15)]
            "paddd xmm\\acc, xmm\\product; movdqa xmm\\product, xmm2; pmulld xmm\\product, xmm3",
    ],
    finish: "",
}, spaced: int32_sse4_1_spaced, "2", "2 * 96 - 1");
products_far_ahead!(int64_avx512, "vpmullq", "vpaddq",
    paced: int64_avx512_paced, "2 - \\acc / 28");
/// Defines the loop of quadwords from sixteen registers: 4 accumulators in registers 10-13, products in 0-3.
///
/// Four products are under way at a time, each a stage further than the next. A step has three parts of one addition
/// and two instructions for the ports that multiply and shift, as many as three vector ports finish in a cycle; and as
/// each is renamed, what it waits for is finished or nearly so. Spaced, each part is what is renamed in a cycle, with
/// the addition first: `gaps` of no instructions take more NOPs where the second and the third part have fewer
/// instructions than the first. `\\now` is the product that the step begins, from the operands `\\a` and `\\b`:
/// `shifts` bring their upper halves down, into `\\now` and `\\high`, and `cross` multiplies each by the other's lower
/// half. Of the product of the step before, from `\\c` and `\\d`, `lower` multiplies the lower halves into 1`\\low`. Of
/// that of two steps before, `\\two`, `mix` adds both cross products and `up` brings them up. That of three steps
/// before is complete when `sum` adds the lower halves' product to `\\three`, and `add` adds it to its accumulator.
macro_rules! quadwords_loop {
    ($name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        shifts: $shifts:literal, cross: $cross:literal, lower: $lower:literal, mix: $mix:literal, up: $up:literal,
        sum: $sum:literal, add: $add:literal, gaps: [$($second:literal)*] [$($third:literal)*], finish: $finish:literal,
    }, spaced: $spaced:ident, $nops:literal, $all_nops:literal) => {
        vector_loop!($name {
            register: $register, bytes: $bytes, load_store: $move, operands: 6, "6,7,8,9",
            accumulators: 10, "10,11,12,13",
            // The last three steps of an iteration, as far as they are when the next begins.
            products: @ { [now high a b] [1 5 8 9] } concat!($shifts, "; ", $cross),
                @ { [now high low a b c d] [2 4 5 8 9 8 9] } concat!($shifts, "; ", $cross, "; ", $lower),
                @ { [now two high low a b c d] [3 1 5 4 8 9 8 9] }
                    concat!($mix, "; ", $shifts, "; ", $cross, "; ", $lower, "; ", $up),
            body: 6 x [
                @ {
                    [now two three high low a b c d]
                    [0 2 1 4 5 6 7 8 9], [1 3 2 5 4 6 7 6 7], [2 0 3 4 5 6 7 6 7], [3 1 0 5 4 6 7 6 7],
                    [0 2 1 4 5 8 9 6 7], [1 3 2 5 4 8 9 8 9], [2 0 3 4 5 8 9 8 9], [3 1 0 5 4 8 9 8 9]
                }
                    concat!($mix, "; ", $shifts)
                        => concat!($sum, "; ", $cross) $(=> $second)*
                        => concat!($add, "; ", $lower, "; ", $up) $(=> $third)*,
            ],
            finish: $finish,
        }, spaced: $spaced, $nops, $all_nops);
    };
}
quadwords_loop!(int64_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu",
    shifts: "vpsrlq ymm\\now, ymm\\a, 32; vpsrlq ymm\\high, ymm\\b, 32",
    cross: "vpmuludq ymm\\now, ymm\\now, ymm\\b; vpmuludq ymm\\high, ymm\\high, ymm\\a",
    lower: "vpmuludq ymm1\\low, ymm\\c, ymm\\d",
    mix: "vpaddq ymm\\two, ymm\\two, ymm\\high",
    up: "vpsllq ymm\\two, ymm\\two, 32",
    sum: "vpaddq ymm\\three, ymm\\three, ymm1\\low",
    add: "vpaddq ymm1\\three, ymm1\\three, ymm\\three",
    gaps: [] [], finish: "vzeroupper",
}, spaced: int64_avx2_spaced, "3", "9 * 48 - 1");
quadwords_loop!(int64_sse2 {
    register: "xmm", bytes: 16, load_store: "movdqu",
    shifts: "movdqa xmm\\now, xmm\\a; psrlq xmm\\now, 32; movdqa xmm\\high, xmm\\b; psrlq xmm\\high, 32",
    cross: "pmuludq xmm\\now, xmm\\b; pmuludq xmm\\high, xmm\\a",
    lower: "movdqa xmm1\\low, xmm\\c; pmuludq xmm1\\low, xmm\\d",
    mix: "paddq xmm\\two, xmm\\high",
    up: "psllq xmm\\two, 32",
    sum: "paddq xmm\\three, xmm1\\low",
    add: "paddq xmm1\\three, xmm\\three",
    gaps: ["" ""] [""], finish: "",
}, spaced: int64_sse2_spaced, "1", "6 * 48 - 1");
