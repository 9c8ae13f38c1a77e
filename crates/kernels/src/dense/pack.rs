//! Factors rearranged in the order in which the tile reads them.

use core::ops::Range;

use super::grid::Grid;
use super::real::Real;

/// Stripes that are packed at once, where there are so many: a column of them is long enough for the processor to fetch
/// it ahead, and few enough targets are written to.
pub(super) const STRIPES: usize = 8;

/// Packs some stripes of a left factor one after another, each of `height` rows of some columns; the last is padded with
/// zeros where it has fewer.
///
/// # Safety
/// The entries are valid to read, and `target` for `height` by the number of columns elements of each stripe to write;
/// nobody else uses the target or writes to the entries.
pub(super) unsafe fn stripes<T: Real>(
    grid: Grid<T>,
    rows: Range<usize>,
    columns: Range<usize>,
    target: *mut T,
    height: usize,
) {
    let stripe = height * columns.len();
    for (level, column) in columns.enumerate() {
        // SAFETY: the caller's promise.
        let entries = unsafe { grid.column(column, rows.clone()) };
        for (index, entries) in entries.chunks(height).enumerate() {
            // SAFETY: this column of this stripe of the target, as the caller says.
            let packed =
                unsafe { core::slice::from_raw_parts_mut(target.add(index * stripe + level * height), height) };
            let (packed, padding) = packed.split_at_mut(entries.len());
            packed.copy_from_slice(entries);
            padding.fill(T::ZERO);
        }
    }
}

/// Packs a strip of a right factor: `rows` of `columns` (at most `width`), row by row, padded with zeros to `width`.
///
/// # Safety
/// The entries are valid to read, and `target` for `width * rows` elements to write; nobody else uses the target or
/// writes to the entries.
pub(super) unsafe fn strip<T: Real>(
    grid: Grid<T>,
    rows: Range<usize>,
    columns: Range<usize>,
    target: *mut T,
    width: usize,
) {
    let depth = rows.len();
    // SAFETY: the caller's promise.
    let packed = unsafe { core::slice::from_raw_parts_mut(target, depth * width) };
    if columns.len() < width {
        packed.fill(T::ZERO);
    }
    for (place, column) in columns.enumerate() {
        // SAFETY: as above.
        let entries = unsafe { grid.column(column, rows.clone()) };
        for (packed, entry) in packed.chunks_exact_mut(width).zip(entries) {
            packed[place] = *entry;
        }
    }
}

/// Writes a packed strip back to where it was packed from.
///
/// # Safety
/// As for [`strip`], but that the entries are valid to write.
pub(super) unsafe fn unpack_strip<T: Real>(
    packed: &[T],
    width: usize,
    grid: Grid<T>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    for (place, column) in columns.enumerate() {
        // SAFETY: the caller's promise.
        let entries = unsafe { grid.column_mut(column, rows.clone()) };
        for (entry, packed) in entries.iter_mut().zip(packed.chunks_exact(width)) {
            *entry = packed[place];
        }
    }
}
