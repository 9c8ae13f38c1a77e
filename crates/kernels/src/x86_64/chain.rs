//! The bodies of the clock chains.

use core::arch::naked_asm;

/// Defines a chain of one two-operand instruction from RSI into RAX; RDI is the start, RDX the number of iterations.
macro_rules! chain {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
            naked_asm!(
                "mov rax, rdi",
                "test rdx, rdx",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept {length}",
                $instruction,
                ".endr",
                "dec rdx",
                "jnz 2b",
                "3:",
                "ret",
                length = const LENGTH,
            )
        }
    };
}

chain!(add, "add rax, rsi");
chain!(imul, "imul rax, rsi");
