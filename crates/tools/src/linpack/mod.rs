//! Tools that solve systems of linear equations.

pub mod hpl;
pub(crate) mod hpcc;
mod hpcc_stream;
pub(crate) mod xlinpack;
