//! The residual of a solution against the system drawn again.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::dense::number::Number;
use crate::dense::random::{Diagonal, Uniform, dominant};

/// The scaled residual below which HPL accepts a solution (`HPL.dat`'s usual threshold).
pub const THRESHOLD: f64 = 16.0;

/// A solution's residual, by maximum norms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// `||A x - b||`.
    pub residual: f64,
    /// `||A x - b|| / (eps (||A|| ||x|| + ||b||) n)`, with the unit roundoff of the type solved in.
    pub scaled: f64,
}

impl Checked {
    /// Whether it is a solution; NaN is not.
    pub fn passes(&self) -> bool {
        self.scaled < THRESHOLD
    }
}

/// Checks, on this thread, a solution of this seed's system of its order. The right-hand side is behind the matrix.
pub fn check<T: Number>(seed: u64, solution: &[T]) -> Checked {
    let norms = Norms::default();
    norms.add_rows(Uniform::new(seed, solution.len()), Diagonal::Drawn, solution, 0..solution.len());
    norms.checked::<T>(solution.len())
}

/// The larger number, or NaN if either is NaN.
pub(crate) const fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

/// Rows that are summed at a time: their sums stay in the first-level cache.
const PART: usize = 256;

/// Maximum norms to which threads add rows in any order, as bits of non-negative numbers, ordered like them, NaN on top.
#[derive(Debug, Default)]
pub(super) struct Norms {
    residual: AtomicU64,
    matrix: AtomicU64,
    solution: AtomicU64,
    rhs: AtomicU64,
}

impl Norms {
    pub(super) fn clear(&self) {
        for norm in [&self.residual, &self.matrix, &self.solution, &self.rhs] {
            norm.store(0, Ordering::Relaxed);
        }
    }

    /// Adds some rows of the system. Each is summed in `f64` in the order of columns, a dominant diagonal last.
    #[inline(never)]
    pub(super) fn add_rows<T: Number>(&self, uniform: Uniform, diagonal: Diagonal, solution: &[T], rows: Range<usize>) {
        let add = |norm: &AtomicU64, value: f64| norm.fetch_max(value.abs().to_bits(), Ordering::AcqRel);
        for first in rows.clone().step_by(PART) {
            let count = PART.min(rows.end - first);
            let mut sums = [(0.0, 0.0); PART];
            for (column, x) in solution.iter().enumerate() {
                let x = x.to_f64();
                for part in diagonal.drawn(column, first..first + count) {
                    for (row, (product, magnitude)) in part.clone().zip(&mut sums[part.start - first..]) {
                        let entry = uniform.real::<T>(row, column).to_f64();
                        *product += entry * x;
                        *magnitude += entry.abs();
                    }
                }
            }
            for (row, (product, magnitude)) in (first..).zip(&mut sums[..count]) {
                if diagonal == Diagonal::Dominant {
                    let entry = dominant::<T>(*magnitude).to_f64();
                    *product += entry * solution[row].to_f64();
                    *magnitude += entry;
                }
                let rhs = uniform.real::<T>(row, solution.len()).to_f64();
                add(&self.residual, *product - rhs);
                add(&self.matrix, *magnitude);
                add(&self.solution, solution[row].to_f64());
                add(&self.rhs, rhs);
            }
        }
    }

    pub(super) fn checked<T: Number>(&self, n: usize) -> Checked {
        let [residual, matrix, solution, rhs] = [&self.residual, &self.matrix, &self.solution, &self.rhs]
            .map(|norm| f64::from_bits(norm.load(Ordering::Acquire)));
        let scale = T::ROUNDOFF * (matrix * solution + rhs) * n as f64;
        Checked { residual, scaled: residual / scale }
    }
}
