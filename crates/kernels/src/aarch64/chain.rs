//! The bodies of the clock chains.

use core::arch::naked_asm;

/// Defines a chain of one instruction from X1 into X0, where it starts; X2 is the number of iterations.
macro_rules! chain {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
            naked_asm!(
                "cbz x2, 3f",
                ".p2align 6",
                "2:",
                ".rept {length}",
                $instruction,
                ".endr",
                "subs x2, x2, #1",
                "b.ne 2b",
                "3:",
                "ret",
                length = const LENGTH,
            )
        }
    };
}

chain!(add, "add x0, x0, x1");
chain!(sub, "sub x0, x0, x1");
