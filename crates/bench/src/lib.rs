//! Measuring: runner, workers, engines, journal and store. Prints nothing, reads neither arguments nor environment.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "most items are named after what they are")]

pub mod doctor;
mod engines;
mod evidence;
mod histogram;
mod inputs;
pub mod journal;
pub mod leftovers;
pub mod live;
mod locks;
pub mod net;
pub mod references;
pub mod runner;
pub mod server;
pub mod store;
pub mod worker;

pub use inputs::{host, probe, target};

#[cfg(test)]
mod tests;
