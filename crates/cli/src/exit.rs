//! How a command ends, its exit status, and printing.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// 0.
    Done,
    /// 1: something failed, which is reported already; a comparison found a regression; it is no time to measure.
    Failed,
    /// 2: bad usage or input.
    Unusable(String),
    /// 3: a comparison found no regression, but some result is inconclusive.
    Inconclusive,
    /// 128 plus the signal that stopped it.
    Interrupted(i32),
}

/// A command's outcome, or a sentence about bad usage or input.
pub(crate) type Result<T = Outcome> = std::result::Result<T, String>;

/// The exit status of an outcome; bad usage is reported here.
pub(crate) fn status(outcome: &Outcome) -> ExitCode {
    if let Outcome::Unusable(sentence) = outcome {
        complain(sentence);
    }
    ExitCode::from(status_of(outcome))
}

/// The number of an outcome.
pub(crate) fn status_of(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::Failed => 1,
        Outcome::Unusable(_) => 2,
        Outcome::Inconclusive => 3,
        Outcome::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
    }
}

/// Writes an error or a remark to standard error, with hidden characters replaced; failure to do so is ignored.
pub(crate) fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "assay: {}", report::visible(sentence));
}

/// The error that a file cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write '{}': {error}", path.display())
}

/// Writes a result to standard output. A reader that has closed the pipe is no error.
pub(crate) fn print(bytes: &[u8]) -> Result<()> {
    print_pieces([bytes])
}

/// Writes a result to standard output piece by piece.
pub(crate) fn print_pieces<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> Result<()> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let written = pieces.into_iter().try_for_each(|piece| stdout.write_all(piece.as_ref()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
