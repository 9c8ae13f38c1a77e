//! The solution of `A x = b` in mixed precision, as in HPL-MxP: factors in fp32, by the same LU with partial pivoting
//! as in fp64, and from them by refinement a solution as accurate as in fp64, the same bits for any number of threads.
//!
//! With a tile that has pairs, the products of the factorisation are of factors rounded to bf16 with sums in fp32, as HPL-MxP
//! allows: too coarse for HPL's random matrices, and a good preconditioner for [`Diagonal::Dominant`] ones.

use core::ops::DerefMut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::dense::crew::{Abandoned, Crew, Done, Phase};
use crate::dense::grid::{Grid, Store};
use crate::dense::random::{Diagonal, Uniform, fill_diagonal};
use crate::dense::solve::gmres::{Ask, Gmres, Refined, Room, root, rounded};
use crate::dense::solve::lu::{Problem, Solver, Unfit, own};
use crate::dense::solve::residual::{Checked, Norms};
use crate::dense::solve::triangle::{own_rows, take_columns};
use crate::dense::tile::BoundTile;

/// What a refinement does next, as a number.
const RESIDUAL: usize = usize::MAX - 1;
const END: usize = usize::MAX;

/// A system of linear equations in fp64 that a crew of threads fills, solves by factors in fp32, and checks.
///
/// Every method with a `thread` is called by all threads of the crew, each with its own number from 0, and returns when
/// all have done their part. It fails if another thread has given up. Nothing is allocated.
#[derive(Debug)]
pub struct Mixed<W, N> {
    /// The matrix in fp32 with its right-hand side, and its factors.
    low: Solver<f32, N>,
    tile: BoundTile<f64>,
    matrix: Store<f64, W>,
    workspace: Store<f64, W>,
    norms: Norms,
    asked: AtomicUsize,
    refinements: AtomicUsize,
    converged: AtomicBool,
}

impl Problem<f32> {
    /// Elements of the matrix in fp64, with its right-hand side; `None` if they cannot be addressed.
    pub fn kept_len(&self) -> Option<usize> {
        // Twice the bytes of `matrix_len`, which is limited to a quarter of the address space.
        self.matrix_len().filter(|len| *len <= isize::MAX.unsigned_abs() / 2 / size_of::<f64>())
    }

    /// Elements in fp64 of the workspace of a refinement.
    pub fn refinement_len(&self) -> usize {
        Room::len(self.n)
    }
}

impl<W: DerefMut<Target = [f64]> + Send, N: DerefMut<Target = [f32]> + Send> Mixed<W, N> {
    /// Sets a problem up in the buffers of the matrix and its workspace.
    ///
    /// They are in fp64 (of at least [`Problem::kept_len`] and [`Problem::refinement_len`] elements) and in fp32
    /// ([`Problem::matrix_len`] and [`Problem::workspace_len`]). `tile` is for products in fp64.
    pub fn new(
        problem: Problem<f32>,
        tile: BoundTile<f64>,
        crew: Crew,
        (matrix, workspace): (W, W),
        (low_matrix, low_workspace): (N, N),
    ) -> Result<Self, Unfit> {
        let needed = problem.kept_len().ok_or(Unfit::Order)?;
        let room = problem.refinement_len();
        let low = Solver::new(problem, crew, low_matrix, low_workspace)?;
        let matrix = Store::new(matrix, needed).map_err(|_| Unfit::Matrix(needed))?;
        let workspace = Store::new(workspace, room).map_err(|_| Unfit::Workspace(room))?;
        let (norms, asked, refinements, converged) = Default::default();
        Ok(Self { low, tile, matrix, workspace, norms, asked, refinements, converged })
    }

    /// The problem of the factors.
    pub const fn problem(&self) -> &Problem<f32> {
        self.low.problem()
    }

    /// The crew.
    pub const fn crew(&self) -> &Crew {
        self.low.crew()
    }

    /// The first column without a pivot, counted from 0, if the factored matrix in fp32 is singular.
    pub fn singular(&self) -> Option<usize> {
        self.low.singular()
    }

    /// The outcome of the last refinement.
    pub fn refined(&self) -> Refined {
        Refined {
            refinements: self.refinements.load(Ordering::Acquire),
            converged: self.converged.load(Ordering::Acquire),
        }
    }

    /// The matrix in fp64 with its right-hand side in the last column; a solution changes neither.
    pub fn matrix_mut(&mut self) -> &mut [f64] {
        self.matrix.get_mut()
    }

    /// The solution.
    pub fn solution_mut(&mut self) -> &mut [f64] {
        let n = self.problem().n;
        &mut self.workspace.get_mut()[..n]
    }

    /// Writes the system in fp64, and zeros elsewhere: panels in turn, as any thread will work on any column.
    pub fn fill(&self, thread: usize) -> Result<(), Abandoned> {
        let n = self.problem().n;
        self.together(thread, Phase::Fill, || {
            for column in self.low.own_columns(thread) {
                // SAFETY: the column is within the buffers, and only this thread's.
                let (kept, low) =
                    unsafe { (self.grid().column_mut(column, 0..n), self.low.grid().column_mut(column, 0..n)) };
                self.uniform().fill(column, 0, kept);
                low.fill(0.0);
            }
            if self.problem().diagonal == Diagonal::Dominant {
                self.crew().meet()?;
                // SAFETY: all columns are drawn, and these rows are this thread's.
                unsafe { fill_diagonal(self.uniform(), self.grid(), own(n, thread, self.crew().threads())) };
            }
            // SAFETY: all threads of the crew are here, each under a number of its own.
            unsafe { self.low.clear_workspace(thread) };
            let own = own(Room::len(n), thread, self.crew().threads());
            // SAFETY: this part of the buffer is only this thread's.
            unsafe { Grid::new(self.workspace.first(), 0).column_mut(0, own) }.fill(0.0);
            Ok(())
        })
    }

    /// Solves the system: rounds its matrix to fp32, factors that, and refines. `look` is called between pieces of
    /// work, of at most some milliseconds for orders below about 50 000.
    pub fn factor_and_solve(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        self.together(thread, Phase::Work, || {
            // SAFETY: all threads of the crew are here, each under a number of its own.
            unsafe {
                self.round(thread, look);
                self.crew().meet()?;
                self.low.factor(thread, look)?;
                self.refine(thread, look)
            }
        })
    }

    /// The residual of the solution against the system drawn again, in fp64.
    pub fn check(&self, thread: usize) -> Result<Checked, Abandoned> {
        self.together(thread, Phase::Check, || {
            let n = self.problem().n;
            // SAFETY: nobody writes to the solution.
            let solution = unsafe { core::slice::from_raw_parts(self.room().solution().cast_const(), n) };
            let rows = own(n, thread, self.crew().threads());
            self.norms.add_rows(self.uniform(), self.problem().diagonal, solution, rows);
            self.crew().meet()?;
            Ok(self.norms.checked::<f64>(n))
        })
    }

    fn together<R>(&self, thread: usize, phase: Phase, work: impl FnOnce() -> Done<R>) -> Done<R> {
        let before = || {
            // SAFETY: called by one thread while all others wait, so none has a reference into the buffers.
            let is_lent = unsafe {
                self.low.lend();
                self.matrix.lend() && self.workspace.lend()
            };
            if !is_lent {
                self.crew().abandon();
            }
            match phase {
                Phase::Fill => {}
                Phase::Work => self.low.restart(),
                Phase::Check => self.norms.clear(),
            }
        };
        self.crew().together(thread, phase, before, work)
    }

    fn grid(&self) -> Grid<f64> {
        Grid::new(self.matrix.first(), self.problem().lda)
    }

    fn room(&self) -> Room {
        Room::new(self.workspace.first(), self.problem().n)
    }

    const fn uniform(&self) -> Uniform {
        self.problem().uniform()
    }

    /// Writes a thread's columns in fp32, and the sum of squares of each where the solution will be. Safety: all
    /// threads of the crew call it together, each under its own number.
    unsafe fn round(&self, thread: usize, look: &mut dyn FnMut()) {
        let n = self.problem().n;
        for column in self.low.own_columns(thread) {
            // SAFETY: the column is this thread's.
            let (kept, low) = unsafe { (self.grid().column(column, 0..n), self.low.grid().column_mut(column, 0..n)) };
            let squares = rounded(kept, low);
            if column < n {
                // SAFETY: so is the entry of its number.
                unsafe { self.room().solution().add(column).write(squares) };
            }
            look();
        }
    }

    /// Refines the solution behind the factors. Safety: all threads of the crew call it together, each by its number.
    unsafe fn refine(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        let n = self.problem().n;
        // SAFETY: nobody uses the buffers before the next step is published.
        let mut gmres = (thread == 0).then(|| unsafe { self.gmres() });
        let mut is_solved = true;
        loop {
            if let Some(gmres) = &mut gmres {
                // SAFETY: the others wait.
                let ask = unsafe { gmres.next() };
                self.publish(ask, gmres.refined());
            }
            self.crew().meet()?;
            let own = own_rows(0..n, thread, self.crew().threads());
            match self.asked.load(Ordering::Acquire) {
                END => return Ok(()),
                // SAFETY: nobody writes to the solution, and the rows are this thread's.
                RESIDUAL => unsafe { self.residual(own) },
                // SAFETY: the caller's promise; then all threads have solved, and the rows are this thread's.
                index => unsafe {
                    if !core::mem::take(&mut is_solved) {
                        self.low.solve_again(thread, look)?;
                    }
                    self.multiply(own, index + 1);
                },
            }
            look();
            self.crew().meet()?;
        }
    }

    /// The refinement before its first round. Safety: the other threads wait, and all have rounded their columns.
    unsafe fn gmres(&self) -> Gmres {
        let n = self.problem().n;
        let room = self.room();
        // SAFETY: the caller's promise; both columns have this number of rows.
        unsafe {
            let squares = core::slice::from_raw_parts(room.solution().cast_const(), n);
            let matrix_norm = root(squares.iter().sum());
            Gmres::new(room, self.grid().at(0, n).cast_const(), self.low.grid().at(0, n), matrix_norm)
        }
    }

    fn publish(&self, ask: Ask, refined: Refined) {
        self.refinements.store(refined.refinements, Ordering::Release);
        self.converged.store(refined.converged, Ordering::Release);
        let number = match ask {
            Ask::Apply(index) => index,
            Ask::Residual => RESIDUAL,
            Ask::End => END,
        };
        self.asked.store(number, Ordering::Release);
    }

    /// Computes rows of the residual in the basis' first vector. Safety: nobody else uses them or writes to the solution.
    unsafe fn residual(&self, rows: core::ops::Range<usize>) {
        let (n, room) = (self.problem().n, self.room());
        let target = room.basis(0);
        // SAFETY: the caller's promise, and nobody writes to the system.
        unsafe {
            let solution = core::slice::from_raw_parts(room.solution().cast_const(), n);
            let own = core::slice::from_raw_parts_mut(target.add(rows.start), rows.len());
            own.copy_from_slice(self.grid().column(n, rows.clone()));
            take_columns(self.tile, self.grid(), 0..n, rows, |column| solution[column], target);
        }
    }

    /// Computes some rows of the matrix times the column behind the factors, into a vector of the basis. Safety: nobody
    /// writes to the column behind the factors, and nobody else uses these rows of the vector.
    unsafe fn multiply(&self, rows: core::ops::Range<usize>, index: usize) {
        let n = self.problem().n;
        let target = self.room().basis(index);
        // SAFETY: the caller's promise, and nobody writes to the system.
        unsafe {
            let vector = self.low.grid().column(n, 0..n);
            core::slice::from_raw_parts_mut(target.add(rows.start), rows.len()).fill(0.0);
            let factor = |column: usize| -f64::from(vector[column]);
            take_columns(self.tile, self.grid(), 0..n, rows, factor, target);
        }
    }
}

#[cfg(test)]
mod tests;
