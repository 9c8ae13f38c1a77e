//! Floating-point multiply-add in Rust, which never contracts it into a fused one.

use core::hint::black_box;

use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent accumulators, as in the rows.
const PAIRS: usize = 2;
const ACCUMULATORS: usize = 8;

macro_rules! multiply_add {
    ($name:ident, $float:ty, $bytes:literal) => {
        pub(super) extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            let first = |slot: &[u8; SLOT]| black_box(<$float>::from_ne_bytes(slot.as_chunks().0[0]));
            let [a, b, c, d, ..] = registers.operands.each_ref().map(first);
            let before = registers.results.as_chunks::<$bytes>().0;
            let mut accumulators: [$float; ACCUMULATORS] =
                core::array::from_fn(|index| <$float>::from_ne_bytes(before[index]));
            for _ in 0..iterations {
                for _ in 0..PAIRS {
                    // Each factor is hidden from the compiler, or one product would serve all accumulators.
                    accumulators = accumulators.map(|value| value + black_box(a) * b);
                    accumulators = accumulators.map(|value| value + black_box(c) * d);
                }
            }
            let results = registers.results.as_chunks_mut::<$bytes>().0;
            for (result, value) in results.iter_mut().zip(accumulators) {
                *result = value.to_ne_bytes();
            }
        }
    };
}
multiply_add!(fp64_scalar, f64, 8);
multiply_add!(fp32_scalar, f32, 4);
