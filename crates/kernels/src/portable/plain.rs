//! An ordinary loop of one multiplication, one addition and one subtraction, as the compiler makes it.

use core::hint::black_box;

use crate::arithmetic::data::SLOT;
use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent variables, as in the rows.
const PAIRS: usize = 2;
const VARIABLES: usize = 8;

/// Defines a loop over one type: each variable goes through `step` with the operands, hidden from the compiler each
/// time, and the number of the step.
macro_rules! plain_loop {
    ($name:ident, $number:ty, $bytes:literal, $step:expr) => {
        pub(super) extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
            let step: fn($number, [$number; 4], usize) -> $number = $step;
            let first = |slot: &[u8; SLOT]| <$number>::from_ne_bytes(slot.as_chunks().0[0]);
            let [a, b, c, d, ..] = registers.operands.each_ref().map(first);
            let before = registers.results.as_chunks::<$bytes>().0;
            let mut variables: [$number; VARIABLES] =
                core::array::from_fn(|index| <$number>::from_ne_bytes(before[index]));
            for _ in 0..iterations {
                for number in 0..2 * PAIRS {
                    let operands = black_box([a, b, c, d]);
                    variables = variables.map(|x| step(x, operands, number));
                }
            }
            let results = registers.results.as_chunks_mut::<$bytes>().0;
            for (result, value) in results.iter_mut().zip(variables) {
                *result = value.to_ne_bytes();
            }
        }
    };
}
plain_loop!(int32, i32, 4, |x, [m, a, s, _], _| x.wrapping_mul(m).wrapping_add(a).wrapping_sub(s));
plain_loop!(int64, i64, 8, |x, [m, a, s, _], _| x.wrapping_mul(m).wrapping_add(a).wrapping_sub(s));
plain_loop!(fp32, f32, 4, |x, [two, half, a, s], number| x * (if number % 2 == 0 { two } else { half }) + a - s);
plain_loop!(fp64, f64, 8, |x, [two, half, a, s], number| x * (if number % 2 == 0 { two } else { half }) + a - s);
