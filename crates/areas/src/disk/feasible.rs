//! Reasons why a disk benchmark cannot be measured: its requests, its test file, the page cache.

use model::disk_target::DiskTarget;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout};
use model::machine::Machine;
use model::number::counted;
use model::plan::PlanError;
use model::unit::format_size;

use super::choice::MOST_DEPTH;
use super::footprint;
use super::room::{files_of, rounded};

/// The smallest part of a file that direct I/O reads or writes.
const SECTOR_BYTES: u64 = 512;
/// The largest request in bytes: what the kernel registers as one buffer.
const MOST_BLOCK_BYTES: u64 = 1 << 30;
/// The fewest blocks of the file for each request in flight, so that two requests seldom meet.
const BLOCKS_PER_REQUEST: u64 = 2;
/// A file in the page cache takes at most half of the available memory.
const CACHE_SHARE: u64 = 2;

pub(super) fn check_request(params: &DiskParams) -> Result<(), PlanError> {
    let DiskParams { block, depth, .. } = *params;
    if block == 0 || params.direct && !block.is_multiple_of(SECTOR_BYTES) {
        let why = "direct I/O needs multiples of 512 bytes (with --cache warm it may be any size)";
        return Err(PlanError(format!("a block of {} is not possible: {why}", format_size(block))));
    }
    if block > MOST_BLOCK_BYTES {
        let (size, most) = (format_size(block), format_size(MOST_BLOCK_BYTES));
        return Err(PlanError(format!("a block of {size} is too large: {most} is the most")));
    }
    if depth == 0 || depth > MOST_DEPTH {
        return Err(PlanError(format!("a depth of {depth} is not possible: write 1 to {MOST_DEPTH}")));
    }
    if let Some(percent) = params.load_percent.filter(|percent| !(1..=100).contains(percent)) {
        return Err(PlanError(format!("a load of {percent} % is not possible: write 1 to 100 % of the peak rate")));
    }
    Ok(())
}

/// Why the `wanted` size is too small for the requests in flight.
pub(super) fn too_small(params: &DiskParams, wanted: u64) -> Option<String> {
    too_small_for(params, wanted).map(|sentence| format!("{sentence}; choose a larger --size"))
}

/// Why the file of a benchmark is too small for its requests in flight.
pub(super) fn no_room_for(params: &DiskParams) -> Option<String> {
    too_small_for(params, params.size).map(|why| format!("{why}; there is no room for a larger one"))
}

/// Why a file of this many bytes is too small for the requests in flight.
pub fn too_small_for(params: &DiskParams, size: u64) -> Option<String> {
    let DiskParams { block, depth, threads, layout, .. } = *params;
    let threads = threads / files_of(layout, threads).max(1);
    let least = block * u64::from(depth) * u64::from(threads) * BLOCKS_PER_REQUEST;
    let whose = if threads == 1 { String::new() } else { format!(" from each of {threads} threads") };
    let (requests, block) = (counted(depth.into(), "request"), format_size(block));
    (least > size).then(|| {
        let (size, least) = (rounded(size), rounded(least));
        format!("a test file of {size} is too small for {requests} of {block} in flight{whose}: it takes {least}")
    })
}

pub(super) fn no_direct(params: &DiskParams, target: Option<&DiskTarget>) -> Option<String> {
    let target = target.filter(|_| params.direct && params.engine != DiskEngine::Null)?;
    let why = target.no_direct.as_ref()?;
    Some(format!(
        "'{}' ({}) has no direct I/O ({why}): choose --cache cold,warm for rows through the page cache, or a directory \
         on another file system with --dir",
        target.directory.display(),
        target.storage.filesystem.as_deref().unwrap_or("an unknown file system")
    ))
}

pub(super) fn too_little_cache(params: &DiskParams, machine: &Machine) -> Option<String> {
    let bytes = params.size.saturating_mul(files_of(params.layout, params.threads).into());
    let available = footprint::available_bytes(machine).filter(|_| params.cache == DiskCache::Warm)?;
    let what = if params.layout == DiskLayout::Shared { "the test file of" } else { "the test files of together" };
    (bytes > available / CACHE_SHARE).then(|| {
        let must = format!("{} must fit into half of the {} of available memory", rounded(bytes), rounded(available));
        format!("the page cache cannot be kept warm: {what} {must}; choose a smaller --size")
    })
}

/// Why a total cannot be done with a cold cache: it exceeds one pass over the file.
pub(super) fn more_than_a_pass(params: &DiskParams, exact_work: Option<f64>) -> Option<String> {
    let requests = exact_work.filter(|_| params.cache == DiskCache::Cold)?;
    let files = files_of(params.layout, params.threads);
    let blocks = (params.size / params.block.max(1)).saturating_mul(files.into());
    (requests > blocks as f64).then(|| {
        let block = format_size(params.block);
        format!(
            "the total of {requests:.0} requests of {block} is more than a test file of {} has: what is read again is \
             not cold; leave --exact-workload out, or choose a larger --size",
            rounded(params.size)
        )
    })
}
