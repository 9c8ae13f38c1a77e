//! The matrices of a problem that a library solves, and the check of its result.

use kernels::dense::{self, Real, Uniform};
use model::linpack::{LinpackConditions, LinpackParams};
use model::wire::Task;
use sys::numbers::{Number, Numbers};

use super::library::Data;
use super::parts::{Memory, index, judged, map};
use super::{Residuals, Trouble};

/// Vectors of random signs that the product is multiplied by. A fault of one entry escapes none of them, one of several
/// entries of a row each with a probability of one half at most (Freivalds, "Probabilistic machines can use less running
/// time", 1977).
const VECTORS: usize = 4;

fn matrix<T: Number>(params: &LinpackParams) -> Result<Numbers<T>, Trouble> {
    map(index(params.lda.saturating_mul(params.n))?, index(params.align)?)
}

fn fill<T: Real>(matrix: &mut [T], n: usize, lda: usize, uniform: Uniform) {
    for (column, entries) in matrix.chunks_exact_mut(lda).enumerate() {
        uniform.fill(column, 0, &mut entries[..n]);
    }
}

/// A system of equations: the matrix, then its factors; the right-hand side, then the solution.
pub(super) struct Equations {
    pub(super) n: usize,
    pub(super) lda: usize,
    seed: u64,
    label: String,
    pub(super) matrix: Numbers<f64>,
    pub(super) right: Vec<f64>,
}

impl Equations {
    pub(super) fn new(task: &Task, params: &LinpackParams, label: String) -> Result<Self, Trouble> {
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        Ok(Self { n, lda, seed: task.seed, label, matrix: matrix(params)?, right: vec![0.0; n] })
    }
}

impl Data for Equations {
    fn fill(&mut self) {
        let uniform = Uniform::new(self.seed, self.n);
        fill(&mut self.matrix, self.n, self.lda, uniform);
        // The right-hand side is the column behind the matrix.
        uniform.fill(self.n, 0, &mut self.right);
    }

    fn check(&self) -> Result<Residuals, String> {
        let singular = (0..self.n).find(|column| self.matrix[column * (self.lda + 1)].abs() <= 0.0);
        judged(&dense::check(self.seed, &self.right), singular)
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        Memory::new(&[self.matrix.region()], &[]).describe(&self.label, self.n * self.n * size_of::<f64>())
    }
}

pub(super) struct Operands<T: Real + Number> {
    pub(super) n: usize,
    pub(super) lda: usize,
    seed: u64,
    label: String,
    pub(super) a: Numbers<T>,
    pub(super) b: Numbers<T>,
    pub(super) c: Numbers<T>,
}

impl<T: Real + Number> Operands<T> {
    pub(super) fn new(task: &Task, params: &LinpackParams, label: String) -> Result<Self, Trouble> {
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        Ok(Self { n, lda, seed: task.seed, label, a: matrix(params)?, b: matrix(params)?, c: matrix(params)? })
    }

    fn sources(&self) -> [Uniform; 2] {
        [Uniform::new(self.seed, self.n), Uniform::new(!self.seed, self.n)]
    }

    /// The bound of a row's error: sums of n products of numbers up to 1/2 grow like the root of their length.
    fn expected_error(&self) -> f64 {
        T::ROUNDOFF * (self.n + 16) as f64 * (self.n.isqrt() + 1) as f64
    }
}

impl<T: Real + Number> Data for Operands<T> {
    fn fill(&mut self) {
        let [a, b] = self.sources();
        fill(&mut self.a, self.n, self.lda, a);
        fill(&mut self.b, self.n, self.lda, b);
        self.c.fill(T::from_f64(0.0));
    }

    fn check(&self) -> Result<Residuals, String> {
        let [a, b] = self.sources();
        let signs = Uniform::new(self.seed.rotate_left(32), VECTORS);
        let sign = |vector: usize, row: usize| if signs.real::<f64>(vector, row) < 0.0 { -1.0 } else { 1.0 };
        let rows = || vec![[0.0; VECTORS]; self.n];
        let (mut right, mut errors) = (rows(), rows());
        for column in 0..self.n {
            let signs: [f64; VECTORS] = std::array::from_fn(|vector| sign(vector, column));
            for (row, sums) in right.iter_mut().enumerate() {
                add(sums, b.real::<T>(row, column).to_f64(), signs);
            }
            let found = &self.c[column * self.lda..][..self.n];
            for (sums, found) in errors.iter_mut().zip(found) {
                add(sums, found.to_f64(), signs);
            }
        }
        for (level, factors) in right.iter().enumerate() {
            for (row, sums) in errors.iter_mut().enumerate() {
                add(sums, -a.real::<T>(row, level).to_f64(), *factors);
            }
        }
        let worst = errors.iter().flatten().fold(0.0, |most: f64, error| {
            if most.is_nan() || error.is_nan() { f64::NAN } else { most.max(error.abs()) }
        });
        let scaled = worst / self.expected_error();
        if scaled < 1.0 {
            return Ok(Residuals { scaled, raw: None });
        }
        Err(format!("the product is wrong: its error is {scaled:.3e} times what rounding explains"))
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        let matrices = [&self.a, &self.b, &self.c].map(Numbers::region);
        Memory::new(&matrices, &[]).describe(&self.label, 3 * self.n * self.n * size_of::<T>())
    }
}

fn add(sums: &mut [f64; VECTORS], number: f64, factors: [f64; VECTORS]) {
    for (sum, factor) in sums.iter_mut().zip(factors) {
        *sum += number * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::linpack::tests;

    fn product<T: Real + Number>(n: u64) -> Operands<T> {
        let (task, params) = tests::task_with(n, 1, |_| ());
        let mut all = Operands::<T>::new(&task, &params, String::new()).unwrap();
        all.fill();
        for (row, column) in (0..all.n).flat_map(|row| (0..all.n).map(move |column| (row, column))) {
            let level = |k: usize| all.a[row + all.lda * k].to_f64() * all.b[k + all.lda * column].to_f64();
            let sum: f64 = (0..all.n).map(level).sum();
            let place = row + all.lda * column;
            all.c[place] = T::from_f64(sum);
        }
        all
    }

    #[test]
    fn a_product_passes_and_a_changed_entry_or_one_that_was_never_computed_does_not() {
        for n in [1, 2, 60] {
            let mut all = product::<f64>(n);
            assert!(all.check().is_ok_and(|found| found.scaled < 1.0 && found.raw.is_none()));
            let last = (all.n - 1) * (all.lda + 1);
            all.c[last] += 1e-9;
            assert!(all.check().unwrap_err().contains("the product is wrong"), "{n}");
            all.c[last] = f64::NAN;
            assert!(all.check().is_err(), "{n}");
            all.fill();
            assert!(all.check().is_err(), "{n}");
        }
        let mut narrow = product::<f32>(60);
        assert!(narrow.check().is_ok());
        narrow.c[7] += 1e-2;
        assert!(narrow.check().is_err());
    }
}
