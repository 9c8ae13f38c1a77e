//! `assay cpu`: its options.

use bench::suite::IsaChoice;
use clap::Args;
use model::isa::{CpuOp, Element};

use super::measure::Measure;

pub(super) const CPU_EXAMPLES: &str = "\
Examples:
  assay cpu                                 every precision and instruction set
  assay cpu --op fma --type fp64 --isa avx2 one kernel
  assay cpu --type int8,bf16 --threads 1,2,4
";

#[derive(Debug, Args)]
pub(crate) struct Cpu {
    /// What to compute: fma, dot, matrix, muladd, add, plain, `all_pipes`.
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<CpuOp>,
    /// Element types: fp64, fp32, fp16, bf16, int8, int16, int32, int64.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) elements: Vec<Element>,
    /// Instruction sets: vector (the widest here), all, scalar, sse2, avx2, avx512, `avx512_vnni`, amx …
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
