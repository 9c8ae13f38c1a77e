//! How a program is known to be a tool, and which version of it.

pub(crate) mod identification;
pub(crate) mod source;
