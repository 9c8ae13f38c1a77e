//! `assay memory`: its options.

use areas::memory::MemoryChoice;
use clap::Args;

use super::measure::{Measure, WORKLOAD};

pub(super) const MEMORY_EXAMPLES: &str = "\
Examples:
  assay memory                              bandwidth and latency
  assay memory --pattern chase --pages 4KiB latency with small pages
  assay memory --op read,copy_nt --working-set 4GiB
";

#[derive(Debug, Args)]
pub(crate) struct Memory {
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: MemoryChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
