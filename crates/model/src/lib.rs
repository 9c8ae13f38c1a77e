//! The words of Assay: plain data, units and the document's wire form. No I/O, no clock, no statistics.
#![forbid(unsafe_code)]

pub mod benchmark;
pub mod cluster;
pub mod disk_target;
pub mod document;
pub mod json;
pub mod machine;
pub mod number;
pub mod plan;
pub mod probe;
pub mod surroundings;
pub mod unit;
pub mod warning;
pub mod wire;
pub mod words;

pub use benchmark::{experiment, io, isa, linpack};
pub use document::{comparison, doctor, peak, reference, sample};
