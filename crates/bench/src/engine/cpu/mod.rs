//! The cpu engine: arithmetic kernels on registers alone, each result checked bit for bit.
//!
//! Which kernels exist, what they require and how much work an iteration is, the table in `kernels` says; which of them
//! a request asks for, [`rows`]. Here they are opened on the thread that will run them.

use std::collections::BTreeMap;

use kernels::features::{Feature, Features};
use kernels::state::ArithmeticState;
use kernels::table::{self, Bound};
use model::experiment::{Area, CpuParams, Experiment, Params};
use model::isa::{CpuOp, Element, Isa};
use model::machine::Machine;
use model::unit::Unit;
use model::wire::Task;

use super::{Engine, Measure, Opened, Preparing, Profile, Trial, Trouble};
use crate::plan::Request;
use model::plan::{PlanError, Planned};

mod rows;

/// Measures arithmetic.
pub(super) struct CpuEngine;

/// Kernel and counting rule of an experiment; `None` where there is no kernel for it.
pub(super) fn method(params: &CpuParams) -> Option<&'static str> {
    let is_its =
        |kernel: &&table::Kernel| (kernel.op, kernel.element, kernel.isa) == (params.op, params.element, params.isa);
    table::KERNELS.iter().find(is_its).map(|kernel| kernel.method)
}

impl Engine for CpuEngine {
    fn area(&self) -> Area {
        Area::Cpu
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        let by_type = features_by_type(machine);
        rows::expand(request, machine, &|cpus| common(machine, &by_type, cpus))
    }

    fn prepare(&self, task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        if params(&task.experiment)?.isa == Isa::Amx {
            // Of the whole process, before it has threads.
            sys::tiles::permit().map_err(|error| Trouble::Unavailable(error.to_string()))?;
        }
        Ok(())
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let CpuParams { op, element, isa, .. } = *params(&task.experiment)?;
        let cpu =
            || task.cpus.get(thread).map_or_else(String::new, |cpu| format!("CPU {cpu}, or the operating system, "));
        let spaced = is_spaced(&task.experiment);
        // Every thread of a row runs the loop that the row says.
        let features = Features::detect();
        let features = features.on_binding_core(features.binds_at_renaming() && spaced);
        let bound = table::find(op, element, isa, &features)
            .ok_or_else(|| Trouble::Unavailable(format!("{}lacks {isa} for {op} of {element}", cpu())))?;
        if bound.is_spaced() != spaced {
            let why = "is another kind of core than this row was planned for, whose loop has NOPs";
            return Err(Trouble::Unavailable(format!("{}{why}", cpu())));
        }
        Ok(Opened::Paced(seeded(bound, task.seed ^ thread as u64)))
    }
}

/// Whether NOPs keep the instructions of an experiment's loop apart.
fn is_spaced(experiment: &Experiment) -> bool {
    experiment.kernel.as_ref().is_some_and(|kernel| kernel.instructions.iter().any(|name| name == rows::NOP))
}

fn params(experiment: &Experiment) -> Result<&CpuParams, Trouble> {
    match &experiment.params {
        Params::Cpu(params) => Ok(params),
        _ => Err(Trouble::Failed(format!("'{}' is no cpu experiment", experiment.id))),
    }
}

/// What the cores of each kind can do, by the index of their kind; nothing where all are of one kind, or where a look
/// from one of them fails.
pub(super) fn features_by_type(machine: &Machine) -> BTreeMap<usize, Features> {
    let types = machine.cpu.core_types.iter().enumerate().filter(|_| machine.cpu.core_types.len() > 1);
    let available = |cpus: &[u32]| cpus.iter().copied().find(|cpu| machine.cpu.available_cpus.contains(cpu));
    let seen = types.filter_map(|(index, core_type)| {
        let found = sys::team::run(&[available(&core_type.cpus)?], |_, _| Ok(Features::detect()));
        Some((index, found.ok()?.into_iter().next()?))
    });
    seen.collect()
}

/// What all of these CPUs can do.
pub(super) fn common(machine: &Machine, by_type: &BTreeMap<usize, Features>, cpus: &[u32]) -> Features {
    let uses = |index: usize| machine.cpu.core_types[index].cpus.iter().any(|cpu| cpus.contains(cpu));
    let used: Vec<Features> = by_type.iter().filter(|(index, _)| uses(**index)).map(|(_, found)| *found).collect();
    if used.is_empty() {
        return Features::detect();
    }
    let everywhere = |feature: &&Feature| used.iter().all(|features| features.has(**feature));
    let binds = used.iter().all(|features| features.binds_at_renaming());
    Features::having(&Feature::ALL.iter().filter(everywhere).copied().collect::<Vec<_>>()).on_binding_core(binds)
}

/// The unit in which work on such elements is counted.
pub(crate) fn unit_of(element: Element) -> Unit {
    match element {
        Element::Fp64 | Element::Fp32 | Element::Fp16 | Element::Bf16 => Unit::FlopPerSecond,
        Element::Int8 | Element::Int16 | Element::Int32 | Element::Int64 => Unit::OpPerSecond,
    }
}

/// The kernel of this operation, element and instruction set with its operands, drawn from `seed`; `None` where this
/// machine cannot run it.
pub(super) fn trial(op: CpuOp, element: Element, isa: Isa, seed: u64) -> Option<Box<dyn Trial>> {
    table::find(op, element, isa, &Features::detect()).map(|bound| seeded(bound, seed))
}

/// A kernel with its operands, drawn from `seed`.
fn seeded(bound: Bound, seed: u64) -> Box<dyn Trial> {
    Box::new(CpuTrial { bound, state: bound.seeded(seed) })
}

/// The same with the widest instruction set that this machine has for it.
pub(super) fn widest_trial(op: CpuOp, element: Element, seed: u64) -> Option<Box<dyn Trial>> {
    let widest = table::widest(op, element, &Features::detect())?;
    trial(op, element, widest.kernel().isa, seed)
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
            most_iterations: u64::MAX,
            clock_between_bursts: true,
        }
    }

    fn run(&mut self, iterations: u64) {
        self.bound.run(&mut self.state, iterations);
    }

    fn paced_cycles(&self) -> Option<f64> {
        self.bound.kernel().paced_code().map(|(_, additions)| additions as f64)
    }

    fn run_paced(&mut self, iterations: u64) {
        self.bound.run_paced(&mut self.state, iterations);
    }

    fn verify(&mut self) -> Result<(), String> {
        self.state.verify_and_reset().map_err(|mismatch| format!("a result is wrong: {mismatch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
