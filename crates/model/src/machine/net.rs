//! Network interfaces.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::disk::DiskLink;

/// One network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Nic {
    /// The kernel's name (`eth0`).
    pub name: String,
    /// Negotiated link speed, bit/s; virtual interfaces have none, or a made-up one.
    pub speed_bps: Option<f64>,
    /// Whether hardware reports that speed as a link's, not a constant of a driver. `None` without a speed.
    pub speed_trusted: Option<bool>,
    /// What kind of link it is: `ethernet`, `infiniband`, `loopback`; `None` for others.
    pub kind: Option<String>,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Largest packet, B.
    pub mtu: Option<u32>,
    /// `up`, `down`, `unknown`, …
    pub state: Option<String>,
    /// Whether no hardware stands behind it (loopback, bridges, veth) or a hypervisor's device does.
    pub is_virtual: Option<bool>,
    /// Receive queues.
    pub receive_queues: Option<u32>,
    /// Transmit queues.
    pub transmit_queues: Option<u32>,
    /// `full` or `half`, as it was negotiated.
    pub duplex: Option<String>,
    /// Its kind where others carry its packets: `bond`, `team`, `bridge`, `vlan`, or `stacked` (macvlan, ipvlan).
    pub layer: Option<String>,
    /// How a bond spreads packets: `balance-rr`, `active-backup`, `802.3ad` …
    pub bond_mode: Option<String>,
    /// The interfaces that carry its packets: of a bond those that are up and in use.
    pub lower: Vec<String>,
    /// Where its adapter is on the PCI bus: `0000:3b:00.1`, of which the last digit is the port.
    pub pci_address: Option<String>,
    /// The narrowest PCI Express link between the adapter and the processor; `None` in a guest, where it may be made up.
    pub bus: Option<DiskLink>,
    /// The InfiniBand port that carries its packets.
    pub infiniband: Option<InfinibandPort>,
}

/// An InfiniBand port under a network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct InfinibandPort {
    /// The adapter (`mlx5_0`).
    pub device: String,
    /// The port's number, counted from 1.
    pub port: u32,
    /// Its rate in the kernel's words: `56 Gb/sec (4X FDR)`.
    pub rate: String,
    /// Its generation: `SDR`, `DDR`, `QDR`, `FDR10`, `FDR`, `EDR`, `HDR`, `NDR`, `XDR`.
    pub generation: Option<String>,
    /// Lanes side by side.
    pub lanes: Option<u32>,
    /// Bits of data per second, less the line code.
    pub data_bps: Option<f64>,
    /// Whether packets go through connections (up to 65520 B) instead of single datagrams.
    pub connected: Option<bool>,
}
