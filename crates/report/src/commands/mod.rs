//! What commands print that measure nothing.

pub mod doctor;
pub mod info;
pub mod plan;
pub mod references;
