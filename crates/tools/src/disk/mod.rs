//! Tools that make requests to a disk.

pub(crate) mod fio;
pub(crate) mod ioping;
pub(crate) mod iozone;
mod requests;
