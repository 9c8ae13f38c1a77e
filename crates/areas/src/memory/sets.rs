//! The instruction sets and the methods of memory benchmarks.

use kernels::features::Features;
use kernels::memory::{self, MEMORY_KERNELS, MemoryKernel};
use model::experiment::MemoryParams;
use model::isa::{Isa, MemoryOp, MemoryPattern};
use model::plan::PlanError;

use crate::fields::IsaChoice;
use crate::request::Request;

/// The widest default vectors of a stream: memory is slower, and Skylake-SP lowers its clock for 512-bit units.
const USUAL_VECTOR_BYTES: usize = 32;
/// Operations without a kernel in the table of streams.
const WITHOUT_A_ROW: &[MemoryOp] = &[MemoryOp::Load, MemoryOp::Increment, MemoryOp::Handoff, MemoryOp::Memcpy];

/// Kernel and counting rule, with a revision that changes when values would mean something else.
pub(super) fn method(params: &MemoryParams) -> String {
    let what = params.op.name().replace('_', "-");
    match (params.pattern, params.background, params.group, params.chains) {
        (MemoryPattern::Chase, Some(load), ..) => format!("memory-loaded-{}/1", load.op.name().replace('_', "-")),
        (MemoryPattern::Chase, None, Some(_), _) => "memory-chase-groups/1".to_owned(),
        (MemoryPattern::Chase, None, None, Some(2..)) => "memory-chase-chains/1".to_owned(),
        (MemoryPattern::Chase, ..) => "memory-chase/1".to_owned(),
        (MemoryPattern::Sequential, ..) if params.block.is_none() => format!("memory-{what}/1"),
        (MemoryPattern::Sequential, ..) => format!("memory-blocks-{what}/1"),
        (MemoryPattern::Random, ..) => format!("memory-random-{what}/1"),
        (MemoryPattern::Pair, ..) => format!("memory-pair-{what}/1"),
    }
}

/// The default loop of a stream on a CPU with these features.
pub fn usual(op: MemoryOp, features: Features) -> Option<&'static MemoryKernel> {
    memory::usable(op, &features).find(|kernel| kernel.vector_bytes <= USUAL_VECTOR_BYTES)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstructionSet {
    pub(super) isa: Isa,
    pub(super) named: bool,
    pub(super) obstacle: Option<String>,
}

pub(super) fn instruction_sets(
    request: &Request,
    op: MemoryOp,
    choices: &[IsaChoice],
) -> Result<Vec<InstructionSet>, PlanError> {
    let mut sets: Vec<InstructionSet> = Vec::new();
    for choice in choices {
        for set in chosen(request, op, *choice, request.features.here)? {
            if !sets.iter().any(|known| known.isa == set.isa) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
}

fn chosen(
    request: &Request,
    op: MemoryOp,
    choice: IsaChoice,
    features: Features,
) -> Result<Vec<InstructionSet>, PlanError> {
    let plain = |isa| InstructionSet { isa, named: false, obstacle: None };
    let rows = || MEMORY_KERNELS.iter().filter(|kernel| kernel.op == op);
    if WITHOUT_A_ROW.contains(&op) || rows().any(|kernel| kernel.isa == Isa::Scalar) {
        // The only loop has no vectors.
        return Ok(vec![plain(Isa::Scalar)]);
    }
    if rows().next().is_none() {
        let obstacle = Some(format!("this program has no loop for {op} on this architecture"));
        return Ok(vec![InstructionSet { obstacle, ..plain(Isa::Scalar) }]);
    }
    match choice {
        IsaChoice::Vector => {
            let usual = usual(op, features);
            // Every CPU of the architecture has the narrowest.
            Ok(usual.or_else(|| rows().next_back()).map(|kernel| plain(kernel.isa)).into_iter().collect())
        }
        IsaChoice::All => Ok(memory::usable(op, &features).map(|kernel| plain(kernel.isa)).collect()),
        IsaChoice::Named(isa) => {
            let by_user = !request.choices.memory.isa.is_empty();
            let Some(kernel) = rows().find(|kernel| kernel.isa == isa) else {
                let mut known: Vec<_> = rows().map(|kernel| kernel.isa.name()).collect();
                known.dedup();
                let sentence = format!("there is no loop for {op} with {isa}; known: {}", known.join(", "));
                // The suites name instruction sets of every architecture.
                let set = InstructionSet { isa, named: true, obstacle: Some(sentence.clone()) };
                return if by_user { Err(PlanError(sentence)) } else { Ok(vec![set]) };
            };
            let missing = !features.has_all(kernel.requires);
            let sentence = || format!("this CPU, or its operating system, lacks {isa}");
            if missing && by_user {
                return Err(PlanError(format!("{}; leave --isa out for the best that it has", sentence())));
            }
            Ok(vec![InstructionSet { isa, named: true, obstacle: missing.then(sentence) }])
        }
    }
}

#[cfg(test)]
mod tests {
    use kernels::features::Feature;

    use super::*;
    use crate::memory::tests::request;

    fn isas(op: MemoryOp, choice: IsaChoice, features: &[Feature]) -> Vec<Isa> {
        let sets = chosen(&request(false), op, choice, Features::having(features)).unwrap();
        assert!(sets.iter().all(|set| set.obstacle.is_none()), "{op}: {sets:?}");
        sets.iter().map(|set| set.isa).collect()
    }

    const WIDE: &[Feature] =
        &[Feature::Sse2, Feature::Avx2, Feature::Fma, Feature::Avx512F, Feature::Asimd, Feature::DcZva];

    #[test]
    fn every_operation_can_be_measured_with_something() {
        let of_another = if cfg!(target_arch = "aarch64") { MemoryOp::RepMovsb } else { MemoryOp::DcZva };
        for op in MemoryOp::ALL.iter().filter(|op| **op != of_another) {
            assert_eq!(isas(*op, IsaChoice::Vector, WIDE).len(), 1, "{op}");
            assert!(!isas(*op, IsaChoice::All, WIDE).is_empty(), "{op}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_usual_vectors_are_the_widest_up_to_256_bits() {
        for op in [MemoryOp::Read, MemoryOp::TriadNt, MemoryOp::Mix31] {
            assert_eq!(isas(op, IsaChoice::Vector, WIDE), [Isa::Avx2], "{op}");
            assert_eq!(isas(op, IsaChoice::Vector, &[Feature::Sse2]), [Isa::Sse2], "{op}");
            assert_eq!(isas(op, IsaChoice::All, WIDE), [Isa::Avx512, Isa::Avx2, Isa::Sse2], "{op}");
        }
        for op in [MemoryOp::RepMovsb, MemoryOp::Memcpy, MemoryOp::ByteLoop, MemoryOp::Increment] {
            assert_eq!(isas(op, IsaChoice::Named(Isa::Avx512), WIDE), [Isa::Scalar], "{op}");
        }
    }

    #[test]
    fn what_has_one_loop_is_there_once_whatever_is_named() {
        let named = [IsaChoice::Named(Isa::Avx2), IsaChoice::Named(Isa::Sse2)];
        assert_eq!(instruction_sets(&request(false), MemoryOp::Memcpy, &named).unwrap().len(), 1);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_was_named_and_is_missing_is_an_obstacle_or_refused_where_the_user_named_it() {
        let named = |request: &Request, isa| {
            chosen(request, MemoryOp::Read, IsaChoice::Named(isa), Features::having(&[Feature::Sse2]))
        };
        let sets = named(&request(false), Isa::Avx512).unwrap();
        assert!(sets[0].obstacle.as_deref().unwrap().contains("lacks avx512"), "{sets:?}");
        let mut by_the_user = request(false);
        by_the_user.choices.memory.isa = vec![IsaChoice::All];
        assert!(named(&by_the_user, Isa::Avx512).unwrap_err().0.contains("leave --isa out"));
        assert!(named(&by_the_user, Isa::Neon).unwrap_err().0.contains("known: avx512, avx2, sse2"));
        assert!(named(&request(false), Isa::Neon).unwrap()[0].obstacle.is_some());
    }
}
