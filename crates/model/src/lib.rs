//! The words of Assay: plain data, units and the document's wire form.
//!
//! Nothing here touches the operating system, reads a clock or computes a statistic.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod comparison;
pub mod doctor;
pub mod document;
pub mod experiment;
pub mod io;
pub mod isa;
pub mod linpack;
pub mod machine;
pub mod peak;
pub mod probe;
pub mod reference;
pub mod sample;
pub mod surroundings;
pub mod unit;
pub mod warning;
pub mod wire;
