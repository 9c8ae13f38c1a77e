//! Dot products of narrow elements into 32-bit sums: bytes and words into whole numbers that wrap, bf16 into fp32.
//!
//! VNNI has one instruction for four products of bytes or two of words. Before it, one instruction sums pairs of
//! products and another accumulates them; sums of bytes have 16 bits (saturating, which the operands chosen cannot
//! reach), so that a multiplication by one widens them in between.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::loops::{fused_loop, products_far_ahead, separate_loop, vector_loop};
use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

fused_loop!(int8_avx512_vnni, 24 of "zmm", 64, "vmovdqu32", "vpdpbusd",
    paced: int8_avx512_vnni_paced, "((\\acc & 3) + 2) / 3");
fused_loop!(int16_avx512_vnni, 24 of "zmm", 64, "vmovdqu32", "vpdpwssd",
    paced: int16_avx512_vnni_paced, "((\\acc & 3) + 2) / 3");
fused_loop!(bf16_avx512_bf16, 24 of "zmm", 64, "vmovdqu32", "vdpbf16ps",
    paced: bf16_avx512_bf16_paced, "2 + ((\\acc & 7) + 1) / 8");
// The prefix keeps the assembler from AVX-512's encoding.
fused_loop!(int8_avx_vnni, 12 of "ymm", 32, "vmovdqu", "{{vex}} vpdpbusd");
fused_loop!(int16_avx_vnni, 12 of "ymm", 32, "vmovdqu", "{{vex}} vpdpwssd");
fused_loop!(int8_avx_vnni_int8, 12 of "ymm", 32, "vmovdqu", "vpdpbssd");
separate_loop!(int16_sse2, 16, "movdqu", "movdqa", "pmaddwd", "paddd", spaced: int16_sse2_spaced);
products_far_ahead!(int16_avx512, "vpmaddwd", "vpaddd",
    paced: int16_avx512_paced, "1 - (\\acc & 1) * (1 - \\acc / 28)");
vector_loop!(int8_avx512 {
    register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: 0, "0,1,2,3,4",
    accumulators: 5, "5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28",
    body: 2 x [
        "vpmaddubsw zmm31, zmm0, zmm1; vpmaddwd zmm31, zmm31, zmm4; vpaddd zmm\\acc, zmm\\acc, zmm31",
        "vpmaddubsw zmm31, zmm2, zmm3; vpmaddwd zmm31, zmm31, zmm4; vpaddd zmm\\acc, zmm\\acc, zmm31",
    ],
    finish: "vzeroupper",
}, paced: int8_avx512_paced, "2");

/// Defines the loop of three instructions before VNNI from sixteen registers: 2 accumulators in registers 14 and 15,
/// their products in 5-13, each nine steps ahead: two multiplications take ten cycles, so that with eight an addition
/// would wait. `even` and `odd` form a product from the operands of such steps.
macro_rules! bytes_loop {
    ($name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        add: $add:expr, even: $even:expr, odd: $odd:expr, finish: $finish:literal,
    }, spaced: $spaced:ident, $nops:literal, $all_nops:literal) => {
        vector_loop!($name {
            register: $register, bytes: $bytes, load_store: $move, operands: 0, "0,1,2,3,4",
            accumulators: 14, "14,15",
            products: @ { [product] [5] } $odd,
                @ { [product] [6], [7] } $even,
                @ { [product] [8], [9] } $odd,
                @ { [product] [10], [11] } $even,
                @ { [product] [12], [13] } $odd,
            body: 3 x [
                @ [(5, 14), (6, 15)] concat!($add, "; ", $even),
                @ [(7, 14), (8, 15)] concat!($add, "; ", $odd),
                @ [(9, 14), (10, 15)] concat!($add, "; ", $even),
                @ [(11, 14), (12, 15)] concat!($add, "; ", $odd),
                @ [(13, 14), (5, 15)] concat!($add, "; ", $even),
                @ [(6, 14), (7, 15)] concat!($add, "; ", $odd),
                @ [(8, 14), (9, 15)] concat!($add, "; ", $even),
                @ [(10, 14), (11, 15)] concat!($add, "; ", $odd),
                @ [(12, 14), (13, 15)] concat!($add, "; ", $even),
                @ [(5, 14), (6, 15)] concat!($add, "; ", $odd),
                @ [(7, 14), (8, 15)] concat!($add, "; ", $even),
                @ [(9, 14), (10, 15)] concat!($add, "; ", $odd),
                @ [(11, 14), (12, 15)] concat!($add, "; ", $even),
                @ [(13, 14), (5, 15)] concat!($add, "; ", $odd),
                @ [(6, 14), (7, 15)] concat!($add, "; ", $even),
                @ [(8, 14), (9, 15)] concat!($add, "; ", $odd),
                @ [(10, 14), (11, 15)] concat!($add, "; ", $even),
                @ [(12, 14), (13, 15)] concat!($add, "; ", $odd),
            ],
            finish: $finish,
        }, spaced: $spaced, $nops, $all_nops);
    };
}
bytes_loop!(int8_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu",
    add: "vpaddd ymm\\acc, ymm\\acc, ymm\\product",
    even: "vpmaddubsw ymm\\product, ymm0, ymm1; vpmaddwd ymm\\product, ymm\\product, ymm4",
    odd: "vpmaddubsw ymm\\product, ymm2, ymm3; vpmaddwd ymm\\product, ymm\\product, ymm4",
    finish: "vzeroupper",
}, spaced: int8_avx2_spaced, "3", "3 * 108 - 1");
bytes_loop!(int8_ssse3 {
    register: "xmm", bytes: 16, load_store: "movdqu",
    add: "paddd xmm\\acc, xmm\\product",
    even: "movdqa xmm\\product, xmm0; pmaddubsw xmm\\product, xmm1; pmaddwd xmm\\product, xmm4",
    odd: "movdqa xmm\\product, xmm2; pmaddubsw xmm\\product, xmm3; pmaddwd xmm\\product, xmm4",
    finish: "",
}, spaced: int8_ssse3_spaced, "2", "2 * 108 - 1");

vector_loop!(int16_avx2 {
    register: "ymm", bytes: 32, load_store: "vmovdqu", operands: 6, "6,7,8,9",
    accumulators: 10, "10,11,12,13,14,15",
    products: @ "0,1,2,3,4,5" "vpmaddwd ymm\\acc, ymm6, ymm7",
    body: 4 x [
        @ "0,1,2,3,4,5" "vpaddd ymm1\\acc, ymm1\\acc, ymm\\acc" => "vpmaddwd ymm\\acc, ymm8, ymm9",
        @ "0,1,2,3,4,5" "vpaddd ymm1\\acc, ymm1\\acc, ymm\\acc" => "vpmaddwd ymm\\acc, ymm6, ymm7",
    ],
    finish: "vzeroupper",
}, spaced: int16_avx2_spaced, "1", "96 - 1");

/// Defines a loop of one product at a time; four accumulators in R8D-R11D. The first factors stay in ECX and EDX, the
/// second ones are extended from memory at each use (loads that the first-level cache answers), the product is in EAX.
macro_rules! scalar_loop {
    ($name:ident, $size:literal, first: $first:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                concat!($first, " ecx, ", $size, " ptr [rdi + {operands}]"),
                concat!($first, " edx, ", $size, " ptr [rdi + {operands} + 2 * {slot}]"),
                "mov r8d, [rdi + {results}]",
                "mov r9d, [rdi + {results} + 4]",
                "mov r10d, [rdi + {results} + 8]",
                "mov r11d, [rdi + {results} + 12]",
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept 2",
                ".irp acc, r8d,r9d,r10d,r11d",
                concat!("movsx eax, ", $size, " ptr [rdi + {operands} + {slot}]; imul eax, ecx; add \\acc, eax"),
                ".endr",
                ".irp acc, r8d,r9d,r10d,r11d",
                concat!("movsx eax, ", $size, " ptr [rdi + {operands} + 3 * {slot}]; imul eax, edx; add \\acc, eax"),
                ".endr",
                ".endr",
                "dec rsi",
                "jnz 2b",
                "3:",
                "mov [rdi + {results}], r8d",
                "mov [rdi + {results} + 4], r9d",
                "mov [rdi + {results} + 8], r10d",
                "mov [rdi + {results} + 12], r11d",
                "ret",
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
}
scalar_loop!(int8_scalar, "byte", first: "movzx");
scalar_loop!(int16_scalar, "word", first: "movsx");
