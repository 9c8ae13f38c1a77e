//! The system's BLAS and LAPACK: the first known library that is installed, with its defaults except for the number of threads.
//! A worker's environment is empty, so nothing forces the library's choice of kernels; they are part of its name.

use std::sync::Arc;

use kernels::dense::Real;
use model::isa::Element;
use model::linpack::{LinpackOp, LinpackParams};
use model::wire::Task;
use sys::blas::{Blas, LIBRARIES, Unsolved};
use sys::numbers::Number;

use super::Trouble;
use super::library::{self, on_the_rows_cpus};
use super::operands::{Equations, Operands};
use super::parts::{Team, index};

pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    if i32::try_from(params.lda).is_err() {
        let what = format!("the system's libraries count elements of a column up to 2^31, not {}", params.lda);
        return Err(Trouble::Unavailable(what));
    }
    let blas = on_the_rows_cpus(task, || loaded(params))?;
    let (threads, label) = (task.cpus.len(), label(&blas));
    match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => {
            let solve = solver(blas, index(params.n)?);
            Ok(library::team(Equations::new(task, params, label)?, threads, solve))
        }
        (LinpackOp::Gemm, Element::Fp64) => product::<f64>(blas, task, params, label),
        (LinpackOp::Gemm, Element::Fp32) => product::<f32>(blas, task, params, label),
        (op, element) => Err(Trouble::Failed(format!("the system's library has no {op} of {element}"))),
    }
}

/// The first library that is installed and has the operation, working with the benchmark's threads.
fn loaded(params: &LinpackParams) -> Result<Blas, Trouble> {
    let mut tried = Vec::new();
    for library in LIBRARIES {
        match Blas::load(library) {
            Ok(blas) if params.op == LinpackOp::Lu && !blas.solves() => {
                tried.push(format!("{}: it has only products", library.soname));
            }
            Ok(blas) => return with_threads(blas, params.threads),
            Err(reason) => tried.push(format!("{}: {reason}", library.soname)),
        }
    }
    Err(Trouble::Unavailable(format!(
        "no library of the system can do this ({}). Install one; on Debian libopenblas0-pthread",
        tried.join("; ")
    )))
}

fn with_threads(blas: Blas, threads: u32) -> Result<Blas, Trouble> {
    blas.set_threads(threads);
    let works_with = if blas.threaded == Some(false) { Some(1) } else { blas.threads() };
    match works_with.filter(|found| *found != threads) {
        None => Ok(blas),
        Some(found) => Err(Trouble::Unavailable(format!(
            "{} works with {found} of {threads} threads: it was built without threads, or with a smaller limit. Install \
             another one; on Debian libopenblas0-pthread",
            label(&blas)
        ))),
    }
}

fn label(blas: &Blas) -> String {
    let words = [Some(blas.library.name), blas.version.as_deref(), blas.core.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn solver(blas: Blas, n: usize) -> impl FnMut(&mut Equations) -> Result<(), String> {
    let mut pivots = vec![0; n];
    move |system| {
        let solved = blas.solve(n, &mut system.matrix, system.lda, &mut pivots, &mut system.right);
        solved.map_err(|unsolved| match unsolved {
            Unsolved::Singular(column) => {
                format!("the matrix is singular: column {column} (counted from 0) has no pivot")
            }
            Unsolved::Argument(number) => format!("{} refuses argument {number} of DGESV", label(&blas)),
        })
    }
}

fn product<T: Real + Number + sys::blas::Element>(
    blas: Blas,
    task: &Task,
    params: &LinpackParams,
    label: String,
) -> Result<Arc<dyn Team>, Trouble> {
    Ok(library::team(Operands::<T>::new(task, params, label)?, task.cpus.len(), move |all| {
        blas.multiply(all.n, &all.a, &all.b, &mut all.c, all.lda);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use model::linpack::LinpackEngine;

    use super::super::library::Data;
    use super::*;
    use crate::engines::linpack::tests;

    /// A system for the library on one thread, and the call that solves it; `None` without a library.
    fn solution(n: u64) -> Option<(Equations, impl FnMut(&mut Equations) -> Result<(), String>)> {
        let (task, params) = tests::task_with(n, 1, |params| {
            (params.engine, params.isa) = (LinpackEngine::System, None);
        });
        match on_the_rows_cpus(&task, || loaded(&params)) {
            Ok(blas) => {
                let system = Equations::new(&task, &params, label(&blas)).unwrap();
                let solve = solver(blas, system.n);
                Some((system, solve))
            }
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
            let Some((mut system, mut solve)) = solution(n) else { return };
            for _ in 0..2 {
                system.fill();
                solve(&mut system).unwrap();
                let found = system.check().unwrap();
                assert!(found.scaled < 16.0 && found.raw.is_some_and(|raw| raw < 1e-9), "{found:?}");
            }
            let (_, seen) = system.describe();
            assert!(seen.kernel.is_some_and(|kernel| kernel.split(' ').count() >= 2), "name and version");
            assert_eq!(seen.matrix_bytes, Some(8 * n * n));
        }
    }

    #[test]
    fn products_are_those_of_the_matrices() {
        for element in [Element::Fp64, Element::Fp32] {
            let (task, params) = tests::task_with(90, 1, |params| {
                (params.op, params.engine, params.element) = (LinpackOp::Gemm, LinpackEngine::System, element);
            });
            let team = match team(&task, &params) {
                Ok(team) => team,
                Err(trouble) => return crate::tests::skip("products by the system's library", &trouble.to_string()),
            };
            team.fill(0).and_then(|()| team.work(0, &mut || {})).unwrap();
            assert!(team.check(0).is_ok_and(|found| found.scaled < 1.0), "{element}");
            team.fill(0).unwrap();
            assert!(team.check(0).is_err(), "{element} that was not multiplied");
        }
    }

    #[test]
    fn what_a_library_solves_wrong_is_found() {
        let Some((mut system, mut solve)) = solution(100) else { return };
        system.fill();
        system.matrix[3 * system.lda + 7] += 1e-3;
        solve(&mut system).unwrap();
        assert!(system.check().unwrap_err().contains("the solution is wrong"));
        system.fill();
        solve(&mut system).unwrap();
        system.right[5] = f64::NAN;
        assert!(system.check().is_err());
        system.fill();
        let (lda, n) = (system.lda, system.n);
        system.matrix[lda * (n - 1)..][..n].fill(0.0);
        assert!(solve(&mut system).unwrap_err().contains("singular: column 99"));
    }
}
