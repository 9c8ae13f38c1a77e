//! `assay disk`: its options.

use areas::disk::DiskChoice;
use clap::Args;

use super::measure::{Measure, WORKLOAD};

pub(super) const DISK_EXAMPLES: &str = "\
Examples:
  assay disk --dir /data                    the disk under /data, direct I/O
  assay disk --pattern random --op read --depth 1,8,32,128
  assay disk --references fio               alternating with fio
";

#[derive(Debug, Args)]
pub(crate) struct Disk {
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: DiskChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
