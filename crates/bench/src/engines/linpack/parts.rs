//! What all solvers have in common: the team of threads, the memory of a problem, and how a result is judged.

use areas::linpack::solver;
use kernels::dense::{self, Abandoned, Blocking, BoundTile, Checked, Crew, Real, THRESHOLD, Unfit};
use kernels::features::Features;
use model::linpack::{LinpackConditions, LinpackParams};
use model::unit::format_size;
use model::wire::Task;
use sys::memory::{PageSize, Place, Region};
use sys::numbers::{Number, Numbers};

use crate::engines::{Residuals, Trouble};

/// Alignment of what a solver needs in addition to its matrices.
pub(super) const WORKSPACE_ALIGN: usize = 2 << 20;

/// A problem that all threads work on together, each under its number. Every call fails once a thread has given up.
pub(super) trait Team: Send + Sync {
    fn fill(&self, thread: usize) -> Result<(), String>;

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String>;

    /// Checks the result; the error says what is wrong with it.
    fn check(&self, thread: usize) -> Result<Residuals, String>;

    fn works_elsewhere(&self) -> bool {
        false
    }

    fn abandon(&self);

    /// Share of the matrices in huge pages; kernel and sizes, known once the problem was solved.
    fn describe(&self) -> (Option<f64>, LinpackConditions);
}

pub(super) struct Memory {
    matrices: Vec<Place>,
    bytes: u64,
}

impl Memory {
    pub(super) fn new(matrices: &[&Region], workspaces: &[&Region]) -> Self {
        let bytes = matrices.iter().chain(workspaces).map(|region| region.len() as u64).sum();
        Self { matrices: matrices.iter().map(|region| region.place()).collect(), bytes }
    }

    /// The least share of huge pages of a matrix, and the conditions of a problem with matrices of these bytes, unpadded.
    pub(super) fn describe(&self, kernel: &str, matrix_bytes: usize) -> (Option<f64>, LinpackConditions) {
        let shares = self.matrices.iter().map(|place| place.huge_share());
        let conditions = LinpackConditions {
            kernel: Some(kernel.to_owned()),
            mapped_bytes: Some(self.bytes),
            matrix_bytes: Some(matrix_bytes as u64),
            ..LinpackConditions::default()
        };
        (shares.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten(), conditions)
    }
}

pub(super) fn index(count: u64) -> Result<usize, Trouble> {
    usize::try_from(count).map_err(|_| Trouble::Failed(format!("{count} elements are more than can be addressed")))
}

pub(super) fn map<T: Number>(len: usize, align: usize) -> Result<Numbers<T>, Trouble> {
    Numbers::map(len, align, PageSize::Huge).map_err(|error| {
        let size = format_size(len.saturating_mul(size_of::<T>()) as u64);
        Trouble::Unavailable(format!("no memory for a matrix of {size}: {error}; choose a smaller --n"))
    })
}

pub(super) struct Parts<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) blocking: Blocking,
    pub(super) crew: Crew,
    pub(super) n: usize,
    pub(super) lda: usize,
}

impl<T: Real> Parts<T> {
    pub(super) fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let tile = bound_tile::<T>(params)?;
        let machine = machine::discover(&machine::Sysroot::host());
        let blocking = solver::blocking(params, tile.tile(), solver::caches(&machine, &task.cpus));
        let crew = Crew::new(task.cpus.len(), std::thread::yield_now);
        Ok(Self { tile, blocking, crew, n: index(params.n)?, lda: index(params.lda)? })
    }
}

pub(super) fn bound_tile<T: Real>(params: &LinpackParams) -> Result<BoundTile<T>, Trouble> {
    params.isa.and_then(|isa| dense::find::<T>(isa, &Features::detect())).ok_or_else(|| {
        let isa = params.isa.map_or("any kernel", |isa| isa.name());
        let (op, element) = (params.op, params.element);
        Trouble::Unavailable(format!("this CPU, or the operating system, lacks {isa} for {op} of {element}"))
    })
}

pub(super) fn unfit(unfit: Unfit) -> Trouble {
    Trouble::Failed(format!("the problem cannot be set up: {unfit}"))
}

pub(super) fn abandoned(_: Abandoned) -> String {
    "another thread of the solver has given up".to_owned()
}

/// Judges the check of a solution; `singular` is a column without a pivot.
pub(super) fn judged(checked: &Checked, singular: Option<usize>) -> Result<Residuals, String> {
    if let Some(column) = singular {
        return Err(format!("the matrix is singular: column {column} (counted from 0) has no pivot"));
    }
    let Checked { residual, scaled, .. } = *checked;
    if checked.passes() && residual.is_finite() {
        return Ok(Residuals { scaled, raw: Some(residual) });
    }
    Err(format!(
        "the solution is wrong: its scaled residual is {scaled:.3e}, where HPL accepts less than {THRESHOLD} \
         (||Ax-b|| = {residual:.3e})"
    ))
}
