//! What the solvers of our own have in common: their matrices in memory, and how a result is judged.

use areas::linpack::solver;
use kernels::dense::{Abandoned, Blocking, BoundTile, Checked, Crew, Real, THRESHOLD, Unfit};
use model::linpack::LinpackParams;
use model::unit::format_size;
use model::wire::Task;
use sys::memory::PageSize;
use sys::numbers::{Number, Numbers};

use super::tile;
use crate::engines::{Residuals, Trouble};

/// Alignment of what a solver has beside its matrix.
pub(super) const WORKSPACE_ALIGN: usize = 2 << 20;

/// So many elements, as an index.
///
/// # Errors
/// They cannot be addressed.
pub(super) fn index(count: u64) -> Result<usize, Trouble> {
    usize::try_from(count).map_err(|_| Trouble::Failed(format!("{count} elements are more than can be addressed")))
}

/// Maps room for numbers.
///
/// # Errors
/// There is none.
pub(super) fn map<T: Number>(len: usize, align: usize) -> Result<Numbers<T>, Trouble> {
    Numbers::map(len, align, PageSize::Huge).map_err(|error| {
        let size = format_size((len * size_of::<T>()) as u64);
        Trouble::Unavailable(format!("no memory for a matrix of {size}: {error}; choose a smaller --n"))
    })
}

/// What a solver is made of besides its memory.
pub(super) struct Parts<T: 'static> {
    pub(super) tile: BoundTile<T>,
    pub(super) blocking: Blocking,
    pub(super) crew: Crew,
    pub(super) n: usize,
    pub(super) lda: usize,
}

impl<T: Real> Parts<T> {
    /// The parts of a row.
    ///
    /// # Errors
    /// There is no kernel for it here.
    pub(super) fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let lacking = || {
            let isa = params.isa.map_or("any kernel", |isa| isa.name());
            let (op, element) = (params.op, params.element);
            Trouble::Unavailable(format!("this CPU, or the operating system, lacks {isa} for {op} of {element}"))
        };
        let tile = tile::tile::<T>(params).ok_or_else(lacking)?;
        let machine = machine::discover(&machine::Sysroot::host());
        let blocking = solver::blocking(params, tile.tile(), solver::caches(&machine, &task.cpus));
        let crew = Crew::new(task.cpus.len(), std::thread::yield_now);
        Ok(Self { tile, blocking, crew, n: index(params.n)?, lda: index(params.lda)? })
    }
}

/// That a problem is none.
pub(super) fn unfit(unfit: Unfit) -> Trouble {
    Trouble::Failed(format!("the problem cannot be set up: {unfit}"))
}

/// What is said where a thread finds that another one has left.
pub(super) fn abandoned(_: Abandoned) -> String {
    "another thread of the solver has given up".to_owned()
}

/// What a check of a solution comes to.
///
/// # Errors
/// It is none: the matrix was singular, or the residual is too large or no number.
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
