//! The stretch that a thread accesses again and again, where blocks are rewritten or reread, and its first pass, which does not
//! count. Such benchmarks show what the memory of a drive, a controller or a host adds to recently used blocks.

use std::io;

use areas::disk::stretch::{CHUNK_BYTES, blocks, chunks_of};
use model::experiment::DiskParams;
use model::io::{DiskLayout, DiskOp, DiskSync};
use sys::queue::{Engine, Options, Queue, Request};

use super::contents::{Origin, SECTOR_BYTES, SectorKind};
use super::lane::{Access, Job};
use super::order::Span;
use super::{layout, traffic, trouble};

/// The stretch of a thread, unless its whole part is accessed.
pub(super) fn of_thread(job: &Job, params: &DiskParams, thread: u64, seed: u64) -> Option<Span> {
    if !matches!(job.op, DiskOp::Rewrite | DiskOp::Reread) {
        return None;
    }
    // In a file of its own the thread is the only one.
    let shared = params.layout == DiskLayout::Shared;
    let threads = if shared { u64::from(params.threads.max(1)) } else { 1 };
    let part = if shared { thread } else { 0 };
    // A position of its own in each process run and thread; other draws use the seed itself.
    let seed = seed.rotate_left(31).wrapping_add(thread);
    Some(Span::part(threads, part, job.blocks()).stretch(blocks(params, threads), seed))
}

/// Writes or reads every block of a stretch once, untimed. Written bytes do not count as those of windows.
pub(super) fn first_pass(job: &Job, stretch: Span) -> Result<(), String> {
    let block = u64::from(job.block);
    let (mut offset, end) = (stretch.first * block, (stretch.first + stretch.count) * block);
    let failed = |offset, bytes, why: &str| trouble::failed(&job.held, job.op.writes(), bytes, offset, why);
    let chunks = chunks_of(end - offset);
    let mut queue = open(job, chunks).map_err(|error| failed(offset, block, &trouble::words(&error)))?;
    for slot in (0..chunks).cycle() {
        let length = usize::try_from(end - offset).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        if length == 0 {
            break;
        }
        let buffer = slot * CHUNK_BYTES;
        if let Some(part) = queue.arena_part(buffer..buffer + length).filter(|_| job.op.writes()) {
            let first = u32::try_from(buffer / SECTOR_BYTES).unwrap_or(0);
            job.contents.stamp(part, first, offset, SectorKind::of_blocks(block), Origin::default());
        }
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let request = Request { token: 0, write: job.op.writes(), offset, buffer, bytes };
        let moved = layout::carry_out(&mut queue, request)
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

fn open(job: &Job, chunks: usize) -> io::Result<Queue> {
    let access = Access { sync: DiskSync::None, ..job.access };
    let file = access.open(job.held.path.as_ref(), job.op.writes())?;
    let options = Options { engine: Engine::Sync, depth: 1, arena_bytes: chunks * CHUNK_BYTES };
    let mut queue = Queue::open(file, &options)?;
    if job.op.writes() {
        job.contents.fill(queue.arena(), 0);
    }
    Ok(queue)
}
