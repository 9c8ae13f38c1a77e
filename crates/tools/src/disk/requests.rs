//! What the tools that make requests to a disk have in common.

use model::experiment::{DiskParams, Experiment, Params};
use model::io::{DiskCache, DiskEngine};

/// From this size of a block on, in bytes, the pieces of memory that it lies in are worth a word: sixteen base pages.
const MANY_PIECES: u64 = 64 << 10;
/// A base page, in bytes.
const PAGE: u64 = 4096;

/// Where the buffers of a tool of base pages matter, as the table of rules has it.
pub(super) const IN_PIECES: &str = "direct, in blocks of 64 KiB or more";

/// Why a tool whose buffers are in base pages is slower with large blocks than ours, which are in pages of 2 MiB: a device
/// takes a request in one piece for each stretch of physical memory, and in several requests where there are more pieces
/// than its queue allows (`max_segments`, 128 to 254 are usual). Caused on a virtio disk of 254 segments: fio reads 1 MiB
/// at a time about twice as fast with `--iomem=mmaphuge` as without. `None` where blocks are small or go through the page cache.
pub(super) fn in_pieces(tool: &str, params: &DiskParams) -> Option<String> {
    (params.direct && params.block >= MANY_PIECES).then(|| {
        let pieces = params.block / PAGE;
        format!(
            "{tool}'s buffers are in base pages, up to {pieces} pieces of memory for each request, ours are in pages of 2 MiB"
        )
    })
}

/// Why a tool does not stand beside an experiment of its own area.
pub(super) fn not_beside(tool: &str, why: &str) -> String {
    format!("{tool} is not run beside this: {why}")
}

/// The parameters of an experiment of direct requests, one at a time for each thread, each sent when the one before it is
/// done.
///
/// # Errors
/// One sentence.
pub(super) fn one_at_a_time<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, String> {
    let Params::Disk(params) = &experiment.params else { return Err(format!("{tool} measures disks")) };
    let refuse = |why: &str| Err(not_beside(tool, why));
    if !params.direct || params.cache != DiskCache::Bypassed {
        return refuse("only direct I/O is compared");
    }
    if params.engine == DiskEngine::Null {
        return refuse("there is no device");
    }
    if params.depth > 1 {
        return refuse("each of its threads has one request at a time");
    }
    if params.load_percent.is_some() {
        return refuse("its requests do not wait for the moment at which they are due");
    }
    Ok(params)
}
