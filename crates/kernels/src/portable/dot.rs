//! Products of bytes summed into 32 bits, one at a time.

use core::hint::black_box;

use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent accumulators, as in the row.
const PAIRS: usize = 2;
const ACCUMULATORS: usize = 4;

pub(super) extern "C" fn int8_scalar(registers: &mut RegisterFile, iterations: u64) {
    let first = registers.results.as_chunks::<4>().0;
    let mut accumulators: [i32; ACCUMULATORS] = core::array::from_fn(|index| i32::from_ne_bytes(first[index]));
    let [u0, s0, u1, s1, ..] = registers.operands.each_ref().map(|slot| slot[0]);
    for _ in 0..iterations {
        for _ in 0..PAIRS {
            for (unsigned, signed) in [(u0, s0), (u1, s1)] {
                accumulators = accumulators.map(|value| {
                    value.wrapping_add(i32::from(black_box(unsigned)) * i32::from(black_box(signed).cast_signed()))
                });
            }
        }
    }
    let results = registers.results.as_chunks_mut::<4>().0;
    for (result, value) in results.iter_mut().zip(accumulators) {
        *result = value.to_ne_bytes();
    }
}
