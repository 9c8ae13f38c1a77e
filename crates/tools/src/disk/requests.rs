//! What the tools that make requests to a disk have in common.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskCache, DiskEngine, DiskPattern};
use model::sample::MetricName;
use serde_json::{Map, Value};

use crate::difference::rules::{Reason, Rule, Side};
use crate::error::ToolError;
use crate::output::Reading;

/// From this size of a block on, in bytes, the pieces of memory that it consists of matter: sixteen base pages.
const MANY_PIECES: u64 = 64 << 10;
/// A base page, in bytes.
const PAGE: u64 = 4096;

/// That a tool's buffers are in base pages.
pub(super) static BASE_PAGES: Rule = Rule::new("base-pages", Some("direct, in blocks of 64 KiB or more"), Side::Slower);

/// Why a tool whose buffers are in base pages is slower with large blocks than ours, which are in pages of 2 MiB: a device
/// takes a request in one piece for each stretch of physical memory, and in several requests where there are more pieces
/// than its queue allows (`max_segments`, 128 to 254 are usual). Caused on a virtio disk of 254 segments: fio reads 1 MiB
/// at a time about twice as fast with `--iomem=mmaphuge` as without. `None` where blocks are small or go through the page cache.
pub(super) fn in_pieces(tool: &str, params: &DiskParams) -> Option<Reason> {
    (params.direct && params.block >= MANY_PIECES).then(|| {
        let pieces = params.block / PAGE;
        BASE_PAGES.says(format!(
            "{tool}'s buffers are in base pages, up to {pieces} pieces of memory for each request, ours are in pages of 2 MiB"
        ))
    })
}

/// The parameters of a benchmark of direct requests to a device, which are sent as soon as they can be.
pub(super) fn direct<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, ToolError> {
    let params = experiment.disk().ok_or_else(|| ToolError::Unsuitable(format!("{tool} measures disks")))?;
    let reason = if !params.direct || params.cache != DiskCache::Bypassed {
        "only direct I/O is compared"
    } else if params.engine == DiskEngine::Null {
        "there is no device"
    } else if params.load_percent.is_some() {
        "its requests do not wait for the moment at which they are due"
    } else {
        return Ok(params);
    };
    Err(ToolError::not_beside(tool, reason))
}

/// The same for one request at a time for each thread.
pub(super) fn one_at_a_time<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, ToolError> {
    let params = direct(tool, experiment)?;
    if params.depth > 1 {
        return Err(ToolError::not_beside(tool, "each of its threads has one request at a time"));
    }
    Ok(params)
}

/// A tool's value: requests per second where they are random, else bytes per second.
pub(super) fn reading(params: &DiskParams, iops: f64, throughput: f64, details: Map<String, Value>) -> Reading {
    let (metric, value) = match params.pattern {
        DiskPattern::Random => (MetricName::Iops, iops),
        _ => (MetricName::Throughput, throughput),
    };
    Reading { metric, value, details }
}
