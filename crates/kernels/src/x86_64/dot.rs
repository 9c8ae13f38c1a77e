//! Dot products of narrow elements into 32-bit sums: bytes and words into whole numbers that wrap, bf16 into fp32.
//!
//! VNNI has one instruction for four products of bytes or two of words. Before it, one instruction sums pairs of
//! products and another accumulates them; sums of bytes have 16 bits (saturating, which the operands chosen cannot
//! reach), so that a multiplication by one widens them in between.

use core::arch::naked_asm;
use core::mem::offset_of;

use model::isa::{CpuOp, Element, Isa};

use super::loops::{fused_loop, products_far_ahead, separate_loop, vector_loop};
use crate::arithmetic::data::{Data, Range, SLOT, Shape};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::RegisterFile;
use crate::features::Feature;

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
        unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
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

pub(super) const INT8_SCALAR: Kernel = Kernel {
    name: "dot/int8/scalar",
    op: CpuOp::Dot,
    element: Element::Int8,
    isa: Isa::Scalar,
    requires: &[],
    method: "cpu-dot-scalar/1",
    accumulator_type: "s32 <- u8 x s8",
    accumulators: 4,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: 2,
    step: &["movsx", "imul", "add"],
    operations_per_lane: 2,
    data: Data::IntegerDot { shape: Shape::Vector(1), first: Range::U8, second: Range::S8 },
    body: int8_scalar,
    spaced: None,
    pace: None,
};
pub(super) const INT8_SSSE3: Kernel = INT8_SCALAR
    .on_elements(
        Element::Int8,
        "s32 <- u8 x s8",
        Data::IntegerDot { shape: Shape::Vector(4), first: Range::U7, second: Range::S8 },
    )
    .named("dot/int8/ssse3", Isa::Ssse3, &[Feature::Ssse3])
    .counted_by("cpu-dot-maddubs/1")
    .sized(2, 4, 27)
    .doing(8)
    .running(&["movdqa", "pmaddubsw", "pmaddwd", "paddd"], int8_ssse3)
    .spaced_by(int8_ssse3_spaced, 215);
pub(super) const INT8_AVX2: Kernel = INT8_SSSE3
    .named("dot/int8/avx2", Isa::Avx2, &[Feature::Avx2])
    .sized(2, 8, 27)
    .running(&["vpmaddubsw", "vpmaddwd", "vpaddd"], int8_avx2)
    .spaced_by(int8_avx2_spaced, 323);
pub(super) const INT8_AVX512: Kernel = INT8_AVX2
    .named("dot/int8/avx512", Isa::Avx512, &[Feature::Avx512F, Feature::Avx512Bw])
    .sized(24, 16, 2)
    .running(&["vpmaddubsw", "vpmaddwd", "vpaddd"], int8_avx512)
    .paced_by(int8_avx512_paced, 192);
pub(super) const INT8_AVX512_VNNI: Kernel = INT8_SCALAR
    .on_elements(
        Element::Int8,
        "s32 <- u8 x s8",
        Data::IntegerDot { shape: Shape::Vector(4), first: Range::U8, second: Range::S8 },
    )
    .named("dot/int8/avx512_vnni", Isa::Avx512Vnni, &[Feature::Avx512F, Feature::Avx512Vnni])
    .counted_by("cpu-dot-vnni/1")
    .sized(24, 16, 2)
    .doing(8)
    .running(&["vpdpbusd"], int8_avx512_vnni)
    .paced_by(int8_avx512_vnni_paced, 72);
pub(super) const INT8_AVX_VNNI: Kernel = INT8_AVX512_VNNI
    .named("dot/int8/avx_vnni", Isa::AvxVnni, &[Feature::AvxVnni])
    .sized(12, 8, 2)
    .running(&["vpdpbusd"], int8_avx_vnni);
pub(super) const INT8_AVX_VNNI_INT8: Kernel = INT8_AVX_VNNI
    .on_elements(
        Element::Int8,
        "s32 <- s8 x s8",
        Data::IntegerDot { shape: Shape::Vector(4), first: Range::S8, second: Range::S8 },
    )
    .named("dot/int8/avx_vnni_int8", Isa::AvxVnniInt8, &[Feature::AvxVnniInt8])
    .running(&["vpdpbssd"], int8_avx_vnni_int8);
pub(super) const INT16_SCALAR: Kernel = INT8_SCALAR
    .on_elements(
        Element::Int16,
        "s32 <- s16 x s16",
        Data::IntegerDot { shape: Shape::Vector(1), first: Range::S16, second: Range::S16 },
    )
    .named("dot/int16/scalar", Isa::Scalar, &[])
    .running(&["movsx", "imul", "add"], int16_scalar);
pub(super) const INT16_SSE2: Kernel = INT16_SCALAR
    .on_elements(
        Element::Int16,
        "s32 <- s16 x s16",
        Data::IntegerDot { shape: Shape::Vector(2), first: Range::S16, second: Range::S16 },
    )
    .named("dot/int16/sse2", Isa::Sse2, &[Feature::Sse2])
    .counted_by("cpu-dot-maddwd/1")
    .sized(6, 4, 4)
    .doing(4)
    .running(&["movdqa", "pmaddwd", "paddd"], int16_sse2)
    .spaced_by(int16_sse2_spaced, 47);
pub(super) const INT16_AVX2: Kernel = INT16_SSE2
    .named("dot/int16/avx2", Isa::Avx2, &[Feature::Avx2])
    .sized(6, 8, 4)
    .running(&["vpmaddwd", "vpaddd"], int16_avx2)
    .spaced_by(int16_avx2_spaced, 95);
pub(super) const INT16_AVX512: Kernel = INT16_AVX2
    .named("dot/int16/avx512", Isa::Avx512, &[Feature::Avx512F, Feature::Avx512Bw])
    .sized(4, 16, 18)
    .running(&["vpmaddwd", "vpaddd"], int16_avx512)
    .paced_by(int16_avx512_paced, 216);
pub(super) const INT16_AVX512_VNNI: Kernel = INT16_AVX512
    .named("dot/int16/avx512_vnni", Isa::Avx512Vnni, &[Feature::Avx512F, Feature::Avx512Vnni])
    .counted_by("cpu-dot-vnni/1")
    .sized(24, 16, 2)
    .running(&["vpdpwssd"], int16_avx512_vnni)
    .paced_by(int16_avx512_vnni_paced, 72);
pub(super) const INT16_AVX_VNNI: Kernel = INT16_AVX512_VNNI
    .named("dot/int16/avx_vnni", Isa::AvxVnni, &[Feature::AvxVnni])
    .sized(12, 8, 2)
    .running(&["vpdpwssd"], int16_avx_vnni);
pub(super) const BF16_AVX512_BF16: Kernel = INT16_AVX512_VNNI
    .on_elements(Element::Bf16, "fp32 <- bf16 x bf16", Data::FloatDot { shape: Shape::Vector(2), factor: Float::Bf16 })
    .named("dot/bf16/avx512_bf16", Isa::Avx512Bf16, &[Feature::Avx512F, Feature::Avx512Bf16])
    .counted_by("cpu-dot-bf16/1")
    .running(&["vdpbf16ps"], bf16_avx512_bf16)
    .paced_by(bf16_avx512_bf16_paced, 204);
