//! Which modes there are over which protocol, and which parameters each has.

use std::ops::RangeInclusive;

use model::io::{NetMode, Protocol};

/// The largest block of a stream or TCP message.
pub const MOST_BLOCK_BYTES: u64 = 1 << 20;

/// The largest UDP payload over IPv4: 65535 bytes less 20 of IP header and 8 of UDP header.
pub const MOST_DATAGRAM_BYTES: u64 = 65_507;

/// The smallest datagram of a stream: its header of 24 bytes, and something to check.
pub const LEAST_STREAM_DATAGRAM_BYTES: u64 = 64;

/// The smallest probe beside a load: the number by which its answer is known.
pub const LEAST_PROBE_BYTES: u64 = 8;

/// Datagrams of a million that may be lost where a suite does not say.
pub const LOSS_GOAL_PER_MILLION: u32 = 1000;

/// Which parameters of a network experiment a mode has. One table: the plan, the choice and the refusals go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says of one parameter whether the mode has it")]
pub struct Traits {
    /// The bytes go one way, the other, or both.
    pub direction: bool,
    /// Sends can be asked to spare their copy.
    pub zero_copy: bool,
    /// Large sends can be cut into datagrams by the kernel or the device.
    pub segmentation: bool,
    /// The loss that the rate may have is a parameter.
    pub loss_goal: bool,
    /// The way of waiting is a parameter.
    pub wait: bool,
}

/// The parameters of a mode over a protocol, beside block and threads; `None` where there is no such experiment.
pub fn traits(protocol: Protocol, mode: NetMode) -> Option<Traits> {
    let none = Traits { direction: false, zero_copy: false, segmentation: false, loss_goal: false, wait: false };
    match (mode, protocol) {
        (NetMode::Stream, Protocol::Tcp) => Some(Traits { direction: true, zero_copy: true, ..none }),
        (NetMode::NoDrop, Protocol::Udp) => {
            Some(Traits { direction: true, segmentation: true, loss_goal: true, ..none })
        }
        (NetMode::Blast, Protocol::Udp) => Some(Traits { direction: true, segmentation: true, ..none }),
        (NetMode::Pingpong, _) => Some(Traits { wait: true, ..none }),
        (NetMode::Connect, Protocol::Tcp) => Some(none),
        (NetMode::Transfer, _) => Some(Traits { segmentation: protocol == Protocol::Udp, ..none }),
        (NetMode::Load, _) => Some(Traits { direction: true, ..none }),
        (NetMode::Stream | NetMode::Connect, Protocol::Udp) | (NetMode::NoDrop | NetMode::Blast, Protocol::Tcp) => None,
    }
}

/// What there is, for messages: `stream over tcp, pingpong over tcp and udp …`.
pub fn known_modes() -> String {
    let over = |mode: &NetMode| {
        let protocols = Protocol::ALL.iter().filter(|protocol| traits(**protocol, *mode).is_some());
        format!("{mode} over {}", protocols.map(|protocol| protocol.name()).collect::<Vec<_>>().join(" and "))
    };
    NetMode::ALL.iter().map(over).collect::<Vec<_>>().join(", ")
}

/// The bytes that a block of such an experiment may have.
pub fn block_range(protocol: Protocol, mode: NetMode) -> RangeInclusive<u64> {
    match (mode, protocol) {
        // One byte there and back shows that the connection works; more would be a ping-pong.
        (NetMode::Connect, _) => 1..=1,
        (NetMode::NoDrop | NetMode::Blast | NetMode::Transfer, Protocol::Udp) => {
            LEAST_STREAM_DATAGRAM_BYTES..=MOST_DATAGRAM_BYTES
        }
        // Of a probe: its number, and no longer than a datagram over either.
        (NetMode::Load, _) => LEAST_PROBE_BYTES..=MOST_DATAGRAM_BYTES,
        (_, Protocol::Udp) => 1..=MOST_DATAGRAM_BYTES,
        (_, Protocol::Tcp) => 1..=MOST_BLOCK_BYTES,
    }
}
