//! Products of packed factors: `C -= A * B` tile by tile.

use core::ops::Range;

use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::tile::{BoundTile, FETCHED, LINE, Levels, Scratch};
use crate::native::tiles::fetch;

/// A left factor in stripes of the tile's rows.
#[derive(Clone, Copy)]
pub(super) struct Left<T> {
    pub(super) first: *const T,
    /// Elements from one stripe to the next.
    pub(super) stripe: usize,
    /// Elements from one column of a stripe to the next.
    pub(super) step: usize,
    /// A padded, packed copy of the last stripe, if that has fewer rows than the tile.
    pub(super) edge: Option<*const T>,
}

/// A product that is subtracted from a result, with the right factor in packed strips of the tile's columns.
pub(super) struct Update<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) levels: Levels,
    pub(super) left: Left<T>,
    pub(super) right: *const T,
    pub(super) result: Grid<T>,
    /// Rows and columns of the result.
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl<T: Number> Update<T> {
    /// Subtracts the product from these rows of the result, which begin with a stripe: strip after strip, each by all
    /// stripes. The packed stripes of the `upcoming` rows are prefetched into the second-level cache meanwhile, evenly
    /// over all tiles: otherwise the first strip would wait for each of their lines. Safety: factors and result are
    /// valid; nobody else writes to the factors or uses this part of the result.
    #[inline(never)]
    pub(super) unsafe fn by_strips(&self, rows: Range<usize>, upcoming: Range<usize>) {
        let (height, width) = (self.tile.rows(), self.tile.columns());
        let line = LINE / size_of::<T>();
        let mut ahead = self.left.first.wrapping_add(upcoming.start / height * self.left.stripe);
        let mut lines = upcoming.len().div_ceil(height) * self.left.stripe / line;
        let tiles = self.columns.div_ceil(width) * rows.len().div_ceil(height);
        let at_a_time = lines.div_ceil(tiles.max(1));
        for column in (0..self.columns).step_by(width) {
            let mut next = self.right.wrapping_add((column + width) * self.levels.count);
            for row in rows.clone().step_by(height) {
                for _ in 0..at_a_time.min(lines) {
                    fetch(ahead);
                    ahead = ahead.wrapping_add(line);
                    lines -= 1;
                }
                // SAFETY: the caller's promise.
                unsafe { self.one(row, column, next) };
                next = next.wrapping_add(width * FETCHED / size_of::<T>());
            }
        }
    }

    /// The rows of the block after one that ends with `end`; after the last the first, where the next piece of work begins.
    pub(super) fn upcoming(&self, end: usize, block: usize) -> Range<usize> {
        let start = if end < self.rows { end } else { 0 };
        start..self.rows.min(start + block)
    }

    /// Subtracts the whole product, stripe after stripe, each by all strips. Safety: as for [`by_strips`](Self::by_strips).
    pub(super) unsafe fn by_stripes(&self) {
        for row in (0..self.rows).step_by(self.tile.rows()) {
            for column in (0..self.columns).step_by(self.tile.columns()) {
                // SAFETY: the caller's promise.
                unsafe { self.one(row, column, self.right) };
            }
        }
    }

    /// One tile, whole or at the edge.
    #[inline]
    unsafe fn one(&self, row: usize, column: usize, next: *const T) {
        let (tile_rows, tile_columns) = (self.tile.rows(), self.tile.columns());
        let right = self.right.wrapping_add(column * self.levels.count);
        let is_whole_stripe = row + tile_rows <= self.rows;
        let left = match self.left.edge {
            Some(edge) if !is_whole_stripe => (edge, tile_rows),
            _ => (self.left.first.wrapping_add(row / tile_rows * self.left.stripe), self.left.step),
        };
        let result = self.result.at(row, column);
        if is_whole_stripe && column + tile_columns <= self.columns {
            // SAFETY: the caller vouches for the factors and this tile of the result.
            unsafe { self.tile.run(self.levels, left, right, (result, self.result.step()), next) };
        } else {
            let rows = tile_rows.min(self.rows - row);
            let columns = tile_columns.min(self.columns - column);
            let mut scratch = Scratch::<T>::new();
            // SAFETY: as above; the scratch tile has room for a tile of any row of the table.
            unsafe { self.tile.run(self.levels, left, right, (scratch.0.as_mut_ptr(), tile_rows), next) };
            for (index, part) in scratch.0.chunks_exact(tile_rows).take(columns).enumerate() {
                // SAFETY: these rows of the column are in the result, which nobody else uses.
                let target = unsafe { self.result.column_mut(column + index, row..row + rows) };
                for (entry, change) in target.iter_mut().zip(part) {
                    *entry = *entry + *change;
                }
            }
        }
    }
}
