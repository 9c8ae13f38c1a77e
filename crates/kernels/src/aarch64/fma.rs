//! Floating-point multiply-add, which every 64-bit Arm core fuses.

use super::loops::{fused_loop, vector_loop};

fused_loop!(fp64_sve, z "sve", "fmla z\\acc\\().d, p0/m, ", ".d");
fused_loop!(fp64_neon, q, "fmla v\\acc\\().2d, ", ".2d");
fused_loop!(fp64_scalar, d, "fmadd d\\acc, ", "" => ", d\\acc");
fused_loop!(fp32_sve, z "sve", "fmla z\\acc\\().s, p0/m, ", ".s");
fused_loop!(fp32_neon, q, "fmla v\\acc\\().4s, ", ".4s");
fused_loop!(fp32_scalar, s, "fmadd s\\acc, ", "" => ", s\\acc");

/// Defines a loop of half precision, which has so few bits that an accumulator can only advance by one unit per
/// iteration: of eleven pairs of steps, five take back what the pair before has added.
macro_rules! half_loop {
    ($name:ident, $kind:tt, $extension:literal, $head:literal, $register:literal, $from:literal) => {
        vector_loop!($name {
            extensions: [$extension], register: $kind,
            operands: "0,1,2,3,4,5",
            accumulators: "6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29",
            body:
                1 x [
                    concat!($head, $register, "0", $from, ", ", $register, "1", $from),
                    concat!($head, $register, "2", $from, ", ", $register, "3", $from),
                ],
                5 x [
                    concat!($head, $register, "4", $from, ", ", $register, "1", $from),
                    concat!($head, $register, "5", $from, ", ", $register, "3", $from),
                    concat!($head, $register, "0", $from, ", ", $register, "1", $from),
                    concat!($head, $register, "2", $from, ", ", $register, "3", $from),
                ],
        });
    };
}
half_loop!(fp16_sve, z, "sve", "fmla z\\acc\\().h, p0/m, ", "z", ".h");
half_loop!(fp16_neon_fp16, q, "fp16", "fmla v\\acc\\().8h, ", "v", ".8h");
