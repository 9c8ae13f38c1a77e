//! The kernels in plain Rust, one step at a time, independent of the loops and predictions in `kernels`: it reads a
//! state's operands and first values, and of a row what an instruction set manual would say.

use std::collections::HashMap;
use std::sync::LazyLock;

use kernels::state::ArithmeticState;
use kernels::table::Kernel;
use model::isa::{CpuOp, Element, Isa};

#[path = "brain.rs"]
#[expect(dead_code, reason = "of the tests of dense linear algebra")]
mod brain;

pub(crate) use brain::bfloat;

/// The accumulators after `iterations` iterations, packed as the kernel packs them.
pub(crate) fn oracle(state: &ArithmeticState, iterations: u64) -> Vec<u8> {
    let kernel = state.kernel();
    match (kernel.op, kernel.element) {
        (CpuOp::Dot | CpuOp::Matrix, Element::Bf16) => float_dot(state, iterations, bfloat),
        (CpuOp::Matrix, Element::Fp16) => float_dot(state, iterations, half),
        (CpuOp::Matrix, Element::Fp64) => outer(state, iterations, |a, b, x| {
            f64::from_ne_bytes(a).mul_add(f64::from_ne_bytes(b), f64::from_ne_bytes(x)).to_ne_bytes()
        }),
        (CpuOp::Matrix, Element::Fp32) => outer(state, iterations, |a, b, x| {
            f32::from_ne_bytes(a).mul_add(f32::from_ne_bytes(b), f32::from_ne_bytes(x)).to_ne_bytes()
        }),
        (CpuOp::Dot | CpuOp::Matrix, _) => integer_dot(state, iterations),
        (CpuOp::MulAdd, Element::Int8) => step_by_step(state, iterations, muladd_i8),
        (CpuOp::MulAdd, Element::Int16) => step_by_step(state, iterations, muladd_i16),
        (CpuOp::MulAdd, Element::Int32) => step_by_step(state, iterations, muladd_i32),
        (CpuOp::MulAdd, _) => step_by_step(state, iterations, muladd_i64),
        (_, Element::Fp64) => step_by_step(state, iterations, float_f64),
        (_, Element::Fp32) => step_by_step(state, iterations, float_f32),
        (_, Element::Fp16) => step_by_step(state, iterations, fma_half),
        (_, Element::Int64) => step_by_step(state, iterations, plain_i64),
        (_, _) => step_by_step(state, iterations, plain_i32),
    }
}

/// Where a step is.
struct Place {
    op: CpuOp,
    accumulator: usize,
    /// From the beginning of the iteration.
    step: usize,
}

/// Takes every step of every lane, from the lane's value and its element of every operand.
fn step_by_step<const N: usize>(
    state: &ArithmeticState,
    iterations: u64,
    step: impl Fn(&Place, [u8; N], [[u8; N]; 6]) -> [u8; N],
) -> Vec<u8> {
    let Kernel { op, lanes, pairs, .. } = *state.kernel();
    let mut values = state.seeds().as_chunks::<N>().0.to_vec();
    for (index, value) in values.iter_mut().enumerate() {
        let operands = std::array::from_fn(|operand| state.operand(operand).as_chunks::<N>().0[index % lanes]);
        for _ in 0..iterations {
            for number in 0..2 * pairs {
                *value = step(&Place { op, accumulator: index / lanes, step: number }, *value, operands);
            }
        }
    }
    values.into_flattened()
}

/// Defines the steps of fp64 or fp32.
macro_rules! float {
    ($name:ident, $float:ty, $bytes:literal) => {
        fn $name(place: &Place, value: [u8; $bytes], operands: [[u8; $bytes]; 6]) -> [u8; $bytes] {
            let x = <$float>::from_ne_bytes(value);
            let [a, b, c, d, e, _] = operands.map(<$float>::from_ne_bytes);
            let is_even = place.step % 2 == 0;
            let fused = if is_even { a.mul_add(b, x) } else { c.mul_add(d, x) };
            let result = match place.op {
                CpuOp::Fma => fused,
                CpuOp::Add => x + if is_even { a } else { b },
                CpuOp::AllPipes if place.accumulator % 2 == 0 => fused,
                CpuOp::AllPipes => x + if is_even { a } else { e },
                CpuOp::Plain => x * (if is_even { a } else { b }) + c - d,
                other => panic!("{other} of floats"),
            };
            result.to_ne_bytes()
        }
    };
}
float!(float_f64, f64, 8);
float!(float_f32, f32, 4);

/// Adds the product of a row's and a column's element to every lane.
fn outer<const N: usize>(
    state: &ArithmeticState,
    iterations: u64,
    multiply_add: impl Fn([u8; N], [u8; N], [u8; N]) -> [u8; N],
) -> Vec<u8> {
    let Kernel { lanes, pairs, .. } = *state.kernel();
    let side = lanes.isqrt();
    let mut values = state.seeds().as_chunks::<N>().0.to_vec();
    for (index, value) in values.iter_mut().enumerate() {
        let (row, column) = (index % lanes / side, index % side);
        let element = |operand: usize, index: usize| state.operand(operand).as_chunks::<N>().0[index];
        for step in 0..iterations * 2 * pairs as u64 {
            let first = usize::from(step % 2 == 1) * 2;
            *value = multiply_add(element(first, row), element(first + 1, column), *value);
        }
    }
    values.into_flattened()
}

/// Defines the steps of element-wise multiply-add.
macro_rules! muladd {
    ($name:ident, $integer:ty, $bytes:literal) => {
        fn $name(place: &Place, value: [u8; $bytes], operands: [[u8; $bytes]; 6]) -> [u8; $bytes] {
            let [a, b, c, d, ..] = operands.map(<$integer>::from_ne_bytes);
            let (a, b) = if place.step % 2 == 0 { (a, b) } else { (c, d) };
            <$integer>::from_ne_bytes(value).wrapping_add(a.wrapping_mul(b)).to_ne_bytes()
        }
    };
}
muladd!(muladd_i8, i8, 1);
muladd!(muladd_i16, i16, 2);
muladd!(muladd_i32, i32, 4);
muladd!(muladd_i64, i64, 8);

/// Defines the steps of a plain loop of whole numbers.
macro_rules! plain {
    ($name:ident, $integer:ty, $bytes:literal) => {
        fn $name(_: &Place, value: [u8; $bytes], operands: [[u8; $bytes]; 6]) -> [u8; $bytes] {
            let [m, a, s, ..] = operands.map(<$integer>::from_ne_bytes);
            <$integer>::from_ne_bytes(value).wrapping_mul(m).wrapping_add(a).wrapping_sub(s).to_ne_bytes()
        }
    };
}
plain!(plain_i32, i32, 4);
plain!(plain_i64, i64, 8);

/// A step of half precision: forward with operands 0 to 3, then back with 4 and 5 in place of 0 and 2.
fn fma_half(place: &Place, value: [u8; 2], operands: [[u8; 2]; 6]) -> [u8; 2] {
    let [a, b, c, d, minus_a, minus_c] = operands.map(half);
    let (first, second) = [(a, b), (c, d), (minus_a, b), (minus_c, d)][place.step % 4];
    half_bytes(first * second + half(value))
}

/// The value of a binary16 that is a normal number or zero.
pub(crate) fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_ne_bytes(bytes);
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    match (exponent, bits & 1023) {
        (0, 0) => 0.0,
        (1..31, _) => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
        _ => panic!("{bits:#x} is no normal number"),
    }
}

/// The binary16 of exactly this value.
fn half_bytes(value: f64) -> [u8; 2] {
    static ALL: LazyLock<HashMap<u64, [u8; 2]>> = LazyLock::new(|| {
        let normal = (0..=u16::MAX).filter(|bits| (1..31).contains(&(bits >> 10 & 31)));
        let numbers = normal.chain([0]).map(u16::to_ne_bytes);
        numbers.map(|bytes| (half(bytes).to_bits(), bytes)).collect()
    });
    *ALL.get(&value.to_bits()).unwrap_or_else(|| panic!("{value} is no normal binary16"))
}

/// Products in one lane's sum.
pub(crate) fn products(kernel: &Kernel) -> usize {
    usize::try_from(kernel.operations_per_lane).map_or(0, |operations| operations / 2)
}

/// The indices of one lane's factors in the first and in the second operand.
fn factors(kernel: &Kernel, lane: usize) -> Vec<(usize, usize)> {
    let products = products(kernel);
    if kernel.op == CpuOp::Dot {
        return (0..products).map(|k| (lane * products + k, lane * products + k)).collect();
    }
    if kernel.isa != Isa::Amx {
        // Rows by rows: outer products of whole vectors, or 2 x 2 sums in each 128 bits (Arm ARM, SMOPA and SMMLA).
        let side = if kernel.isa == Isa::Sme { kernel.lanes.isqrt() } else { 2 };
        let (first, row, column) = (lane / (side * side) * side, lane / side % side, lane % side);
        return (0..products).map(|k| ((first + row) * products + k, (first + column) * products + k)).collect();
    }
    // A tile's row of 64 bytes has `products` factors of the first operand; of the second, for each of 16 columns, the
    // factors of 32 bits (Intel SDM volume 2, TDPBUSD and TDPBF16PS).
    let (row, column, in_32_bits) = (lane / 16, lane % 16, products / 16);
    let second = |k: usize| k / in_32_bits * products + column * in_32_bits + k % in_32_bits;
    (0..products).map(|k| (row * products + k, second(k))).collect()
}

/// The accumulators after steps of `add`, which adds the product of the factors with these indices in the first and the
/// second operand to a lane; the third argument is the number of the first operand.
fn dot(state: &ArithmeticState, iterations: u64, add: impl Fn([u8; 4], (usize, usize), usize) -> [u8; 4]) -> Vec<u8> {
    let kernel = state.kernel();
    let mut values = state.seeds().as_chunks::<4>().0.to_vec();
    for (index, value) in values.iter_mut().enumerate() {
        let factors = factors(kernel, index % kernel.lanes);
        for _ in 0..iterations {
            for step in 0..2 * kernel.pairs {
                *value = factors.iter().fold(*value, |sum, places| add(sum, *places, step % 2 * 2));
            }
        }
    }
    values.into_flattened()
}

/// Sums of products of whole numbers into 32 bits that wrap.
fn integer_dot(state: &ArithmeticState, iterations: u64) -> Vec<u8> {
    let types: Vec<_> = state.kernel().accumulator_type.split([' ', '<', '-']).filter(|word| word.len() > 1).collect();
    let element = |operand: usize, index: usize| match types[1 + operand % 2] {
        "u8" => i32::from(state.operand(operand)[index]),
        "s8" => i32::from(state.operand(operand)[index].cast_signed()),
        "s16" => i32::from(i16::from_ne_bytes(state.operand(operand).as_chunks().0[index])),
        other => panic!("{other} is no type of a factor"),
    };
    dot(state, iterations, |sum, (a, b), first| {
        i32::from_ne_bytes(sum).wrapping_add(element(first, a) * element(first + 1, b)).to_ne_bytes()
    })
}

/// The binary32 of exactly this value.
#[expect(clippy::cast_possible_truncation, reason = "that nothing is lost is asserted")]
fn single(value: f64) -> f32 {
    let single = value as f32;
    assert!(f64::from(single).to_bits() == value.to_bits(), "{value} is no binary32");
    single
}

/// Sums of products of 16-bit floats into fp32, one addition after another.
fn float_dot(state: &ArithmeticState, iterations: u64, value_of: impl Fn([u8; 2]) -> f64) -> Vec<u8> {
    let operands = [0, 1, 2, 3].map(|operand| -> Vec<f64> {
        state.operand(operand).as_chunks().0.iter().map(|bytes| value_of(*bytes)).collect()
    });
    dot(state, iterations, |sum, (a, b), first| {
        single(operands[first][a] * operands[first + 1][b] + f64::from(f32::from_ne_bytes(sum))).to_ne_bytes()
    })
}
