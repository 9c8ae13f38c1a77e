//! The memory of arithmetic kernels, and the prediction of their results, bit for bit: a loop that did less, more or other
//! work than declared is detected in the lane where it happened. Operands are such that nothing is rounded or lost.
//!
//! Floating-point accumulators advance on a grid by a few units per iteration. When it is used up, after a *lap*, they are
//! compared and reset. Sums of whole numbers wrap, and advance by an odd number per pair of steps, so that a lane takes all
//! of its values before one returns. With 8 and 16 bits that is too soon, so the loop also counts its iterations.

use crate::arithmetic::data::{Data, MAX_LANES, OPERANDS, SLOT, bits, set_bits};
use crate::arithmetic::float::Float;
use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::{RESULTS, RegisterFile, TILES};
use crate::rng::Rng;

/// The operands, seeds and results of one [`Kernel`], made by [`Bound::seeded`](crate::table::Bound::seeded).
#[derive(Clone, Debug)]
pub struct ArithmeticState {
    kernel: &'static Kernel,
    pub(crate) registers: RegisterFile,
    iterations: u64,
    /// The sum that a pair of steps adds to each lane of whole numbers, or of outer products in units.
    gains: [u64; MAX_LANES],
    lap: [u8; RESULTS],
    /// The first lap since the last reset with other results.
    fault: Option<Mismatch>,
}

/// A result that differs from the prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum Mismatch {
    #[error("{kernel}: accumulator {accumulator}, lane {lane} holds {found:#x} instead of {expected:#x}")]
    Lane { kernel: &'static str, accumulator: usize, lane: usize, expected: u64, found: u64 },
    #[error("{kernel}: {found} iterations or laps were counted instead of {expected}")]
    Count { kernel: &'static str, expected: u64, found: u64 },
}

impl ArithmeticState {
    /// Operands and accumulators drawn from `seed`, the same on every machine. Takes tens of microseconds.
    pub(crate) fn seeded(kernel: &'static Kernel, seed: u64) -> Self {
        let registers = RegisterFile {
            operands: [[0; SLOT]; OPERANDS],
            tiles: TILES,
            count: [0; 64],
            seeds: [0; RESULTS],
            results: [0; RESULTS],
        };
        let (gains, lap) = ([0; MAX_LANES], [0; RESULTS]);
        let mut state = Self { kernel, registers, iterations: 0, gains, lap, fault: None };
        let mut rng = Rng::new(seed);
        kernel.data.draw(&mut rng, kernel.lanes, &mut state.registers.operands);
        for (lane, gain) in state.gains[..kernel.lanes].iter_mut().enumerate() {
            *gain = kernel.data.gain(lane, &state.registers.operands);
        }
        let size = kernel.data.lane_bytes();
        for lane in state.registers.seeds[..kernel.result_bytes()].chunks_exact_mut(size) {
            set_bits(lane, kernel.data.draw_seed(&mut rng));
        }
        let (prediction, mut lap) = (state.prediction(kernel.lap()), state.lap);
        let lanes = lap.chunks_exact_mut(size).zip(state.seeds().chunks_exact(size));
        for (lane, (result, seed)) in lanes.enumerate() {
            set_bits(result, prediction.lane_bits(lane % kernel.lanes, bits(seed)));
        }
        state.lap = lap;
        state.reset();
        state
    }

    /// The kernel of this state.
    pub const fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Operand `index`, from 0; its meaning depends on the kernel. For oracles in tests.
    pub fn operand(&self, index: usize) -> &[u8] {
        &self.registers.operands[index]
    }

    /// The accumulators' first values, packed at the kernel's width. For oracles in tests.
    pub fn seeds(&self) -> &[u8] {
        &self.registers.seeds[..self.kernel.result_bytes()]
    }

    /// The accumulators after the last run (their first values before the first run and at the end of a lap).
    pub fn results(&self) -> &[u8] {
        &self.registers.results[..self.kernel.result_bytes()]
    }

    pub(crate) const fn iterations_left(&self) -> u64 {
        self.kernel.lap() - self.iterations % self.kernel.lap()
    }

    /// Notes that the kernel has run for this number of iterations, at most to the end of the lap, where the
    /// accumulators are checked and reset.
    pub(crate) fn advance(&mut self, iterations: u64) {
        self.iterations = self.iterations.wrapping_add(iterations);
        if iterations > 0 && self.iterations.is_multiple_of(self.kernel.lap()) {
            if self.fault.is_none() && differ(self.results(), &self.lap) {
                self.fault = self.compare(self.kernel.lap()).err();
            }
            self.restart();
        }
    }

    /// Compares every lane with the prediction for `iterations` iterations. Takes a few microseconds.
    pub fn verify(&self, iterations: u64) -> Result<(), Mismatch> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let lap = self.kernel.lap();
        self.compare(iterations % lap)?;
        self.compare_counts(iterations / lap, self.iterations / lap)?;
        let counted = bits(&self.registers.count[..8]);
        if self.kernel.counts_iterations() { self.compare_counts(iterations, counted) } else { Ok(()) }
    }

    /// Verifies all iterations since the last reset, then resets.
    pub fn verify_and_reset(&mut self) -> Result<(), Mismatch> {
        let outcome = self.verify(self.iterations);
        self.reset();
        outcome
    }

    /// Resets the accumulators to their first values.
    pub fn reset(&mut self) {
        self.restart();
        self.registers.count.fill(0);
        self.iterations = 0;
        self.fault = None;
    }

    fn restart(&mut self) {
        let used = self.kernel.result_bytes();
        self.registers.results[..used].copy_from_slice(&self.registers.seeds[..used]);
    }

    fn compare_counts(&self, expected: u64, found: u64) -> Result<(), Mismatch> {
        let kernel = self.kernel.name;
        if expected == found { Ok(()) } else { Err(Mismatch::Count { kernel, expected, found }) }
    }

    /// Compares every lane with the prediction for this number of iterations of a lap.
    fn compare(&self, iterations: u64) -> Result<(), Mismatch> {
        let prediction = self.prediction(iterations);
        match self.kernel.data.lane_bytes() {
            1 => self.compare_lanes::<1>(&prediction),
            2 => self.compare_lanes::<2>(&prediction),
            4 => self.compare_lanes::<4>(&prediction),
            _ => self.compare_lanes::<8>(&prediction),
        }
    }

    fn compare_lanes<const N: usize>(&self, prediction: &Prediction<'_>) -> Result<(), Mismatch> {
        let size = self.kernel.vector_bytes();
        let accumulators = self.seeds().chunks_exact(size).zip(self.results().chunks_exact(size));
        for (accumulator, (seeds, results)) in accumulators.enumerate() {
            let lanes = seeds.as_chunks::<N>().0.iter().zip(results.as_chunks::<N>().0);
            for (lane, (seed, result)) in lanes.enumerate() {
                let expected = prediction.lane_bits(lane, bits(seed));
                let found = bits(result);
                if expected != found {
                    return Err(Mismatch::Lane { kernel: self.kernel.name, accumulator, lane, expected, found });
                }
            }
        }
        Ok(())
    }

    /// The effect of this number of iterations of a lap on the lanes.
    fn prediction(&self, iterations: u64) -> Prediction<'_> {
        let data = self.kernel.data;
        let pairs = self.kernel.pairs as u64;
        let mask = u64::MAX >> (64 - 8 * data.lane_bytes());
        match (data, data.float(), data.grid()) {
            (Data::OuterProducts { float, .. }, _, Some(grid)) => {
                let unit = iterations.wrapping_mul(pairs) as f64 * grid.unit();
                Prediction::Floats { float, gains: &self.gains, unit }
            }
            (_, Some(float), Some(grid)) => {
                let units = iterations.wrapping_mul(data.units(self.kernel.pairs));
                Prediction::Float { float, gain: units as f64 * grid.unit() }
            }
            (Data::Affine { .. }, ..) => {
                let operand = |index: usize| bits(&self.registers.operands[index][..data.lane_bytes()]);
                let step = Affine { multiplier: operand(0), summand: operand(1).wrapping_sub(operand(2)) };
                Prediction::Affine { steps: step.repeated(iterations.wrapping_mul(2 * pairs)), mask }
            }
            _ => Prediction::Sum { gains: &self.gains, pairs: iterations.wrapping_mul(pairs), mask },
        }
    }

    /// The memory that RDI points to when the kernel is called, for tests that interpret the machine code.
    #[doc(hidden)]
    pub fn register_file(&mut self) -> &mut [u8; size_of::<RegisterFile>()] {
        /// The accumulators, the last field: all that is left of the register file.
        type Results = [u8; size_of::<RegisterFile>() - core::mem::offset_of!(RegisterFile, results)];
        // Compiles only if that field fills the rest of the register file, so that there is no gap at its end.
        const _: fn(&RegisterFile) -> &Results = |file| &file.results;
        let file: *mut RegisterFile = &raw mut self.registers;
        // SAFETY: a register file is arrays of bytes without gaps (see above), so all of it is initialised and takes
        // any bytes; the borrow of `self` continues in the result.
        unsafe { &mut *file.cast() }
    }
}

enum Prediction<'a> {
    /// Adds the same to every lane, exactly.
    Float { float: Float, gain: f64 },
    /// Adds its own number of units to every lane, exactly.
    Floats { float: Float, gains: &'a [u64; MAX_LANES], unit: f64 },
    /// Adds its own gain to every lane, `pairs` times.
    Sum { gains: &'a [u64; MAX_LANES], pairs: u64, mask: u64 },
    /// Applies the same map to every lane.
    Affine { steps: Affine, mask: u64 },
}

impl Prediction<'_> {
    fn lane_bits(&self, lane: usize, seed: u64) -> u64 {
        match self {
            Self::Float { float, gain } => float.encode(float.decode(seed) + gain),
            Self::Floats { float, gains, unit } => float.encode(float.decode(seed) + gains[lane] as f64 * unit),
            Self::Sum { gains, pairs, mask } => seed.wrapping_add(gains[lane].wrapping_mul(*pairs)) & mask,
            Self::Affine { steps, mask } => steps.apply(seed) & mask,
        }
    }
}

/// The map from `x` to `multiplier * x + summand`, modulo 2^64.
#[derive(Clone, Copy)]
struct Affine {
    multiplier: u64,
    summand: u64,
}

impl Affine {
    const fn apply(self, x: u64) -> u64 {
        self.multiplier.wrapping_mul(x).wrapping_add(self.summand)
    }

    /// This map after `first`.
    const fn after(self, first: Self) -> Self {
        Self { multiplier: self.multiplier.wrapping_mul(first.multiplier), summand: self.apply(first.summand) }
    }

    /// This map `times` times, by repeated squaring.
    const fn repeated(self, mut times: u64) -> Self {
        let (mut power, mut all) = (self, Self { multiplier: 1, summand: 0 });
        while times > 0 {
            if times % 2 == 1 {
                all = power.after(all);
            }
            power = power.after(power);
            times /= 2;
        }
        all
    }
}

/// Whether the first bytes of `longer` differ from `bytes`; branchless, so that the compiler vectorises it.
fn differ(bytes: &[u8], longer: &[u8]) -> bool {
    bytes.iter().zip(longer).fold(0, |all, (a, b)| all | (a ^ b)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_map_equals_repeated_application() {
        let step = Affine { multiplier: 13, summand: 7_u64.wrapping_neg() };
        let mut naive = 99;
        for times in 0..200 {
            assert_eq!(step.repeated(times).apply(99), naive);
            naive = naive.wrapping_mul(13).wrapping_sub(7);
        }
    }
}
