//! The output of a run: its results on the terminal, the HTML report, the document, the exit status.

use std::path::{Path, PathBuf};

use bench::runner::Finished;
use bench::store::{RunFolder, check_writable, write_whole};
use model::document::{Document, Status};
use report::terminal::Surroundings;

use crate::args::measure::Measure;
use crate::commands::compare::since_previous;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, cannot_write, complain, print};

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
        print(report::json::render(&finished.document)?.as_bytes())?;
        return Ok(outcome(finished, options));
    }
    let style = Stream::Output.style();
    let around = surroundings(&finished.document, folder, page.as_deref());
    // Without a headline benchmark the tables are all that there is.
    let details = options.details || areas::headlines(&finished.document).is_empty();
    let tables = if details { report::terminal::render(&finished.document, &style) } else { String::new() };
    let answer = report::terminal::answer(&finished.document, &around, &style);
    let parts = [tables, answer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    print(parts.join("\n").as_bytes())?;
    if let Some(path) = json_file(options) {
        write_whole(path, report::json::render(&finished.document)?.as_bytes())
            .map_err(|error| cannot_write(path, &error))?;
    }
    Ok(outcome(finished, options))
}

/// Writes the HTML report of a stored run; returns its path. A failure is reported only: `assay report` can write it later.
fn write_page(document: &Document, folder: &RunFolder) -> Option<PathBuf> {
    let page = report::html::render(document);
    match page.and_then(|page| folder.write_page(page.as_bytes())) {
        Ok(path) => Some(path),
        Err(reason) => {
            let again = folder.path().display();
            complain(&format!("cannot write the HTML report: {reason}. To try again: assay report '{again}'"));
            None
        }
    }
}

/// Where a stored run is, and how commands find it.
fn surroundings(document: &Document, folder: Option<&RunFolder>, page: Option<&Path>) -> Surroundings {
    let in_store = folder.is_some_and(|folder| environment::store().is_ok_and(|store| store.holds(folder.path())));
    let path = folder.map(|folder| folder.path().display().to_string());
    Surroundings {
        name: if in_store { Some("latest".to_owned()) } else { path },
        page: page.map(|page| page.display().to_string()),
        changed: in_store.then(|| since_previous(document)).flatten(),
    }
}

fn outcome(finished: &Finished, options: &Measure) -> Outcome {
    let is_below = options.fail_below && finished.document.experiments.iter().any(|row| areas::below(row).is_some());
    let failed = |document: &Document| document.experiments.iter().any(|row| row.status == Status::Failed);
    match finished.signal {
        Some(signal) => Outcome::Interrupted(signal),
        None if is_below || failed(&finished.document) || finished.not_stored.is_some() => Outcome::Failed,
        None => Outcome::Done,
    }
}
