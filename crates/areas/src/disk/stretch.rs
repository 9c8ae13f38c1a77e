//! The stretch of its part that a thread comes back to again and again, where blocks are written anew or read anew.

use model::experiment::DiskParams;
use model::io::{DiskLayout, DiskOp};

/// The stretches of all threads together, where blocks are small: a quarter of the least memory that drives come with
/// today (64 MiB), and some thousands of blocks of 4 KiB, so that a pass takes longer than what is in flight.
const STRETCH_BYTES: u64 = 16 << 20;

/// Blocks of a stretch for each request in flight at least, so that two requests need not meet.
const BLOCKS_PER_REQUEST: u64 = 2;

/// Bytes of a request of the first visit, and how many of them at most have contents of their own.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Chunks of a stretch with contents of their own, at most.
pub const CHUNKS: usize = 16;

/// Blocks of a thread's stretch, of so many threads on the same file.
pub fn blocks(params: &DiskParams, threads: u64) -> u64 {
    let least = BLOCKS_PER_REQUEST * u64::from(params.depth);
    (STRETCH_BYTES / threads).div_ceil(params.block.max(1)).max(least)
}

/// Bytes of the memory that a thread's first visit takes; `None` where there is none.
pub fn pool_bytes(params: &DiskParams) -> Option<usize> {
    let threads = if params.layout == DiskLayout::Shared { u64::from(params.threads.max(1)) } else { 1 };
    let comes_back = matches!(params.op, DiskOp::Rewrite | DiskOp::Reread);
    comes_back.then(|| chunks_of(blocks(params, threads).saturating_mul(params.block)) * CHUNK_BYTES)
}

/// Chunks with contents of their own for a stretch of so many bytes.
pub fn chunks_of(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(CHUNK_BYTES as u64)).unwrap_or(CHUNKS).clamp(1, CHUNKS)
}
