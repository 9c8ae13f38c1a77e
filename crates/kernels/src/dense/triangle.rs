//! The upper triangular system of one right-hand side, by all threads.
//!
//! It reads the triangle once and is bound by memory: blocks of columns from the right, of which one thread solves the
//! triangle and all take the effect from the rows above, each from rows of its own.

use core::ops::Range;

use super::crew::{Abandoned, Crew};
use super::grid::Grid;
use super::real::Real;
use super::tile::{BoundTile, Elimination, SOURCES};

/// Rows that a thread works on at a time: the part of the solution stays in the first-level cache.
const PART: usize = 1024;

/// Fewer rows are left to one thread: dividing them costs more than they do.
const FEW: usize = 256;

/// The upper triangle of a matrix whose next column is the right-hand side.
pub(super) struct Upper<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) grid: Grid<T>,
    pub(super) n: usize,
}

impl<T: Real> Upper<T> {
    /// Replaces the right-hand side by the solution, by blocks of so many columns.
    ///
    /// # Safety
    /// All threads of the crew call this together, each under its own number; nobody else writes to the matrix or uses
    /// the right-hand side.
    pub(super) unsafe fn solve(
        &self,
        thread: usize,
        crew: &Crew,
        block: usize,
        look: &mut dyn FnMut(),
    ) -> Result<(), Abandoned> {
        let blocks = self.n.div_ceil(block);
        for number in (0..blocks).rev() {
            let columns = number * block..self.n.min((number + 1) * block);
            if thread == 0 {
                // SAFETY: the others wait.
                unsafe { self.solve_block(columns.clone()) };
            }
            crew.meet()?;
            // SAFETY: each row is taken by one thread, and the solution of this block is only read.
            unsafe { self.take_from(Self::own_rows(columns.start, thread, crew.threads()), columns) };
            look();
            crew.meet()?;
        }
        Ok(())
    }

    /// The rows above a block that a thread works on.
    fn own_rows(above: usize, thread: usize, threads: usize) -> Range<usize> {
        let each = above.div_ceil(threads).max(FEW).next_multiple_of(SOURCES);
        (thread * each).min(above)..((thread + 1) * each).min(above)
    }

    /// Solves the triangle of some columns.
    unsafe fn solve_block(&self, columns: Range<usize>) {
        for column in columns.clone().rev() {
            // SAFETY: the caller has the right-hand side alone, and nobody writes to the matrix.
            let (entries, solution) = unsafe {
                (
                    self.grid.column(column, columns.start..column + 1),
                    self.grid.column_mut(self.n, columns.start..column + 1),
                )
            };
            let ([above @ .., diagonal], [unknown @ .., known]) = (entries, solution) else { continue };
            *known = *known / *diagonal;
            for (entry, factor) in unknown.iter_mut().zip(above) {
                *entry = *entry - *factor * *known;
            }
        }
    }

    /// Takes the effect of some solved columns from some rows above.
    unsafe fn take_from(&self, rows: Range<usize>, columns: Range<usize>) {
        for first in rows.clone().step_by(PART) {
            for source in columns.clone().rev().step_by(SOURCES) {
                let sources = (source + 1).saturating_sub(SOURCES).max(columns.start)..source + 1;
                let mut factors = [T::ZERO; SOURCES];
                // SAFETY: this block is solved.
                factors[..sources.len()].copy_from_slice(unsafe { self.grid.column(self.n, sources.clone()) });
                let job = Elimination {
                    sources: self.grid.at(first, sources.start),
                    step: self.grid.step(),
                    count: sources.len(),
                    factors,
                    scale: None,
                    target: self.grid.at(first, self.n),
                    rows: PART.min(rows.end - first),
                };
                // SAFETY: these rows of the right-hand side are the caller's, and the sources are only read.
                unsafe { self.tile.eliminate(&job) };
            }
        }
    }
}
