//! `assay compare`: what changed between two runs, what is unchanged, and what is inconclusive.

mod live;
mod output;

use std::collections::BTreeMap;

use bench::store::{Store, check_writable};
use model::comparison::{Change, Direction};
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
    // A benchmark with several metrics counts once.
    let mut verdicts = BTreeMap::<&str, usize>::new();
    for one in &comparison.experiments {
        let verdict = match (one.direction, one.verdict) {
            (Some(Direction::Worse), _) => 3,
            (Some(Direction::Better), _) => 2,
            (None, Change::Inconclusive) => 1,
            (None, _) => 0,
        };
        let known = verdicts.entry(&one.id).or_default();
        *known = verdict.max(*known);
    }
    let mut counts = [0_usize; 4];
    verdicts.into_values().for_each(|verdict| counts[verdict] += 1);
    let [same, unclear, better, worse] = counts;
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
