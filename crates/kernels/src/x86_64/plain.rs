//! What a compiler makes of an ordinary scalar loop: `x = x * m + a - s` on some independent variables.
//!
//! The instructions are those of GCC 12 at `-O2 -fno-tree-vectorize`, without its folding of `a - s` and with the loop
//! unrolled. In general registers the variables' steps follow one another: GCC's order keeps Zen 4 at 1.875 instructions a
//! cycle instead of three, as additions that wait take the one unit that multiplies (probed, 2026-11). C computes `char` and
//! `short` in `int`, so these are loops over 32-bit registers. There are as many variables as registers allow.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::loops::vector_loop;
use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

/// Defines a loop over general registers: ten variables, the operands in (R)AX, (R)CX and (R)DX. RDI is the register
/// file, RSI the number of iterations; the registers that belong to the caller are saved around it.
macro_rules! general_loop {
    ($name:ident, 32) => {
        general_loop!($name, 4, ["eax", "ecx", "edx"], "r8d,r9d,r10d,r11d,r12d,r13d,r14d,r15d,ebx,ebp",
            (0, "r8d"), (1, "r9d"), (2, "r10d"), (3, "r11d"), (4, "r12d"),
            (5, "r13d"), (6, "r14d"), (7, "r15d"), (8, "ebx"), (9, "ebp"));
    };
    ($name:ident, 64) => {
        general_loop!($name, 8, ["rax", "rcx", "rdx"], "r8,r9,r10,r11,r12,r13,r14,r15,rbx,rbp",
            (0, "r8"), (1, "r9"), (2, "r10"), (3, "r11"), (4, "r12"),
            (5, "r13"), (6, "r14"), (7, "r15"), (8, "rbx"), (9, "rbp"));
    };
    ($name:ident, $bytes:literal, [$m:literal, $a:literal, $s:literal], $accumulators:literal,
        $(($index:literal, $register:literal)),+
    ) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            naked_asm!(
                ".irp saved, rbx,rbp,r12,r13,r14,r15",
                "push \\saved",
                ".endr",
                concat!("mov ", $m, ", [rdi + {operands}]"),
                concat!("mov ", $a, ", [rdi + {operands} + {slot}]"),
                concat!("mov ", $s, ", [rdi + {operands} + 2 * {slot}]"),
                $(concat!("mov ", $register, ", [rdi + {results} + ", $bytes, " * ", $index, "]"),)+
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept 4",
                concat!(".irp acc, ", $accumulators),
                concat!("imul \\acc, ", $m),
                concat!("add \\acc, ", $a),
                concat!("sub \\acc, ", $s),
                ".endr",
                ".endr",
                "dec rsi",
                "jnz 2b",
                "3:",
                $(concat!("mov [rdi + {results} + ", $bytes, " * ", $index, "], ", $register),)+
                ".irp saved, r15,r14,r13,r12,rbp,rbx",
                "pop \\saved",
                ".endr",
                "ret",
                operands = const offset_of!(RegisterFile, operands),
                results = const offset_of!(RegisterFile, results),
                slot = const SLOT,
            )
        }
    };
}
general_loop!(int8_scalar, 32);
general_loop!(int16_scalar, 32);
general_loop!(int32_scalar, 32);
general_loop!(int64_scalar, 64);

/// Defines a loop over 12 variables in XMM4-15, four at a time, which are doubled and halved in turn.
macro_rules! float_loop {
    ($name:ident, $spaced:ident, $bytes:literal, $move:literal, $mul:literal, $add:literal, $sub:literal) => {
        vector_loop!($name {
            register: "xmm", bytes: $bytes, load_store: $move, operands: 0, "0,1,2,3",
            accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
            body: 2 x [
                @ "4,5,6,7" concat!($mul, " xmm\\acc, xmm0"), @ "4,5,6,7" concat!($add, " xmm\\acc, xmm2"),
                @ "4,5,6,7" concat!($sub, " xmm\\acc, xmm3"),
                @ "8,9,10,11" concat!($mul, " xmm\\acc, xmm0"), @ "8,9,10,11" concat!($add, " xmm\\acc, xmm2"),
                @ "8,9,10,11" concat!($sub, " xmm\\acc, xmm3"),
                @ "12,13,14,15" concat!($mul, " xmm\\acc, xmm0"), @ "12,13,14,15" concat!($add, " xmm\\acc, xmm2"),
                @ "12,13,14,15" concat!($sub, " xmm\\acc, xmm3"),
                @ "4,5,6,7" concat!($mul, " xmm\\acc, xmm1"), @ "4,5,6,7" concat!($add, " xmm\\acc, xmm2"),
                @ "4,5,6,7" concat!($sub, " xmm\\acc, xmm3"),
                @ "8,9,10,11" concat!($mul, " xmm\\acc, xmm1"), @ "8,9,10,11" concat!($add, " xmm\\acc, xmm2"),
                @ "8,9,10,11" concat!($sub, " xmm\\acc, xmm3"),
                @ "12,13,14,15" concat!($mul, " xmm\\acc, xmm1"), @ "12,13,14,15" concat!($add, " xmm\\acc, xmm2"),
                @ "12,13,14,15" concat!($sub, " xmm\\acc, xmm3"),
            ],
            finish: "",
        }, spaced: $spaced, "1", "144 - 1");
    };
}
float_loop!(fp32_scalar, fp32_scalar_spaced, 4, "movss", "mulss", "addss", "subss");
float_loop!(fp64_scalar, fp64_scalar_spaced, 8, "movsd", "mulsd", "addsd", "subsd");
