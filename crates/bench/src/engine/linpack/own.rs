//! Our own solver: the problem of a launch in memory that was mapped for it.

use std::sync::Arc;

use kernels::dense::{Abandoned, Checked, Crew, Problem, Real, Solver, THRESHOLD};
use model::isa::Element;
use model::linpack::{LinpackConditions, LinpackOp, LinpackParams};
use model::unit::format_size;
use model::wire::Task;
use sys::memory::{PageSize, Place};
use sys::numbers::{Number, Numbers};

use super::{Residuals, Team, Trouble, solver};

/// Alignment of what a solver has beside its matrix.
const WORKSPACE_ALIGN: usize = 2 << 20;

/// Sets the problem of a task up: its memory is mapped, and touched by nobody.
///
/// # Errors
/// There is no kernel for it here, or no memory.
pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => Ok(Arc::new(Lu::<f64>::new(task, params)?)),
        (op, element) => Err(Trouble::Failed(format!("this version has no {op} of {element}"))),
    }
}

/// So many elements, as an index.
fn index(count: u64) -> Result<usize, Trouble> {
    usize::try_from(count).map_err(|_| Trouble::Failed(format!("{count} elements are more than can be addressed")))
}

/// Maps room for numbers.
fn map<T: Number>(len: usize, align: usize) -> Result<Numbers<T>, Trouble> {
    Numbers::map(len, align, PageSize::Huge).map_err(|error| {
        let size = format_size((len * size_of::<T>()) as u64);
        Trouble::Unavailable(format!("no memory for a matrix of {size}: {error}; choose a smaller --n"))
    })
}

/// What is said where a thread finds that another one has left.
fn abandoned(_: Abandoned) -> String {
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
        return Ok(Residuals { scaled, raw: residual });
    }
    Err(format!(
        "the solution is wrong: its scaled residual is {scaled:.3e}, where HPL accepts less than {THRESHOLD} \
         (||Ax-b|| = {residual:.3e})"
    ))
}

/// A system of equations.
struct Lu<T: Real + Number> {
    solver: Solver<T, Numbers<T>>,
    /// Where the matrix is.
    place: Place,
    mapped_bytes: u64,
}

impl<T: Real + Number> Lu<T> {
    fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let lacking = || {
            let isa = params.isa.map_or("any kernel", |isa| isa.name());
            Trouble::Unavailable(format!("this CPU, or the operating system, lacks {isa} for {}", params.op))
        };
        let tile = solver::tile::<T>(params).ok_or_else(lacking)?;
        let machine = machine::discover(&machine::Sysroot::host());
        let blocking = solver::blocking(params, &tile, solver::caches(&machine, &task.cpus));
        let (n, lda) = (index(params.n)?, index(params.lda)?);
        let problem = Problem { n, lda, seed: task.seed, tile, blocking };
        let crew = Crew::new(task.cpus.len(), std::thread::yield_now);
        let matrix_len = problem.matrix_len().ok_or_else(|| Trouble::Failed(format!("N = {n} is too large")))?;
        let matrix = map::<T>(matrix_len, index(params.align)?)?;
        let workspace = map::<T>(problem.workspace_len(crew.threads()), WORKSPACE_ALIGN)?;
        let mapped_bytes = (matrix.region().len() + workspace.region().len()) as u64;
        let place = matrix.region().place();
        let solver =
            Solver::new(problem, crew, matrix, workspace).map_err(|unfit| Trouble::Failed(unfit.to_string()))?;
        Ok(Self { solver, place, mapped_bytes })
    }
}

impl<T: Real + Number> Team for Lu<T> {
    fn fill(&self, thread: usize) -> Result<(), String> {
        self.solver.fill(thread).map_err(abandoned)
    }

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String> {
        self.solver.factor_and_solve(thread, look).map_err(abandoned)
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        let checked = self.solver.check(thread).map_err(abandoned)?;
        judged(&checked, self.solver.singular())
    }

    fn abandon(&self) {
        self.solver.crew().abandon();
    }

    fn huge_share(&self) -> Option<f64> {
        self.place.huge_share()
    }

    fn describe(&self) -> LinpackConditions {
        let problem = self.solver.problem();
        let n = problem.n as u64;
        LinpackConditions {
            kernel: Some(problem.tile.tile().name.to_owned()),
            mapped_bytes: Some(self.mapped_bytes),
            matrix_bytes: Some(n * n * size_of::<T>() as u64),
            ..LinpackConditions::default()
        }
    }
}
