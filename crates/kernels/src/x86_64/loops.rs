//! The one shape of every vector arithmetic loop.

/// Defines a loop over vector registers: operands and accumulators are loaded, every accumulator takes the steps of the
/// `body` one after another, and the accumulators are stored.
///
/// A body is groups of steps, each group repeated: `2 x ["even", "odd"]` is two pairs of steps per iteration. In a
/// step, `\\acc` stands for the number of the accumulator's register. Consecutive instructions work on different
/// accumulators, so the distance between dependent steps is the number of accumulators. A step behind `@` is taken for
/// a list of its own: some of the accumulators, or digits that stand for several each, or pairs of registers, of which
/// the first is `\\product` and the second `\\acc`, or numbers with names of their own: `{ [to from] [1 2], [3 4] }` is
/// `\\to` and `\\from` twice. Accumulators are registers `first` and up, stored packed at `bytes` each; `finish` is
/// VZEROUPPER or nothing. A loop that is `counted` increments RAX once per iteration, from and to the register file's
/// count. RDI is the register file, RSI the number of iterations (zero is none).
///
/// `products` are formed before the loop, for lists of their own. Each step of the `body` then adds one and forms
/// another in its place, for a step as many steps ahead as there are products, and with that one's operands; the last
/// are never added. Products that take several instructions may be under way in stages, each step taking the next stage
/// of several of them; then those before the loop are formed as far as the loop's first steps expect. An addition right
/// behind its multiplication waits in the scheduler, and renaming prefers ports with few waiting micro-operations:
/// others go to the ports that the multiplications need. Operands may lie in registers `from` another than the first
/// on.
///
/// A `paced` function is the same loop with so many additions of R9 to R8 after every step: they depend on each other,
/// and are so many that they take longer than the steps ([`crate::arithmetic::kernel::Pace`]), but not much longer, or the load would
/// be another. Their number may depend on the accumulator: `((\\acc & 3) + 2) / 3` is three of four times one.
///
/// A `spaced` function is the same loop with so many NOPs after every step, or after each part of one that is written
/// `first => second`, until a number of them is spent: the end of the loop takes the places of the last
/// ([`crate::arithmetic::kernel::Spaced`]). Each has nine bytes, the longest of the forms that Intel recommends (SDM volume 2B, NOP).
/// Of shorter ones more lie in 64 bytes than the micro-op cache passes on in time, and a loop's jump costs cycles; but
/// where steps and NOPs of `two` bytes fill 64 bytes with a whole number of the cache's lines, these do best.
macro_rules! vector_loop {
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        operands: $operands:literal $(from $first_operand:literal)?,
        accumulators: $first:literal, $accumulators:literal,
        $(products: $(@ $products:tt $product:expr),+,)?
        body: $($times:literal x $steps:tt),+,
        $(counted: $count:literal,)? finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(@function $(#[$doc])* $name, ["", ""],
            $register, $bytes, $move, [$operands $(from $first_operand)?], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
    };
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal, operands: $operands:literal,
        accumulators: $first:literal, $accumulators:literal,
        $(products: $(@ $products:tt $product:expr),+,)?
        body: $($times:literal x $steps:tt),+,
        $(counted: $count:literal,)? paced: $paced:ident, $additions:literal, finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(@function $(#[$doc])* $name, ["", ""],
            $register, $bytes, $move, [$operands], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
        $crate::x86_64::loops::vector_loop!(@function
            #[doc = "The same loop, paced by additions."]
            $paced, ["", concat!("\n.rept ", $additions, "\nadd r8, r9\n.endr")],
            $register, $bytes, $move, [$operands], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
    };
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal, operands: $operands:literal,
        accumulators: $first:literal, $accumulators:literal,
        $(products: $(@ $products:tt $product:expr),+,)?
        body: $($times:literal x $steps:tt),+,
        $(counted: $count:literal,)? paced: $paced:ident, $additions:literal,
        spaced: $spaced:ident, $nops:literal, $all_nops:literal, finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(
            $(#[$doc])*
            $name {
                register: $register, bytes: $bytes, load_store: $move, operands: $operands,
                accumulators: $first, $accumulators,
                $(products: $(@ $products $product),+,)?
                body: $($times x $steps),+,
                $(counted: $count,)? paced: $paced, $additions, finish: $finish,
            }
        );
        $crate::x86_64::loops::vector_loop!(@function
            #[doc = "The same loop with NOPs."]
            $spaced, [$crate::x86_64::loops::nops!($all_nops), $crate::x86_64::loops::nops!(after $nops)],
            $register, $bytes, $move, [$operands], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
    };
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        operands: $operands:literal $(from $first_operand:literal)?,
        accumulators: $first:literal, $accumulators:literal,
        $(products: $(@ $products:tt $product:expr),+,)?
        body: $($times:literal x $steps:tt),+,
        $(counted: $count:literal,)? spaced: $spaced:ident, $nops:literal $($two:ident)?, $all_nops:literal,
        finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(@function $(#[$doc])* $name, ["", ""],
            $register, $bytes, $move, [$operands $(from $first_operand)?], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
        $crate::x86_64::loops::vector_loop!(@function
            #[doc = "The same loop with NOPs."]
            $spaced, [$crate::x86_64::loops::nops!($all_nops), $crate::x86_64::loops::nops!(after $nops $($two)?)],
            $register, $bytes, $move, [$operands $(from $first_operand)?], $first, $accumulators,
            [$($(@ $products $product),+)?], [$($times x $steps),+], [$($count)?], $finish);
    };
    (@function $(#[$doc:meta])* $name:ident, [$before:expr, $beside:expr],
        $register:literal, $bytes:literal, $move:literal, [$operands:literal $(from $first_operand:literal)?],
        $first:literal, $accumulators:literal, [$(@ $products:tt $product:expr),*],
        [$($times:literal x [$($(@ $over:tt)? $step:expr $(=> $part:expr)*),+ $(,)?]),+], [$($count:literal)?],
        $finish:literal
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(registers: &mut $crate::arithmetic::registers::RegisterFile, iterations: u64) {
            ::core::arch::naked_asm!(
                concat!(".irp operand, ", $operands),
                concat!(
                    $move, " ", $register, "\\operand, [rdi + {operands} + {slot} * (\\operand - ",
                    $crate::x86_64::loops::from!($($first_operand)?), ")]",
                ),
                ".endr",
                concat!(".irp acc, ", $accumulators),
                concat!($move, " ", $register, "\\acc, [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")]"),
                ".endr",
                $($crate::x86_64::loops::each!($accumulators, [$products], $product),)*
                $(concat!("mov ", $count, ", [rdi + {count}]"),)?
                "test rsi, rsi",
                "jz 3f",
                $before,
                ".p2align 6",
                "2:",
                $(
                    concat!(".rept ", $times),
                    $($crate::x86_64::loops::each!(
                        $accumulators, [$($over)?], concat!($step, $beside, $("\n", $part, $beside),*)
                    ),)+
                    ".endr",
                )+
                $(concat!("inc ", $count),)?
                "dec rsi",
                "jnz 2b",
                "3:",
                $(concat!("mov [rdi + {count}], ", $count),)?
                concat!(".irp acc, ", $accumulators),
                concat!($move, " [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")], ", $register, "\\acc"),
                ".endr",
                $finish,
                "ret",
                operands = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, operands),
                results = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, results),
                slot = const $crate::arithmetic::data::SLOT,
                $(count = const $crate::x86_64::loops::count_offset($count),)?
            )
        }
    };
}
pub(super) use vector_loop;

/// Defines a loop of 512 bits whose steps are one multiplication and one addition: 4 accumulators in ZMM28-31, their
/// products in ZMM4-27, each formed 24 steps ahead, and six additions and six multiplications in turn.
///
/// Zen 4 finishes one of each per cycle only if no addition takes a pipe that multiplies, and it lets an addition take
/// any: those that wait for their products pile up until some do. Where products are formed right before they are added,
/// 73 to 90 % of the limit are reached; eight steps ahead one by one 72 %, in eights 91 %; 16 steps ahead 98 %, and 24
/// steps ahead in sixes, as here, all of it. (Probed, 2026-11; no source tells how it chooses.) On Intel's cores the
/// products are ready in time as well. But Emerald Rapids falls into one of two rhythms with VPMULLD and is 7 % slower in
/// one of them, half of the time: with groups of two or six, not of one or three, nor with a NOP anywhere between them.
macro_rules! products_far_ahead {
    ($(#[$doc:meta])* $name:ident {
        multiply: $multiply:literal, add: $add:literal,
        $(counted: $count:literal,)? paced: $paced:ident, $additions:literal,
        $(spaced: $spaced:ident, $nops:literal, $all_nops:literal,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(
            $(#[$doc])*
            $name {
                register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3",
                accumulators: 28, "28,29,30,31",
                products: @ "4,5,6,7,12,13,14,15,20,21,22,23" concat!($multiply, " zmm\\acc, zmm0, zmm1"),
                    @ "8,9,10,11,16,17,18,19,24,25,26,27" concat!($multiply, " zmm\\acc, zmm2, zmm3"),
                body: 6 x [
                    @ [(4, 28), (5, 29), (6, 30), (7, 31), (8, 28), (9, 29)]
                        concat!($add, " zmm\\acc, zmm\\acc, zmm\\product"),
                    @ "4,5,6,7" concat!($multiply, " zmm\\acc, zmm0, zmm1"),
                    @ "8,9" concat!($multiply, " zmm\\acc, zmm2, zmm3"),
                    @ [(10, 30), (11, 31), (12, 28), (13, 29), (14, 30), (15, 31)]
                        concat!($add, " zmm\\acc, zmm\\acc, zmm\\product"),
                    @ "10,11" concat!($multiply, " zmm\\acc, zmm2, zmm3"),
                    @ "12,13,14,15" concat!($multiply, " zmm\\acc, zmm0, zmm1"),
                    @ [(16, 28), (17, 29), (18, 30), (19, 31), (20, 28), (21, 29)]
                        concat!($add, " zmm\\acc, zmm\\acc, zmm\\product"),
                    @ "16,17,18,19" concat!($multiply, " zmm\\acc, zmm2, zmm3"),
                    @ "20,21" concat!($multiply, " zmm\\acc, zmm0, zmm1"),
                    @ [(22, 30), (23, 31), (24, 28), (25, 29), (26, 30), (27, 31)]
                        concat!($add, " zmm\\acc, zmm\\acc, zmm\\product"),
                    @ "22,23" concat!($multiply, " zmm\\acc, zmm0, zmm1"),
                    @ "24,25,26,27" concat!($multiply, " zmm\\acc, zmm2, zmm3"),
                ],
                $(counted: $count,)? paced: $paced, $additions,
                $(spaced: $spaced, $nops, $all_nops,)?
                finish: "vzeroupper",
            }
        );
    };
}
pub(super) use products_far_ahead;

/// A step for each of the accumulators, or of a list of its own where it has one, or of pairs of a product and an
/// accumulator, or of numbers with names.
macro_rules! each {
    ($accumulators:literal, [], $step:expr) => {
        concat!(".irp acc, ", $accumulators, "\n", $step, "\n.endr")
    };
    ($accumulators:literal, [$over:literal], $step:expr) => {
        concat!(".irp acc, ", $over, "\n", $step, "\n.endr")
    };
    ($accumulators:literal, [[$(($product:literal, $acc:literal)),+]], $step:expr) => {
        concat!($(".irp product, ", $product, "\n.irp acc, ", $acc, "\n", $step, "\n.endr\n.endr\n"),+)
    };
    ($accumulators:literal, [{ $names:tt $($numbers:tt),+ }], $step:expr) => {
        concat!($($crate::x86_64::loops::named!($names, $numbers, $step), "\n"),+)
    };
}
pub(super) use each;

/// A step with a number for each name in it.
macro_rules! named {
    ([], [], $step:expr) => {
        $step
    };
    ([$name:ident $($names:ident)*], [$number:literal $($numbers:literal)*], $step:expr) => {
        concat!(
            ".irp ", stringify!($name), ", ", $number, "\n",
            $crate::x86_64::loops::named!([$($names)*], [$($numbers)*], $step),
            "\n.endr",
        )
    };
}
pub(super) use named;

/// How many NOPs an iteration has in all; or `after` some instructions so many of them, until all are spent.
macro_rules! nops {
    ($all:literal) => {
        concat!(".set .Lnops, ", $all)
    };
    (after $nops:literal) => {
        $crate::x86_64::loops::nops!(@after $nops, ".byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0")
    };
    (after $nops:literal two) => {
        $crate::x86_64::loops::nops!(@after $nops, ".byte 0x66, 0x90")
    };
    (@after $nops:literal, $nop:literal) => {
        concat!("\n.rept ", $nops, "\n.if .Lnops\n.set .Lnops, .Lnops - 1\n", $nop, "\n.endif\n.endr")
    };
}
pub(super) use nops;

/// The register of the first operand, where it is not the very first.
macro_rules! from {
    () => {
        "0"
    };
    ($first:literal) => {
        $first
    };
}
pub(super) use from;

/// Where the register file has the count that a loop keeps in `_register`.
pub(super) const fn count_offset(_register: &str) -> usize {
    core::mem::offset_of!(crate::arithmetic::registers::RegisterFile, count)
}
