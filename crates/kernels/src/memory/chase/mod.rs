//! The pointer chase: one node per cache line, all in random cycles, each load giving the next address.
//!
//! One chain through all nodes shows the latency of the level of the hierarchy that the buffer fills; several disjoint
//! chains show how many misses a core keeps in flight. The order is drawn with an unbiased generator, so no prefetcher
//! can follow. Each node has its rank in the order, so the end of a chase shows whether it made all of its loads.

pub(crate) mod body;

use core::ops::Range;

pub use crate::memory::chase::body::MOST_CHAINS;
use crate::memory::chase::body::{Body, ChainPlaces, steps_per_round};
use crate::memory::lines::CacheLine;
use crate::native;
use crate::rng::Rng;

macro_rules! bodies {
    ($($chains:literal)+) => { [$(native::chase::chase::<$chains>,)+] };
}

static BODIES: [Body; MOST_CHAINS] =
    bodies![1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32];

/// The order in which a chase loads the lines of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Disjoint chains, of equal length but for one line.
    pub chains: usize,
    /// Adjacent lines that are all loaded before those of the next group; `None`: the whole buffer is one
    /// group. The rest of the buffer after the last whole group is a group of its own.
    pub group: Option<usize>,
}

impl Order {
    /// One chain through all lines in random order.
    pub const RANDOM: Self = Self { chains: 1, group: None };
}

/// A buffer whose lines form cycles, and the positions of a chase in them.
#[derive(Debug)]
pub struct Chase<'a> {
    nodes: &'a mut [CacheLine],
    chains: usize,
    places: ChainPlaces,
    loads: u64,
}

/// The word of a node that holds the address of the next.
const NEXT: usize = 0;
/// The word of a node that holds its rank in the order from which all chains were cut.
const RANK: usize = 1;

/// How far ahead of the linking a node is prefetched: some hundred nanoseconds.
const FETCH_AHEAD: usize = 16;

/// A fault of a chain, or of the chase through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum Broken {
    #[error("node {0} points outside the buffer")]
    Astray(usize),
    #[error("node {found} of the order is reached, not {expected}")]
    Misplaced { expected: u64, found: u64 },
}

impl<'a> Chase<'a> {
    /// Lines of scratch memory that [`build`](Self::build) needs for this number of nodes: four bytes for each.
    pub const fn scratch_lines(nodes: usize) -> usize {
        nodes.div_ceil(CacheLine::BYTES / size_of::<u32>())
    }

    /// Links all of `nodes` into cycles drawn from `seed`, writing the first two words of each. `None` for fewer nodes
    /// than chains, no chain or more than [`MOST_CHAINS`], an empty group, more nodes than 32 bits can number, or fewer
    /// lines of `scratch` than [`scratch_lines`](Self::scratch_lines).
    ///
    /// A uniformly random order of n nodes, closed, is a uniformly random cycle: each of the (n - 1)! cycles is n
    /// orders. Unlike a walk from node to node, an order is drawn and linked without dependent memory accesses.
    pub fn build(nodes: &'a mut [CacheLine], scratch: &mut [CacheLine], order: Order, seed: u64) -> Option<Self> {
        let count = nodes.len();
        let group = order.group.unwrap_or(count);
        if !(1..=MOST_CHAINS.min(count)).contains(&order.chains) || group == 0 {
            return None;
        }
        let drawn = halves(scratch.get_mut(..Self::scratch_lines(count))?).get_mut(..count)?;
        draw(drawn, group, &mut Rng::new(seed))?;
        let mut chase = Self { nodes, chains: order.chains, places: [core::ptr::null(); MOST_CHAINS], loads: 0 };
        for chain in 0..chase.chains {
            let ranks = chase.ranks(chain);
            link(chase.nodes, drawn, ranks.clone());
            chase.places[chain] = &raw const chase.nodes[drawn[ranks.start] as usize];
        }
        Some(chase)
    }

    const fn ranks(&self, chain: usize) -> Range<usize> {
        let (each, longer) = (self.nodes.len() / self.chains, self.nodes.len() % self.chains);
        let start = chain * each + if chain < longer { chain } else { longer };
        start..start + each + if chain < longer { 1 } else { 0 }
    }

    /// The number of chains.
    pub const fn chains(&self) -> usize {
        self.chains
    }

    /// Loads of one round over all chains.
    pub const fn loads_per_round(&self) -> u64 {
        (steps_per_round(self.chains) * self.chains) as u64
    }

    /// Follows every chain for this number of rounds, from where the last chase ended.
    #[inline]
    pub fn follow(&mut self, rounds: u64) {
        // SAFETY: `build` has linked every node to a node of this buffer, which stays borrowed and unchanged, and a
        // body leaves its chains' positions at nodes.
        unsafe { BODIES[self.chains - 1](&mut self.places, rounds) };
        self.loads = self.loads.wrapping_add(rounds.wrapping_mul(steps_per_round(self.chains) as u64));
    }

    /// The index of the node at which a chain is. Panics if there is no such chain.
    pub fn position(&self, chain: usize) -> usize {
        (self.places[..self.chains][chain].addr() - self.nodes.as_ptr().addr()) / CacheLine::BYTES
    }

    /// Whether every chain is where all loads since [`build`](Self::build) lead to.
    pub fn verify_position(&self) -> Result<(), Broken> {
        (0..self.chains).try_for_each(|chain| self.has_rank(self.position(chain), chain, self.loads))
    }

    /// Whether the node at this index is where this number of loads leads to.
    fn has_rank(&self, index: usize, chain: usize, loads: u64) -> Result<(), Broken> {
        let ranks = self.ranks(chain);
        let expected = ranks.start as u64 + loads % ranks.len() as u64;
        let found = self.nodes[index].0[RANK];
        if expected == found { Ok(()) } else { Err(Broken::Misplaced { expected, found }) }
    }

    /// The node after node `index`: the oracle for the chase.
    pub fn next(&self, index: usize) -> Result<usize, Broken> {
        let offset = to_index(self.nodes[index].0[NEXT]).wrapping_sub(self.nodes.as_ptr().addr());
        let next = offset / CacheLine::BYTES;
        if offset.is_multiple_of(CacheLine::BYTES) && next < self.nodes.len() {
            Ok(next)
        } else {
            Err(Broken::Astray(index))
        }
    }

    /// Proves that every chain is one cycle through its share of the nodes and that no two chains meet: each step leads
    /// to the next rank, and after the last to the first. As slow as a chase.
    pub fn verify(&self) -> Result<(), Broken> {
        for chain in 0..self.chains {
            let mut index = self.position(chain);
            for step in 1..=self.ranks(chain).len() as u64 {
                index = self.next(index)?;
                self.has_rank(index, chain, self.loads.wrapping_add(step))?;
            }
        }
        Ok(())
    }

    /// The address of the machine code of a chase through this number of chains, and the loads of each in one iteration,
    /// for disassembly.
    pub fn code(chains: usize) -> Option<(*const u8, usize)> {
        BODIES.get(chains.checked_sub(1)?).map(|body| (*body as *const u8, steps_per_round(chains)))
    }
}

/// Draws an order of nodes: groups of adjacent nodes in a random order, and the nodes of each group too (Durstenfeld,
/// "Algorithm 235: Random permutation", Communications of the ACM 1964). `None` if an index does not fit. The rest
/// after the last whole group comes last, which loses nothing: in a cycle any group may be called the last.
fn draw(order: &mut [u32], group: usize, rng: &mut Rng) -> Option<()> {
    let count = u32::try_from(order.len()).ok()?;
    let groups = order.len() / group;
    // The order of the groups is first stored where each group will begin.
    for (place, first) in (0..groups).map(|place| place * group).zip((0..count).step_by(group)) {
        order[place] = first;
    }
    for last in (1..groups).rev() {
        order.swap(last * group, to_index(rng.below(last as u64 + 1)) * group);
    }
    let rest = groups * group;
    if let Some(first) = order.get_mut(rest) {
        *first = u32::try_from(rest).ok()?;
    }
    for members in order.chunks_mut(group) {
        let first = members[0];
        for (member, index) in members.iter_mut().zip(first..) {
            *member = index;
        }
        for last in (1..members.len()).rev() {
            members.swap(last, to_index(rng.below(last as u64 + 1)));
        }
    }
    Some(())
}

/// Closes the nodes of these ranks into a cycle.
fn link(nodes: &mut [CacheLine], order: &[u32], ranks: Range<usize>) {
    let base = nodes.as_ptr().expose_provenance() as u64;
    for rank in ranks.clone() {
        if let Some(node) = order.get(rank + FETCH_AHEAD) {
            native::chase::fetch(&raw const nodes[*node as usize]);
        }
        let next = if rank + 1 < ranks.end { rank + 1 } else { ranks.start };
        let node = &mut nodes[order[rank] as usize].0;
        node[NEXT] = base + u64::from(order[next]) * CacheLine::BYTES as u64;
        node[RANK] = rank as u64;
    }
}

fn halves(lines: &mut [CacheLine]) -> &mut [u32] {
    // SAFETY: a `CacheLine` is 64 bytes without padding, and any four bytes are a `u32`; `align_to_mut` ensures
    // alignment and bounds.
    unsafe { lines.align_to_mut().1 }
}

/// A word of a node, as an index or an address of this machine.
#[expect(clippy::cast_possible_truncation, reason = "it was widened from a usize")]
const fn to_index(word: u64) -> usize {
    word as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 50;

    fn built(nodes: &mut [CacheLine; NODES], chains: usize) -> Chase<'_> {
        let mut scratch = [CacheLine::default(); Chase::scratch_lines(NODES)];
        Chase::build(nodes, &mut scratch, Order { chains, group: None }, 1).unwrap()
    }

    #[test]
    fn a_chase_with_missing_loads_is_misplaced() {
        for chains in [1, 7, MOST_CHAINS] {
            let mut nodes = [CacheLine::default(); NODES];
            let mut chase = built(&mut nodes, chains);
            chase.follow(1);
            assert_eq!(chase.verify_position(), Ok(()));
            chase.loads += 1;
            assert!(matches!(chase.verify_position(), Err(Broken::Misplaced { .. })), "{chains} chains");
        }
    }

    #[test]
    fn a_chain_that_stood_still_among_others_is_misplaced() {
        let mut nodes = [CacheLine::default(); NODES];
        let mut chase = built(&mut nodes, 3);
        let before = chase.places[2];
        chase.follow(1);
        chase.places[2] = before;
        // Chains of 17, 17 and 16 nodes after 21 loads each.
        assert_eq!(chase.verify_position(), Err(Broken::Misplaced { expected: 34 + 21 % 16, found: 34 }));
    }

    #[test]
    fn a_broken_chain_is_recognised() {
        let mut nodes = [CacheLine::default(); NODES];
        let chase = built(&mut nodes, 1);
        let base = chase.nodes.as_ptr().addr() as u64;
        let first = chase.position(0);
        let third = chase.next(chase.next(first).unwrap()).unwrap();
        chase.nodes[third].0[NEXT] = base + (first * CacheLine::BYTES) as u64;
        assert_eq!(chase.verify(), Err(Broken::Misplaced { expected: 3, found: 0 }));
        chase.nodes[third].0[NEXT] = base + 8;
        assert_eq!(chase.verify(), Err(Broken::Astray(third)));
        chase.nodes[third].0[NEXT] = base + (NODES * CacheLine::BYTES) as u64;
        assert_eq!(chase.verify(), Err(Broken::Astray(third)));
    }
}
