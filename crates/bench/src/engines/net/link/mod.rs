//! What goes over a connection, and how it is counted.

pub(super) mod blocks;
pub(super) mod bounds;
pub(super) mod ceiling;
pub(super) mod content;
pub(super) mod sent;
pub(super) mod sizes;
pub(super) mod spinning;
pub(super) mod windows;
