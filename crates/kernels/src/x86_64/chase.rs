//! The body of the pointer chase.

use core::arch::naked_asm;

use crate::chase::Cycle;
use crate::lines::Line;

/// Follows the chain: RDI is the start, RSI the number of rounds, RAX the place.
///
/// # Safety
/// As [`crate::chase::Body`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn chase(start: *const Line, rounds: u64) -> *const Line {
    naked_asm!(
        "mov rax, rdi",
        "test rsi, rsi",
        "jz 3f",
        ".p2align 6",
        "2:",
        ".rept {loads}",
        "mov rax, [rax]",
        ".endr",
        "dec rsi",
        "jnz 2b",
        "3:",
        "ret",
        loads = const Cycle::LOADS_PER_ROUND,
    )
}
