//! Anonymous memory for working sets: aligned and of a stated page size.

pub mod copy;
pub mod numbers;
pub mod pages;

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::calls::outcome;

/// Size and alignment of a huge page with base pages of 4 KiB.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Size of this kernel's base page: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64.
pub fn base_page_bytes() -> usize {
    rustix::param::page_size()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The base page, huge ones forbidden.
    Base,
    /// Huge pages of 2 MiB: transparent (`madvise`), or if the kernel refuses those, reserved ones (`vm.nr_hugepages`).
    Huge,
}

/// A private anonymous mapping, aligned to a page, zero until written, freed when dropped.
#[derive(Debug)]
pub struct Region {
    /// The whole mapping, slack included.
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the region owns its mapping alone; access goes through `&self` and `&mut self` as for a boxed slice.
unsafe impl Send for Region {}

impl Region {
    /// Maps `bytes`, rounded up to a huge page and aligned to one, and requests pages of this size. The thread that is
    /// to own the pages must call this and be the first to write them: only reserved pages are taken at once.
    pub fn map(bytes: usize, pages: PageSize) -> io::Result<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(HUGE_PAGE_BYTES).ok_or_else(too_large)?;
        if pages == PageSize::Huge
            && refuses_transparent_pages()
            && let Ok(reserved) = Self::of_reserved_pages(bytes)
        {
            return Ok(reserved);
        }
        let mapping_bytes = bytes.checked_add(HUGE_PAGE_BYTES).ok_or_else(too_large)?;
        let mapping = map_anonymous(mapping_bytes, MapFlags::NORESERVE)?;
        let slack = mapping.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the slack is below one huge page, and the mapping is one huge page longer than `bytes`.
        let start = unsafe { mapping.add(slack) };
        let region = Self { mapping, mapping_bytes, start, bytes };
        // A kernel without huge pages refuses the advice, which `huge_share` will show.
        let _ = region.advise(if pages == PageSize::Huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE });
        Ok(region)
    }

    /// A mapping in base pages: `bytes` rounded up to one, and aligned to one.
    pub fn of_base_pages(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(base_page_bytes()).ok_or_else(too_large)?;
        let start = map_anonymous(bytes, MapFlags::NORESERVE)?;
        let region = Self { mapping: start, mapping_bytes: bytes, start, bytes };
        // Several adjacent ones could get a common huge page.
        let _ = region.advise(libc::MADV_NOHUGEPAGE);
        Ok(region)
    }

    /// A mapping in reserved huge pages, all of them taken now: a page that is missing when it is first written would
    /// end the process. `bytes` is a multiple of [`HUGE_PAGE_BYTES`]. Fails with `ENOMEM` if too few are free, `EFAULT`
    /// if this node or control group has too few, and `EINVAL` before Linux 5.14.
    fn of_reserved_pages(bytes: usize) -> io::Result<Self> {
        let start = map_anonymous(bytes, MapFlags::HUGETLB | MapFlags::HUGE_2MB)?;
        let region = Self { mapping: start, mapping_bytes: bytes, start, bytes };
        region.advise(libc::MADV_POPULATE_WRITE)?;
        Ok(region)
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range lies inside the mapping, and no advice that is given here changes its contents.
        outcome(unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, advice) }).map(drop)
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Always false: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the range is mapped, readable and initialised (zero at first) for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Asks the kernel, once, to replace the base pages of written memory by huge pages, which were missing or disabled
    /// when it was written (`MADV_COLLAPSE`, Linux 6.1, by this region's advice alone). An error may leave some replaced.
    pub fn collapse(&self) -> io::Result<()> {
        // `MADV_COLLAPSE` of linux/mman.h; libc has no name for it with every C library.
        self.advise(25)
    }

    /// Its address, for the parts that are lent to the kernel.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The share of it that is in huge pages now, from /proc/self/smaps; `None` if that cannot be read.
    pub fn huge_share(&self) -> Option<f64> {
        self.place().huge_share()
    }

    /// Its address range, for code that does not hold it.
    pub fn place(&self) -> Place {
        Place { start: self.start.as_ptr() as u64, bytes: self.bytes as u64 }
    }
}

/// The address range of a [`Region`] that may have been freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    start: u64,
    bytes: u64,
}

impl Place {
    /// The share of it that is in huge pages now, by /proc/self/smaps; `None` if unreadable, 0 if the region has been freed.
    pub fn huge_share(self) -> Option<f64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        Some(huge_bytes_of(&maps, self.start, self.bytes) as f64 / self.bytes as f64)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and nothing borrows it any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

fn too_large() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}

fn map_anonymous(bytes: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, flags | MapFlags::PRIVATE);
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let address = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }?;
    NonNull::new(address.cast::<u8>()).ok_or_else(too_large)
}

/// From now on every page that this thread touches first comes from this memory node alone (`MPOL_BIND`, like `numactl
/// --membind`). Fails with `EINVAL` for a node that is missing or not allowed, `EPERM` if the call is forbidden, and
/// `ENOSYS` if the kernel has no nodes.
pub fn bind_thread_to_node(node: u32) -> io::Result<()> {
    let (word, bit) = (node / libc::c_ulong::BITS, node % libc::c_ulong::BITS);
    let mut mask: Vec<libc::c_ulong> = vec![0; word as usize + 1];
    mask[word as usize] = 1 << bit;
    // The kernel subtracts one from the number of bits (mempolicy(2), notes).
    let bits = mask.len() as libc::c_ulong * libc::c_ulong::from(libc::c_ulong::BITS) + 1;
    // SAFETY: the mask has this number of bits and outlives the call, which only reads it.
    outcome(unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), bits) }).map(drop)
}

/// The fields of smaps for transparent and reserved huge pages of a private mapping (kernel, `filesystems/proc.rst`).
const HUGE_FIELDS: [&str; 2] = ["AnonHugePages:", "Private_Hugetlb:"];

/// Whether the kernel refuses transparent huge pages to all processes or to this one; `false` if unknown.
fn refuses_transparent_pages() -> bool {
    let disabled = rustix::thread::transparent_huge_pages_are_disabled() == Ok(true);
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    disabled || setting.is_ok_and(|setting| is_never(&setting))
}

/// Whether `never` is the choice, as in `always madvise [never]`.
fn is_never(setting: &str) -> bool {
    setting.split_ascii_whitespace().any(|word| word == "[never]")
}

/// Bytes in huge pages of the mappings that overlap `[start, start + bytes)`, from the text of smaps; at most `bytes`.
fn huge_bytes_of(smaps: &str, start: u64, bytes: u64) -> u64 {
    let mut inside = false;
    let mut huge = 0;
    for line in smaps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let range = range
            .and_then(|(low, high)| Some((u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?)));
        if let Some((low, high)) = range {
            inside = low < start + bytes && start < high;
        } else if inside && let Some(rest) = HUGE_FIELDS.iter().find_map(|field| line.strip_prefix(field)) {
            huge += rest.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024;
        }
    }
    huge.min(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the alignment of a region, and that it is zero and writable.
    fn check(mut region: Region, bytes: usize, align: usize) -> Region {
        assert_eq!((region.len(), region.as_slice().as_ptr() as usize % align), (bytes, 0));
        assert!(region.as_slice().iter().all(|byte| *byte == 0));
        region.as_mut_slice().fill(7);
        assert!(region.as_slice().iter().all(|byte| *byte == 7));
        region
    }

    #[test]
    fn a_region_is_aligned_zero_and_writable_and_base_pages_are_never_huge() {
        check(Region::map(3 << 20, PageSize::Huge).unwrap(), 4 << 20, HUGE_PAGE_BYTES);
        let base = check(Region::map(8 << 20, PageSize::Base).unwrap(), 8 << 20, HUGE_PAGE_BYTES);
        assert_eq!(base.huge_share(), Some(0.0));
        let page = base_page_bytes();
        for (bytes, rounded) in [(0, page), (1, page), (page, page), ((3 << 20) + 1, (3 << 20) + page)] {
            let region = check(Region::of_base_pages(bytes).unwrap(), rounded, page);
            assert_eq!(region.huge_share(), Some(0.0), "{bytes} bytes");
        }
        for too_large in [usize::MAX - 5, 1 << 60] {
            assert!(Region::map(too_large, PageSize::Huge).is_err());
        }
        assert!(Region::of_base_pages(usize::MAX).is_err());
    }

    #[test]
    fn reserved_pages_are_huge_or_refused_without_harm() {
        match Region::of_reserved_pages(2 * HUGE_PAGE_BYTES) {
            Ok(region) => {
                assert_eq!(region.huge_share(), Some(1.0));
                check(region, 2 * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES);
            }
            // No page is reserved, the group may have none, or the kernel is too old.
            Err(error) => {
                let known = [libc::ENOMEM, libc::EFAULT, libc::EINVAL, libc::EPERM];
                assert!(error.raw_os_error().is_some_and(|error| known.contains(&error)), "{error}");
            }
        }
        assert!(Region::of_reserved_pages(1 << 45).is_err(), "more than any machine reserves");
    }

    #[test]
    fn transparent_pages_are_refused_only_if_never_is_chosen() {
        assert!(is_never("always madvise [never]\n"));
        assert!(!is_never("always [madvise] never\n") && !is_never("[always] madvise never") && !is_never(""));
    }

    #[test]
    fn a_collapsed_region_keeps_its_contents() {
        let mut region = Region::map(4 << 20, PageSize::Huge).unwrap();
        region.as_mut_slice().fill(7);
        // An older kernel lacks this advice, and one under pressure has no pages.
        if region.collapse().is_ok() {
            assert!(region.huge_share().is_none_or(|share| share > 0.0));
        }
        assert!(region.as_slice().iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_thread_is_bound_to_an_existing_node_only() {
        let bound = |node| std::thread::spawn(move || bind_thread_to_node(node).map(|()| policy())).join().unwrap();
        match bound(0) {
            Ok(policy) => assert_eq!(policy, (libc::MPOL_BIND, 1)),
            // A kernel without nodes, or a container that forbids the call.
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)), "{error}"),
        }
        assert!(bound(1023).is_err() && bound(u32::MAX / 2).is_err());
    }

    /// The calling thread's policy and the first word of its set of nodes.
    fn policy() -> (libc::c_int, libc::c_ulong) {
        let (mut mode, mut mask) = (-1, [0; 64]);
        let bits = 64 * libc::c_ulong::BITS;
        // SAFETY: both are live and writable, and the mask is as long as stated; no address is queried.
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, mask.as_mut_ptr(), bits, 0, 0) };
        (mode, mask[0])
    }

    #[test]
    fn huge_pages_are_counted_in_the_right_mapping_only() {
        let smaps =
            "1000-3000 rw-p 0 00:00 0\nAnonHugePages:      4 kB\n3000-5000 rw-p 0 00:00 0\nAnonHugePages:    8 kB\n";
        assert_eq!(huge_bytes_of(smaps, 0x3000, 0x2000), 8192);
        assert_eq!(huge_bytes_of(smaps, 0x9000, 0x2000), 0);
        let reserved = smaps.replace("AnonHugePages:    8 kB", "AnonHugePages:    0 kB\nPrivate_Hugetlb:    8 kB");
        assert_eq!(huge_bytes_of(&reserved, 0x3000, 0x2000), 8192);
        assert_eq!(huge_bytes_of("garbage\nAnonHugePages: x kB\n", 0, 1), 0);
    }
}
