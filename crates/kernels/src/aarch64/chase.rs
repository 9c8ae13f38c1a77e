//! The bodies of the pointer chase.

use core::arch::{asm, naked_asm};

use crate::memory::chase::body::{ChainPlaces, steps_per_round};
use crate::memory::lines::CacheLine;

/// One instruction for each chain whose place has a register: `load` it, `store` it, or a `step` of the chain.
macro_rules! each_register {
    ($what:ident) => {
        each_register!($what, 2 0, 3 8, 4 16, 5 24, 6 32, 7 40, 8 48, 9 56, 10 64, 11 72, 12 80, 13 88, 14 96, 15 104,
            16 112, 17 120, 19 128, 20 136, 21 144, 22 152, 23 160, 24 168, 25 176, 26 184, 27 192, 28 200)
    };
    ($what:ident, $($register:literal $offset:literal),+) => {
        concat!($(".if ", $offset, " < 8 * {chains}\n", each_register!(@$what $register $offset), "\n.endif\n"),+)
    };
    (@load $register:literal $offset:literal) => { concat!("ldr x", $register, ", [x0, #", $offset, "]") };
    (@store $register:literal $offset:literal) => { concat!("str x", $register, ", [x0, #", $offset, "]") };
    (@step $register:literal $offset:literal) => { concat!("ldr x", $register, ", [x", $register, "]") };
}

/// Follows the chains in turn: X0 is their places, X1 the number of rounds.
///
/// The places of the first 26 chains are in registers; those of the other chains stay in memory, and a step loads,
/// follows and stores its place. Safety: as [`crate::memory::chase::body::Body`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn chase<const CHAINS: usize>(places: &mut ChainPlaces, rounds: u64) {
    naked_asm!(
        "stp x19, x20, [sp, #-96]!",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "str x30, [sp, #80]",
        each_register!(load),
        "cbz x1, 3f",
        ".p2align 6",
        "2:",
        ".rept {steps}",
        each_register!(step),
        ".irp offset, 208, 216, 224, 232, 240, 248",
        ".if \\offset < 8 * {chains}",
        "ldr x30, [x0, #\\offset]",
        "ldr x30, [x30]",
        "str x30, [x0, #\\offset]",
        ".endif",
        ".endr",
        ".endr",
        "subs x1, x1, #1",
        "b.ne 2b",
        "3:",
        each_register!(store),
        "ldr x30, [sp, #80]",
        "ldp x27, x28, [sp, #64]",
        "ldp x25, x26, [sp, #48]",
        "ldp x23, x24, [sp, #32]",
        "ldp x21, x22, [sp, #16]",
        "ldp x19, x20, [sp], #96",
        "ret",
        chains = const CHAINS,
        steps = const steps_per_round(CHAINS),
    )
}

/// Prefetches a line that will be written soon.
#[inline]
pub(crate) fn fetch(line: *const CacheLine) {
    // SAFETY: a prefetch of any address is no access.
    unsafe { asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly)) };
}
