//! Disks in the words of the field. Figures and notes are not made here.

use model::document::Row;
use model::experiment::{DiskParams, Params};
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskSync};

use super::{Axis, Label, block_words, threads};
use crate::number::size;

/// Requests in flight per thread; `None` for what is no disk row of this version.
pub(super) fn depth(row: &Row) -> Option<u32> {
    match &row.params {
        Params::Disk(params) => Some(params.depth),
        _ => None,
    }
}

/// `read`, `random 4 KiB`.
pub(super) fn label(params: &DiskParams) -> Label {
    let how = format!("{} {}", params.pattern, block_words(params.block));
    Label { what: params.op.to_string(), how, detail: String::new() }
}

/// Directory, engine, cache, synchronous writes, layout, size, and of threads and depth the one that is not the axis.
pub(super) fn aspects(params: &DiskParams, axis: Axis) -> Vec<String> {
    let other = match axis {
        Axis::Depth if params.threads == 1 => String::new(),
        Axis::Depth => threads(params.threads),
        Axis::Threads | Axis::Streams | Axis::Connections => Axis::Depth.words(params.depth),
    };
    let sync = match params.sync {
        DiskSync::None => "",
        DiskSync::Dsync => "O_DSYNC",
        DiskSync::Sync => "O_SYNC",
    };
    let layout = match params.layout {
        DiskLayout::Shared => "",
        DiskLayout::PerThread => "a file per thread",
    };
    let file = format!("{} file", size(params.size));
    [params.path.as_str(), engine_words(params.engine), access_words(params), sync, layout, &file, &other]
        .map(str::to_owned)
        .into()
}

const fn engine_words(engine: DiskEngine) -> &'static str {
    match engine {
        DiskEngine::IoUring => "io_uring",
        DiskEngine::Libaio => "libaio",
        DiskEngine::Sync => "sync threads",
        DiskEngine::Null => "no device at all",
    }
}

const fn access_words(params: &DiskParams) -> &'static str {
    match (params.direct, params.cache) {
        (true, _) => "direct",
        (false, DiskCache::Bypassed) => "buffered",
        (false, DiskCache::Cold) => "cold page cache",
        (false, DiskCache::Warm) => "warm page cache",
    }
}
