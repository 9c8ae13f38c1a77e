//! Why a tool could not be run to its end.

use std::fmt;

/// Why a run of a tool has no output. Each carries the sentence for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A file or a setting of the system is not as the tool needs it.
    NotReady(String),
    /// The tool, its folder or its files could not be set up.
    NotStarted(String),
    /// The tool's server did not come to listen.
    NoServer(String),
    /// The tool took longer than it may.
    TimedOut(String),
    /// This process was told to stop, and ended the tool.
    Stopped(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotReady(reason)
        | Self::NotStarted(reason)
        | Self::NoServer(reason)
        | Self::TimedOut(reason)
        | Self::Stopped(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for RunError {}

impl From<RunError> for String {
    fn from(error: RunError) -> Self {
        error.to_string()
    }
}
