//! `assay disk`: its options.

use areas::disk::DiskChoice;
use clap::Args;

use super::measure::Measure;

pub(super) const DISK_EXAMPLES: &str = "\
Examples:
  assay disk --dir /data                    the disk under /data, direct I/O
  assay disk --pattern random --op read --depth 1,8,32,128
  assay disk --references fio               with fio beside it, interleaved
";

#[derive(Debug, Args)]
pub(crate) struct Disk {
    #[command(flatten)]
    pub(crate) choice: DiskChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
