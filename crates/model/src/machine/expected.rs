//! What a machine should reach, by published values and by the results of machines like it.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::{Expectation, MetricName};
use crate::words::Named;

crate::words::words! {
    /// What an expectation of a machine is of.
    ExpectedQuantity, "quantity", {
        /// Core clock with all cores busy, Hz.
        Clock => "clock",
        /// Core clock with some of the cores busy, Hz.
        OneCoreClock => "one_core_clock",
        /// Core clock with all cores busy with AVX2 multiply-adds, Hz.
        Avx2Clock => "avx2_clock",
        /// Core clock with all cores busy with AVX-512 multiply-adds, Hz.
        Avx512Clock => "avx512_clock",
        /// STREAM triad with all cores, B/s.
        Triad => "stream_triad",
        /// HPL with all cores, flop/s.
        Hpl => "hpl",
        /// Network, one direction, B/s.
        Network => "network",
        /// Requests to a network volume, 1/s.
        VolumeRequests => "volume_requests",
        /// Data from or to a network volume, B/s.
        VolumeBytes => "volume_bytes",
        /// One metric of the benchmark of this id.
        Benchmark => "benchmark",
    }
}

/// A range in which a machine should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MachineExpectation {
    /// What it is of.
    pub quantity: Named<ExpectedQuantity>,
    /// The benchmark's id; `null` for other quantities.
    pub benchmark: Option<String>,
    /// The benchmark's metric; `null` for other quantities.
    pub metric: Option<Named<MetricName>>,
    /// The range.
    #[serde(flatten)]
    pub range: Expectation,
}
