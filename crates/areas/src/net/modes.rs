//! The modes of network benchmarks and their parameters.

use std::ops::RangeInclusive;

use model::io::{NetMode, Protocol};

/// The largest block of a stream or TCP message.
pub const MOST_BLOCK_BYTES: u64 = 1 << 20;
/// The largest UDP payload over IPv4: 65535 bytes less 20 of IP header and 8 of UDP header.
pub const MOST_DATAGRAM_BYTES: u64 = 65_507;
/// The smallest datagram of a stream: a header of 24 bytes, and data to check.
const LEAST_STREAM_DATAGRAM_BYTES: u64 = 64;
/// The smallest probe under load: its number.
const LEAST_PROBE_BYTES: u64 = 8;
pub(super) const LOSS_GOAL_PER_MILLION: u32 = 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says of one parameter whether the mode has it")]
pub struct Traits {
    /// Up, down, or both ways.
    pub direction: bool,
    pub zero_copy: bool,
    pub segmentation: bool,
    pub loss_goal: bool,
    /// Blocking or spinning.
    pub wait: bool,
}

/// The parameters of a mode over a protocol, apart from block and threads; `None` if there is no such benchmark.
pub fn traits(protocol: Protocol, mode: NetMode) -> Option<Traits> {
    let none = Traits::default();
    let blast = Traits { direction: true, segmentation: true, ..none };
    match (mode, protocol) {
        (NetMode::Stream, Protocol::Tcp) => Some(Traits { direction: true, zero_copy: true, ..none }),
        (NetMode::NoDrop, Protocol::Udp) => Some(Traits { loss_goal: true, ..blast }),
        (NetMode::Blast, Protocol::Udp) => Some(blast),
        (NetMode::Pingpong, _) => Some(Traits { wait: true, ..none }),
        (NetMode::Connect, Protocol::Tcp) => Some(none),
        (NetMode::Transfer, _) => Some(Traits { segmentation: protocol == Protocol::Udp, ..none }),
        (NetMode::Load, _) => Some(Traits { direction: true, ..none }),
        (NetMode::Stream | NetMode::Connect, Protocol::Udp) | (NetMode::NoDrop | NetMode::Blast, Protocol::Tcp) => None,
    }
}

/// `stream over tcp, pingpong over tcp and udp …`.
pub(super) fn known_modes() -> String {
    let over = |mode: &NetMode| {
        let protocols = Protocol::ALL.iter().filter(|protocol| traits(**protocol, *mode).is_some());
        format!("{mode} over {}", protocols.map(|protocol| protocol.name()).collect::<Vec<_>>().join(" and "))
    };
    NetMode::ALL.iter().map(over).collect::<Vec<_>>().join(", ")
}

pub(super) fn block_range(protocol: Protocol, mode: NetMode) -> RangeInclusive<u64> {
    match (mode, protocol) {
        // One byte each way shows that the connection works.
        (NetMode::Connect, _) => 1..=1,
        (NetMode::NoDrop | NetMode::Blast | NetMode::Transfer, Protocol::Udp) => {
            LEAST_STREAM_DATAGRAM_BYTES..=MOST_DATAGRAM_BYTES
        }
        // The size of a probe.
        (NetMode::Load, _) => LEAST_PROBE_BYTES..=MOST_DATAGRAM_BYTES,
        (_, Protocol::Udp) => 1..=MOST_DATAGRAM_BYTES,
        (_, Protocol::Tcp) => 1..=MOST_BLOCK_BYTES,
    }
}
