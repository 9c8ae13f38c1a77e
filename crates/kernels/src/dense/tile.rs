//! The innermost loops of dense linear algebra, one row for each element type and instruction set.
//!
//! A *tile* is the part of a matrix `C` that fits the registers. Its loop runs through the whole depth of a product and
//! then takes it from memory: `C -= A * B`, with the left factor in stripes of the tile's rows, the right one packed in
//! strips of its columns. A second loop of the same instruction set works on single columns, for what cannot be put as
//! a product: the narrowest panels, where the next pivot is searched, and triangular systems of one right-hand side.

use core::fmt;

use model::isa::Isa;

use super::real::Real;
use crate::features::{Feature, Features};

/// The most columns that one elimination takes from another at a time.
pub(crate) const SOURCES: usize = 8;

/// A tile's loop: `c -= a * b`, where `a` has the tile's rows and `depth` columns, of which each begins `a_step` elements
/// after the one before; `b` has `depth` rows of the tile's columns, packed row by row; and `c` has the tile's rows and
/// columns, of which each begins `c_step` elements after the one before. Sums begin at zero and are taken from `c` at
/// the end, in the order of `depth`: an entry does not depend on where in a tile it lies. [`FETCHED`] bytes from
/// `next` on for each column of the tile are fetched into the first-level cache, whatever lies there.
///
/// # Safety
/// The CPU must support the features that the tile requires. All elements named must be valid to read, those of `c` to
/// write, and `c` must not overlap the others.
pub(crate) type TileBody<T> = unsafe extern "C" fn(
    depth: usize,
    a: *const T,
    a_step: usize,
    b: *const T,
    c: *mut T,
    c_step: usize,
    next: *const T,
);

/// Bytes of what comes next that a tile fetches for each of its columns: two cache lines.
pub(crate) const FETCHED: usize = 2 * 64;

/// A loop over columns: see [`Elimination`]. Returns the largest magnitude that it leaves in the target, NaN left out.
///
/// # Safety
/// The CPU must support the features that the tile requires; the columns must be valid for the job's rows, the target
/// to write, the last source too where it is scaled; the target overlaps no source.
pub(crate) type ColumnsBody<T> = unsafe fn(job: &Elimination<T>) -> T;

/// Takes multiples of columns from another column: `target -= sum over i of factors[i] * source i`.
pub(crate) struct Elimination<T> {
    /// The first source; the others begin `step` elements after each other.
    pub(crate) sources: *mut T,
    /// Elements from one source to the next.
    pub(crate) step: usize,
    /// How many sources, at most [`SOURCES`].
    pub(crate) count: usize,
    /// What each source is multiplied by.
    pub(crate) factors: [T; SOURCES],
    /// The last source is multiplied by this first, in place.
    pub(crate) scale: Option<T>,
    /// The column that is changed.
    pub(crate) target: *mut T,
    /// Elements of each column.
    pub(crate) rows: usize,
}

/// One row: the loops of an element type and an instruction set.
pub struct Tile<T: 'static> {
    /// Unique for its element type: instruction set, rows x columns.
    pub name: &'static str,
    /// The instruction set.
    pub isa: Isa,
    /// The features without which the loops must not run.
    pub requires: &'static [Feature],
    /// Rows of the tile: entries of a column that lie in the lanes of vector registers.
    pub rows: usize,
    /// Columns of the tile.
    pub columns: usize,
    pub(crate) body: TileBody<T>,
    pub(crate) eliminate: ColumnsBody<T>,
}

impl<T> fmt::Debug for Tile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tile").field(&self.name).finish()
    }
}

/// The most elements that a tile of any row has, for scratch tiles on the stack.
pub(crate) const LARGEST_TILE: usize = 48 * 8;

/// A scratch tile.
#[repr(C, align(64))]
pub(crate) struct Scratch<T>(pub(crate) [T; LARGEST_TILE]);

impl<T: Real> Scratch<T> {
    pub(crate) const fn new() -> Self {
        Self([T::ZERO; LARGEST_TILE])
    }
}

impl<T: Real> Tile<T> {
    /// The tile ready to run, where `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<BoundTile<T>> {
        features.usable(self.requires).then_some(BoundTile { tile: self })
    }

    /// Where the machine code of the tile's loop begins, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }
}

/// A [`Tile`] on a machine that can run it.
#[derive(Debug)]
pub struct BoundTile<T: 'static> {
    tile: &'static Tile<T>,
}

impl<T> Clone for BoundTile<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BoundTile<T> {}

impl<T: Real> BoundTile<T> {
    /// The row that was bound.
    pub const fn tile(&self) -> &'static Tile<T> {
        self.tile
    }

    /// Rows of the tile.
    #[inline]
    pub(crate) const fn rows(self) -> usize {
        self.tile.rows
    }

    /// Columns of the tile.
    #[inline]
    pub(crate) const fn columns(self) -> usize {
        self.tile.columns
    }

    /// Runs the tile's loop.
    ///
    /// # Safety
    /// As for [`TileBody`], but for the features, which this type vouches for.
    #[inline]
    pub(crate) unsafe fn run(
        self,
        depth: usize,
        a: (*const T, usize),
        b: *const T,
        c: (*mut T, usize),
        next: *const T,
    ) {
        // SAFETY: a `BoundTile` exists only where `Features::usable` has found what the tile requires; the rest is the
        // caller's promise.
        unsafe { (self.tile.body)(depth, a.0, a.1, b, c.0, c.1, next) }
    }

    /// Runs the loop over columns.
    ///
    /// # Safety
    /// As for [`ColumnsBody`], but for the features, which this type vouches for.
    #[inline]
    pub(crate) unsafe fn eliminate(self, job: &Elimination<T>) -> T {
        // SAFETY: as in `run`.
        unsafe { (self.tile.eliminate)(job) }
    }
}

/// The tile of this instruction set.
pub fn find<T: Real>(isa: Isa, features: &Features) -> Option<BoundTile<T>> {
    T::tiles().iter().filter(|tile| tile.isa == isa).find_map(|tile| tile.bind(features))
}

/// The widest tile that binds; there is always one, as the last of the table requires nothing.
pub fn widest<T: Real>(features: &Features) -> Option<BoundTile<T>> {
    T::tiles().iter().find_map(|tile| tile.bind(features))
}
