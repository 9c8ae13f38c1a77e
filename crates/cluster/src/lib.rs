//! Benchmarks on many nodes: a plan in a shared folder, workers that claim its tasks, and the evaluation of their results.
//!
//! The folder's files are the only state (their format: [`model::cluster`]). Steps that several processes could take are
//! renames, which one process wins. Jobs only start workers; any worker of a node can do any task of that node.
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
