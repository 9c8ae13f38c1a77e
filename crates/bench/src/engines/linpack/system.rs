//! The system's BLAS and LAPACK: the first of the libraries that are known and there, as it is without being told
//! anything but its number of threads.
//!
//! A worker's environment is empty, so nothing forces the kernels that it takes; which they are is part of its name. Its
//! data are made and its result is checked by the same generator and the same rules as those of our own solver.

use std::sync::Arc;

use kernels::dense::{Real, Uniform, check};
use model::isa::Element;
use model::linpack::{LinpackConditions, LinpackOp, LinpackParams};
use model::wire::Task;
use sys::blas::{Blas, LIBRARIES, Unsolved};
use sys::numbers::{Number, Numbers};

use super::library::{Around, Library, index, map, on_the_rows_cpus};
use super::operands::Operands;
use super::parts::judged;
use super::team::Team;
use super::{Residuals, Trouble};

/// Sets a problem up for the system's library.
///
/// # Errors
/// There is none that has it, or no memory.
pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    if i32::try_from(params.lda).is_err() {
        let what = format!("the system's libraries count elements of a column up to 2^31, not {}", params.lda);
        return Err(Trouble::Unavailable(what));
    }
    let blas = on_the_rows_cpus(task, || loaded(params))?;
    let library: Box<dyn Library> = match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => Box::new(Solution::new(blas, task, params)?),
        (LinpackOp::Gemm, Element::Fp64) => Box::new(Product::<f64> { blas, operands: Operands::new(task, params)? }),
        (LinpackOp::Gemm, Element::Fp32) => Box::new(Product::<f32> { blas, operands: Operands::new(task, params)? }),
        (op, element) => return Err(Trouble::Failed(format!("the system's library has no {op} of {element} here"))),
    };
    Ok(Arc::new(Around::new(library, task.cpus.len())))
}

/// The first library that is there and can do it, working with the row's threads.
fn loaded(params: &LinpackParams) -> Result<Blas, Trouble> {
    let mut tried = Vec::new();
    for library in LIBRARIES {
        match Blas::load(library) {
            Ok(blas) if params.op == LinpackOp::Lu && !blas.solves() => {
                tried.push(format!("{}: it has products alone", library.soname));
            }
            Ok(blas) => return with_threads(blas, params.threads),
            Err(reason) => tried.push(format!("{}: {reason}", library.soname)),
        }
    }
    Err(Trouble::Unavailable(format!(
        "there is no library of the system that can do this ({}); install one, on Debian libopenblas0-pthread",
        tried.join("; ")
    )))
}

/// The library with so many threads.
fn with_threads(blas: Blas, threads: u32) -> Result<Blas, Trouble> {
    blas.set_threads(threads);
    let works_with = if blas.threaded == Some(false) { Some(1) } else { blas.threads() };
    match works_with.filter(|found| *found != threads) {
        None => Ok(blas),
        Some(found) => Err(Trouble::Unavailable(format!(
            "{} works with {found} of {threads} threads: it was built without them, or with a smaller limit; on Debian \
             libopenblas0-pthread has them",
            label(&blas)
        ))),
    }
}

/// `OpenBLAS 0.3.21 SkylakeX`.
fn label(blas: &Blas) -> String {
    let words = [Some(blas.library.name), blas.version.as_deref(), blas.core.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A system of equations, solved by LAPACK's `DGESV`.
struct Solution {
    blas: Blas,
    n: usize,
    lda: usize,
    seed: u64,
    matrix: Numbers<f64>,
    /// The right-hand side, then the solution.
    right: Vec<f64>,
    pivots: Vec<i32>,
}

impl Solution {
    fn new(blas: Blas, task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        let matrix = map(lda.checked_mul(n), params.align)?;
        Ok(Self { blas, n, lda, seed: task.seed, matrix, right: vec![0.0; n], pivots: vec![0; n] })
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
        let solved = self.blas.solve(self.n, &mut self.matrix, self.lda, &mut self.pivots, &mut self.right);
        solved.map_err(|unsolved| match unsolved {
            Unsolved::Singular(column) => {
                format!("the matrix is singular: column {column} (counted from 0) has no pivot")
            }
            Unsolved::Argument(number) => format!("{} refuses argument {number} of DGESV", label(&self.blas)),
        })
    }

    fn check(&mut self) -> Result<Residuals, String> {
        judged(&check(self.seed, &self.right), None)
    }

    fn huge_share(&self) -> Option<f64> {
        self.matrix.region().place().huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        let n = self.n as u64;
        LinpackConditions {
            kernel: Some(label(&self.blas)),
            mapped_bytes: Some(self.matrix.region().len() as u64),
            matrix_bytes: Some(n * n * size_of::<f64>() as u64),
            ..LinpackConditions::default()
        }
    }
}

/// A product of matrices by BLAS's `DGEMM` or `SGEMM`.
struct Product<T: Real + Number> {
    blas: Blas,
    operands: Operands<T>,
}

impl<T: Real + Number + sys::blas::Element> Library for Product<T> {
    fn fill(&mut self) {
        self.operands.fill();
    }

    fn work(&mut self) -> Result<(), String> {
        let Operands { n, lda, a, b, c, .. } = &mut self.operands;
        self.blas.multiply(*n, a, b, c, *lda);
        Ok(())
    }

    fn check(&mut self) -> Result<Residuals, String> {
        self.operands.check()
    }

    fn huge_share(&self) -> Option<f64> {
        self.operands.huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        self.operands.describe(label(&self.blas))
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::Params;
    use model::linpack::LinpackEngine;

    use super::*;
    use crate::engines::linpack::planted;

    /// A system for a library on one thread, where there is a library; its problem as well.
    fn solution(n: u64) -> Option<Solution> {
        let mut task = planted::task(n, 1);
        let Params::Linpack(params) = &mut task.experiment.params else { panic!("{task:?}") };
        (params.engine, params.isa) = (LinpackEngine::System, None);
        let params = params.clone();
        match on_the_rows_cpus(&task, || loaded(&params)) {
            Ok(blas) => Some(Solution::new(blas, &task, &params).unwrap()),
            Err(Trouble::Unavailable(reason)) => {
                assert!(reason.contains("libopenblas"), "{reason}");
                crate::tests::skip("LINPACK by the system's library", &reason);
                None
            }
            Err(trouble) => panic!("{trouble:?}"),
        }
    }

    #[test]
    fn a_solution_is_checked_against_the_system_drawn_again() {
        for n in [1, 2, 150] {
            let Some(mut solution) = solution(n) else { return };
            for _ in 0..2 {
                solution.fill();
                solution.work().unwrap();
                let found = solution.check().unwrap();
                assert!(found.scaled < 16.0 && found.raw.is_some_and(|raw| raw < 1e-9), "{found:?}");
            }
            let said = solution.describe();
            assert!(said.kernel.is_some_and(|kernel| kernel.split(' ').count() >= 2), "name and version");
            assert_eq!(said.matrix_bytes, Some(8 * n * n));
        }
    }

    #[test]
    fn products_are_those_of_the_matrices() {
        let mut task = planted::task(90, 1);
        for element in [Element::Fp64, Element::Fp32] {
            let Params::Linpack(params) = &mut task.experiment.params else { panic!("{task:?}") };
            (params.op, params.engine, params.element) = (LinpackOp::Gemm, LinpackEngine::System, element);
            let params = params.clone();
            let team = match team(&task, &params) {
                Ok(team) => team,
                Err(trouble) => return crate::tests::skip("products by the system's library", trouble.reason()),
            };
            team.fill(0).and_then(|()| team.work(0, &mut || {})).unwrap();
            assert!(team.check(0).is_ok_and(|found| found.scaled < 1.0), "{element}");
            team.fill(0).unwrap();
            assert!(team.check(0).is_err(), "what was not multiplied is no product");
        }
    }

    #[test]
    fn what_a_library_solves_wrong_is_found() {
        let Some(mut solution) = solution(100) else { return };
        solution.fill();
        solution.matrix[3 * solution.lda + 7] += 1e-3;
        solution.work().unwrap();
        assert!(solution.check().unwrap_err().contains("the solution is wrong"));
        solution.fill();
        solution.work().unwrap();
        solution.right[5] = f64::NAN;
        assert!(solution.check().is_err());
        solution.fill();
        let (lda, n) = (solution.lda, solution.n);
        solution.matrix[lda * (n - 1)..][..n].fill(0.0);
        assert!(solution.work().unwrap_err().contains("singular: column 99"));
    }
}
