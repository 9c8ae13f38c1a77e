//! Why the value of a tool and ours differ.

pub(crate) mod explanation;
pub(crate) mod rules;
