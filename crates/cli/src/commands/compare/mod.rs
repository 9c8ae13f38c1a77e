//! `assay compare`: what changed between two runs, what is unchanged, and what is inconclusive.

mod live;
mod output;

use bench::store::{Store, check_writable};
use model::comparison::{Change, Compared, Direction};
use model::document::Document;
use verdict::compare::serves_as_history;

use crate::args::results::Compare;
use crate::environment;
use crate::exit::{Result, cannot_write};
use output::show;

/// The most earlier runs from which the machine's noise is estimated; older ones may not apply.
const HISTORY: usize = 20;

/// Compares two stored runs, or measures two sides alternately.
pub(crate) fn compare(arguments: &Compare, began: f64) -> Result {
    if let Some(path) = &arguments.output {
        check_writable(path).map_err(|error| cannot_write(path, &error))?;
    }
    if arguments.live {
        return live::live(arguments, began);
    }
    let store = environment::store();
    // Runs may be named by their files, without a store.
    let reader = store.clone().unwrap_or_else(|_| Store::at("/nonexistent".into()));
    let base = reader.load(&arguments.base)?;
    let new = reader.load(&arguments.new)?;
    let history = store.map(|store| history(&store, &base, &new)).unwrap_or_default();
    show(&verdict::compare::compare(&base, &new, &history, areas::RULES)?, arguments)
}

/// What changed since the previous run of this machine with the same suite, in a line; `None` on a first run.
pub(crate) fn since_previous(new: &Document) -> Option<String> {
    let store = environment::store().ok()?;
    let (_, base) = store.previous(new)?;
    let history = history(&store, &base, new);
    let comparison = verdict::compare::compare(&base, new, &history, areas::RULES).ok()?;
    let count = |is: &dyn Fn(&Compared) -> bool| comparison.experiments.iter().filter(|one| is(one)).count();
    let [better, worse] = [Direction::Better, Direction::Worse].map(|way| count(&|one| one.direction == Some(way)));
    let [same, unclear] = [Change::Same, Change::Inconclusive].map(|verdict| count(&|one| one.verdict == verdict));
    let moment = base.run.started.get(..16)?.replace('T', " ");
    Some(format!(
        "Since the previous run ({moment} UTC): {worse} slower, {better} faster, {same} unchanged, {unclear} inconclusive."
    ))
}

/// The latest runs in the store from which the machine's noise can be estimated.
fn history(store: &Store, base: &Document, new: &Document) -> Vec<Document> {
    let documents = store.of_machine(&base.machine, |run| run.complete).map(|(_, document)| document);
    documents.filter(|document| serves_as_history(document, base, new)).take(HISTORY).collect()
}
