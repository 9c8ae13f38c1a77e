//! Main memory, its modules, huge pages and nodes.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Main memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Memory {
    /// What the kernel manages, B.
    pub total_bytes: Option<u64>,
    /// What new work can have without swapping, B, at the time of discovery.
    pub available_bytes: Option<u64>,
    /// The tightest control-group limit, B; `None` without one.
    pub limit_bytes: Option<u64>,
    /// What that control group has charged already, B.
    pub limit_used_bytes: Option<u64>,
    /// Swap space, B.
    pub swap_bytes: Option<u64>,
    /// Populated memory channels over all packages.
    pub channels: Option<u32>,
    /// Populated channels of each package, in order; empty where packages cannot be distinguished.
    pub channels_by_package: Vec<u32>,
    /// Configured transfers per second and pin, in units of 10^6 (MT/s, as vendors print it).
    pub mts: Option<f64>,
    /// Data width over all channels, bit, without ECC.
    pub bus_bits: Option<u32>,
    /// Channels per package that this processor family has at most: the platform's maximum, not what is populated.
    pub platform_channels: Option<u32>,
    /// Fastest transfers that this processor family supports, MT/s: not what is fitted.
    pub platform_mts: Option<f64>,
    /// Bytes that a die of cores can read per cycle of the fabric; `None` where dies are not separate, or unknown.
    pub die_read_bytes_per_cycle: Option<u32>,
    /// Slots for memory modules, populated or not.
    pub slots: Option<u32>,
    /// Populated memory modules.
    pub dimms: Vec<Dimm>,
    /// Base page size, B.
    pub page_bytes: Option<u64>,
    /// State of huge pages.
    pub huge_pages: HugePages,
    /// Whether the kernel migrates pages between nodes by itself.
    pub numa_balancing: Option<bool>,
}

impl Memory {
    /// Bytes that can be allocated: what is available, or what the control group still allows.
    pub fn obtainable_bytes(&self) -> Option<u64> {
        self.available_bytes.into_iter().chain(self.left_in_group()).min()
    }

    /// Whether the control group allows less than is available.
    pub fn is_bound_by_group(&self) -> bool {
        self.left_in_group().is_some_and(|left| self.available_bytes.is_none_or(|available| left < available))
    }

    fn left_in_group(&self) -> Option<u64> {
        self.limit_bytes.map(|limit| limit.saturating_sub(self.limit_used_bytes.unwrap_or(0)))
    }
}

/// One memory module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Dimm {
    /// Where it is plugged, as firmware names it.
    pub locator: Option<String>,
    /// Which bank or channel, as firmware names it.
    pub bank: Option<String>,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Whether a module is fitted whose size firmware does not state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub size_unknown: bool,
    /// Technology (`DDR5` …).
    pub kind: Option<String>,
    /// Configured speed, MT/s.
    pub mts: Option<f64>,
    /// Speed that the module is made for, MT/s.
    pub rated_mts: Option<f64>,
    /// Data width without ECC, bit.
    pub data_bits: Option<u32>,
    /// The channel that its slot's name was read as: modules with the same one share it.
    pub channel: Option<String>,
}

impl Dimm {
    /// Whether a module is in the slot.
    pub const fn is_fitted(&self) -> bool {
        self.bytes.is_some() || self.size_unknown
    }
}

/// Huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct HugePages {
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent: Option<String>,
    /// When the kernel makes room for them.
    pub defrag: Option<String>,
    /// Reserved pools, one per size.
    pub pools: Vec<HugePool>,
}

/// One pool of reserved huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct HugePool {
    /// Size of one page, B.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: Option<u64>,
    /// Pages free.
    pub free: Option<u64>,
}

/// One memory node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct NumaNode {
    /// The kernel's number.
    pub node: u32,
    /// Its CPUs; empty for a node of memory alone.
    pub cpus: Vec<u32>,
    /// Its memory, B.
    pub total_bytes: Option<u64>,
    /// What new work can have on it, B, at the time of discovery: free memory and half of its page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Relative distance to every node, 10 = local, in the order of node numbers.
    pub distances: Vec<u32>,
    /// What firmware rates this node's memory at, for the CPUs nearest to it; `None` on most machines.
    pub rated: Option<NodeRating>,
}

/// What firmware rates a node's memory at (ACPI's HMAT): its own word, not a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct NodeRating {
    /// Reads, B/s.
    pub read_bytes_per_second: Option<f64>,
    /// Writes, B/s.
    pub write_bytes_per_second: Option<f64>,
    /// Latency of a read, s.
    pub read_latency_seconds: Option<f64>,
    /// Latency of a write, s.
    pub write_latency_seconds: Option<f64>,
}
