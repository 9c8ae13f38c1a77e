//! The innermost loops of dense linear algebra, one row for each element type and instruction set.
//!
//! A *tile* is the part of a matrix `C` that fits the registers; its loop computes `C -= A * B`. A second loop works on single
//! columns: the narrowest panels, and triangular systems of one right-hand side.

use model::isa::Isa;

use crate::dense::number::Number;
use crate::features::{Feature, Features, Needs};

/// The most columns that one elimination subtracts from another at a time.
pub(crate) const SOURCES: usize = 8;

/// A tile's loop: `c -= a * b`, where `a` has the tile's rows and `depth` columns `a_step` elements apart; `b` has
/// `depth` rows of the tile's columns, packed row by row; and `c` has the tile's rows and columns, `c_step` elements
/// apart. Sums begin at zero and are subtracted from `c` at the end, in the order of `depth`: an entry does not depend
/// on its place in a tile. [`FETCHED`] bytes from `next` on per column of the tile are prefetched into the first-level
/// cache. Safety: the CPU must support the features that the tile requires. All elements named must be valid to read,
/// those of `c` to write, and `c` must not overlap the others.
pub(crate) type TileBody<T> = unsafe extern "C" fn(
    depth: usize,
    a: *const T,
    a_step: usize,
    b: *const T,
    c: *mut T,
    c_step: usize,
    next: *const T,
);

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Bytes that a tile prefetches for each of its columns.
pub(crate) const FETCHED: usize = 2 * LINE;

/// A loop over columns, see [`Elimination`]. Returns the largest magnitude that it leaves in the target, except NaN.
/// Safety: the CPU must support the features that the tile requires; the columns must be valid for the job's rows, the
/// target to write, the last source too if it is scaled; the target overlaps no source.
pub(crate) type ColumnsBody<T> = unsafe fn(job: &Elimination<T>) -> T;

/// Subtracts multiples of columns from another column: `target -= sum over i of factors[i] * source i`.
pub(crate) struct Elimination<T> {
    pub(crate) sources: *mut T,
    /// Elements from one source to the next, of at most [`SOURCES`].
    pub(crate) step: usize,
    pub(crate) count: usize,
    pub(crate) factors: [T; SOURCES],
    /// The last source is first multiplied by this, in place.
    pub(crate) scale: Option<T>,
    pub(crate) target: *mut T,
    /// Elements of each column.
    pub(crate) rows: usize,
}

/// One row: the loops of an element type and an instruction set.
#[derive(Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Tile<T: 'static> {
    /// Unique for its element type: instruction set, rows x columns.
    pub name: &'static str,
    pub isa: Isa,
    pub requires: &'static [Feature],
    /// Rows of the tile, in the lanes of vector registers.
    pub rows: usize,
    pub columns: usize,
    pub(crate) body: TileBody<T>,
    /// The same loop with prefetches of the left stripe, for cores of [`Features::binds_at_renaming`].
    pub(crate) asking: Option<TileBody<T>>,
    pub(crate) eliminate: ColumnsBody<T>,
    /// Products of a lower precision; `None` if all are of the element type.
    pub(crate) pairs: Option<Pairs<T>>,
}

/// Products of bf16 with sums in the element type, on a tile of the same shape. Factors are packed as in any product,
/// but an element holds the bf16 of two steps of the depth, the first in the lower half; the loop's depth counts pairs.
#[derive(Debug)]
pub(crate) struct Pairs<T: 'static> {
    pub(crate) body: TileBody<T>,
    pub(crate) round: RoundBody<T>,
}

/// Rounds elements of one step of the depth, and of the next if there is one, to bf16 and writes them as pairs. Safety:
/// the CPU must support the features that the tile requires.
pub(crate) type RoundBody<T> = unsafe fn(first: &[T], second: Option<&[T]>, pairs: &mut [T]);

/// The depth of a product in steps of its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Levels {
    pub(crate) count: usize,
    /// Whether each is two steps of the depth, as pairs of bf16.
    pub(crate) are_pairs: bool,
}

impl Levels {
    pub(crate) const fn single(count: usize) -> Self {
        Self { count, are_pairs: false }
    }

    /// The steps of a product whose factors are packed for this tile.
    pub(crate) const fn packed<T: Number>(tile: BoundTile<T>, depth: usize) -> Self {
        if tile.has_pairs() { Self { count: depth.div_ceil(2), are_pairs: true } } else { Self::single(depth) }
    }
}

/// The most elements of any tile, for scratch tiles on the stack.
pub(crate) const LARGEST_TILE: usize = 48 * 8;

#[repr(C, align(64))]
pub(crate) struct Scratch<T>(pub(crate) [T; LARGEST_TILE]);

impl<T: Number> Scratch<T> {
    pub(crate) const fn new() -> Self {
        Self([T::ZERO; LARGEST_TILE])
    }
}

impl<T> Tile<T> {
    /// A row of one loop, in the element type alone.
    pub(crate) const fn row(
        name: &'static str,
        (isa, requires): Needs,
        [rows, columns]: [usize; 2],
        body: TileBody<T>,
        eliminate: ColumnsBody<T>,
    ) -> Self {
        Self { name, isa, requires, rows, columns, body, asking: None, eliminate, pairs: None }
    }
}

impl<T: Number> Tile<T> {
    /// The tile ready to run, if `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<BoundTile<T>> {
        features.usable(self.requires).then(|| {
            let body = self.asking.filter(|_| features.binds_here()).unwrap_or(self.body);
            BoundTile { tile: self, body }
        })
    }

    /// The machine code's addresses, for disassembly: the loop, the one that prefetches the left stripe, the one over pairs.
    pub fn codes(&self) -> [Option<*const u8>; 3] {
        let pairs = self.pairs.as_ref().map(|pairs| pairs.body);
        [Some(self.body), self.asking, pairs].map(|body| body.map(|body| body as *const u8))
    }
}

/// A [`Tile`] on a machine that can run it.
#[derive(Clone, Copy, Debug)]
pub struct BoundTile<T: 'static> {
    tile: &'static Tile<T>,
    body: TileBody<T>,
}

impl<T: Number> BoundTile<T> {
    /// The bound row.
    pub const fn tile(&self) -> &'static Tile<T> {
        self.tile
    }

    #[inline]
    pub(crate) const fn rows(self) -> usize {
        self.tile.rows
    }

    #[inline]
    pub(crate) const fn columns(self) -> usize {
        self.tile.columns
    }

    /// Whether the part to the right of a panel is multiplied in pairs of bf16.
    #[inline]
    pub(crate) const fn has_pairs(self) -> bool {
        self.tile.pairs.is_some()
    }

    /// Rounds two steps of the depth to pairs of bf16, zeros for a missing second one; nothing for a tile without pairs.
    #[inline]
    pub(crate) fn round(self, first: &[T], second: Option<&[T]>, pairs: &mut [T]) {
        if let Some(own) = &self.tile.pairs {
            // SAFETY: a `BoundTile` exists only where `Features::usable` has found what the tile requires.
            unsafe { (own.round)(first, second, pairs) }
        }
    }

    /// Runs the tile's loop, or that of pairs if the factors are pairs of bf16. Safety: as for [`TileBody`], but for
    /// the features, which this type vouches for.
    #[inline]
    pub(crate) unsafe fn run(
        self,
        levels: Levels,
        a: (*const T, usize),
        b: *const T,
        c: (*mut T, usize),
        next: *const T,
    ) {
        let pairs = self.tile.pairs.as_ref().filter(|_| levels.are_pairs);
        let body = pairs.map_or(self.body, |pairs| pairs.body);
        // SAFETY: a `BoundTile` exists only where `Features::usable` allows it; the rest is the caller's promise.
        unsafe { body(levels.count, a.0, a.1, b, c.0, c.1, next) }
    }

    /// Runs the loop over columns. Safety: as for [`ColumnsBody`], but for the features, which this type vouches for.
    #[inline]
    pub(crate) unsafe fn eliminate(self, job: &Elimination<T>) -> T {
        // SAFETY: as in `run`.
        unsafe { (self.tile.eliminate)(job) }
    }
}
