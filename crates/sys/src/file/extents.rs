//! Which of a file's blocks are really written: reading one that is not measures nothing.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::calls::{retried, unless_unknown};

/// `FS_IOC_FIEMAP` of linux/fs.h: `_IOWR('f', 11, struct fiemap)`, whose head is 32 bytes long.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// Flags of linux/fiemap.h: write what is dirty first, so that nothing is waiting for its blocks.
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
/// The place is unknown, not yet allocated, compressed or encrypted, not aligned, or inside metadata.
const FIEMAP_EXTENT_ELSEWHERE: u32 = 0x2 | 0x4 | FIEMAP_EXTENT_ENCODED | 0x80 | 0x100 | 0x200 | 0x400;
/// What is there is not the data as it is: it is compressed or encrypted.
const FIEMAP_EXTENT_ENCODED: u32 = 0x8;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;

/// Extents that are asked for at a time: 14 kB, and few files have more.
const AT_A_TIME: usize = 256;

/// What the blocks of a file are. Bytes that are in none of these are holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Pieces that the file is in.
    pub count: u32,
    /// Bytes that are written, as they are and in blocks of their own.
    pub written_bytes: u64,
    /// Bytes that are reserved and read as zero without the device being asked.
    pub unwritten_bytes: u64,
    /// Bytes that are somewhere else: inside metadata, compressed, encrypted, not yet allocated, or unknown.
    pub other_bytes: u64,
    /// Of those, bytes that are compressed or encrypted.
    pub encoded_bytes: u64,
    /// Bytes, of any of the kinds above, that another file shares.
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

/// What the blocks of the whole file are, after what is dirty has been written; `None` where the file system does not
/// say.
///
/// # Errors
/// What the kernel said, such as `EIO` from writing what was dirty.
pub fn extents(file: &File) -> io::Result<Option<Extents>> {
    let mut sum = Extents::default();
    let mut start = 0;
    let mut map = Box::new(Map {
        start,
        length: 0,
        flags: 0,
        mapped: 0,
        room: 0,
        reserved: 0,
        extents: [Extent::default(); AT_A_TIME],
    });
    loop {
        map.start = start;
        map.length = u64::MAX - start;
        map.flags = FIEMAP_FLAG_SYNC;
        map.mapped = 0;
        map.room = u32::try_from(AT_A_TIME).unwrap_or(0);
        let asked = retried(|| {
            // SAFETY: the struct is live and writable, laid out as the request wants it, and `room` is the number of
            // extents that it has room for.
            unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) }
        });
        if unless_unknown(asked)?.is_none() {
            return Ok(None);
        }
        let found = &map.extents[..(map.mapped as usize).min(AT_A_TIME)];
        for extent in found {
            add(&mut sum, extent);
        }
        match found.last() {
            // A file system that repeats itself must not keep us here for ever.
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
    fn the_structs_are_laid_out_as_the_kernel_has_them() {
        assert_eq!(size_of::<Extent>(), 56);
        assert_eq!(std::mem::offset_of!(Map, extents), 32);
    }

    #[test]
    fn every_kind_of_extent_is_counted_where_it_belongs() {
        let of = |flags: u32| {
            let mut sum = Extents::default();
            add(&mut sum, &Extent { length: 10, flags, ..Extent::default() });
            (sum.written_bytes, sum.unwritten_bytes, sum.other_bytes, sum.shared_bytes)
        };
        assert_eq!(of(FIEMAP_EXTENT_LAST), (10, 0, 0, 0));
        assert_eq!(of(0x1000), (10, 0, 0, 0), "merged from several");
        assert_eq!(of(FIEMAP_EXTENT_UNWRITTEN), (0, 10, 0, 0));
        assert_eq!(of(FIEMAP_EXTENT_SHARED), (10, 0, 0, 10));
        for elsewhere in [0x2, 0x2 | 0x4, 0x8, 0x80 | 0x8, 0x100 | 0x200, 0x100 | 0x400] {
            assert_eq!(of(elsewhere), (0, 0, 10, 0), "{elsewhere:#x}");
        }
        let encoded = |flags: u32| {
            let mut sum = Extents::default();
            add(&mut sum, &Extent { length: 10, flags, ..Extent::default() });
            sum.encoded_bytes
        };
        assert_eq!([0x8, 0x80 | 0x8, 0x2 | 0x4, 0x1].map(encoded), [10, 10, 0, 0]);
    }
}
