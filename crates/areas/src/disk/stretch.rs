//! The stretch of a file that a thread accesses repeatedly in `rewrite` and `reread`.

use model::experiment::DiskParams;
use model::io::{DiskLayout, DiskOp};

/// All stretches of small blocks: a quarter of today's smallest drive cache (64 MiB), and thousands of 4 KiB blocks.
const STRETCH_BYTES: u64 = 16 << 20;
/// The fewest blocks of a stretch for each request in flight, so that two requests do not meet.
const BLOCKS_PER_REQUEST: u64 = 2;
/// Bytes of a request of the first pass.
pub const CHUNK_BYTES: usize = 1 << 20;
/// The most chunks of a stretch with contents of their own.
pub const CHUNKS: usize = 16;

/// Blocks of a thread's stretch if this many threads share the file.
pub fn blocks(params: &DiskParams, threads: u64) -> u64 {
    let least = BLOCKS_PER_REQUEST * u64::from(params.depth);
    (STRETCH_BYTES / threads).div_ceil(params.block.max(1)).max(least)
}

/// Bytes of memory for a thread's first pass, if there is one.
pub fn pool_bytes(params: &DiskParams) -> Option<usize> {
    let threads = if params.layout == DiskLayout::Shared { u64::from(params.threads.max(1)) } else { 1 };
    let comes_back = matches!(params.op, DiskOp::Rewrite | DiskOp::Reread);
    comes_back.then(|| chunks_of(blocks(params, threads).saturating_mul(params.block)) * CHUNK_BYTES)
}

/// Chunks with contents of their own in a stretch of this many bytes.
pub fn chunks_of(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(CHUNK_BYTES as u64)).unwrap_or(CHUNKS).clamp(1, CHUNKS)
}
