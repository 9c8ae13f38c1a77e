//! Accesses to blocks in plain Rust.

use core::slice;

use model::isa::Isa;
use model::isa::MemoryOp::{self, Copy, Read, Write};

use crate::memory::blocks::content::WORD_BYTES;
use crate::memory::blocks::kernel::Sequence::{Ascending, Random};
use crate::memory::blocks::kernel::{BlockKernel, Blocks, Moves, State};

/// The two orders, as parameters of a function.
const ASCENDING: bool = false;
const RANDOM: bool = true;

#[expect(clippy::cast_possible_truncation, reason = "offsets of words that the caller has in memory")]
const fn to_words(bytes: u64) -> usize {
    bytes as usize / WORD_BYTES
}

/// The first word of the next block of the source.
fn next_source<const ORDER: bool>(state: &mut State) -> usize {
    let place = state.source;
    state.source = place.wrapping_add(state.step);
    to_words(if ORDER == RANDOM { state.source_block(place).wrapping_mul(state.block_bytes) } else { place })
}

fn next_target<const ORDER: bool>(state: &mut State) -> usize {
    let place = state.target;
    state.target = place.wrapping_add(state.step);
    to_words(if ORDER == RANDOM { state.target_block(place).wrapping_mul(state.block_bytes) } else { place })
}

/// # Safety
/// As [`crate::memory::blocks::kernel::Body`].
unsafe extern "C" fn read<const ORDER: bool>(state: &mut State, count: u64, source: *const u64, _: *mut u64) {
    let words = to_words(state.block_bytes);
    let mut sum = 0_u64;
    for _ in 0..count {
        let first = next_source::<ORDER>(state);
        // SAFETY: the caller promises that every block can be read.
        let block = unsafe { slice::from_raw_parts(source.add(first), words) };
        sum = block.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
    }
    state.sums.fill(0);
    state.word_sum = sum;
}

/// # Safety
/// As [`crate::memory::blocks::kernel::Body`].
unsafe extern "C" fn write<const ORDER: bool>(state: &mut State, count: u64, _: *const u64, target: *mut u64) {
    let words = to_words(state.block_bytes);
    for _ in 0..count {
        let first = next_target::<ORDER>(state);
        // SAFETY: the caller promises that every block can be written.
        let block = unsafe { slice::from_raw_parts_mut(target.add(first), words) };
        let mut value = state.first.wrapping_add(state.word_step.wrapping_mul(first as u64));
        for word in block {
            *word = value;
            value = value.wrapping_add(state.word_step);
        }
    }
}

/// # Safety
/// As [`crate::memory::blocks::kernel::Body`].
unsafe extern "C" fn copy<const ORDER: bool>(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
    let words = to_words(state.block_bytes);
    for _ in 0..count {
        let (from, to) = (next_source::<ORDER>(state), next_target::<ORDER>(state));
        // SAFETY: the caller promises that every block can be read and written; source and target do not overlap.
        unsafe { source.add(from).copy_to_nonoverlapping(target.add(to), words) };
    }
}

/// # Safety
/// As [`crate::memory::blocks::kernel::Body`].
unsafe extern "C" fn increment<const ORDER: bool>(state: &mut State, count: u64, _: *const u64, target: *mut u64) {
    let words = to_words(state.block_bytes);
    for _ in 0..count {
        let first = next_target::<ORDER>(state);
        // SAFETY: the caller promises that every block can be read and written.
        let block = unsafe { slice::from_raw_parts_mut(target.add(first), words) };
        for word in block {
            *word = word.wrapping_add(1);
        }
    }
}

/// Generates the order of the source and sums the blocks' offsets. Safety: nothing is required; the signature is that
/// of the other bodies.
#[allow(dead_code, reason = "folders of machine code have their own")]
pub(crate) unsafe extern "C" fn order_of_one(state: &mut State, count: u64, _: *const u64, _: *mut u64) {
    state.word_sum = 0;
    for _ in 0..count {
        let offset = core::hint::black_box(next_source::<RANDOM>(state)) * WORD_BYTES;
        state.word_sum = state.word_sum.wrapping_add(offset as u64);
    }
}

/// Generates the orders of both sides and sums the blocks' offsets. Safety: nothing is required; the signature is that
/// of the other bodies.
#[allow(dead_code, reason = "folders of machine code have their own")]
pub(crate) unsafe extern "C" fn order_of_two(state: &mut State, count: u64, _: *const u64, _: *mut u64) {
    state.word_sum = 0;
    for _ in 0..count {
        let words = core::hint::black_box(next_source::<RANDOM>(state) + next_target::<RANDOM>(state));
        state.word_sum = state.word_sum.wrapping_add((words * WORD_BYTES) as u64);
    }
}

pub(super) static KERNELS: &[BlockKernel] = &[
    INCREMENT.row("blocks/read/ascending/portable", Read, Ascending, LOADS, read::<ASCENDING>),
    INCREMENT.row("blocks/read/random/portable", Read, Random, LOADS, read::<RANDOM>),
    INCREMENT.row("blocks/write/ascending/portable", Write, Ascending, STORES, write::<ASCENDING>),
    INCREMENT.row("blocks/write/random/portable", Write, Random, STORES, write::<RANDOM>),
    INCREMENT.row("blocks/copy/ascending/portable", Copy, Ascending, BOTH, copy::<ASCENDING>),
    INCREMENT.row("blocks/copy/random/portable", Copy, Random, BOTH, copy::<RANDOM>),
    INCREMENT,
];

const LOADS: Moves = (Some("portable"), None);
const STORES: Moves = (None, Some("portable"));
const BOTH: Moves = (Some("portable"), Some("portable"));

const INCREMENT: BlockKernel = BlockKernel {
    name: "blocks/increment/random/portable",
    op: MemoryOp::Increment,
    sequence: Random,
    blocks: Blocks::Any,
    isa: Isa::Scalar,
    requires: &[],
    vector_bytes: WORD_BYTES,
    load: BOTH.0,
    store: BOTH.1,
    body: increment::<RANDOM>,
};
