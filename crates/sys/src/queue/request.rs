//! Requests, their completions, and the settings of a queue.

use std::io;

use crate::memory::{HUGE_PAGE_BYTES, base_page_bytes};

/// The most requests in flight of a queue: more than a device takes, below a ring's 32768 entries (`io_uring_setup(2)`).
pub const MAX_DEPTH: u32 = 4096;

/// The largest arena of blocking calls in base pages: each of many requests in flight has one, and in huge pages 512
/// blocks of 4 KiB would take a gigabyte. A request of this size has at most 64 pieces of memory, which devices take at
/// once: `NVMe` drives 127 (`NVME_MAX_SEGS`, drivers/nvme/host/pci.c), SATA ones 168 (`AHCI_MAX_SG`,
/// drivers/ata/ahci.h), virtual disks 126 or 254 (seen in `queue/max_segments`).
const MOST_BASE_PAGES_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// By an `io_uring`, many in flight.
    IoUring,
    /// By an `io_uring` that polls the device. Only the first request shows whether that is possible (`EOPNOTSUPP`).
    IoUringPolled,
    /// By Linux's native asynchronous I/O, many in flight; only for files opened past the page cache.
    Libaio,
    /// By blocking calls, one at a time.
    Sync,
    /// Not at all: requests touch neither the file nor the arena, and complete at the next wait. By no-op requests of
    /// an `io_uring`, to include the kernel's part; without one, in the loop.
    Null,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub engine: Engine,
    /// The most requests in flight, 1 to [`MAX_DEPTH`]; 1 for blocking calls.
    pub depth: u32,
    /// Size of the arena in bytes; rounded up as [`Options::arena_takes`] says.
    pub arena_bytes: usize,
}

impl Options {
    /// Bytes of the arena: rounded up to a huge page, or to a base page for small ones of blocking calls.
    pub fn arena_takes(&self) -> usize {
        let page = if self.takes_base_pages() { base_page_bytes() } else { HUGE_PAGE_BYTES };
        self.arena_bytes.max(1).checked_next_multiple_of(page).unwrap_or(usize::MAX)
    }

    pub(super) fn takes_base_pages(&self) -> bool {
        self.engine == Engine::Sync && self.arena_bytes <= MOST_BASE_PAGES_BYTES
    }
}

/// One request: to read from the file into the arena, or (`write`) to write from the arena into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number among the requests in flight, below the depth.
    pub token: u32,
    pub write: bool,
    pub offset: u64,
    /// Offset in the arena, in bytes. The arena begins at a page, so this is aligned in memory too.
    pub buffer: usize,
    /// Number of bytes, at least one.
    pub bytes: u32,
}

#[derive(Debug)]
pub struct Completion {
    pub token: u32,
    /// Bytes moved, fewer than requested at the end of the file; or the error.
    pub result: io::Result<u32>,
}
