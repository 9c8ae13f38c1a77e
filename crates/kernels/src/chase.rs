//! The pointer chase: one node per cache line, all of them in a single random cycle, each load giving the next address.
//!
//! The time of one load is the latency of whatever level of the hierarchy the buffer fills. A prefetcher cannot follow:
//! the cycle is drawn with Sattolo's algorithm and an unbiased generator, so every order of lines is equally likely.
//! Each node also knows its place in the cycle, so where a chase ended tells whether it made all of its loads.

use core::fmt;

use crate::lines::Line;
use crate::native;
use crate::rng::Rng;

/// A body: follows the chain for `rounds` times [`Cycle::LOADS_PER_ROUND`] loads and returns where it stands.
///
/// # Safety
/// The word at `start` must hold the address of a word that holds such an address, and so on.
pub(crate) type Body = unsafe extern "C" fn(start: *const Line, rounds: u64) -> *const Line;

/// A buffer whose lines form one cycle, and how far a chase has come in it.
#[derive(Debug)]
pub struct Cycle<'a> {
    nodes: &'a mut [Line],
    /// The node at which the chase stands.
    position: usize,
    /// Loads made since node 0.
    loads: u64,
}

/// The word of a node that holds the address of the next.
const NEXT: usize = 0;
/// The word of a node that holds its rank: how many loads after node 0 the cycle comes to it.
const RANK: usize = 1;

/// What is wrong with a cycle, or with the chase through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The node at this index holds no address of a node.
    Astray(usize),
    /// The cycle through the first node closes after this many of all the nodes.
    Short(usize),
    /// A node of another rank than the number of loads says was reached.
    Misplaced {
        /// The rank of the node that so many loads lead to.
        expected: u64,
        /// The rank of the node reached.
        found: u64,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Astray(index) => write!(f, "node {index} points outside the buffer"),
            Self::Short(nodes) => write!(f, "the cycle closes after {nodes} nodes"),
            Self::Misplaced { expected, found } => write!(f, "node {found} of the cycle is reached, not {expected}"),
        }
    }
}

impl core::error::Error for Broken {}

impl<'a> Cycle<'a> {
    /// Dependent loads per round: enough to hide the end of the loop, which runs beside them.
    pub const LOADS_PER_ROUND: u64 = 64;

    /// Links all of `nodes` into one cycle drawn from `seed`, writing the first two words of each; the others stay as
    /// they are. None where there are no nodes, or fewer `links` than nodes.
    ///
    /// `links` is scratch: shuffling and ranking go through its four bytes per node, which for a buffer of four times
    /// the last-level cache still lie in that cache, rather than through the nodes.
    pub fn build(nodes: &'a mut [Line], links: &mut [u32], seed: u64) -> Option<Self> {
        let links = links.get_mut(..nodes.len())?;
        let base = nodes.first()?.0.as_ptr().expose_provenance();
        sattolo(links, seed)?;
        for (node, link) in nodes.iter_mut().zip(&*links) {
            node.0[NEXT] = base as u64 + u64::from(*link) * Line::BYTES as u64;
        }
        links_to_ranks(links);
        for (node, rank) in nodes.iter_mut().zip(&*links) {
            node.0[RANK] = u64::from(*rank);
        }
        Some(Self { nodes, position: 0, loads: 0 })
    }

    /// Follows the chain for `rounds` rounds of [`Self::LOADS_PER_ROUND`] loads each, from where the last chase ended.
    #[inline]
    pub fn chase(&mut self, rounds: u64) {
        // SAFETY: `build` has linked every node to a node of this buffer, which stays borrowed and unchanged.
        let end = unsafe { native::chase::chase(&raw const self.nodes[self.position], rounds) };
        self.position = (end.addr() - self.nodes.as_ptr().addr()) / Line::BYTES;
        self.loads = self.loads.wrapping_add(rounds.wrapping_mul(Self::LOADS_PER_ROUND));
    }

    /// The node at which the chase stands.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Whether the chase stands where all the loads asked for since [`build`](Self::build) lead to.
    pub fn verify_position(&self) -> Result<(), Broken> {
        let expected = self.loads % self.nodes.len() as u64;
        let found = self.nodes[self.position].0[RANK];
        if expected == found { Ok(()) } else { Err(Broken::Misplaced { expected, found }) }
    }

    /// The node that follows node `index`: the naive step, and the oracle for the chase.
    pub fn next(&self, index: usize) -> Result<usize, Broken> {
        let offset = to_index(self.nodes[index].0[NEXT]).wrapping_sub(self.nodes.as_ptr().addr());
        let next = offset / Line::BYTES;
        if offset.is_multiple_of(Line::BYTES) && next < self.nodes.len() {
            Ok(next)
        } else {
            Err(Broken::Astray(index))
        }
    }

    /// Proves that the nodes form one cycle through all of them: the walk from the first returns to it after exactly as
    /// many steps as there are nodes. (A repeated node would have made it return never or sooner.) As slow as a chase.
    pub fn verify(&self) -> Result<(), Broken> {
        let mut index = 0;
        for visited in 1..=self.nodes.len() {
            index = self.next(index)?;
            if index == 0 && visited < self.nodes.len() {
                return Err(Broken::Short(visited));
            }
        }
        if index == 0 { Ok(()) } else { Err(Broken::Short(self.nodes.len())) }
    }

    /// Where the machine code of the chase begins, for disassembly.
    pub fn code() -> *const u8 {
        let body: Body = native::chase::chase;
        body as *const u8
    }
}

/// Fills `links` with a permutation that is one cycle, each equally likely (Sattolo, "An algorithm to generate a random
/// cyclic permutation", Information Processing Letters 1986). None where the indices do not fit.
fn sattolo(links: &mut [u32], seed: u64) -> Option<()> {
    let count = u32::try_from(links.len()).ok()?;
    for (link, index) in links.iter_mut().zip(0..count) {
        *link = index;
    }
    let mut rng = Rng::new(seed);
    for last in (1..links.len()).rev() {
        links.swap(last, to_index(rng.below(last as u64)));
    }
    Some(())
}

/// Replaces each link of a cycle by the number of links that lead to it from index 0.
fn links_to_ranks(links: &mut [u32]) {
    let mut index = 0;
    for rank in 0..u32::try_from(links.len()).unwrap_or(u32::MAX) {
        index = core::mem::replace(&mut links[index], rank) as usize;
    }
}

/// A word of a node, as an index or an address of this machine.
#[expect(clippy::cast_possible_truncation, reason = "it was widened from a usize")]
const fn to_index(word: u64) -> usize {
    word as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_that_made_too_few_loads_is_misplaced() {
        let (mut nodes, mut links) = ([Line::default(); 50], [0; 50]);
        let mut cycle = Cycle::build(&mut nodes, &mut links, 1).unwrap();
        cycle.chase(1);
        assert_eq!(cycle.verify_position(), Ok(()));
        cycle.loads += 1;
        assert_eq!(cycle.verify_position(), Err(Broken::Misplaced { expected: 15, found: 14 }));
    }

    #[test]
    fn a_broken_cycle_is_recognised() {
        let (mut nodes, mut links) = ([Line::default(); 50], [0; 50]);
        let cycle = Cycle::build(&mut nodes, &mut links, 1).unwrap();
        let base = cycle.nodes.as_ptr().addr() as u64;
        let third = cycle.next(cycle.next(0).unwrap()).unwrap();
        cycle.nodes[third].0[NEXT] = base;
        assert_eq!(cycle.verify(), Err(Broken::Short(3)));
        cycle.nodes[third].0[NEXT] = base + 8;
        assert_eq!(cycle.verify(), Err(Broken::Astray(third)));
        cycle.nodes[third].0[NEXT] = base + 50 * 64;
        assert_eq!(cycle.verify(), Err(Broken::Astray(third)));
    }
}
