//! The network benchmarks that a suite or the user chooses, and the suite of `assay net`.

use clap::Args;
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::Deserialize;

use super::modes::{LOSS_GOAL_PER_MILLION, block_range, traits};
use crate::fields::{Threads, kept, one_or_more, or, sizes, some_sampling, usual};

/// Network benchmarks, as options of `assay net` or a `[[net]]` block of a suite: every combination of the lists.
/// A mode ignores parameters that it does not have.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetChoice {
    /// Protocols: tcp, udp [default: both].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub protocol: Vec<Protocol>,
    /// Modes: `no_drop` is the highest UDP rate within the loss goal, blast has no rate limit, load is round trips while
    /// streams run, and transfer is a fixed amount in each direction.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Modes: stream, no_drop, blast, pingpong, connect, load, transfer")]
    #[serde(deserialize_with = "one_or_more")]
    pub mode: Vec<NetMode>,
    /// Send and message sizes [default: 128KiB streams, 1472B datagrams, 1B round trips].
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    #[serde(deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Directions of streams: up (to the server), down, both [default: up].
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub direction: Vec<Direction>,
    /// Zero-copy sends of TCP streams: true, false [default: false].
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',', action = clap::ArgAction::Append)]
    #[serde(default = "copied")]
    pub zero_copy: Vec<bool>,
    /// Segmentation offload of datagrams: off, gso (kernel or device) [default: off].
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub segmentation: Vec<Segmentation>,
    /// Waiting for round trips: blocking, spinning (busy polling) [default: blocking].
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub wait: Vec<Wait>,
    /// Loss goals of the highest rate, in datagrams per million [default: 1000].
    #[arg(long, hide_short_help = true, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    #[serde(default = "loss_goal")]
    pub loss_goal: Vec<u32>,
    /// Thread counts: connections, each with a thread on both hosts; under load, streams in each direction.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// Their own sampling.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// The workload label in the classic tables: `TCP`, `UDP`.
    #[arg(skip)]
    pub classic: Option<String>,
    /// Bytes, or round trips of a latency, of each benchmark over all threads.
    #[arg(skip)]
    pub total: Option<f64>,
    /// Left out of `assay net` unless its mode, or a parameter of that mode alone, is chosen.
    #[arg(skip)]
    #[serde(default)]
    pub on_request: bool,
    /// Whether chosen parameters apply to it; other blocks compare blocks, directions or ways of waiting.
    #[arg(skip)]
    #[serde(default)]
    pub base: bool,
}

fn copied() -> Vec<bool> {
    vec![false]
}

fn loss_goal() -> Vec<u32> {
    vec![LOSS_GOAL_PER_MILLION]
}

impl NetChoice {
    pub(super) fn is_open(&self) -> bool {
        let Self { protocol, mode, block, direction, zero_copy, segmentation, wait, loss_goal, .. } = self;
        let of_kind = protocol.is_empty() && mode.is_empty() && block.is_empty() && direction.is_empty();
        of_kind && zero_copy.is_empty() && segmentation.is_empty() && wait.is_empty() && loss_goal.is_empty()
    }

    fn fits(&self, protocol: Protocol, mode: NetMode) -> bool {
        traits(protocol, mode).is_some_and(|traits| {
            (self.direction.is_empty() || traits.direction)
                && (self.zero_copy.is_empty() || traits.zero_copy)
                && (self.segmentation.is_empty() || traits.segmentation)
                && (self.wait.is_empty() || traits.wait)
                && (self.loss_goal.is_empty() || traits.loss_goal)
        })
    }

    fn of_each_mode(&self) -> Vec<Self> {
        self.mode.iter().map(|mode| Self { mode: vec![*mode], ..self.clone() }).collect()
    }

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
        let mut protocol = kept(&self.protocol, &block.protocol);
        protocol.retain(|protocol| self.fits(*protocol, mode));
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

    /// Sets the chosen sizes where they are possible; one that is possible nowhere stays, so that the plan refuses it.
    fn put_blocks(&self, stanzas: Vec<Self>) -> Vec<Self> {
        if self.block.is_empty() {
            return stanzas;
        }
        let one_protocol = |stanza: Self| {
            let of = |protocol: &Protocol| Self { protocol: vec![*protocol], ..stanza.clone() };
            stanza.protocol.iter().map(of).collect::<Vec<_>>()
        };
        let possible = |stanza: &Self, block: &u64| {
            let fits = |mode: &NetMode| stanza.protocol.iter().all(|one| block_range(*one, *mode).contains(block));
            stanza.mode.iter().all(fits)
        };
        let apart: Vec<Self> = stanzas.into_iter().flat_map(one_protocol).collect();
        let blocks = |stanza: &Self| {
            let wanted = |block: &&u64| possible(stanza, block) || !apart.iter().any(|other| possible(other, block));
            self.block.iter().filter(wanted).copied().collect::<Vec<u64>>()
        };
        let filled = apart.iter().map(|stanza| Self { block: blocks(stanza), ..stanza.clone() });
        filled.filter(|stanza| !stanza.block.is_empty()).collect()
    }
}
