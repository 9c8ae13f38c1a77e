//! The results in a plan's folder, read from its files; [`verdict::fleet`] judges them. A file that cannot be read becomes a
//! problem in the report.

mod again;

use std::io;

use model::cluster::{ClusterDocument, NodeFacts, Outcome, Plan};
use model::document::Program;
use verdict::fleet::{self, Catalogue, Earlier, NodeResults, Results, Standpoint};

pub use again::second_pass;

use crate::error::{Error, Result};
use crate::folder::{FACTS, Folder, OUTCOME, read};
use crate::plan::suite;
use crate::tasks::{failed_attempts, finished, unfinished, waiting};

/// Evaluates the results so far. `assay` is this program, which the document names as its maker.
pub fn evaluate(folder: &Folder, assay: Program) -> Result<ClusterDocument> {
    evaluate_with_history(folder, None, assay)
}

/// Evaluates the results so far, and compares each node with its results in an earlier plan.
pub fn evaluate_with_history(folder: &Folder, earlier: Option<&Folder>, assay: Program) -> Result<ClusterDocument> {
    let plan = folder.plan()?;
    let mut catalogue = Catalogue::default();
    let nodes = nodes(folder, &plan, &mut catalogue)?;
    let earlier = earlier.map(|folder| read_earlier(folder, &mut catalogue)).transpose()?;
    // The plan may contain the text of a suite's file.
    let suite = suite(&plan.suite).map_or_else(|_| plan.suite.clone(), |suite| suite.name);
    Ok(fleet::evaluate(&plan, suite, assay, Results { nodes, earlier, catalogue }, areas::RULES))
}

fn read_earlier(folder: &Folder, catalogue: &mut Catalogue) -> Result<Earlier> {
    let plan = folder.plan().map_err(|error| match error {
        Error::NoPlan(path) => Error::NoEarlierPlan(path),
        other => other,
    })?;
    Ok(Earlier { nodes: nodes(folder, &plan, catalogue)?, plan })
}

pub(super) fn standpoints(folder: &Folder, plan: &Plan) -> Result<Vec<Standpoint>> {
    Ok(fleet::standpoints(&nodes(folder, plan, &mut Catalogue::default())?))
}

fn nodes(folder: &Folder, plan: &Plan, catalogue: &mut Catalogue) -> Result<Vec<NodeResults>> {
    plan.nodes.iter().map(|node| read_node(folder, &node.name, catalogue)).collect()
}

fn read_node(folder: &Folder, node: &str, catalogue: &mut Catalogue) -> Result<NodeResults> {
    let mut results = NodeResults::new(node);
    match read::<NodeFacts>(&folder.node(node).join(FACTS)) {
        Ok(facts) => results.add_facts(facts),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => results.add_broken(format!("nodes/{node}/{FACTS}"), error.to_string()),
    }
    for task in finished(folder, node)? {
        add_task(&mut results, folder, &format!("done/{node}/{task}"), &task, catalogue);
    }
    for (task, place) in failed_attempts(folder, node)? {
        results.add_failed_attempt(&task, read(&place.join(OUTCOME)).ok().as_ref());
    }
    let (left, waiting) = (unfinished(folder, node)?.0, waiting(folder, node)?);
    let waiting = left.keys().filter(|task| waiting.contains(*task)).count();
    results.set_open(waiting, left.len() - waiting);
    Ok(results)
}

fn add_task(results: &mut NodeResults, folder: &Folder, place: &str, task: &str, catalogue: &mut Catalogue) {
    let outcome: Outcome = match read(&folder.path().join(place).join(OUTCOME)) {
        Ok(outcome) => outcome,
        Err(error) => {
            results.add_lost_task(task, "its outcome cannot be read");
            results.add_broken(format!("{place}/{OUTCOME}"), error.to_string());
            return;
        }
    };
    if !results.add_outcome(task, &outcome) {
        return;
    }
    let path = format!("{place}/run/run.json");
    let run = read(&folder.path().join(&path)).map_err(|error| error.to_string());
    let added = run.and_then(|run| results.add_run(&path, run, &outcome, catalogue));
    if let Err(error) = added {
        results.add_lost_task(task, "its document cannot be read");
        results.add_broken(path, error);
    }
}

#[cfg(test)]
mod tests;
