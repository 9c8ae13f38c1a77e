//! Problems, crews and a naive oracle for the tests of dense linear algebra.
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]

use std::fmt::Debug;

use kernels::dense::{Abandoned, Blocking, BoundTile, Caches, Crew, Diagonal, Problem, Real, Solver, Uniform};
use kernels::features::Features;

/// A problem and its crew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<T: Real> {
    pub(crate) n: usize,
    pub(crate) lda: usize,
    pub(crate) threads: usize,
    pub(crate) panel: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) diagonal: Diagonal,
    pub(crate) tile: BoundTile<T>,
}

impl<T: Real> Setting<T> {
    pub(crate) const fn new(tile: BoundTile<T>) -> Self {
        Self { n: 1, lda: 1, threads: 1, panel: None, seed: 7, diagonal: Diagonal::Drawn, tile }
    }

    /// Caches so small that small problems have several blocks.
    pub(crate) fn problem(self) -> Problem<T> {
        let Self { n, lda, seed, diagonal, tile, panel, .. } = self;
        let caches = Caches { l1d: 8 << 10, l2: 64 << 10 };
        let derived = || Blocking::new(tile.tile(), n, caches);
        let blocking = panel.map_or_else(derived, |panel| Blocking::of_panel(tile.tile(), panel, caches));
        Problem { n, lda, seed, diagonal, tile, blocking }
    }
}

/// The tiles that this machine can run, widest first.
pub(crate) fn every_tile<T: Real>() -> Vec<BoundTile<T>> {
    T::tiles().iter().filter_map(|tile| tile.bind(&Features::detect())).collect()
}

/// The problem in buffers of exactly its size.
pub(crate) fn solver<T: Real>(setting: Setting<T>) -> Solver<T, Vec<T>> {
    solver_of(setting.problem(), setting.threads)
}

pub(crate) fn solver_of<T: Real>(problem: Problem<T>, threads: usize) -> Solver<T, Vec<T>> {
    let matrix = vec![T::ZERO; problem.matrix_len().unwrap()];
    let workspace = vec![T::ZERO; problem.workspace_len(threads)];
    Solver::new(problem, Crew::new(threads, std::thread::yield_now), matrix, workspace).unwrap()
}

/// The results of all threads of a solver's crew.
pub(crate) fn crewed<T: Real, R: Send + Debug>(
    solver: &Solver<T, Vec<T>>,
    work: impl Fn(&Solver<T, Vec<T>>, usize) -> Result<R, Abandoned> + Sync,
) -> Vec<Result<R, Abandoned>> {
    together(solver.crew().threads(), |thread| work(solver, thread))
}

/// The results of some threads.
pub(crate) fn together<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

/// A system solved by the textbook.
pub(crate) struct Oracle {
    /// The factors and the solution, in columns of length n.
    pub(crate) matrix: Vec<f64>,
    pub(crate) pivots: Vec<u32>,
}

/// Gaussian elimination with partial pivoting of a seed's system.
pub(crate) fn naive(n: usize, seed: u64) -> Oracle {
    let uniform = Uniform::new(seed, n);
    let mut matrix: Vec<f64> =
        (0..=n).flat_map(|column| (0..n).map(move |row| uniform.real::<f64>(row, column))).collect();
    let mut pivots = Vec::new();
    for step in 0..n {
        let column = &matrix[step * n..][..n];
        let pivot =
            (step..n).reduce(|best, row| if column[row].abs() > column[best].abs() { row } else { best }).unwrap();
        pivots.push(u32::try_from(pivot).unwrap());
        for column in matrix.chunks_mut(n) {
            column.swap(step, pivot);
        }
        let (done, rest) = matrix.split_at_mut((step + 1) * n);
        let (pivot, below) = done[step * n + step..].split_first_mut().unwrap();
        for entry in &mut *below {
            *entry /= *pivot;
        }
        for column in rest.chunks_mut(n) {
            let factor = column[step];
            column[step + 1..].iter_mut().zip(&*below).for_each(|(entry, below)| *entry -= below * factor);
        }
    }
    let (factors, solution) = matrix.split_at_mut(n * n);
    for row in (0..n).rev() {
        solution[row] /= factors[row * n + row];
        let known = solution[row];
        solution[..row].iter_mut().zip(&factors[row * n..]).for_each(|(entry, factor)| *entry -= factor * known);
    }
    Oracle { matrix, pivots }
}
