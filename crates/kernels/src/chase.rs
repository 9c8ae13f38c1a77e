//! The pointer chase: one node per cache line, all of them in a single random cycle, each load giving the next address.
//!
//! The time of one load is the latency of whatever level of the hierarchy the buffer fills. A prefetcher cannot follow:
//! the cycle is drawn with Sattolo's algorithm and an unbiased generator, so every order of lines is equally likely.

use core::fmt;

use crate::lines::Line;
use crate::native;
use crate::rng::Rng;

/// A body: follows the chain for `rounds` times [`Cycle::LOADS_PER_ROUND`] loads and returns where it stands.
///
/// # Safety
/// The word at `start` must hold the address of a word that holds such an address, and so on.
pub(crate) type Body = unsafe extern "C" fn(start: *const Line, rounds: u64) -> *const Line;

/// A buffer whose lines form one cycle, and the place where the chase stands in it.
#[derive(Debug)]
pub struct Cycle<'a> {
    /// Word 0 of each line is the address of the next.
    nodes: &'a mut [Line],
    position: usize,
}

/// Why a buffer is no single cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The node at this index holds no address of a node.
    Astray(usize),
    /// The cycle through the first node closes after this many of all the nodes.
    Short(usize),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Astray(index) => write!(f, "node {index} points outside the buffer"),
            Self::Short(nodes) => write!(f, "the cycle closes after {nodes} nodes"),
        }
    }
}

impl core::error::Error for Broken {}

impl<'a> Cycle<'a> {
    /// Dependent loads per round: enough to hide the end of the loop, which runs beside them.
    pub const LOADS_PER_ROUND: u64 = 64;

    /// Links all of `nodes` into one cycle drawn from `seed`, writing the first word of each; the others stay as they
    /// are. None where there are no nodes.
    ///
    /// Sattolo's algorithm in place: the links are indices while they are shuffled, addresses afterwards.
    pub fn build(nodes: &'a mut [Line], seed: u64) -> Option<Self> {
        let base = nodes.first()?.0.as_ptr().expose_provenance();
        for (index, node) in nodes.iter_mut().enumerate() {
            node.0[0] = index as u64;
        }
        let mut rng = Rng::new(seed);
        for last in (1..nodes.len()).rev() {
            let other = to_index(rng.below(last as u64));
            let link = nodes[last].0[0];
            nodes[last].0[0] = nodes[other].0[0];
            nodes[other].0[0] = link;
        }
        for node in nodes.iter_mut() {
            node.0[0] = (base + to_index(node.0[0]) * Line::BYTES) as u64;
        }
        Some(Self { nodes, position: 0 })
    }

    /// Follows the chain for `rounds` rounds of [`Self::LOADS_PER_ROUND`] loads each, from where the last chase ended.
    #[inline]
    pub fn chase(&mut self, rounds: u64) {
        // SAFETY: `build` has linked every node to a node of this buffer, which stays borrowed and unchanged.
        let end = unsafe { native::chase::chase(&raw const self.nodes[self.position], rounds) };
        self.position = (end.addr() - self.nodes.as_ptr().addr()) / Line::BYTES;
    }

    /// The node at which the chase stands.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// The node that follows node `index`: the naive step, and the oracle for the chase.
    pub fn next(&self, index: usize) -> Result<usize, Broken> {
        let offset = to_index(self.nodes[index].0[0]).wrapping_sub(self.nodes.as_ptr().addr());
        let next = offset / Line::BYTES;
        if offset.is_multiple_of(Line::BYTES) && next < self.nodes.len() {
            Ok(next)
        } else {
            Err(Broken::Astray(index))
        }
    }

    /// Proves that the nodes form one cycle through all of them: the walk from the first returns to it after exactly as
    /// many steps as there are nodes. (A repeated node would have made it return never or sooner.)
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

/// A word of a node, as an index or an address of this machine.
#[expect(clippy::cast_possible_truncation, reason = "it was widened from a usize")]
const fn to_index(word: u64) -> usize {
    word as usize
}
