//! The observed rate of the disk in this run, and how long benchmarks that were not started yet will wait for it: the kernel
//! takes no request back. Rates are the highest so far; with small depths alone they are too low. Large blocks do not show the
//! requests per second. If only reads or only writes are known, the others are expected to be the same.

use model::experiment::DiskParams;
use model::io::DiskCache;
use sys::memory::base_page_bytes;

/// Blocks of this many bytes or more show the rate of a file that is read in order.
const LARGE_BLOCK_BYTES: u64 = 64 << 10;
/// Readahead of the kernel unless set otherwise (`VM_READAHEAD_PAGES` of linux/mm.h).
const READ_AHEAD_BYTES: f64 = 131_072.0;
/// Least number of times that the queue is emptied in a process run: after a slice of warm-up, and after a window.
const EMPTIED: f64 = 2.0;
/// Least rate of small requests: a slow rotating disk makes some more (57 at 5400 rpm and 12 ms for a seek).
const SMALL_REQUESTS_PER_SECOND: f64 = 50.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    read: Rates,
    write: Rates,
    large_reads: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    requests_per_second: f64,
    bytes_per_second: f64,
    smallest: u64,
}

impl Rates {
    /// Seconds until requests of this block are done; 0 where nothing is known.
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
    /// Learns from a sample, in requests and bytes per second. The page cache's rates are not the disk's.
    pub(super) fn note(&mut self, params: &DiskParams, iops: f64, throughput: f64) {
        if params.cache == DiskCache::Warm {
            return;
        }
        // Through an empty cache at least a page is read for a word.
        let of_pages = iops * base_page_bytes() as f64;
        let throughput = if params.cache == DiskCache::Cold { throughput.max(of_pages) } else { throughput };
        if params.op.reads() {
            self.read.note(params.block, iops, throughput);
            if params.block >= LARGE_BLOCK_BYTES {
                self.large_reads = self.large_reads.max(throughput);
            }
        }
        if params.op.writes() {
            self.write.note(params.block, iops, throughput);
        }
    }

    /// Seconds that a process run will wait for the disk beyond its windows; 0 as long as nothing is known.
    pub(super) fn waits_seconds(&self, params: &DiskParams) -> f64 {
        // A file that is kept in the cache is read as a whole first.
        let warm = params.cache == DiskCache::Warm;
        let cached = if warm { self.read_whole_seconds(params.size as f64) } else { 0.0 };
        EMPTIED * self.drain_seconds(params) + cached
    }

    /// Seconds to read a file in order; 0 as long as nothing is known. Small requests alone only show the rate of requests.
    fn read_whole_seconds(&self, bytes: f64) -> f64 {
        let known = self.reading();
        let by_requests = known.requests_per_second * READ_AHEAD_BYTES;
        let rate = if self.large_reads > 0.0 { self.large_reads } else { by_requests.max(known.bytes_per_second) };
        if rate > 0.0 { bytes / rate } else { 0.0 }
    }

    /// Seconds until the disk has finished what a benchmark has in flight; 0 as long as nothing is known.
    pub(super) fn drain_seconds(&self, params: &DiskParams) -> f64 {
        let in_flight = f64::from(params.depth) * f64::from(params.threads);
        let of = |rates: Rates| rates.seconds(in_flight, params.block);
        let read = if params.op.reads() { of(self.reading()) } else { 0.0 };
        let write = if params.op.writes() { of(self.writing()) } else { 0.0 };
        read.max(write)
    }

    fn reading(&self) -> Rates {
        if self.read.is_known() { self.read } else { self.write }
    }

    fn writing(&self) -> Rates {
        if self.write.is_known() { self.write } else { self.read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::io::DiskOp;

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
