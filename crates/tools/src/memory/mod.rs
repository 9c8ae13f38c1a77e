//! Tools that measure memory, and arithmetic beside it.

pub(crate) mod likwid_bench;
pub(crate) mod multichase;
pub(crate) mod passes;
pub(crate) mod pmbw;
pub(crate) mod stream;
pub(crate) mod sysbench;
