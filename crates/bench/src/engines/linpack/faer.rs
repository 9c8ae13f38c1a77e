//! faer, a library of linear algebra in Rust, as a second solver for comparison: its LU with partial pivoting and its
//! products, on threads of its own that are pinned to the row's CPUs.
//!
//! It is in the program only where that was built with the feature `faer`. Its data are made and its result is checked as
//! those of the system's library are.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par, Spec};
use kernels::dense::{Real, Uniform, check};
use model::isa::Element;
use model::linpack::{LinpackConditions, LinpackOp, LinpackParams};
use model::wire::Task;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sys::numbers::{Number, Numbers};

use super::library::{Around, Library, index, map};
use super::operands::Operands;
use super::parts::judged;
use super::team::Team;
use super::{Residuals, Trouble};

/// What a row says of it: the version is that of this package's manifest.
const LABEL: &str = "faer 0.24";

/// Sets a problem up for faer.
///
/// # Errors
/// It does not have it, there is no memory, or there are no threads.
pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    let pool = pool(task)?;
    let library: Box<dyn Library> = match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => Box::new(Solution::new(pool, task, params)?),
        (LinpackOp::Gemm, Element::Fp64) => Box::new(Product::<f64> { pool, operands: Operands::new(task, params)? }),
        (LinpackOp::Gemm, Element::Fp32) => Box::new(Product::<f32> { pool, operands: Operands::new(task, params)? }),
        (op, element) => return Err(Trouble::Failed(format!("the engine faer has no {op} of {element} here"))),
    };
    Ok(Arc::new(Around::new(library, task.cpus.len())))
}

/// Its threads, each on a CPU of the row.
fn pool(task: &Task) -> Result<ThreadPool, Trouble> {
    let cpus = task.cpus.clone();
    let pinned = move |thread: usize| {
        // One that cannot be pinned runs where the others may: slower, not wrong.
        let _ = cpus.get(thread).map(|cpu| sys::affinity::pin_to(*cpu));
    };
    let built = ThreadPoolBuilder::new().num_threads(task.cpus.len()).start_handler(pinned).build();
    built.map_err(|error| Trouble::Unavailable(format!("the threads of faer cannot be started: {error}")))
}

/// As many threads as the pool has.
fn parallel(pool: &ThreadPool) -> Par {
    match pool.current_num_threads() {
        0 | 1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

/// A system of equations.
struct Solution {
    pool: ThreadPool,
    n: usize,
    lda: usize,
    seed: u64,
    matrix: Numbers<f64>,
    /// The right-hand side, then the solution.
    right: Vec<f64>,
    permutation: Vec<usize>,
    inverse: Vec<usize>,
    /// What its functions need beside their arguments.
    scratch: MemBuffer,
}

impl Solution {
    fn new(pool: ThreadPool, task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        let par = parallel(&pool);
        let needed = factor::lu_in_place_scratch::<usize, f64>(n, n, par, Spec::default())
            .or(solve::solve_in_place_scratch::<usize, f64>(n, 1, par));
        let scratch = MemBuffer::try_new(needed)
            .map_err(|_| Trouble::Unavailable("no memory for what faer needs beside the matrix".to_owned()))?;
        Ok(Self {
            pool,
            n,
            lda,
            seed: task.seed,
            matrix: map(lda.checked_mul(n), params.align)?,
            right: vec![0.0; n],
            permutation: vec![0; n],
            inverse: vec![0; n],
            scratch,
        })
    }
}

impl Library for Solution {
    fn fill(&mut self) {
        let uniform = Uniform::new(self.seed, self.n);
        for (column, entries) in self.matrix.chunks_exact_mut(self.lda).enumerate() {
            uniform.fill(column, 0, &mut entries[..self.n]);
        }
        // The right-hand side is the column behind the matrix.
        uniform.fill(self.n, 0, &mut self.right);
    }

    fn work(&mut self) -> Result<(), String> {
        let (n, lda, par) = (self.n, self.lda, parallel(&self.pool));
        let Self { pool, matrix, right, permutation, inverse, scratch, .. } = self;
        pool.install(|| {
            let stack = MemStack::new(scratch);
            let mut factors = MatMut::from_column_major_slice_with_stride_mut(matrix, n, n, lda);
            let params = Spec::default();
            let (_, rows) = factor::lu_in_place(factors.rb_mut(), permutation, inverse, par, stack, params);
            let right = MatMut::from_column_major_slice_mut(right, n, 1);
            solve::solve_in_place(factors.rb(), factors.rb(), rows, right, par, stack);
        });
        Ok(())
    }

    fn check(&mut self) -> Result<Residuals, String> {
        let pivot = |column: &usize| self.matrix[column * (self.lda + 1)];
        let singular = (0..self.n).find(|column| pivot(column).abs() <= 0.0);
        judged(&check(self.seed, &self.right), singular)
    }

    fn huge_share(&self) -> Option<f64> {
        self.matrix.region().place().huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        let n = self.n as u64;
        LinpackConditions {
            kernel: Some(LABEL.to_owned()),
            mapped_bytes: Some(self.matrix.region().len() as u64),
            matrix_bytes: Some(n * n * size_of::<f64>() as u64),
            ..LinpackConditions::default()
        }
    }
}

/// A product of matrices.
struct Product<T: Real + Number> {
    pool: ThreadPool,
    operands: Operands<T>,
}

impl<T: Real + Number + faer::traits::ComplexField> Library for Product<T> {
    fn fill(&mut self) {
        self.operands.fill();
    }

    fn work(&mut self) -> Result<(), String> {
        let par = parallel(&self.pool);
        let Operands { n, lda, a, b, c, .. } = &mut self.operands;
        let (n, lda) = (*n, *lda);
        let (a, b, c): (&[T], &[T], &mut [T]) = (a, b, c);
        self.pool.install(|| {
            let a = MatRef::from_column_major_slice_with_stride(a, n, n, lda);
            let b = MatRef::from_column_major_slice_with_stride(b, n, n, lda);
            let c = MatMut::from_column_major_slice_with_stride_mut(c, n, n, lda);
            matmul(c, Accum::Replace, a, b, T::ONE, par);
        });
        Ok(())
    }

    fn check(&mut self) -> Result<Residuals, String> {
        self.operands.check()
    }

    fn huge_share(&self) -> Option<f64> {
        self.operands.huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        self.operands.describe(LABEL.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::Params;
    use model::linpack::LinpackEngine;

    use super::*;
    use crate::engines::linpack::planted;

    fn task(n: u64, threads: u32, op: LinpackOp, element: Element) -> (Task, LinpackParams) {
        let mut task = planted::task(n, threads);
        let Params::Linpack(params) = &mut task.experiment.params else { panic!("{task:?}") };
        (params.op, params.engine, params.element, params.isa) = (op, LinpackEngine::Faer, element, None);
        let params = params.clone();
        (task, params)
    }

    fn solution(n: u64, threads: u32) -> Solution {
        let (task, params) = task(n, threads, LinpackOp::Lu, Element::Fp64);
        Solution::new(pool(&task).unwrap(), &task, &params).unwrap()
    }

    #[test]
    fn solutions_and_products_pass() {
        for (n, threads) in [(1, 1), (2, 1), (150, 1), (300, 2)] {
            let mut solution = solution(n, threads);
            for _ in 0..2 {
                solution.fill();
                solution.work().unwrap();
                assert!(solution.check().is_ok_and(|found| found.scaled < 16.0), "{n}");
            }
        }
        for element in [Element::Fp64, Element::Fp32] {
            let (task, params) = task(90, 2, LinpackOp::Gemm, element);
            let team = team(&task, &params).unwrap();
            team.fill(0).unwrap();
            assert!(team.check(0).is_err(), "what was not multiplied is no product");
            team.work(0, &mut || {}).unwrap();
            assert!(team.check(0).is_ok(), "{element}");
        }
    }

    #[test]
    fn what_it_solves_wrong_is_found() {
        let mut solution = solution(100, 1);
        solution.fill();
        solution.matrix[3 * solution.lda + 7] += 1e-3;
        solution.work().unwrap();
        assert!(solution.check().unwrap_err().contains("the solution is wrong"));
        solution.fill();
        let (lda, n) = (solution.lda, solution.n);
        solution.matrix[lda * (n - 1)..][..n].fill(0.0);
        solution.work().unwrap();
        assert!(solution.check().unwrap_err().contains("singular: column 99"));
    }
}
