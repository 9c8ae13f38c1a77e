//! The one shape of every vector arithmetic loop.

/// Defines a loop over vector registers: operands and accumulators are loaded, every accumulator takes the steps of the
/// `body` one after another, and the accumulators are stored. X0 is the register file, X1 the number of iterations. D8 to
/// D15 belong to the caller.
///
/// `register` is the kind of register that is loaded and stored: `s`, `d`, `q`, or `z` with all of P0 active. A body is
/// groups of steps, each repeated: `2 x ["even", "odd"]` is two pairs of steps per iteration. In a step, `\\acc` is the
/// number of the accumulator's register, and `\\()` ends that name before a point. (`.rept` would remove that end.) A
/// `counted` loop increments a register once per iteration, from and to the register file's count.
macro_rules! vector_loop {
    ($name:ident {
        extensions: [$($extension:literal),*], register: $kind:tt,
        operands: $operands:literal, accumulators: $accumulators:literal,
        $(counted: $count:literal,)?
        body: $($times:tt x [$($step:expr),+ $(,)?]),+ $(,)?
    }) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(registers: &mut $crate::arithmetic::registers::RegisterFile, iterations: u64) {
            ::core::arch::naked_asm!(
                $(concat!(".arch_extension ", $extension),)*
                "stp d8, d9, [sp, #-64]!",
                "stp d10, d11, [sp, #16]",
                "stp d12, d13, [sp, #32]",
                "stp d14, d15, [sp, #48]",
                $crate::aarch64::loops::prepare!($kind),
                "mov x9, #{operands}",
                "add x9, x0, x9",
                concat!(".irp operand, ", $operands),
                concat!("ldr ", stringify!($kind), "\\operand, [x9]"),
                "add x9, x9, #{slot}",
                ".endr",
                "mov x9, #{results}",
                "add x9, x0, x9",
                concat!(".irp acc, ", $accumulators),
                concat!("ldr ", stringify!($kind), "\\acc, [x9]"),
                $crate::aarch64::loops::advance!($kind),
                ".endr",
                $(concat!("ldr ", $count, ", [x0, #{count}]"),)?
                "cbz x1, 3f",
                ".p2align 6",
                "2:",
                $($crate::aarch64::loops::repeated!(
                    $times, concat!($(".irp acc, ", $accumulators, "\n", $step, "\n.endr\n"),+)
                ),)+
                $(concat!("add ", $count, ", ", $count, ", #1"),)?
                "subs x1, x1, #1",
                "b.ne 2b",
                "3:",
                $(concat!("str ", $count, ", [x0, #{count}]"),)?
                "mov x9, #{results}",
                "add x9, x0, x9",
                concat!(".irp acc, ", $accumulators),
                concat!("str ", stringify!($kind), "\\acc, [x9]"),
                $crate::aarch64::loops::advance!($kind),
                ".endr",
                "ldp d14, d15, [sp, #48]",
                "ldp d12, d13, [sp, #32]",
                "ldp d10, d11, [sp, #16]",
                "ldp d8, d9, [sp], #64",
                "ret",
                operands = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, operands),
                results = const ::core::mem::offset_of!($crate::arithmetic::registers::RegisterFile, results),
                slot = const $crate::arithmetic::data::SLOT,
                $(count = const $crate::aarch64::loops::count_offset($count),)?
            )
        }
    };
}
pub(super) use vector_loop;

/// Defines a loop of one instruction that multiplies and accumulates, with 24 accumulators: the latency of a multiply-add
/// is four cycles in four pipes of the Neoverse V1 to V3 and of Apple's cores, and in six of the Cortex-X925. No operand
/// is copied, although the instruction overwrites its accumulator.
///
/// The instruction's text ends before its two sources, whose arrangement follows; `=>` is what follows the sources.
macro_rules! fused_loop {
    ($name:ident, $kind:tt $($extension:literal)*, $head:literal, $from:literal
        $(=> $tail:literal)? $(, counted $count:literal)?
    ) => {
        $crate::aarch64::loops::vector_loop!($name {
            extensions: [$($extension),*], register: $kind,
            operands: "0,1,2,3",
            accumulators: "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
            $(counted: $count,)?
            body: 2 x [
                $crate::aarch64::loops::sources!($kind, $head, "0", "1", $from $(, $tail)?),
                $crate::aarch64::loops::sources!($kind, $head, "2", "3", $from $(, $tail)?),
            ],
        });
    };
}
pub(super) use fused_loop;

/// An instruction with two sources.
macro_rules! sources {
    (q, $($rest:tt)*) => { $crate::aarch64::loops::sources!(@ "v", $($rest)*) };
    (z, $($rest:tt)*) => { $crate::aarch64::loops::sources!(@ "z", $($rest)*) };
    (d, $($rest:tt)*) => { $crate::aarch64::loops::sources!(@ "d", $($rest)*) };
    (s, $($rest:tt)*) => { $crate::aarch64::loops::sources!(@ "s", $($rest)*) };
    (@ $register:literal, $head:literal, $first:literal, $second:literal, $from:literal $(, $tail:literal)?) => {
        concat!($head, $register, $first, $from, ", ", $register, $second, $from $(, $tail)?)
    };
}
pub(super) use sources;

/// A text several times.
macro_rules! repeated {
    (1, $text:expr) => {
        $text
    };
    (2, $text:expr) => {
        concat!($text, $text)
    };
    (4, $text:expr) => {
        concat!($text, $text, $text, $text)
    };
    (5, $text:expr) => {
        concat!($text, $text, $text, $text, $text)
    };
}
pub(super) use repeated;

/// What comes before the first use of a kind of register.
macro_rules! prepare {
    (z) => {
        "ptrue p0.b"
    };
    ($other:tt) => {
        ""
    };
}
pub(super) use prepare;

/// Moves X9 to the next register's place.
macro_rules! advance {
    (s) => {
        "add x9, x9, #4"
    };
    (d) => {
        "add x9, x9, #8"
    };
    (q) => {
        "add x9, x9, #16"
    };
    (z) => {
        "addvl x9, x9, #1"
    };
}
pub(super) use advance;

/// Where the register file has the count that a loop keeps in `_register`.
pub(super) const fn count_offset(_register: &str) -> usize {
    core::mem::offset_of!(crate::arithmetic::registers::RegisterFile, count)
}
