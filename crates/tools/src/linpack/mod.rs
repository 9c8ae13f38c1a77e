//! Tools that solve systems of linear equations.

pub(crate) mod hpcc;
mod hpcc_stream;
pub mod hpl;
pub(crate) mod xlinpack;
