//! Measuring: the plan, the runner, its workers, the engines, and the store of what came of it.
//!
//! The only crate that measures. It prints nothing, reads neither arguments nor environment, and decides no exit
//! status.
#![forbid(unsafe_code)]

mod asked;
pub mod doctor;
mod engines;
mod evidence;
mod histogram;
mod inputs;
pub mod journal;
pub mod live;
pub mod net;
pub mod references;
pub mod runner;
pub mod server;
pub mod store;
pub mod worker;

pub use inputs::{host, probe, suite_file, target};

#[cfg(test)]
mod tests;
