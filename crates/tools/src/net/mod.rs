//! Tools that measure networks.

pub(crate) mod iperf;
pub(crate) mod iperf3;
mod loopback;
pub(crate) mod ping;
pub(crate) mod sockperf;
