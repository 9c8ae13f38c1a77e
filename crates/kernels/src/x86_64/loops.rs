//! The one shape of every vector arithmetic loop.

/// Defines a loop over vector registers: operands and accumulators are loaded, every accumulator takes the steps of the
/// `body` one after another, and the accumulators are stored. RDI is the register file, RSI the number of iterations.
///
/// A body is groups of steps, each repeated: `2 x ["even", "odd"]` is two pairs of steps per iteration. In a step,
/// `\\acc` stands for the number of the accumulator's register. A step behind `@` has its own list: some of the
/// accumulators, or digits that stand for several each, or pairs of registers, `\\product` and `\\acc`, or numbers with
/// names: `{ [a b] [1 2], [3 4] }` is `\\a` and `\\b` twice. Accumulators are registers `first` and up, stored packed at
/// `bytes` each. A `counted` loop increments RAX once per iteration, from and to the register file's count.
///
/// `products` are formed before the loop. Each step of the `body` then adds one and forms another in its place, for a
/// step as many steps ahead as there are products. An addition right behind its multiplication would wait in the
/// scheduler, and other additions would go to the ports that the multiplications need.
///
/// A `paced` function is the same loop with dependent additions of R9 to R8 after every step, which take a little longer
/// than the steps ([`crate::arithmetic::kernel::Pace`]): `((\\acc & 3) + 2) / 3` is one after three of four.
///
/// A `spaced` function is the same loop with some NOPs after every step, or after each part of a step that is written
/// `first => second`, until their total is spent ([`crate::arithmetic::kernel::Spaced`]). Each has nine bytes, the longest
/// form that Intel recommends (SDM volume 2B, NOP): of shorter ones more lie in 64 bytes than the micro-op cache passes on
/// in time. Where steps and NOPs of `two` bytes fill 64 bytes with a whole number of the cache's lines, these do best.
macro_rules! vector_loop {
    ($name:ident $shape:tt
        $(, paced: $paced:ident, $additions:literal)?
        $(, spaced: $spaced:ident, $nops:literal $($two:ident)?, $all_nops:literal)?
    ) => {
        $crate::x86_64::loops::vector_loop!(@function $name, ["", ""], $shape);
        $($crate::x86_64::loops::vector_loop!(@function
            $paced, ["", concat!("\n.rept ", $additions, "\nadd r8, r9\n.endr")], $shape);)?
        $($crate::x86_64::loops::vector_loop!(@function
            $spaced, [$crate::x86_64::loops::nops!($all_nops), $crate::x86_64::loops::nops!(after $nops $($two)?)],
            $shape);)?
    };
    (@function $name:ident, [$before:expr, $after:expr], {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        operands: $first_operand:literal, $operands:literal, accumulators: $first:literal, $accumulators:literal,
        $(products: $(@ $products:tt $product:expr),+,)?
        body: $($times:literal x [$($(@ $over:tt)? $step:expr $(=> $part:expr)*),+ $(,)?]),+,
        $(counted: $count:literal,)? finish: $finish:literal $(,)?
    }) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut $crate::arithmetic::registers::RegisterFile, iterations: u64) {
            ::core::arch::naked_asm!(
                concat!(".irp operand, ", $operands),
                concat!(
                    $move, " ", $register, "\\operand, [rdi + {operands} + {slot} * (\\operand - ", $first_operand,
                    ")]",
                ),
                ".endr",
                concat!(".irp acc, ", $accumulators),
                concat!($move, " ", $register, "\\acc, [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")]"),
                ".endr",
                $($($crate::x86_64::loops::each!($accumulators, [$products], $product),)+)?
                $(concat!("mov ", $count, ", [rdi + {count}]"),)?
                "test rsi, rsi",
                "jz 3f",
                $before,
                ".p2align 6",
                "2:",
                $(
                    concat!(".rept ", $times),
                    $($crate::x86_64::loops::each!(
                        $accumulators, [$($over)?], concat!($step, $after, $("\n", $part, $after),*)
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

/// Defines a loop of one instruction that multiplies and accumulates, with 24 or 12 accumulators.
macro_rules! fused_loop {
    ($name:ident, 24 of $($shape:tt)*) => {
        $crate::x86_64::loops::fused_loop!(
            @ $name, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27", $($shape)*);
    };
    ($name:ident, 12 of $($shape:tt)*) => {
        $crate::x86_64::loops::fused_loop!(@ $name, "4,5,6,7,8,9,10,11,12,13,14,15", $($shape)*);
    };
    (@ $name:ident, $accumulators:literal, $register:literal, $bytes:literal, $move:literal, $instruction:literal
        $(, $($paced:tt)*)?
    ) => {
        $crate::x86_64::loops::vector_loop!($name {
            register: $register, bytes: $bytes, load_store: $move, operands: 0, "0,1,2,3",
            accumulators: 4, $accumulators,
            body: 2 x [
                concat!($instruction, " ", $register, "\\acc, ", $register, "0, ", $register, "1"),
                concat!($instruction, " ", $register, "\\acc, ", $register, "2, ", $register, "3"),
            ],
            finish: "vzeroupper",
        } $(, $($paced)*)?);
    };
}
pub(super) use fused_loop;

/// Defines a loop of a multiplication and an addition in SSE's encoding, whose instructions overwrite a source: 6
/// accumulators in XMM10-15, their products in XMM0-5.
macro_rules! separate_loop {
    ($name:ident, $bytes:literal, $move:literal, $copy:literal, $multiply:literal, $add:literal
        $(, spaced: $spaced:ident)?
    ) => {
        $crate::x86_64::loops::vector_loop!($name {
            register: "xmm", bytes: $bytes, load_store: $move, operands: 6, "6,7,8,9",
            accumulators: 10, "10,11,12,13,14,15",
            products: @ "0,1,2,3,4,5" concat!($copy, " xmm\\acc, xmm6; ", $multiply, " xmm\\acc, xmm7"),
            body: 4 x [
                @ "0,1,2,3,4,5" concat!(
                    $add, " xmm1\\acc, xmm\\acc; ", $copy, " xmm\\acc, xmm8; ", $multiply, " xmm\\acc, xmm9"),
                @ "0,1,2,3,4,5" concat!(
                    $add, " xmm1\\acc, xmm\\acc; ", $copy, " xmm\\acc, xmm6; ", $multiply, " xmm\\acc, xmm7"),
            ],
            finish: "",
        } $(, spaced: $spaced, "1", "48 - 1")?);
    };
}
pub(super) use separate_loop;

/// Defines a loop of 512 bits whose steps are one multiplication and one addition: 4 accumulators in ZMM28-31, their
/// products in ZMM4-27, each formed 24 steps ahead, and six additions and six multiplications in turn.
///
/// Zen 4 finishes one of each per cycle only if no addition takes a pipe that multiplies, but it lets additions that
/// wait for their products do so. Where products are formed right before they are added, 73 to 90 % of the limit are
/// reached; eight steps ahead one by one 72 %, in eights 91 %; 16 steps ahead 98 %, and 24 steps ahead in sixes, as
/// here, all. (Probed, 2026-11; no source documents how it chooses.) Emerald Rapids is 7 % slower with VPMULLD half of
/// the time: with groups of two or six, not of one or three, nor with a NOP anywhere between them.
macro_rules! products_far_ahead {
    ($name:ident, $multiply:literal, $add:literal $(counted $count:literal)?, $($paced:tt)*) => {
        $crate::x86_64::loops::vector_loop!($name {
            register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: 0, "0,1,2,3",
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
            $(counted: $count,)? finish: "vzeroupper",
        }, $($paced)*);
    };
}
pub(super) use products_far_ahead;

/// A step for each accumulator, or for each entry of the step's own list.
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

/// Sets the number of NOPs in an iteration; or, `after` some instructions, spends some of them.
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

/// Where the register file has the count that a loop keeps in `_register`.
pub(super) const fn count_offset(_register: &str) -> usize {
    core::mem::offset_of!(crate::arithmetic::registers::RegisterFile, count)
}
