//! `assay run`, and the options of every measuring command.

use std::path::PathBuf;

use areas::Threads;
use clap::Args;
use model::experiment::Area;
use model::unit::{parse_seconds, parse_size};

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  assay run quick --list                    what would be measured, how long
  assay run standard --time-budget 5m       until narrow, 5 minutes at most
  assay run classic --area cpu              the classic tables
";

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The suite: quick (the default), standard, rigorous, classic, steady, or a file that ends in .toml.
    pub(crate) suite: Option<String>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

/// Options of every measuring command.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Thread counts, such as 1,2,4; `all` is one per core, `doubling` 1, 2, 4 … all, `smt` one per hardware thread. Up to
    /// 1024; more than the CPUs take turns.
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) threads: Vec<Threads>,
    /// Exactly so many repetitions a row; no stop rule.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// For the whole command, such as 90s; rows it leaves no time for are skipped.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) time_budget: Option<f64>,
    /// What may be written to disks in all, such as 20GB, or `none` for no limit; rows it leaves nothing for are skipped.
    #[arg(long, value_name = "SIZE", value_parser = parse_write_budget)]
    pub(crate) write_budget: Option<u64>,
    /// Do the totals that a suite states (classic: 10^12 operations a row) in full, however long that takes; three times,
    /// or as --repeat says.
    #[arg(long, conflicts_with = "verify")]
    pub(crate) exact_workload: bool,
    /// Wait for others to finish, in all for at most this long, such as 60s; then measure all the same.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) wait_quiet: Option<f64>,
    /// Only these areas of the suite: cpu, linpack, memory, disk, net.
    #[arg(long, value_delimiter = ',', value_name = "AREA,…")]
    pub(crate) area: Vec<Area>,
    /// Only ids that match; `*` does not cross `/`, `**` does.
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<String>,
    /// Print the plan, one id a line with its expected cost, and measure nothing.
    #[arg(long, conflicts_with = "verify")]
    pub(crate) list: bool,
    /// Run each experiment once, briefly, and check its results.
    #[arg(long)]
    pub(crate) verify: bool,
    /// The directory that disks are measured in; by default the store's. The test file has no name and is gone afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", help = references_help())]
    pub(crate) references: Vec<String>,
    /// Where a reference tool is, if not where programs are looked for.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) tool: Vec<String>,
    /// A fact only you know, such as `memory.channels=12` or `disk.read_iops=1e6`.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) declare: Vec<String>,
    /// Go on with a run that was cut off: its folder, its run.json, or its name in the store. What is left is measured as it
    /// was asked then; only what is printed, and what it may take of time and writes, can be said anew.
    #[arg(long, value_name = "RUN", group = "other_end")]
    pub(crate) resume: Option<String>,
    /// With --resume: try again what failed.
    #[arg(long, requires = "resume")]
    pub(crate) retry_failed: bool,
    /// Seed of order, data and permutations.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The run's folder; must be absent or empty. By default a new one in the store.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the document there; with - nothing else goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// No progress.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Of the plan only how many rows it has, and how long they take; for the guide.
    #[arg(skip)]
    pub(crate) brief: bool,
}

/// A budget of writes: a size, or `none`, which is more than can ever be written.
fn parse_write_budget(text: &str) -> Result<u64, String> {
    if text == "none" { Ok(u64::MAX) } else { parse_size(text) }
}

/// The help of `--references`, with the name of every tool.
fn references_help() -> String {
    let tools: Vec<&str> = tools::ids().collect();
    format!("Run these trusted tools beside our own measurements, in turn: {}; all; none", tools.join(", "))
}
