//! The effect of a factored panel on the columns to its right: interchange of rows, triangular solve, product.

use core::ops::Range;

use crate::dense::gemm::{Left, Update};
use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::pack;
use crate::dense::tile::{BoundTile, Levels};
use crate::native::tiles::fetch;

/// Columns by which interchanged rows are prefetched; they are scattered, so that the hardware prefetcher fails.
const AHEAD: usize = 2;

/// A factored panel of the matrix: unit lower triangular on top, and the part below it.
pub(super) struct Step<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) grid: Grid<T>,
    /// Its columns, which are also the rows of its triangle.
    pub(super) panel: Range<usize>,
    pub(super) rows: usize,
    /// For each row, the row with which it is interchanged.
    pub(super) pivots: *const u32,
    /// The inverses of the diagonal blocks, each of the tile's rows, less one and negated; `None` for at most one block.
    pub(super) inverses: Option<*const T>,
    /// The part below the triangle in packed stripes, if packed; for a tile with pairs, in pairs of bf16.
    pub(super) packed: Option<*const T>,
}

#[derive(Clone, Copy)]
pub(super) struct Bench<T> {
    /// Room for the right factor: the depth by the columns of a job.
    pub(super) right: *mut T,
    /// Room for one stripe of the left factor.
    pub(super) stripe: *mut T,
    /// Rows of the left factor that stream through the cache at a time.
    pub(super) block: usize,
}

impl<T: Number> Step<T> {
    /// Updates columns with the panel; `look` is called now and then. Safety: nobody else uses them, the panel or the bench.
    #[inline(never)]
    pub(super) unsafe fn reduce(&self, columns: Range<usize>, bench: Bench<T>, look: &mut dyn FnMut()) {
        // SAFETY: the caller's promise, here and in what follows.
        unsafe {
            self.interchange(columns.clone());
            self.solve(columns.clone(), bench);
        }
        let below = self.panel.end..self.rows;
        if below.is_empty() {
            return;
        }
        let height = self.tile.rows();
        let depth = self.panel.len();
        let levels = self.packed.map_or(Levels::single(depth), |_| Levels::packed(self.tile, depth));
        if levels.are_pairs {
            // SAFETY: as above.
            unsafe { pack::pair_strips(self.tile, bench.right, depth, columns.len()) };
        }
        let left = match self.packed {
            Some(packed) => Left { first: packed, stripe: height * levels.count, step: height, edge: None },
            // SAFETY: as above.
            None => unsafe { self.in_place(below.clone(), self.panel.clone(), bench) },
        };
        let update = Update {
            tile: self.tile,
            levels,
            left,
            right: bench.right,
            result: Grid::new(self.grid.at(below.start, columns.start), self.grid.step()),
            rows: below.len(),
            columns: columns.len(),
        };
        if self.packed.is_none() {
            // SAFETY: as above.
            unsafe { update.by_stripes() };
            return;
        }
        for first in (0..update.rows).step_by(bench.block) {
            let end = update.rows.min(first + bench.block);
            // SAFETY: as above.
            unsafe { update.by_strips(first..end, update.upcoming(end, bench.block)) };
            look();
        }
    }

    /// Interchanges the rows of some columns like the panel's. Safety: nobody else uses these columns.
    #[inline(never)]
    pub(super) unsafe fn interchange(&self, columns: Range<usize>) {
        let first = self.panel.start;
        // SAFETY: there are as many pivots as the panel has columns.
        let pivots = unsafe { core::slice::from_raw_parts(self.pivots, self.panel.len()) };
        for column in columns {
            // SAFETY: the caller has these columns alone.
            let entries = unsafe { self.grid.column_mut(column, first..self.rows) };
            for pivot in pivots {
                fetch(self.grid.at(*pivot as usize, column + AHEAD));
            }
            for (row, pivot) in pivots.iter().enumerate() {
                entries.swap(row, *pivot as usize - first);
            }
        }
    }

    /// Solves with the triangle: the panel's rows of these columns become those of the upper factor, and the bench's
    /// right factor a packed copy of them. Safety: as for [`reduce`](Self::reduce).
    unsafe fn solve(&self, columns: Range<usize>, bench: Bench<T>) {
        let (width, depth) = (self.tile.columns(), self.panel.len());
        for first in columns.clone().step_by(width) {
            let strip = first..columns.end.min(first + width);
            let target = bench.right.wrapping_add((first - columns.start) * depth);
            // SAFETY: the caller's promise; the packed strip is nobody else's.
            unsafe {
                let Some(inverses) = self.inverses else {
                    self.grid.pack_strip(self.panel.clone(), strip.clone(), target, width);
                    let packed = core::slice::from_raw_parts_mut(target, depth * width);
                    self.substitute(packed);
                    self.grid.unpack_strip(packed, width, self.panel.clone(), strip);
                    continue;
                };
                self.solve_by_blocks(strip, target, inverses, bench);
            }
        }
    }

    unsafe fn substitute(&self, packed: &mut [T]) {
        let width = self.tile.columns();
        for (row, column) in self.panel.clone().enumerate() {
            // SAFETY: the panel is factored and nobody writes to it.
            let factors = unsafe { self.grid.column(column, column + 1..self.panel.end) };
            let (known, unknown) = packed[row * width..].split_at_mut(width);
            for (entries, factor) in unknown.chunks_exact_mut(width).zip(factors) {
                for (entry, known) in entries.iter_mut().zip(&*known) {
                    *entry = *entry - *factor * *known;
                }
            }
        }
    }

    /// Solves a strip in place, by blocks of the tile's rows, and packs it: less known rows, then times the inverse less one.
    unsafe fn solve_by_blocks(&self, strip: Range<usize>, packed: *mut T, inverses: *const T, bench: Bench<T>) {
        let (height, width) = (self.tile.rows(), self.tile.columns());
        let (first, depth) = (self.panel.start, self.panel.len());
        for start in (0..depth).step_by(height) {
            let block = first + start..self.panel.end.min(first + start + height);
            let update = |left, right: *mut T, depth| Update {
                tile: self.tile,
                levels: Levels::single(depth),
                left,
                right,
                result: Grid::new(self.grid.at(block.start, strip.start), self.grid.step()),
                rows: block.len(),
                columns: strip.len(),
            };
            let target = packed.wrapping_add(start * width);
            let inverse = Left { first: inverses.wrapping_add(start * height), stripe: 0, step: height, edge: None };
            // SAFETY: the factored panel is only read; nobody else uses the columns or the strip, whose rows above are packed.
            unsafe {
                if start > 0 {
                    let left = self.in_place(block.clone(), first..block.start, bench);
                    update(left, packed, start).by_stripes();
                }
                self.grid.pack_strip(block.clone(), strip.clone(), target, width);
                update(inverse, target, block.len()).by_stripes();
                self.grid.pack_strip(block.clone(), strip.clone(), target, width);
            }
        }
    }

    /// Rows and columns of the panel as a left factor in place; an incomplete last stripe is copied to the bench.
    unsafe fn in_place(&self, rows: Range<usize>, columns: Range<usize>, bench: Bench<T>) -> Left<T> {
        let height = self.tile.rows();
        let rest = rows.len() % height;
        let edge = (rest > 0).then(|| {
            // SAFETY: nobody writes to the panel, and nobody else uses the bench.
            unsafe { self.grid.pack_stripes(rows.end - rest..rows.end, columns.clone(), bench.stripe, height) };
            bench.stripe.cast_const()
        });
        Left { first: self.grid.at(rows.start, columns.start), stripe: height, step: self.grid.step(), edge }
    }
}
