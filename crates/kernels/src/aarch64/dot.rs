//! Dot products of narrow elements into 32-bit sums: bytes and words into whole numbers that wrap, bf16 into fp32.
//!
//! NEON since Armv8.2 and SVE have one instruction for four products of bytes. Before, one instruction multiplies bytes into 16
//! bits and another sums pairs of products.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::loops::{fused_loop, vector_loop};
use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

fused_loop!(int8_sve, z "sve", "sdot z\\acc\\().s, ", ".b");
fused_loop!(int8_neon_i8mm, q "i8mm", "usdot v\\acc\\().4s, ", ".16b");
fused_loop!(int8_neon_dotprod, q "dotprod", "sdot v\\acc\\().4s, ", ".16b");
fused_loop!(int16_neon, q, "smlal v\\acc\\().4s, ", ".4h");
fused_loop!(bf16_sve, z "sve" "bf16", "bfdot z\\acc\\().s, ", ".h");
fused_loop!(bf16_neon_bf16, q "bf16", "bfdot v\\acc\\().4s, ", ".8h");
// Products are in V10 to V19.
vector_loop!(int8_neon {
    extensions: [], register: q, operands: "20,21,22,23", accumulators: "0,1,2,3,4,5,6,7,8,9",
    body: 2 x [
        "smull v1\\acc\\().8h, v20.8b, v21.8b",
        "sadalp v\\acc\\().4s, v1\\acc\\().8h",
        "smull v1\\acc\\().8h, v22.8b, v23.8b",
        "sadalp v\\acc\\().4s, v1\\acc\\().8h",
    ],
});

/// Defines a loop of one product at a time; eight accumulators in W5 to W12. The first factors stay in W2 and W3, the
/// second ones are extended from memory at each use (loads that the first-level cache answers), four ahead in W13 to W16.
macro_rules! scalar_loop {
    ($name:ident, first: $first:literal, second: $second:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                concat!($first, " w2, [x0, #{operands}]"),
                concat!($first, " w3, [x0, #{operands} + 2 * {slot}]"),
                ".irp acc, 5,6,7,8,9,10,11,12",
                "ldr w\\acc, [x0, #{results} + 4 * (\\acc - 5)]",
                ".endr",
                "cbz x1, 3f",
                ".p2align 6",
                "2:",
                ".rept 2",
                ".irp factor, 2,3",
                scalar_loop!(@four $second, "5", "6", "7", "8"),
                scalar_loop!(@four $second, "9", "10", "11", "12"),
                ".endr",
                ".endr",
                "subs x1, x1, #1",
                "b.ne 2b",
                "3:",
                ".irp acc, 5,6,7,8,9,10,11,12",
                "str w\\acc, [x0, #{results} + 4 * (\\acc - 5)]",
                ".endr",
                "ret",
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
    (@four $second:literal, $a:literal, $b:literal, $c:literal, $d:literal) => {
        concat!(
            ".irp product, 13,14,15,16\n",
            $second, " w\\product, [x0, #{operands} + (2 * \\factor - 3) * {slot}]\n",
            ".endr\n",
            "madd w", $a, ", w13, w\\factor, w", $a, "\n",
            "madd w", $b, ", w14, w\\factor, w", $b, "\n",
            "madd w", $c, ", w15, w\\factor, w", $c, "\n",
            "madd w", $d, ", w16, w\\factor, w", $d,
        )
    };
}
scalar_loop!(int8_scalar, first: "ldrb", second: "ldrsb");
scalar_loop!(int16_scalar, first: "ldrsh", second: "ldrsh");
