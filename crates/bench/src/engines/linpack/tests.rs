use std::sync::{Arc, Mutex};

use kernels::dense::{Blocking, Caches, Crew, Diagonal, Problem, Solver, widest};
use kernels::features::Features;
use model::experiment::{Area, Experiment, Params};
use model::isa::{Element, Isa};
use model::linpack::{LinpackConditions, LinpackEngine, LinpackOp, LinpackParams};
use model::wire::Task;

use super::library::{self, Data};
use super::parts::{Team, judged};
use super::{Open, PREPARED, Residuals};
use crate::locks::lock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Factor,
    Solution,
    NotANumber,
    /// Two columns are the same, but for the rounding of their elimination.
    Dependent,
    Singular,
}

pub(crate) fn task(n: u64, threads: u32) -> Task {
    let params = LinpackParams {
        op: LinpackOp::Lu,
        engine: LinpackEngine::Own,
        n,
        nb: None,
        lda: n + 8,
        align: 64,
        threads,
        element: Element::Fp64,
        isa: Some(areas::linpack::solver::sets(Element::Fp64).last().map_or(Isa::Scalar, |set| set.isa)),
    };
    let cpu = sys::affinity::allowed_cpus().unwrap()[0];
    Task {
        experiment: Experiment {
            id: format!("linpack/lu/n{n}/t{threads}"),
            area: Area::Linpack,
            params: Params::Linpack(params),
            method: "linpack-lu/1".into(),
            classic: None,
            kernel: None,
        },
        cpus: vec![cpu; threads as usize],
        samples: 2,
        ..crate::tests::task()
    }
}

/// The same with these parameters changed, and the parameters.
pub(crate) fn task_with(n: u64, threads: u32, change: impl FnOnce(&mut LinpackParams)) -> (Task, LinpackParams) {
    let mut task = task(n, threads);
    let Params::Linpack(params) = &mut task.experiment.params else { panic!("{task:?}") };
    change(params);
    let params = params.clone();
    (task, params)
}

/// Has the next process run of this task, which has one thread, solve a system with this fault.
pub(crate) fn plant(task: &Task, fault: Fault) {
    let Params::Linpack(params) = &task.experiment.params else { panic!("{task:?}") };
    let n = usize::try_from(params.n).unwrap();
    let tile = widest::<f64>(&Features::detect()).unwrap();
    let blocking = Blocking::new(tile.tile(), n, Caches::default());
    let problem = Problem { n, lda: n, seed: task.seed, diagonal: Diagonal::Drawn, tile, blocking };
    let (matrix, workspace) = (vec![0.0; problem.matrix_len().unwrap()], vec![0.0; problem.workspace_len(1)]);
    let solver = Solver::new(problem, Crew::new(1, std::thread::yield_now), matrix, workspace).unwrap();
    let team = Arc::new(Planted { solver: Mutex::new(solver), fault });
    lock(&PREPARED).push(Open { id: task.experiment.id.clone(), run: task.launch, left: 1, team });
}

/// CPU seconds that each thread of the library takes for a call.
pub(crate) const LIBRARY_CPU_SECONDS: f64 = 0.02;

/// Has the next process run of this task call a library that only takes time, on as many threads of its own.
pub(crate) fn plant_library(task: &Task) {
    let threads = task.cpus.len();
    let busy = || while sys::clock::thread_cpu_seconds() < LIBRARY_CPU_SECONDS {};
    let team = library::team(NoData, threads, move |_| {
        let threads: Vec<_> = (0..threads).map(|_| std::thread::spawn(busy)).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        Ok(())
    });
    lock(&PREPARED).push(Open { id: task.experiment.id.clone(), run: task.launch, left: threads, team });
}

pub(crate) struct NoData;

impl Data for NoData {
    fn fill(&mut self) {}

    fn check(&self) -> Result<Residuals, String> {
        Ok(Residuals { scaled: 1e-3, raw: None })
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        (None, LinpackConditions::default())
    }
}

struct Planted {
    solver: Mutex<Solver<f64, Vec<f64>>>,
    fault: Fault,
}

impl Team for Planted {
    fn fill(&self, thread: usize) -> Result<(), String> {
        self.solver.lock().unwrap().fill(thread).map_err(|error| error.to_string())
    }

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String> {
        let mut solver = self.solver.lock().unwrap();
        let n = solver.problem().n;
        match self.fault {
            Fault::Factor => solver.matrix_mut()[n / 2 * n + n / 3] += 1e-3,
            Fault::Dependent => solver.matrix_mut().copy_within(0..n, (n - 1) * n),
            Fault::Singular => solver.matrix_mut()[(n - 1) * n..][..n].fill(0.0),
            _ => {}
        }
        solver.factor_and_solve(thread, look).map_err(|error| error.to_string())?;
        // The solution is the column behind the matrix.
        match self.fault {
            Fault::Solution => solver.matrix_mut()[n * n + n / 2] *= 1.0 + 1e-9,
            Fault::NotANumber => solver.matrix_mut()[n * n] = f64::NAN,
            _ => {}
        }
        Ok(())
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        let solver = self.solver.lock().unwrap();
        judged(&solver.check(thread).unwrap(), solver.singular())
    }

    fn abandon(&self) {}

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        (None, LinpackConditions::default())
    }
}
