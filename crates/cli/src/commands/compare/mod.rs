//! `assay compare`: what changed between two runs, what did not, and what cannot be told.

use bench::compare::serves_as_history;
use bench::store::{Store, check_writable, write_whole};
use model::comparison::{Change, Comparison, Direction};
use model::document::Document;
use report::{Style, comparison};

use crate::args::Compare;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

/// Earlier runs that are taken to tell how much the machine differs from run to run: more of them are of another age.
const HISTORY: usize = 20;

/// Compares two runs, or measures two things in turn and compares those.
pub(crate) fn compare(arguments: &Compare, began: f64) -> Result {
    if let Some(path) = &arguments.output {
        check_writable(path).map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
    }
    if arguments.live {
        return super::compare_live::live(arguments, began);
    }
    let store = environment::store();
    // Runs may be named by their files alone, on a machine without a store.
    let reader = store.clone().unwrap_or_else(|_| Store::at("/nonexistent".into()));
    let base = reader.load(&arguments.base)?;
    let new = reader.load(&arguments.new)?;
    let history = store.map(|store| history(&store, &base, &new)).unwrap_or_default();
    show(&bench::compare::compare(&base, &new, &history)?, arguments)
}

/// The latest runs of the store that tell something of the machine's noise.
fn history(store: &Store, base: &Document, new: &Document) -> Vec<Document> {
    let documents = store.latest_first().filter_map(|run| run.document.ok());
    documents.filter(|document| serves_as_history(document, base, new)).take(HISTORY).collect()
}

/// Shows a comparison in the form that was asked for, and says what it comes to.
pub(super) fn show(found: &Comparison, arguments: &Compare) -> Result {
    let format = if arguments.json { "json" } else { arguments.format.as_str() };
    let text = match format {
        "json" => comparison::json(found).map_err(|error| error.to_string())?,
        "markdown" => comparison::markdown(found),
        _ => {
            let style = if arguments.output.is_some() { Style::PLAIN } else { Stream::Output.style() };
            comparison::text(found, &style)
        }
    };
    match &arguments.output {
        Some(path) => {
            write_whole(path, text.as_bytes())
                .map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
        }
        None => print(text.as_bytes())?,
    }
    Ok(outcome(found))
}

/// Whether something became worse, else whether something cannot be told.
fn outcome(found: &Comparison) -> Outcome {
    let rows = &found.experiments;
    if rows.iter().any(|row| row.direction == Some(Direction::Worse)) {
        Outcome::Regressed
    } else if rows.iter().any(|row| row.verdict == Change::Inconclusive) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}
