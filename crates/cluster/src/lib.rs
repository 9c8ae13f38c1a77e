//! Many nodes: a plan in a folder that all of them see, workers that drain it, and what the results say of the nodes.
//!
//! There is no server and no database: the folder's files are the truth (their form: [`model::cluster`]), and every step
//! that more than one process could take is a rename that one of them wins. The scheduler only starts workers; which job
//! runs which task never matters. Nothing here prints.
#![forbid(unsafe_code)]

pub mod attempt;
pub mod campaign;
pub mod claim;
pub mod doors;
pub mod evaluate;
pub mod folder;
pub mod hpl;
pub mod lease;
pub mod make;
pub mod pairs;
pub mod rounds;
pub mod scheduler;
pub mod tasks;
mod turns;
pub mod worker;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
