//! Floating-point multiply-add in Rust, which never contracts it into a fused one.

use core::hint::black_box;

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::{Data, SLOT};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::RegisterFile;

/// Pairs of steps per iteration, and independent accumulators, as in the rows.
const PAIRS: usize = 2;
const ACCUMULATORS: usize = 8;

/// Defines a loop over one floating-point type.
macro_rules! multiply_add {
    ($name:ident, $float:ty, $bytes:literal) => {
        extern "C" fn $name(registers: &mut RegisterFile, iterations: u64) {
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

/// One fp64 lane.
pub(super) const FP64_SCALAR: Kernel = Kernel {
    name: "fma/fp64/scalar/portable",
    op: CpuOp::Fma,
    element: Element::Fp64,
    isa: Isa::Scalar,
    requires: &[],
    method: "cpu-mul-add-portable/1",
    accumulator_type: "fp64",
    accumulators: ACCUMULATORS,
    accumulators_per_step: 1,
    lanes: 1,
    pairs: PAIRS,
    step: &[],
    operations_per_lane: 2,
    data: Data::Products(Float::Fp64),
    body: fp64_scalar,
    spaced: None,
    pace: None,
};
/// One fp32 lane.
pub(super) const FP32_SCALAR: Kernel = FP64_SCALAR
    .on_elements(Element::Fp32, "fp32", Data::Products(Float::Fp32))
    .named("fma/fp32/scalar/portable", Isa::Scalar, &[])
    .running(&[], fp32_scalar);
