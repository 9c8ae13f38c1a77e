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
pub mod host;
pub mod journal;
pub mod live;
pub mod net;
#[cfg(test)]
mod plans;
pub mod probe;
pub mod references;
pub mod runner;
pub mod server;
pub mod store;
pub mod suite_file;
pub mod target;
pub mod worker;

#[cfg(test)]
mod tests;
