//! What `assay memory` measures.

use model::experiment::Area;
use model::isa::MemoryOp;
use model::plan::PlanError;

use super::choice::MemoryChoice;
use crate::suite::Suite;

const MEMORY: &str = include_str!("../../../../suites/memory.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &MemoryChoice) -> Result<Suite, PlanError> {
    let suite = Suite::parse(MEMORY, "memory")?;
    let memory: Vec<MemoryChoice> = suite.memory.iter().filter_map(|block| choice.narrowed(block)).collect();
    if memory.is_empty() {
        let streams: Vec<&str> = MemoryOp::STREAMS.iter().map(|op| op.name()).collect();
        let blocks: Vec<&str> = MemoryOp::OF_BLOCKS.iter().map(|op| op.name()).collect();
        return Err(PlanError(format!(
            "there is no memory benchmark of that combination; known: --pattern sequential with --op {}; random with \
             {} in blocks, and increment; chase with load; pair with handoff; --nodes with read, copy_nt and load",
            streams.join(", "),
            blocks.join(", ")
        )));
    }
    Ok(Suite { name: Area::Memory.to_string(), memory, ..suite })
}

#[cfg(test)]
mod tests {
    use model::isa::MemoryPattern;

    use super::super::choice::{NodePair, WorkingSets};
    use super::*;

    fn rows(choice: &MemoryChoice) -> Vec<MemoryChoice> {
        suite(choice).unwrap().memory
    }

    #[test]
    fn what_is_chosen_narrows_the_stanzas() {
        let all = rows(&MemoryChoice::default());
        assert!(all.iter().all(|stanza| !stanza.on_request));
        let chase = rows(&MemoryChoice { pattern: vec![MemoryPattern::Chase], ..MemoryChoice::default() });
        assert!(chase.len() > 2 && chase.iter().all(|stanza| stanza.pattern == [MemoryPattern::Chase]));
        let scale = rows(&MemoryChoice { op: vec![MemoryOp::Scale], ..MemoryChoice::default() });
        assert!(!scale.is_empty() && scale.iter().all(|stanza| stanza.op == [MemoryOp::Scale]));
        let blocks = rows(&MemoryChoice { block: vec![1 << 20], ..MemoryChoice::default() });
        assert!(!blocks.is_empty() && blocks.iter().all(|stanza| stanza.block == [1 << 20]));
        let sized = rows(&MemoryChoice { working_sets: vec![1 << 20], ..MemoryChoice::default() });
        assert!(sized.iter().all(|stanza| stanza.working_sets() == WorkingSets::Exactly(vec![1 << 20])));
    }

    #[test]
    fn chosen_nodes_are_those_of_the_stanzas_about_nodes() {
        let pair = "0-12".parse::<NodePair>().unwrap();
        assert_eq!((pair, pair.to_string().as_str()), (NodePair { threads: 0, memory: 12 }, "0-12"));
        for bad in ["", "0", "0-", "-1", "0-1-2", "a-b", "0--1"] {
            assert!(bad.parse::<NodePair>().is_err(), "{bad}");
        }
        let of = |ops: &[MemoryOp]| {
            rows(&MemoryChoice { node_pairs: vec![pair], op: ops.to_vec(), ..MemoryChoice::default() })
        };
        let all = of(&[]);
        assert!(all.len() == 2 && all.iter().all(|stanza| stanza.nodes && stanza.node_pairs == [pair]), "{all:?}");
        let read = of(&[MemoryOp::Read]);
        assert!(read.len() == 1 && read[0].nodes && read[0].op == [MemoryOp::Read], "{read:?}");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let choice =
            MemoryChoice { pattern: vec![MemoryPattern::Chase], op: vec![MemoryOp::Triad], ..MemoryChoice::default() };
        let error = suite(&choice).unwrap_err().0;
        assert!(error.contains("triad_nt") && error.contains("chase with load"), "{error}");
    }
}
