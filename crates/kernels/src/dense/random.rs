//! Matrices of uniform random numbers, of which any entry can be computed again: entry `(row, column)` of a matrix of
//! `rows` rows is output number `column * rows + row` of `SplitMix64`, a counter put through a mixing function. So
//! threads fill in any order, and a check needs no copy of the matrix.

use core::ops::Range;

use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::rng::{GOLDEN, mix};

/// Uniform numbers in [-0.5, 0.5), as HPL's matrices are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    seed: u64,
    rows: usize,
}

impl Uniform {
    /// The matrix of `rows` rows and any number of columns of a seed.
    pub const fn new(seed: u64, rows: usize) -> Self {
        Self { seed, rows }
    }

    /// The entry in this type: leading random bits as a multiple of its roundoff, so that it is exact and never 0.5.
    #[inline]
    pub fn real<T: Number>(self, row: usize, column: usize) -> T {
        T::from_f64((self.bits(row, column) >> T::SPARE_BITS) as f64 * T::ROUNDOFF - 0.5)
    }

    #[inline]
    const fn bits(self, row: usize, column: usize) -> u64 {
        let number = (column * self.rows + row) as u64;
        mix(self.seed.wrapping_add((number + 1).wrapping_mul(GOLDEN)))
    }

    /// Writes the entries of a column from row `first` on.
    #[inline(never)]
    pub fn fill<T: Number>(self, column: usize, first: usize, entries: &mut [T]) {
        for (row, entry) in (first..).zip(entries) {
            *entry = self.real(row, column);
        }
    }
}

/// The diagonal of a system's matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diagonal {
    /// Drawn like any other entry: HPL's matrices.
    #[default]
    Drawn,
    /// The sum of the magnitudes of all other entries of its row, as in HPL-MxP's rules, and a half, the bound of a
    /// drawn entry, so that the matrix is strictly diagonally dominant at any order.
    Dominant,
}

impl Diagonal {
    /// The drawn rows among these rows of a column.
    pub(super) fn drawn(self, column: usize, rows: Range<usize>) -> [Range<usize>; 2] {
        if self == Self::Dominant && rows.contains(&column) {
            return [rows.start..column, column + 1..rows.end];
        }
        [rows.clone(), rows.end..rows.end]
    }
}

/// The entry of a dominant diagonal from the sum of the magnitudes of the rest of its row, in the order of columns.
pub(super) fn dominant<T: Number>(others: f64) -> T {
    T::from_f64(others + 0.5)
}

/// Rows that are summed at a time: their sums stay in the first-level cache.
const PART: usize = 256;

/// Writes the entries of these rows on a dominant diagonal. Safety: they are valid, and nobody else uses them.
#[inline(never)]
pub(super) unsafe fn fill_diagonal<T: Number>(uniform: Uniform, matrix: Grid<T>, rows: Range<usize>) {
    for first in rows.clone().step_by(PART) {
        let count = PART.min(rows.end - first);
        let mut sums = [0.0; PART];
        for column in 0..uniform.rows {
            for part in Diagonal::Dominant.drawn(column, first..first + count) {
                for (row, sum) in part.clone().zip(&mut sums[part.start - first..]) {
                    *sum += uniform.real::<T>(row, column).to_f64().abs();
                }
            }
        }
        for (row, sum) in (first..).zip(&sums[..count]) {
            // SAFETY: the caller's promise.
            unsafe { matrix.at(row, row).write(dominant(*sum)) };
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
                assert_eq!(Uniform::new(9, 7).real::<f64>(row, column).to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn entries_lie_in_the_interval_and_fill_it() {
        let mut sums = [0.0_f64; 2];
        let (mut least, mut most) = (1.0_f64, -1.0_f64);
        for row in 0..100_000 {
            let entry = Uniform::new(3, 100_000).real::<f64>(row, 5);
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
    fn a_dominant_diagonal_is_the_sum_of_the_rest_and_a_half() {
        const N: usize = 300;
        let uniform = Uniform::new(4, N);
        let mut matrix = [0.0_f64; 4 * N];
        // Rows 255 to 258, on both sides of a part, in columns of a matrix that begins at the first of them.
        let grid = Grid::new(matrix.as_mut_ptr().wrapping_sub(255 * N), N);
        // SAFETY: four columns of the matrix are there.
        unsafe { fill_diagonal(uniform, grid, 255..259) };
        for row in 255..259 {
            let others = (0..N).filter(|column| *column != row).map(|column| uniform.real::<f64>(row, column).abs());
            let expected = others.sum::<f64>() + 0.5;
            assert_eq!(matrix[(row - 255) * N + row].to_bits(), expected.to_bits(), "{row}");
        }
        assert_eq!(matrix.iter().filter(|entry| **entry != 0.0).count(), 4);
    }

    #[test]
    fn a_column_can_be_filled_from_any_row() {
        let uniform = Uniform::new(1, 10);
        let mut whole = [0.0_f32; 10];
        uniform.fill(3, 0, &mut whole);
        let mut part = [0.0_f32; 4];
        uniform.fill(3, 5, &mut part);
        assert_eq!(whole[5..9], part);
        assert_ne!(whole[0].to_bits(), Uniform::new(2, 10).real::<f32>(0, 3).to_bits());
    }
}
