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

use core::fmt;

use model::isa::{Isa, MemoryOp};

use crate::features::{Feature, Features};
use crate::native;
use crate::rng::{GOLDEN, Rng};

/// Every loop of this architecture; for one operation and order first the one for single words, then the widest.
pub static VISIT_KERNELS: &[VisitKernel] = native::VISIT_KERNELS;

/// Bytes of a word.
pub const WORD_BYTES: usize = size_of::<u64>();
/// Bytes that the innermost loop for long blocks does at a time.
const CHUNK_BYTES: u64 = 512;
/// Bytes of a line.
const LINE_BYTES: u64 = 64;
/// Words of a line.
const LINE_WORDS: usize = 8;

/// Visits `count` blocks.
///
/// # Safety
/// The CPU must support the features that the kernel requires, and every block that `state` leads to must be valid: for
/// reads in `source` where the kernel reads, for reads and writes in `target` where it writes.
pub(crate) type Body = unsafe extern "C" fn(state: &mut State, count: u64, source: *const u64, target: *mut u64);

/// The odd numbers of the two scrambles: a round is `x ^= x >> shift; x *= odd`. They are those of 32-bit hash
/// functions of this form that were found by search (Wellons, "Prospecting for Hash Functions", nullprogram.com, 2018); that each
/// order is a permutation rests on nothing but their being odd.
macro_rules! multiplier {
    (source 0) => {
        0x21f0_aaad
    };
    (source 1) => {
        0x735a_2d97
    };
    (target 0) => {
        0x7feb_352d
    };
    (target 1) => {
        0x3184_8bab
    };
}
pub(crate) use multiplier;

/// In which order a loop visits its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// One after the other, from where [`Visitor::go_to`] has put it.
    Ascending,
    /// As a generated permutation has it, pass after pass.
    Random,
}

/// Which blocks a loop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// Single words.
    Word,
    /// Any multiple of a word.
    Any,
}

/// One row: a loop and what it declares.
#[derive(Debug)]
pub struct VisitKernel {
    /// Unique: `visits/copy/random/avx2`.
    pub name: &'static str,
    /// What is done to each block.
    pub op: MemoryOp,
    /// In which order.
    pub sequence: Sequence,
    /// For which blocks.
    pub blocks: Blocks,
    /// With which instruction set.
    pub isa: Isa,
    /// The features without which the body must not run.
    pub requires: &'static [Feature],
    /// Bytes of one load or store, but for the words at the end of a block.
    pub vector_bytes: usize,
    /// The instruction that loads so much (none: nothing is read).
    pub load: Option<&'static str>,
    /// The instruction that stores so much (none: nothing is written).
    pub store: Option<&'static str>,
    pub(crate) body: Body,
}

/// A permutation of blocks, as a number that the seed and the loop agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permuted {
    /// How many blocks, a power of two.
    pub blocks: u64,
    /// Of the order.
    pub seed: u64,
}

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

/// What a loop is given and leaves behind, in the layout that the machine code relies on.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// What the words of a line add to the content of its first.
    pub(crate) lanes: [u64; LINE_WORDS],
    /// What a line adds to the one before: eight equal words.
    pub(crate) line_step: [u64; LINE_WORDS],
    /// Sums of what was read in one call, by lanes.
    pub(crate) sums: [u64; LINE_WORDS],
    /// The sum of what was read as single words in one call.
    pub(crate) word_sum: u64,
    /// Ascending: the offset of the next block in bytes. Random: the counter whose scramble is the next block.
    pub(crate) source: u64,
    pub(crate) target: u64,
    /// Added to both from one visit to the next.
    pub(crate) step: u64,
    /// Random: the number of blocks less one, and half of its bits.
    pub(crate) mask: u64,
    pub(crate) shift: u64,
    pub(crate) block_bytes: u64,
    /// What a block consists of.
    pub(crate) chunks: u64,
    pub(crate) lines: u64,
    pub(crate) words: u64,
    /// The content at offset 0, and what it grows by from byte to byte and from word to word.
    pub(crate) first: u64,
    pub(crate) byte_step: u64,
    pub(crate) word_step: u64,
}

impl State {
    /// From block 0 on. None where the length is no multiple of a word.
    fn new(block_bytes: usize, content: Content) -> Option<Self> {
        if block_bytes == 0 || !block_bytes.is_multiple_of(WORD_BYTES) {
            return None;
        }
        let block_bytes = block_bytes as u64;
        Some(Self {
            lanes: core::array::from_fn(|lane| Content::WORD_STEP.wrapping_mul(lane as u64)),
            line_step: [Content::WORD_STEP.wrapping_mul(LINE_WORDS as u64); LINE_WORDS],
            sums: [0; LINE_WORDS],
            word_sum: 0,
            source: 0,
            target: 0,
            step: block_bytes,
            mask: 0,
            shift: 1,
            block_bytes,
            chunks: block_bytes / CHUNK_BYTES,
            lines: block_bytes % CHUNK_BYTES / LINE_BYTES,
            words: block_bytes % LINE_BYTES / WORD_BYTES as u64,
            first: content.first,
            byte_step: Content::BYTE_STEP,
            word_step: Content::WORD_STEP,
        })
    }

    /// In a generated order: counters that begin anywhere and advance by an odd number, so that each residue comes once
    /// a pass, and a bijective scramble of them.
    fn permuted(self, order: Permuted) -> Option<Self> {
        if !order.blocks.is_power_of_two() {
            return None;
        }
        let mut rng = Rng::new(order.seed);
        let (source, target, step) = (rng.next(), rng.next(), rng.next() | 1);
        let shift = u64::from(order.blocks.trailing_zeros().div_ceil(2).max(1));
        Some(Self { source, target, step, mask: order.blocks - 1, shift, ..self })
    }

    /// The block that a counter of the source stands for.
    pub(crate) fn source_block(&self, counter: u64) -> u64 {
        self.scrambled(counter, [multiplier!(source 0), multiplier!(source 1)])
    }

    /// The block that a counter of the target stands for.
    pub(crate) fn target_block(&self, counter: u64) -> u64 {
        self.scrambled(counter, [multiplier!(target 0), multiplier!(target 1)])
    }

    /// Each step is a bijection of the numbers up to the mask: the shift by exclusive or because the upper bits stay,
    /// the product because its factor is odd.
    fn scrambled(&self, counter: u64, multipliers: [u64; 2]) -> u64 {
        let mut block = counter & self.mask;
        for odd in multipliers {
            block ^= block >> self.shift;
            block = block.wrapping_mul(odd) & self.mask;
        }
        block ^ block >> self.shift
    }
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

/// What memory is filled with: the word at offset `n` bytes is `first + n * step` with an odd step, so no word occurs
/// twice below 2^61 words, and none is zero but by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    first: u64,
}

/// A word that is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongWord {
    /// Which word, from the first one compared.
    pub word: usize,
    /// What it should be.
    pub expected: u64,
    /// What is there.
    pub found: u64,
}

impl fmt::Display for WrongWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, expected, found } = self;
        write!(f, "word {word} holds {found:#x} instead of {expected:#x}")
    }
}

impl core::error::Error for WrongWord {}

impl Content {
    const BYTE_STEP: u64 = GOLDEN;
    const WORD_STEP: u64 = GOLDEN.wrapping_mul(WORD_BYTES as u64);

    /// The content of a buffer.
    pub const fn seeded(seed: u64) -> Self {
        Self { first: Rng::new(seed).next() }
    }

    /// Another content, which differs from this one in every word.
    #[must_use]
    pub const fn other(self) -> Self {
        Self { first: !self.first }
    }

    /// Word `index` of it.
    pub const fn word(self, index: usize) -> u64 {
        self.first.wrapping_add(Self::WORD_STEP.wrapping_mul(index as u64))
    }

    /// Writes it, `words` beginning at word `first` of it.
    pub fn fill(self, words: &mut [u64], first: usize) {
        let mut next = self.word(first);
        for word in words {
            *word = next;
            next = next.wrapping_add(Self::WORD_STEP);
        }
    }

    /// Compares every word with it, `words` beginning at word `first` of it.
    pub fn verify(self, words: &[u64], first: usize) -> Result<(), WrongWord> {
        let mut expected = self.word(first);
        for (word, &found) in words.iter().enumerate() {
            if found != expected {
                return Err(WrongWord { word, expected, found });
            }
            expected = expected.wrapping_add(Self::WORD_STEP);
        }
        Ok(())
    }

    /// The sum of `count` words from word `first` on, modulo 2^64.
    pub const fn sum(self, first: usize, count: usize) -> u64 {
        let count = count as u64;
        // Of two neighbours one is even.
        let pairs = if count.is_multiple_of(2) {
            (count / 2).wrapping_mul(count.wrapping_sub(1))
        } else {
            count.wrapping_mul(count.wrapping_sub(1) / 2)
        };
        count.wrapping_mul(self.word(first)).wrapping_add(Self::WORD_STEP.wrapping_mul(pairs))
    }
}

/// The whole words of a byte buffer (which starts on a word if it is page-aligned; else the ends are left out).
pub fn words(bytes: &[u8]) -> &[u64] {
    // SAFETY: any eight bytes are a valid word; `align_to` sees to alignment and bounds.
    unsafe { bytes.align_to().1 }
}

/// The whole words of a byte buffer, to be written.
pub fn words_mut(bytes: &mut [u8]) -> &mut [u64] {
    // SAFETY: as in `words`; and any word written is valid as bytes.
    unsafe { bytes.align_to_mut().1 }
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
