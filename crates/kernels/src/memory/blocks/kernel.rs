//! A row of the table of block loops, and the input of its machine code.

use model::isa::{Isa, MemoryOp};

use crate::features::Feature;
use crate::memory::blocks::content::{Content, WORD_BYTES};
use crate::rng::Rng;

/// Bytes per iteration of the innermost loop for long blocks.
const CHUNK_BYTES: u64 = 512;
const LINE_BYTES: u64 = 64;
const LINE_WORDS: usize = 8;

/// Accesses `count` blocks. Safety: the CPU must support the features that the kernel requires, and every block that
/// `state` leads to must be valid: for reads in `source` if the kernel reads, for reads and writes in `target` if it
/// writes.
pub(crate) type Body = unsafe extern "C" fn(state: &mut State, count: u64, source: *const u64, target: *mut u64);

/// The odd numbers of the two scrambles: a round is `x ^= x >> shift; x *= odd`. They are those of 32-bit hash
/// functions of this form that were found by search (Wellons, "Prospecting for Hash Functions", nullprogram.com, 2018);
/// any odd number gives a permutation.
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

/// The order in which a loop accesses its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// One after the other, from the position set by `BoundBlocks::go_to`.
    Ascending,
    /// In a generated permutation, pass after pass.
    Random,
}

/// The blocks that a loop supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// Single words.
    Word,
    /// Any multiple of a word.
    Any,
}

/// One row: a loop and its declaration.
#[derive(Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct BlockKernel {
    /// Unique: `blocks/copy/random/avx2`.
    pub name: &'static str,
    pub op: MemoryOp,
    pub sequence: Sequence,
    pub blocks: Blocks,
    pub isa: Isa,
    pub requires: &'static [Feature],
    /// Bytes of one load or store, but for the words at the end of a block.
    pub vector_bytes: usize,
    /// The instruction that loads these (`None`: nothing is read).
    pub load: Option<&'static str>,
    /// The instruction that stores these (`None`: nothing is written).
    pub store: Option<&'static str>,
    pub(crate) body: Body,
}

/// The mnemonics of loads and stores.
pub(crate) type Moves = (Option<&'static str>, Option<&'static str>);

impl BlockKernel {
    /// A row of another operation and order.
    pub(crate) const fn row(
        self,
        name: &'static str,
        op: MemoryOp,
        sequence: Sequence,
        (load, store): Moves,
        body: Body,
    ) -> Self {
        Self { name, op, sequence, load, store, body, ..self }
    }
}

/// A permutation of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permuted {
    /// The number of blocks, a power of two.
    pub blocks: u64,
    /// The seed of the order.
    pub seed: u64,
}

/// The input and output of a loop, in the layout that the machine code relies on.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The difference of each word of a line from its first.
    pub(crate) lanes: [u64; LINE_WORDS],
    /// The difference of a line from the one before: eight equal words.
    pub(crate) line_step: [u64; LINE_WORDS],
    /// Sums of the words read in one call, by lane.
    pub(crate) sums: [u64; LINE_WORDS],
    /// The sum of the single words read in one call.
    pub(crate) word_sum: u64,
    /// Ascending: the offset of the next block in bytes. Random: the counter whose scramble is the next block.
    pub(crate) source: u64,
    pub(crate) target: u64,
    /// Added to both from one access to the next.
    pub(crate) step: u64,
    /// Random: the number of blocks less one, and half of its bits.
    pub(crate) mask: u64,
    pub(crate) shift: u64,
    pub(crate) block_bytes: u64,
    pub(crate) chunks: u64,
    pub(crate) lines: u64,
    pub(crate) words: u64,
    /// The content at offset 0, and its growth from byte to byte and from word to word.
    pub(crate) first: u64,
    pub(crate) byte_step: u64,
    pub(crate) word_step: u64,
}

impl State {
    /// From block 0 on; `None` if the length is not a multiple of a word.
    pub(crate) fn new(block_bytes: usize, content: Content) -> Option<Self> {
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

    /// In a generated order: counters with random starts and an odd step, so that each residue occurs once a pass, and
    /// a bijective scramble of them.
    pub(crate) fn permuted(self, order: Permuted) -> Option<Self> {
        if !order.blocks.is_power_of_two() {
            return None;
        }
        let mut rng = Rng::new(order.seed);
        let (source, target, step) = (rng.next(), rng.next(), rng.next() | 1);
        let shift = u64::from(order.blocks.trailing_zeros().div_ceil(2).max(1));
        Some(Self { source, target, step, mask: order.blocks - 1, shift, ..self })
    }

    /// The block of a counter of the source.
    pub(crate) fn source_block(&self, counter: u64) -> u64 {
        self.scrambled(counter, [multiplier!(source 0), multiplier!(source 1)])
    }

    /// The block of a counter of the target.
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
