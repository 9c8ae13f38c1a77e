//! Rows of disks and their figures as sentences have them.

use model::document::Row;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskLayout, DiskOp, DiskSync};
use model::sample::MetricName;
use model::unit::Unit;

use super::super::words::{capital, prefixed, time};
use super::super::{basis, size};

/// `842 MB/s`.
pub(super) fn rate_words(bytes_per_second: f64) -> String {
    prefixed(bytes_per_second, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// `68.7 thousand requests/s`.
pub(super) fn requests(per_second: f64) -> String {
    prefixed(per_second, &[(1e6, "million requests/s"), (1e3, "thousand requests/s"), (1.0, "requests/s")])
}

/// A row's headline with what it rests on: `68.7 thousand requests/s (n=9, ±1.1 %)`.
pub(super) fn figure(row: &Row) -> Option<String> {
    let metric = row.metrics.first()?;
    let value = match metric.unit {
        Unit::PerSecond => requests(metric.summary.median),
        _ => rate_words(metric.summary.median),
    };
    Some(format!("{value} ({})", basis(metric)))
}

/// A row's bytes per second with what they rest on.
pub(super) fn throughput(row: &Row) -> Option<String> {
    let metric = row.metric(MetricName::Throughput)?;
    Some(format!("{} ({})", rate_words(metric.summary.median), basis(metric)))
}

/// A row's latency with what it rests on.
pub(super) fn latency(row: &Row) -> Option<String> {
    let metric = row.metric(MetricName::Latency)?;
    Some(format!("{} ({})", time(metric.summary.median), basis(metric)))
}

/// `sequential reads`.
pub(super) fn act(params: &DiskParams) -> String {
    let what = match params.op {
        DiskOp::Read => "reads",
        DiskOp::Write => "writes",
        DiskOp::Mixed => "reads and writes in turn",
        DiskOp::Rewrite => "rewrites",
        DiskOp::Reread => "rereads",
    };
    format!("{} {what}", params.pattern)
}

/// What else there is to say of how requests are made: what is more than one request of one thread.
pub(super) fn how(params: &DiskParams) -> String {
    let sync = match params.sync {
        DiskSync::None => "",
        DiskSync::Dsync => " to the medium (O_DSYNC)",
        DiskSync::Sync => " to the medium (O_SYNC)",
    };
    let cache = match params.cache {
        DiskCache::Bypassed => "",
        DiskCache::Cold => " through a cold page cache",
        DiskCache::Warm => " through a warm page cache",
    };
    let layout = match params.layout {
        DiskLayout::Shared => "",
        DiskLayout::PerThread => " on a file per thread",
    };
    let depth = if params.depth > 1 { format!(" at depth {}", params.depth) } else { String::new() };
    let threads = if params.threads > 1 { format!(" with {} threads", params.threads) } else { String::new() };
    format!("{sync}{cache}{layout}{depth}{threads}")
}

/// `Random reads of 4 KiB at depth 32`.
pub(super) fn name(params: &DiskParams) -> String {
    capital(&format!("{} of {}{}", act(params), size(params.block), how(params)))
}
