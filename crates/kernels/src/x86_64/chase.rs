//! The bodies of the pointer chase.

use core::arch::naked_asm;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use crate::memory::chase::body::{ChainPlaces, steps_per_round};
use crate::memory::lines::CacheLine;

/// One instruction for each chain whose place has a register: `load` it, `store` it, or a `step` of the chain. The
/// conditions are the assembler's, so that one text makes the body of every number of chains.
macro_rules! each_register {
    ($what:ident) => {
        each_register!($what, "rcx" 0, "rdx" 8, "r8" 16, "r9" 24, "r10" 32, "r11" 40, "rbx" 48, "rbp" 56, "r12" 64,
            "r13" 72, "r14" 80, "r15" 88)
    };
    ($what:ident, $($register:literal $offset:literal),+) => {
        concat!($(".if ", $offset, " < 8 * {chains}\n", each_register!(@$what $register $offset), "\n.endif\n"),+)
    };
    (@load $register:literal $offset:literal) => { concat!("mov ", $register, ", [rdi + ", $offset, "]") };
    (@store $register:literal $offset:literal) => { concat!("mov [rdi + ", $offset, "], ", $register) };
    (@step $register:literal $offset:literal) => { concat!("mov ", $register, ", [", $register, "]") };
}

/// Follows the chains in turn: RDI is their places, RSI the number of rounds.
///
/// The places of the first twelve chains are in registers; those of the other chains stay in memory, and a step loads,
/// follows and stores its place: three instructions for one, and some five cycles more from one step to the next (store
/// forwarding). A miss to memory, some hundred cycles long, hides that; in a first-level cache it shows. Safety: as
/// [`crate::memory::chase::body::Body`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn chase<const CHAINS: usize>(places: &mut ChainPlaces, rounds: u64) {
    naked_asm!(
        ".if {chains} > 6",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        ".endif",
        each_register!(load),
        "test rsi, rsi",
        "jz 3f",
        ".p2align 6",
        "2:",
        ".rept {steps}",
        each_register!(step),
        ".irp offset, 96,104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248",
        ".if \\offset < 8 * {chains}",
        "mov rax, [rdi + \\offset]",
        "mov rax, [rax]",
        "mov [rdi + \\offset], rax",
        ".endif",
        ".endr",
        ".endr",
        "dec rsi",
        "jnz 2b",
        "3:",
        each_register!(store),
        ".if {chains} > 6",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        ".endif",
        "ret",
        chains = const CHAINS,
        steps = const steps_per_round(CHAINS),
    )
}

/// Prefetches a line that will be written soon.
#[inline]
pub(crate) fn fetch(line: *const CacheLine) {
    // SAFETY: every x86-64 has SSE, and a prefetch of any address is no access.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}
