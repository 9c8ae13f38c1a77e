//! The CPU benchmarks that a suite or the user chooses.

use clap::Args;
use model::isa::{CpuOp, Element};
use serde::Deserialize;

use crate::fields::{IsaChoice, Threads, one_or_more};

/// Benchmarks of arithmetic: every combination of the lists. Options of `assay cpu` and a `[[cpu]]` block of a suite have
/// the same fields; an option that is not given is an empty list.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuChoice {
    // Of several in a suite, the first that this CPU has a kernel for.
    /// What to compute: fma, dot, matrix, muladd, add, plain, `all_pipes`.
    #[arg(long, value_delimiter = ',')]
    #[serde(deserialize_with = "one_or_more")]
    pub op: Vec<CpuOp>,
    /// Element types: fp64, fp32, fp16, bf16, int8, int16, int32, int64.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    #[serde(rename = "type")]
    pub elements: Vec<Element>,
    /// Instruction sets: vector (the widest here), all, scalar, sse2, avx2, avx512, `avx512_vnni`, amx …
    #[arg(long, value_delimiter = ',')]
    pub isa: Vec<IsaChoice>,
    /// Thread counts.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// Operations of each benchmark over all threads: stated, and done in full where exact workloads are asked for.
    #[arg(skip)]
    pub total: Option<f64>,
}

impl CpuChoice {
    /// Whether nothing was chosen.
    pub(super) fn is_open(&self) -> bool {
        self.op.is_empty() && self.elements.is_empty() && self.isa.is_empty()
    }
}
