//! Many nodes: a plan in a folder that all of them see, workers that do its tasks, and the results of the nodes.
//!
//! There is no server and no database: the folder's files are the truth (their form: [`model::cluster`]), and every step
//! that several processes could take is a rename that one of them wins. The scheduler only starts workers; which job runs
//! which task does not matter. Nothing here prints.
#![forbid(unsafe_code)]

mod attempt;
pub mod campaign;
pub mod claims;
pub mod error;
pub mod evaluate;
pub mod folder;
mod hpl;
pub mod network;
pub mod plan;
pub mod scheduler;
pub mod tasks;
pub mod worker;

#[cfg(test)]
mod tests;
