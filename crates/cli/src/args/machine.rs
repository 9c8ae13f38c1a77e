//! `assay info`, `assay doctor` and `assay references`: their options.

use std::path::PathBuf;

use clap::Args;

pub(super) const INFO_EXAMPLES: &str = "\
Examples:
  assay info                                this machine, its peaks, the sources
  assay info --json                         the same for programs
  assay info --capture DIR                  saves all that is read; --sysroot DIR replays
";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  assay doctor                              is this machine quiet, and set up well?
  assay doctor --json                       the same for programs
  assay doctor && assay                     measure only if it is
";

pub(super) const REFERENCES_EXAMPLES: &str = "\
Examples:
  assay references                          which trusted tools are here, and how to get the others
  assay references --check                  run each of them once and read what it prints
  assay references --tool stream=/opt/stream --json
";

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// For programs: the machine and its peaks as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a recorded machine instead of this one.
    #[arg(long, value_name = "DIR", conflicts_with = "capture")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Show the file system and the block devices behind this directory too, and what a measurement would find there;
    /// nothing is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Save all that is read of this machine under DIR, which must be absent or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// A fact only you know, such as `memory.channels=12` or `disk.read_iops=1e6`.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) declare: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// For programs: the checks as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct References {
    /// Run each tool that is here once, briefly, and read what it prints.
    #[arg(long)]
    pub(crate) check: bool,
    /// Where a tool is, if not where programs are looked for.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) tool: Vec<String>,
    /// Where the file of a disk tool is made for its check; by default the store's directory.
    #[arg(long, value_name = "DIR", requires = "check")]
    pub(crate) dir: Option<PathBuf>,
    /// For programs: the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
