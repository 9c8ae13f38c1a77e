//! Bytes that all threads of this process requested of storage or laid out, and those that reached it by the kernel's count.
//! The counts are of the process, because the kernel's are; a worker measures one benchmark and ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::{ProcessIo, Sysroot};

static READ: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static LAID_OUT: AtomicU64 = AtomicU64::new(0);
static BEGIN: OnceLock<Option<ProcessIo>> = OnceLock::new();

/// Begins to count at the first call, before the first request of a benchmark.
pub(super) fn begin() {
    BEGIN.get_or_init(|| machine::process_io(&Sysroot::host()));
}

pub(super) fn asked_for(write: bool, bytes: u64) {
    let total = if write { &WRITTEN } else { &READ };
    total.fetch_add(bytes, Ordering::Relaxed);
}

pub(super) fn laid_out(bytes: u64) {
    LAID_OUT.fetch_add(bytes, Ordering::Relaxed);
}

/// Bytes of files that were laid out, and bytes that requests wrote since [`begin`].
pub(super) fn written() -> (u64, u64) {
    (LAID_OUT.load(Ordering::Relaxed), WRITTEN.load(Ordering::Relaxed))
}

/// Bytes that reached storage over bytes requested, of reads or of writes, where the kernel counts them.
pub(super) fn storage_share(write: bool) -> Option<f64> {
    let began = (*BEGIN.get()?)?;
    let now = machine::process_io(&Sysroot::host())?;
    let (reached, asked) = if write {
        (now.write_bytes.saturating_sub(began.write_bytes), WRITTEN.load(Ordering::Relaxed))
    } else {
        (now.read_bytes.saturating_sub(began.read_bytes), READ.load(Ordering::Relaxed))
    };
    (asked > 0).then(|| reached as f64 / asked as f64)
}
