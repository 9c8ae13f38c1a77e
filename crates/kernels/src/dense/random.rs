//! Matrices of uniform random numbers, of which any entry can be made again.
//!
//! Entry `(row, column)` of a matrix of `rows` rows is output number `column * rows + row` of `SplitMix64`, which is a
//! counter put through a mixing function: no entry depends on those before it, so threads fill in any order, and a
//! check needs no copy of the matrix. The leading dimension has no part in it.

use super::real::Real;
use crate::rng::{GOLDEN, mix};

/// 2^-53: the distance of the `f64` numbers drawn.
const FP64_STEP: f64 = 1.0 / (1_u64 << 53) as f64;

/// Uniform numbers in [-0.5, 0.5), as HPL's matrices are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    seed: u64,
    rows: usize,
}

impl Uniform {
    /// The matrix of `rows` rows and any number of columns that belongs to a seed.
    pub const fn new(seed: u64, rows: usize) -> Self {
        Self { seed, rows }
    }

    /// The entry, a multiple of 2^-53.
    #[inline]
    pub const fn entry(self, row: usize, column: usize) -> f64 {
        (self.bits(row, column) >> 11) as f64 * FP64_STEP - 0.5
    }

    /// The entry drawn for this type: a multiple of its roundoff, of the same random bits as far as it has them, so that
    /// it is exact and 0.5 stays out.
    #[inline]
    pub fn real<T: Real>(self, row: usize, column: usize) -> T {
        T::from_f64((self.bits(row, column) >> T::SPARE_BITS) as f64 * T::ROUNDOFF - 0.5)
    }

    /// The random bits that an entry is made of.
    #[inline]
    const fn bits(self, row: usize, column: usize) -> u64 {
        let number = (column * self.rows + row) as u64;
        mix(self.seed.wrapping_add((number + 1).wrapping_mul(GOLDEN)))
    }

    /// Writes the entries of a column from row `first` on.
    pub fn fill<T: Real>(self, column: usize, first: usize, entries: &mut [T]) {
        for (row, entry) in (first..).zip(entries) {
            *entry = self.real(row, column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn entries_are_the_outputs_of_the_generator_in_column_order() {
        let mut rng = Rng::new(9);
        for column in 0..4 {
            for row in 0..7 {
                let expected = (rng.next() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
                assert_eq!(Uniform::new(9, 7).entry(row, column).to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn entries_lie_in_the_interval_and_fill_it() {
        let mut sums = [0.0_f64; 2];
        let (mut least, mut most) = (1.0_f64, -1.0_f64);
        for row in 0..100_000 {
            let entry = Uniform::new(3, 100_000).entry(row, 5);
            assert!(
                (-0.5..0.5).contains(&entry) && (-0.5..0.5).contains(&Uniform::new(3, 100_000).real::<f32>(row, 5))
            );
            sums = [sums[0] + entry, sums[1] + entry * entry];
            (least, most) = (least.min(entry), most.max(entry));
        }
        // Mean 0 with a standard deviation of 0.0009; variance 1/12.
        assert!(sums[0].abs() < 500.0 && (sums[1] / 1e5 - 1.0 / 12.0).abs() < 0.001, "{sums:?}");
        assert!(least < -0.499 && most > 0.499);
    }

    #[test]
    fn a_column_may_be_filled_from_any_row() {
        let uniform = Uniform::new(1, 10);
        let mut whole = [0.0_f32; 10];
        uniform.fill(3, 0, &mut whole);
        let mut part = [0.0_f32; 4];
        uniform.fill(3, 5, &mut part);
        assert_eq!(whole[5..9], part);
        assert_ne!(whole[0].to_bits(), Uniform::new(2, 10).real::<f32>(0, 3).to_bits());
    }
}
