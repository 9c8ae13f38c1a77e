//! Anonymous memory for working sets: aligned, of a stated page size, and honest about what was obtained.

pub mod copy;
pub mod numbers;
pub mod pages;

use std::io;
use std::ptr::NonNull;

/// Size and alignment of a huge page on x86-64 and most of aarch64.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Size of a base page on x86-64. Where they are larger (some of aarch64) the kernel rounds what it is asked for up.
pub const BASE_PAGE_BYTES: usize = 4096;

/// Which pages to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The base page, huge ones forbidden.
    Base,
    /// Huge pages of 2 MiB: transparent ones, asked for by `madvise`; where the kernel refuses those, ones that were
    /// reserved (`vm.nr_hugepages`), if there are enough of them.
    Huge,
}

/// A private anonymous mapping, aligned to a page, zero until written. Freed when dropped.
#[derive(Debug)]
pub struct Region {
    /// The whole mapping, slack included.
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    /// The aligned part of it.
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the region owns its mapping alone; access goes through `&self` and `&mut self` as for a boxed slice.
unsafe impl Send for Region {}

impl Region {
    /// Maps `bytes` (rounded up to a huge page, and aligned to one) and asks for pages of this size. The thread that is to own the pages must
    /// be the one that calls this and the first to write them: only reserved pages are taken at once.
    ///
    /// # Errors
    /// What the kernel said, `ENOMEM` above all.
    pub fn map(bytes: usize, pages: PageSize) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(HUGE_PAGE_BYTES).ok_or_else(too_large)?;
        if pages == PageSize::Huge
            && refuses_transparent_pages()
            && let Ok(reserved) = Self::of_reserved_pages(bytes)
        {
            return Ok(reserved);
        }
        let mapping_bytes = bytes.checked_add(HUGE_PAGE_BYTES).ok_or_else(too_large)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapping_bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = NonNull::new(address.cast::<u8>()).ok_or_else(too_large)?;
        let slack = mapping.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the slack is below one huge page, and the mapping is one huge page longer than `bytes`.
        let start = unsafe { mapping.add(slack) };
        let region = Self { mapping, mapping_bytes, start, bytes };
        let advice = if pages == PageSize::Huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range lies inside the mapping, and the advice changes no contents. A kernel without huge pages
        // refuses it, which `huge_share` will show.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
        Ok(region)
    }

    /// A mapping in base pages that is no larger than it must be: `bytes` rounded up to a base page, beginning at one.
    ///
    /// # Errors
    /// As [`Region::map`].
    pub fn of_base_pages(bytes: usize) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(BASE_PAGE_BYTES).ok_or_else(too_large)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast::<u8>()).ok_or_else(too_large)?;
        // Several that lie side by side could be given a huge page in common.
        // SAFETY: the range is the mapping that was just made, and the advice changes no contents.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Self { mapping: start, mapping_bytes: bytes, start, bytes })
    }

    /// A mapping in huge pages that were reserved, all of them taken now: a page that is missing when it is first written
    /// would end the process. `bytes` is a multiple of [`HUGE_PAGE_BYTES`].
    ///
    /// # Errors
    /// What the kernel said: `ENOMEM` where too few are free, `EFAULT` where this node or control group has too few,
    /// `EINVAL` before Linux 5.14.
    fn of_reserved_pages(bytes: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | libc::MAP_HUGE_2MB;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let region = Self { mapping: start, mapping_bytes: bytes, start, bytes };
        // SAFETY: the range is the mapping that was just made, and it is zero before and after.
        let refused = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) };
        if refused == 0 { Ok(region) } else { Err(io::Error::last_os_error()) }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the range is mapped, readable and initialised (zero at first) for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// Its bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Asks the kernel, once, to put huge pages in place of the base pages that it has: for memory that has been
    /// written and did not get any, because there was none free at that moment or they are switched off
    /// (`MADV_COLLAPSE`, Linux 6.1; it heeds no setting but this region's advice).
    ///
    /// # Errors
    /// What the kernel said; then some pages may have been replaced, or none.
    pub fn collapse(&self) -> io::Result<()> {
        // SAFETY: the range lies inside the mapping, and its contents stay as they are.
        let refused = unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_COLLAPSE) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Where it begins, for the parts of it that are lent to the kernel.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Which share of it is in huge pages now, from /proc/self/smaps; `None` where that cannot be read.
    pub fn huge_share(&self) -> Option<f64> {
        self.place().huge_share()
    }

    /// Where it is, for who does not hold it.
    pub fn place(&self) -> Place {
        Place { start: self.start.as_ptr() as u64, bytes: self.bytes as u64 }
    }
}

/// Where a [`Region`] is, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    start: u64,
    bytes: u64,
}

impl Place {
    /// Which share of it is in huge pages now, from /proc/self/smaps; `None` where that cannot be read. Nothing where the
    /// region is gone.
    pub fn huge_share(self) -> Option<f64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        Some(huge_bytes_of(&maps, self.start, self.bytes) as f64 / self.bytes as f64)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` obtained, and nothing borrows it any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

/// From now on every page that this thread touches first comes from this memory node and from no other
/// (`MPOL_BIND`; `numactl --membind` does the same to a process).
///
/// # Errors
/// What the kernel said: `EINVAL` for a node that is not there or that this process may not use, `EPERM` where the call
/// is forbidden, `ENOSYS` where the kernel knows no nodes.
pub fn bind_thread_to_node(node: u32) -> io::Result<()> {
    let mask = NodeMask::of(node);
    // SAFETY: the mask is as long as is said and outlives the call, which only reads it.
    let refused = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.0.as_ptr(), mask.bits()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A set of memory nodes as the kernel reads it.
struct NodeMask(Vec<libc::c_ulong>);

impl NodeMask {
    fn of(node: u32) -> Self {
        let (word, bit) = (node / libc::c_ulong::BITS, node % libc::c_ulong::BITS);
        let mut words = vec![0; word as usize + 1];
        words[word as usize] = 1 << bit;
        Self(words)
    }

    /// The number of bits that the kernel is to look at: it takes one off what it is told (mempolicy(2), notes).
    fn bits(&self) -> libc::c_ulong {
        self.0.len() as libc::c_ulong * libc::c_ulong::from(libc::c_ulong::BITS) + 1
    }
}

/// What smaps calls transparent and reserved huge pages of a private mapping (kernel, `filesystems/proc.rst`).
const HUGE_FIELDS: [&str; 2] = ["AnonHugePages:", "Private_Hugetlb:"];

/// Whether the kernel gives nobody transparent huge pages, or not to this process; `false` where it does not say.
fn refuses_transparent_pages() -> bool {
    // SAFETY: it reads one setting of this process, whose other arguments must be zero.
    let disabled = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } == 1;
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    disabled || setting.is_ok_and(|setting| is_never(&setting))
}

/// Whether `never` is what is chosen of `always madvise [never]`.
fn is_never(setting: &str) -> bool {
    setting.split_ascii_whitespace().any(|word| word == "[never]")
}

/// Bytes in huge pages, transparent or reserved, of the mappings that overlap `[start, start + bytes)`, from the text of smaps, at most `bytes`.
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

    #[test]
    fn a_region_is_aligned_zero_and_writable() {
        let mut region = Region::map(3 << 20, PageSize::Huge).unwrap();
        assert_eq!(region.len(), 4 << 20);
        assert_eq!(region.as_slice().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        assert!(region.as_slice().iter().all(|byte| *byte == 0));
        region.as_mut_slice().fill(7);
        assert_eq!(region.as_slice()[region.len() - 1], 7);
    }

    #[test]
    fn base_pages_are_never_huge() {
        let mut region = Region::map(8 << 20, PageSize::Base).unwrap();
        region.as_mut_slice().fill(1);
        assert_eq!(region.huge_share(), Some(0.0));
    }

    #[test]
    fn what_is_no_larger_than_it_must_be_is_in_base_pages() {
        for (bytes, rounded) in
            [(0, 4096), (1, 4096), (4096, 4096), (3 << 20, 3 << 20), ((3 << 20) + 1, (3 << 20) + 4096)]
        {
            let mut region = Region::of_base_pages(bytes).unwrap();
            assert_eq!((region.len(), region.as_slice().as_ptr() as usize % BASE_PAGE_BYTES), (rounded, 0));
            assert!(region.as_slice().iter().all(|byte| *byte == 0));
            region.as_mut_slice().fill(7);
            assert_eq!(region.huge_share(), Some(0.0), "{bytes} bytes");
        }
        assert!(Region::of_base_pages(usize::MAX).is_err());
    }

    #[test]
    fn reserved_pages_are_huge_or_refused_without_harm() {
        match Region::of_reserved_pages(2 * HUGE_PAGE_BYTES) {
            Ok(mut region) => {
                assert_eq!((region.len(), region.huge_share()), (2 * HUGE_PAGE_BYTES, Some(1.0)));
                assert_eq!(region.as_slice().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
                region.as_mut_slice().fill(7);
                assert!(region.as_slice().iter().all(|byte| *byte == 7));
            }
            // None is reserved, the group may have none, or the kernel is too old.
            Err(error) => {
                let known = [libc::ENOMEM, libc::EFAULT, libc::EINVAL, libc::EPERM];
                assert!(error.raw_os_error().is_some_and(|error| known.contains(&error)), "{error}");
            }
        }
        assert!(Region::of_reserved_pages(1 << 45).is_err(), "more than any machine reserves");
    }

    #[test]
    fn transparent_pages_are_refused_only_where_never_is_chosen() {
        assert!(is_never("always madvise [never]\n"));
        assert!(!is_never("always [madvise] never\n") && !is_never("[always] madvise never") && !is_never(""));
    }

    #[test]
    fn a_region_that_was_collapsed_holds_what_it_held() {
        let mut region = Region::map(4 << 20, PageSize::Huge).unwrap();
        region.as_mut_slice().fill(7);
        // An older kernel knows no such advice, and one under pressure has no pages: both are no harm.
        if region.collapse().is_ok() {
            assert!(region.huge_share().is_none_or(|share| share > 0.0));
        }
        assert!(region.as_slice().iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_thread_is_bound_to_the_node_that_there_is_and_to_no_other() {
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
        // SAFETY: both are live and writable, and the mask is as long as is said; no address is asked about.
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, mask.as_mut_ptr(), bits, 0, 0) };
        (mode, mask[0])
    }

    #[test]
    fn more_memory_than_there_are_addresses_is_an_error() {
        assert!(Region::map(usize::MAX - 5, PageSize::Huge).is_err());
        assert!(Region::map(1 << 60, PageSize::Huge).is_err());
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
