//! The CPU benchmarks that a suite or the user chooses, and the suite of `assay cpu`.

use clap::Args;
use model::isa::{CpuOp, Element};
use serde::Deserialize;

use crate::fields::{IsaChoice, Threads, one_or_more};

/// CPU benchmarks, as options of `assay cpu` or a `[[cpu]]` block of a suite: every combination of the lists.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuChoice {
    /// Operations; of several in a suite, the first that this CPU has a kernel for.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Operations: fma, dot, matrix, muladd, add, plain, all_pipes [default: all]")]
    #[serde(deserialize_with = "one_or_more")]
    pub op: Vec<CpuOp>,
    /// Element types: fp64, fp32, fp16, bf16, int8, int16, int32, int64 [default: all].
    #[arg(long = "type", value_name = "LIST", value_delimiter = ',')]
    #[serde(rename = "type")]
    pub elements: Vec<Element>,
    /// Instruction sets.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Instruction sets: vector (widest), all, scalar, sse2, avx2, avx512, avx512_vnni, amx, …")]
    pub isa: Vec<IsaChoice>,
    /// Thread counts.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// Operations of each benchmark over all threads; exact workloads do all of them.
    #[arg(skip)]
    pub total: Option<f64>,
    /// Whether they are measured before the other benchmarks of the area.
    #[arg(skip)]
    #[serde(default)]
    pub first: bool,
}

impl CpuChoice {
    pub(super) fn is_open(&self) -> bool {
        self.op.is_empty() && self.elements.is_empty() && self.isa.is_empty()
    }
}
