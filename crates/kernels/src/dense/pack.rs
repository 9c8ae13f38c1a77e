//! Factors rearranged in the order in which the tile reads them.

use core::ops::Range;

use super::grid::Grid;
use super::real::Real;

/// Packs a stripe of a left factor: `rows` (at most `height`) of `depth` columns from `column` on, padded with zeros to
/// `height` rows.
///
/// # Safety
/// The entries are valid to read, and `target` for `height * depth` elements to write; nobody else uses the target or
/// writes to the entries.
pub(super) unsafe fn stripe<T: Real>(
    grid: Grid<T>,
    rows: Range<usize>,
    columns: Range<usize>,
    target: *mut T,
    height: usize,
) {
    for (level, column) in columns.enumerate() {
        // SAFETY: this column of the target, and these entries, as the caller says.
        unsafe {
            let packed = core::slice::from_raw_parts_mut(target.add(level * height), height);
            let (entries, padding) = packed.split_at_mut(rows.len());
            entries.copy_from_slice(grid.column(column, rows.clone()));
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
