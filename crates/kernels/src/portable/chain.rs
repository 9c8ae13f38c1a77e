//! The clock chains in plain Rust; `black_box` keeps the compiler from folding them, at the price of moves between the
//! steps.

use core::hint::black_box;

use crate::chain::Chain;

/// As on x86-64; other architectures have other latencies.
pub(crate) const SECOND: Chain =
    Chain { name: "imul", instruction: "imul", latency: 3, step: u64::wrapping_mul, body: imul::<{ Chain::LENGTH }> };

pub(crate) extern "C" fn add<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
    repeat::<LENGTH>(start, iterations, |value| value.wrapping_add(black_box(operand)))
}

pub(crate) extern "C" fn imul<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
    repeat::<LENGTH>(start, iterations, |value| value.wrapping_mul(black_box(operand)))
}

fn repeat<const LENGTH: u64>(start: u64, iterations: u64, step: impl Fn(u64) -> u64) -> u64 {
    (0..iterations).fold(start, |value, _| (0..LENGTH).fold(value, |value, _| step(value)))
}
