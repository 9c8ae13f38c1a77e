//! The processor: its topology and caches, its microarchitecture, and what its kernels finish per cycle.

pub(crate) mod arm;
pub(crate) mod caches;
pub(crate) mod cpuinfo;
pub(crate) mod dump;
pub(crate) mod features;
pub(crate) mod latency;
pub(crate) mod ports;
pub(crate) mod processor;
pub(crate) mod rates;
pub(crate) mod sets;
pub(crate) mod steps;
pub(crate) mod topology;
pub(crate) mod uarch;
pub(crate) mod units;
