//! Factors rearranged into the order in which the tile reads them.

use core::ops::Range;

use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::tile::{BoundTile, LINE, Scratch};
use crate::native::tiles::{copy_past_caches, fetch};

/// Stripes that are packed at once: their columns are long enough for the hardware prefetcher, their targets few enough.
pub(super) const STRIPES: usize = 8;

impl<T: Number> Grid<T> {
    /// Packs stripes of a left factor one after another, each of `height` rows of some columns, the last one padded with
    /// zeros. Safety: the entries are valid to read, and `target` for `height` by the number of columns elements of each
    /// stripe to write; nobody else uses the target or writes to the entries.
    #[inline(never)]
    pub(super) unsafe fn pack_stripes(self, rows: Range<usize>, columns: Range<usize>, target: *mut T, height: usize) {
        let stripe = height * columns.len();
        for (level, column) in columns.enumerate() {
            // SAFETY: the caller's promise.
            let entries = unsafe { self.column(column, rows.clone()) };
            for (index, entries) in entries.chunks(height).enumerate() {
                // SAFETY: this column of this stripe of the target, which the caller vouches for.
                let packed =
                    unsafe { core::slice::from_raw_parts_mut(target.add(index * stripe + level * height), height) };
                let (packed, padding) = packed.split_at_mut(entries.len());
                packed.copy_from_slice(entries);
                padding.fill(T::ZERO);
            }
        }
    }

    /// Like `pack_stripes`, but as pairs of bf16: two columns are packed as one. Safety: as for that, with the tile's rows
    /// for the height and half as many columns, rounded up, in the target.
    #[inline(never)]
    pub(super) unsafe fn pack_pairs(
        self,
        rows: Range<usize>,
        columns: Range<usize>,
        target: *mut T,
        tile: BoundTile<T>,
    ) {
        let height = tile.rows();
        let stripe = height * columns.len().div_ceil(2);
        for (level, column) in columns.clone().step_by(2).enumerate() {
            for (index, first) in rows.clone().step_by(height).enumerate() {
                let part = first..rows.end.min(first + height);
                // SAFETY: the caller's promise, for this level of this stripe of the target.
                let (first, second, packed) = unsafe {
                    let second = (column + 1 < columns.end).then(|| self.column(column + 1, part.clone()));
                    let packed = target.add(index * stripe + level * height);
                    (self.column(column, part.clone()), second, core::slice::from_raw_parts_mut(packed, height))
                };
                let (packed, padding) = packed.split_at_mut(part.len());
                tile.round(first, second, packed);
                padding.fill(T::ZERO);
            }
        }
    }

    /// Packs a strip of a right factor: `rows` of `columns` (at most `width`), row by row, padded with zeros to `width`.
    /// Prefetches the columns of the next strip, which are too short for the hardware prefetcher. Safety: the entries are
    /// valid to read, and `target` for `width * rows` elements to write; nobody else uses the target or writes the entries.
    #[inline(never)]
    pub(super) unsafe fn pack_strip(self, rows: Range<usize>, columns: Range<usize>, target: *mut T, width: usize) {
        let depth = rows.len();
        // SAFETY: the caller's promise.
        let packed = unsafe { core::slice::from_raw_parts_mut(target, depth * width) };
        if columns.len() < width {
            packed.fill(T::ZERO);
        }
        for (place, column) in columns.enumerate() {
            for row in rows.clone().step_by(LINE / size_of::<T>()) {
                fetch(self.at(row, column + width));
            }
            // SAFETY: as above.
            let entries = unsafe { self.column(column, rows.clone()) };
            for (packed, entry) in packed.chunks_exact_mut(width).zip(entries) {
                packed[place] = *entry;
            }
        }
    }

    /// Packs a whole strip like `pack_strip`, but past the caches, for a factor that they cannot hold until it is used: a
    /// third less memory traffic, and the caches keep their contents. Call [`settle`](crate::native::tiles::settle) before
    /// other threads read it. Safety: as for `pack_strip`.
    #[inline(never)]
    pub(super) unsafe fn pack_strip_past_caches(self, rows: Range<usize>, columns: Range<usize>, target: *mut T) {
        let (width, line) = (columns.len(), LINE / size_of::<T>());
        let mut part = Scratch::<T>::new();
        // As many rows as a line of a column has, if there is room.
        let height = line.min(part.0.len() / width).max(1);
        for first in rows.clone().step_by(height) {
            let some = first..rows.end.min(first + height);
            for (place, column) in columns.clone().enumerate() {
                fetch(self.at(first, column + width));
                // SAFETY: the caller's promise.
                let entries = unsafe { self.column(column, some.clone()) };
                for (packed, entry) in part.0.chunks_exact_mut(width).zip(entries) {
                    packed[place] = *entry;
                }
            }
            // SAFETY: these rows of the target, which the caller vouches for.
            unsafe {
                copy_past_caches(part.0.as_ptr(), target.add((first - rows.start) * width), some.len() * width);
            }
        }
    }

    /// Writes a packed strip back where it came from. Safety: as for `pack_strip`, but the entries are valid to write.
    pub(super) unsafe fn unpack_strip(self, packed: &[T], width: usize, rows: Range<usize>, columns: Range<usize>) {
        for (place, column) in columns.enumerate() {
            // SAFETY: the caller's promise.
            let entries = unsafe { self.column_mut(column, rows.clone()) };
            for (entry, packed) in entries.iter_mut().zip(packed.chunks_exact(width)) {
                *entry = packed[place];
            }
        }
    }
}

/// Converts packed strips of a right factor, of `columns` columns and this depth, into strips of pairs of bf16 from the
/// same address on. Safety: the strips are valid, and nobody else uses them.
pub(super) unsafe fn pair_strips<T: Number>(tile: BoundTile<T>, first: *mut T, depth: usize, columns: usize) {
    let width = tile.columns();
    let mut rows = Scratch::<T>::new();
    for strip in 0..columns.div_ceil(width) {
        let source = first.wrapping_add(strip * depth * width);
        let target = first.wrapping_add(strip * depth.div_ceil(2) * width);
        for level in (0..depth).step_by(2) {
            let count = 2.min(depth - level) * width;
            // SAFETY: the caller's promise. A pair, of which both rows were read before, ends where its first row was read.
            let pairs = unsafe {
                core::ptr::copy_nonoverlapping(source.add(level * width), rows.0.as_mut_ptr(), count);
                core::slice::from_raw_parts_mut(target.add(level / 2 * width), width)
            };
            let (even, odd) = rows.0[..count].split_at(width);
            tile.round(even, (!odd.is_empty()).then_some(odd), pairs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs strips of many lengths both ways, to aligned and unaligned addresses.
    fn both_ways_agree<T: Number>(width: usize, value: fn(usize) -> T) {
        const STEP: usize = 40;
        const WIDEST: usize = 16;
        let mut entries: [T; STEP * WIDEST] = core::array::from_fn(value);
        let grid = Grid::new(entries.as_mut_ptr(), STEP);
        for (rows, shift) in (1..34).flat_map(|rows| (0..3).map(move |shift| (rows, shift))) {
            let mut packed = [[T::ZERO; STEP * WIDEST]; 2];
            let [plain, past_caches] = packed.each_mut().map(|target| target[shift..].as_mut_ptr());
            // SAFETY: the entries are there, and both targets have room for the strip; nobody else knows of them.
            unsafe {
                grid.pack_strip(3..3 + rows, 0..width, plain, width);
                grid.pack_strip_past_caches(3..3 + rows, 0..width, past_caches);
            }
            crate::native::tiles::settle();
            assert!(packed[0] == packed[1], "{rows} rows of {width}, {shift} elements from the start");
            assert!(packed[0][shift + rows * width..].iter().all(|rest| *rest == T::ZERO), "nothing behind the strip");
        }
    }

    #[test]
    fn a_strip_is_packed_past_the_caches_like_otherwise() {
        for width in [1, 4, 6, 8, 16] {
            both_ways_agree::<f64>(width, |index| index as f64 + 0.5);
            both_ways_agree::<f32>(width, |index| index as f32 + 0.5);
        }
    }
}
