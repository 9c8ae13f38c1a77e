//! The clock chains in plain Rust; `black_box` keeps the compiler from folding them, at the price of moves between the
//! steps.

use core::hint::black_box;

pub(crate) extern "C" fn add<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
    repeat::<LENGTH>(start, iterations, |value| value.wrapping_add(black_box(operand)))
}

pub(crate) extern "C" fn imul<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
    repeat::<LENGTH>(start, iterations, |value| value.wrapping_mul(black_box(operand)))
}

fn repeat<const LENGTH: u64>(start: u64, iterations: u64, step: impl Fn(u64) -> u64) -> u64 {
    (0..iterations).fold(start, |value, _| (0..LENGTH).fold(value, |value, _| step(value)))
}
