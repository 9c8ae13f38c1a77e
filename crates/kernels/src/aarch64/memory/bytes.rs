//! Loops without vectors: the byte loop, and the instruction that zeroes.

use core::arch::naked_asm;

use super::streams::{start, stream};
use crate::memory::kernel::Job;

// Copies one byte per iteration.
stream!(byte_loop, [x1 x2], setup: [], count: "lsl x5, x5, #9",
    block: ["ldrb w7, [x2], #1", "strb w7, [x1], #1"], finish: []);

/// Zeroes a pass by DC ZVA, whose bytes X7 are those of an aligned block; stores zero the lines before the first and after
/// the last one. X1 goes through the target up to X2, X3 is the end of the last block. Safety: as
/// [`crate::memory::kernel::Body`].
#[unsafe(naked)]
pub(super) unsafe extern "C" fn dc_zva(job: &mut Job) -> u64 {
    naked_asm!(
        ".macro assay_zero_line",
        ".irp at, 0,16,32,48",
        "stp xzr, xzr, [x1, #\\at]",
        ".endr",
        "add x1, x1, #64",
        ".endm",
        "mov x9, x0",
        "mov x0, #0",
        // Four bytes, shifted by the lowest four bits.
        "mrs x7, dczid_el0",
        "and x7, x7, #15",
        "mov x8, #4",
        "lsl x7, x8, x7",
        "sub x8, x7, #1",
        "ldp x5, x6, [x9, #32]",
        "cbz x5, 7f",
        "cbz x6, 7f",
        "2:",
        "ldr x1, [x9]",
        "add x2, x1, x5, lsl #9",
        "bic x3, x2, x8",
        "3:",
        "tst x1, x8",
        "b.eq 4f",
        "cmp x1, x2",
        "b.eq 6f",
        "assay_zero_line",
        "b 3b",
        ".p2align 6",
        "4:",
        "cmp x1, x3",
        "b.hs 5f",
        "dc zva, x1",
        "add x1, x1, x7",
        "b 4b",
        "5:",
        "cmp x1, x2",
        "b.eq 6f",
        "assay_zero_line",
        "b 5b",
        "6:",
        "ldr x4, [x9]",
        "add x0, x0, x1",
        "sub x0, x0, x4",
        "subs x6, x6, #1",
        "b.ne 2b",
        "7:",
        "ret",
        ".purgem assay_zero_line",
    )
}
