//! Products of packed factors: `C -= A * B` tile by tile.

use core::ops::Range;

use super::grid::Grid;
use super::real::Real;
use super::tile::{BoundTile, FETCHED, Levels, Scratch};

/// A left factor in stripes of the tile's rows.
pub(super) struct Left<T> {
    /// The first stripe.
    pub(super) first: *const T,
    /// Elements from one stripe to the next.
    pub(super) stripe: usize,
    /// Elements from one column of a stripe to the next.
    pub(super) step: usize,
    /// The last stripe, where it has fewer rows than the tile and is not padded: a padded copy of it, packed.
    pub(super) edge: Option<*const T>,
}

impl<T> Clone for Left<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Left<T> {}

/// A product that is taken from something: how deep, its right factor in packed strips of the tile's columns, and where its result lies.
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

impl<T: Real> Update<T> {
    /// Takes the product from the result, in these rows of it, which begin with a stripe: strip after strip, each by all
    /// stripes.
    ///
    /// # Safety
    /// Factors and result are valid; nobody else writes to the factors or uses this part of the result.
    pub(super) unsafe fn by_strips(&self, rows: Range<usize>) {
        for column in (0..self.columns).step_by(self.tile.columns()) {
            let mut next = self.right.wrapping_add((column + self.tile.columns()) * self.levels.count);
            for row in rows.clone().step_by(self.tile.rows()) {
                // SAFETY: the caller's promise.
                unsafe { self.one(row, column, next) };
                next = next.wrapping_add(self.tile.columns() * FETCHED / size_of::<T>());
            }
        }
    }

    /// Takes the product from the whole result, stripe after stripe, each by all strips.
    ///
    /// # Safety
    /// As for [`by_strips`](Self::by_strips).
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
            // SAFETY: the factors and this tile of the result are valid, the caller says.
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
