//! The words of Assay: plain data, units and the document's wire form.
//!
//! Nothing here touches the operating system, reads a clock or computes a statistic.
#![forbid(unsafe_code)]

pub mod isa;
pub mod machine;
pub mod peak;
