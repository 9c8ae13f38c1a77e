//! Visits to blocks of one length, in ascending or in random order: read, write, copy, and the increment of single
//! words.
//!
//! A loop visits any number of blocks in one call and continues where the last call ended. The random order is a
//! permutation of a power of two of blocks that the loop generates ([`Visitor::source_block`] is its oracle), so that
//! only the blocks are read, every block is visited once a pass, and the cost of the order can be measured alone
//! ([`Visitor::generate`]). A copy has two permutations. Blocks are multiples of eight bytes, visited in chunks of 512
//! bytes, then lines, then words.

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

    /// The loop ready to visit blocks of this length from the first on, for a row of [`Sequence::Ascending`]; `None` if
    /// the row does not support it, or `features` and this CPU lack what it requires.
    pub fn ascending(&'static self, features: &Features, block_bytes: usize, content: Content) -> Option<Visitor> {
        let state = State::new(block_bytes, content)?;
        let bound = self.sequence == Sequence::Ascending && self.takes(block_bytes) && features.usable(self.requires);
        bound.then_some(Visitor { kernel: self, state, begin: [0; 2] })
    }

    /// The same for a row of [`Sequence::Random`], in this order; `None` also if the number of blocks is not a power of
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

    /// Whether this row supports blocks of this length.
    fn takes(&self, block_bytes: usize) -> bool {
        self.blocks == Blocks::Any || block_bytes == WORD_BYTES
    }

    /// The address of the machine code, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }
}

/// The loop for this operation, order and block length; if it is for any block, with this instruction set.
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

/// The address of the code that only generates the order of one side, or of two, for disassembly.
pub fn order_code(sides: usize) -> *const u8 {
    let body: Body = if sides == 2 { native::visits::order_of_two } else { native::visits::order_of_one };
    body as *const u8
}

/// A [`VisitKernel`] on a machine that can run it, and its position.
#[derive(Clone, Debug)]
pub struct Visitor {
    kernel: &'static VisitKernel,
    state: State,
    /// The counters of source and target at the first visit of a random order.
    begin: [u64; 2],
}

/// The counters are not where this number of visits leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Astray {
    /// The number of visits.
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

    /// Moves an ascending loop to these blocks.
    #[inline]
    pub fn go_to(&mut self, source_block: usize, target_block: usize) {
        if self.kernel.sequence == Sequence::Ascending {
            self.state.source = self.state.block_bytes.wrapping_mul(source_block as u64);
            self.state.target = self.state.block_bytes.wrapping_mul(target_block as u64);
        }
    }

    /// Visits `count` blocks, from where the last call ended. A side that the row does not use may be empty. Panics if
    /// `source` or `target` is too short.
    #[inline]
    pub fn run(&mut self, count: u64, source: &[u64], target: &mut [u64]) {
        assert!(!self.kernel.reads_source() || self.fits(self.state.source, count, source.len()), "source too short");
        assert!(!self.kernel.writes() || self.fits(self.state.target, count, target.len()), "target too short");
        // SAFETY: a visitor exists only where its features do; `fits` has verified that all blocks lie in the slices,
        // which cannot overlap.
        unsafe { (self.kernel.body)(&mut self.state, count, source.as_ptr(), target.as_mut_ptr()) };
    }

    /// Whether this number of visits from here on stays inside `words` words.
    #[inline]
    fn fits(&self, place: u64, count: u64, words: usize) -> bool {
        let (offset, blocks) = match self.kernel.sequence {
            Sequence::Ascending => (place, count),
            Sequence::Random => (0, self.state.mask + 1),
        };
        let end = blocks.checked_mul(self.state.block_bytes).and_then(|bytes| bytes.checked_add(offset));
        end.is_some_and(|end| end <= words as u64 * WORD_BYTES as u64)
    }

    /// The sum of all words read in the last call, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.state.sums.iter().fold(self.state.word_sum, |sum, lane| sum.wrapping_add(*lane))
    }

    /// The block of the source that visit `ordinal` of a random order reads, counted from the first: the oracle.
    pub fn source_block(&self, ordinal: u64) -> u64 {
        self.state.source_block(self.begin[0].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// The block of the target that it writes.
    pub fn target_block(&self, ordinal: u64) -> u64 {
        self.state.target_block(self.begin[1].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// Whether the counters of a random order are where this number of visits leads, counted from the first.
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

    /// Only generates the order of the next `count` visits, without making them; the sum of the blocks' offsets in
    /// bytes.
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
    /// Whether blocks are read from the source; an increment reads the target.
    const fn reads_source(&self) -> bool {
        self.reads() && !matches!(self.op, MemoryOp::Increment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_are_a_visit_short_are_detected() {
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
