//! Streams of 64-bit words: read, write, update, copy and the mixes of loads and stores.

use super::streams::{combined, eight, four, group, moved, numbered, start, stream};
use crate::memory::kernel::Job;

// Every vector is loaded, and the first of each eight added to a sum: a sum of all would occupy the pipes more than the
// loads do, and an exclusive or would be zero after an even number of passes.
stream!(read_neon, [x2], setup: ["movi v16.2d, #0", "movi v17.2d, #0"],
    block: [
        ".irp half, 0,256",
        group!("\\half", moved!([neon "ldp"] "" x2)),
        "add v16.2d, v16.2d, v0.2d",
        "add v17.2d, v17.2d, v1.2d",
        group!("\\half+128", moved!([neon "ldp"] "2" x2)),
        ".endr",
        "add x2, x2, #512",
    ],
    finish: ["stp q16, q17, [x9, #128]"]);
stream!(read_sve<GROUPS>, [x2], setup: ["mov z16.d, #0"],
    block: [
        ".rept {groups}",
        moved!([sve "ld1d" "p0/z"] "" x2),
        "add z16.d, z16.d, z0.d",
        "addvl x2, x2, #8",
        ".endr",
    ],
    finish: ["add x9, x9, #128", "st1d {{z16.d}}, p0, [x9]"]);

/// Defines the loops that store eight vectors and advance each by the operand, block after block and pass after pass.
macro_rules! write {
    ($neon:ident, $stp:literal, $sve:ident, $st1:literal, [$($fence:literal)?]) => {
        stream!($neon, [x1],
            setup: [
                "ldr q16, [x9, #64]", group!("128", moved!([neon "ldp"] "" x9)), group!("256", moved!([neon "ldp"] "2" x9))
            ],
            block: [
                ".irp half, 0,256",
                group!("\\half", moved!([neon $stp] "" x1), eight!(["add v", ".2d, v", ".2d, v16.2d"])),
                group!("\\half+128", moved!([neon $stp] "2" x1), eight!(["add v2", ".2d, v2", ".2d, v16.2d"])),
                ".endr",
                "add x1, x1, #512",
            ],
            finish: [$($fence)?]);
        stream!($sve<GROUPS>, [x1],
            setup: [
                "ld1rd {{z16.d}}, p0/z, [x9, #64]", "add x7, x9, #128", moved!([sve "ld1d" "p0/z"] "" x7)
            ],
            block: [
                ".rept {groups}",
                moved!([sve $st1 "p0"] "" x1),
                eight!(["add z", ".d, z", ".d, z16.d"]),
                "addvl x1, x1, #8",
                ".endr",
            ],
            finish: [$($fence)?]);
    };
}

write!(write_neon, "stp", write_sve, "st1d", []);
write!(write_nt_neon, "stnp", write_nt_sve, "stnt1d", ["dsb ishst"]);

combined!(update_neon update_sve through the cache, [x1] from [x1],
    neon: eight!(["add v", ".2d, v", ".2d, v16.2d"]), sve: eight!(["add z", ".d, z", ".d, z16.d"]));
combined!(copy_neon copy_sve through the cache, [x1 x2] from [x2], neon: "", sve: "");
combined!(copy_nt_neon copy_nt_sve past the cache, [x1 x2] from [x2], neon: "", sve: "");
combined!(mix_2_1_neon mix_2_1_sve past the cache, [x1 x2 x3] from [x2 x3],
    neon: eight!(["eor v", ".16b, v", ".16b, v2", ".16b"]), sve: eight!(["eor z", ".d, z", ".d, z2", ".d"]));
combined!(mix_3_1_neon mix_3_1_sve past the cache, [x1 x2 x3 x4] from [x2 x3 x4],
    neon: eight!(["eor v", ".16b, v", ".16b, v2", ".16b"]), sve: eight!(["eor z", ".d, z", ".d, z2", ".d"]));
