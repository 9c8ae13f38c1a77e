//! How much of a file is in the page cache, and how to drop it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::calls::retried;
use crate::memory::base_page_bytes;

/// The system call `cachestat`, since Linux 6.5: the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

/// How much of a file is mapped at a time if `cachestat` is missing: 256 KiB of answers.
const WINDOW_BYTES: u64 = 1 << 30;

/// Bytes of the file in the page cache, in whole pages. Fails for a user who neither owns the file nor may write it.
pub fn cached_bytes(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let pages = match pages_by_cachestat(file) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            pages_by_mincore(file, length)?
        }
        other => other?,
    };
    Ok(pages.saturating_mul(page_bytes()).min(length))
}

/// Asks the kernel to drop the file's pages. Dirty, mapped and used ones stay: flush first, check [`cached_bytes`].
pub fn drop_cached(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Drops every clean page of the system's page cache, the last resort; fails without root, and often in a container.
pub fn drop_all_cached() -> io::Result<()> {
    std::fs::write("/proc/sys/vm/drop_caches", "1\n")
}

/// `struct cachestat` of linux/mman.h.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn pages_by_cachestat(file: &File) -> io::Result<u64> {
    // From the start; a length of 0 means to the end.
    let range: [u64; 2] = [0, 0];
    let mut counts = Counts::default();
    retried(|| {
        // SAFETY: the kernel reads the range of two 64-bit numbers and writes the counts, both live through the call.
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut counts, 0 as libc::c_uint) }
    })?;
    Ok(counts.cached)
}

/// The method before Linux 6.5: maps the file and asks which pages are present.
fn pages_by_mincore(file: &File, length: u64) -> io::Result<u64> {
    if !mincore_is_truthful(file)? {
        let text = "the page cache of a file that is neither ours nor open for writing is not shown to us";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let mut pages = 0;
    let mut start = 0;
    while start < length {
        let bytes = (length - start).min(WINDOW_BYTES);
        pages += resident_pages(file, start, bytes)?;
        start += bytes;
    }
    Ok(pages)
}

/// Since Linux 5.2 `mincore` reports every page as present to those who neither own the file nor may write it.
fn mincore_is_truthful(file: &File) -> io::Result<bool> {
    let is_writable = fcntl_getfl(file)? & OFlags::RWMODE != OFlags::RDONLY;
    let user = rustix::process::geteuid();
    Ok(is_writable || user.is_root() || file.metadata()?.uid() == user.as_raw())
}

/// Pages of `[start, start + bytes)` in memory; `start` is a multiple of the page size.
fn resident_pages(file: &File, start: u64, bytes: u64) -> io::Result<u64> {
    let too_large = || io::Error::from_raw_os_error(libc::EFBIG);
    let length = usize::try_from(bytes).map_err(|_| too_large())?;
    let pages = usize::try_from(bytes.div_ceil(page_bytes())).map_err(|_| too_large())?;
    let mut present = vec![0_u8; pages];
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, start) }?;
    // SAFETY: the range is mapped, and the answer has a byte for each of its pages.
    let asked = retried(|| unsafe { libc::mincore(address, length, present.as_mut_ptr()) });
    // SAFETY: exactly the range that was mapped above, and nothing points into it.
    unsafe { libc::munmap(address, length) };
    asked?;
    Ok(present.iter().map(|page| u64::from(page & 1)).sum())
}

fn page_bytes() -> u64 {
    base_page_bytes() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::{skip, written_file};

    #[test]
    fn both_methods_agree() {
        let file = written_file(3 * 4096 + 1);
        let by_mincore = pages_by_mincore(&file, file.metadata().unwrap().len()).unwrap();
        assert_eq!(by_mincore * page_bytes(), (3_u64 * 4096 + 1).next_multiple_of(page_bytes()));
        match pages_by_cachestat(&file) {
            Ok(pages) => assert_eq!(pages, by_mincore),
            Err(error) => skip(format_args!("no cachestat here: {error}")),
        }
    }
}
