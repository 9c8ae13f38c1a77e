//! How quick the disk has been in this run, and what rows that were not launched yet will wait for it.
//!
//! A plan is made for a disk of today. On a slow one a row with much in flight waits for many seconds until its queue is
//! empty, which nothing can cut short: the kernel takes no request back. Rates are the highest that any row has shown so
//! far. As long as rows with fewer in flight alone have been measured they are too low, and a wait is expected to be longer
//! than it will be: then rows come later, and at the end of the time may be left out, that would have fitted. What large
//! blocks have shown says how many bytes a second there are, and not how many small requests: of those more are expected.
//! A disk of which only reads are known is expected to write like that, and the other way round.

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskOp};

/// From this block on, in bytes, the rate of requests of a row says how fast a file is read in order.
const LARGE_BLOCK_BYTES: u64 = 64 << 10;

/// What the kernel reads ahead at once unless told otherwise (`VM_READAHEAD_PAGES` of linux/mm.h), in bytes: whoever reads
/// a file in order asks for so much with each request.
const READ_AHEAD_BYTES: f64 = 131_072.0;

/// A base page, in bytes.
const PAGE_BYTES: f64 = 4096.0;

/// How often the queue is emptied in a launch at least: after a slice of warm-up, and after a window.
const EMPTIED: f64 = 2.0;

/// Requests a second of blocks smaller than any that was measured, at least: a slow disk that turns makes some more (at
/// 5400 revolutions a minute and 12 ms for a seek 57).
const SMALL_REQUESTS_PER_SECOND: f64 = 50.0;

/// The best that rows have shown so far, for reads and for writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    read: Rates,
    write: Rates,
    /// Bytes per second of reads in large blocks.
    large_reads: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    requests_per_second: f64,
    bytes_per_second: f64,
    /// Bytes of the smallest blocks that were measured; 0 where nothing is known.
    smallest: u64,
}

impl Rates {
    /// Seconds until so many requests of so many bytes each are done; 0 where nothing is known.
    fn seconds(self, requests: f64, block: u64) -> f64 {
        let at = |work: f64, rate: f64| if rate > 0.0 { work / rate } else { 0.0 };
        let least = if block < self.smallest { SMALL_REQUESTS_PER_SECOND } else { 0.0 };
        at(requests, self.requests_per_second.max(least)).max(at(requests * block as f64, self.bytes_per_second))
    }

    fn note(&mut self, block: u64, iops: f64, throughput: f64) {
        self.requests_per_second = self.requests_per_second.max(iops);
        self.bytes_per_second = self.bytes_per_second.max(throughput);
        self.smallest = if self.is_known() { self.smallest.min(block) } else { block };
    }

    fn is_known(self) -> bool {
        self.smallest > 0
    }
}

impl Pace {
    /// Learns from a sample of a row: requests and bytes a second. What the page cache did says nothing of the disk.
    pub(super) fn note(&mut self, params: &DiskParams, iops: f64, throughput: f64) {
        if params.cache == DiskCache::Warm {
            return;
        }
        // Through an empty cache no less than a page is read for a word.
        let throughput = if params.cache == DiskCache::Cold { throughput.max(iops * PAGE_BYTES) } else { throughput };
        if reads(params.op) {
            self.read.note(params.block, iops, throughput);
            if params.block >= LARGE_BLOCK_BYTES {
                self.large_reads = self.large_reads.max(throughput);
            }
        }
        if writes(params.op) {
            self.write.note(params.block, iops, throughput);
        }
    }

    /// Seconds that a launch of a row will wait for the disk beyond its windows; 0 as long as nothing is known of it.
    pub(super) fn waits_seconds(&self, params: &DiskParams) -> f64 {
        // What is kept in the cache is read whole before.
        let warm = params.cache == DiskCache::Warm;
        let cached = if warm { self.read_whole_seconds(params.size as f64) } else { 0.0 };
        EMPTIED * self.drain_seconds(params) + cached
    }

    /// Seconds in which a file of so many bytes is read in order; 0 as long as nothing is known of the disk. From small
    /// requests alone it can only be told how many the disk takes.
    fn read_whole_seconds(&self, bytes: f64) -> f64 {
        let known = self.reading();
        let by_requests = known.requests_per_second * READ_AHEAD_BYTES;
        let rate = if self.large_reads > 0.0 { self.large_reads } else { by_requests.max(known.bytes_per_second) };
        if rate > 0.0 { bytes / rate } else { 0.0 }
    }

    /// Seconds until the disk has done what a row has in flight; 0 as long as nothing is known of it.
    pub(super) fn drain_seconds(&self, params: &DiskParams) -> f64 {
        let in_flight = f64::from(params.depth) * f64::from(params.threads);
        let of = |rates: Rates| rates.seconds(in_flight, params.block);
        let read = if reads(params.op) { of(self.reading()) } else { 0.0 };
        let write = if writes(params.op) { of(self.writing()) } else { 0.0 };
        read.max(write)
    }

    fn reading(&self) -> Rates {
        if self.read.is_known() { self.read } else { self.write }
    }

    fn writing(&self) -> Rates {
        if self.write.is_known() { self.write } else { self.read }
    }
}

fn reads(op: DiskOp) -> bool {
    matches!(op, DiskOp::Read | DiskOp::Reread | DiskOp::Mixed)
}

fn writes(op: DiskOp) -> bool {
    matches!(op, DiskOp::Write | DiskOp::Rewrite | DiskOp::Mixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::disk_params;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
    }

    #[test]
    fn a_queue_is_waited_for_by_its_requests_or_by_its_bytes() {
        let mut pace = Pace::default();
        let row = |op, block, depth| DiskParams { op, block, threads: 2, ..disk_params(depth) };
        close(pace.waits_seconds(&row(DiskOp::Read, 4096, 32)), 0.0);
        // 128 requests, 5 MB a second.
        pace.note(&row(DiskOp::Read, 4096, 1), 128.0, 0.5e6);
        pace.note(&row(DiskOp::Read, 1 << 20, 1), 5.0, 5e6);
        close(pace.waits_seconds(&row(DiskOp::Read, 4096, 32)), 1.0);
        close(pace.drain_seconds(&row(DiskOp::Read, 4096, 32)), 0.5);
        close(pace.waits_seconds(&row(DiskOp::Read, 1_000_000, 32)), 2.0 * 64.0 / 5.0);
        close(pace.waits_seconds(&row(DiskOp::Write, 4096, 32)), 1.0);
        pace.note(&row(DiskOp::Write, 4096, 1), 32.0, 1e6);
        close(pace.waits_seconds(&row(DiskOp::Write, 4096, 32)), 4.0);
        close(pace.waits_seconds(&row(DiskOp::Mixed, 4096, 32)), 4.0);
    }

    #[test]
    fn large_blocks_say_little_of_small_ones_and_reads_a_good_deal_of_writes() {
        let row = |op, block, depth| DiskParams { op, block, ..disk_params(depth) };
        // A megabyte a second, and sixty requests, of which nothing is known yet.
        let mut pace = Pace::default();
        pace.note(&row(DiskOp::Read, 1 << 20, 1), 1.0, f64::from(1 << 20));
        for op in [DiskOp::Read, DiskOp::Write] {
            close(pace.drain_seconds(&row(op, 1 << 20, 8)), 8.0);
            close(pace.drain_seconds(&row(op, 4096, 1)), 1.0 / 50.0);
            close(pace.drain_seconds(&row(op, 4096, 100)), 2.0);
            close(pace.drain_seconds(&row(op, 128 << 10, 32)), 4.0);
        }
        pace.note(&row(DiskOp::Write, 4096, 1), 10.0, 40960.0);
        close(pace.drain_seconds(&row(DiskOp::Write, 4096, 10)), 1.0);
        close(pace.drain_seconds(&row(DiskOp::Write, 1 << 20, 1)), 25.6);
        close(pace.drain_seconds(&row(DiskOp::Read, 4096, 10)), 0.2);
        let mut writes = Pace::default();
        writes.note(&row(DiskOp::Write, 4096, 1), 20.0, 81920.0);
        close(writes.drain_seconds(&row(DiskOp::Read, 4096, 10)), 0.5);
    }

    #[test]
    fn a_warm_cache_is_filled_first_and_says_nothing_of_the_disk() {
        let mut pace = Pace::default();
        let warm = DiskParams { cache: DiskCache::Warm, size: 10_000_000, ..disk_params(1) };
        pace.note(&warm, 1e6, 1e9);
        close(pace.waits_seconds(&warm), 0.0);
        // Of rows of 8 bytes one would wait for years.
        pace.note(&DiskParams { block: 8, cache: DiskCache::Cold, ..disk_params(1) }, 1000.0, 8e3);
        close(pace.waits_seconds(&warm), 10e6 / 131.072e6 + 2.0 / 1000.0);
        pace.note(&DiskParams { block: 1 << 20, ..disk_params(1) }, 5.0, 5e6);
        close(pace.waits_seconds(&warm), 2.0 + 2.0 / 1000.0);
    }
}
