//! How a problem is cut so that its parts stay in the caches.
//!
//! The loops are those of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", ACM TOMS 2008): a
//! strip of the right factor stays in the first-level cache while a block of the left one passes by from the second;
//! each part of the result is then read and written once for every `panel` multiply-adds.

use super::real::Real;
use super::tile::Tile;

/// Bytes of the data caches that one thread can count on. Zero where unknown, for which a small one is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    /// First level.
    pub l1d: usize,
    /// Second level.
    pub l2: usize,
}

/// How a problem is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Columns that are factored at a time, and the depth of the products: `NB` of HPL.
    pub panel: usize,
    /// Rows of the left factor that pass through the second-level cache at a time; a multiple of the tile's.
    pub rows: usize,
    /// The most columns that a thread takes at a time.
    pub columns: usize,
}

/// Where a cache's size is unknown: the smallest of processors with AVX2 (Haswell: 32 KiB and 256 KiB).
const SMALL: Caches = Caches { l1d: 32 << 10, l2: 256 << 10 };

/// The deepest products, a multiple of the rows of the fp64 tiles: beyond, little is gained, the panels grow, which one
/// thread factors, and so do their two packed copies, which are to stay below 64 MiB where the order is 10000.
const DEEPEST: usize = 264;

/// The most columns of a piece of work: each reads the whole left factor from beyond the second-level cache, which is
/// then less than a hundredth of what it computes; more would only take memory.
const MOST_COLUMNS: usize = 2048;

impl Blocking {
    /// For problems of order `n` with this tile.
    pub fn new<T: Real>(tile: &Tile<T>, n: usize, caches: Caches) -> Self {
        let known = |bytes: usize, small: usize| if bytes == 0 { small } else { bytes };
        let (l1d, l2) = (known(caches.l1d, SMALL.l1d), known(caches.l2, SMALL.l2));
        // A strip of the right factor may have half of the first level.
        let deepest = (l1d / 2 / (tile.columns * size_of::<T>())).min(DEEPEST);
        // Small problems are cut into a score of panels at least, or the first and the last are all there is.
        let panel = (n / 20).max(4 * tile.rows).min(deepest);
        Self { panel, rows: 0, columns: 0 }.fitted(tile, l2)
    }

    /// The same caches, but panels of so many columns (at least 1).
    #[must_use]
    pub fn with_panel<T: Real>(self, tile: &Tile<T>, panel: usize, caches: Caches) -> Self {
        let l2 = if caches.l2 == 0 { SMALL.l2 } else { caches.l2 };
        Self { panel: panel.max(1), ..self }.cut(tile, l2)
    }

    /// Whole stripes in a panel, so that the next begins on a line where this one does.
    fn fitted<T: Real>(self, tile: &Tile<T>, l2: usize) -> Self {
        Self { panel: (self.panel / tile.rows).max(1) * tile.rows, ..self }.cut(tile, l2)
    }

    /// A quarter of the second level for a block of the left factor: strips of the right factor and tiles of the result
    /// pass through the same cache, and of a virtual machine's a neighbour may use a part.
    fn cut<T: Real>(self, tile: &Tile<T>, l2: usize) -> Self {
        let level = self.panel * size_of::<T>();
        let stripes = (l2 / 4 / level / tile.rows).max(1);
        Self { panel: self.panel, rows: stripes * tile.rows, columns: MOST_COLUMNS }
    }
}

/// A leading dimension for columns of `rows` elements: whole cache lines, and an odd number of them, so that columns
/// side by side do not fall into the same sets of a cache.
pub const fn padded<T>(rows: usize) -> usize {
    let line = 64 / size_of::<T>();
    let lines = rows.div_ceil(line);
    (lines + 1 - lines % 2) * line
}
