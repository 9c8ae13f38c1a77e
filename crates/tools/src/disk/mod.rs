//! Tools that make requests to a disk, and what their adapters share.

pub(crate) mod fio;
pub(crate) mod ioping;
pub(crate) mod iozone;

use crate::output::{Reading, refuse_if};
use crate::tool::{Reason, Rule, Side};
use model::experiment::{DiskParams, Experiment};
use model::io::{DiskCache, DiskEngine, DiskPattern};
use model::sample::MetricName;
use serde_json::{Map, Value};

/// From this block size on, the pieces of physical memory matter: sixteen base pages.
const MANY_PIECES: u64 = 64 << 10;
const PAGE: u64 = 4096;

pub(super) static BASE_PAGES: Rule = Rule::new("base-pages", Some("direct, in blocks of 64 KiB or more"), Side::Slower);

/// Buffers in base pages are slower with large blocks: a device takes one segment per contiguous piece of memory, and splits
/// a request beyond its `max_segments` (128 to 254 are usual). On a virtio disk with 254 segments fio reads blocks of 1 MiB
/// twice as fast with `--iomem=mmaphuge`. `None` for small blocks and the page cache.
pub(super) fn in_pieces(tool: &str, params: &DiskParams) -> Option<Reason> {
    let pieces = params.block / PAGE;
    let says = format!(
        "{tool}'s buffers are in base pages, up to {pieces} pieces of memory for each request, ours are in pages of 2 MiB"
    );
    BASE_PAGES.says_if(params.direct && params.block >= MANY_PIECES, says)
}

/// The parameters of direct I/O without an offered load.
pub(super) fn direct<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, String> {
    let params = experiment.disk().ok_or_else(|| format!("{tool} measures disks"))?;
    let reasons = [
        (!params.direct || params.cache != DiskCache::Bypassed, "only direct I/O is compared"),
        (params.engine == DiskEngine::Null, "the benchmark has no device"),
        (params.load_percent.is_some(), "it has no open loop"),
    ];
    refuse_if(tool, &reasons).map(|()| params)
}

pub(super) fn one_at_a_time<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, String> {
    let params = direct(tool, experiment)?;
    refuse_if(tool, &[(params.depth > 1, "its queue depth is 1 per thread")]).map(|()| params)
}

/// The value: requests per second if random, else bytes per second.
pub(super) fn reading(params: &DiskParams, iops: f64, throughput: f64, details: Map<String, Value>) -> Reading {
    let (metric, value) = match params.pattern {
        DiskPattern::Random => (MetricName::Iops, iops),
        _ => (MetricName::Throughput, throughput),
    };
    Reading { metric, value, details }
}
