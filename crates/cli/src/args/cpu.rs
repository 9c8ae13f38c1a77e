//! `assay cpu`: its options.

use areas::cpu::CpuChoice;
use clap::Args;

use super::measure::{Measure, WORKLOAD};

pub(super) const CPU_EXAMPLES: &str = "\
Examples:
  assay cpu                                 every precision and instruction set
  assay cpu --op fma --type fp64 --isa avx2 one kernel
  assay cpu --type int8,bf16 --threads 1,2,4
";

#[derive(Debug, Args)]
pub(crate) struct Cpu {
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: CpuChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
