//! Why a scheduler could not be used.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a scheduler could not be used.
#[derive(Debug)]
pub enum SchedulerError {
    /// A command without a program.
    NoCommand,
    /// A command cannot be started.
    Start(String, io::Error),
    /// The state of a command cannot be read.
    Lost(String, io::Error),
    /// A command ran for longer than this, in seconds.
    Timeout(String, f64),
    /// A command failed: the program and what it printed.
    Failed(String, String),
    /// A command printed something else than it was asked for: the command and a line of it.
    Unreadable(&'static str, String),
    /// The file for what workers print cannot be written.
    Log(PathBuf, io::Error),
    /// Not a list of nodes, with the reason where there is one.
    NotNodes(String, Option<Box<SchedulerError>>),
    /// Slurm has no such node.
    UnknownNode(String),
    /// Slurm has no such partition; those that it has.
    UnknownPartition(String, String),
    /// Slurm has no node that fits.
    NoNodes,
    /// A path that is not text.
    NotUtf8(PathBuf),
    /// A path with a control character.
    ControlCharacter(String),
    /// A relative path.
    NotAbsolute(String),
    /// A line for scripts with a control character.
    NotOneLine(String),
    /// A line for scripts that is not an option.
    NotAnOption(String),
    /// An option for scripts that is set otherwise, with the reason.
    ReservedOption(String, &'static str),
}

impl fmt::Display for SchedulerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => f.write_str("a command without a program cannot be called"),
            Self::Start(program, error) => write!(f, "cannot start '{program}': {error}"),
            Self::Lost(program, error) => write!(f, "'{program}' is lost: {error}"),
            Self::Timeout(program, seconds) => write!(f, "'{program}' did not answer within {seconds:.0} s"),
            Self::Failed(program, complaint) => write!(f, "'{program}' failed: {complaint}"),
            Self::Unreadable(command, line) => write!(f, "{command} did not answer in the form asked for: '{line}'"),
            Self::Log(path, error) => write!(f, "cannot write what workers print to '{}': {error}", path.display()),
            Self::NotNodes(expression, None) => write!(f, "'{expression}' names no nodes"),
            Self::NotNodes(expression, Some(error)) => write!(f, "'{expression}' names no nodes: {error}"),
            Self::UnknownNode(name) => write!(f, "Slurm has no node '{name}'; sinfo -N lists them"),
            Self::UnknownPartition(name, known) => write!(f, "Slurm has no partition '{name}'; there are: {known}"),
            Self::NoNodes => f.write_str("Slurm has no such node now; sinfo -N lists them all"),
            Self::NotUtf8(path) => {
                write!(f, "'{}' is not UTF-8: jobs' scripts are text; use another folder", path.display())
            }
            Self::ControlCharacter(path) => {
                write!(f, "{path:?} has a line's end or another control character in it: use another folder")
            }
            Self::NotAbsolute(path) => write!(f, "'{path}' does not begin with '/'"),
            Self::NotOneLine(line) => write!(f, "{line:?} is not one line: give --sbatch once for each"),
            Self::NotAnOption(line) => {
                write!(f, "'{line}' is no option of sbatch: it must begin with '-', as --sbatch=--account=a does")
            }
            Self::ReservedOption(line, why) => write!(f, "'{line}' cannot be said to sbatch: {why}"),
        }
    }
}

impl std::error::Error for SchedulerError {}

impl From<SchedulerError> for String {
    fn from(error: SchedulerError) -> Self {
        error.to_string()
    }
}
