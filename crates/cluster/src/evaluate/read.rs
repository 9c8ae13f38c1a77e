//! The results of one node, read from the plan's folder.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use model::cluster::{NodeFacts, Outcome};
use verdict::fleet::{Catalogue, NodeResults};

use crate::error::Result;
use crate::folder::{self, Folder, State, read};

/// Reads all results of a node.
///
/// # Errors
/// A sentence: its folder of results cannot be looked through.
pub(super) fn node(folder: &Folder, node: &str, catalogue: &mut Catalogue) -> Result<NodeResults> {
    let mut results = NodeResults::new(node);
    match read::<NodeFacts>(&folder.node(node).join("facts.json")) {
        Ok(facts) => results.add_facts(facts),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => results.add_broken(format!("nodes/{node}/facts.json"), error.to_string()),
    }
    let done = names(&folder.tasks(State::Done, node))?;
    for task in &done {
        add_task(&mut results, folder, &format!("done/{node}/{task}"), task, catalogue);
    }
    // A task's file may still lie where it was when the worker was killed that had just published it.
    let open = |state| -> Result<BTreeSet<String>> {
        let files = names(&folder.tasks(state, node))?;
        let tasks = files.iter().filter_map(|file| file.strip_suffix(".json")).filter(|task| !task.starts_with('.'));
        Ok(tasks.map(|task| task.split('@').next().unwrap_or(task).to_owned()).collect())
    };
    let (waiting, running) = (open(State::Waiting)?, open(State::Running)?);
    results.set_open(
        waiting.iter().filter(|task| !done.contains(*task)).count(),
        running.iter().filter(|task| !done.contains(*task) && !waiting.contains(*task)).count(),
    );
    Ok(results)
}

/// Adds a finished task, which is in this folder of the plan's.
fn add_task(results: &mut NodeResults, folder: &Folder, place: &str, task: &str, catalogue: &mut Catalogue) {
    let outcome: Outcome = match read(&folder.path().join(place).join("outcome.json")) {
        Ok(outcome) => outcome,
        Err(error) => {
            results.add_lost_task(task, "its outcome cannot be read");
            results.add_broken(format!("{place}/outcome.json"), error.to_string());
            return;
        }
    };
    if !results.add_outcome(task, &outcome) {
        return;
    }
    let path = format!("{place}/run/run.json");
    let run = read(&folder.path().join(&path)).map_err(|error| error.to_string());
    let added = run.and_then(|run| results.add_run(&path, run, &outcome, catalogue).map_err(|error| error.to_string()));
    if let Err(error) = added {
        results.add_lost_task(task, "its document cannot be read");
        results.add_broken(path, error);
    }
}

/// Names in a folder, sorted; one that is not there has none.
pub(super) fn names(folder: &Path) -> Result<BTreeSet<String>> {
    Ok(folder::names(folder)?.into_iter().collect())
}
