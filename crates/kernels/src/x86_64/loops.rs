//! The one shape of every vector arithmetic loop.

/// Defines a loop over vector registers: operands and accumulators are loaded, every accumulator takes the `even` step
/// and then the `odd` step, [`PAIRS`](crate::state::PAIRS) times per iteration, and the accumulators are stored.
///
/// In the steps, `\\acc` stands for the number of the accumulator's register. Consecutive instructions work on
/// different accumulators, so the distance between dependent steps is the number of accumulators. Accumulators are
/// registers `first` and up, stored packed at `bytes` each; `finish` is VZEROUPPER or nothing. RDI is the register
/// file, RSI the number of iterations (zero is none).
macro_rules! vector_loop {
    ($(#[$doc:meta])* $name:ident {
        register: $register:literal, bytes: $bytes:literal, load_store: $move:literal, operands: $operands:literal,
        accumulators: $first:literal, $accumulators:expr,
        even: $even:literal, odd: $odd:literal, finish: $finish:literal $(,)?
    }) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(registers: &mut $crate::state::RegisterFile, iterations: u64) {
            ::core::arch::naked_asm!(
                concat!(".irp operand, ", $operands),
                concat!($move, " ", $register, "\\operand, [rdi + {operands} + {slot} * \\operand]"),
                ".endr",
                concat!(".irp acc, ", $accumulators),
                concat!($move, " ", $register, "\\acc, [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")]"),
                ".endr",
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept {pairs}",
                concat!(".irp acc, ", $accumulators),
                $even,
                ".endr",
                concat!(".irp acc, ", $accumulators),
                $odd,
                ".endr",
                ".endr",
                "dec rsi",
                "jnz 2b",
                "3:",
                concat!(".irp acc, ", $accumulators),
                concat!($move, " [rdi + {results} + ", $bytes, " * (\\acc - ", $first, ")], ", $register, "\\acc"),
                ".endr",
                $finish,
                "ret",
                operands = const ::core::mem::offset_of!($crate::state::RegisterFile, operands),
                results = const ::core::mem::offset_of!($crate::state::RegisterFile, results),
                slot = const $crate::state::SLOT,
                pairs = const $crate::state::PAIRS,
            )
        }
    };
}
pub(super) use vector_loop;
