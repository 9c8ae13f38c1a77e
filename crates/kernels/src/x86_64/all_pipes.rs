//! Fused multiply-adds together with additions on accumulators of their own: what a core does where both kinds of pipe
//! are busy. A bound for mixed code, and no peak: nobody's matrix product has this mix.
//!
//! Accumulators come in twos, one of multiply-adds and one of additions, that take a step together.

use core::arch::naked_asm;
use core::mem::offset_of;

use model::isa::{CpuOp, Element, Isa};

use super::loops::nops;
use crate::arithmetic::data::{Data, SLOT};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::{Kernel, Pace};
use crate::arithmetic::registers::RegisterFile;
use crate::features::Feature;

/// Defines a loop over twos of registers, the first of each for `fma` and the second for `add`; of a group of twos all
/// multiply-adds come first, then all additions. Operands are loaded from the slots named beside their registers; those
/// that a step takes from memory are not. RDI is the register file, RSI the number of iterations.
///
/// A `paced` function is the same loop with dependent additions of R9 to R8 ([`Pace`]): one for each two of a group,
/// behind it, and so many more behind the last of the odd steps. They take no longer than they must, as fewer
/// multiply-adds a cycle leave the clock of Emerald Rapids where it is: at 256 bits one of them beside two instructions
/// shows 2.79 GHz, which is the clock of the loop itself, and a seventh more show 2.99 GHz. (The register's number times nothing ties
/// an addition to its two.)
///
/// A `spaced` function is the same loop with so many NOPs for each two, until a number of them is spent, as in
/// `vector_loop`.
macro_rules! paired_loop {
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal, operands: $operands:tt,
        accumulators: $first:literal, $groups:tt, pairs: $pairs:literal,
        fma: $fma:literal, $fma_of:tt, add: $add:literal, $add_of:tt,
        paced: $paced:ident, $more:literal,
        $(spaced: $spaced:ident, $nops:literal, $all_nops:literal,)?
    }) => {
        paired_loop!(@function $(#[$doc])* $name, ["", "", "0"],
            $register, $bytes, $move, $operands, $first, $groups, $pairs, $fma, $fma_of, $add, $add_of);
        paired_loop!(@function
            #[doc = "The same loop, paced by additions."]
            $paced, ["", "\nadd r8, r9", $more],
            $register, $bytes, $move, $operands, $first, $groups, $pairs, $fma, $fma_of, $add, $add_of);
        $(paired_loop!(@function
            #[doc = "The same loop with NOPs."]
            $spaced, [nops!($all_nops), nops!(after $nops), "0"],
            $register, $bytes, $move, $operands, $first, $groups, $pairs, $fma, $fma_of, $add, $add_of);)?
    };
    (@function $(#[$doc:meta])* $name:ident, [$before:expr, $beside:expr, $more:expr],
        $register:literal, $bytes:literal, $move:literal, [$(($operand:literal, $slot:literal)),+], $first:literal,
        [$([$(($multiplied:literal, $added:literal)),+]),+ $(,)?], $pairs:literal,
        $fma:literal, [$fma_even:literal, $fma_odd:literal], $add:literal, [$add_even:literal, $add_odd:literal]
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
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
                    $(concat!(".rept 1 + 0 * ", $multiplied, $beside, "\n.endr"),)+
                )+
                $(
                    $(concat!($fma, " ", $register, $multiplied, ", ", $fma_odd),)+
                    $(concat!($add, " ", $register, $added, ", ", $register, $added, ", ", $add_odd),)+
                    $(concat!(".rept 1 + 0 * ", $multiplied, $beside, "\n.endr"),)+
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
paired_loop!(
    /// 512 bits; twelve twos of accumulators in ZMM6-29.
    fp64_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovupd",
        operands: [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
        accumulators: 6, [
            [(6, 7), (8, 9)], [(10, 11), (12, 13)], [(14, 15), (16, 17)], [(18, 19), (20, 21)], [(22, 23), (24, 25)],
            [(26, 27), (28, 29)],
        ], pairs: 2,
        fma: "vfmadd231pd", ["zmm0, zmm1", "zmm2, zmm3"], add: "vaddpd", ["zmm0", "zmm4"],
        paced: fp64_avx512_paced, "2",
    }
);
paired_loop!(
    /// 256 bits; seven twos of accumulators in YMM2-15. Seven multiply-adds of four cycles keep 1.75 pipes busy; for
    /// that, two operands of the odd steps are read from the first-level cache, one load a cycle: from different halves
    /// of cache lines, as two loads from the same half in one cycle get in each other's way on Golden Cove.
    fp64_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovupd",
        operands: [(0, 0), (1, 2)],
        accumulators: 2, [[(2, 3)], [(4, 5)], [(6, 7)], [(8, 9)], [(10, 11)], [(12, 13)], [(14, 15)]], pairs: 3,
        fma: "vfmadd231pd", ["ymm0, ymm0", "ymm1, [rdi + {operands} + {slot} * 3]"],
        add: "vaddpd", ["ymm0", "[rdi + {operands} + {slot} * 4 + 32]"],
        paced: fp64_avx2_paced, "0",
        spaced: fp64_avx2_spaced, "2", "2 * 42 - 1",
    }
);
paired_loop!(
    /// 512 bits; twelve twos of accumulators in ZMM6-29.
    fp32_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovups",
        operands: [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
        accumulators: 6, [
            [(6, 7), (8, 9)], [(10, 11), (12, 13)], [(14, 15), (16, 17)], [(18, 19), (20, 21)], [(22, 23), (24, 25)],
            [(26, 27), (28, 29)],
        ], pairs: 2,
        fma: "vfmadd231ps", ["zmm0, zmm1", "zmm2, zmm3"], add: "vaddps", ["zmm0", "zmm4"],
        paced: fp32_avx512_paced, "2",
    }
);
paired_loop!(
    /// 256 bits; seven twos of accumulators in YMM2-15. Seven multiply-adds of four cycles keep 1.75 pipes busy; for
    /// that, two operands of the odd steps are read from the first-level cache, one load a cycle: from different halves
    /// of cache lines, as two loads from the same half in one cycle get in each other's way on Golden Cove.
    fp32_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovups",
        operands: [(0, 0), (1, 2)],
        accumulators: 2, [[(2, 3)], [(4, 5)], [(6, 7)], [(8, 9)], [(10, 11)], [(12, 13)], [(14, 15)]], pairs: 3,
        fma: "vfmadd231ps", ["ymm0, ymm0", "ymm1, [rdi + {operands} + {slot} * 3]"],
        add: "vaddps", ["ymm0", "[rdi + {operands} + {slot} * 4 + 32]"],
        paced: fp32_avx2_paced, "0",
        spaced: fp32_avx2_spaced, "2", "2 * 42 - 1",
    }
);

/// 512 bits of fp64. The other rows say where they differ.
pub(super) const FP64_AVX512: Kernel = Kernel {
    name: "all_pipes/fp64/avx512",
    op: CpuOp::AllPipes,
    element: Element::Fp64,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    method: "cpu-all-pipes/1",
    accumulator_type: "fp64",
    accumulators: 24,
    accumulators_per_step: 2,
    lanes: 8,
    pairs: 2,
    step: &["vfmadd231pd", "vaddpd"],
    operations_per_lane: 3,
    data: Data::ProductsAndSums(Float::Fp64),
    body: fp64_avx512,
    spaced: None,
    pace: Some(Pace { body: fp64_avx512_paced, additions: 52 }),
};
/// 256 bits of fp64.
pub(super) const FP64_AVX2: Kernel = FP64_AVX512
    .named("all_pipes/fp64/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .sized(14, 4, 3)
    .running(&["vfmadd231pd", "vaddpd"], fp64_avx2)
    .spaced_by(fp64_avx2_spaced, 83)
    .paced_by(fp64_avx2_paced, 42);
/// 512 bits of fp32.
pub(super) const FP32_AVX512: Kernel = FP64_AVX512
    .on_elements(Element::Fp32, "fp32", Data::ProductsAndSums(Float::Fp32))
    .named("all_pipes/fp32/avx512", Isa::Avx512, &[Feature::Avx512F])
    .sized(24, 16, 2)
    .running(&["vfmadd231ps", "vaddps"], fp32_avx512)
    .paced_by(fp32_avx512_paced, 52);
/// 256 bits of fp32.
pub(super) const FP32_AVX2: Kernel = FP32_AVX512
    .named("all_pipes/fp32/avx2", Isa::Avx2, &[Feature::Avx2, Feature::Fma])
    .sized(14, 8, 3)
    .running(&["vfmadd231ps", "vaddps"], fp32_avx2)
    .spaced_by(fp32_avx2_spaced, 83)
    .paced_by(fp32_avx2_paced, 42);
