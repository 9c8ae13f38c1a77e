//! The network benchmarks that a suite or the user chooses.

use clap::Args;
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::Deserialize;

use super::modes::{LOSS_GOAL_PER_MILLION, Traits, block_range, known_modes, traits};
use crate::fields::{Threads, one_or_more, or, sizes, some_sampling};

/// Network benchmarks: every combination of the lists. Options of `assay net` and a `[[net]]` block of a suite have the same
/// fields; an option that is not given is an empty list. What a mode does not have, its benchmarks leave out.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetChoice {
    /// Transports: tcp, udp.
    #[arg(long, value_delimiter = ',')]
    pub protocol: Vec<Protocol>,
    /// What is done: stream (tcp), `no_drop` (udp, the highest rate within a loss goal), blast (udp, as much as goes),
    /// pingpong, connect (tcp), load (round trips while streams run), transfer (a fixed amount there and back).
    #[arg(long, value_delimiter = ',')]
    #[serde(deserialize_with = "one_or_more")]
    pub mode: Vec<NetMode>,
    /// Bytes per send, or per message; by default 128KiB in a stream, 1472B in a datagram and 1 byte there and back.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    #[serde(deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Which way the bytes of a stream go: up (to the server), down, both at once.
    #[arg(long, value_delimiter = ',')]
    #[serde(default = "up")]
    pub direction: Vec<Direction>,
    /// Whether the sends of a TCP stream are asked to spare their copy: true, false.
    #[arg(long, value_name = "BOOL,…", value_delimiter = ',', action = clap::ArgAction::Append)]
    #[serde(default = "copied")]
    pub zero_copy: Vec<bool>,
    /// Who cuts datagrams from large sends: off (one system call a batch of them), gso (the kernel or the device).
    #[arg(long, value_delimiter = ',')]
    #[serde(default = "no_offload")]
    pub segmentation: Vec<Segmentation>,
    /// How a round trip is waited for: blocking (asleep), spinning (asking again and again).
    #[arg(long, value_delimiter = ',')]
    #[serde(default = "blocking")]
    pub wait: Vec<Wait>,
    /// Datagrams of a million that the highest rate may lose: 0, 1, 1000 or any other number below a million.
    #[arg(long, value_name = "PPM,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    #[serde(default = "loss_goal")]
    pub loss_goal: Vec<u32>,
    /// Thread counts: connections, each with a thread at either end; under load, of the streams each way.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// How these benchmarks are sampled, where not as the area.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// The workload label in the classic tables: `TCP`, `UDP`.
    #[arg(skip)]
    #[serde(default)]
    pub classic: Option<String>,
    /// Bytes, or round trips of a latency, of each benchmark over all threads.
    #[arg(skip)]
    #[serde(default)]
    pub total: Option<f64>,
    /// Not part of `assay net` unless its mode, or a parameter that only its mode has, is asked for.
    #[arg(skip)]
    #[serde(default)]
    pub on_request: bool,
    /// What a mode is by itself: benchmarks that are asked for by their parameters are made of these alone, and not of those
    /// that compare blocks, directions or ways of waiting.
    #[arg(skip)]
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

impl NetChoice {
    /// Whether nothing was chosen.
    pub(super) fn is_open(&self) -> bool {
        let lists = [self.protocol.is_empty(), self.mode.is_empty(), self.block.is_empty(), self.direction.is_empty()];
        let more = [self.zero_copy.is_empty(), self.segmentation.is_empty(), self.wait.is_empty()];
        lists.into_iter().chain(more).all(|open| open) && self.loss_goal.is_empty()
    }

    /// Whether the mode has every parameter that was chosen.
    fn fits(&self, protocol: Protocol, mode: NetMode) -> bool {
        let Some(traits) = traits(protocol, mode) else { return false };
        [
            (self.direction.is_empty(), traits.direction),
            (self.zero_copy.is_empty(), traits.zero_copy),
            (self.segmentation.is_empty(), traits.segmentation),
            (self.wait.is_empty(), traits.wait),
            (self.loss_goal.is_empty(), traits.loss_goal),
        ]
        .into_iter()
        .all(|(open, has)| open || has)
    }

    /// One choice for each mode.
    fn of_each_mode(&self) -> Vec<Self> {
        self.mode.iter().map(|mode| Self { mode: vec![*mode], ..self.clone() }).collect()
    }

    /// The blocks of a suite narrowed to these options.
    pub(super) fn narrowed(&self, blocks: &[Self]) -> Vec<Self> {
        let left = blocks.iter().flat_map(Self::of_each_mode).filter_map(|block| self.left_of(&block));
        self.put_blocks(left.collect())
    }

    /// A block of one mode narrowed to these options except sizes; `None` if nothing is left.
    fn left_of(&self, block: &Self) -> Option<Self> {
        if self.is_open() {
            return (!block.on_request).then(|| block.clone());
        }
        let mode = *block.mode.first()?;
        let named = self.mode.contains(&mode);
        // A parameter of some modes selects them.
        let named_by_parameter = !self.segmentation.is_empty() || !self.loss_goal.is_empty();
        let meant = block.base && (named || self.mode.is_empty()) && (named || named_by_parameter || !block.on_request);
        let wanted = |protocol: &Protocol| {
            (self.protocol.is_empty() || self.protocol.contains(protocol)) && self.fits(*protocol, mode)
        };
        let protocol: Vec<Protocol> = block.protocol.iter().copied().filter(wanted).collect();
        (meant && !protocol.is_empty()).then(|| Self {
            protocol,
            direction: or(&self.direction, &block.direction),
            zero_copy: or(&self.zero_copy, &block.zero_copy),
            segmentation: or(&self.segmentation, &block.segmentation),
            wait: or(&self.wait, &block.wait),
            loss_goal: or(&self.loss_goal, &block.loss_goal),
            ..block.clone()
        })
    }

    /// Sets the chosen sizes wherever they are possible; a size that is possible nowhere stays everywhere, so that the plan
    /// refuses it.
    fn put_blocks(&self, stanzas: Vec<Self>) -> Vec<Self> {
        if self.block.is_empty() {
            return stanzas;
        }
        let one_protocol = |stanza: Self| {
            let of = |protocol: &Protocol| Self { protocol: vec![*protocol], ..stanza.clone() };
            stanza.protocol.iter().map(of).collect::<Vec<_>>()
        };
        let possible = |stanza: &Self, block: &u64| {
            stanza
                .mode
                .iter()
                .all(|mode| stanza.protocol.iter().all(|protocol| block_range(*protocol, *mode).contains(block)))
        };
        let apart: Vec<Self> = stanzas.into_iter().flat_map(one_protocol).collect();
        let blocks = |stanza: &Self| {
            let wanted = |block: &&u64| possible(stanza, block) || !apart.iter().any(|other| possible(other, block));
            self.block.iter().filter(wanted).copied().collect::<Vec<u64>>()
        };
        let filled = apart.iter().map(|stanza| Self { block: blocks(stanza), ..stanza.clone() });
        filled.filter(|stanza| !stanza.block.is_empty()).collect()
    }

    /// The error if nothing is left.
    pub(super) fn refusal(&self) -> String {
        let options = [
            ("--direction", self.direction.is_empty(), (|traits: Traits| traits.direction) as fn(Traits) -> bool),
            ("--zero-copy", self.zero_copy.is_empty(), |traits: Traits| traits.zero_copy),
            ("--segmentation", self.segmentation.is_empty(), |traits: Traits| traits.segmentation),
            ("--wait", self.wait.is_empty(), |traits: Traits| traits.wait),
            ("--loss-goal", self.loss_goal.is_empty(), |traits: Traits| traits.loss_goal),
        ];
        let chosen = options.into_iter().filter(|(_, open, _)| !open).map(|(option, _, has)| {
            let kinds =
                NetMode::ALL.iter().flat_map(|mode| Protocol::ALL.iter().map(move |protocol| (*protocol, *mode)));
            let having = kinds.filter(|(protocol, mode)| traits(*protocol, *mode).is_some_and(has));
            let words: Vec<String> = having.map(|(protocol, mode)| format!("{mode} over {protocol}")).collect();
            format!("; {option} applies to {}", words.join(", "))
        });
        let chosen: String = chosen.collect();
        format!("there is no network benchmark of that combination; there are {}{chosen}", known_modes())
    }
}
