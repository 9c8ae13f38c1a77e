//! Floating-point additions of a number and, in turn, of its negative less one unit.

use super::loops::vector_loop;

macro_rules! additions {
    ($name:ident, $kind:tt $($extension:literal)?, $head:literal, $operand:literal, $from:literal) => {
        vector_loop!($name {
            extensions: [$($extension)?], register: $kind,
            operands: "0,1",
            accumulators: "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
            body: 2 x [concat!($head, $operand, "0", $from), concat!($head, $operand, "1", $from)],
        });
    };
}
additions!(fp64_sve, z "sve", "fadd z\\acc\\().d, z\\acc\\().d, ", "z", ".d");
additions!(fp64_neon, q, "fadd v\\acc\\().2d, v\\acc\\().2d, ", "v", ".2d");
additions!(fp64_scalar, d, "fadd d\\acc, d\\acc, ", "d", "");
additions!(fp32_sve, z "sve", "fadd z\\acc\\().s, z\\acc\\().s, ", "z", ".s");
additions!(fp32_neon, q, "fadd v\\acc\\().4s, v\\acc\\().4s, ", "v", ".4s");
additions!(fp32_scalar, s, "fadd s\\acc, s\\acc, ", "s", "");
