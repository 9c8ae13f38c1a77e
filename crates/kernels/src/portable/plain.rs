//! An ordinary loop of one multiplication, one addition and one subtraction, as the compiler makes it.

use core::hint::black_box;

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::{Data, SLOT};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent variables, as in the rows.
const PAIRS: usize = 2;
const VARIABLES: usize = 8;

/// Defines a loop over one type: each variable goes through `step` with the operands, hidden from the compiler each
/// time, and the number of the step.
macro_rules! plain_loop {
    ($name:ident, $number:ty, $bytes:literal, $step:expr) => {
        extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
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

pub(super) const INT32: Kernel = Kernel {
    name: "plain/int32/scalar/portable",
    op: CpuOp::Plain,
    element: Element::Int32,
    isa: Isa::Scalar,
    requires: &[],
    method: "cpu-plain-portable/1",
    accumulator_type: "s32",
    accumulators: VARIABLES,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: PAIRS,
    step: &[],
    operations_per_lane: 3,
    data: Data::Affine { bytes: 4 },
    body: int32,
    spaced: None,
    pace: None,
};
pub(super) const INT64: Kernel = INT32
    .on_elements(Element::Int64, "s64", Data::Affine { bytes: 8 })
    .named("plain/int64/scalar/portable", Isa::Scalar, &[])
    .running(&[], int64);
pub(super) const FP32: Kernel = INT32
    .on_elements(Element::Fp32, "fp32", Data::DoubledAndHalved(Float::Fp32))
    .named("plain/fp32/scalar/portable", Isa::Scalar, &[])
    .running(&[], fp32);
pub(super) const FP64: Kernel = INT32
    .on_elements(Element::Fp64, "fp64", Data::DoubledAndHalved(Float::Fp64))
    .named("plain/fp64/scalar/portable", Isa::Scalar, &[])
    .running(&[], fp64);
