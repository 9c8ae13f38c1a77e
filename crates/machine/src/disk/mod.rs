//! Block devices: what they are, what they are connected to, and which limits the system sets them.

pub(crate) mod drives;
pub(crate) mod filesystems;
pub(crate) mod identity;
pub(crate) mod links;
pub(crate) mod storage;
pub(crate) mod throttle;
pub(crate) mod uplinks;
