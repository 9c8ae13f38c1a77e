//! What a run is made from, read from this machine: its host, a directory, a suite file.

pub mod host;
pub mod probe;
pub mod target;
#[cfg(test)]
mod tests;
mod trial;
