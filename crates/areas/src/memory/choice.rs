//! The memory benchmarks that a suite or the user chooses, and the suite of `assay memory`.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use model::isa::{MemoryOp, MemoryPattern, Pages, Placement};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::Deserialize;

use crate::fields::{IsaChoice, Threads, kept, one_or_more, or, size, sizes, some_sampling, some_size, widest};

/// Memory benchmarks, as options of `assay memory` or a `[[memory]]` block of a suite: every combination of the lists.
/// An empty list is a parameter that does not apply.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryChoice {
    /// Access patterns: sequential, random, chase, pair (of cores) [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "one_or_more")]
    pub pattern: Vec<MemoryPattern>,
    /// Operations.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Operations: read, write, copy, triad, copy_nt, load (chase), increment, handoff (pair), …")]
    pub op: Vec<MemoryOp>,
    /// Block sizes of sequential and random reads, writes and copies.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    #[serde(default, deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// The least working set in bytes; larger caches raise it.
    #[arg(skip)]
    #[serde(deserialize_with = "size")]
    pub working_set: u64,
    /// Working sets over all threads and arrays [default: four times the last-level cache].
    #[arg(long = "working-set", value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    #[serde(default, deserialize_with = "sizes")]
    pub working_sets: Vec<u64>,
    /// Page sizes: 2MiB, 4KiB.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "huge_pages")]
    pub pages: Vec<Pages>,
    /// Instruction sets: vector (up to 256 bits), all, sse2, avx2, avx512 [default: vector].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "widest")]
    pub isa: Vec<IsaChoice>,
    /// Whether large caches raise the working set.
    #[arg(skip)]
    #[serde(default = "yes")]
    pub beyond_caches: bool,
    /// The first working set in bytes of a curve up to the working set, two in each octave.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_size")]
    pub sweep_from: Option<u64>,
    /// Independent chains of a chase per thread, 1 to 32.
    #[arg(long, hide_short_help = true, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=32))]
    #[serde(default)]
    pub chains: Vec<u32>,
    /// Bytes of a group; a chase finishes one before the next.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_size")]
    pub group: Option<u64>,
    /// Operations of the other threads during the chase.
    #[arg(skip)]
    #[serde(default)]
    pub background: Vec<MemoryOp>,
    /// Their pauses between accesses, in nanoseconds.
    #[arg(skip)]
    #[serde(default)]
    pub pause_ns: Vec<u32>,
    /// Thread placement on groups of cores that share a cache: compact, scatter.
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(default)]
    pub placement: Vec<Placement>,
    /// Every pair of memory nodes: threads on one, memory on the other.
    #[arg(skip)]
    #[serde(default)]
    pub nodes: bool,
    /// Memory nodes of threads and their memory: 0-0,0-1 [default: all pairs].
    #[arg(long = "nodes", hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip)]
    pub node_pairs: Vec<NodePair>,
    /// Thread counts.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// Their own sampling.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// The workload label in the classic tables: `RWS`, `RWR`, `RR`, `WR` …
    #[arg(skip)]
    pub classic: Option<String>,
    /// Bytes, or operations of a latency, of each benchmark over all threads.
    #[arg(skip)]
    pub total: Option<f64>,
    /// Left out of `assay memory` unless an operation, pattern or block is chosen.
    #[arg(skip)]
    #[serde(default)]
    pub on_request: bool,
}

/// Two memory nodes, which may be the same: `0-1` is threads on node 0, memory on node 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePair {
    /// Where the threads run.
    pub threads: u32,
    /// Where their memory lies.
    pub memory: u32,
}

impl fmt::Display for NodePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.threads, self.memory)
    }
}

impl FromStr for NodePair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let nodes = text.split_once('-').map(|(threads, memory)| (threads.parse(), memory.parse()));
        let Some((Ok(threads), Ok(memory))) = nodes else {
            return Err(format!(
                "'{text}' is not a pair of memory nodes; write the threads' and the memory's, as in 0-1"
            ));
        };
        Ok(Self { threads, memory })
    }
}

/// The working sets of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkingSets {
    /// One of at least this many bytes, beyond the caches.
    Least(u64),
    /// One of this many bytes, or of what memory allows.
    About(u64),
    Exactly(Vec<u64>),
    /// A curve up to a working set beyond the caches.
    Sweep {
        from: u64,
        least: u64,
    },
}

impl MemoryChoice {
    pub(super) fn of_each_pattern(&self) -> Vec<Self> {
        self.pattern.iter().map(|pattern| Self { pattern: vec![*pattern], ..self.clone() }).collect()
    }

    pub(super) fn only_pattern(&self) -> MemoryPattern {
        self.pattern.first().copied().unwrap_or(MemoryPattern::Sequential)
    }

    pub(super) fn working_sets(&self) -> WorkingSets {
        match self.sweep_from {
            _ if !self.working_sets.is_empty() => WorkingSets::Exactly(self.working_sets.clone()),
            Some(from) => WorkingSets::Sweep { from, least: self.working_set },
            None if self.beyond_caches => WorkingSets::Least(self.working_set),
            None => WorkingSets::About(self.working_set),
        }
    }

    /// A block narrowed to these options; `None` if nothing is left.
    pub(super) fn narrowed(&self, block: &Self) -> Option<Self> {
        let (op, pattern) = (kept(&self.op, &block.op), kept(&self.pattern, &block.pattern));
        // Curves, loads, matrices of nodes and comparisons of vectors are more than one operation at one size.
        let compared = block.isa.iter().any(|isa| matches!(isa, IsaChoice::Named(_)));
        let of_nodes = block.nodes && self.node_pairs.is_empty();
        let plain = block.sweep_from.is_none() && block.background.is_empty() && !of_nodes && !compared;
        let is_chase = block.pattern == [MemoryPattern::Chase];
        let (has_blocks, by_order) = (!block.block.is_empty(), self.pattern.contains(&MemoryPattern::Random));
        let wanted = [
            !op.is_empty() && !pattern.is_empty(),
            !(block.on_request && self.op.is_empty() && self.pattern.is_empty() && self.block.is_empty()),
            // Blocks are chosen by their size or their order.
            if self.block.is_empty() { !has_blocks || by_order } else { has_blocks },
            self.chains.is_empty() || is_chase && plain,
            self.node_pairs.is_empty() || block.nodes,
            plain || self.op.is_empty() && self.working_sets.is_empty() && self.isa.is_empty(),
        ];
        let chains = if is_chase { or(&self.chains, &block.chains) } else { Vec::new() };
        wanted.into_iter().all(|wanted| wanted).then(|| Self {
            pattern,
            op,
            block: if has_blocks { or(&self.block, &block.block) } else { Vec::new() },
            pages: or(&self.pages, &block.pages),
            isa: or(&self.isa, &block.isa),
            working_sets: or(&self.working_sets, &block.working_sets),
            placement: or(&self.placement, &block.placement),
            node_pairs: self.node_pairs.clone(),
            chains,
            ..block.clone()
        })
    }
}

fn huge_pages() -> Vec<Pages> {
    vec![Pages::Huge2M]
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::suite;

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
