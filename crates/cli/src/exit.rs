//! How the program ends: every outcome, and the one place that turns it into an exit status.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should: 0.
    Done,
    /// Some row failed, or the run could not be stored: 1. What there is to say has been said.
    SomeFailed,
    /// A comparison found something worse than before: 1.
    Regressed,
    /// A diagnosis says that numbers taken now should not be quoted: 1.
    NotQuotable,
    /// Bad usage or input, in one sentence: 2.
    Unusable(String),
    /// A comparison found nothing worse, but cannot tell of every row: 3.
    Inconclusive,
    /// Stopped by a signal: 128 and its number.
    Interrupted(i32),
}

/// A command's outcome, or bad input in one sentence.
pub(crate) type Result<T = Outcome> = std::result::Result<T, String>;

/// The exit status of an outcome; bad input is told of here, once.
pub(crate) fn status(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::SomeFailed | Outcome::Regressed | Outcome::NotQuotable => ExitCode::from(1),
        Outcome::Inconclusive => ExitCode::from(3),
        Outcome::Unusable(sentence) => {
            complain(&sentence);
            ExitCode::from(2)
        }
        Outcome::Interrupted(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
    }
}

/// Writes an error or a remark to standard error; if nobody reads that either, there is nobody left to tell.
pub(crate) fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "assay: {sentence}");
}

/// Why a file could not be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write '{}': {error}", path.display())
}

/// Writes a result to standard output. A reader that has closed the pipe has read enough: that is no error.
///
/// # Errors
/// One sentence, if it could not be written for another reason.
pub(crate) fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
