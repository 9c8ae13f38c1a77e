//! Matrix products in vectors (I8MM, BF16): in each 128 bits 2 x 2 sums, each of eight products of bytes or four of bf16;
//! and outer products in tiles (SME), of one vector's elements by another's. Bytes have no outer product yet: QEMU up to 8.2
//! computes SMOPA wrongly (its issue 2083), so that tests could not check one.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::loops::{fused_loop, repeated};
use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

fused_loop!(int8_sve, z "sve" "i8mm", "smmla z\\acc\\().s, ", ".b");
fused_loop!(int8_neon_i8mm, q "i8mm", "smmla v\\acc\\().4s, ", ".16b");
fused_loop!(bf16_sve, z "sve" "bf16", "bfmmla z\\acc\\().s, ", ".h");
fused_loop!(bf16_neon_bf16, q "bf16", "bfmmla v\\acc\\().4s, ", ".8h");

/// Defines a loop of outer products in streaming mode, each tile an accumulator. X0 is the register file, X1 the number of
/// iterations, W12 a row of a tile, W11 their number. Starting and stopping the mode sets vectors and tiles to zero, so that
/// nothing is left behind; D8 to D15 belong to the caller.
macro_rules! outer_loop {
    ($name:ident, [$($extension:literal),*], $tiles:literal of $lanes:literal, $move:literal, $rows:literal,
        $head:literal, $from:literal
    ) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                $(concat!(".arch_extension ", $extension),)*
                "stp d8, d9, [sp, #-64]!",
                "stp d10, d11, [sp, #16]",
                "stp d12, d13, [sp, #32]",
                "stp d14, d15, [sp, #48]",
                "smstart",
                "ptrue p0.b",
                concat!($rows, " x11"),
                "mov x9, #{operands}",
                "add x9, x0, x9",
                ".irp operand, 0,1,2,3",
                "ldr z\\operand, [x9]",
                "add x9, x9, #{slot}",
                ".endr",
                outer_loop!(@each_row $tiles, $lanes, concat!("ld1", $move), "p0/z"),
                "cbz x1, 3f",
                ".p2align 6",
                "2:",
                repeated!(4, concat!(
                    ".irp acc, ", $tiles, "\n", $head, "p0/m, p0/m, z0", $from, ", z1", $from, "\n.endr\n",
                    ".irp acc, ", $tiles, "\n", $head, "p0/m, p0/m, z2", $from, ", z3", $from, "\n.endr\n",
                )),
                "subs x1, x1, #1",
                "b.ne 2b",
                "3:",
                outer_loop!(@each_row $tiles, $lanes, concat!("st1", $move), "p0"),
                "smstop",
                "ldp d14, d15, [sp, #48]",
                "ldp d12, d13, [sp, #32]",
                "ldp d10, d11, [sp, #16]",
                "ldp d8, d9, [sp], #64",
                "ret",
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
    (@each_row $tiles:literal, $lanes:literal, $move:expr, $active:literal) => {
        concat!(
            "mov x9, #{results}\n",
            "add x9, x0, x9\n",
            ".irp acc, ", $tiles, "\n",
            "mov w12, #0\n",
            "4:\n",
            $move, " {{za\\acc\\()h", $lanes, "[w12, 0]}}, ", $active, ", [x9]\n",
            "addvl x9, x9, #1\n",
            "add w12, w12, #1\n",
            "cmp w12, w11\n",
            "b.ne 4b\n",
            ".endr",
        )
    };
}
outer_loop!(bf16_sme, ["sme"], "0,1,2,3" of ".s", "w", "cntw", "bfmopa za\\acc\\().s, ", ".h");
outer_loop!(fp16_sme, ["sme"], "0,1,2,3" of ".s", "w", "cntw", "fmopa za\\acc\\().s, ", ".h");
outer_loop!(fp32_sme, ["sme"], "0,1,2,3" of ".s", "w", "cntw", "fmopa za\\acc\\().s, ", ".s");
outer_loop!(fp64_sme, ["sme", "sme-f64f64"], "0,1,2,3,4,5,6,7" of ".d", "d", "cntd", "fmopa za\\acc\\().d, ", ".d");
