//! `assay info`, `assay doctor` and `assay references`: their options.

use std::path::PathBuf;

use clap::Args;

pub(super) const INFO_EXAMPLES: &str = "\
Examples:
  assay info                                this machine, its limits, the sources
  assay info --json                         the same for programs
  assay info --capture DIR                  save what is read; --sysroot DIR replays it
";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  assay doctor                              would results be reliable now?
  assay doctor --json                       the same for programs
  assay doctor && assay                     measure only if they would
";

pub(super) const REFERENCES_EXAMPLES: &str = "\
Examples:
  assay references                          installed tools, and how to get others
  assay references --check                  run each once and parse its output
  assay references --tool stream=/opt/stream --json
";

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a machine saved by --capture instead of this one.
    #[arg(long, value_name = "DIR", conflicts_with = "capture")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Also show the file system and block devices under this directory; nothing is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Save every file that is read, to an absent or empty folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// A fact only the owner knows, such as memory.channels=12.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) declare: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct References {
    /// Run each installed tool once, briefly, and parse its output.
    #[arg(long)]
    pub(crate) check: bool,
    /// Path to a tool that is not in $PATH.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) tool: Vec<String>,
    /// Directory for the files of disk tools [default: the store's].
    #[arg(long, value_name = "DIR", requires = "check")]
    pub(crate) dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
