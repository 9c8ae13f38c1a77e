//! What is measured: the parameters of a benchmark, and the names of instruction sets, element types and kinds of I/O.

pub mod experiment;
pub mod io;
pub mod isa;
pub mod linpack;
