//! The network rows of a suite: how they are written, and what `assay net` makes of `suites/net.toml`.

use std::ops::RangeInclusive;

use model::experiment::Area;
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::plan::Sampling;
use serde::Deserialize;

use super::{NET, Suite, Threads, or, sizes, some_sampling};

/// The largest block of a stream or TCP message.
pub(crate) const MOST_BLOCK_BYTES: u64 = 1 << 20;

/// The largest UDP payload over IPv4: 65535 bytes less 20 of IP header and 8 of UDP header.
pub(crate) const MOST_DATAGRAM_BYTES: u64 = 65_507;

/// The smallest datagram of a stream: its header of 24 bytes, and something to check.
pub(crate) const LEAST_STREAM_DATAGRAM_BYTES: u64 = 64;

/// The smallest probe beside a load: the number by which its answer is known.
pub(crate) const LEAST_PROBE_BYTES: u64 = 8;

/// Datagrams of a million that may be lost where a suite does not say.
pub(crate) const LOSS_GOAL_PER_MILLION: u32 = 1000;

/// A block of network experiments: every combination of its lists. What a mode does not have, its rows leave out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetStanza {
    /// Transports.
    pub protocol: Vec<Protocol>,
    /// What is done.
    pub mode: NetMode,
    /// Bytes per send, or per message.
    #[serde(deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Which way the bytes of a stream go.
    #[serde(default = "up")]
    pub direction: Vec<Direction>,
    /// Thread counts: connections, each with a thread at either end; under load, of the streams each way.
    pub threads: Vec<Threads>,
    /// Whether the sends of a TCP stream are asked to spare their copy.
    #[serde(default = "copied")]
    pub zero_copy: Vec<bool>,
    /// Who cuts large sends into datagrams.
    #[serde(default = "no_offload")]
    pub segmentation: Vec<Segmentation>,
    /// The loss that the highest rate may have, in datagrams of a million.
    #[serde(default = "loss_goal")]
    pub loss_goal: Vec<u32>,
    /// How a round trip is waited for.
    #[serde(default = "blocking")]
    pub wait: Vec<Wait>,
    /// How these rows are sampled, where not as the area.
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// The workload label in the classic tables: `TCP`, `UDP`.
    #[serde(default)]
    pub classic: Option<String>,
    /// Bytes, or round trips of a latency, that each experiment comes to over all threads.
    #[serde(default)]
    pub total: Option<f64>,
    /// Not part of `assay net` unless its mode, or a parameter that only its mode has, is asked for.
    #[serde(default)]
    pub on_request: bool,
    /// What a mode is by itself: rows that are asked for by their parameters are made of these alone, and not of those
    /// that compare blocks, directions or ways of waiting.
    #[serde(default)]
    pub base: bool,
}

fn up() -> Vec<Direction> {
    vec![Direction::Up]
}

fn copied() -> Vec<bool> {
    vec![false]
}

fn no_offload() -> Vec<Segmentation> {
    vec![Segmentation::Off]
}

fn loss_goal() -> Vec<u32> {
    vec![LOSS_GOAL_PER_MILLION]
}

fn blocking() -> Vec<Wait> {
    vec![Wait::Blocking]
}

/// Which parameters of a network experiment a mode has. One table: the plan, the choice and the refusals go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says of one parameter whether the mode has it")]
pub(crate) struct Traits {
    /// The bytes go one way, the other, or both.
    pub(crate) direction: bool,
    /// Sends can be asked to spare their copy.
    pub(crate) zero_copy: bool,
    /// Large sends can be cut into datagrams by the kernel or the device.
    pub(crate) segmentation: bool,
    /// The loss that the rate may have is a parameter.
    pub(crate) loss_goal: bool,
    /// The way of waiting is a parameter.
    pub(crate) wait: bool,
}

/// The parameters of a mode over a protocol, beside block and threads; `None` where there is no such experiment.
pub(crate) fn traits(protocol: Protocol, mode: NetMode) -> Option<Traits> {
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
pub(crate) fn known_modes() -> String {
    let over = |mode: &NetMode| {
        let protocols = Protocol::ALL.iter().filter(|protocol| traits(**protocol, *mode).is_some());
        format!("{mode} over {}", protocols.map(|protocol| protocol.name()).collect::<Vec<_>>().join(" and "))
    };
    NetMode::ALL.iter().map(over).collect::<Vec<_>>().join(", ")
}

/// The bytes that a block of such an experiment may have.
pub(crate) fn block_range(protocol: Protocol, mode: NetMode) -> RangeInclusive<u64> {
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

/// What an area's own command chooses of the network area; what is empty is as in `suites/net.toml`.
#[derive(Clone, Debug, Default)]
pub struct NetChoice {
    /// Transports.
    pub protocols: Vec<Protocol>,
    /// What is done.
    pub modes: Vec<NetMode>,
    /// Bytes per send, or per message.
    pub blocks: Vec<u64>,
    /// Which way the bytes of a stream go.
    pub directions: Vec<Direction>,
    /// Whether sends are asked to spare their copy.
    pub zero_copies: Vec<bool>,
    /// Who cuts large sends into datagrams.
    pub segmentations: Vec<Segmentation>,
    /// How a round trip is waited for.
    pub waits: Vec<Wait>,
    /// The loss that the highest rate may have, in datagrams of a million.
    pub loss_goals: Vec<u32>,
}

impl NetChoice {
    /// Whether nothing was chosen.
    fn is_open(&self) -> bool {
        let Self { protocols, modes, blocks, directions, zero_copies, segmentations, waits, loss_goals } = self;
        let lists = [protocols.is_empty(), modes.is_empty(), blocks.is_empty(), directions.is_empty()];
        let more = [zero_copies.is_empty(), segmentations.is_empty(), waits.is_empty(), loss_goals.is_empty()];
        lists.into_iter().chain(more).all(|open| open)
    }

    /// Whether the mode has every parameter that was chosen.
    fn fits(&self, protocol: Protocol, mode: NetMode) -> bool {
        let Some(traits) = traits(protocol, mode) else { return false };
        [
            (self.directions.is_empty(), traits.direction),
            (self.zero_copies.is_empty(), traits.zero_copy),
            (self.segmentations.is_empty(), traits.segmentation),
            (self.waits.is_empty(), traits.wait),
            (self.loss_goals.is_empty(), traits.loss_goal),
        ]
        .into_iter()
        .all(|(open, has)| open || has)
    }

    /// What is left of a stanza, its blocks apart; `None` where it is not meant.
    fn of(&self, stanza: &NetStanza) -> Option<NetStanza> {
        if self.is_open() {
            return (!stanza.on_request).then(|| stanza.clone());
        }
        let named = self.modes.contains(&stanza.mode);
        // What only some modes have names them as well.
        let named_by_parameter = !self.segmentations.is_empty() || !self.loss_goals.is_empty();
        let meant =
            stanza.base && (named || self.modes.is_empty()) && (named || named_by_parameter || !stanza.on_request);
        let wanted = |protocol: &Protocol| {
            (self.protocols.is_empty() || self.protocols.contains(protocol)) && self.fits(*protocol, stanza.mode)
        };
        let protocol: Vec<Protocol> = stanza.protocol.iter().copied().filter(wanted).collect();
        (meant && !protocol.is_empty()).then(|| NetStanza {
            protocol,
            direction: or(&self.directions, &stanza.direction),
            zero_copy: or(&self.zero_copies, &stanza.zero_copy),
            segmentation: or(&self.segmentations, &stanza.segmentation),
            wait: or(&self.waits, &stanza.wait),
            loss_goal: or(&self.loss_goals, &stanza.loss_goal),
            ..stanza.clone()
        })
    }

    /// Gives the stanzas the blocks that were chosen. A block that some of them can have is none of the others'; one that
    /// none can have stays, so that the plan refuses it with what there is.
    fn put_blocks(&self, stanzas: Vec<NetStanza>) -> Vec<NetStanza> {
        if self.blocks.is_empty() {
            return stanzas;
        }
        let one_protocol = |stanza: NetStanza| {
            let of = |protocol: &Protocol| NetStanza { protocol: vec![*protocol], ..stanza.clone() };
            stanza.protocol.iter().map(of).collect::<Vec<_>>()
        };
        let possible = |stanza: &NetStanza, block: &u64| {
            stanza.protocol.iter().all(|protocol| block_range(*protocol, stanza.mode).contains(block))
        };
        let apart: Vec<NetStanza> = stanzas.into_iter().flat_map(one_protocol).collect();
        let blocks = |stanza: &NetStanza| {
            let wanted = |block: &&u64| possible(stanza, block) || !apart.iter().any(|other| possible(other, block));
            self.blocks.iter().filter(wanted).copied().collect::<Vec<u64>>()
        };
        let filled = apart.iter().map(|stanza| NetStanza { block: blocks(stanza), ..stanza.clone() });
        filled.filter(|stanza| !stanza.block.is_empty()).collect()
    }

    /// Why nothing is left.
    fn refusal(&self) -> String {
        let options = [
            ("--direction", self.directions.is_empty(), Traits::has_direction as fn(Traits) -> bool),
            ("--zero-copy", self.zero_copies.is_empty(), |traits: Traits| traits.zero_copy),
            ("--segmentation", self.segmentations.is_empty(), |traits: Traits| traits.segmentation),
            ("--wait", self.waits.is_empty(), |traits: Traits| traits.wait),
            ("--loss-goal", self.loss_goals.is_empty(), |traits: Traits| traits.loss_goal),
        ];
        let chosen = options.into_iter().filter(|(_, open, _)| !open).map(|(option, _, has)| {
            let kinds =
                NetMode::ALL.iter().flat_map(|mode| Protocol::ALL.iter().map(move |protocol| (*protocol, *mode)));
            let having = kinds.filter(|(protocol, mode)| traits(*protocol, *mode).is_some_and(has));
            let words: Vec<String> = having.map(|(protocol, mode)| format!("{mode} over {protocol}")).collect();
            format!("; {option} is a choice of {}", words.join(", "))
        });
        let chosen: String = chosen.collect();
        format!("there is no network experiment of that combination; there are {}{chosen}", known_modes())
    }
}

impl Traits {
    const fn has_direction(self) -> bool {
        self.direction
    }
}

impl Suite {
    /// The suite of `assay net`.
    ///
    /// # Errors
    /// Nothing fits what was chosen.
    pub fn of_net(choice: &NetChoice) -> Result<Self, String> {
        let suite = Self::parse(NET, "net")?;
        let net = choice.put_blocks(suite.net.iter().filter_map(|stanza| choice.of(stanza)).collect());
        if net.is_empty() {
            return Err(choice.refusal());
        }
        let time_budget = suite.time_budget.filter(|_| choice.is_open());
        Ok(Self { name: Area::Net.to_string(), net, time_budget, ..suite })
    }
}
