//! What the bodies of all memory streams have in common.

use core::mem::offset_of;

use crate::memory::kernel::Job;

// The offsets that are spelt out in the assembly below.
const _: () = {
    assert!(offset_of!(Job, target) == 0 && offset_of!(Job, sources) == 8);
    assert!(offset_of!(Job, blocks) == 32 && offset_of!(Job, passes) == 40);
    assert!(offset_of!(Job, operand) == 64 && offset_of!(Job, vectors) == 128);
};

/// Where the job says that this pointer begins.
macro_rules! start {
    (x1) => {
        "[x9]"
    };
    (x2) => {
        "[x9, #8]"
    };
    (x3) => {
        "[x9, #16]"
    };
    (x4) => {
        "[x9, #24]"
    };
}

/// Defines a stream by the pointers that it advances, what it does once before the first block (`setup`), to each
/// `block`, and behind the last one (`finish`); `count` makes other iterations of the blocks. A body of scalable vectors
/// has the number of its groups of eight vectors in a block as a parameter.
macro_rules! stream {
    ($name:ident $(<$groups:ident>)?, [$first:ident $($other:ident)*], setup: [$($setup:expr),*],
     $(count: $count:literal,)? block: [$($block:expr),+ $(,)?], finish: [$($finish:expr),*]) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name$(<const $groups: usize>)?(job: &mut Job) -> u64 {
            core::arch::naked_asm!(
                $($crate::aarch64::memory::streams::begin!($groups),)?
                "mov x9, x0",
                "mov x0, #0",
                $($setup,)*
                "ldp x5, x6, [x9, #32]",
                $($count,)?
                "cbz x5, 3f",
                "cbz x6, 3f",
                concat!("ldr ", stringify!($first), ", ", start!($first)),
                $(concat!("ldr ", stringify!($other), ", ", start!($other)),)*
                ".p2align 6",
                "2:",
                $($block,)+
                "subs x5, x5, #1",
                "b.ne 2b",
                concat!("ldr x7, ", start!($first)),
                concat!("add x0, x0, ", stringify!($first)),
                "sub x0, x0, x7",
                concat!("mov ", stringify!($first), ", x7"),
                $(concat!("ldr ", stringify!($other), ", ", start!($other)),)*
                "ldr x5, [x9, #32]",
                $($count,)?
                "subs x6, x6, #1",
                "b.ne 2b",
                "3:",
                $($finish,)*
                "ret",
                $(groups = const $groups,)?
            )
        }
    };
}

/// Lets the assembler accept scalable vectors, and makes all their lanes active.
macro_rules! begin {
    ($groups:ident) => {
        ".arch_extension sve\nptrue p0.d"
    };
}

/// A part of a block at this offset.
macro_rules! group {
    ($at:literal, $($step:expr),+ $(,)?) => {
        concat!(".irp group, ", $at, "\n", $($step, "\n",)+ ".endr\n")
    };
}

/// Moves four pairs of vectors (`neon`), or eight scalable ones (`sve`), between memory and vectors 0 to 7 or, with the
/// digit 2, 20 to 27.
macro_rules! moved {
    ([neon $move:literal] $digit:literal $cursor:ident) => {
        concat!(
            moved!(@ $move, $digit, "0", "1", $cursor, 0), moved!(@ $move, $digit, "2", "3", $cursor, 32),
            moved!(@ $move, $digit, "4", "5", $cursor, 64), moved!(@ $move, $digit, "6", "7", $cursor, 96),
        )
    };
    (@ $move:literal, $digit:literal, $low:literal, $high:literal, $cursor:ident, $at:literal) => {
        concat!($move, " q", $digit, $low, ", q", $digit, $high, ", [", stringify!($cursor), ", #\\group + ", $at, "]\n")
    };
    ([sve $move:literal $predicate:literal] $digit:literal $cursor:ident) => {
        eight!([
            concat!($move, " {{z", $digit), concat!(".d}}, ", $predicate, ", [", stringify!($cursor), ", #"), ", mul vl]"
        ])
    };
}

/// An instruction for each of eight vectors, whose number lies between its texts.
macro_rules! eight {
    ($texts:tt) => {
        concat!(
            four!($texts), numbered!(4 $texts), numbered!(5 $texts), numbered!(6 $texts), numbered!(7 $texts),
        )
    };
}

/// The same for the first four.
macro_rules! four {
    ($texts:tt) => {
        concat!(numbered!(0 $texts), numbered!(1 $texts), numbered!(2 $texts), numbered!(3 $texts))
    };
}

/// An instruction with a number between its texts. (The assembler would take the point in `v\i.2d` for a part of a name.)
macro_rules! numbered {
    ($number:literal [$first:expr $(, $text:expr)+]) => {
        concat!($first, $($number, $text,)+ "\n")
    };
}

/// Defines the loops of pairs and of scalable vectors that load vectors of the first source and of each next one,
/// compute after each next load, or once without a next one, and store vectors 0 to 7 at X1; vector 16 is the operand.
macro_rules! combined {
    ($neon:ident $sve:ident through the cache, $($rest:tt)+) => {
        combined!(@ $neon, "ldp", "stp", $sve, "ld1d", "st1d", [], $($rest)+);
    };
    ($neon:ident $sve:ident past the cache, $($rest:tt)+) => {
        combined!(@ $neon, "ldnp", "stnp", $sve, "ldnt1d", "stnt1d", ["dsb ishst"], $($rest)+);
    };
    (@ $neon:ident, $ldp:literal, $stp:literal, $sve:ident, $ld1:literal, $st1:literal, [$($fence:literal)?],
     [$($cursor:ident)+] from $sources:tt, neon: $of_neon:expr, sve: $of_sve:expr) => {
        stream!($neon, [$($cursor)+], setup: ["ldr q16, [x9, #64]"],
            block: [
                group!("0,128,256,384", combined!(@steps [neon $ldp], $sources, $of_neon), moved!([neon $stp] "" x1)),
                $(concat!("add ", stringify!($cursor), ", ", stringify!($cursor), ", #512"),)+
            ],
            finish: [$($fence)?]);
        stream!($sve<GROUPS>, [$($cursor)+], setup: ["ld1rd {{z16.d}}, p0/z, [x9, #64]"],
            block: [
                ".rept {groups}",
                combined!(@steps [sve $ld1 "p0/z"], $sources, $of_sve),
                moved!([sve $st1 "p0"] "" x1),
                $(concat!("addvl ", stringify!($cursor), ", ", stringify!($cursor), ", #8"),)+
                ".endr",
            ],
            finish: [$($fence)?]);
    };
    (@steps $loads:tt, [$first:ident], $compute:expr) => {
        concat!(moved!($loads "" $first), $compute)
    };
    (@steps $loads:tt, [$first:ident $($next:ident)+], $compute:expr) => {
        concat!(moved!($loads "" $first), $(moved!($loads "2" $next), $compute,)+)
    };
}
pub(in crate::aarch64) use {begin, eight, four, group, moved, numbered};
pub(super) use {combined, start, stream};
