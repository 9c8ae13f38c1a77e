//! Products of bytes summed into 32 bits, one at a time.

use core::hint::black_box;

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::{Data, Range, Shape};
use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent accumulators, as in the row.
const PAIRS: usize = 2;
const ACCUMULATORS: usize = 4;

extern "C" fn int8_scalar(registers: &mut RegisterFile, iterations: u64) {
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

/// One product at a time.
pub(super) const INT8_SCALAR: Kernel = Kernel {
    name: "dot/int8/scalar/portable",
    op: CpuOp::Dot,
    element: Element::Int8,
    isa: Isa::Scalar,
    requires: &[],
    method: "cpu-dot-scalar-portable/1",
    accumulator_type: "s32 <- u8 x s8",
    accumulators: ACCUMULATORS,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: PAIRS,
    step: &[],
    operations_per_lane: 2,
    data: Data::IntegerDot { shape: Shape::Vector(1), first: Range::U8, second: Range::S8 },
    body: int8_scalar,
    spaced: None,
    pace: None,
};
