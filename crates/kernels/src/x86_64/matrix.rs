//! Products of matrix tiles (AMX): 16 x 16 sums of 32 bits, each of 64 products of bytes or 32 of 16-bit elements.
//!
//! The second operand lies as the instructions want it: four rows of bytes (two of 16-bit elements) interleaved, so
//! that the factors of one column that are multiplied at once are adjacent.
//!
//! A caller must have asked the operating system for its permission to use tiles, or the first instruction faults.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

/// Defines a loop of one instruction on eight tiles: four accumulators in TMM0-3, operands in TMM4-7. Four take longer
/// than the latency of one (52 cycles against 16 each on Sapphire Rapids: Intel's optimization manual, chapter on AMX).
/// RDI is the register file, RSI the number of iterations, RAX the bytes from row to row. The paced function has 24
/// dependent additions of R9 to R8 after every instruction (`Pace`).
macro_rules! tile_loop {
    ($name:ident, $paced:ident, $instruction:literal) => {
        tile_loop!(@function $name, $instruction, "0");
        tile_loop!(@function $paced, $instruction, "24");
    };
    (@function $name:ident, $instruction:literal, $additions:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                "ldtilecfg [rdi + {tiles}]",
                "mov eax, 64",
                ".irp acc, 0,1,2,3",
                "tileloadd tmm\\acc, [rdi + rax + {results} + {slot} * \\acc]",
                ".endr",
                ".irp operand, 4,5,6,7",
                "tileloadd tmm\\operand, [rdi + rax + {operands} + {slot} * (\\operand - 4)]",
                ".endr",
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept 4",
                ".irp acc, 0,1,2,3",
                concat!($instruction, " tmm\\acc, tmm4, tmm5"),
                concat!(".rept ", $additions),
                "add r8, r9",
                ".endr",
                ".endr",
                ".irp acc, 0,1,2,3",
                concat!($instruction, " tmm\\acc, tmm6, tmm7"),
                concat!(".rept ", $additions),
                "add r8, r9",
                ".endr",
                ".endr",
                ".endr",
                "dec rsi",
                "jnz 2b",
                "3:",
                ".irp acc, 0,1,2,3",
                "tilestored [rdi + rax + {results} + {slot} * \\acc], tmm\\acc",
                ".endr",
                "tilerelease",
                "ret",
                tiles = const offset_of!(RegisterFile, tiles),
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
}
tile_loop!(int8_amx, int8_amx_paced, "tdpbusd");
tile_loop!(bf16_amx, bf16_amx_paced, "tdpbf16ps");
tile_loop!(fp16_amx, fp16_amx_paced, "tdpfp16ps");
