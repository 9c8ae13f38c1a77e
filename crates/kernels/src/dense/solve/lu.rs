//! The solution of `A x = b` by LU factorisation with partial pivoting, as in LINPACK and HPL.
//!
//! `b` is one more column of the matrix, so the lower factor's rows need not be interchanged. A step applies one panel to all
//! columns to its right. One thread looks ahead: it updates and factors the next panel first, then joins the rest. Threads
//! do not meet after a step ([`crate::dense::stages`]). Results are the same bits for any number of threads.

use core::ops::{DerefMut, Range};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::dense::blocking::Blocking;
use crate::dense::crew::{Abandoned, Crew, Done, Phase};
use crate::dense::grid::{Grid, Store};
use crate::dense::number::Number;
use crate::dense::pack;
use crate::dense::random::{Diagonal, Uniform, fill_diagonal};
use crate::dense::solve::panel::Panel;
use crate::dense::solve::residual::{Checked, Norms};
use crate::dense::solve::step::{Bench, Step};
use crate::dense::solve::triangle::{Triangles, own_rows};
use crate::dense::stages::{CrewStages, Jobs, Share};
use crate::dense::tile::{BoundTile, Levels};

/// The fewest columns of a piece of work whose left factor is beyond the second-level cache: with fewer, reading it is
/// the limit. If it is in the cache, the last pieces are as small as possible, so that threads finish together.
pub(crate) const LEAST_COLUMNS: usize = 48;

/// A problem: its order, entries and blocking.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Problem<T: 'static> {
    /// The order, at least 1.
    pub n: usize,
    /// Elements from one column to the next, at least `n`.
    pub lda: usize,
    pub seed: u64,
    pub diagonal: Diagonal,
    pub tile: BoundTile<T>,
    pub blocking: Blocking,
}

/// Why a problem cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum Unfit {
    #[error("the order is 0 or beyond what can be addressed")]
    Order,
    #[error("the leading dimension is less than the order")]
    LeadingDimension,
    #[error("the matrix needs {0} elements")]
    Matrix(usize),
    #[error("the workspace needs {0} elements")]
    Workspace(usize),
}

/// The layout of the workspace, in elements.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The lower parts of two panels, packed.
    packed: [usize; 2],
    /// The inverses of their diagonal blocks.
    inverses: [usize; 2],
    /// The pivot rows, as 32-bit integers.
    pivots: usize,
    /// The start of the threads' own parts.
    threads: usize,
    /// Elements of each thread.
    each: usize,
    /// Of these, those of the right factor.
    right: usize,
    len: usize,
}

pub(crate) fn own(count: usize, thread: usize, threads: usize) -> Range<usize> {
    let each = count.div_ceil(threads);
    (thread * each).min(count)..((thread + 1) * each).min(count)
}

/// Rounds elements up to whole pairs of cache lines, so that threads do not write into the same one.
pub(crate) fn apart<T>(elements: usize) -> usize {
    elements.next_multiple_of(128 / size_of::<T>())
}

impl<T: Number> Problem<T> {
    /// Elements of the matrix with its right-hand side; `None` if they cannot be addressed.
    pub fn matrix_len(&self) -> Option<usize> {
        let len = self.lda.checked_mul(self.n.checked_add(1)?)?;
        let is_addressable = len.checked_mul(size_of::<T>())? <= isize::MAX.unsigned_abs() / 2;
        (is_addressable && u32::try_from(self.n).is_ok()).then_some(len)
    }

    /// Elements of the workspace for this number of threads.
    pub fn workspace_len(&self, threads: usize) -> usize {
        self.layout(threads).len
    }

    /// Floating-point operations as LINPACK and HPL (`testing/ptest/HPL_pdtest.c`) count them: 2/3 n^3 + 3/2 n^2.
    pub fn operations(&self) -> f64 {
        let n = self.n as f64;
        n * n * (2.0 / 3.0 * n + 1.5)
    }

    fn layout(&self, threads: usize) -> Layout {
        let height = self.tile.rows();
        let depth = self.depth();
        let packed = apart::<T>(self.n.next_multiple_of(height) * depth);
        let inverses = apart::<T>(depth.next_multiple_of(height) * height);
        let pivots = apart::<T>((self.n * size_of::<u32>()).div_ceil(size_of::<T>()));
        let widest = self.job_columns(threads).max(self.depth()).next_multiple_of(self.tile.columns());
        let right = apart::<T>(widest * depth);
        let each = right + apart::<T>(height * depth);
        let own = 2 * (packed + inverses) + pivots;
        Layout {
            packed: [0, packed],
            inverses: [2 * packed, 2 * packed + inverses],
            pivots: 2 * (packed + inverses),
            threads: own,
            each,
            right,
            len: own + threads * each,
        }
    }

    /// The fewest columns of work with a left factor of `rows` rows, of which two blocks may stay in the second-level cache.
    fn least_columns(&self, rows: usize) -> usize {
        if rows <= 2 * self.blocking.rows { self.tile.columns() } else { LEAST_COLUMNS }
    }

    fn depth(&self) -> usize {
        self.blocking.panel.clamp(1, self.n.max(1))
    }

    /// The most columns of a piece of work: at most a thread's share at the beginning.
    fn job_columns(&self, threads: usize) -> usize {
        let share = self.n / (2 * threads.max(1));
        self.blocking.columns.min(share).max(LEAST_COLUMNS)
    }

    pub(super) const fn uniform(&self) -> Uniform {
        Uniform::new(self.seed, self.n)
    }
}

/// A system of linear equations that a crew of threads fills, solves and checks.
///
/// Every method with a `thread` is called by all threads of the crew, each with its own number from 0, and returns when
/// all have done their part. It fails if another thread has given up. Nothing is allocated.
#[derive(Debug)]
pub struct Solver<T: Number, S> {
    problem: Problem<T>,
    crew: Crew,
    matrix: Store<T, S>,
    workspace: Store<T, S>,
    layout: Layout,
    /// Columns that are processed in each step, and the stages of the threads.
    jobs: Jobs,
    places: CrewStages,
    /// Steps in which a thread looks ahead or has done so.
    ahead: AtomicUsize,
    factored: AtomicUsize,
    singular: AtomicUsize,
    norms: Norms,
}

/// No column without a pivot.
const REGULAR: usize = usize::MAX;

impl<T: Number, S: DerefMut<Target = [T]> + Send> Solver<T, S> {
    /// Sets a problem up in two buffers, of at least [`Problem::matrix_len`] and [`Problem::workspace_len`] elements,
    /// which are not written before [`fill`](Self::fill), so that first touch places their pages. Alignment to cache
    /// lines makes it fast; huge pages make it faster.
    pub fn new(problem: Problem<T>, crew: Crew, matrix: S, workspace: S) -> Result<Self, Unfit> {
        if problem.n == 0 {
            return Err(Unfit::Order);
        }
        if problem.lda < problem.n {
            return Err(Unfit::LeadingDimension);
        }
        let needed = problem.matrix_len().ok_or(Unfit::Order)?;
        let matrix = Store::new(matrix, needed).map_err(|_| Unfit::Matrix(needed))?;
        let layout = problem.layout(crew.threads());
        let workspace = Store::new(workspace, layout.len).map_err(|_| Unfit::Workspace(layout.len))?;
        let places = CrewStages::new(crew.threads());
        let (jobs, ahead, factored, norms) = Default::default();
        Ok(Self {
            problem,
            crew,
            matrix,
            workspace,
            layout,
            jobs,
            places,
            ahead,
            factored,
            singular: AtomicUsize::new(REGULAR),
            norms,
        })
    }

    /// The problem.
    pub const fn problem(&self) -> &Problem<T> {
        &self.problem
    }

    /// The crew.
    pub const fn crew(&self) -> &Crew {
        &self.crew
    }

    /// The first column without a pivot, counted from 0, if the factored matrix is singular.
    pub fn singular(&self) -> Option<usize> {
        Some(self.singular.load(Ordering::Acquire)).filter(|column| *column != REGULAR)
    }

    /// The matrix, its right-hand side last; [`factor_and_solve`](Self::factor_and_solve) makes them factors and solution.
    pub fn matrix_mut(&mut self) -> &mut [T] {
        self.matrix.get_mut()
    }

    /// For each row in turn, the row with which it was interchanged, counted from 0.
    pub fn pivots(&mut self) -> &[u32] {
        let n = self.problem.n;
        let pivots: *const u32 = self.workspace.get_mut()[self.layout.pivots..].as_ptr().cast();
        // SAFETY: the layout has room for one per row there, aligned like the wider elements; `self` is borrowed alone.
        unsafe { core::slice::from_raw_parts(pivots, n) }
    }

    /// Writes the system, and zeros into the workspace: panels in turn, as any thread will work on any column.
    pub fn fill(&self, thread: usize) -> Result<(), Abandoned> {
        let n = self.problem.n;
        self.together(thread, Phase::Fill, || {
            for column in self.own_columns(thread) {
                // SAFETY: the column is within the buffer, and only this thread's.
                let entries = unsafe { self.grid().column_mut(column, 0..n) };
                self.problem.uniform().fill(column, 0, entries);
            }
            if self.problem.diagonal == Diagonal::Dominant {
                self.crew.meet()?;
                // SAFETY: all columns are drawn, and these rows are this thread's.
                unsafe { fill_diagonal(self.problem.uniform(), self.grid(), own(n, thread, self.crew.threads())) };
            }
            // SAFETY: all threads of the crew are here, each under a number of its own.
            unsafe { self.clear_workspace(thread) };
            Ok(())
        })
    }

    /// The columns that a thread writes first: panels in turn.
    pub(super) fn own_columns(&self, thread: usize) -> impl Iterator<Item = usize> + use<T, S> {
        let (end, width) = (self.problem.n + 1, self.problem.depth());
        let firsts = (thread * width..end).step_by(width * self.crew.threads());
        firsts.flat_map(move |first| first..end.min(first + width))
    }

    /// Writes zeros into a thread's part of the workspace. Safety: the buffers are lent, and nobody else uses it.
    pub(super) unsafe fn clear_workspace(&self, thread: usize) {
        let own = own(self.layout.len, thread, self.crew.threads());
        // SAFETY: the caller's promise.
        unsafe { self.work().column_mut(0, own) }.fill(T::ZERO);
    }

    /// Factors and solves. `look` is called between pieces of work, of at most some milliseconds for orders up to some 50 000.
    pub fn factor_and_solve(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        self.together(thread, Phase::Work, || {
            // SAFETY: all threads of the crew are here, each under a number of its own.
            unsafe { self.factor(thread, look) }
        })
    }

    /// The residual of the solution against the system drawn again.
    pub fn check(&self, thread: usize) -> Result<Checked, Abandoned> {
        self.together(thread, Phase::Check, || {
            let n = self.problem.n;
            // SAFETY: nobody writes to the solution.
            let solution = unsafe { self.grid().column(n, 0..n) };
            let rows = own(n, thread, self.crew.threads());
            self.norms.add_rows(self.problem.uniform(), self.problem.diagonal, solution, rows);
            self.crew.meet()?;
            Ok(self.norms.checked::<T>(n))
        })
    }

    /// Runs a phase on all threads, with the buffers lent.
    fn together<R>(&self, thread: usize, phase: Phase, work: impl FnOnce() -> Done<R>) -> Done<R> {
        let before = || {
            // SAFETY: called by one thread while all others wait, so none has a reference into the buffers.
            unsafe { self.lend() };
            match phase {
                Phase::Fill => {}
                Phase::Work => self.restart(),
                Phase::Check => self.norms.clear(),
            }
        };
        self.crew.together(thread, phase, before, work)
    }

    /// Updates the pointers to the buffers; abandons the crew if one is too short. Safety: no thread uses them meanwhile.
    pub(super) unsafe fn lend(&self) {
        // SAFETY: the caller's promise.
        let is_lent = unsafe { self.matrix.lend() && self.workspace.lend() };
        if !is_lent {
            self.crew.abandon();
        }
    }

    /// Resets the factorisation. Called by one thread while all others wait.
    pub(super) fn restart(&self) {
        self.singular.store(REGULAR, Ordering::Relaxed);
        self.jobs.restart();
        self.places.restart();
        self.ahead.store(0, Ordering::Relaxed);
        self.factored.store(0, Ordering::Relaxed);
    }

    pub(super) fn grid(&self) -> Grid<T> {
        Grid::new(self.matrix.first(), self.problem.lda)
    }

    fn work(&self) -> Grid<T> {
        Grid::new(self.workspace.first(), 0)
    }

    fn bench(&self, thread: usize) -> Bench<T> {
        let own = self.layout.threads + thread * self.layout.each;
        let block = self.problem.blocking.rows.next_multiple_of(self.problem.tile.rows()).max(1);
        Bench { right: self.work().at(own, 0), stripe: self.work().at(own + self.layout.right, 0), block }
    }

    fn panel(&self, number: usize) -> Range<usize> {
        let (n, depth) = (self.problem.n, self.problem.depth());
        (number * depth).min(n)..((number + 1) * depth).min(n)
    }

    fn step(&self, number: usize) -> Step<T> {
        let panel = self.panel(number);
        Step {
            tile: self.problem.tile,
            grid: self.grid(),
            rows: self.problem.n,
            pivots: self.interchanges().wrapping_add(panel.start).cast_const(),
            inverses: Some(self.work().at(self.layout.inverses[number % 2], 0).cast_const()),
            packed: Some(self.work().at(self.layout.packed[number % 2], 0).cast_const()),
            panel,
        }
    }

    fn interchanges(&self) -> *mut u32 {
        self.work().at(self.layout.pivots, 0).cast()
    }

    /// Factors a panel that is up to date, and packs what is below. Safety: nobody uses its columns or the copy before the last.
    unsafe fn prepare(&self, number: usize, bench: Bench<T>, look: &mut dyn FnMut()) {
        let columns = self.panel(number);
        let mut panel = Panel {
            tile: self.problem.tile,
            grid: self.grid(),
            columns: columns.clone(),
            rows: self.problem.n,
            pivots: self.interchanges().wrapping_add(columns.start),
            inverses: self.work().at(self.layout.inverses[number % 2], 0),
            bench,
            look,
            singular: None,
        };
        // SAFETY: the caller's promise; the bench is this thread's.
        unsafe { panel.factor() };
        if let Some(column) = panel.singular {
            self.singular.fetch_min(column, Ordering::AcqRel);
        }
        let tile = self.problem.tile;
        let (height, levels) = (tile.rows(), Levels::packed(tile, columns.len()).count);
        let packed = self.work().at(self.layout.packed[number % 2], 0);
        for row in (columns.end..self.problem.n).step_by(height * pack::STRIPES) {
            let rows = row..self.problem.n.min(row + height * pack::STRIPES);
            let target = packed.wrapping_add((row - columns.end) * levels);
            // SAFETY: as above.
            unsafe {
                if tile.has_pairs() {
                    self.grid().pack_pairs(rows, columns.clone(), target, tile);
                } else {
                    self.grid().pack_stripes(rows, columns.clone(), target, height);
                }
            }
        }
    }

    /// Factors the matrix and replaces the last column by the solution. Safety: all threads of the crew call it
    /// together, each under its own number; nobody else uses the buffers.
    pub(super) unsafe fn factor(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        let (n, bench) = (self.problem.n, self.bench(thread));
        let panels = n.div_ceil(self.problem.depth());
        if thread == 0 {
            // SAFETY: the others wait.
            unsafe { self.prepare(0, bench, look) };
            self.factored.store(1, Ordering::Release);
        }
        for number in 0..panels {
            // Then all have finished the step before the last: nobody looks ahead earlier.
            self.crew.wait_until(|| self.factored.load(Ordering::Acquire) > number)?;
            let step = self.step(number);
            let next = self.panel(number + 1);
            let share = Share {
                unit: self.problem.tile.columns(),
                most: self.problem.job_columns(self.crew.threads()),
                least: self.problem.least_columns(n - step.panel.end),
                threads: self.crew.threads(),
            };
            loop {
                // SAFETY: this step's panel is factored.
                unsafe { self.look_ahead(number, bench, look) };
                self.places.take(thread);
                let Some(columns) = self.jobs.take(number, next.end..n + 1, share) else { break };
                self.places.have(thread, &columns);
                self.crew.wait_until(|| self.places.are_through(number, &columns))?;
                // SAFETY: each column is taken once, and nobody still has it; the factored panel is only read.
                unsafe { step.reduce(columns, bench, look) };
                look();
            }
            self.crew.wait_until(|| self.places.have_finished(number))?;
            // SAFETY: as above.
            unsafe { self.look_ahead(number, bench, look) };
            self.places.finish(thread, number);
        }
        self.crew.meet()?;
        // SAFETY: the caller's promise.
        unsafe { self.triangles().solve_upper(thread, &self.crew, self.problem.depth(), look) }
    }

    /// Updates and factors the next panel, unless another thread does, there is no next panel, or a thread is still in
    /// the step before: its columns may be the panel's, and the copy of its panel is where that of the next one goes.
    /// Safety: the panel of this step is factored, and the bench is this thread's.
    unsafe fn look_ahead(&self, number: usize, bench: Bench<T>, look: &mut dyn FnMut()) {
        let next = self.panel(number + 1);
        if next.is_empty() || self.ahead.load(Ordering::Relaxed) > number || !self.places.have_finished(number) {
            return;
        }
        if self.ahead.fetch_max(number + 1, Ordering::AcqRel) > number {
            return;
        }
        // SAFETY: one thread comes here, jobs begin to the right of the next panel, and nobody is in the step before.
        unsafe {
            self.step(number).reduce(next, bench, look);
            self.prepare(number + 1, bench, look);
        }
        self.factored.store(number + 2, Ordering::Release);
    }

    /// Replaces the last column, a right-hand side, by its solution. The lower factor's rows are in the order in which
    /// each panel left them, so interchanges go panel by panel as well. Safety: as for [`factor`](Self::factor).
    pub(super) unsafe fn solve_again(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), Abandoned> {
        let n = self.problem.n;
        for number in 0..n.div_ceil(self.problem.depth()) {
            let columns = self.panel(number);
            if thread == 0 {
                // SAFETY: the others wait.
                unsafe {
                    self.step(number).interchange(n..n + 1);
                    self.triangles().lower_block(columns.clone());
                }
            }
            self.crew.meet()?;
            let below = own_rows(columns.end..n, thread, self.crew.threads());
            // SAFETY: each row is taken by one thread, and the solution of this block is only read.
            unsafe { self.triangles().take_from(below, columns) };
            look();
            self.crew.meet()?;
        }
        // SAFETY: the caller's promise.
        unsafe { self.triangles().solve_upper(thread, &self.crew, self.problem.depth(), look) }
    }

    fn triangles(&self) -> Triangles<T> {
        Triangles { tile: self.problem.tile, grid: self.grid(), n: self.problem.n }
    }
}
