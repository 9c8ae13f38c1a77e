//! The one shape of every vector arithmetic loop.

/// Defines a loop over vector registers: operands and accumulators are loaded, every accumulator takes the steps of the
/// `body` one after another, and the accumulators are stored.
///
/// A body is groups of steps, each group repeated: `2 x ["even", "odd"]` is two pairs of steps per iteration. In a
/// step, `\\acc` stands for the number of the accumulator's register. Consecutive instructions work on different
/// accumulators, so the distance between dependent steps is the number of accumulators. A step behind `@` is taken for
/// a list of its own: some of the accumulators, or digits that stand for several each. Accumulators are registers
/// `first` and up, stored packed at `bytes` each; `finish` is VZEROUPPER or nothing. A loop that is `counted`
/// increments RAX once per iteration, from and to the register file's count. RDI is the register file, RSI the number
/// of iterations (zero is none).
///
/// `products` are formed before the loop. Each step of the `body` then adds one and forms another in its place, for the
/// next step of the same accumulator and with that one's operands; the last are never added. An addition right behind
/// its multiplication waits in the scheduler, and renaming prefers ports with few waiting micro-operations: others go
/// to the ports that the multiplications need. Operands may lie in registers `from` another than the first on.
///
/// A `paced` function is the same loop with so many additions of R9 to R8 after every step: they depend on each other,
/// and are so many that they take longer than the steps ([`crate::table::Pace`]), but not much longer, or the load would
/// be another. Their number may depend on the accumulator: `((\\acc & 3) + 2) / 3` is three of four times one.
macro_rules! vector_loop {
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal,
        operands: $operands:literal $(from $first_operand:literal)?,
        accumulators: $first:literal, $accumulators:literal,
        $(products: @ $products:literal $product:expr,)?
        body: $($times:literal x [$($(@ $over:literal)? $step:expr),+ $(,)?]),+,
        $(counted: $count:literal,)? finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(@function $(#[$doc])* $name, "0",
            $register, $bytes, $move, [$operands $(from $first_operand)?], $first, $accumulators,
            [$(@ $products $product)?], [$($times x [$($(@ $over)? $step),+]),+], [$($count)?], $finish);
    };
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal, operands: $operands:literal,
        accumulators: $first:literal, $accumulators:literal,
        body: $($times:literal x [$($(@ $over:literal)? $step:expr),+ $(,)?]),+,
        $(counted: $count:literal,)? paced: $paced:ident, $additions:literal, finish: $finish:literal $(,)?
    }) => {
        $crate::x86_64::loops::vector_loop!(@function $(#[$doc])* $name, "0",
            $register, $bytes, $move, [$operands], $first, $accumulators,
            [], [$($times x [$($(@ $over)? $step),+]),+], [$($count)?], $finish);
        $crate::x86_64::loops::vector_loop!(@function
            #[doc = "The same loop, paced by additions."] $paced, $additions,
            $register, $bytes, $move, [$operands], $first, $accumulators,
            [], [$($times x [$($(@ $over)? $step),+]),+], [$($count)?], $finish);
    };
    (@function $(#[$doc:meta])* $name:ident, $additions:literal,
        $register:literal, $bytes:literal, $move:literal, [$operands:literal $(from $first_operand:literal)?],
        $first:literal, $accumulators:literal, [$(@ $products:literal $product:expr)?],
        [$($times:literal x [$($(@ $over:literal)? $step:expr),+]),+], [$($count:literal)?], $finish:literal
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(registers: &mut $crate::state::RegisterFile, iterations: u64) {
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
                $(
                    concat!(".irp acc, ", $products),
                    $product,
                    ".endr",
                )?
                $(concat!("mov ", $count, ", [rdi + {count}]"),)?
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                $(
                    concat!(".rept ", $times),
                    $(
                        concat!(".irp acc, ", $crate::x86_64::loops::list!($accumulators $($over)?)),
                        $step,
                        concat!(".rept ", $additions),
                        "add r8, r9",
                        ".endr",
                        ".endr",
                    )+
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
                operands = const ::core::mem::offset_of!($crate::state::RegisterFile, operands),
                results = const ::core::mem::offset_of!($crate::state::RegisterFile, results),
                slot = const $crate::data::SLOT,
                $(count = const $crate::x86_64::loops::count_offset($count),)?
            )
        }
    };
}
pub(super) use vector_loop;

/// The list of its own, where a step has one.
macro_rules! list {
    ($accumulators:literal) => {
        $accumulators
    };
    ($accumulators:literal $over:literal) => {
        $over
    };
}
pub(super) use list;

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
    core::mem::offset_of!(crate::state::RegisterFile, count)
}
