//! `assay memory`: its options.

use bench::suite::{IsaChoice, NodePair};
use clap::Args;
use model::isa::{MemoryOp, MemoryPattern, Pages, Placement};
use model::unit::parse_size;

use super::measure::Measure;

pub(super) const MEMORY_EXAMPLES: &str = "\
Examples:
  assay memory                              bandwidth and latency of the memory
  assay memory --pattern chase --pages 4KiB latency with small pages
  assay memory --op read,copy_nt --working-set 4GiB
";

#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Order of the visits: sequential, random, chase, pair (of cores).
    #[arg(long, value_delimiter = ',')]
    pub(crate) pattern: Vec<MemoryPattern>,
    /// What is done: `read`, `write`, `copy`, `write_nt`, `copy_nt`, `triad`, `triad_nt`, `mix_3_1` …; `load` (chase),
    /// `increment` (random), `handoff` (pair).
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<MemoryOp>,
    /// Bytes per block, for `read`, `write` and `copy`, in order and at random.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Bytes over all threads and arrays; by default at least four times the last-level cache.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) working_set: Vec<u64>,
    /// Page sizes: 2MiB, 4KiB.
    #[arg(long, value_delimiter = ',')]
    pub(crate) pages: Vec<Pages>,
    /// Instruction sets: vector (the widest here up to 256 bits), all, sse2, avx2, avx512.
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,
    /// Independent chains of a chase, 1 to 32 a thread.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) chains: Vec<u32>,
    /// Which cores are filled first: compact, scatter.
    #[arg(long, value_delimiter = ',')]
    pub(crate) placement: Vec<Placement>,
    /// Memory nodes of threads and of their memory, such as 0-0,0-1; by default all pairs where there are several.
    #[arg(long, value_name = "NODE-NODE,…", value_delimiter = ',')]
    pub(crate) nodes: Vec<NodePair>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
