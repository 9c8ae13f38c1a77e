//! The tiles of dense linear algebra.
//!
//! A step of the depth loads a column of the left stripe into three registers and broadcasts the right strip's elements
//! one after another, each multiplied by the three and added to sums of its own: 24 multiply-adds and 11 loads with 8
//! columns. All sums are independent, which covers the latency of a multiply-add.
//!
//! The part of C is prefetched a column at a time during the first eight tenths of the depth: all at once they would take
//! the line-fill buffers (10 to 16) that the left stripe needs. Processors without PREFETCHW take it for a no-operation. The
//! left stripe is prefetched 1536 bytes ahead, eight steps of the widest tiles. With sixteen registers each request costs
//! time: Zen 3 fetches the lines by itself, but Golden Cove is asked for one line in three, which it takes as the hint to
//! fetch the other two. So those tiles have two loops. VDPBF16PS has the shape of a multiply-add, so the same loop over half
//! as many steps is the tile of bf16.

#[allow(clippy::wildcard_imports, reason = "vectors and their instructions")]
use core::arch::x86_64::*;
use core::mem::transmute;

use model::isa::Isa;

use crate::dense::tile::{Elimination, Pairs, Tile};
use crate::features::{Feature, Needs};
use crate::portable::tiles::{FP32_SCALAR, FP64_SCALAR, eliminate, lanes};

pub(crate) static FP64: &[Tile<f64>] = &[FP64_AVX512, FP64_AVX2, FP64_SCALAR];
pub(crate) static FP32: &[Tile<f32>] = &[FP32_AVX512, FP32_AVX2, FP32_SCALAR];
/// The tiles of fp32 that multiply in bf16 to the right of a panel, widest first.
pub(crate) static FP32_BY_BF16: &[Tile<f32>] = &[FP32_AVX512_BF16];

/// Prefetches a line into the second-level cache.
#[inline]
pub(crate) fn fetch<T>(place: *const T) {
    // SAFETY: PREFETCHT1 is part of SSE, which x86-64 has, and faults nowhere.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(place.cast()) };
}

/// Copies elements, in whole lines past the caches, so that no line is read only to be overwritten. Other threads see
/// them after [`settle`]. Safety: as for [`core::ptr::copy_nonoverlapping`].
#[inline]
pub(crate) unsafe fn copy_past_caches<T>(from: *const T, to: *mut T, count: usize) {
    const VECTORS: usize = 4;
    let line = VECTORS * size_of::<__m128i>() / size_of::<T>();
    // Non-temporal stores need aligned addresses.
    let streamed = if to.cast::<__m128i>().is_aligned() { count / line * line } else { 0 };
    for at in (0..streamed).step_by(line) {
        // SAFETY: the caller's promise; both instructions are part of SSE2, which x86-64 has.
        unsafe {
            let from: [_; VECTORS] =
                core::array::from_fn(|part| _mm_loadu_si128(from.add(at).cast::<__m128i>().add(part)));
            for (part, vector) in from.into_iter().enumerate() {
                _mm_stream_si128(to.add(at).cast::<__m128i>().add(part), vector);
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from.add(streamed), to.add(streamed), count - streamed) };
}

/// Orders all that was copied past the caches before later writes.
#[inline]
pub(crate) fn settle() {
    // SAFETY: SFENCE is part of SSE, which x86-64 has.
    unsafe { _mm_sfence() };
}

/// The assembler's macros for one step and for several of a tile.
macro_rules! steps {
    ($vector:literal, $asked:literal, $row:literal, [$left0:literal, $left1:literal, $left2:literal],
        $load:literal, $broadcast:literal, $fma:literal,
        [$(($place:literal, $right:literal, $sum0:literal, $sum1:literal, $sum2:literal)),+]
    ) => {
        concat!(
            // The left column's offset from RSI, and the number of the right strip's row.
            ".macro assay_step at, place\n",
            // A column of the widest tiles has three lines; of the other tiles, two columns have.
            ".if ", $asked, " == 3\n",
            "prefetcht0 [rsi + \\at + 1536]\n",
            "prefetcht0 [rsi + \\at + 1600]\n",
            "prefetcht0 [rsi + \\at + 1664]\n",
            ".elseif ", $asked, " == 1 && (\\place & 1) == 0\n",
            "prefetcht0 [rsi + \\at + 1536]\n",
            ".endif\n",
            $load, " ", $left0, ", [rsi + \\at]\n",
            $load, " ", $left1, ", [rsi + \\at + ", $vector, "]\n",
            $load, " ", $left2, ", [rsi + \\at + 2 * ", $vector, "]\n",
            $(
                $broadcast, " ", $right, ", [rcx + \\place * ", $row, " + ", $place, "]\n",
                $fma, " ", $sum0, ", ", $left0, ", ", $right, "\n",
                $fma, " ", $sum1, ", ", $left1, ", ", $right, "\n",
                $fma, " ", $sum2, ", ", $left2, ", ", $right, "\n",
            )+
            ".endm\n",
            // Columns of the left stripe that are some way apart.
            ".macro assay_steps_4\n",
            "assay_step 0, 0\n",
            "assay_step rdx, 1\n",
            "assay_step rdx * 2, 2\n",
            "assay_step r10, 3\n",
            "lea rsi, [rsi + rdx * 4]\n",
            "add rcx, 4 * ", $row, "\n",
            ".endm\n",
            // Columns side by side, which is how they are packed.
            ".macro assay_steps_8\n",
            ".irp place, 0, 1, 2, 3, 4, 5, 6, 7\n",
            "assay_step \\place * 3 * ", $vector, ", \\place\n",
            ".endr\n",
            "add rsi, 8 * 3 * ", $vector, "\n",
            "add rcx, 8 * ", $row, "\n",
            ".endm\n",
        )
    };
}

/// The assembler's macro for the whole depth: groups of steps, between which a column of C is fetched, then the other
/// groups, then the rest.
macro_rules! depth {
    ($vector:literal, $row:literal, $columns:literal) => {
        concat!(
            ".macro assay_depth group\n",
            // Groups between two columns that are prefetched, so that all are in the first eight tenths: about the depth
            // divided by 5/4 of the columns and by the steps of a group.
            "mov eax, (1 << 20) / (5 * \\group * ", $columns, ") + 1\n",
            "imul rax, rdi\n",
            "shr rax, 18\n",
            "mov ebx, ", $columns, "\n",
            "mov r11, r8\n",
            "2:\n",
            "prefetchw [r11]\n",
            "prefetchw [r11 + ", $vector, "]\n",
            "prefetchw [r11 + 2 * ", $vector, "]\n",
            "add r11, r9\n",
            "prefetcht0 [r12]\n",
            "prefetcht0 [r12 + 64]\n",
            "add r12, 2 * 64\n",
            "mov rbp, rax\n",
            "test rbp, rbp\n",
            "jz 4f\n",
            ".p2align 6\n",
            "3:\n",
            "assay_steps_\\group\n",
            "dec rbp\n",
            "jnz 3b\n",
            "4:\n",
            "dec ebx\n",
            "jnz 2b\n",
            "imul rax, rax, \\group * ", $columns, "\n",
            "sub rdi, rax\n",
            "mov rbp, rdi\n",
            "and edi, \\group - 1\n",
            "sub rbp, rdi\n",
            "jz 6f\n",
            ".p2align 6\n",
            "5:\n",
            "assay_steps_\\group\n",
            "sub rbp, \\group\n",
            "jnz 5b\n",
            "6:\n",
            "test edi, edi\n",
            "jz 8f\n",
            "7:\n",
            "assay_step 0, 0\n",
            "add rsi, rdx\n",
            "add rcx, ", $row, "\n",
            "dec edi\n",
            "jnz 7b\n",
            "8:\n",
            ".endm\n",
        )
    };
}

/// Defines a tile's loop of three vectors by some columns, which prefetches `asked` of three lines of the left stripe.
/// RDI is the depth, RSI the left stripe and RDX the elements from one of its columns to the next, RCX the right strip,
/// R8 the tile and R9 the elements from one of its columns to the next; on the stack is the next right strip's address.
/// A column is its place in a row of the right strip, the register its element is broadcast to, and its three sums.
macro_rules! tile_loop {
    ($name:ident($element:ty) {
        asked: $asked:literal, vector: $vector:literal, shift: $shift:literal, row: $row:literal,
        left: [$left0:literal, $left1:literal, $left2:literal],
        load: $load:literal, broadcast: $broadcast:literal, fma: $fma:literal, sub: $sub:literal, zero: $zero:literal,
        columns: $count:literal [$(($place:literal, $right:literal, $sum0:literal, $sum1:literal, $sum2:literal)),+],
    }) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            depth: usize, a: *const $element, a_step: usize, b: *const $element, c: *mut $element, c_step: usize,
            next: *const $element,
        ) {
            ::core::arch::naked_asm!(
                steps!($vector, $asked, $row, [$left0, $left1, $left2], $load, $broadcast, $fma,
                    [$(($place, $right, $sum0, $sum1, $sum2)),+]),
                depth!($vector, $row, $count),
                "push rbx",
                "push rbp",
                "push r12",
                // Above three registers and where to return.
                "mov r12, [rsp + 32]",
                concat!("shl rdx, ", $shift),
                concat!("shl r9, ", $shift),
                "lea r10, [rdx + rdx * 2]",
                $(
                    concat!($zero, " ", $sum0, ", ", $sum0, ", ", $sum0),
                    concat!($zero, " ", $sum1, ", ", $sum1, ", ", $sum1),
                    concat!($zero, " ", $sum2, ", ", $sum2, ", ", $sum2),
                )+
                // Other instructions than multiply-adds now and then take one of the two ports of 256 bits. So eight
                // steps of packed columns share two additions of constants: Golden Cove and its successors execute
                // small ones without a port.
                concat!(".if ", $vector, " == 32"),
                concat!("cmp rdx, 3 * ", $vector),
                "jne 9f",
                "assay_depth 8",
                // Rust 1.89 rejects the label `10`, which could be a binary number.
                "jmp 20f",
                "9:",
                ".endif",
                "assay_depth 4",
                "20:",
                $(
                    concat!($load, " ", $left0, ", [r8]"),
                    concat!($load, " ", $left1, ", [r8 + ", $vector, "]"),
                    concat!($load, " ", $left2, ", [r8 + 2 * ", $vector, "]"),
                    concat!($sub, " ", $left0, ", ", $left0, ", ", $sum0),
                    concat!($sub, " ", $left1, ", ", $left1, ", ", $sum1),
                    concat!($sub, " ", $left2, ", ", $left2, ", ", $sum2),
                    concat!($load, " [r8], ", $left0),
                    concat!($load, " [r8 + ", $vector, "], ", $left1),
                    concat!($load, " [r8 + 2 * ", $vector, "], ", $left2),
                    "add r8, r9",
                )+
                "pop r12",
                "pop rbp",
                "pop rbx",
                "vzeroupper",
                "ret",
                ".purgem assay_step",
                ".purgem assay_steps_4",
                ".purgem assay_steps_8",
                ".purgem assay_depth",
            )
        }
    };
}

/// Defines the tile of 512 bits and 8 columns, with sums in ZMM8-31: eight places in a row of the right strip.
macro_rules! wide_tile {
    ($name:ident($element:ty), $shift:literal, $row:literal, $load:literal, $broadcast:literal, $fma:literal,
        $sub:literal, $zero:literal,
        [$at0:literal $at1:literal $at2:literal $at3:literal $at4:literal $at5:literal $at6:literal $at7:literal]) => {
        tile_loop!($name($element) {
            asked: "3", vector: "64", shift: $shift, row: $row, left: ["zmm0", "zmm1", "zmm2"],
            load: $load, broadcast: $broadcast, fma: $fma, sub: $sub, zero: $zero,
            columns: "8" [
                ($at0, "zmm3", "zmm8", "zmm9", "zmm10"), ($at1, "zmm4", "zmm11", "zmm12", "zmm13"),
                ($at2, "zmm5", "zmm14", "zmm15", "zmm16"), ($at3, "zmm6", "zmm17", "zmm18", "zmm19"),
                ($at4, "zmm7", "zmm20", "zmm21", "zmm22"), ($at5, "zmm3", "zmm23", "zmm24", "zmm25"),
                ($at6, "zmm4", "zmm26", "zmm27", "zmm28"), ($at7, "zmm5", "zmm29", "zmm30", "zmm31")
            ],
        });
    };
}
wide_tile!(fp64_avx512(f64), "3", "64", "vmovupd", "vbroadcastsd", "vfmadd231pd", "vsubpd", "vpxorq",
    ["0" "8" "16" "24" "32" "40" "48" "56"]);
wide_tile!(fp32_avx512(f32), "2", "32", "vmovups", "vbroadcastss", "vfmadd231ps", "vsubps", "vpxord",
    ["0" "4" "8" "12" "16" "20" "24" "28"]);
// The factors are pairs of bf16, so that a step is two of the depth.
wide_tile!(bf16_avx512_bf16(f32), "2", "32", "vmovups", "vbroadcastss", "vdpbf16ps", "vsubps", "vpxord",
    ["0" "4" "8" "12" "16" "20" "24" "28"]);

/// Defines two loops of the same tile: one that prefetches no line of the left stripe, and one that prefetches one of
/// three.
macro_rules! tile_loops {
    ($plain:ident, $asking:ident($element:ty) { $($shape:tt)* }) => {
        tile_loop!($plain($element) { asked: "0", $($shape)* });
        tile_loop!($asking($element) { asked: "1", $($shape)* });
    };
}
tile_loops!(fp64_avx2, fp64_avx2_asking(f64) {
    vector: "32", shift: "3", row: "32", left: ["ymm0", "ymm1", "ymm2"],
    load: "vmovupd", broadcast: "vbroadcastsd", fma: "vfmadd231pd", sub: "vsubpd", zero: "vxorpd",
    columns: "4" [
        ("0", "ymm3", "ymm4", "ymm5", "ymm6"), ("8", "ymm3", "ymm7", "ymm8", "ymm9"),
        ("16", "ymm3", "ymm10", "ymm11", "ymm12"), ("24", "ymm3", "ymm13", "ymm14", "ymm15")
    ],
});
tile_loops!(fp32_avx2, fp32_avx2_asking(f32) {
    vector: "32", shift: "2", row: "16", left: ["ymm0", "ymm1", "ymm2"],
    load: "vmovups", broadcast: "vbroadcastss", fma: "vfmadd231ps", sub: "vsubps", zero: "vxorps",
    columns: "4" [
        ("0", "ymm3", "ymm4", "ymm5", "ymm6"), ("4", "ymm3", "ymm7", "ymm8", "ymm9"),
        ("8", "ymm3", "ymm10", "ymm11", "ymm12"), ("12", "ymm3", "ymm13", "ymm14", "ymm15")
    ],
});

lanes!(__m128d of f64: _mm_set1_pd, _mm_add_pd, _mm_mul_pd, _mm_sub_pd, _mm_max_pd,
    |value| _mm_andnot_pd(_mm_set1_pd(-0.0), value));
lanes!(__m128 of f32: _mm_set1_ps, _mm_add_ps, _mm_mul_ps, _mm_sub_ps, _mm_max_ps,
    |value| _mm_andnot_ps(_mm_set1_ps(-0.0), value));
lanes!(__m256d of f64: _mm256_set1_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_sub_pd, _mm256_max_pd,
    |value| _mm256_andnot_pd(_mm256_set1_pd(-0.0), value));
lanes!(__m256 of f32: _mm256_set1_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_sub_ps, _mm256_max_ps,
    |value| _mm256_andnot_ps(_mm256_set1_ps(-0.0), value));
lanes!(__m512d of f64: _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_sub_pd, _mm512_max_pd, _mm512_abs_pd);
lanes!(__m512 of f32: _mm512_set1_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_sub_ps, _mm512_max_ps, _mm512_abs_ps);

macro_rules! columns_loop {
    ($name:ident($element:ty), $features:literal, [$vector:ident; $count:literal]) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(job: &Elimination<$element>) -> $element {
            // SAFETY: the caller's promise.
            unsafe { eliminate::<$element, $vector, $count>(job) }
        }
    };
}
columns_loop!(fp64_avx512_columns(f64), "avx512f", [__m512d; 2]);
columns_loop!(fp32_avx512_columns(f32), "avx512f", [__m512; 1]);
columns_loop!(fp64_avx2_columns(f64), "avx2,fma", [__m256d; 4]);
columns_loop!(fp32_avx2_columns(f32), "avx2,fma", [__m256; 2]);

/// Rounds to pairs of bf16, sixteen at a time, halves to even: subnormal numbers become zero, NaN stays NaN.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn bf16_avx512_pairs(first: &[f32], second: Option<&[f32]>, pairs: &mut [f32]) {
    for (index, pairs) in pairs.chunks_mut(16).enumerate() {
        let (start, mask) = (index * 16, u16::MAX >> (16 - pairs.len()));
        let rounded = |numbers: &[f32]| {
            let numbers = &numbers[start..][..pairs.len()];
            // SAFETY: the mask has as many bits as there are numbers; both types are 256 bits.
            unsafe {
                let halves = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, numbers.as_ptr()));
                _mm512_cvtepu16_epi32(transmute::<__m256bh, __m256i>(halves))
            }
        };
        let lower = rounded(first);
        let both = second.map_or(lower, |second| _mm512_or_si512(lower, _mm512_slli_epi32::<16>(rounded(second))));
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_ps(pairs.as_mut_ptr(), mask, _mm512_castsi512_ps(both)) };
    }
}

const AVX512: Needs = (Isa::Avx512, &[Feature::Avx512F]);
const AVX2: Needs = (Isa::Avx2, &[Feature::Avx2, Feature::Fma]);

const FP64_AVX512: Tile<f64> = Tile::row("avx512/24x8", AVX512, [24, 8], fp64_avx512, fp64_avx512_columns);
const FP64_AVX2: Tile<f64> =
    Tile { asking: Some(fp64_avx2_asking), ..Tile::row("avx2/12x4", AVX2, [12, 4], fp64_avx2, fp64_avx2_columns) };
const FP32_AVX512: Tile<f32> = Tile::row("avx512/48x8", AVX512, [48, 8], fp32_avx512, fp32_avx512_columns);
const FP32_AVX2: Tile<f32> =
    Tile { asking: Some(fp32_avx2_asking), ..Tile::row("avx2/24x4", AVX2, [24, 4], fp32_avx2, fp32_avx2_columns) };
const FP32_AVX512_BF16: Tile<f32> = Tile {
    name: "avx512_bf16/48x8",
    isa: Isa::Avx512Bf16,
    requires: &[Feature::Avx512F, Feature::Avx512Bf16],
    pairs: Some(Pairs { body: bf16_avx512_bf16, round: bf16_avx512_pairs }),
    ..FP32_AVX512
};

#[cfg(test)]
mod tests;
