//! The suite of `assay cpu`.

use super::choice::CpuChoice;
use super::expand::known_kernels;
use crate::fields::{IsaChoice, Threads};
use crate::suite::Suite;
use kernels::table::KERNELS;
use model::experiment::Area;
use model::isa::{CpuOp, Element};
use model::plan::{PlanError, Sampling};

const FEW_RUNGS: [Threads; 3] = [Threads::Count(1), Threads::All, Threads::Smt];
const ALL_RUNGS: [Threads; 2] = [Threads::Doubling, Threads::Smt];

/// The least samples of an interval and short warm-ups: 80 benchmarks take less than a minute on two cores.
fn survey() -> Sampling {
    let (warm_up_seconds, target) = ([0.02, 0.08], 0.01);
    Sampling { samples: 6, per_launch: 1, sample_seconds: 0.04, warm_up_seconds, target, ..Sampling::default() }
}

fn rungs(op: CpuOp, element: Element, choice: &CpuChoice) -> Vec<CpuChoice> {
    let stanza = |isa: Vec<IsaChoice>, threads: &[Threads]| {
        let (op, elements, threads) = (vec![op], vec![element], threads.to_vec());
        CpuChoice { op, elements, isa, threads, ..CpuChoice::default() }
    };
    if !choice.isa.is_empty() {
        // A named instruction set applies to the operations that have it.
        let exists = |choice: &IsaChoice| match choice {
            IsaChoice::Named(isa) => {
                KERNELS.iter().any(|kernel| (kernel.op, kernel.element, kernel.isa) == (op, element, *isa))
            }
            IsaChoice::Vector | IsaChoice::All => true,
        };
        let isa: Vec<IsaChoice> = choice.isa.iter().copied().filter(exists).collect();
        return if isa.is_empty() { Vec::new() } else { vec![stanza(isa, &ALL_RUNGS)] };
    }
    let widest = stanza(vec![IsaChoice::Vector], &ALL_RUNGS);
    // These are shown in full only on request.
    let in_passing = matches!(op, CpuOp::MulAdd | CpuOp::Add | CpuOp::AllPipes) && choice.op.is_empty();
    if in_passing { vec![widest] } else { vec![widest, stanza(vec![IsaChoice::All], &FEW_RUNGS)] }
}

/// By element type, the widest kernel of each operation at all thread counts, its other instruction sets on one thread and
/// on all cores.
pub fn suite(choice: &CpuChoice) -> Result<Suite, PlanError> {
    let mut cpu: Vec<CpuChoice> = Vec::new();
    for &element in Element::ALL.iter().filter(|one| choice.elements.is_empty() || choice.elements.contains(one)) {
        for &op in CpuOp::ALL.iter().filter(|op| choice.op.is_empty() || choice.op.contains(op)) {
            if KERNELS.iter().any(|kernel| (kernel.op, kernel.element) == (op, element)) {
                cpu.extend(rungs(op, element, choice));
            }
        }
    }
    if cpu.is_empty() {
        let known = known_kernels();
        return Err(PlanError(format!("there is no kernel of that combination; known: {known}")));
    }
    let (linpack, memory, disk, net) = Default::default();
    let quick = Suite::embedded("quick")?;
    let mut suite = Suite { name: Area::Cpu.to_string(), cpu, linpack, memory, disk, net, ..quick };
    if choice.is_open() {
        suite.sampling.insert(Area::Cpu, survey());
        suite.repeat_share = 0.0;
    }
    Ok(suite)
}
