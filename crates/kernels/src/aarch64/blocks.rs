//! The bodies of block accesses: the next block by addition or by a generated permutation, then its bytes.
//!
//! Registers: X0 the state, X1 the accesses left, X2 and X3 the starts of source and target, X4 and X5 the offsets of the
//! current blocks and then the addresses in them, X6 and X7 the counters of source and target, X8 their step, X9 the mask
//! and X10 the shift of the scrambles, X11 bytes of a block, X12 the pieces left, X13 to X15 as a body needs them, X16 and
//! X17, X19 and X20 the multipliers of source and target. A body of scalable vectors has the number of vectors in a line
//! as a parameter. NEON moves pairs of registers.

use core::arch::naked_asm;
use core::mem::offset_of;

use model::isa::Isa;
use model::isa::MemoryOp::{self, Copy, Read, Write};

use crate::aarch64::memory::{begin, eight, four, group, moved, numbered};
use crate::features::Feature;
use crate::memory::blocks::content::WORD_BYTES;
use crate::memory::blocks::kernel::Sequence::{Ascending, Random};
use crate::memory::blocks::kernel::{BlockKernel, Blocks, Body, Sequence, State, multiplier};

// The bodies load or store both counters at once.
const _: () = assert!(offset_of!(State, target) == offset_of!(State, source) + 8 && offset_of!(State, lanes) == 0);

/// The offset in bytes of the next block: of the source in X4, of the target in X5.
macro_rules! next {
    (ascending source) => {
        "mov x4, x6\nadd x6, x6, x8"
    };
    (ascending target) => {
        "mov x5, x7\nadd x7, x7, x8"
    };
    (random source) => {
        "assay_scramble x4, x6, x16, x17\nmul x4, x4, x11"
    };
    (random target) => {
        "assay_scramble x5, x7, x19, x20\nmul x5, x5, x11"
    };
    (random_words source) => {
        "assay_scramble x4, x6, x16, x17\nlsl x4, x4, #3"
    };
    (random_words target) => {
        "assay_scramble x5, x7, x19, x20\nlsl x5, x5, #3"
    };
}

/// Defines a function that runs `each` for each access, and `before` and `after` once.
macro_rules! for_each_block {
    ($(#[$doc:meta])* $visible:vis $name:ident $(<$parts:ident>)?,
     before: [$($before:expr),* $(,)?], each: [$($each:expr),* $(,)?], after: [$($after:expr),* $(,)?],
     $($operand:ident),* $(,)?) => {
        $(#[$doc])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name$(<const $parts: usize>)?(
            state: &mut State, count: u64, source: *const u64, target: *mut u64,
        ) {
            naked_asm!(
                $(begin!($parts),)?
                ".macro assay_constant register, value",
                "movz \\register, #(\\value & 0xffff)",
                "movk \\register, #(\\value >> 16), lsl #16",
                ".endm",
                // The text of `State::scrambled`.
                ".macro assay_scramble block, counter, first, second",
                "and \\block, \\counter, x9",
                "add \\counter, \\counter, x8",
                ".irp factor, \\first, \\second",
                "lsr x13, \\block, x10",
                "eor \\block, \\block, x13",
                "mul \\block, \\block, \\factor",
                "and \\block, \\block, x9",
                ".endr",
                "lsr x13, \\block, x10",
                "eor \\block, \\block, x13",
                ".endm",
                "stp x19, x20, [sp, #-16]!",
                "ldp x6, x7, [x0, #{source}]",
                "ldr x8, [x0, #{step}]",
                "ldr x9, [x0, #{mask}]",
                "ldr x10, [x0, #{shift}]",
                "ldr x11, [x0, #{block_bytes}]",
                concat!("assay_constant x16, ", multiplier!(source 0)),
                concat!("assay_constant x17, ", multiplier!(source 1)),
                concat!("assay_constant x19, ", multiplier!(target 0)),
                concat!("assay_constant x20, ", multiplier!(target 1)),
                $($before,)*
                "cbz x1, 9f",
                ".p2align 6",
                "2:",
                $($each,)*
                "subs x1, x1, #1",
                "b.ne 2b",
                "9:",
                $($after,)*
                "stp x6, x7, [x0, #{source}]",
                "ldp x19, x20, [sp], #16",
                "ret",
                ".purgem assay_constant",
                ".purgem assay_scramble",
                source = const offset_of!(State, source),
                step = const offset_of!(State, step),
                mask = const offset_of!(State, mask),
                shift = const offset_of!(State, shift),
                block_bytes = const offset_of!(State, block_bytes),
                $($operand = const offset_of!(State, $operand),)*
                $(parts = const $parts,)?
            )
        }
    };
}

/// The loop over the pieces of one size: chunks from label 3 to 4, lines from 5 to 6, words from 7 to 8.
macro_rules! pieces {
    ($field:literal, $this:literal, $past:literal, $($step:expr),+) => {
        concat!(
            "ldr x12, [x0, #{", $field, "}]\ncbz x12, ", $past, "f\n.p2align 4\n", $this, ":\n",
            $($step, "\n",)+
            "subs x12, x12, #1\nb.ne ", $this, "b\n", $past, ":",
        )
    };
}

/// Both pairs of a line, from or to a pointer.
macro_rules! line {
    ($move:literal $digit:literal $cursor:literal $at:literal) => {
        concat!(
            $move, " q", $digit, "0, q", $digit, "1, [", $cursor, ", #", $at, "]\n", $move, " q", $digit, "2, q",
            $digit, "3, [", $cursor, ", #", $at, "+32]",
        )
    };
}

/// An instruction for each scalable vector of a line, one or two, whose number lies between its texts.
macro_rules! each_part {
    ($texts:tt) => {
        concat!(numbered!(0 $texts), ".if {parts} > 1\n", numbered!(1 $texts), ".endif")
    };
}

macro_rules! reads {
    ($neon:ident $sve:ident $words:ident, $order:ident $order_of_words:ident) => {
        reads!(@ $neon, $order, clear: ["movi v", ".2d, #0"],
            chunk: [
                group!("0,128,256,384", moved!([neon "ldp"] "2" x4), eight!(["add v", ".2d, v", ".2d, v2", ".2d"])),
                "add x4, x4, #512"
            ],
            line: [
                line!("ldp" "2" "x4" "0"), four!(["add v", ".2d, v", ".2d, v2", ".2d"]), "add x4, x4, #64"
            ],
            reduce: "add v0.2d, v0.2d, v\\i\\().2d", store: "str q0, [x0, #{sums}]");
        reads!(@ $sve<PARTS>, $order, clear: ["mov z", ".d, #0"],
            chunk: [
                ".rept {parts}", moved!([sve "ld1d" "p0/z"] "2" x4), eight!(["add z", ".d, z", ".d, z2", ".d"]),
                "addvl x4, x4, #8\n.endr"
            ],
            line: [
                each_part!(["ld1d {{z2", ".d}}, p0/z, [x4, #", ", mul vl]"]), each_part!(["add z", ".d, z", ".d, z2", ".d"]),
                "add x4, x4, #64"
            ],
            reduce: "add z0.d, z0.d, z\\i\\().d", store: "add x13, x0, #{sums}\nst1d {{z0.d}}, p0, [x13]");
        for_each_block!($words,
            before: ["mov x15, #0"],
            each: [next!($order_of_words source), "ldr x14, [x2, x4]", "add x15, x15, x14"],
            after: ["str x15, [x0, #{word_sum}]"],
            word_sum);
    };
    (@ $name:ident $(<$parts:ident>)?, $order:ident, clear: $clear:tt,
     chunk: [$($chunk:expr),+], line: [$($line:expr),+], reduce: $reduce:literal, store: $store:literal) => {
        for_each_block!($name $(<$parts>)?,
            before: ["mov x15, #0", eight!($clear)],
            each: [
                next!($order source),
                "add x4, x4, x2",
                pieces!("chunks", "3", "4", $($chunk),+),
                pieces!("lines", "5", "6", $($line),+),
                pieces!("words", "7", "8", "ldr x14, [x4]", "add x15, x15, x14", "add x4, x4, #8"),
            ],
            after: [".irp i, 1,2,3,4,5,6,7", $reduce, ".endr", $store, "str x15, [x0, #{word_sum}]"],
            chunks, lines, words, sums, word_sum);
    };
}

reads!(read_ascending_neon read_ascending_sve read_ascending_words, ascending ascending);
reads!(read_random_neon read_random_sve read_random_words, random random_words);

macro_rules! writes {
    ($neon:ident $sve:ident $words:ident, $order:ident $order_of_words:ident) => {
        writes!(@ $neon, $order, step: "ldr q16, [x0, #{line_step}]", spread: "dup v17.2d, x14",
            begin: [line!("ldp" "" "x0" "0"), four!(["add v", ".2d, v", ".2d, v17.2d"])],
            chunk: [
                ".irp line, 0,64,128,192,256,320,384,448", line!("stp" "" "x5" "\\line"),
                four!(["add v", ".2d, v", ".2d, v16.2d"]), ".endr", "add x5, x5, #512"
            ],
            line: [
                line!("stp" "" "x5" "0"), four!(["add v", ".2d, v", ".2d, v16.2d"]), "add x5, x5, #64"
            ]);
        writes!(@ $sve<PARTS>, $order, step: "ld1rd {{z16.d}}, p0/z, [x0, #{line_step}]", spread: "mov z17.d, x14",
            begin: [
                each_part!(["ld1d {{z", ".d}}, p0/z, [x0, #", ", mul vl]"]), each_part!(["add z", ".d, z", ".d, z17.d"])
            ],
            chunk: [
                ".rept 8", each_part!(["st1d {{z", ".d}}, p0, [x5, #", ", mul vl]"]),
                each_part!(["add z", ".d, z", ".d, z16.d"]), "add x5, x5, #64\n.endr"
            ],
            line: [
                each_part!(["st1d {{z", ".d}}, p0, [x5, #", ", mul vl]"]), each_part!(["add z", ".d, z", ".d, z16.d"]),
                "add x5, x5, #64"
            ]);
        for_each_block!($words,
            before: ["ldr x14, [x0, #{byte_step}]", "ldr x15, [x0, #{first}]"],
            each: [next!($order_of_words target), "madd x13, x5, x14, x15", "str x13, [x3, x5]"],
            after: [],
            first, byte_step);
    };
    (@ $name:ident $(<$parts:ident>)?, $order:ident, step: $step:literal, spread: $spread:literal,
     begin: [$($begin:expr),+], chunk: [$($chunk:expr),+], line: [$($line:expr),+]) => {
        for_each_block!($name $(<$parts>)?,
            before: ["ldr x15, [x0, #{byte_step}]", $step],
            each: [
                next!($order target),
                "ldr x14, [x0, #{first}]",
                "madd x14, x5, x15, x14",
                "add x5, x5, x3",
                $spread,
                $($begin,)+
                pieces!("chunks", "3", "4", $($chunk),+),
                pieces!("lines", "5", "6", $($line),+),
                "fmov x14, d0",
                "ldr x13, [x0, #{word_step}]",
                pieces!("words", "7", "8", "str x14, [x5]", "add x14, x14, x13", "add x5, x5, #8"),
            ],
            after: [],
            chunks, lines, words, first, byte_step, word_step, line_step);
    };
}

writes!(write_ascending_neon write_ascending_sve write_ascending_words, ascending ascending);
writes!(write_random_neon write_random_sve write_random_words, random random_words);

macro_rules! copies {
    ($neon:ident $sve:ident $words:ident, $order:ident $order_of_words:ident) => {
        copies!(@ $neon, $order,
            chunk: [
                group!("0,128,256,384", moved!([neon "ldp"] "" x4), moved!([neon "stp"] "" x5)),
                "add x4, x4, #512\nadd x5, x5, #512"
            ],
            line: [line!("ldp" "" "x4" "0"), line!("stp" "" "x5" "0")]);
        copies!(@ $sve<PARTS>, $order,
            chunk: [
                ".rept {parts}", moved!([sve "ld1d" "p0/z"] "" x4), moved!([sve "st1d" "p0"] "" x5),
                "addvl x4, x4, #8\naddvl x5, x5, #8\n.endr"
            ],
            line: [
                each_part!(["ld1d {{z", ".d}}, p0/z, [x4, #", ", mul vl]"]),
                each_part!(["st1d {{z", ".d}}, p0, [x5, #", ", mul vl]"])
            ]);
        for_each_block!($words,
            before: [],
            each: [
                next!($order_of_words source), next!($order_of_words target), "ldr x14, [x2, x4]", "str x14, [x3, x5]"
            ],
            after: [],);
    };
    (@ $name:ident $(<$parts:ident>)?, $order:ident, chunk: [$($chunk:expr),+], line: [$($line:expr),+]) => {
        for_each_block!($name $(<$parts>)?,
            before: [],
            each: [
                next!($order source),
                next!($order target),
                "add x4, x4, x2",
                "add x5, x5, x3",
                pieces!("chunks", "3", "4", $($chunk),+),
                pieces!("lines", "5", "6", $($line,)+ "add x4, x4, #64", "add x5, x5, #64"),
                pieces!("words", "7", "8", "ldr x14, [x4]", "str x14, [x5]", "add x4, x4, #8", "add x5, x5, #8"),
            ],
            after: [],
            chunks, lines, words);
    };
}

copies!(copy_ascending_neon copy_ascending_sve copy_ascending_words, ascending ascending);
copies!(copy_random_neon copy_random_sve copy_random_words, random random_words);

for_each_block!(increment_random_words,
    before: [],
    each: [next!(random_words target), "ldr x14, [x3, x5]", "add x14, x14, #1", "str x14, [x3, x5]"],
    after: [],);

for_each_block!(
    /// Generates the order of the source and adds up the blocks' offsets. Safety: none is needed; the signature is that
    /// of the other bodies.
    pub(crate) order_of_one,
    before: ["mov x15, #0"],
    each: [next!(random source), "add x15, x15, x4"],
    after: ["str x15, [x0, #{word_sum}]"],
    word_sum);

for_each_block!(
    /// Generates the orders of both sides and adds up the blocks' offsets. Safety: none is needed; the signature is that
    /// of the other bodies.
    pub(crate) order_of_two,
    before: ["mov x15, #0"],
    each: [next!(random source), next!(random target), "add x15, x15, x4", "add x15, x15, x5"],
    after: ["str x15, [x0, #{word_sum}]"],
    word_sum);

/// The increment of single words at random, and what the rows of single words have in common.
const INCREMENT: BlockKernel = BlockKernel {
    name: "blocks/increment/random/words",
    op: MemoryOp::Increment,
    sequence: Random,
    blocks: Blocks::Word,
    isa: Isa::Scalar,
    requires: &[],
    vector_bytes: WORD_BYTES,
    load: Some("ldr"),
    store: Some("str"),
    body: increment_random_words,
};
/// What the rows of a width have in common.
const NEON: BlockKernel =
    BlockKernel { blocks: Blocks::Any, isa: Isa::Neon, requires: &[Feature::Asimd], vector_bytes: 32, ..INCREMENT };
const SVE256: BlockKernel = BlockKernel { isa: Isa::Sve, requires: &[Feature::Sve256], vector_bytes: 32, ..NEON };
const SVE512: BlockKernel = BlockKernel { isa: Isa::Sve, requires: &[Feature::Sve512], vector_bytes: 64, ..NEON };

/// A row whose moves follow from its width and operation.
const fn row(like: BlockKernel, name: &'static str, op: MemoryOp, sequence: Sequence, body: Body) -> BlockKernel {
    let (load, store) = match like.isa {
        Isa::Scalar => ("ldr", "str"),
        Isa::Neon => ("ldp", "stp"),
        _ => ("ld1d", "st1d"),
    };
    let moves = match op {
        Read => (Some(load), None),
        Write => (None, Some(store)),
        _ => (Some(load), Some(store)),
    };
    like.row(name, op, sequence, moves, body)
}

/// Defines a table by operations and orders with their bodies.
macro_rules! rows {
    ($($name:literal $op:ident $sequence:ident: $words:ident $sve:ident $neon:ident;)+) => {
        &[
            $(
                row(INCREMENT, concat!($name, "/words"), $op, $sequence, $words),
                row(SVE512, concat!($name, "/sve/512"), $op, $sequence, $sve::<1>),
                row(SVE256, concat!($name, "/sve/256"), $op, $sequence, $sve::<2>),
                row(NEON, concat!($name, "/neon"), $op, $sequence, $neon),
            )+
            INCREMENT,
        ]
    };
}

/// Rows by operation and order; within these, single words first, then widest.
pub(crate) static KERNELS: &[BlockKernel] = rows![
    "blocks/read/ascending" Read Ascending: read_ascending_words read_ascending_sve read_ascending_neon;
    "blocks/read/random" Read Random: read_random_words read_random_sve read_random_neon;
    "blocks/write/ascending" Write Ascending: write_ascending_words write_ascending_sve write_ascending_neon;
    "blocks/write/random" Write Random: write_random_words write_random_sve write_random_neon;
    "blocks/copy/ascending" Copy Ascending: copy_ascending_words copy_ascending_sve copy_ascending_neon;
    "blocks/copy/random" Copy Random: copy_random_words copy_random_sve copy_random_neon;
];
