//! The data that arithmetic kernels work on, and the exact prediction of what they must leave behind.
//!
//! Every result is predicted bit for bit and depends on the number of iterations, so a loop that did less, more or
//! other work than it declares is caught in the very lane where it happened. It is not a measure of accuracy: operands
//! are chosen so that no rounding, saturation or loss can occur.
//!
//! * **Floating point.** Each lane has four factors with `a*b + c*d` equal to one unit of the grid on which everything
//!   lies (2^-50 for fp64, 2^-22 for fp32). The factors fill half the mantissa each, so products are exact and fused
//!   and separate multiply-adds agree; accumulators start in [1, 1.5), stay below 4 and advance by one unit per pair of
//!   steps.
//! * **Bytes.** Each lane has two groups of unsigned and two of signed bytes; the 32-bit sums wrap, and are predicted
//!   modulo 2^32. The advance per pair of steps is odd, so the period is longer than any run.
//!
//! Operands differ per lane, seeds per lane and accumulator; none is zero.

use core::fmt;

use crate::rng::Rng;
use crate::table::Kernel;

/// Bytes of one register slot: the widest vector.
pub(crate) const SLOT: usize = 64;
/// The most accumulators that a kernel has.
pub(crate) const MAX_ACCUMULATORS: usize = 24;
/// Operands 0 to 3 are multiplied pairwise (0 by 1, 2 by 3); operand 4 holds 16-bit ones.
pub(crate) const OPERANDS: usize = 5;
/// Pairs of steps per iteration of every kernel: each accumulator takes `2 * PAIRS` steps, one with operands 0 and 1,
/// one with 2 and 3, and so on.
pub(crate) const PAIRS: usize = 2;

/// The memory that a kernel loads from and stores to around its loop. Accumulators lie packed at the kernel's own
/// vector width.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub(crate) struct RegisterFile {
    pub(crate) operands: [[u8; SLOT]; OPERANDS],
    /// The accumulators' first values: for prediction and reset, no kernel reads them.
    pub(crate) seeds: [u8; MAX_ACCUMULATORS * SLOT],
    /// The accumulators: loaded before the loop, stored after it.
    pub(crate) results: [u8; MAX_ACCUMULATORS * SLOT],
}

/// How the lanes of a kernel are filled and predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// 64-bit floating-point lanes.
    Float64,
    /// 32-bit floating-point lanes.
    Float32,
    /// 32-bit integer lanes, each the sum of `group` products of an unsigned byte up to `unsigned_max` and a signed
    /// one.
    Bytes {
        /// Products summed into one lane per step.
        group: usize,
        /// 127 where pairs are summed in 16 bits and must not saturate, else 255.
        unsigned_max: u8,
    },
}

impl Data {
    /// Bytes of one accumulator lane.
    pub(crate) const fn lane_bytes(self) -> usize {
        match self {
            Self::Float64 => 8,
            Self::Float32 | Self::Bytes { .. } => 4,
        }
    }

    /// The most iterations after which every result is still exactly predictable: from 1.5 up to 2 on the grid in steps
    /// of [`PAIRS`] units, or any number where sums wrap.
    pub(crate) const fn max_iterations(self) -> u64 {
        match self {
            Self::Float64 => (1 << (fraction_bits(FACTOR_BITS_64) - 1)) / PAIRS as u64,
            Self::Float32 => (1 << (fraction_bits(FACTOR_BITS_32) - 1)) / PAIRS as u64,
            Self::Bytes { .. } => u64::MAX,
        }
    }
}

/// Bits of each fp64 factor: two of them fit a 53-bit mantissa, with a bit to spare for sums up to 4.
const FACTOR_BITS_64: u32 = 26;
/// Bits of each fp32 factor: two of them fit a 24-bit mantissa, sums below 4 included.
const FACTOR_BITS_32: u32 = 12;

/// Fraction bits of the grid: factors are in [1, 2) with `factor_bits - 1` fraction bits, their products have twice
/// that.
const fn fraction_bits(factor_bits: u32) -> u32 {
    2 * (factor_bits - 1)
}

/// The operands, seeds and results of one [`Kernel`], made by [`Bound::seeded`](crate::table::Bound::seeded).
#[derive(Clone, Debug)]
pub struct ArithmeticState {
    kernel: &'static Kernel,
    pub(crate) registers: RegisterFile,
    /// Iterations since the accumulators held their first values.
    pub(crate) iterations: u64,
}

/// A result that is not what the declared work leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Which accumulator, from 0.
    pub accumulator: usize,
    /// Which lane of it, from 0.
    pub lane: usize,
    /// The bits predicted.
    pub expected: u64,
    /// The bits found.
    pub found: u64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, accumulator, lane, expected, found } = self;
        write!(f, "{kernel}: accumulator {accumulator}, lane {lane} holds {found:#x} instead of {expected:#x}")
    }
}

impl core::error::Error for Mismatch {}

impl ArithmeticState {
    /// Operands and accumulators drawn from `seed`. Costs some ten microseconds; the draw is the same everywhere.
    pub(crate) fn seeded(kernel: &'static Kernel, seed: u64) -> Self {
        let registers = RegisterFile {
            operands: [[0; SLOT]; OPERANDS],
            seeds: [0; MAX_ACCUMULATORS * SLOT],
            results: [0; MAX_ACCUMULATORS * SLOT],
        };
        let mut state = Self { kernel, registers, iterations: 0 };
        let mut rng = Rng::new(seed);
        state.draw_operands(&mut rng);
        state.draw_seeds(&mut rng);
        state.registers.results = state.registers.seeds;
        state
    }

    /// The kernel that this state belongs to.
    pub const fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Operand `index` of five: 0 to 3 are multiplied pairwise, 4 holds 16-bit ones. For oracles in tests.
    pub fn operand(&self, index: usize) -> &[u8] {
        &self.registers.operands[index]
    }

    /// The accumulators' first values, packed at the kernel's vector width. For oracles in tests.
    pub fn seeds(&self) -> &[u8] {
        &self.registers.seeds[..self.kernel.accumulators * self.kernel.vector_bytes()]
    }

    /// The accumulators as the last run left them (before the first: their first values).
    pub fn results(&self) -> &[u8] {
        &self.registers.results[..self.kernel.accumulators * self.kernel.vector_bytes()]
    }

    /// Compares every lane of every accumulator with what exactly `iterations` iterations of the kernel leave behind.
    pub fn verify(&self, iterations: u64) -> Result<(), Mismatch> {
        let size = self.kernel.data.lane_bytes();
        let pairs = iterations.wrapping_mul(PAIRS as u64);
        let lanes = self.seeds().chunks_exact(size).zip(self.results().chunks_exact(size));
        for (index, (seed, result)) in lanes.enumerate() {
            let (accumulator, lane) = (index / self.kernel.lanes, index % self.kernel.lanes);
            let expected = self.expected(lane, bits(seed), pairs);
            let found = bits(result);
            if expected != found {
                return Err(Mismatch { kernel: self.kernel.name, accumulator, lane, expected, found });
            }
        }
        Ok(())
    }

    /// Compares every lane with what all iterations since the last reset leave behind, then resets.
    pub fn verify_and_reset(&mut self) -> Result<(), Mismatch> {
        let outcome = self.verify(self.iterations);
        self.reset();
        outcome
    }

    /// Gives the accumulators their first values again.
    pub fn reset(&mut self) {
        self.registers.results = self.registers.seeds;
        self.iterations = 0;
    }

    /// The bits of a lane that started at `seed`, after `pairs` pairs of steps.
    fn expected(&self, lane: usize, seed: u64, pairs: u64) -> u64 {
        match self.kernel.data {
            Data::Float64 => {
                let unit = 1.0 / (1_u64 << fraction_bits(FACTOR_BITS_64)) as f64;
                (f64::from_bits(seed) + pairs as f64 * unit).to_bits()
            }
            Data::Float32 => {
                let unit = 1.0 / (1_u32 << fraction_bits(FACTOR_BITS_32)) as f32;
                u64::from((f32::from_bits(low_half(seed)) + pairs as f32 * unit).to_bits())
            }
            Data::Bytes { group, .. } => {
                let advance = self.byte_advance(lane, group);
                u64::from(low_half(seed).wrapping_add(advance.wrapping_mul(low_half(pairs))))
            }
        }
    }

    /// What one pair of steps adds to a lane of bytes.
    fn byte_advance(&self, lane: usize, group: usize) -> u32 {
        let [u0, s0, u1, s1, _] = &self.registers.operands;
        let products = |unsigned: &[u8], signed: &[u8]| {
            let bytes = lane * group..(lane + 1) * group;
            let pairs = unsigned[bytes.clone()].iter().zip(&signed[bytes]);
            pairs.map(|(&u, &s)| i32::from(u) * i32::from(s.cast_signed())).sum::<i32>()
        };
        products(u0, s0).wrapping_add(products(u1, s1)).cast_unsigned()
    }

    fn draw_operands(&mut self, rng: &mut Rng) {
        for lane in 0..self.kernel.lanes {
            match self.kernel.data {
                Data::Float64 => self.set_factors(lane, factors(rng, FACTOR_BITS_64), FACTOR_BITS_64),
                Data::Float32 => self.set_factors(lane, factors(rng, FACTOR_BITS_32), FACTOR_BITS_32),
                Data::Bytes { group, unsigned_max } => self.draw_bytes(rng, lane, group, unsigned_max),
            }
        }
        self.registers.operands[4].as_chunks_mut().0.fill(1_u16.to_ne_bytes());
    }

    /// Writes the factors `[a, b, c, d]` of one lane, scaled into [1, 2), with `c` negated.
    fn set_factors(&mut self, lane: usize, factors: [u64; 4], factor_bits: u32) {
        let scale = (1_u64 << (factor_bits - 1)) as f64;
        for (operand, (factor, sign)) in factors.iter().zip([1.0, 1.0, -1.0, 1.0]).enumerate() {
            let value = sign * *factor as f64 / scale;
            let slot = &mut self.registers.operands[operand];
            if self.kernel.data == Data::Float64 {
                slot.as_chunks_mut().0[lane] = value.to_ne_bytes();
            } else {
                slot.as_chunks_mut().0[lane] = exact_f32(value).to_ne_bytes();
            }
        }
    }

    /// Draws the bytes of one lane until their sum of products is odd.
    fn draw_bytes(&mut self, rng: &mut Rng, lane: usize, group: usize, unsigned_max: u8) {
        loop {
            for byte in lane * group..(lane + 1) * group {
                for pair in 0..2 {
                    self.registers.operands[2 * pair][byte] = low_byte(1 + rng.below(u64::from(unsigned_max)));
                    // 1 to 255 is every signed byte but zero.
                    self.registers.operands[2 * pair + 1][byte] = low_byte(1 + rng.below(255));
                }
            }
            if self.byte_advance(lane, group) % 2 == 1 {
                return;
            }
        }
    }

    fn draw_seeds(&mut self, rng: &mut Rng) {
        let size = self.kernel.data.lane_bytes();
        let data = self.kernel.data;
        for lane in self.registers.seeds.chunks_exact_mut(size) {
            match data {
                Data::Float64 => lane.copy_from_slice(&accumulator_seed(rng, FACTOR_BITS_64).to_ne_bytes()),
                Data::Float32 => lane.copy_from_slice(&exact_f32(accumulator_seed(rng, FACTOR_BITS_32)).to_ne_bytes()),
                Data::Bytes { .. } => lane.copy_from_slice(&low_half(rng.next()).to_ne_bytes()),
            }
        }
    }
}

/// A point of the grid in [1, 1.5).
fn accumulator_seed(rng: &mut Rng, factor_bits: u32) -> f64 {
    let one = 1_u64 << fraction_bits(factor_bits);
    (one + rng.below(one / 2)) as f64 / one as f64
}

/// Integers `[a, b, c, d]` of exactly `bits` bits, few of them trailing zeros, with `a * b - c * d == 1` and `a * b`
/// below `2^(2 * bits - 1)`.
fn factors(rng: &mut Rng, bits: u32) -> [u64; 4] {
    let top = 1_u64 << (bits - 1);
    loop {
        let a = top + rng.below(top);
        let c = top + rng.below(top);
        let Some(b) = inverse(a, c) else { continue };
        let drawn = [a, b, c, (a * b - 1) / c];
        let filled = drawn.iter().all(|factor| *factor >= top && factor.trailing_zeros() <= bits / 4);
        if filled && a * b < 2 * top * top {
            return drawn;
        }
    }
}

/// The `x` below `modulus` with `value * x == 1` modulo `modulus`, where there is one: the extended Euclidean
/// algorithm.
fn inverse(value: u64, modulus: u64) -> Option<u64> {
    let modulus = modulus.cast_signed();
    let (mut r0, mut r1) = (modulus, value.cast_signed() % modulus);
    let (mut x0, mut x1) = (0_i64, 1_i64);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (x0, x1) = (x1, x0 - quotient * x1);
    }
    (r0 == 1).then(|| x0.rem_euclid(modulus).cast_unsigned())
}

/// The bits of a lane of four or eight bytes, widened.
fn bits(lane: &[u8]) -> u64 {
    match lane.first_chunk() {
        Some(word) => u64::from_ne_bytes(*word),
        None => lane.first_chunk().map_or(0, |half| u64::from(u32::from_ne_bytes(*half))),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the caller's value has no more than 24 significant bits")]
const fn exact_f32(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
const fn low_half(value: u64) -> u32 {
    value as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the low byte is what is asked for")]
const fn low_byte(value: u64) -> u8 {
    value as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_fill_their_bits_and_differ_by_one_unit() {
        let mut rng = Rng::new(7);
        for bits in [FACTOR_BITS_32, FACTOR_BITS_64] {
            for _ in 0..200 {
                let [a, b, c, d] = factors(&mut rng, bits);
                assert_eq!(a * b - c * d, 1);
                let filled = |factor: &u64| factor.ilog2() == bits - 1 && factor.trailing_zeros() <= bits / 4;
                assert!([a, b, c, d].iter().all(filled), "{a} {b} {c} {d}");
                assert!((a * b).ilog2() < 2 * bits - 1);
            }
        }
    }

    #[test]
    fn an_inverse_exists_for_coprime_numbers_only() {
        assert_eq!(inverse(3, 7), Some(5));
        assert_eq!(inverse(6, 9), None);
    }
}
