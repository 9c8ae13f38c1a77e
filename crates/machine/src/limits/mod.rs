//! Theoretical limits of benchmarks on a machine, each with its formula and its sources.

pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod peaks;
