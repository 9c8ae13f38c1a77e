//! Processes, mounts and control groups that tests use.

pub(crate) mod cgroup;
pub(crate) mod family;
pub(crate) mod mounts;
pub(crate) mod process;
