//! What the results in a plan's folder say of its nodes, read from its files; the judgement is [`verdict::fleet`]'s.
//!
//! Results are streamed: a node's documents are read one after the other, medians and a few conditions are kept, and each
//! is dropped. A node has no document of its own beside those of its tasks, which are whole and stand where they were
//! published (`done/NODE/TASK/run/run.json`); the cluster's document names them. A file that cannot be read is a problem
//! with a name, never the end. Nothing is remembered between two calls: the folder is the truth.

mod again;
mod read;

use model::cluster::{ClusterDocument, Plan};
use model::document::Program;
use verdict::fleet::{self, Catalogue, NodeResults, Standpoint};

pub use again::second_pass;

use crate::error::Result;
use crate::folder::Folder;
use crate::plan::suite::suite;

/// Evaluates what there is in a plan's folder by now. `assay` is the program that asks, which the document names as its
/// maker: it need not be the one that made the plan.
///
/// # Errors
/// A sentence: there is no plan, or a folder of results cannot be looked through.
pub fn evaluate(folder: &Folder, assay: Program) -> Result<ClusterDocument> {
    let plan = folder.plan()?;
    let mut catalogue = Catalogue::default();
    let nodes = nodes(folder, &plan, &mut catalogue)?;
    // A plan has the text of a suite's file.
    let suite = suite(&plan.suite).map_or_else(|_| plan.suite.clone(), |suite| suite.name);
    Ok(fleet::evaluate(&plan, suite, assay, nodes, &catalogue, areas::RULES))
}

/// What is known of each node of a plan by now, in the plan's order.
///
/// # Errors
/// A sentence: a folder of results cannot be looked through.
pub(super) fn standpoints(folder: &Folder, plan: &Plan) -> Result<Vec<Standpoint>> {
    Ok(fleet::standpoints(&nodes(folder, plan, &mut Catalogue::default())?))
}

fn nodes(folder: &Folder, plan: &Plan, catalogue: &mut Catalogue) -> Result<Vec<NodeResults>> {
    plan.nodes.iter().map(|node| read::node(folder, &node.name, catalogue)).collect()
}

#[cfg(test)]
mod tests;
