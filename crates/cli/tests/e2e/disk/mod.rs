//! `assay disk`: operations, engines, file systems, limits and failures.

mod cache;
mod device;
mod engines;
mod failures;
mod filesystems;
pub(crate) mod later;
mod limits;
mod operations;
mod room;
mod steady;
pub(crate) mod support;
