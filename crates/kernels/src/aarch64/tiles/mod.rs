//! The tiles of dense linear algebra: three vectors by eight columns, of NEON and of SVE.
//!
//! A step of the depth loads a column of the left stripe into three registers and multiplies it by each of eight elements
//! of the right strip, added to sums of their own in V8-31: 24 multiply-adds, which cover a latency of four cycles on four
//! pipes (Neoverse V1 and V2) or nine on two (A64FX). NEON multiplies by an element of a register, 7 loads a step. SVE
//! repeats each element in a register, 11 loads: by element, it would take those of each 128 bits, and A64FX would take
//! twice as long. SVE of 128 bits is left to NEON.
//!
//! The part of C is prefetched a column at a time during the first eight tenths of the depth, the left stripe eight steps
//! ahead. The sums of the lower halves of V8-15 are the caller's.

#[allow(clippy::wildcard_imports, reason = "vectors and their instructions")]
use core::arch::aarch64::*;
use core::arch::asm;

use model::isa::Isa;

use crate::dense::tile::{Elimination, Pairs, Tile};
use crate::features::{Feature, Needs};
use crate::portable::tiles::{FP32_SCALAR, FP64_SCALAR, eliminate, lanes};

pub(crate) static FP64: &[Tile<f64>] = &[
    Tile::row("sve/24x8", SVE512, [24, 8], fp64_sve, fp64_columns),
    Tile::row("sve/12x8", SVE256, [12, 8], fp64_sve, fp64_columns),
    Tile::row("neon/6x8", NEON, [6, 8], fp64_neon, fp64_columns),
    FP64_SCALAR,
];
pub(crate) static FP32: &[Tile<f32>] = &[
    Tile::row("sve/48x8", SVE512, [48, 8], fp32_sve, fp32_columns),
    Tile::row("sve/24x8", SVE256, [24, 8], fp32_sve, fp32_columns),
    FP32_NEON,
    FP32_SCALAR,
];
/// The tiles of fp32 that multiply in bf16 to the right of a panel.
pub(crate) static FP32_BY_BF16: &[Tile<f32>] = &[Tile {
    name: "neon_bf16/12x8",
    isa: Isa::NeonBf16,
    requires: &[Feature::Asimd, Feature::Bf16],
    pairs: Some(Pairs { body: bf16_neon_bf16, round: bf16_pairs }),
    ..FP32_NEON
}];

const FP32_NEON: Tile<f32> = Tile::row("neon/12x8", NEON, [12, 8], fp32_neon, fp32_columns);

const NEON: Needs = (Isa::Neon, &[Feature::Asimd]);
const SVE256: Needs = (Isa::Sve, &[Feature::Sve256]);
const SVE512: Needs = (Isa::Sve, &[Feature::Sve512]);

/// Prefetches a line into the second-level cache.
#[inline]
pub(crate) fn fetch<T>(place: *const T) {
    // SAFETY: a prefetch of any address is no access.
    unsafe { asm!("prfm pldl2keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly)) };
}

/// Copies elements, in whole lines with the hint that they are not used again soon. Safety: as for
/// [`core::ptr::copy_nonoverlapping`].
#[inline]
pub(crate) unsafe fn copy_past_caches<T>(from: *const T, to: *mut T, count: usize) {
    const LINE: usize = 64;
    let line = LINE / size_of::<T>();
    let streamed = count / line * line;
    for at in (0..streamed).step_by(line) {
        // SAFETY: the caller's promise.
        unsafe {
            asm!("ldp {a:q}, {b:q}, [{from}]", "ldp {c:q}, {d:q}, [{from}, #32]",
                "stnp {a:q}, {b:q}, [{to}]", "stnp {c:q}, {d:q}, [{to}, #32]",
                from = in(reg) from.add(at), to = in(reg) to.add(at), a = out(vreg) _, b = out(vreg) _,
                c = out(vreg) _, d = out(vreg) _, options(nostack, preserves_flags));
        }
    }
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from.add(streamed), to.add(streamed), count - streamed) };
}

/// Does nothing: a release orders STNP like any other store (Arm Architecture Reference Manual, B2.3, exempts loads only).
#[inline]
pub(crate) const fn settle() {}

/// The assembler's macro for the whole depth: groups of four steps, between which a column of C is fetched, then the
/// other groups, then the rest.
macro_rules! depth {
    ($row:literal, $fetch_column:expr) => {
        concat!(
            ".macro assay_steps_4\n",
            ".irp place, 0, 1, 2, 3\nassay_step \\place\n.endr\n",
            "add x3, x3, #4 * ",
            $row,
            "\n",
            ".endm\n",
            ".macro assay_depth\n",
            // Groups between two columns that are prefetched, so that all eight are in the first eight tenths.
            "movz x7, #(1 << 20) / (5 * 4 * 8) + 1\n",
            "mul x7, x7, x0\n",
            "lsr x7, x7, #18\n",
            "mov x8, #8\n",
            "mov x9, x4\n",
            "2:\n",
            $fetch_column,
            "\n",
            "add x9, x9, x5\n",
            "prfm pldl1keep, [x6]\n",
            "prfm pldl1keep, [x6, #64]\n",
            "add x6, x6, #2 * 64\n",
            "mov x10, x7\n",
            "cbz x10, 4f\n",
            ".p2align 6\n",
            "3:\n",
            "assay_steps_4\n",
            "subs x10, x10, #1\n",
            "b.ne 3b\n",
            "4:\n",
            "subs x8, x8, #1\n",
            "b.ne 2b\n",
            "sub x0, x0, x7, lsl #5\n",
            "lsr x10, x0, #2\n",
            "and x0, x0, #3\n",
            "cbz x10, 6f\n",
            ".p2align 6\n",
            "5:\n",
            "assay_steps_4\n",
            "subs x10, x10, #1\n",
            "b.ne 5b\n",
            "6:\n",
            "cbz x0, 8f\n",
            "7:\n",
            "assay_step 0\n",
            "add x3, x3, #",
            $row,
            "\n",
            "subs x0, x0, #1\n",
            "b.ne 7b\n",
            "8:\n",
            ".endm\n",
        )
    };
}

/// Moves three vectors between registers 0 to 2 and where a pointer is.
macro_rules! three {
    (neon $pair:literal $single:literal $cursor:literal) => {
        concat!($pair, " q0, q1, [", $cursor, "]\n", $single, " q2, [", $cursor, ", #32]\n")
    };
    (sve $move:literal $lane:literal $predicate:literal $cursor:literal) => {
        concat!(
            three!(@ $move $lane $predicate $cursor 0),
            three!(@ $move $lane $predicate $cursor 1),
            three!(@ $move $lane $predicate $cursor 2),
        )
    };
    (@ $move:literal $lane:literal $predicate:literal $cursor:literal $at:literal) => {
        concat!($move, " {{z", $at, ".", $lane, "}}, ", $predicate, ", [", $cursor, ", #", $at, ", mul vl]\n")
    };
}

/// An instruction of three vectors, 0 to 2, with the sums of a column.
macro_rules! with_sums {
    ([$a:literal $b:literal $c:literal $d:literal], multiply $factor:literal, [$($vector:literal $sum:literal),+]) => {
        concat!($($a, $sum, $b, $vector, $c, $factor, $d, "\n"),+)
    };
    ([$a:literal $b:literal $c:literal $d:literal], subtract, [$($vector:literal $sum:literal),+]) => {
        concat!($($a, $vector, $b, $vector, $c, $sum, $d, "\n"),+)
    };
}

/// Defines a tile's loop. X0 is the depth, X1 the left stripe and X2 the elements from one of its columns to the next, X3
/// the right strip, X4 the tile and X5 the elements from one of its columns to the next, X6 the next right strip. A step
/// loads a column of the left stripe and the right strip's row (`right`), or an element before each of its columns; the
/// pieces of an instruction are the texts between its registers.
macro_rules! tile_loop {
    ($name:ident($element:ty) {
        $(extension: $extension:literal,)?
        before: $before:expr, shift: $shift:literal, row: $row:literal, zero: $zero:literal,
        left: $left:expr, right: $right:expr, load: $load:expr, store: $store:expr, fetch_column: $fetch_column:expr,
        multiply: $multiply:tt, subtract: $subtract:tt,
        columns: [$(($element_load:expr, $factor:literal, $sums:tt)),+ $(,)?],
    }) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            depth: usize, a: *const $element, a_step: usize, b: *const $element, c: *mut $element, c_step: usize,
            next: *const $element,
        ) {
            ::core::arch::naked_asm!(
                $(concat!(".arch_extension ", $extension),)?
                ".macro assay_step place",
                $left,
                "add x1, x1, x2",
                $right,
                $($element_load, with_sums!($multiply, multiply $factor, $sums),)+
                ".endm",
                depth!($row, $fetch_column),
                "stp d8, d9, [sp, #-64]!",
                "stp d10, d11, [sp, #16]",
                "stp d12, d13, [sp, #32]",
                "stp d14, d15, [sp, #48]",
                $before,
                concat!("lsl x2, x2, #", $shift),
                concat!("lsl x5, x5, #", $shift),
                ".irp sum, 8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                $zero,
                ".endr",
                "assay_depth",
                $(
                    $load,
                    with_sums!($subtract, subtract, $sums),
                    $store,
                    "add x4, x4, x5",
                )+
                "ldp d14, d15, [sp, #48]",
                "ldp d12, d13, [sp, #32]",
                "ldp d10, d11, [sp, #16]",
                "ldp d8, d9, [sp], #64",
                "ret",
                ".purgem assay_step",
                ".purgem assay_steps_4",
                ".purgem assay_depth",
            )
        }
    };
}

/// Defines the tile of NEON by its lanes, what loads a row of the right strip, and the elements of that.
macro_rules! neon_tile {
    ($name:ident($element:ty), $(extension: $extension:literal,)? $shift:literal, $row:literal, $right:expr,
        $multiply:tt, $subtract:tt, [$e0:literal $e1:literal $e2:literal $e3:literal $e4:literal $e5:literal $e6:literal
        $e7:literal]) => {
        tile_loop!($name($element) {
            $(extension: $extension,)?
            before: "", shift: $shift, row: $row, zero: "movi v\\sum\\().2d, #0",
            left: concat!(three!(neon "ldp" "ldr" "x1"), "prfm pldl1keep, [x1, #8 * 48]"), right: $right,
            load: three!(neon "ldp" "ldr" "x4"), store: three!(neon "stp" "str" "x4"),
            fetch_column: "prfm pstl1keep, [x9]\nprfm pstl1keep, [x9, #40]",
            multiply: $multiply, subtract: $subtract,
            columns: [
                ("", $e0, ["0" "8", "1" "9", "2" "10"]), ("", $e1, ["0" "11", "1" "12", "2" "13"]),
                ("", $e2, ["0" "14", "1" "15", "2" "16"]), ("", $e3, ["0" "17", "1" "18", "2" "19"]),
                ("", $e4, ["0" "20", "1" "21", "2" "22"]), ("", $e5, ["0" "23", "1" "24", "2" "25"]),
                ("", $e6, ["0" "26", "1" "27", "2" "28"]), ("", $e7, ["0" "29", "1" "30", "2" "31"]),
            ],
        });
    };
}
neon_tile!(fp64_neon(f64), "3", "64",
    "ldp q4, q5, [x3, #64 * \\place]\nldp q6, q7, [x3, #64 * \\place + 32]",
    ["fmla v" ".2d, v" ".2d, v" ""], ["fsub v" ".2d, v" ".2d, v" ".2d"],
    ["4.d[0]" "4.d[1]" "5.d[0]" "5.d[1]" "6.d[0]" "6.d[1]" "7.d[0]" "7.d[1]"]);
neon_tile!(fp32_neon(f32), "2", "32", "ldp q4, q5, [x3, #32 * \\place]",
    ["fmla v" ".4s, v" ".4s, v" ""], ["fsub v" ".4s, v" ".4s, v" ".4s"],
    ["4.s[0]" "4.s[1]" "4.s[2]" "4.s[3]" "5.s[0]" "5.s[1]" "5.s[2]" "5.s[3]"]);
// The factors are pairs of bf16, so that a step is two of the depth.
neon_tile!(bf16_neon_bf16(f32), extension: "bf16", "2", "32", "ldp q4, q5, [x3, #32 * \\place]",
    ["bfdot v" ".4s, v" ".8h, v" ""], ["fsub v" ".4s, v" ".4s, v" ".4s"],
    ["4.2h[0]" "4.2h[1]" "4.2h[2]" "4.2h[3]" "5.2h[0]" "5.2h[1]" "5.2h[2]" "5.2h[3]"]);

/// An element of the right strip in all lanes of a register.
macro_rules! repeated {
    ($load:literal $lane:literal $register:literal $row:literal $at:literal) => {
        concat!($load, " {{z", $register, ".", $lane, "}}, p0/z, [x3, #", $row, " * \\place + ", $at, "]")
    };
}

/// Defines the tile of SVE by its lanes and the places in a row of the right strip.
macro_rules! sve_tile {
    ($name:ident($element:ty), $shift:literal, $row:literal, $lane:literal, $load:literal, $store:literal, $repeat:literal,
        $multiply:tt, $subtract:tt, [$a0:literal $a1:literal $a2:literal $a3:literal $a4:literal $a5:literal $a6:literal
        $a7:literal]) => {
        tile_loop!($name($element) {
            extension: "sve",
            before: concat!("ptrue p0.", $lane), shift: $shift, row: $row, zero: "mov z\\sum\\().d, #0",
            left: concat!(
                three!(sve $load $lane "p0/z" "x1"), ".irp i, 24, 25, 26\nprfd pldl1keep, p0, [x1, #\\i, mul vl]\n.endr"
            ),
            right: "",
            load: three!(sve $load $lane "p0/z" "x4"), store: three!(sve $store $lane "p0" "x4"),
            fetch_column: ".irp i, 0, 1, 2\nprfd pstl1keep, p0, [x9, #\\i, mul vl]\n.endr",
            multiply: $multiply, subtract: $subtract,
            columns: [
                (repeated!($repeat $lane "3" $row $a0), "3", ["0" "8", "1" "9", "2" "10"]),
                (repeated!($repeat $lane "4" $row $a1), "4", ["0" "11", "1" "12", "2" "13"]),
                (repeated!($repeat $lane "5" $row $a2), "5", ["0" "14", "1" "15", "2" "16"]),
                (repeated!($repeat $lane "6" $row $a3), "6", ["0" "17", "1" "18", "2" "19"]),
                (repeated!($repeat $lane "7" $row $a4), "7", ["0" "20", "1" "21", "2" "22"]),
                (repeated!($repeat $lane "3" $row $a5), "3", ["0" "23", "1" "24", "2" "25"]),
                (repeated!($repeat $lane "4" $row $a6), "4", ["0" "26", "1" "27", "2" "28"]),
                (repeated!($repeat $lane "5" $row $a7), "5", ["0" "29", "1" "30", "2" "31"]),
            ],
        });
    };
}
sve_tile!(fp64_sve(f64), "3", "64", "d", "ld1d", "st1d", "ld1rd",
    ["fmla z" ".d, p0/m, z" ".d, z" ".d"], ["fsub z" ".d, z" ".d, z" ".d"], ["0" "8" "16" "24" "32" "40" "48" "56"]);
sve_tile!(fp32_sve(f32), "2", "32", "s", "ld1w", "st1w", "ld1rw",
    ["fmla z" ".s, p0/m, z" ".s, z" ".s"], ["fsub z" ".s, z" ".s, z" ".s"], ["0" "4" "8" "12" "16" "20" "24" "28"]);

lanes!(float64x2_t of f64: vdupq_n_f64, vaddq_f64, vmulq_f64, vsubq_f64,
    |magnitude, most| vbslq_f64(vcgtq_f64(magnitude, most), magnitude, most), vabsq_f64);
lanes!(float32x4_t of f32: vdupq_n_f32, vaddq_f32, vmulq_f32, vsubq_f32,
    |magnitude, most| vbslq_f32(vcgtq_f32(magnitude, most), magnitude, most), vabsq_f32);

unsafe fn fp64_columns(job: &Elimination<f64>) -> f64 {
    // SAFETY: the caller's promise.
    unsafe { eliminate::<f64, float64x2_t, 8>(job) }
}

unsafe fn fp32_columns(job: &Elimination<f32>) -> f32 {
    // SAFETY: the caller's promise.
    unsafe { eliminate::<f32, float32x4_t, 4>(job) }
}

/// Rounds to pairs of bf16, four at a time, halves to even. Subnormal numbers stay; BFDOT takes them for zero.
unsafe fn bf16_pairs(first: &[f32], second: Option<&[f32]>, pairs: &mut [f32]) {
    const LANES: usize = 4;
    for (index, pairs) in pairs.chunks_mut(LANES).enumerate() {
        let four = |numbers: &[f32]| {
            let mut four = [0.0; LANES];
            four[..pairs.len()].copy_from_slice(&numbers[index * LANES..][..pairs.len()]);
            four
        };
        let (first, second) = (four(first), second.map_or([0.0; LANES], four));
        let mut both = [0.0; LANES];
        // SAFETY: the caller has found BF16; each pointer is to four numbers.
        unsafe {
            asm!(".arch_extension bf16", "ldr {a:q}, [{first}]", "ldr {b:q}, [{second}]", "bfcvtn {a:v}.4h, {a:v}.4s",
                "bfcvtn {b:v}.4h, {b:v}.4s", "zip1 {a:v}.8h, {a:v}.8h, {b:v}.8h", "str {a:q}, [{both}]",
                first = in(reg) &raw const first, second = in(reg) &raw const second, both = in(reg) &raw mut both,
                a = out(vreg) _, b = out(vreg) _, options(nostack, preserves_flags));
        }
        pairs.copy_from_slice(&both[..pairs.len()]);
    }
}
