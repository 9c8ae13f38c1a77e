//! The cpu engine: arithmetic kernels of the table in `kernels`, on registers alone, each result checked bit for bit.

use kernels::features::Features;
use kernels::state::ArithmeticState;
use kernels::table::{self, Bound};
use model::experiment::{Area, CpuParams, Experiment};
use model::isa::{CpuOp, Element, Isa};
use model::unit::Unit;
use model::wire::Task;

use super::{Engine, Measure, Opened, Preparing, Profile, Trial, Trouble, params_of};

pub(super) struct CpuEngine;

impl Engine for CpuEngine {
    fn area(&self) -> Area {
        Area::Cpu
    }

    fn prepare(&self, task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        if params_of(task, Experiment::cpu)?.isa == Isa::Amx {
            // A permission of the whole process, requested before it has threads.
            sys::tiles::permit().map_err(Trouble::Unavailable)?;
        }
        Ok(())
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let CpuParams { op, element, isa, .. } = *params_of(task, Experiment::cpu)?;
        let unavailable = |why: String| {
            let cpu = task.cpus.get(thread).map(|cpu| format!("CPU {cpu}, or the operating system, "));
            Trouble::Unavailable(cpu.unwrap_or_default() + &why)
        };
        let kernel = task.experiment.kernel.as_ref();
        let spaced = kernel.is_some_and(|kernel| kernel.instructions.iter().any(|name| name == areas::cpu::NOP));
        let features = Features::detect();
        let features = features.on_binding_core(features.binds_at_renaming() && spaced);
        let bound = table::find(op, element, isa, &features)
            .ok_or_else(|| unavailable(format!("lacks {isa} for {op} of {element}")))?;
        if bound.is_spaced() != spaced {
            let why = "is another kind of core than this benchmark was planned for: its loop has NOPs";
            return Err(unavailable(why.to_owned()));
        }
        Ok(Opened::Paced(seeded(bound, task.seed ^ thread as u64)))
    }
}

fn unit_of(element: Element) -> Unit {
    match element {
        Element::Fp64 | Element::Fp32 | Element::Fp16 | Element::Bf16 => Unit::FlopPerSecond,
        Element::Int8 | Element::Int16 | Element::Int32 | Element::Int64 => Unit::OpPerSecond,
    }
}

/// The kernel of this operation, element and instruction set, or else the widest one, if this machine can run it.
pub(super) fn trial(op: CpuOp, element: Element, isa: Option<Isa>, seed: u64) -> Option<Box<dyn Trial>> {
    let features = Features::detect();
    let widest = || table::widest(op, element, &features).map(|widest| widest.kernel().isa);
    table::find(op, element, isa.or_else(widest)?, &features).map(|bound| seeded(bound, seed))
}

fn seeded(bound: Bound, seed: u64) -> Box<dyn Trial> {
    Box::new(CpuTrial { bound, state: bound.seeded(seed) })
}

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
            paced_cycles: kernel.paced_code().map(|(_, additions)| additions as f64),
        }
    }

    fn run(&mut self, iterations: u64) {
        self.bound.run(&mut self.state, iterations);
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
