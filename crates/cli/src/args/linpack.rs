//! `assay linpack`: its options.

use areas::linpack::LinpackChoice;
use clap::Args;

use super::measure::{Measure, WORKLOAD};

pub(super) const LINPACK_EXAMPLES: &str = "\
Examples:
  assay linpack                             LINPACK and DGEMM, on 1 and all cores
  assay linpack --n 2000,5000,10000 --threads 1,2
  assay linpack --n 10000 --lda n,padded    with and without padded columns
";

#[derive(Debug, Args)]
pub(crate) struct Linpack {
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: LinpackChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
