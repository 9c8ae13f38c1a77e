//! faer, a library of linear algebra in Rust, as a second solver for comparison: its LU with partial pivoting and its
//! products, on threads of its own that are pinned to the benchmark's CPUs. Compiled with the feature `faer` only.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par, Spec};
use kernels::dense::Real;
use model::isa::Element;
use model::linpack::{LinpackOp, LinpackParams};
use model::wire::Task;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sys::numbers::Number;

use super::Trouble;
use super::library;
use super::operands::{Equations, Operands};
use super::parts::{Team, index};

const LABEL: &str = "faer 0.24";

pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    let pool = pool(task)?;
    match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => {
            let solve = solver(pool, index(params.n)?)?;
            Ok(library::team(Equations::new(task, params, LABEL.to_owned())?, task.cpus.len(), solve))
        }
        (LinpackOp::Gemm, Element::Fp64) => product::<f64>(pool, task, params),
        (LinpackOp::Gemm, Element::Fp32) => product::<f32>(pool, task, params),
        (op, element) => Err(Trouble::Failed(format!("the engine faer has no {op} of {element}"))),
    }
}

fn pool(task: &Task) -> Result<ThreadPool, Trouble> {
    let cpus = task.cpus.clone();
    let pinned = move |thread: usize| {
        // A thread that cannot be pinned runs on any of the process's CPUs: slower, not wrong.
        let _ = cpus.get(thread).map(|cpu| sys::affinity::pin_to(*cpu));
    };
    let built = ThreadPoolBuilder::new().num_threads(task.cpus.len()).start_handler(pinned).build();
    built.map_err(|error| Trouble::Unavailable(format!("the threads of faer cannot be started: {error}")))
}

fn parallel(pool: &ThreadPool) -> Par {
    match pool.current_num_threads() {
        0 | 1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

fn solver(pool: ThreadPool, n: usize) -> Result<impl FnMut(&mut Equations) -> Result<(), String> + Send, Trouble> {
    let par = parallel(&pool);
    let needed = factor::lu_in_place_scratch::<usize, f64>(n, n, par, Spec::default())
        .or(solve::solve_in_place_scratch::<usize, f64>(n, 1, par));
    let mut scratch = MemBuffer::try_new(needed)
        .map_err(|_| Trouble::Unavailable("no memory for the workspace of faer".to_owned()))?;
    let (mut permutation, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
    Ok(move |system: &mut Equations| {
        let Equations { lda, matrix, right, .. } = system;
        pool.install(|| {
            let stack = MemStack::new(&mut scratch);
            let mut factors = MatMut::from_column_major_slice_with_stride_mut(matrix, n, n, *lda);
            let params = Spec::default();
            let (_, rows) = factor::lu_in_place(factors.rb_mut(), &mut permutation, &mut inverse, par, stack, params);
            let right = MatMut::from_column_major_slice_mut(right, n, 1);
            solve::solve_in_place(factors.rb(), factors.rb(), rows, right, par, stack);
        });
        Ok(())
    })
}

fn product<T: Real + Number + faer::traits::ComplexField>(
    pool: ThreadPool,
    task: &Task,
    params: &LinpackParams,
) -> Result<Arc<dyn Team>, Trouble> {
    let par = parallel(&pool);
    let operands = Operands::<T>::new(task, params, LABEL.to_owned())?;
    Ok(library::team(operands, task.cpus.len(), move |all: &mut Operands<T>| {
        let Operands { n, lda, a, b, c, .. } = all;
        let (n, lda) = (*n, *lda);
        let (a, b, c): (&[T], &[T], &mut [T]) = (a, b, c);
        pool.install(|| {
            let a = MatRef::from_column_major_slice_with_stride(a, n, n, lda);
            let b = MatRef::from_column_major_slice_with_stride(b, n, n, lda);
            let c = MatMut::from_column_major_slice_with_stride_mut(c, n, n, lda);
            matmul(c, Accum::Replace, a, b, T::ONE, par);
        });
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use model::linpack::LinpackEngine;

    use super::super::library::Data;
    use super::*;
    use crate::engines::linpack::tests;

    fn task(n: u64, threads: u32, op: LinpackOp, element: Element) -> (Task, LinpackParams) {
        tests::task_with(n, threads, |params| {
            (params.op, params.engine, params.element, params.isa) = (op, LinpackEngine::Faer, element, None);
        })
    }

    fn solution(n: u64, threads: u32) -> (Equations, impl FnMut(&mut Equations) -> Result<(), String>) {
        let (task, params) = task(n, threads, LinpackOp::Lu, Element::Fp64);
        let system = Equations::new(&task, &params, LABEL.to_owned()).unwrap();
        let solve = solver(pool(&task).unwrap(), system.n).unwrap();
        (system, solve)
    }

    #[test]
    fn solutions_and_products_pass() {
        for (n, threads) in [(1, 1), (2, 1), (150, 1), (300, 2)] {
            let (mut system, mut solve) = solution(n, threads);
            for _ in 0..2 {
                system.fill();
                solve(&mut system).unwrap();
                assert!(system.check().is_ok_and(|found| found.scaled < 16.0), "{n}");
            }
        }
        for element in [Element::Fp64, Element::Fp32] {
            let (task, params) = task(90, 2, LinpackOp::Gemm, element);
            let team = team(&task, &params).unwrap();
            team.fill(0).unwrap();
            assert!(team.check(0).is_err(), "{element} that was not multiplied");
            team.work(0, &mut || {}).unwrap();
            assert!(team.check(0).is_ok(), "{element}");
        }
    }
}
