//! The cpu engine: arithmetic kernels on registers alone, each result checked bit for bit.
//!
//! Which kernels exist, what they require and how much work an iteration is, the table in `kernels` says; here is only
//! which of them a request asks for.

use kernels::features::Features;
use kernels::state::ArithmeticState;
use kernels::table::{self, Bound, Kernel};
use model::experiment::{Area, Classic, CpuParams, Experiment, Loop, Params, cpu_id};
use model::isa::{CpuOp, Element, Isa};
use model::machine::Machine;
use model::unit::Unit;
use model::wire::Task;

use super::{Engine, Measure, Opened, Profile, Trial, Trouble};
use crate::plan::{PlanError, Planned, Request, place, thread_counts};
use crate::suite::{CpuStanza, IsaChoice};

/// Measures arithmetic.
pub(super) struct CpuEngine;

/// Expected seconds of preparation per launch: calibration of timer, chains and chunks.
const SETUP_SECONDS: f64 = 0.03;

impl Engine for CpuEngine {
    fn area(&self) -> Area {
        Area::Cpu
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        let features = Features::detect();
        let mut rows = Vec::new();
        for stanza in &request.suite.cpu {
            for &element in &stanza.elements {
                for &choice in &stanza.isa {
                    for threads in thread_counts(request, &stanza.threads, machine) {
                        rows.extend(row(request, machine, features, stanza, (element, choice, threads))?);
                    }
                }
            }
        }
        Ok(rows)
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let Params::Cpu(params) = &task.experiment.params else {
            return Err(Trouble::Failed(format!("'{}' is no cpu experiment", task.experiment.id)));
        };
        let bound = table::find(params.op, params.element, params.isa, &Features::detect())
            .ok_or_else(|| Trouble::Unavailable(missing(params.op, params.element, params.isa)))?;
        let state = bound.seeded(task.seed ^ thread as u64);
        Ok(Opened::Paced(Box::new(CpuTrial { bound, state })))
    }
}

/// The row of one combination; none where there is no kernel for it that the table knows and nobody named one.
fn row(
    request: &Request,
    machine: &Machine,
    features: Features,
    stanza: &CpuStanza,
    (element, choice, threads): (Element, IsaChoice, u32),
) -> Result<Option<Planned>, PlanError> {
    let op = stanza.op;
    let bound = match choice {
        IsaChoice::Vector => table::widest(op, element, &features),
        IsaChoice::Named(isa) => table::find(op, element, isa, &features),
    };
    let isa = match (choice, &bound) {
        (_, Some(bound)) => bound.kernel().isa,
        (IsaChoice::Named(isa), None) => isa,
        (IsaChoice::Vector, None) => {
            return Err(PlanError(format!("there is no kernel for {op} of {element}; known: {}", known_kernels())));
        }
    };
    if bound.is_none()
        && !table::KERNELS.iter().any(|kernel| (kernel.op, kernel.element, kernel.isa) == (op, element, isa))
    {
        return Err(PlanError(format!(
            "there is no kernel for {op} of {element} with {isa}; known: {}",
            known_kernels()
        )));
    }
    if bound.is_none() && request.chosen.isa {
        return Err(PlanError(format!("{}; leave --isa out for the best that it has", missing(op, element, isa))));
    }
    let params = CpuParams { op, element, isa, threads };
    let (cpus, warning) = place(threads, machine);
    let experiment = Experiment {
        id: cpu_id(&params),
        area: Area::Cpu,
        method: bound.map_or("cpu/1", |bound| bound.kernel().method).to_owned(),
        classic: classic(&params),
        kernel: bound.map(|bound| facts(bound.kernel())),
        params: Params::Cpu(params),
    };
    Ok(Some(Planned {
        experiment,
        cpus,
        other_cpus: Vec::new(),
        beside: Vec::new(),
        sampling: request.suite.sampling(Area::Cpu),
        setup_seconds: SETUP_SECONDS,
        obstacle: bound.is_none().then(|| missing(op, element, isa)),
        warnings: warning.into_iter().collect(),
    }))
}

fn missing(op: CpuOp, element: Element, isa: Isa) -> String {
    format!("this CPU, or its operating system, lacks {isa} for {op} of {element}")
}

fn known_kernels() -> String {
    table::KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join(", ")
}

/// The classic table's label of a vector row.
fn classic(params: &CpuParams) -> Option<Classic> {
    let workload = match params.element {
        Element::Int8 => "QP",
        Element::Int16 | Element::Fp16 | Element::Bf16 => "HP",
        Element::Int32 | Element::Fp32 => "SP",
        Element::Int64 | Element::Fp64 => "DP",
    };
    let is_vector = params.isa != Isa::Scalar && matches!(params.op, CpuOp::Fma | CpuOp::Dot | CpuOp::Matrix);
    is_vector.then(|| Classic {
        table: "cpu".into(),
        workload: workload.into(),
        class: Some("vector".into()),
        total: None,
    })
}

/// What a reader needs to know of a kernel.
fn facts(kernel: &Kernel) -> Loop {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Loop {
        accumulator: kernel.accumulator_type.to_owned(),
        instructions: kernel.step.iter().map(|name| (*name).to_owned()).collect(),
        accumulator_bits: count(8 * kernel.vector_bytes()),
        accumulators: count(kernel.accumulators),
        operations: kernel.operations(),
    }
}

/// The unit in which work on such elements is counted.
pub(crate) fn unit_of(element: Element) -> Unit {
    match element {
        Element::Fp64 | Element::Fp32 | Element::Fp16 | Element::Bf16 => Unit::FlopPerSecond,
        Element::Int8 | Element::Int16 | Element::Int32 | Element::Int64 => Unit::OpPerSecond,
    }
}

/// One kernel with its operands and accumulators.
struct CpuTrial {
    bound: Bound,
    state: ArithmeticState,
}

impl Trial for CpuTrial {
    fn profile(&self) -> Profile {
        let kernel = self.bound.kernel();
        Profile {
            measure: Measure::Rate(unit_of(kernel.element)),
            work_per_iteration: kernel.operations() as f64,
            most_iterations: kernel.max_iterations(),
            clock_between_bursts: true,
        }
    }

    fn run(&mut self, iterations: u64) {
        self.bound.run(&mut self.state, iterations);
    }

    fn verify(&mut self) -> Result<(), String> {
        self.state.verify_and_reset().map_err(|mismatch| format!("a result is wrong: {mismatch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_the_mission() {
        let label = |element, isa| {
            classic(&CpuParams { op: CpuOp::Fma, element, isa, threads: 1 }).map(|classic| classic.workload)
        };
        assert_eq!(label(Element::Fp64, Isa::Avx2), Some("DP".into()));
        assert_eq!(label(Element::Int8, Isa::Avx2), Some("QP".into()));
        assert_eq!(label(Element::Fp32, Isa::Scalar), None);
    }

    #[test]
    fn every_kernel_that_binds_here_opens_works_and_verifies() {
        for kernel in table::KERNELS {
            let Some(bound) = kernel.bind(&Features::detect()) else { continue };
            let mut trial = CpuTrial { bound, state: bound.seeded(7) };
            for iterations in [1, 3, 1000] {
                trial.run(iterations);
            }
            trial.verify().unwrap();
            trial.run(5);
            trial.verify().unwrap();
        }
    }
}
