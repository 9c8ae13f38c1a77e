//! `assay disk`: its options.

use clap::Args;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::unit::parse_size;

use super::measure::Measure;

/// The deepest queue that can be asked for, which is what the disk engine takes.
const MOST_DEPTH: i64 = 1024;

pub(super) const DISK_EXAMPLES: &str = "\
Examples:
  assay disk --dir /data                    the disk under /data, direct I/O
  assay disk --pattern random --op read --depth 1,8,32,128
  assay disk --references fio               with fio beside it, interleaved
";

#[derive(Debug, Args)]
pub(crate) struct Disk {
    /// Order of the visits: sequential, random, backward, strided.
    #[arg(long, value_delimiter = ',')]
    pub(crate) pattern: Vec<DiskPattern>,
    /// What is done: read, write, mixed, rewrite, reread.
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<DiskOp>,
    /// Bytes per request; by default 1MiB in order and 4KiB at random. Through the page cache any size, else multiples of
    /// the device's blocks.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Requests in flight per thread; by default 1 and 32.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_DEPTH))]
    pub(crate) depth: Vec<u32>,
    /// Bytes of each test file; by default 1GiB, or what there is room for.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) size: Vec<u64>,
    /// How requests reach the kernel: `io_uring` (the default, else `libaio`, else `sync`), `libaio`, `sync` (threads that
    /// wait), `null` (no device: our own loop).
    #[arg(long, value_delimiter = ',')]
    pub(crate) engine: Vec<DiskEngine>,
    /// Whether the page cache is bypassed (`O_DIRECT`): `true`, or `false`, which is the same as --cache cold,warm.
    #[arg(long, value_name = "BOOL,…", num_args = 0..=1, default_missing_value = "true", value_delimiter = ',', conflicts_with = "cache")]
    pub(crate) direct: Vec<bool>,
    /// What a write waits for: none, dsync (the data is on the medium), sync (and what describes it).
    #[arg(long, value_delimiter = ',')]
    pub(crate) sync: Vec<DiskSync>,
    /// What the page cache may do: bypassed (direct I/O), cold (emptied for the file before), warm (filled before).
    #[arg(long, value_delimiter = ',')]
    pub(crate) cache: Vec<DiskCache>,
    /// How threads share files: shared, `per_thread`.
    #[arg(long, value_delimiter = ',')]
    pub(crate) layout: Vec<DiskLayout>,
    /// Per cent of the highest rate at which requests begin, at random moments; latency is then from the moment each was due.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) load_percent: Vec<u32>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
