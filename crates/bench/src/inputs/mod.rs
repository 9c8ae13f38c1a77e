//! What a run is made from, read from this machine: its host, a directory to measure in, a suite's file.

pub mod host;
#[cfg(test)]
mod plans;
pub mod probe;
pub mod suite_file;
pub mod target;
