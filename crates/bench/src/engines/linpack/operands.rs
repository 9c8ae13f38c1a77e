//! The matrices of a product that a library computes, and the check of it.

use kernels::dense::{Real, Uniform};
use model::linpack::{LinpackConditions, LinpackParams};
use model::wire::Task;
use sys::numbers::{Number, Numbers};

use super::library::{index, map};
use super::{Residuals, Trouble};

/// Vectors of random signs that the product is multiplied by. A fault of one entry escapes none of them, one of several
/// entries of a row each with a probability of one half at most (Freivalds, "Probabilistic machines can use less running
/// time", 1977).
const VECTORS: usize = 4;

/// Three square matrices: C = A B.
pub(super) struct Operands<T: Real + Number> {
    pub(super) n: usize,
    pub(super) lda: usize,
    seed: u64,
    pub(super) a: Numbers<T>,
    pub(super) b: Numbers<T>,
    pub(super) c: Numbers<T>,
}

impl<T: Real + Number> Operands<T> {
    /// Room for them, untouched.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        let matrix = || map::<T>(lda.checked_mul(n), params.align);
        Ok(Self { n, lda, seed: task.seed, a: matrix()?, b: matrix()?, c: matrix()? })
    }

    /// Where the entries of A and B come from: two sequences of which neither is part of the other.
    fn sources(&self) -> [Uniform; 2] {
        [Uniform::new(self.seed, self.n), Uniform::new(!self.seed, self.n)]
    }

    /// Makes A and B, and a C that is no product.
    pub(super) fn fill(&mut self) {
        let sources = self.sources();
        for (matrix, uniform) in [&mut self.a, &mut self.b].into_iter().zip(sources) {
            for (column, entries) in matrix.chunks_exact_mut(self.lda).enumerate() {
                uniform.fill(column, 0, &mut entries[..self.n]);
            }
        }
        self.c.fill(T::from_f64(0.0));
    }

    /// Checks C against A and B drawn again.
    ///
    /// # Errors
    /// It is not their product.
    pub(super) fn check(&self) -> Result<Residuals, String> {
        let [a, b] = self.sources();
        let signs = Uniform::new(self.seed.rotate_left(32), VECTORS);
        let sign = |vector: usize, row: usize| if signs.entry(vector, row) < 0.0 { -1.0 } else { 1.0 };
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
        // What is no number is no product.
        if scaled < 1.0 {
            return Ok(Residuals { scaled, raw: None });
        }
        Err(format!("the product is wrong: its error is {scaled:.3e} times what rounding explains"))
    }

    /// What the error of a row stays below, by the rule of our own products: sums of n products of numbers up to 1/2 grow
    /// like the root of their length, as do roundings that go either way.
    fn expected_error(&self) -> f64 {
        let root = self.n.isqrt() + 1;
        T::ROUNDOFF * (self.n + 16) as f64 * root as f64
    }

    /// Share of them in huge pages.
    pub(super) fn huge_share(&self) -> Option<f64> {
        let shares = [&self.a, &self.b, &self.c].map(|matrix| matrix.region().place().huge_share());
        shares.into_iter().reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten()
    }

    /// What is known of a row whose library is called so.
    pub(super) fn describe(&self, kernel: String) -> LinpackConditions {
        let n = self.n as u64;
        let mapped: usize = [&self.a, &self.b, &self.c].iter().map(|matrix| matrix.region().len()).sum();
        LinpackConditions {
            kernel: Some(kernel),
            mapped_bytes: Some(mapped as u64),
            matrix_bytes: Some(3 * n * n * size_of::<T>() as u64),
            ..LinpackConditions::default()
        }
    }
}

/// Adds a number times each of the factors.
fn add(sums: &mut [f64; VECTORS], number: f64, factors: [f64; VECTORS]) {
    for (sum, factor) in sums.iter_mut().zip(factors) {
        *sum += number * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::linpack::planted;

    /// A product by the definition.
    fn product<T: Real + Number>(n: u64) -> Operands<T> {
        let task = planted::task(n, 1);
        let model::experiment::Params::Linpack(params) = &task.experiment.params else { panic!("{task:?}") };
        let mut all = Operands::<T>::new(&task, params).unwrap();
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
    fn a_product_passes_and_a_changed_entry_does_not() {
        for n in [1, 2, 60] {
            let mut all = product::<f64>(n);
            assert!(all.check().is_ok_and(|found| found.scaled < 1.0 && found.raw.is_none()));
            let last = (all.n - 1) * (all.lda + 1);
            all.c[last] += 1e-9;
            assert!(all.check().unwrap_err().contains("the product is wrong"), "{n}");
            all.c[last] = f64::NAN;
            assert!(all.check().is_err(), "{n}");
        }
        let mut narrow = product::<f32>(60);
        assert!(narrow.check().is_ok());
        narrow.c[7] += 1e-2;
        assert!(narrow.check().is_err());
    }

    #[test]
    fn what_was_never_multiplied_is_no_product() {
        let mut all = product::<f64>(40);
        all.fill();
        assert!(all.check().is_err());
    }
}
