//! Which instruction sets an operation on memory can be measured with here, and what each measurement is called.

use kernels::features::Features;
use kernels::memory;
use model::experiment::MemoryParams;
use model::isa::{Isa, MemoryOp, MemoryPattern};

use crate::plan::{PlanError, Request};
use crate::suite::IsaChoice;

/// The widest vectors that a stream uses unless others are named. Memory is slower than any vector, and on cores that
/// lower their clock for 512-bit units (Skylake-SP, Cascade Lake) those are the slower ones: `assay memory --isa
/// avx2,avx512` shows it.
const USUAL_VECTOR_BYTES: usize = 32;

/// Kernel and counting rule: what it does, in which order, and a revision that changes whenever a figure would mean
/// something else.
pub(super) fn method(params: &MemoryParams) -> String {
    let what = params.op.name().replace('_', "-");
    match (params.pattern, params.block) {
        (MemoryPattern::Chase, _) => "memory-chase/1".to_owned(),
        (MemoryPattern::Sequential, None) => format!("memory-{what}/1"),
        (MemoryPattern::Sequential, Some(_)) => format!("memory-blocks-{what}/1"),
        (MemoryPattern::Random, _) => format!("memory-random-{what}/1"),
        (MemoryPattern::Pair, _) => format!("memory-pair-{what}/1"),
    }
}

/// The instruction sets that a choice comes to for an operation, each with why it cannot be had.
pub(super) fn instruction_sets(
    request: &Request,
    op: MemoryOp,
    choice: IsaChoice,
) -> Result<Vec<(Isa, Option<String>)>, PlanError> {
    if op == MemoryOp::Load {
        return Ok(vec![(Isa::Scalar, None)]);
    }
    let features = Features::detect();
    let none = || PlanError(format!("there is no kernel for {op}"));
    match choice {
        IsaChoice::Vector => {
            let usual = memory::usable(op, &features).find(|kernel| kernel.vector_bytes <= USUAL_VECTOR_BYTES);
            // Until every operation has its loop.
            let unknown = || (Isa::Scalar, Some(format!("this version has no loop for {op} yet")));
            Ok(vec![usual.map_or_else(unknown, |kernel| (kernel.isa, None))])
        }
        IsaChoice::All => {
            let all: Vec<_> = memory::usable(op, &features).map(|kernel| (kernel.isa, None)).collect();
            if all.is_empty() { Err(none()) } else { Ok(all) }
        }
        IsaChoice::Named(isa) => {
            if !memory::MEMORY_KERNELS.iter().any(|kernel| kernel.op == op && kernel.isa == isa) {
                let known: Vec<_> = memory::MEMORY_KERNELS.iter().map(|kernel| kernel.name).collect();
                return Err(PlanError(format!("there is no kernel for {op} with {isa}; known: {}", known.join(", "))));
            }
            let missing = memory::find(op, isa, &features).is_none();
            let sentence = || format!("this CPU, or its operating system, lacks {isa}");
            if missing && request.chosen.isa {
                return Err(PlanError(format!("{}; leave --isa out for the best that it has", sentence())));
            }
            Ok(vec![(isa, missing.then(sentence))])
        }
    }
}
