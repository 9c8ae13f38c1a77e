//! Visits to blocks of one length, in ascending or in random order: read, write, copy, and the increment of single
//! words.
//!
//! A loop visits any number of blocks in one call and carries on where the last call ended. The random order is a
//! permutation of a power of two of blocks that is generated inside the loop ([`Visitor::source_block`] says the same
//! in plain Rust), so nothing but the blocks themselves is read, every block is visited once a pass, and what the order
//! costs can be measured alone ([`Visitor::generate`]). A copy draws its source and its target from two permutations.
//!
//! Blocks are any multiple of eight bytes: 512 bytes at a time, then lines, then words. What is written is predicted by
//! [`Content`], in which no word occurs twice.

pub(crate) mod content;
pub(crate) mod kernel;

use core::fmt;

use model::isa::{Isa, MemoryOp};

use crate::features::Features;
pub use crate::memory::visits::content::{Content, WORD_BYTES, WrongWord, words, words_mut};
pub use crate::memory::visits::kernel::{Blocks, Permuted, Sequence, VisitKernel};
use crate::memory::visits::kernel::{Body, State};
use crate::native;

/// Every loop of this architecture; for one operation and order first the one for single words, then the widest.
pub static VISIT_KERNELS: &[VisitKernel] = native::VISIT_KERNELS;

impl VisitKernel {
    /// Whether blocks are read.
    pub const fn reads(&self) -> bool {
        self.load.is_some()
    }

    /// Whether blocks are written.
    pub const fn writes(&self) -> bool {
        self.store.is_some()
    }

    /// The loop ready to visit blocks of this length from the first on, for a row of [`Sequence::Ascending`]. None
    /// where the row does not do it, or `features` and this CPU lack what it requires.
    pub fn ascending(&'static self, features: &Features, block_bytes: usize, content: Content) -> Option<Visitor> {
        let state = State::new(block_bytes, content)?;
        let bound = self.sequence == Sequence::Ascending && self.takes(block_bytes) && features.usable(self.requires);
        bound.then_some(Visitor { kernel: self, state, begin: [0; 2] })
    }

    /// The same for a row of [`Sequence::Random`], in this order. None also where the number of blocks is no power of
    /// two.
    pub fn random(
        &'static self,
        features: &Features,
        block_bytes: usize,
        content: Content,
        order: Permuted,
    ) -> Option<Visitor> {
        let state = State::new(block_bytes, content)?.permuted(order)?;
        let bound = self.sequence == Sequence::Random && self.takes(block_bytes) && features.usable(self.requires);
        bound.then_some(Visitor { kernel: self, state, begin: [state.source, state.target] })
    }

    /// Whether this row is for blocks of this length.
    fn takes(&self, block_bytes: usize) -> bool {
        self.blocks == Blocks::Any || block_bytes == WORD_BYTES
    }

    /// Where the machine code begins, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }
}

/// The loop for this operation and order, for blocks of this length; of those for any block, with this instruction set.
pub fn find(
    op: MemoryOp,
    sequence: Sequence,
    isa: Isa,
    block_bytes: usize,
    features: &Features,
) -> Option<&'static VisitKernel> {
    let fits =
        |kernel: &&VisitKernel| kernel.takes(block_bytes) && (kernel.blocks == Blocks::Word || kernel.isa == isa);
    let rows = VISIT_KERNELS.iter().filter(|kernel| kernel.op == op && kernel.sequence == sequence);
    rows.filter(fits).find(|kernel| features.has_all(kernel.requires))
}

/// Where the code begins that generates the order of one side, or of two, and nothing else, for disassembly.
pub fn order_code(sides: usize) -> *const u8 {
    let body: Body = if sides == 2 { native::visits::order_of_two } else { native::visits::order_of_one };
    body as *const u8
}

/// A [`VisitKernel`] on a machine that can run it, and how far it has come.
#[derive(Clone, Debug)]
pub struct Visitor {
    kernel: &'static VisitKernel,
    state: State,
    /// The counters of source and target at the first visit of a random order.
    begin: [u64; 2],
}

/// Counters that are not where so many visits lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Astray {
    /// The visits.
    pub visits: u64,
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the order is not where {} visits lead", self.visits)
    }
}

impl core::error::Error for Astray {}

impl Visitor {
    /// The row.
    pub const fn kernel(&self) -> &'static VisitKernel {
        self.kernel
    }

    /// Puts an ascending loop before these blocks.
    #[inline]
    pub fn go_to(&mut self, source_block: usize, target_block: usize) {
        if self.kernel.sequence == Sequence::Ascending {
            self.state.source = self.state.block_bytes.wrapping_mul(source_block as u64);
            self.state.target = self.state.block_bytes.wrapping_mul(target_block as u64);
        }
    }

    /// Visits `count` blocks, from where the last call ended. A side that the row does not use may be empty.
    ///
    /// # Panics
    /// If `source` or `target` is too short.
    #[inline]
    pub fn run(&mut self, count: u64, source: &[u64], target: &mut [u64]) {
        assert!(!self.kernel.reads_source() || self.fits(self.state.source, count, source.len()), "source too short");
        assert!(!self.kernel.writes() || self.fits(self.state.target, count, target.len()), "target too short");
        // SAFETY: a visitor exists only where its features do; `fits` has seen that all blocks lie in the slices, which
        // cannot overlap.
        unsafe { (self.kernel.body)(&mut self.state, count, source.as_ptr(), target.as_mut_ptr()) };
    }

    /// Whether so many visits from here on stay inside so many words.
    #[inline]
    fn fits(&self, place: u64, count: u64, words: usize) -> bool {
        let (offset, blocks) = match self.kernel.sequence {
            Sequence::Ascending => (place, count),
            Sequence::Random => (0, self.state.mask + 1),
        };
        let end = blocks.checked_mul(self.state.block_bytes).and_then(|bytes| bytes.checked_add(offset));
        end.is_some_and(|end| end <= words as u64 * WORD_BYTES as u64)
    }

    /// The sum of all words read in the last call, modulo 2^64: what a reading loop computes.
    pub fn sum(&self) -> u64 {
        self.state.sums.iter().fold(self.state.word_sum, |sum, lane| sum.wrapping_add(*lane))
    }

    /// Which block of the source visit `ordinal` of a random order reads, counted from the first: the oracle.
    pub fn source_block(&self, ordinal: u64) -> u64 {
        self.state.source_block(self.begin[0].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// Which block of the target it writes.
    pub fn target_block(&self, ordinal: u64) -> u64 {
        self.state.target_block(self.begin[1].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// Whether the counters of a random order are where so many visits lead, counted from the first.
    pub fn verify_place(&self, visits: u64) -> Result<(), Astray> {
        if self.kernel.sequence == Sequence::Ascending {
            return Ok(());
        }
        let ahead = self.state.step.wrapping_mul(visits);
        let source = if self.kernel.reads_source() { ahead } else { 0 };
        let target = if self.kernel.writes() { ahead } else { 0 };
        let expected = [self.begin[0].wrapping_add(source), self.begin[1].wrapping_add(target)];
        if [self.state.source, self.state.target] == expected { Ok(()) } else { Err(Astray { visits }) }
    }

    /// Generates the order of the next `count` visits and does nothing else; the sum of the blocks' offsets in bytes.
    /// The visits themselves remain to be made.
    pub fn generate(&self, count: u64) -> u64 {
        let two = self.kernel.reads_source() && self.kernel.writes();
        let body: Body = if two { native::visits::order_of_two } else { native::visits::order_of_one };
        let mut state = self.state;
        // SAFETY: these bodies require nothing, and touch no memory but the state.
        unsafe { body(&mut state, count, core::ptr::null(), core::ptr::null_mut()) };
        state.word_sum
    }
}

impl VisitKernel {
    /// Whether blocks are read from the source; what is increased is read from the target.
    const fn reads_source(&self) -> bool {
        self.reads() && !matches!(self.op, MemoryOp::Increment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_are_a_visit_short_are_found() {
        let kernel = find(MemoryOp::Copy, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
        let order = Permuted { blocks: 64, seed: 1 };
        let mut visitor = kernel.random(&Features::detect(), 8, Content::seeded(1), order).unwrap();
        let (source, mut target) = ([1; 64], [0; 64]);
        visitor.run(10, &source, &mut target);
        assert_eq!(visitor.verify_place(10), Ok(()));
        assert_eq!(visitor.verify_place(11), Err(Astray { visits: 11 }));
        visitor.state.target = visitor.state.target.wrapping_sub(visitor.state.step);
        assert!(visitor.verify_place(10).is_err(), "one side alone");
    }
}
