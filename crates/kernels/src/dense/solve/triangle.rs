//! The triangular systems of one right-hand side, and a matrix times a vector, by all threads. Each reads its matrix
//! once and is bound by memory. For each block of columns one thread solves the diagonal block; all update the other rows.

use core::ops::Range;

use crate::dense::crew::{Abandoned, Crew};
use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::tile::{BoundTile, Elimination, SOURCES};

/// Rows that a thread processes at a time: the part of the solution stays in the first-level cache.
const PART: usize = 1024;

/// Fewer rows are left to one thread: dividing them costs more.
const FEW: usize = 256;

/// The triangles of a factored matrix whose next column is the right-hand side.
pub(super) struct Triangles<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) grid: Grid<T>,
    pub(super) n: usize,
}

impl<T: Number> Triangles<T> {
    /// Replaces the right-hand side by the solution of the upper one, by blocks of `block` columns. Safety: all threads
    /// of the crew call this together, each by its number; nobody else writes to the matrix or uses the right-hand side.
    #[inline(never)]
    pub(super) unsafe fn solve_upper(
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
                unsafe { self.upper_block(columns.clone()) };
            }
            crew.meet()?;
            // SAFETY: each row is taken by one thread, and the solution of this block is only read.
            unsafe { self.take_from(own_rows(0..columns.start, thread, crew.threads()), columns) };
            look();
            crew.meet()?;
        }
        Ok(())
    }

    /// Solves the unit lower triangle of some columns. Safety: nobody else uses these rows or writes to the matrix.
    #[inline(never)]
    pub(super) unsafe fn lower_block(&self, columns: Range<usize>) {
        for column in columns.clone() {
            // SAFETY: the caller's promise.
            let (factors, solution) = unsafe {
                (self.grid.column(column, column + 1..columns.end), self.grid.column_mut(self.n, column..columns.end))
            };
            let [known, unknown @ ..] = solution else { continue };
            for (entry, factor) in unknown.iter_mut().zip(factors) {
                *entry = *entry - *factor * *known;
            }
        }
    }

    unsafe fn upper_block(&self, columns: Range<usize>) {
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

    /// Subtracts the effect of some solved columns from some other rows. Safety: nobody else uses these rows of the
    /// right-hand side, or writes to those of the columns or to the matrix.
    #[inline(never)]
    pub(super) unsafe fn take_from(&self, rows: Range<usize>, columns: Range<usize>) {
        // SAFETY: the caller's promise; the rows are not those of the columns.
        let solution = unsafe { self.grid.column(self.n, columns.clone()) };
        let factor = |column: usize| solution[column - columns.start];
        // SAFETY: as above.
        unsafe { take_columns(self.tile, self.grid, columns.clone(), rows, factor, self.grid.at(0, self.n)) };
    }
}

pub(super) fn own_rows(rows: Range<usize>, thread: usize, threads: usize) -> Range<usize> {
    let each = rows.len().div_ceil(threads).max(FEW).next_multiple_of(SOURCES);
    let place = |thread: usize| rows.start + (thread * each).min(rows.len());
    place(thread)..place(thread + 1)
}

/// Subtracts multiples of some columns of a matrix from some rows of a vector: each entry by the same operations in the
/// same order, whatever the rows are. Safety: these rows of the columns and of the vector, whose first is at `target`,
/// are valid; nobody writes to the columns, and nobody else uses these rows of the vector.
pub(super) unsafe fn take_columns<T: Number>(
    tile: BoundTile<T>,
    grid: Grid<T>,
    columns: Range<usize>,
    rows: Range<usize>,
    factor: impl Fn(usize) -> T,
    target: *mut T,
) {
    for first in rows.clone().step_by(PART) {
        for source in columns.clone().rev().step_by(SOURCES) {
            let sources = (source + 1).saturating_sub(SOURCES).max(columns.start)..source + 1;
            let mut factors = [T::ZERO; SOURCES];
            for (entry, column) in factors.iter_mut().zip(sources.clone()) {
                *entry = factor(column);
            }
            let job = Elimination {
                sources: grid.at(first, sources.start),
                step: grid.step(),
                count: sources.len(),
                factors,
                scale: None,
                target: target.wrapping_add(first),
                rows: PART.min(rows.end - first),
            };
            // SAFETY: the caller's promise; the sources are only read.
            unsafe { tile.eliminate(&job) };
        }
    }
}
