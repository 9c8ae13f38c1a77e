//! Which of a file's blocks are written: reading an unwritten one measures nothing.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::calls::{retried, unless_unknown};

/// `FS_IOC_FIEMAP` of linux/fs.h: `_IOWR('f', 11, struct fiemap)`, whose head is 32 bytes long.
#[allow(clippy::cast_lossless, clippy::cast_possible_wrap, reason = "musl takes an i32, glibc an u64")]
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// Flags of linux/fiemap.h: write dirty data first, so that no block is unallocated.
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
/// The place is unknown, unallocated, compressed or encrypted, not aligned, or inside metadata.
const FIEMAP_EXTENT_ELSEWHERE: u32 = 0x2 | 0x4 | FIEMAP_EXTENT_ENCODED | 0x80 | 0x100 | 0x200 | 0x400;
const FIEMAP_EXTENT_ENCODED: u32 = 0x8;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;

/// Extents to request at a time: 14 kB, and few files have more.
const AT_A_TIME: usize = 256;

/// The kinds of a file's blocks. Bytes in none of these are holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    pub count: u32,
    /// Bytes that are written, as they are and in blocks of their own.
    pub written_bytes: u64,
    /// Bytes that are reserved and read as zero without access to the device.
    pub unwritten_bytes: u64,
    /// Bytes that are inside metadata, compressed, encrypted, not yet allocated, or unknown.
    pub other_bytes: u64,
    /// Of those, bytes that are compressed or encrypted.
    pub encoded_bytes: u64,
    /// Bytes, of any kind above, that another file shares.
    pub shared_bytes: u64,
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// `struct fiemap` of linux/fiemap.h, with room for its extents behind it.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; AT_A_TIME],
}

/// The kinds of all blocks of the file, after its dirty data has been written; `None` if the file system reports none.
pub fn extents(file: &File) -> io::Result<Option<Extents>> {
    let mut sum = Extents::default();
    let mut start = 0;
    loop {
        let mut map = Box::new(Map {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            mapped: 0,
            room: u32::try_from(AT_A_TIME).unwrap_or(0),
            reserved: 0,
            extents: [Extent::default(); AT_A_TIME],
        });
        // SAFETY: the struct is live, writable, laid out as the request needs, and has room for `room` extents.
        let answer = retried(|| unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) });
        if unless_unknown(answer)?.is_none() {
            return Ok(None);
        }
        let found = &map.extents[..(map.mapped as usize).min(AT_A_TIME)];
        for extent in found {
            add(&mut sum, extent);
        }
        match found.last() {
            // A file system that repeats itself must not cause an endless loop.
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 && last.logical.saturating_add(last.length) > start => {
                start = last.logical.saturating_add(last.length);
            }
            _ => return Ok(Some(sum)),
        }
    }
}

fn add(sum: &mut Extents, extent: &Extent) {
    sum.count = sum.count.saturating_add(1);
    let kind = if extent.flags & FIEMAP_EXTENT_ELSEWHERE != 0 {
        &mut sum.other_bytes
    } else if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
        &mut sum.unwritten_bytes
    } else {
        &mut sum.written_bytes
    };
    *kind = kind.saturating_add(extent.length);
    if extent.flags & FIEMAP_EXTENT_ENCODED != 0 {
        sum.encoded_bytes = sum.encoded_bytes.saturating_add(extent.length);
    }
    if extent.flags & FIEMAP_EXTENT_SHARED != 0 {
        sum.shared_bytes = sum.shared_bytes.saturating_add(extent.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_kernels_layout() {
        assert_eq!(size_of::<Extent>(), 56);
        assert_eq!(std::mem::offset_of!(Map, extents), 32);
    }

    #[test]
    fn every_kind_of_extent_is_counted() {
        let counted = |flags: u32| {
            let mut sum = Extents::default();
            add(&mut sum, &Extent { length: 10, flags, ..Extent::default() });
            [sum.written_bytes, sum.unwritten_bytes, sum.other_bytes, sum.encoded_bytes, sum.shared_bytes]
        };
        assert_eq!(counted(FIEMAP_EXTENT_LAST), [10, 0, 0, 0, 0]);
        assert_eq!(counted(0x1000), [10, 0, 0, 0, 0], "merged from several");
        assert_eq!(counted(FIEMAP_EXTENT_UNWRITTEN), [0, 10, 0, 0, 0]);
        assert_eq!(counted(FIEMAP_EXTENT_SHARED), [10, 0, 0, 0, 10]);
        for (elsewhere, encoded) in [(0x2, 0), (0x6, 0), (0x8, 10), (0x88, 10), (0x300, 0), (0x500, 0)] {
            assert_eq!(counted(elsewhere), [0, 0, 10, encoded, 0], "{elsewhere:#x}");
        }
    }
}
