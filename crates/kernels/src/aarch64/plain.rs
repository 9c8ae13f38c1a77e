//! What a compiler makes of an ordinary scalar loop: `x = x * m + a - s` on some independent variables.
//!
//! The instructions are those of GCC 12 at `-O2`, without its folding of `a - s` and with the loop unrolled: it contracts
//! the multiplication and the addition. C computes `char` and `short` in `int`, so these are loops over 32-bit registers.

use super::loops::vector_loop;

/// Defines a loop over general registers: the operands in register 2 to 5, twelve variables in 6 to 17, each of which
/// takes the instructions of the body in turn. X0 is the register file, X1 the number of iterations.
macro_rules! general_loop {
    ($name:ident, $width:literal, $bytes:literal, $times:literal x [$($step:literal),+]) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut $crate::arithmetic::registers::RegisterFile, iterations: u64) {
            ::core::arch::naked_asm!(
                ".irp operand, 2,3,4,5",
                concat!("ldr ", $width, "\\operand, [x0, #{operands} + {slot} * (\\operand - 2)]"),
                ".endr",
                ".irp acc, 6,7,8,9,10,11,12,13,14,15,16,17",
                concat!("ldr ", $width, "\\acc, [x0, #{results} + ", $bytes, " * (\\acc - 6)]"),
                ".endr",
                "cbz x1, 3f",
                ".p2align 6",
                "2:",
                concat!(".rept ", $times),
                $(concat!(".irp acc, 6,7,8,9,10,11,12,13,14,15,16,17\n", $step, "\n.endr"),)+
                ".endr",
                "subs x1, x1, #1",
                "b.ne 2b",
                "3:",
                ".irp acc, 6,7,8,9,10,11,12,13,14,15,16,17",
                concat!("str ", $width, "\\acc, [x0, #{results} + ", $bytes, " * (\\acc - 6)]"),
                ".endr",
                "ret",
                operands = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, operands),
                results = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, results),
                slot = const $crate::arithmetic::data::SLOT,
            )
        }
    };
}
pub(super) use general_loop;

general_loop!(int8_scalar, "w", 4, 4 x ["madd w\\acc, w\\acc, w2, w3", "sub w\\acc, w\\acc, w4"]);
general_loop!(int16_scalar, "w", 4, 4 x ["madd w\\acc, w\\acc, w2, w3", "sub w\\acc, w\\acc, w4"]);
general_loop!(int32_scalar, "w", 4, 4 x ["madd w\\acc, w\\acc, w2, w3", "sub w\\acc, w\\acc, w4"]);
general_loop!(int64_scalar, "x", 8, 4 x ["madd x\\acc, x\\acc, x2, x3", "sub x\\acc, x\\acc, x4"]);

/// Defines a loop over floating-point registers: 24 variables, the multipliers in register 0 and 1 in turn.
macro_rules! float_loop {
    ($name:ident, $kind:tt) => {
        vector_loop!($name {
            extensions: [], register: $kind, operands: "0,1,2,3",
            accumulators: "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
            body: 2 x [
                float_loop!(@multiply stringify!($kind), "0"), float_loop!(@subtract stringify!($kind)),
                float_loop!(@multiply stringify!($kind), "1"), float_loop!(@subtract stringify!($kind)),
            ],
        });
    };
    (@multiply $register:expr, $by:literal) => {
        concat!("fmadd ", $register, "\\acc, ", $register, "\\acc, ", $register, $by, ", ", $register, "2")
    };
    (@subtract $register:expr) => {
        concat!("fsub ", $register, "\\acc, ", $register, "\\acc, ", $register, "3")
    };
}
float_loop!(fp32_scalar, s);
float_loop!(fp64_scalar, d);
