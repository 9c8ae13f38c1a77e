//! The small tables of each area: rows that are read together and not one by one.

pub(super) mod disk;
mod drawing;
pub(super) mod linpack;
pub(super) mod memory;
pub(super) mod net;
