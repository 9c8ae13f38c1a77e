//! Claims on nodes and tasks, and the leases that keep them.

pub mod claim;
pub(crate) mod lease;
