//! Errors of schedulers. Each message is complete.

use std::io;
use std::path::PathBuf;

/// Why a scheduler could not be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum SchedulerError {
    #[error("the command has no program")]
    NoCommand,
    #[error("cannot start '{0}': {1}")]
    Start(String, io::Error),
    #[error("'{0}' is lost: {1}")]
    Lost(String, io::Error),
    #[error("'{0}' did not answer within {1:.0} s")]
    Timeout(String, f64),
    #[error("'{0}' failed: {1}")]
    Failed(String, String),
    #[error("unexpected output of {0}: '{1}'")]
    Unreadable(&'static str, String),
    #[error("cannot write the workers' output to '{0}': {1}")]
    Log(PathBuf, io::Error),
    #[error("'{}' matches no nodes{}", .0, .1.as_ref().map_or_else(String::new, |error| format!(": {error}")))]
    NotNodes(String, Option<Box<SchedulerError>>),
    #[error("Slurm has no node '{0}'. List the nodes with sinfo -N")]
    UnknownNode(String),
    #[error("Slurm has no partition '{0}'; it has: {1}")]
    UnknownPartition(String, String),
    #[error("Slurm has no such node now. List the nodes with sinfo -N")]
    NoNodes,
    #[error("'{0}' is not UTF-8, which job scripts need. Use another folder")]
    NotUtf8(PathBuf),
    #[error("{0:?} contains a newline or another control character. Use another folder")]
    ControlCharacter(String),
    #[error("'{0}' does not begin with '/'")]
    NotAbsolute(String),
    #[error("{0:?} has several lines. Give --sbatch once for each")]
    NotOneLine(String),
    #[error("'{0}' is not an sbatch option: it must begin with '-', as in --sbatch=--account=a")]
    NotAnOption(String),
    #[error("'{0}' cannot be passed to sbatch: {1}")]
    ReservedOption(String, &'static str),
}
impl From<SchedulerError> for String {
    fn from(error: SchedulerError) -> Self {
        error.to_string()
    }
}
