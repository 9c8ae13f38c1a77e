//! The output of a run: its results on the terminal, the HTML report, the document, the exit status.

use std::path::{Path, PathBuf};

use bench::runner::Finished;
use bench::store::{RunFolder, check_writable, write_whole};
use model::document::{Document, Status};

use crate::args::measure::Measure;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, cannot_write, complain, print};

/// The file for a copy of the document.
fn json_file(options: &Measure) -> Option<&Path> {
    options.json.as_deref().filter(|path| *path != Path::new("-"))
}

/// Checks before measuring that the copy of the document can be written.
pub(super) fn check_json(options: &Measure) -> Result<()> {
    let Some(path) = json_file(options) else { return Ok(()) };
    check_writable(path).map_err(|error| cannot_write(path, &error))
}

/// Shows the results of a run and returns the outcome.
pub(super) fn end(finished: &Finished, folder: Option<&RunFolder>, options: &Measure) -> Result {
    // A run that could not be stored has been reported already.
    let folder = folder.filter(|_| finished.not_stored.is_none());
    let page = folder.and_then(|folder| write_page(&finished.document, folder));
    if options.json.as_deref() == Some(Path::new("-")) {
        print(json(finished)?.as_bytes())?;
        return Ok(outcome(finished));
    }
    let style = Stream::Output.style();
    print(report::terminal::render(&finished.document, &style).as_bytes())?;
    if let Some(folder) = folder {
        print(where_it_is(folder.path(), page.as_deref(), style.width).as_bytes())?;
    }
    if let Some(path) = json_file(options) {
        write_whole(path, json(finished)?.as_bytes()).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(outcome(finished))
}

/// Writes the HTML report of a stored run; returns its path. A failure is reported only: `assay report` can write it later.
fn write_page(document: &Document, folder: &RunFolder) -> Option<PathBuf> {
    let page = report::html::render(document).map_err(|error| error.to_string());
    match page.and_then(|page| folder.write_page(page.as_bytes())) {
        Ok(path) => Some(path),
        Err(reason) => {
            let again = folder.path().display();
            complain(&format!("cannot write the HTML report: {reason}. To try again: assay report '{again}'"));
            None
        }
    }
}

/// The paths of a run's files and the command to compare it, in one line if `columns` suffice.
fn where_it_is(folder: &Path, page: Option<&Path>, columns: usize) -> String {
    let stored = match page {
        Some(page) => format!("Report: {}", page.display()),
        None => format!("Stored: {}", folder.display()),
    };
    let in_store = environment::store().is_ok_and(|store| store.holds(folder));
    let name = folder.file_name().filter(|_| in_store).map_or(folder.as_os_str(), |name| name);
    let compare = format!("Compare later: assay compare {} NAME", name.display());
    let line = format!("{stored}      {compare}");
    if line.chars().count() <= columns { format!("\n{line}\n") } else { format!("\n{compare}\n{stored}\n") }
}

fn json(finished: &Finished) -> Result<String> {
    report::json::render(&finished.document).map_err(|error| error.to_string())
}

fn outcome(finished: &Finished) -> Outcome {
    let failed = |document: &Document| document.experiments.iter().any(|row| row.status == Status::Failed);
    match finished.signal {
        Some(signal) => Outcome::Interrupted(signal),
        None if failed(&finished.document) || finished.not_stored.is_some() => Outcome::Failed,
        None => Outcome::Done,
    }
}
