//! Fused multiply-adds together with additions on other accumulators: what a core does where both kinds of pipe are
//! busy. It bounds mixed code and is no peak: no matrix product has this mix.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::loops::nops;
use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

/// Defines a loop over pairs of registers, the first of each for `fma` and the second for `add`; in a group of pairs
/// all multiply-adds come first. RDI is the register file, RSI the number of iterations.
///
/// A `paced` function is the same loop with dependent additions of R9 to R8 ([`Pace`](crate::arithmetic::kernel::Pace)):
/// one behind each pair of a group (which `0 * ` its register only names), and some more behind the last of the odd steps.
/// With more, fewer multiply-adds a cycle leave the clock of Emerald Rapids where it is: at 256 bits one for two
/// instructions shows 2.79 GHz, the clock of the loop itself, and a seventh more 2.99 GHz. A `spaced` function has NOPs
/// behind each pair, as in `vector_loop`.
macro_rules! paired_loop {
    ($name:ident $shape:tt, paced: $paced:ident, $more:literal
        $(, spaced: $spaced:ident, $nops:literal, $all_nops:literal)?
    ) => {
        paired_loop!(@function $name, ["", "", "0"], $shape);
        paired_loop!(@function $paced, ["", "\nadd r8, r9", $more], $shape);
        $(paired_loop!(@function $spaced, [nops!($all_nops), nops!(after $nops), "0"], $shape);)?
    };
    (@function $name:ident, [$before:expr, $after:expr, $more:expr], {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        operands: [$(($operand:literal, $slot:literal)),+],
        accumulators: $first:literal, [$([$(($multiplied:literal, $added:literal)),+]),+ $(,)?], pairs: $pairs:literal,
        fma: $fma:literal, [$fma_even:literal, $fma_odd:literal],
        add: $add:literal, [$add_even:literal, $add_odd:literal],
    }) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                $(concat!($move, " ", $register, $operand, ", [rdi + {operands} + {slot} * ", $slot, "]"),)+
                concat!(".irp acc, ", $($($multiplied, ",", $added, ","),+),+),
                concat!($move, " ", $register, "\\acc, [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")]"),
                ".endr",
                "test rsi, rsi",
                "jz 3f",
                $before,
                ".p2align 6",
                "2:",
                concat!(".rept ", $pairs),
                $(
                    $(concat!($fma, " ", $register, $multiplied, ", ", $fma_even),)+
                    $(concat!($add, " ", $register, $added, ", ", $register, $added, ", ", $add_even),)+
                    $(concat!(".rept 1 + 0 * ", $multiplied, $after, "\n.endr"),)+
                )+
                $(
                    $(concat!($fma, " ", $register, $multiplied, ", ", $fma_odd),)+
                    $(concat!($add, " ", $register, $added, ", ", $register, $added, ", ", $add_odd),)+
                    $(concat!(".rept 1 + 0 * ", $multiplied, $after, "\n.endr"),)+
                )+
                concat!(".rept ", $more),
                "add r8, r9",
                ".endr",
                ".endr",
                "dec rsi",
                "jnz 2b",
                "3:",
                concat!(".irp acc, ", $($($multiplied, ",", $added, ","),+),+),
                concat!($move, " [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")], ", $register, "\\acc"),
                ".endr",
                "vzeroupper",
                "ret",
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
}

/// Defines the loops of 512 bits, with twelve pairs of accumulators in ZMM6-29.
macro_rules! wide_loop {
    ($name:ident, $paced:ident, $move:literal, $fma:literal, $add:literal) => {
        paired_loop!($name {
            register: "zmm", bytes: 64, load_store: $move,
            operands: [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
            accumulators: 6, [
                [(6, 7), (8, 9)], [(10, 11), (12, 13)], [(14, 15), (16, 17)],
                [(18, 19), (20, 21)], [(22, 23), (24, 25)], [(26, 27), (28, 29)],
            ], pairs: 2,
            fma: $fma, ["zmm0, zmm1", "zmm2, zmm3"], add: $add, ["zmm0", "zmm4"],
        }, paced: $paced, "2");
    };
}
wide_loop!(fp64_avx512, fp64_avx512_paced, "vmovupd", "vfmadd231pd", "vaddpd");
wide_loop!(fp32_avx512, fp32_avx512_paced, "vmovups", "vfmadd231ps", "vaddps");

/// Defines the loops of 256 bits, with seven pairs of accumulators in YMM2-15. Seven multiply-adds of four cycles keep
/// 1.75 pipes busy; for that, two operands of the odd steps are read from the first-level cache, one load a cycle: from
/// different halves of cache lines, as two loads from the same half in one cycle conflict on Golden Cove.
macro_rules! narrow_loop {
    ($name:ident, $paced:ident, $spaced:ident, $move:literal, $fma:literal, $add:literal) => {
        paired_loop!($name {
            register: "ymm", bytes: 32, load_store: $move,
            operands: [(0, 0), (1, 2)],
            accumulators: 2, [[(2, 3)], [(4, 5)], [(6, 7)], [(8, 9)], [(10, 11)], [(12, 13)], [(14, 15)]], pairs: 3,
            fma: $fma, ["ymm0, ymm0", "ymm1, [rdi + {operands} + {slot} * 3]"],
            add: $add, ["ymm0", "[rdi + {operands} + {slot} * 4 + 32]"],
        }, paced: $paced, "0", spaced: $spaced, "2", "2 * 42 - 1");
    };
}
narrow_loop!(fp64_avx2, fp64_avx2_paced, fp64_avx2_spaced, "vmovupd", "vfmadd231pd", "vaddpd");
narrow_loop!(fp32_avx2, fp32_avx2_paced, fp32_avx2_spaced, "vmovups", "vfmadd231ps", "vaddps");
