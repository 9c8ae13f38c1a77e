//! The factorisation of a panel by one thread, with partial pivoting; recursive, after Toledo ("Locality of Reference in LU
//! Decomposition with Partial Pivoting", SIAM J. Matrix Anal. Appl. 1997): the left half, its effect on the right half, the
//! right half. Leaves of [`SOURCES`] columns: one pass each updates a column, scales that before it, finds its pivot.

use core::ops::Range;

use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::solve::step::{Bench, Step};
use crate::dense::tile::{BoundTile, Elimination, SOURCES};

/// Rows between two checks for the largest entry: few compared with a column, and some tens of iterations of the loop.
const PART: usize = 512;

pub(super) struct Panel<'a, T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) grid: Grid<T>,
    /// Its columns, which are also the rows of its triangle.
    pub(super) columns: Range<usize>,
    pub(super) rows: usize,
    pub(super) pivots: *mut u32,
    /// The inverses of the diagonal blocks, less one and negated, each the square of the tile's rows.
    pub(super) inverses: *mut T,
    pub(super) bench: Bench<T>,
    /// Called now and then.
    pub(super) look: &'a mut dyn FnMut(),
    pub(super) singular: Option<usize>,
}

impl<T: Number> Panel<'_, T> {
    /// Factors the panel. Safety: nobody else uses these columns from the triangle down, pivots, inverses, or the bench.
    #[inline(never)]
    pub(super) unsafe fn factor(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.part(self.columns.clone()) };
    }

    /// Factors some columns that are up to date with those to their left.
    unsafe fn part(&mut self, columns: Range<usize>) {
        let block = self.tile.rows();
        let width = columns.len();
        if width <= SOURCES.min(block) {
            // SAFETY: `factor`'s caller has all of this alone.
            unsafe { self.leaf(columns.clone()) };
        } else {
            let unit = if width > block { block } else { SOURCES };
            let middle = columns.start + (width / 2).div_ceil(unit) * unit;
            let (left, right) = (columns.start..middle, middle..columns.end);
            // SAFETY: as above; while the right part is reduced, the left one is factored and not written to.
            unsafe {
                self.part(left.clone());
                self.step(left.clone()).reduce(right.clone(), self.bench, self.look);
                self.part(right.clone());
                self.step(right).interchange(left);
            }
        }
        let is_block = (columns.start - self.columns.start).is_multiple_of(block)
            && (width == block || (width < block && columns.end == self.columns.end));
        if is_block {
            // SAFETY: as above.
            unsafe { self.invert(columns) };
        }
        if width >= block {
            (self.look)();
        }
    }

    /// Some factored columns, as a step for others.
    fn step(&self, columns: Range<usize>) -> Step<T> {
        let offset = columns.start - self.columns.start;
        let by_blocks = columns.len() >= self.tile.rows();
        Step {
            tile: self.tile,
            grid: self.grid,
            pivots: self.pivots.wrapping_add(offset),
            inverses: by_blocks.then(|| self.inverses.wrapping_add(offset * self.tile.rows()).cast_const()),
            panel: columns,
            rows: self.rows,
            packed: None,
        }
    }

    /// Factors at most [`SOURCES`] columns one after another.
    unsafe fn leaf(&mut self, columns: Range<usize>) {
        let mut scale = None;
        for column in columns.clone() {
            let known = columns.start..column;
            let mut factors = [T::ZERO; SOURCES];
            for (index, source) in known.clone().enumerate() {
                // SAFETY: `factor`'s caller has these columns alone.
                let (below, target) = unsafe {
                    (self.grid.column(source, source + 1..column), self.grid.column_mut(column, source..column))
                };
                factors[index] = target[0];
                for (entry, factor) in target[1..].iter_mut().zip(below) {
                    *entry = *entry - *factor * factors[index];
                }
            }
            // SAFETY: as above.
            unsafe {
                let pivot = self.eliminate(column, known, factors, scale);
                self.pivots.add(column - self.columns.start).write(u32::try_from(pivot).unwrap_or(u32::MAX));
                for other in columns.clone() {
                    self.grid.column_mut(other, column..self.rows).swap(0, pivot - column);
                }
                scale = self.scale(column);
            }
        }
        let last = columns.end - 1;
        if let Some(scale) = scale {
            // SAFETY: as above.
            for entry in unsafe { self.grid.column_mut(last, last + 1..self.rows) } {
                *entry = *entry * scale;
            }
        }
    }

    /// Updates the column from its diagonal on with those before it, and returns the row of its largest entry.
    unsafe fn eliminate(&self, column: usize, known: Range<usize>, factors: [T; SOURCES], scale: Option<T>) -> usize {
        let mut largest = (T::ZERO, column);
        for first in (column..self.rows).step_by(PART) {
            let job = Elimination {
                sources: self.grid.at(first, known.start),
                step: self.grid.step(),
                count: known.len(),
                factors,
                scale,
                target: self.grid.at(first, column),
                rows: PART.min(self.rows - first),
            };
            // SAFETY: `factor`'s caller has these columns alone; a column is no source of itself.
            let most = unsafe { self.tile.eliminate(&job) };
            if most > largest.0 {
                largest = (most, first);
            }
        }
        // SAFETY: as above.
        let entries = unsafe { self.grid.column(column, largest.1..self.rows) };
        let place = entries.iter().position(|entry| entry.abs() == largest.0);
        largest.1 + place.unwrap_or(0)
    }

    /// The factor for the entries below the pivot, which is on the diagonal; if its reciprocal is too large, they are
    /// divided at once. A column without a pivot is recorded and left unchanged.
    unsafe fn scale(&mut self, column: usize) -> Option<T> {
        // SAFETY: `factor`'s caller has this column alone.
        let [pivot, below @ ..] = (unsafe { self.grid.column_mut(column, column..self.rows) }) else { return None };
        if *pivot == T::ZERO {
            self.singular = self.singular.or(Some(column));
            return None;
        }
        if pivot.abs() < T::SMALLEST_NORMAL {
            for entry in below {
                *entry = *entry / *pivot;
            }
            return None;
        }
        Some(T::ONE / *pivot)
    }

    /// The inverse of a diagonal block of the unit lower triangle, less one, negated and padded to the tile's rows.
    unsafe fn invert(&mut self, block: Range<usize>) {
        let height = self.tile.rows();
        let first = self.inverses.wrapping_add((block.start - self.columns.start) * height);
        // SAFETY: `factor`'s caller has the inverses alone.
        let inverse = unsafe { core::slice::from_raw_parts_mut(first, block.len() * height) };
        inverse.fill(T::ZERO);
        for (index, target) in inverse.chunks_exact_mut(height).enumerate() {
            target[index] = -T::ONE;
            for source in index..block.len() {
                let (known, below) = target[source..].split_at_mut(1);
                // SAFETY: and these columns.
                let factors = unsafe { self.grid.column(block.start + source, block.start + source + 1..block.end) };
                for (entry, factor) in below.iter_mut().zip(factors) {
                    *entry = *entry - *factor * known[0];
                }
            }
            target[index] = T::ZERO;
        }
    }
}
