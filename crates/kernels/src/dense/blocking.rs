//! How a problem is cut so that its parts stay in the caches, by the loops of Goto and van de Geijn ("Anatomy of
//! High-Performance Matrix Multiplication", ACM TOMS 2008): a strip of the right factor stays in the first-level cache
//! while a block of the left one streams from the second; the result is read and written once for every `panel` multiply-adds.

use crate::dense::number::Number;
use crate::dense::tile::Tile;

/// Bytes of the data caches per thread. Zero means unknown: a small one is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    /// First level.
    pub l1d: usize,
    /// Second level.
    pub l2: usize,
}

/// The sizes of the parts of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Columns that are factored at a time, and the depth of the products: `NB` of HPL.
    pub panel: usize,
    /// Rows of the left factor that stream through the second-level cache at a time; a multiple of the tile's.
    pub rows: usize,
    /// The most columns that a thread takes at a time.
    pub columns: usize,
}

/// Assumed for unknown caches: the smallest of processors with AVX2 (Haswell: 32 KiB and 256 KiB).
const SMALL: Caches = Caches { l1d: 32 << 10, l2: 256 << 10 };

/// The deepest products, a multiple of the rows of the fp64 tiles: beyond, little is gained, while panels, which one
/// thread factors, grow, and so do their two packed copies, which stay below 64 MiB up to an order of 10000.
const DEEPEST: usize = 264;

/// Below this depth, reading and writing the result so often costs more than reloading the strip now and then.
const SHALLOW: usize = 180;

/// The most columns of a piece of work: reading the whole left factor from memory is below a hundredth of what it computes.
const MOST_COLUMNS: usize = 2048;

/// The deepest products of a tile that stay in a first level of this size.
fn deepest<T: Number>(tile: &Tile<T>, l1d: usize) -> usize {
    let level = |elements: usize| elements * size_of::<T>();
    // A strip of the right factor and a stripe of the left one may have three quarters, so that streaming data
    // evict nothing that is still needed. If that is too little depth, the strip alone may have half.
    let both = 3 * l1d / 4 / level(tile.rows + tile.columns);
    let strip = l1d / 2 / level(tile.columns);
    (if both < SHALLOW { strip } else { both }).min(DEEPEST)
}

impl Blocking {
    /// For factors of order `n` with this tile.
    pub fn new<T: Number>(tile: &Tile<T>, n: usize, caches: Caches) -> Self {
        // Small problems are cut into at least twenty panels, or the first and the last would be all.
        Self::deep(tile, (n / 20).max(4 * tile.rows), caches)
    }

    /// For products with this tile, of any size: they have no panels that one thread factors.
    pub fn of_products<T: Number>(tile: &Tile<T>, caches: Caches) -> Self {
        Self::deep(tile, DEEPEST, caches)
    }

    /// As deep as the first level allows, at most `most`, in whole stripes, so that all panels begin on a line like the first.
    fn deep<T: Number>(tile: &Tile<T>, most: usize, caches: Caches) -> Self {
        let l1d = if caches.l1d == 0 { SMALL.l1d } else { caches.l1d };
        let stripes = most.min(deepest(tile, l1d)) / tile.rows;
        Self::of_panel(tile, stripes.max(1) * tile.rows, caches)
    }

    /// For panels of this number of columns (at least 1). A block of the left factor gets a quarter of the second level:
    /// strips of the right factor and tiles of the result pass through the same cache, and another VM may use a part.
    pub fn of_panel<T: Number>(tile: &Tile<T>, panel: usize, caches: Caches) -> Self {
        let (panel, l2) = (panel.max(1), if caches.l2 == 0 { SMALL.l2 } else { caches.l2 });
        let stripes = (l2 / 4 / (panel * size_of::<T>()) / tile.rows).max(1);
        Self { panel, rows: stripes * tile.rows, columns: MOST_COLUMNS }
    }
}

/// A leading dimension for `rows` elements: odd in cache lines, so that adjacent columns use different sets of a cache.
pub const fn padded<T>(rows: usize) -> usize {
    let line = 64 / size_of::<T>();
    let lines = rows.div_ceil(line);
    (lines + 1 - lines % 2) * line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::real::Real;

    /// The shares of the first level that a strip, and a strip with a stripe, take in percent.
    fn shares<T: Real>(tile: &Tile<T>, depth: usize, l1d: usize) -> [usize; 2] {
        [tile.columns, tile.columns + tile.rows].map(|elements| 100 * elements * depth * size_of::<T>() / l1d)
    }

    fn holds<T: Real>() {
        for tile in T::tiles() {
            for caches in
                [Caches::default(), Caches { l1d: 32 << 10, l2: 512 << 10 }, Caches { l1d: 48 << 10, l2: 2 << 20 }]
            {
                let l1d = if caches.l1d == 0 { SMALL.l1d } else { caches.l1d };
                let products = Blocking::of_products(tile, caches);
                let [strip, both] = shares(tile, products.panel, l1d);
                assert!(both <= 75 || strip <= 50, "{} {caches:?}: {products:?}", tile.name);
                assert!(products.panel + tile.rows > SHALLOW, "{} {caches:?}: {products:?}", tile.name);
                for n in [1, 100, 2000, 5000, 100_000] {
                    let factors = Blocking::new(tile, n, caches);
                    assert!(factors.panel <= products.panel && factors.panel.is_multiple_of(tile.rows), "{n}");
                    assert!(factors.panel <= (n / 20).max(4 * tile.rows), "{n}: {factors:?}");
                }
                assert_eq!(Blocking::new(tile, 100_000, caches), products, "{}", tile.name);
            }
        }
    }

    #[test]
    fn the_working_set_of_a_tile_stays_in_the_first_level() {
        holds::<f64>();
        holds::<f32>();
    }
}
