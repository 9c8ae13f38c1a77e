//! The working sets of a benchmark on a machine.

use std::collections::BTreeMap;
use std::iter;

use kernels::handoff::HandoffLine;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, MemoryPattern};
use model::machine::Machine;
use model::number::UnitScale;
use model::unit::format_size;

use super::blocks::parts;
use super::choice::{MemoryChoice, WorkingSets};

/// Cache lines of each thread of a pair.
pub const LINES_OF_EACH: usize = 16;
/// Bytes that a pair exchanges.
pub const PAIR_BYTES: u64 = (2 * LINES_OF_EACH * size_of::<HandoffLine>()) as u64;
/// The least working set of memory, in multiples of the last-level caches: a quarter may still hit them.
pub(super) const CACHES_PER_WORKING_SET: u64 = 4;

/// Whether a benchmark is a stream with a working set that the caches hold little of, so that memory's rate limits it.
pub fn is_beyond_caches(params: &MemoryParams, cpus: &[u32], machine: &Machine) -> bool {
    let caches = machine.last_level_caches_behind(cpus).unwrap_or(0);
    MemoryOp::STREAMS.contains(&params.op) && params.working_set >= caches.saturating_mul(CACHES_PER_WORKING_SET)
}

/// A working set of our own choice takes at most half of the obtainable memory.
const AVAILABLE_SHARE: u64 = 2;
const MIB: u64 = 1 << 20;

/// Memory that a benchmark can have: of the machine, or of the node that it is bound to, where more ends in the kernel's
/// OOM killer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Obtainable {
    pub(super) bytes: Option<u64>,
    /// The node, if it has less than the machine.
    node: Option<u32>,
    by_group: bool,
}

impl Obtainable {
    pub(super) fn of(machine: &Machine, node: Option<u32>) -> Self {
        let (bytes, by_group) = (machine.memory.obtainable_bytes(), machine.memory.is_bound_by_group());
        let bound = machine.numa.iter().find(|own| Some(own.node) == node);
        match bound.and_then(|own| own.available_bytes).filter(|own| bytes.is_none_or(|all| *own < all)) {
            Some(own) => Self { bytes: Some(own), node, by_group: false },
            None => Self { bytes, node: None, by_group },
        }
    }

    /// The most that a working set of our own choice takes.
    pub(super) fn most(self) -> Option<u64> {
        self.bytes.map(|bytes| bytes / AVAILABLE_SHARE)
    }

    /// Why a working set does not fit; `None` if it does.
    pub(super) fn obstacle(self, working_set: u64) -> Option<String> {
        let bytes = self.bytes.filter(|bytes| working_set > *bytes)?;
        let (working_set, bytes) = (format_size(working_set), UnitScale::GIBIBYTES.fixed(bytes as f64, 1));
        let place = self.node.map_or_else(String::new, |node| format!(" on node {node}"));
        Some(format!("a working set of {working_set} does not fit: {bytes} of memory is available{place}"))
    }

    /// What to do for a working set of at least these bytes, if a larger one does not fit.
    pub(super) fn advice(self, needed: u64) -> Option<String> {
        let bytes = self.bytes.filter(|bytes| needed > *bytes)?;
        let (needed, bytes) = (format_size(needed), UnitScale::GIBIBYTES.fixed(bytes as f64, 1));
        Some(match (self.by_group, self.node) {
            (true, _) => format!("Raise the memory limit of the control group (memory.max): {needed} would be needed."),
            (_, Some(node)) => format!("Free memory on node {node}: {bytes} are available, {needed} would be needed."),
            _ => format!("Free memory: {bytes} are available, {needed} would be needed."),
        })
    }
}

/// The least working set that holds the largest block for each thread and array, in whole MiB.
pub(super) fn room_for_blocks(stanza: &MemoryChoice, op: MemoryOp, threads: usize, most: Option<u64>) -> u64 {
    let times = parts(op).saturating_mul(threads as u64);
    let room = |block: &u64| block.saturating_mul(times).checked_next_multiple_of(MIB);
    let rooms = stanza.block.iter().filter_map(room);
    rooms.filter(|bytes| most.is_none_or(|most| *bytes <= most)).max().unwrap_or(0)
}

/// The bytes that a working set of our own choice must exceed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    pub(super) cache_bytes: Option<u64>,
    pub(super) room: u64,
    pub(super) obtainable: Obtainable,
}

pub(super) fn working_sets(stanza: &MemoryChoice, asked: Asked) -> Vec<u64> {
    let obtainable = asked.obtainable.bytes;
    // Under load the chase has half of the working set, which must exceed the caches.
    let caches = if stanza.background.is_empty() { CACHES_PER_WORKING_SET } else { 2 * CACHES_PER_WORKING_SET };
    let caches_ask = asked.cache_bytes.unwrap_or(0).saturating_mul(caches);
    let beyond = |least: u64| {
        let bytes = least.max(caches_ask).max(asked.room);
        // Of large areas pmbw, in the classic tables, has powers of two alone.
        let power = bytes.checked_next_power_of_two().filter(|_| stanza.classic.is_some());
        let fitting = power.filter(|power| within(*power, obtainable) == *power);
        within(fitting.unwrap_or(bytes), obtainable)
    };
    match stanza.working_sets() {
        _ if stanza.only_pattern() == MemoryPattern::Pair => vec![PAIR_BYTES],
        WorkingSets::Least(least) => vec![beyond(least)],
        WorkingSets::About(bytes) => vec![bytes.min(within(bytes, obtainable).max(bytes.min(MIB)))],
        WorkingSets::Sweep { from, least } => octaves(from, beyond(least)),
        WorkingSets::Exactly(sets) => sets,
    }
}

/// The wanted bytes within half of the memory, in whole MiB.
fn within(wanted: u64, obtainable: Option<u64>) -> u64 {
    let bounded = obtainable.map_or(wanted, |obtainable| wanted.min(obtainable / AVAILABLE_SHARE));
    (bounded / MIB * MIB).max(MIB)
}

/// Sizes from the first to the last, two per octave; none within an eighth of the last.
fn octaves(first: u64, last: u64) -> Vec<u64> {
    let powers = iter::successors(Some(first.next_power_of_two()), |bytes| bytes.checked_mul(2));
    let sizes = powers.flat_map(|bytes| [bytes, bytes / 2 * 3]);
    let below = sizes.take_while(|bytes| bytes.saturating_add(bytes / 8) <= last).filter(|bytes| *bytes >= first);
    below.chain([last]).collect()
}

/// The size of each level's smallest data cache behind these CPUs, in bytes.
pub(super) fn level_bytes(machine: &Machine, cpus: &[u32]) -> Vec<u64> {
    let data = machine.caches.iter().filter(|cache| cache.kind != "instruction");
    let behind = data.filter(|cache| cpus.iter().any(|cpu| cache.cpus.contains(cpu)));
    let mut smallest: BTreeMap<u32, u64> = BTreeMap::new();
    for (level, bytes) in behind.filter_map(|cache| Some((cache.level, cache.bytes?))) {
        smallest.entry(level).and_modify(|least| *least = bytes.min(*least)).or_insert(bytes);
    }
    smallest.into_values().collect()
}

/// The working set of a curve that represents each cache level: the largest that fits into half of it.
pub(super) fn steps_of_levels(sets: &[u64], levels: &[u64]) -> Vec<u64> {
    let largest = |level: &u64| sets.iter().copied().filter(|bytes| *bytes <= level / 2).max();
    levels.iter().filter_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::stanza;
    use crate::tests::machine_with_cpus;

    #[test]
    fn a_working_set_is_four_caches_or_what_memory_allows() {
        let machine = machine_with_cpus(2);
        let gib = 1_u64 << 30;
        let obtainable = Obtainable::of(&machine, None);
        let asked = |cache| Asked { cache_bytes: Some(cache), room: 0, obtainable };
        let least = |cache| working_sets(&stanza(|_| {}), asked(cache));
        assert_eq!(least(32 << 20), [gib]);
        assert_eq!(least(gib), [4 * gib]);
        assert_eq!(least(64 * gib), [8 * gib], "half of 16 GiB");
        let classic = |cache| {
            let stanza = stanza(|stanza| stanza.classic = Some("WS".into()));
            working_sets(&stanza, asked(cache))
        };
        assert_eq!((classic(300 << 20), least(300 << 20)), (vec![2 * gib], vec![1200 << 20]), "a size that pmbw has");
        assert_eq!(classic(64 * gib), [8 * gib]);
        let exactly = |bytes| {
            let stanza = stanza(|stanza| stanza.working_sets = vec![bytes]);
            working_sets(&stanza, asked(gib))
        };
        assert_eq!((exactly(8 << 20), exactly(17 * gib)), (vec![8 << 20], vec![17 * gib]));
        assert_eq!(obtainable.obstacle(16 * gib), None);
        assert!(obtainable.obstacle(17 * gib).is_some_and(|why| why.contains("does not fit")));
    }

    #[test]
    fn a_sweep_takes_two_steps_an_octave_and_ends_beyond_the_caches() {
        assert_eq!(octaves(4 << 10, 16 << 10), [4 << 10, 6 << 10, 8 << 10, 12 << 10, 16 << 10]);
        assert_eq!(octaves(5 << 10, 14 << 10), [8 << 10, 12 << 10, 14 << 10]);
        assert_eq!(octaves(5 << 10, 13 << 10), [8 << 10, 13 << 10], "12 KiB are too close to 13 KiB");
        assert_eq!(octaves(4 << 10, 4 << 10), [4 << 10]);
        let machine = machine_with_cpus(2);
        let sweep = stanza(|stanza| stanza.sweep_from = Some(4 << 10));
        let asked = Asked { cache_bytes: Some(512 << 20), room: 0, obtainable: Obtainable::of(&machine, None) };
        let sizes = working_sets(&sweep, asked);
        assert_eq!(sizes.last(), Some(&(2 << 30)));
    }
}
