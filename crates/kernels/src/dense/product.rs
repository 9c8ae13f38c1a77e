//! The product of two matrices, `C = C - A B` (GEMM with -1 and 1): the part of a factorisation that takes nearly all
//! of its time, and so the limit of its rate.
//!
//! A part of the depth of both factors is packed, then threads take columns of C. A thread that finds none left packs
//! the next part while the rest finish theirs, and continues with it ([`crate::dense::stages`]).

use core::ops::{DerefMut, Range};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::dense::blocking::Blocking;
use crate::dense::crew::{Abandoned, Crew, Done, Phase};
use crate::dense::gemm::{Left, Update};
use crate::dense::grid::{Grid, Store};
use crate::dense::number::Number;
use crate::dense::pack;
use crate::dense::random::Uniform;
use crate::dense::solve::lu::{LEAST_COLUMNS, Unfit, apart, own};
use crate::dense::stages::{CrewStages, Jobs, Share};
use crate::dense::tile::{BoundTile, Levels};
use crate::native::tiles::settle;
use crate::rng::mix;

/// Products are `rows x depth` by `depth x columns`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Shape<T: 'static> {
    /// Rows of A and C, at least 1.
    pub rows: usize,
    /// Columns of B and C, at least 1.
    pub columns: usize,
    /// Columns of A and rows of B, at least 1.
    pub depth: usize,
    /// Elements from one column of A, B and C to the next, at least their rows.
    pub steps: [usize; 3],
    pub seed: u64,
    pub tile: BoundTile<T>,
    /// The sizes of its parts; the depth is cut into parts of [`Blocking::panel`].
    pub blocking: Blocking,
}

impl<T: Number> Shape<T> {
    /// Two square matrices of order `n`, with columns `step` elements apart.
    pub const fn square(n: usize, step: usize, seed: u64, tile: BoundTile<T>, blocking: Blocking) -> Self {
        Self { rows: n, columns: n, depth: n, steps: [step; 3], seed, tile, blocking }
    }

    /// Elements of A, B and C; `None` if they cannot be addressed.
    pub fn operand_lens(&self) -> Option<[usize; 3]> {
        let lens = [(self.steps[0], self.depth), (self.steps[1], self.columns), (self.steps[2], self.columns)];
        let [a, b, c] = lens.map(|(step, columns)| {
            let len = step.checked_mul(columns)?;
            (len.checked_mul(size_of::<T>())? <= isize::MAX.unsigned_abs() / 2).then_some(len)
        });
        Some([a?, b?, c?])
    }

    /// Elements of the workspace for this number of threads.
    pub fn workspace_len(&self, threads: usize) -> usize {
        (rooms(threads) * self.packed_len()).max(VECTORS * self.depth)
    }

    /// Floating-point operations: a multiplication and an addition for each row, column and step of the depth.
    pub fn operations(&self) -> f64 {
        2.0 * self.rows as f64 * self.columns as f64 * self.depth as f64
    }

    fn part(&self) -> usize {
        self.blocking.panel.clamp(1, self.depth.max(1))
    }

    /// Elements of a packed part of both factors.
    fn packed_len(&self) -> usize {
        self.left_len() + apart::<T>(self.columns.next_multiple_of(self.tile.columns()) * self.part())
    }

    fn left_len(&self) -> usize {
        apart::<T>(self.rows.next_multiple_of(self.tile.rows()) * self.part())
    }

    fn uniforms(&self) -> [Uniform; 3] {
        let of = |number, rows| Uniform::new(mix(self.seed.wrapping_add(number)), rows);
        [of(0, self.rows), of(1, self.depth), of(2, self.rows)]
    }
}

/// The check of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verified {
    /// The largest error of `C x` over the rows, for vectors `x` of random signs (Freivalds, "Probabilistic machines
    /// can use less running time", 1977), as a share of the limit of expected rounding.
    pub scaled: f64,
    /// Entries, of [`SAMPLES`], whose error exceeds what rounding can cause.
    pub wrong_entries: usize,
}

impl Verified {
    /// Whether it is the product; NaN is not.
    pub fn passes(&self) -> bool {
        self.scaled < 1.0 && self.wrong_entries == 0
    }
}

/// Entries that are recomputed one by one.
pub const SAMPLES: usize = 64;

/// Vectors that multiply the product. A fault of several entries of a row escapes one half the time at most, of one never.
const VECTORS: usize = 4;

/// Two matrices that a crew of threads draws, multiplies and checks.
///
/// Every method with a `thread` is called by all threads of the crew, each with its own number from 0, and returns when
/// all have done their part. It fails if another thread has given up. Nothing is allocated.
#[derive(Debug)]
pub struct Product<T: Number, S> {
    shape: Shape<T>,
    crew: Crew,
    operands: [Store<T, S>; 3],
    workspace: Store<T, S>,
    /// The work of each part of the depth: stripes of A and strips of B to pack, columns of C to compute.
    left: Jobs,
    right: Jobs,
    columns: Jobs,
    places: CrewStages,
    /// The largest scaled error, as the bits of a non-negative number.
    error: AtomicU64,
    wrong_entries: AtomicUsize,
}

impl<T: Number, S: DerefMut<Target = [T]> + Send> Product<T, S> {
    /// Sets a product up in buffers for A, B, C ([`Shape::operand_lens`]) and a workspace ([`Shape::workspace_len`]).
    pub fn new(shape: Shape<T>, crew: Crew, operands: [S; 3], workspace: S) -> Result<Self, Unfit> {
        if shape.rows == 0 || shape.columns == 0 || shape.depth == 0 {
            return Err(Unfit::Order);
        }
        if shape.steps[0] < shape.rows || shape.steps[1] < shape.depth || shape.steps[2] < shape.rows {
            return Err(Unfit::LeadingDimension);
        }
        let [a_len, b_len, c_len] = shape.operand_lens().ok_or(Unfit::Order)?;
        let [a, b, c] = operands;
        let store = |buffer, needed| Store::new(buffer, needed).map_err(|_| Unfit::Matrix(needed));
        let operands = [store(a, a_len)?, store(b, b_len)?, store(c, c_len)?];
        let needed = shape.workspace_len(crew.threads());
        let workspace = Store::new(workspace, needed).map_err(|_| Unfit::Workspace(needed))?;
        let places = CrewStages::new(crew.threads());
        let (left, right, columns, error, wrong_entries) = Default::default();
        Ok(Self { shape, crew, operands, workspace, left, right, columns, places, error, wrong_entries })
    }

    /// The shape.
    pub const fn shape(&self) -> &Shape<T> {
        &self.shape
    }

    /// The crew.
    pub const fn crew(&self) -> &Crew {
        &self.crew
    }

    /// A, B and C.
    pub fn operands_mut(&mut self) -> [&mut [T]; 3] {
        self.operands.each_mut().map(Store::get_mut)
    }

    /// Draws A, B and C.
    pub fn fill(&self, thread: usize) -> Result<(), Abandoned> {
        self.together(thread, Phase::Fill, || {
            let Shape { rows, columns, depth, .. } = self.shape;
            let sizes = [(rows, depth), (depth, columns), (rows, columns)];
            for ((uniform, (rows, columns)), index) in self.shape.uniforms().into_iter().zip(sizes).zip(0..) {
                for column in own(columns, thread, self.crew.threads()) {
                    // SAFETY: the column is within the buffer, and only this thread's.
                    uniform.fill(column, 0, unsafe { self.operand(index).column_mut(column, 0..rows) });
                }
            }
            let threads = self.crew.threads();
            let own = own(self.shape.workspace_len(threads), thread, threads);
            // SAFETY: this part of the buffer is only this thread's.
            unsafe { self.room().column_mut(0, own) }.fill(T::ZERO);
            Ok(())
        })
    }

    /// Subtracts the product from C. `look` is called between pieces of work of at most a few milliseconds.
    pub fn multiply(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        self.together(thread, Phase::Work, || {
            // SAFETY: all threads are here, and nobody reads packed factors.
            unsafe { self.pack(0) };
            for part in 0..self.shape.depth.div_ceil(self.shape.part()) {
                self.crew.wait_until(|| self.is_packed(part))?;
                // SAFETY: this part is packed, and nobody packs into its room before all have finished with it.
                unsafe { self.compute(thread, part, look) }?;
                self.places.finish(thread, part);
                self.crew.wait_until(|| self.places.have_finished(part))?;
                // SAFETY: all, or a thread alone with its one room, have finished with the part that was there.
                unsafe { self.pack(part + 1) };
            }
            Ok(())
        })
    }

    /// Checks C after one [`multiply`](Self::multiply) of the filled operands, against operands drawn again.
    pub fn verify(&self, thread: usize) -> Result<Verified, Abandoned> {
        self.together(thread, Phase::Check, || {
            let (threads, vectors) = (self.crew.threads(), Grid::new(self.room().at(0, 0), self.shape.depth));
            for row in own(self.shape.depth, thread, threads) {
                for (vector, value) in self.right_times_signs(row).into_iter().enumerate() {
                    // SAFETY: the workspace has room for these vectors, and the row is only this thread's.
                    unsafe { vectors.at(row, vector).write(T::from_f64(value)) };
                }
            }
            self.crew.meet()?;
            for row in own(self.shape.rows, thread, threads) {
                // SAFETY: all threads have written their rows of the vectors.
                let error = unsafe { self.row_error(row, vectors) };
                self.error.fetch_max(error.to_bits(), Ordering::AcqRel);
            }
            for sample in own(SAMPLES, thread, threads) {
                self.wrong_entries.fetch_add(usize::from(self.is_wrong(sample)), Ordering::AcqRel);
            }
            self.crew.meet()?;
            let scaled = f64::from_bits(self.error.load(Ordering::Acquire)) / self.expected_error();
            Ok(Verified { scaled, wrong_entries: self.wrong_entries.load(Ordering::Acquire) })
        })
    }

    /// Runs a phase on all threads, with the buffers lent.
    fn together<R>(&self, thread: usize, phase: Phase, work: impl FnOnce() -> Done<R>) -> Done<R> {
        let before = || {
            // SAFETY: called by one thread while all others wait, so none has a reference into the buffers.
            let are_lent = self.operands.iter().chain([&self.workspace]).all(|store| unsafe { store.lend() });
            if !are_lent {
                self.crew.abandon();
            }
            for jobs in [&self.left, &self.right, &self.columns] {
                jobs.restart();
            }
            self.places.restart();
            self.error.store(0, Ordering::Relaxed);
            self.wrong_entries.store(0, Ordering::Relaxed);
        };
        self.crew.together(thread, phase, before, work)
    }

    fn operand(&self, index: usize) -> Grid<T> {
        Grid::new(self.operands[index].first(), self.shape.steps[index])
    }

    fn room(&self) -> Grid<T> {
        Grid::new(self.workspace.first(), 0)
    }

    /// The addresses of the packed left and right factors of a part of the depth.
    fn packed(&self, part: usize) -> (*mut T, *mut T) {
        let room = part % rooms(self.crew.threads()) * self.shape.packed_len();
        (self.room().at(room, 0), self.room().at(room + self.shape.left_len(), 0))
    }

    /// The columns of A and rows of B of a part of the depth; empty beyond the last.
    fn levels(&self, part: usize) -> Range<usize> {
        let place = |part: usize| (part * self.shape.part()).min(self.shape.depth);
        place(part)..place(part + 1)
    }

    fn share(&self, unit: usize, most: usize, least: usize) -> Share {
        Share { unit, most, least, threads: self.crew.threads() }
    }

    /// Packs a part of the depth with the other threads; nothing beyond the last. Safety: nobody reads what is in its room.
    unsafe fn pack(&self, part: usize) {
        let levels = self.levels(part);
        if levels.is_empty() {
            return;
        }
        let (height, width) = (self.shape.tile.rows(), self.shape.tile.columns());
        let (left, right) = self.packed(part);
        let share = self.share(height, height * pack::STRIPES, height * pack::STRIPES);
        while let Some(rows) = self.left.take(part, 0..self.shape.rows, share) {
            let target = left.wrapping_add(rows.start * levels.len());
            // SAFETY: each stripe is packed by one thread.
            unsafe { self.operand(0).pack_stripes(rows.clone(), levels.clone(), target, height) };
            self.left.note_done(part, rows.len());
        }
        // A block of the left factor is a quarter of the second-level cache.
        let past_caches = self.shape.packed_len() > 4 * self.shape.blocking.rows * levels.len();
        let share = self.share(width, 16 * width, width);
        while let Some(columns) = self.right.take(part, 0..self.shape.columns, share) {
            for column in columns.clone().step_by(width) {
                let strip = column..columns.end.min(column + width);
                let target = right.wrapping_add(column * levels.len());
                // SAFETY: each strip is packed by one thread.
                unsafe {
                    if past_caches && strip.len() == width {
                        self.operand(1).pack_strip_past_caches(levels.clone(), strip, target);
                    } else {
                        self.operand(1).pack_strip(levels.clone(), strip, target, width);
                    }
                }
            }
            settle();
            self.right.note_done(part, columns.len());
        }
    }

    fn is_packed(&self, part: usize) -> bool {
        self.left.done(part) == self.shape.rows && self.right.done(part) == self.shape.columns
    }

    /// Subtracts the product of the packed factors of a part of the depth from C, together with the other threads.
    /// Safety: both are packed, and nobody writes to them.
    unsafe fn compute(&self, thread: usize, part: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        let (tile, depth) = (self.shape.tile, self.levels(part).len());
        let (left, right) = self.packed(part);
        let block = self.shape.blocking.rows.next_multiple_of(tile.rows()).max(tile.rows());
        let share = self.share(tile.columns(), self.shape.blocking.columns.max(LEAST_COLUMNS), LEAST_COLUMNS);
        loop {
            self.places.take(thread);
            let Some(columns) = self.columns.take(part, 0..self.shape.columns, share) else { return Ok(()) };
            self.places.have(thread, &columns);
            self.crew.wait_until(|| self.places.are_through(part, &columns))?;
            let update = Update {
                tile,
                levels: Levels::single(depth),
                left: Left { first: left, stripe: tile.rows() * depth, step: tile.rows(), edge: None },
                right: right.wrapping_add(columns.start * depth),
                result: Grid::new(self.operand(2).at(0, columns.start), self.shape.steps[2]),
                rows: self.shape.rows,
                columns: columns.len(),
            };
            for first in (0..update.rows).step_by(block) {
                let end = update.rows.min(first + block);
                // SAFETY: the caller's promise; each column is taken by one thread, and nobody still has it.
                unsafe { update.by_strips(first..end, update.upcoming(end, block)) };
                look();
            }
        }
    }

    fn right_times_signs(&self, row: usize) -> [f64; VECTORS] {
        let [_, right, _] = self.shape.uniforms();
        let mut sums = [0.0; VECTORS];
        for column in 0..self.shape.columns {
            add_signed(&mut sums, right.real::<T>(row, column).to_f64(), signs(self.shape.seed, column));
        }
        sums
    }

    /// The largest error of a row of C times the vectors, from B times them. Safety: nobody writes to `right` or C.
    unsafe fn row_error(&self, row: usize, right: Grid<T>) -> f64 {
        let [left, _, before] = self.shape.uniforms();
        let mut errors = [0.0; VECTORS];
        for column in 0..self.shape.columns {
            // SAFETY: the caller's promise.
            let after = unsafe { *self.operand(2).at(row, column) }.to_f64();
            let change = after - before.real::<T>(row, column).to_f64();
            add_signed(&mut errors, change, signs(self.shape.seed, column));
        }
        for level in 0..self.shape.depth {
            let factor = left.real::<T>(row, level).to_f64();
            for (vector, error) in errors.iter_mut().enumerate() {
                // SAFETY: as above.
                *error += factor * unsafe { *right.at(level, vector) }.to_f64();
            }
        }
        errors.into_iter().fold(0.0, |most, error| crate::dense::solve::residual::larger(error.abs(), most))
    }

    /// The limit of the error of a row: a sum of products of numbers up to 1/2 grows like the root of its length, and
    /// so do unbiased rounding errors of `depth` steps and `columns` entries. The standard deviation is about a thirtieth.
    fn expected_error(&self) -> f64 {
        let root = self.shape.columns.isqrt() + 1;
        T::ROUNDOFF * (self.shape.depth.max(self.shape.columns) + 16) as f64 * root as f64
    }

    /// Whether an entry differs from the recomputed one by more than if every rounding went the same way.
    fn is_wrong(&self, sample: usize) -> bool {
        let place = mix(self.shape.seed ^ mix(sample as u64 + 1));
        let pick = |bits: u64, bound: usize| usize::try_from(bits % bound as u64).unwrap_or(0);
        let (row, column) = (pick(place >> 32, self.shape.rows), pick(place & 0xffff_ffff, self.shape.columns));
        let [left, right, before] = self.shape.uniforms();
        let mut expected = before.real::<T>(row, column).to_f64();
        let mut magnitude = expected.abs();
        for level in 0..self.shape.depth {
            let product = left.real::<T>(row, level).to_f64() * right.real::<T>(level, column).to_f64();
            expected -= product;
            magnitude += product.abs();
        }
        // SAFETY: the entry is in C, which nobody writes to.
        let found = unsafe { *self.operand(2).at(row, column) }.to_f64();
        let limit = 2.0 * T::ROUNDOFF * (self.shape.depth + 2) as f64 * magnitude;
        let is_right = (found - expected).abs() <= limit;
        !is_right
    }
}

/// Parts that are packed at a time: the current and the next, unless a thread is alone.
const fn rooms(threads: usize) -> usize {
    if threads > 1 { 2 } else { 1 }
}

/// The signs of the vectors in one row, a bit each.
const fn signs(seed: u64, row: usize) -> u64 {
    mix(seed ^ mix(row as u64))
}

fn add_signed(sums: &mut [f64; VECTORS], value: f64, signs: u64) {
    for (vector, sum) in sums.iter_mut().enumerate() {
        *sum += if signs >> vector & 1 == 0 { value } else { -value };
    }
}
