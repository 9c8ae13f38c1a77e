//! The memory rows of a suite: how they are written, and what `assay memory` makes of `suites/memory.toml`.

use std::fmt;
use std::str::FromStr;

use model::experiment::Area;
use model::isa::{MemoryOp, MemoryPattern, Pages, Placement};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{IsaChoice, MEMORY, Suite, Threads, or, size, sizes, some_sampling};

/// A block of memory experiments: every combination of its lists. An empty list is a parameter that does not apply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryStanza {
    /// Order of the visits.
    pub pattern: MemoryPattern,
    /// What is done at each.
    pub op: Vec<MemoryOp>,
    /// Bytes per block, where the working set is visited in blocks.
    #[serde(default, deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Page sizes.
    #[serde(default = "huge_pages")]
    pub pages: Vec<Pages>,
    /// Instruction sets.
    #[serde(default = "widest")]
    pub isa: Vec<IsaChoice>,
    /// The least working set in bytes, where the machine's caches do not ask for more.
    #[serde(deserialize_with = "size")]
    pub working_set: u64,
    /// Whether caches may ask for more: not so for what is about a given size.
    #[serde(default = "yes")]
    pub beyond_caches: bool,
    /// Rows of working sets from this many bytes up to the working set, two in each octave.
    #[serde(default, deserialize_with = "some_size")]
    pub sweep_from: Option<u64>,
    /// Exactly these working sets instead, whatever the caches.
    #[serde(default, deserialize_with = "sizes")]
    pub working_sets: Vec<u64>,
    /// Independent chains of a chase.
    #[serde(default)]
    pub chains: Vec<u32>,
    /// Bytes among which a chase stays before it goes on.
    #[serde(default, deserialize_with = "some_size")]
    pub group: Option<u64>,
    /// What the other threads do while the first one chases.
    #[serde(default)]
    pub background: Vec<MemoryOp>,
    /// How long they wait between pieces of it, in nanoseconds.
    #[serde(default)]
    pub pause_ns: Vec<u32>,
    /// Which cores are filled first; rows only where it makes a difference.
    #[serde(default)]
    pub placement: Vec<Placement>,
    /// Every pair of memory nodes, threads on one and memory on the other; rows only where there are several.
    #[serde(default)]
    pub nodes: bool,
    /// Of these pairs the ones that were chosen; all of them where it is empty.
    #[serde(skip)]
    pub node_pairs: Vec<NodePair>,
    /// Thread counts.
    pub threads: Vec<Threads>,
    /// How these rows are sampled, where not as the area.
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// The workload label in the classic tables: `RWS`, `RWR`, `RR`, `WR` …
    #[serde(default)]
    pub classic: Option<String>,
    /// Bytes, or operations of a latency, that each experiment comes to over all threads.
    #[serde(default)]
    pub total: Option<f64>,
    /// Not part of `assay memory` unless an operation, a pattern or a block is asked for.
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
        let pair = text
            .split_once('-')
            .and_then(|(threads, memory)| Some(Self { threads: threads.parse().ok()?, memory: memory.parse().ok()? }));
        pair.ok_or_else(|| {
            format!("'{text}' names no two memory nodes; write the threads' and the memory's, as in 0-1")
        })
    }
}

/// The working sets of a stanza.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkingSets {
    /// One, of at least so many bytes, and as many as the caches ask for.
    Least(u64),
    /// One of so many bytes, or of what memory allows.
    About(u64),
    /// Exactly these.
    Exactly(Vec<u64>),
    /// From so many bytes on up to the least working set beyond the caches.
    Sweep {
        /// The first.
        from: u64,
        /// The last, at least.
        least: u64,
    },
}

impl MemoryStanza {
    /// Its working sets.
    pub fn working_sets(&self) -> WorkingSets {
        match self.sweep_from {
            _ if !self.working_sets.is_empty() => WorkingSets::Exactly(self.working_sets.clone()),
            Some(from) => WorkingSets::Sweep { from, least: self.working_set },
            None if self.beyond_caches => WorkingSets::Least(self.working_set),
            None => WorkingSets::About(self.working_set),
        }
    }
}

/// What an area's own command chooses of the memory area; an empty list chooses what `suites/memory.toml` has.
#[derive(Clone, Debug, Default)]
pub struct MemoryChoice {
    /// Orders of the visits.
    pub patterns: Vec<MemoryPattern>,
    /// What is done at each.
    pub ops: Vec<MemoryOp>,
    /// Bytes per block.
    pub blocks: Vec<u64>,
    /// Page sizes.
    pub pages: Vec<Pages>,
    /// Instruction sets.
    pub isa: Vec<IsaChoice>,
    /// Working sets in bytes.
    pub working_sets: Vec<u64>,
    /// Independent chains of a chase.
    pub chains: Vec<u32>,
    /// Which cores are filled first.
    pub placement: Vec<Placement>,
    /// Nodes of threads and of memory.
    pub nodes: Vec<NodePair>,
}

impl MemoryChoice {
    /// Whether nothing was chosen that narrows the rows down.
    fn is_open(&self) -> bool {
        self.ops.is_empty() && self.patterns.is_empty() && self.blocks.is_empty()
    }

    /// What is left of a stanza; `None` where it is not meant.
    fn of(&self, stanza: &MemoryStanza) -> Option<MemoryStanza> {
        let has = |list: &[MemoryOp], op: &MemoryOp| list.is_empty() || list.contains(op);
        let op: Vec<MemoryOp> = stanza.op.iter().copied().filter(|op| has(&self.ops, op)).collect();
        let of_pattern = self.patterns.is_empty() || self.patterns.contains(&stanza.pattern);
        // A curve, a load, a matrix of nodes or a comparison of vectors is more than one operation at one size.
        let compared = stanza.isa.iter().any(|isa| matches!(isa, IsaChoice::Named(_)));
        let of_nodes = stanza.nodes && self.nodes.is_empty();
        let plain = stanza.sweep_from.is_none() && stanza.background.is_empty() && !of_nodes && !compared;
        let wanted = [
            !op.is_empty() && of_pattern,
            !stanza.on_request || !self.is_open(),
            // Blocks are asked for by their size, or by their order.
            if self.blocks.is_empty() {
                stanza.block.is_empty() || self.patterns.contains(&MemoryPattern::Random)
            } else {
                !stanza.block.is_empty()
            },
            self.chains.is_empty() || stanza.pattern == MemoryPattern::Chase && plain,
            self.nodes.is_empty() || stanza.nodes,
            plain || self.ops.is_empty() && self.working_sets.is_empty() && self.isa.is_empty(),
        ];
        let chains = if stanza.pattern == MemoryPattern::Chase { or(&self.chains, &stanza.chains) } else { Vec::new() };
        wanted.into_iter().all(|wanted| wanted).then(|| MemoryStanza {
            op,
            block: if stanza.block.is_empty() { Vec::new() } else { or(&self.blocks, &stanza.block) },
            pages: or(&self.pages, &stanza.pages),
            isa: or(&self.isa, &stanza.isa),
            working_sets: or(&self.working_sets, &stanza.working_sets),
            placement: or(&self.placement, &stanza.placement),
            node_pairs: self.nodes.clone(),
            chains,
            ..stanza.clone()
        })
    }
}

impl Suite {
    /// The suite of `assay memory`.
    ///
    /// # Errors
    /// Nothing fits what was chosen.
    pub fn of_memory(choice: &MemoryChoice) -> Result<Self, String> {
        let suite = Self::parse(MEMORY, "memory")?;
        let memory: Vec<MemoryStanza> = suite.memory.iter().filter_map(|stanza| choice.of(stanza)).collect();
        if memory.is_empty() {
            let streams: Vec<&str> = MemoryOp::STREAMS.iter().map(|op| op.name()).collect();
            let blocks: Vec<&str> = MemoryOp::OF_BLOCKS.iter().map(|op| op.name()).collect();
            return Err(format!(
                "there is no memory experiment of that combination; known: --pattern sequential with --op {}; random with \
                 {} in blocks, and increment; chase with load; pair with handoff; --nodes with read, copy_nt and load",
                streams.join(", "),
                blocks.join(", ")
            ));
        }
        Ok(Self { name: Area::Memory.to_string(), memory, ..suite })
    }
}

fn widest() -> Vec<IsaChoice> {
    vec![IsaChoice::Vector]
}

fn huge_pages() -> Vec<Pages> {
    vec![Pages::Huge2M]
}

const fn yes() -> bool {
    true
}

fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    parse_size(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(choice: &MemoryChoice) -> Vec<MemoryStanza> {
        Suite::of_memory(choice).unwrap().memory
    }

    #[test]
    fn what_is_chosen_narrows_the_stanzas() {
        let all = rows(&MemoryChoice::default());
        assert!(all.iter().all(|stanza| !stanza.on_request));
        let chase = rows(&MemoryChoice { patterns: vec![MemoryPattern::Chase], ..MemoryChoice::default() });
        assert!(chase.len() > 2 && chase.iter().all(|stanza| stanza.pattern == MemoryPattern::Chase));
        let scale = rows(&MemoryChoice { ops: vec![MemoryOp::Scale], ..MemoryChoice::default() });
        assert!(!scale.is_empty() && scale.iter().all(|stanza| stanza.op == [MemoryOp::Scale]));
        let blocks = rows(&MemoryChoice { blocks: vec![1 << 20], ..MemoryChoice::default() });
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
        let of =
            |ops: &[MemoryOp]| rows(&MemoryChoice { nodes: vec![pair], ops: ops.to_vec(), ..MemoryChoice::default() });
        let all = of(&[]);
        assert!(all.len() == 2 && all.iter().all(|stanza| stanza.nodes && stanza.node_pairs == [pair]), "{all:?}");
        let read = of(&[MemoryOp::Read]);
        assert!(read.len() == 1 && read[0].nodes && read[0].op == [MemoryOp::Read], "{read:?}");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let choice = MemoryChoice {
            patterns: vec![MemoryPattern::Chase],
            ops: vec![MemoryOp::Triad],
            ..MemoryChoice::default()
        };
        let error = Suite::of_memory(&choice).unwrap_err();
        assert!(error.contains("triad_nt") && error.contains("chase with load"), "{error}");
    }
}
