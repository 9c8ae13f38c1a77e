//! `assay run`, and the options of every measuring command, with those of single areas.

use std::path::PathBuf;

use areas::Threads;
use clap::Args;
use model::experiment::Area;
use model::unit::{parse_seconds, parse_size};

pub(super) const CPU_EXAMPLES: &str = "\
Examples:
  assay cpu                                 every precision and instruction set
  assay cpu --op fma --type fp64 --isa avx2 one kernel
  assay cpu --type int8,bf16 --threads 1,2,4
";

pub(super) const LINPACK_EXAMPLES: &str = "\
Examples:
  assay linpack                             LINPACK and DGEMM, on 1 and all cores
  assay linpack --n 2000,5000,10000 --threads 1,2
  assay linpack --n 10000 --lda n,padded    with and without padded columns
";

pub(super) const MEMORY_EXAMPLES: &str = "\
Examples:
  assay memory                              bandwidth and latency
  assay memory --pattern chase --pages 4KiB latency with small pages
  assay memory --op read,copy_nt --working-set 4GiB
";

pub(super) const DISK_EXAMPLES: &str = "\
Examples:
  assay disk --dir /data                    the disk under /data, direct I/O
  assay disk --pattern random --op read --depth 1,8,32,128
  assay disk --references fio               alternating with fio
";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  assay run quick --list                    the plan and its duration
  assay run standard --time-budget 5m       samples until intervals are narrow
  assay run classic --area cpu              the classic CPU tables
";

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// quick (default), standard, rigorous, classic, steady, or a file that ends in .toml.
    pub(crate) suite: Option<String>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

/// Options of the command of one area, whose own options are `C`.
#[derive(Debug, Args)]
pub(crate) struct OneArea<C: Args> {
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: C,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

pub(super) const WORKLOAD: &str = "Workload";
const SAMPLING: &str = "Sampling";
const REFERENCE_TOOLS: &str = "Reference tools and declared facts";
const OUTPUT: &str = "Output";

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Thread counts: numbers, all, doubling, smt.
    ///
    /// all is one thread per core, doubling is 1, 2, 4 … all, smt is one per hardware thread. Beyond the CPU count, up to
    /// 1024, threads share CPUs.
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = WORKLOAD)]
    pub(crate) threads: Vec<Threads>,
    /// Only these areas: cpu, linpack, memory, disk, net.
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = WORKLOAD)]
    pub(crate) area: Vec<Area>,
    /// Only ids that match; * does not cross a slash, ** does.
    #[arg(long, value_delimiter = ',', value_name = "GLOB", help_heading = WORKLOAD)]
    pub(crate) filter: Vec<String>,
    /// Directory for disk benchmarks [default: the store's].
    ///
    /// The test file has no name and is deleted at the end.
    #[arg(long, value_name = "DIR", help_heading = WORKLOAD)]
    pub(crate) dir: Option<PathBuf>,
    /// Print the plan and measure nothing.
    ///
    /// One line per benchmark: its id, a tab, the expected seconds.
    #[arg(long, conflicts_with = "verify", help_heading = WORKLOAD)]
    pub(crate) list: bool,
    /// Take exactly N samples per benchmark.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = SAMPLING)]
    pub(crate) repeat: Option<u32>,
    /// Time for the whole command, such as 90s.
    ///
    /// Benchmarks without time left are skipped.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, help_heading = SAMPLING)]
    pub(crate) time_budget: Option<f64>,
    /// Bytes written to disks in all, such as 20GB, or none for no limit.
    ///
    /// Benchmarks without bytes left are skipped.
    #[arg(long, value_name = "SIZE", value_parser = parse_write_budget, help_heading = SAMPLING)]
    pub(crate) write_budget: Option<u64>,
    /// Do the totals that a suite states in full.
    ///
    /// classic states 10^12 operations or 10^11 bytes per benchmark. Each is done three times, or as often as --repeat says.
    #[arg(long, conflicts_with = "verify", hide_short_help = true, help_heading = SAMPLING)]
    pub(crate) exact_workload: bool,
    /// Wait for a quiet machine, at most this long in all, such as 60s.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, help_heading = SAMPLING)]
    pub(crate) wait_quiet: Option<f64>,
    /// Run each benchmark once, briefly, and check its results.
    #[arg(long, hide_short_help = true, help_heading = SAMPLING)]
    pub(crate) verify: bool,
    /// Seed of order, data and permutations.
    #[arg(long, default_value_t = 1, value_name = "N", hide_short_help = true, help_heading = SAMPLING)]
    pub(crate) seed: u64,
    /// Alternate with these reference tools, all, or none.
    ///
    /// 'assay references' lists them.
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = REFERENCE_TOOLS)]
    pub(crate) references: Vec<String>,
    /// Path to a reference tool that is not in $PATH.
    #[arg(long, value_name = "NAME=PATH", hide_short_help = true, help_heading = REFERENCE_TOOLS)]
    pub(crate) tool: Vec<String>,
    /// A fact only the owner knows, such as memory.channels=12.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE", help_heading = REFERENCE_TOOLS)]
    pub(crate) declare: Vec<String>,
    /// Continue an interrupted run: its folder, its run.json, or its name.
    ///
    /// Remaining benchmarks keep their original settings; only output, budgets and --tool can change.
    #[arg(long, value_name = "RUN", group = "server", hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) resume: Option<String>,
    /// With --resume: measure failed benchmarks again.
    #[arg(long, requires = "resume", hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) retry_failed: bool,
    /// Folder of the run, absent or empty [default: a new one in the store].
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// Also write the document there; with - only JSON goes to standard output.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) json: Option<PathBuf>,
    /// Print the full tables before the one-screen answer.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) details: bool,
    /// A label that is stored with the run and finds it.
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) label: Option<String>,
    /// End with status 1 if a result is below its expected range.
    #[arg(long, hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) fail_below: bool,
    /// Print no progress.
    #[arg(long, hide_short_help = true, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    /// Print only the number and the time of the planned benchmarks, for the guide.
    #[arg(skip)]
    pub(crate) brief: bool,
}

/// A size, or `none`, which is more than can be written.
fn parse_write_budget(text: &str) -> Result<u64, String> {
    if text == "none" { Ok(u64::MAX) } else { parse_size(text) }
}
