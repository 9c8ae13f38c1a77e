//! The memory of a disk benchmark: buffers of requests, pools of data to write, read-back, histograms.
//!
//! Lanes allocate these sizes, and the plan skips a benchmark for which memory is too small.

use model::experiment::DiskParams;
use model::io::{DiskEngine, DiskOp};
use model::machine::Machine;

pub use super::room::PAGE_BYTES;
use super::room::{files_of, rounded};
use super::stretch;

const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// The largest arena of blocking calls in base pages.
const MOST_BASE_PAGES_BYTES: u64 = 256 << 10;
/// Bytes of a histogram of durations: 32 ranges of 1024 counts, the first of 2048.
pub const HISTOGRAM_BYTES: u64 = (32 + 1) * 1024 * size_of::<u64>() as u64;
/// The most bytes that are read back at a time.
pub const READ_BACK_BYTES: usize = 1 << 20;
/// Bytes of one write while laying out a test file, except for the first ones.
pub const LAYOUT_CHUNK_BYTES: u64 = 1 << 20;
/// Writes of a layout in flight.
pub const LAYOUT_DEPTH: u32 = 8;
const LAYOUT_POOL_CHUNKS: u64 = 64;
/// The most files that are laid out at the same time, each with its own memory.
pub const FILES_AT_ONCE: u32 = 8;
/// The pool of data to write, over all lanes: more than any file system compresses at once (ZFS records have up to 16 MiB).
const POOL_BYTES: usize = 64 << 20;
const LEAST_POOL_BYTES: usize = 2 << 20;
/// Stack and allocator memory of a thread: 40 KiB on the build machine.
const THREAD_BYTES: u64 = 64 << 10;
/// A benchmark takes at most half of the available memory.
const MEMORY_SHARE: u64 = 2;
/// The most threads for blocking calls, well below the system's limit (`kernel.threads-max`).
const MOST_BLOCKING_THREADS: u64 = 4096;

#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    pub threads: u32,
    pub of_thread: u32,
    pub depth: u32,
}

impl Lanes {
    /// One lane of the whole depth per thread, or one per request in flight for blocking calls.
    pub fn of(params: &DiskParams, blocking: bool) -> Self {
        let (of_thread, depth) = if blocking { (params.depth, 1) } else { (1, params.depth) };
        Self { threads: params.threads, of_thread, depth }
    }

    fn all(self) -> u64 {
        u64::from(self.threads) * u64::from(self.of_thread)
    }
}

/// Bytes from one block in memory to the next: whole pages, since devices may require aligned addresses.
pub fn stride(block: u64) -> usize {
    usize::try_from(block).unwrap_or(usize::MAX).next_multiple_of(PAGE_BYTES)
}

/// Sizes of a lane's memory, the best first: a buffer for each read in flight; for writes a large pool, or a small one that
/// more limits allow to register. Mixed operations have their read buffers in the pool.
pub fn arenas(op: DiskOp, block: u64, lanes: Lanes) -> Vec<usize> {
    let in_flight = lanes.depth as usize * stride(block);
    if !op.writes() {
        return vec![in_flight];
    }
    let reads = if op.reads() { in_flight } else { 0 };
    let share = POOL_BYTES / usize::try_from(lanes.all()).unwrap_or(usize::MAX).max(1);
    let least = (LEAST_POOL_BYTES / lanes.of_thread.max(1) as usize).max(reads + 2 * in_flight);
    if share > least { vec![share, least] } else { vec![least] }
}

/// The same for a lane that measures the loop without a device.
pub fn arenas_of_loop(op: DiskOp, block: u64, depth: u32) -> Vec<usize> {
    let mut all = arenas(op, block, Lanes { threads: 1, of_thread: 1, depth });
    all.split_off(all.len().saturating_sub(1))
}

/// Bytes of the pool for laying out a file of this many bytes.
pub fn layout_pool_bytes(file_bytes: u64) -> usize {
    let chunks = LAYOUT_POOL_CHUNKS.min(file_bytes.div_ceil(LAYOUT_CHUNK_BYTES)).max(u64::from(LAYOUT_DEPTH));
    usize::try_from(chunks * LAYOUT_CHUNK_BYTES).unwrap_or(usize::MAX)
}

/// Bytes of memory of an arena: in huge pages, or in base pages of this size if it is small and for blocking calls.
pub fn arena_takes(engine: DiskEngine, arena_bytes: usize, base_page_bytes: u64) -> u64 {
    let bytes = arena_bytes.max(1) as u64;
    let in_base_pages = engine == DiskEngine::Sync && bytes <= MOST_BASE_PAGES_BYTES;
    let page = if in_base_pages { base_page_bytes } else { HUGE_PAGE_BYTES };
    bytes.checked_next_multiple_of(page).unwrap_or(u64::MAX)
}

/// Why blocking calls are impossible: they take a thread for each request in flight.
pub fn too_many_threads(params: &DiskParams) -> Option<String> {
    let DiskParams { threads, depth, .. } = *params;
    (Lanes::of(params, true).all() > MOST_BLOCKING_THREADS).then(|| {
        format!(
            "{threads} threads with a depth of {depth} are too many for the engine sync, which takes a thread for each \
             request in flight: {MOST_BLOCKING_THREADS} is the most"
        )
    })
}

pub(super) fn too_little_memory(params: &DiskParams, machine: &Machine) -> Option<String> {
    let needed = of_row(params, machine.memory.page_bytes.unwrap_or(PAGE_BYTES as u64));
    let available = available_bytes(machine)?;
    (needed > available / MEMORY_SHARE).then(|| {
        format!("the requests in flight need {} of memory, and {} are available", rounded(needed), rounded(available))
    })
}

/// Memory that a benchmark can use. What its control group uses is not subtracted: most of it may be page cache.
pub(super) fn available_bytes(machine: &Machine) -> Option<u64> {
    machine.memory.available_bytes.into_iter().chain(machine.memory.limit_bytes).min()
}

/// The most bytes at the same time: while files are laid out, or while it measures.
fn of_row(params: &DiskParams, base_page_bytes: u64) -> u64 {
    let files = files_of(params.layout, params.threads).min(FILES_AT_ONCE);
    let laying_out = u64::from(files) * layout_pool_bytes(params.size) as u64;
    while_measuring(params, base_page_bytes).max(if params.engine == DiskEngine::Null { 0 } else { laying_out })
}

fn while_measuring(params: &DiskParams, base_page_bytes: u64) -> u64 {
    let takes = |engine, bytes| arena_takes(engine, bytes, base_page_bytes);
    let lanes = Lanes::of(params, params.engine == DiskEngine::Sync);
    // A ring tries the small arena while it still holds the large one.
    let tried = if params.engine == DiskEngine::IoUring { 2 } else { 1 };
    let arenas = arenas(params.op, params.block, lanes).into_iter().take(tried);
    let arenas: u64 = arenas.map(|bytes| takes(params.engine, bytes)).sum();
    let histograms = if params.op.reads() && params.op.writes() { 3 } else { 1 };
    let of_lane = arenas + histograms * HISTOGRAM_BYTES + THREAD_BYTES;
    let device = params.engine != DiskEngine::Null;
    let reader = READ_BACK_BYTES.min(stride(params.block));
    let read_back = if params.op.writes() && device { takes(DiskEngine::Sync, reader) } else { 0 };
    let first_pass = stretch::pool_bytes(params).filter(|_| device).map_or(0, |bytes| takes(DiskEngine::Sync, bytes));
    // The loop without a device is measured while the lanes exist, with at most a page per request.
    let of_loop = arenas_of_loop(params.op, params.block.min(PAGE_BYTES as u64), lanes.depth);
    let of_loop: u64 = of_loop.iter().map(|bytes| takes(DiskEngine::Null, *bytes)).sum();
    let of_thread = read_back + first_pass + of_loop + 2 * HISTOGRAM_BYTES;
    lanes.all() * of_lane + u64::from(lanes.threads) * of_thread
}

#[cfg(test)]
mod tests {
    use model::io::DiskLayout;

    use super::*;
    use crate::tests::{disk_params, machine_with_cpus};

    const MIB: u64 = 1 << 20;

    fn row(engine: DiskEngine, op: DiskOp, block: u64, (threads, depth): (u32, u32)) -> DiskParams {
        DiskParams { engine, op, block, threads, size: 64 * MIB, ..disk_params(depth) }
    }

    #[test]
    fn the_pool_is_shared_out_over_the_lanes_of_a_thread_as_over_threads() {
        let pool = |op, block, (threads, depth), blocking| {
            let lanes = Lanes::of(&row(DiskEngine::Sync, op, block, (threads, depth)), blocking);
            (arenas(op, block, lanes), lanes.all())
        };
        let mib = 1 << 20;
        // A ring has one lane for each thread.
        assert_eq!(pool(DiskOp::Read, 4096, (2, 32), false), (vec![32 * 4096], 2));
        assert_eq!(pool(DiskOp::Write, 4096, (1, 32), false), (vec![64 * mib, 2 * mib], 1));
        assert_eq!(pool(DiskOp::Write, 4096, (64, 32), false), (vec![2 * mib], 64));
        assert_eq!(pool(DiskOp::Write, mib as u64, (1, 64), false), (vec![128 * mib], 1));
        assert_eq!(pool(DiskOp::Mixed, mib as u64, (1, 64), false), (vec![192 * mib], 1));
        // Blocking calls have one for each request in flight.
        assert_eq!(pool(DiskOp::Read, 512, (8, 64), true), (vec![4096], 512));
        assert_eq!(pool(DiskOp::Write, 4096, (8, 64), true), (vec![128 << 10, 32 << 10], 512));
        assert_eq!(pool(DiskOp::Write, 4096, (4, 1024), true), (vec![16 << 10, 8 << 10], 4096));
        assert_eq!(pool(DiskOp::Mixed, 4096, (4, 1024), true), (vec![16 << 10, 12 << 10], 4096));
        assert_eq!(pool(DiskOp::Write, mib as u64, (1, 64), true), (vec![2 * mib], 64));
    }

    #[test]
    fn what_a_row_takes_is_buffers_as_they_are_rounded_pools_and_what_counts() {
        let takes = |op, block, shape| while_measuring(&row(DiskEngine::Sync, op, block, shape), 4096) / MIB;
        // Of each lane a page, its counts and its thread; of the loop a huge page.
        let lanes = |lane_bytes: u64| 512 * (lane_bytes + THREAD_BYTES) / MIB + 8 * 2;
        let near =
            |found: u64, wanted: u64| assert!((wanted..wanted + 8).contains(&found), "{found} MiB, not {wanted}");
        near(takes(DiskOp::Read, 4096, (8, 64)), lanes(4096 + HISTOGRAM_BYTES));
        near(takes(DiskOp::Write, 4096, (8, 64)), lanes((128 << 10) + HISTOGRAM_BYTES));
        near(takes(DiskOp::Mixed, 4096, (8, 64)), lanes((128 << 10) + 3 * HISTOGRAM_BYTES));
        let large_pages = while_measuring(&row(DiskEngine::Sync, DiskOp::Read, 4096, (8, 64)), 64 << 10) / MIB;
        near(large_pages, lanes((64 << 10) + HISTOGRAM_BYTES));
        // A block that is larger than small memory takes whole huge pages.
        near(takes(DiskOp::Read, 512 << 10, (8, 64)), lanes(2 * MIB + HISTOGRAM_BYTES));
        let ring = |op, shape| while_measuring(&row(DiskEngine::IoUring, op, 4096, shape), 4096) / MIB;
        assert_eq!((ring(DiskOp::Read, (1, 32)), ring(DiskOp::Write, (1, 32))), (4, 68));
        assert!(ring(DiskOp::Read, (1024, 1)) >= 1024 * 4, "a huge page for each thread, and one for its loop");
        assert_eq!(while_measuring(&row(DiskEngine::Null, DiskOp::Write, 4096, (1, 1)), 4096) / MIB, 66);
        let reread = |threads| while_measuring(&row(DiskEngine::IoUring, DiskOp::Reread, 4096, (threads, 1)), 4096);
        let read = |threads| while_measuring(&row(DiskEngine::IoUring, DiskOp::Read, 4096, (threads, 1)), 4096);
        assert_eq!([1, 8, 64].map(|threads| (reread(threads) - read(threads)) / MIB), [16, 16, 128]);
        let eight = DiskParams { layout: DiskLayout::PerThread, ..row(DiskEngine::Sync, DiskOp::Read, 4096, (64, 1)) };
        assert_eq!(of_row(&eight, 4096), 8 * 64 * MIB, "eight files are laid out at the same time");
        assert!(of_row(&DiskParams { engine: DiskEngine::Null, ..eight }, 4096) < 8 * 64 * MIB, "none is");
    }

    #[test]
    fn a_row_that_takes_more_than_half_of_the_memory_is_reported_so() {
        let mut machine = machine_with_cpus(2);
        machine.memory.available_bytes = Some(4096 * MIB);
        let reported = |op, shape| too_little_memory(&row(DiskEngine::Sync, op, 4096, shape), &machine);
        assert_eq!(reported(DiskOp::Mixed, (8, 64)), None);
        let sentence = reported(DiskOp::Mixed, (4, 1024)).unwrap();
        assert_eq!(sentence, "the requests in flight need 3.4 GiB of memory, and 4.0 GiB are available");
        let large = row(DiskEngine::IoUring, DiskOp::Read, 1 << 30, (1, 2));
        assert!(too_little_memory(&large, &machine).is_some());
        machine.memory.limit_bytes = Some(100 * MIB);
        let in_group = too_little_memory(&row(DiskEngine::IoUring, DiskOp::Write, 4096, (1, 1)), &machine).unwrap();
        assert!(in_group.ends_with("and 100 MiB are available"), "a control group's limit counts: {in_group}");
        (machine.memory.available_bytes, machine.memory.limit_bytes) = (None, None);
        assert_eq!(too_little_memory(&large, &machine), None, "nothing is known");
    }
}
