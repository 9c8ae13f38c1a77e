//! Accesses to blocks of one length (a multiple of eight bytes), in ascending or in random order.
//!
//! A call continues where the last one ended. The random order is a permutation of a power of two of blocks that the loop
//! generates ([`BoundBlocks::source_block`] is its oracle), so that only the blocks are read, every block is accessed once a
//! pass, and the cost of the order can be measured alone ([`BoundBlocks::generate`]). A copy has two permutations.

pub(crate) mod content;
pub(crate) mod kernel;

use model::isa::{Isa, MemoryOp};

use crate::features::Features;
pub use crate::memory::blocks::content::{Content, WORD_BYTES, WrongWord, words, words_mut};
pub use crate::memory::blocks::kernel::{BlockKernel, Blocks, Permuted, Sequence};
use crate::memory::blocks::kernel::{Body, State};
use crate::native;

/// Every loop of this architecture; for one operation and order first the one for single words, then the widest.
pub static BLOCK_KERNELS: &[BlockKernel] = native::BLOCK_KERNELS;

impl BlockKernel {
    /// Whether blocks are read.
    pub const fn reads(&self) -> bool {
        self.load.is_some()
    }

    /// Whether blocks are written.
    pub const fn writes(&self) -> bool {
        self.store.is_some()
    }

    /// The loop for blocks of this length from the first on, for a row of [`Sequence::Ascending`]; `None` if
    /// the row does not support it, or `features` and this CPU lack what it requires.
    pub fn ascending(&'static self, features: &Features, block_bytes: usize, content: Content) -> Option<BoundBlocks> {
        self.bound(features, State::new(block_bytes, content)?, Sequence::Ascending)
    }

    /// The same for a row of [`Sequence::Random`], in this order; `None` also if the number of blocks is not a power of
    /// two.
    pub fn random(
        &'static self,
        features: &Features,
        block_bytes: usize,
        content: Content,
        order: Permuted,
    ) -> Option<BoundBlocks> {
        self.bound(features, State::new(block_bytes, content)?.permuted(order)?, Sequence::Random)
    }

    #[expect(clippy::large_types_passed_by_value, reason = "it is kept")]
    fn bound(&'static self, features: &Features, state: State, sequence: Sequence) -> Option<BoundBlocks> {
        let fits = self.sequence == sequence && self.takes(state.block_bytes) && features.usable(self.requires);
        fits.then_some(BoundBlocks { kernel: self, state, begin: [state.source, state.target] })
    }

    /// Whether this row supports blocks of this length.
    fn takes(&self, block_bytes: u64) -> bool {
        self.blocks == Blocks::Any || block_bytes == WORD_BYTES as u64
    }

    /// Whether blocks are read from the source; an increment reads the target.
    const fn reads_source(&self) -> bool {
        self.reads() && !matches!(self.op, MemoryOp::Increment)
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
) -> Option<&'static BlockKernel> {
    let fits = |kernel: &&BlockKernel| {
        kernel.takes(block_bytes as u64) && (kernel.blocks == Blocks::Word || kernel.isa == isa)
    };
    let rows = BLOCK_KERNELS.iter().filter(|kernel| kernel.op == op && kernel.sequence == sequence);
    rows.filter(fits).find(|kernel| features.has_all(kernel.requires))
}

/// The code that only generates the order of one side, or of two.
fn order(sides: usize) -> Body {
    if sides == 2 { native::blocks::order_of_two } else { native::blocks::order_of_one }
}

/// The address of the code that only generates the order of one side, or of two, for disassembly.
pub fn order_code(sides: usize) -> *const u8 {
    order(sides) as *const u8
}

/// A [`BlockKernel`] on a machine that can run it, and its position.
#[derive(Clone, Debug)]
pub struct BoundBlocks {
    kernel: &'static BlockKernel,
    state: State,
    /// The counters of source and target at the first access of a random order.
    begin: [u64; 2],
}

/// The counters are not where this number of accesses leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the block order is not at its position after {accesses} accesses")]
pub struct Astray {
    /// The number of accesses.
    pub accesses: u64,
}

impl BoundBlocks {
    /// The row.
    pub const fn kernel(&self) -> &'static BlockKernel {
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

    /// Accesses `count` blocks, from where the last call ended. A side that the row does not use may be empty. Panics if
    /// `source` or `target` is too short.
    #[inline]
    pub fn run(&mut self, count: u64, source: &[u64], target: &mut [u64]) {
        assert!(!self.kernel.reads_source() || self.fits(self.state.source, count, source.len()), "source too short");
        assert!(!self.kernel.writes() || self.fits(self.state.target, count, target.len()), "target too short");
        // SAFETY: a bound loop exists only where its features do; `fits` has verified that all blocks lie in the slices,
        // which cannot overlap.
        unsafe { (self.kernel.body)(&mut self.state, count, source.as_ptr(), target.as_mut_ptr()) };
    }

    /// Whether this number of accesses from here on stays inside `words` words.
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

    /// The block of the source that access `ordinal` of a random order reads, counted from the first: the oracle.
    pub fn source_block(&self, ordinal: u64) -> u64 {
        self.state.source_block(self.begin[0].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// The block of the target that it writes.
    pub fn target_block(&self, ordinal: u64) -> u64 {
        self.state.target_block(self.begin[1].wrapping_add(self.state.step.wrapping_mul(ordinal)))
    }

    /// Whether the counters of a random order are where this number of accesses leads, counted from the first.
    pub fn verify_place(&self, accesses: u64) -> Result<(), Astray> {
        if self.kernel.sequence == Sequence::Ascending {
            return Ok(());
        }
        let ahead = self.state.step.wrapping_mul(accesses);
        let source = if self.kernel.reads_source() { ahead } else { 0 };
        let target = if self.kernel.writes() { ahead } else { 0 };
        let expected = [self.begin[0].wrapping_add(source), self.begin[1].wrapping_add(target)];
        if [self.state.source, self.state.target] == expected { Ok(()) } else { Err(Astray { accesses }) }
    }

    /// Only generates the order of the next `count` accesses, without making them; the sum of the blocks' offsets in
    /// bytes.
    pub fn generate(&self, count: u64) -> u64 {
        let sides = usize::from(self.kernel.reads_source()) + usize::from(self.kernel.writes());
        let mut state = self.state;
        // SAFETY: these bodies require nothing, and touch no memory but the state.
        unsafe { order(sides)(&mut state, count, core::ptr::null(), core::ptr::null_mut()) };
        state.word_sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_are_an_access_short_are_detected() {
        let kernel = find(MemoryOp::Copy, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
        let order = Permuted { blocks: 64, seed: 1 };
        let mut bound = kernel.random(&Features::detect(), 8, Content::seeded(1), order).unwrap();
        let (source, mut target) = ([1; 64], [0; 64]);
        bound.run(10, &source, &mut target);
        assert_eq!(bound.verify_place(10), Ok(()));
        assert_eq!(bound.verify_place(11), Err(Astray { accesses: 11 }));
        bound.state.target = bound.state.target.wrapping_sub(bound.state.step);
        assert!(bound.verify_place(10).is_err(), "one side alone");
    }
}
