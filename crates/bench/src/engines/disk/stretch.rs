//! The stretch of its part that a thread comes back to again and again, where blocks are written anew or read anew, and
//! its first visit, which nothing counts.
//!
//! What such rows stand for: what the memory of a drive, of a controller or of a host adds to blocks that were touched a
//! moment before.

use std::io;
use std::path::Path;

use areas::disk::stretch::{CHUNK_BYTES, blocks, chunks_of};
use model::experiment::DiskParams;
use model::io::{DiskLayout, DiskOp, DiskSync};
use sys::queue::{Engine, Options, Queue, Request};

use super::contents::{Origin, SECTOR_BYTES, Unit};
use super::lane::{Access, Job};
use super::visits::Span;
use super::{traffic, trouble};

/// The stretch of a thread; `None` where the whole of its part is visited.
pub(super) fn of_thread(job: &Job, params: &DiskParams, thread: u64, seed: u64) -> Option<Span> {
    if !matches!(job.op, DiskOp::Rewrite | DiskOp::Reread) {
        return None;
    }
    // In a file of its own a thread is the only one.
    let shared = params.layout == DiskLayout::Shared;
    let threads = if shared { u64::from(params.threads.max(1)) } else { 1 };
    let part = if shared { thread } else { 0 };
    // A place of its own in each launch and thread; other draws of the same seed come from the seed itself.
    let seed = seed.rotate_left(31).wrapping_add(thread);
    Some(Span::part(threads, part, job.blocks()).stretch(blocks(params, threads), seed))
}

/// Writes or reads every block of a stretch once. Not timed. What is written counts as laid out: the windows' own writes
/// are told from it.
///
/// # Errors
/// A request that failed or moved too little, or data that is not what was written.
pub(super) fn visit(job: &Job, stretch: Span) -> Result<(), String> {
    let block = u64::from(job.block);
    let (mut offset, end) = (stretch.first * block, (stretch.first + stretch.count) * block);
    let failed = |offset, bytes, why: &str| trouble::failed(&job.held, job.op.writes(), bytes, offset, why);
    let chunks = chunks_of(end - offset);
    let mut queue = open(job, chunks).map_err(|error| failed(offset, block, &trouble::words(&error)))?;
    let mut done = Vec::with_capacity(1);
    for slot in (0..chunks).cycle() {
        let length = usize::try_from(end - offset).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        if length == 0 {
            break;
        }
        let buffer = slot * CHUNK_BYTES;
        if let Some(part) = queue.arena_part(buffer..buffer + length).filter(|_| job.op.writes()) {
            let first = u32::try_from(buffer / SECTOR_BYTES).unwrap_or(0);
            job.contents.stamp(part, first, offset, Unit::of_blocks(block), Origin::default());
        }
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let moved = queue
            .push(Request { token: 0, write: job.op.writes(), offset, buffer, bytes })
            .and_then(|()| queue.wait(1, &mut done))
            .and_then(|()| done.pop().map_or(Ok(0), |completion| completion.result))
            .map_err(|error| failed(offset, bytes.into(), &trouble::words(&error)))?;
        if moved != bytes {
            return Err(failed(offset, bytes.into(), &format!("only {moved} bytes were moved")));
        }
        if let Some(part) = queue.arena_part(buffer..buffer + length) {
            job.contents.check_place(part, offset).map_err(|wrong| wrong.to_string())?;
        }
        traffic::asked_for(job.op.writes(), bytes.into());
        offset += u64::from(bytes);
    }
    Ok(())
}

/// A queue for large requests, one at a time, that wait for no medium.
fn open(job: &Job, chunks: usize) -> io::Result<Queue> {
    let access = Access { sync: DiskSync::None, ..job.access };
    let file = access.open(Path::new(&job.held.path), job.op.writes())?;
    let options = Options { engine: Engine::Sync, depth: 1, arena_bytes: chunks * CHUNK_BYTES };
    let mut queue = Queue::open(file, &options)?;
    if job.op.writes() {
        job.contents.fill(queue.arena(), 0);
    }
    Ok(queue)
}
