//! The kernel's counts of bytes on devices: of this process, and of each disk.

use crate::disk::storage::SECTOR_BYTES;
use crate::sysroot::Sysroot;

/// Bytes moved by this process since it began (proc(5), `io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Read from the storage layer, B; reads from the page cache are not included.
    pub read_bytes: u64,
    /// Written, or to be written, to the storage layer, B.
    pub write_bytes: u64,
    /// Of those, never written because the file was truncated or removed, B.
    pub cancelled_write_bytes: u64,
}

/// A disk's counts since it appeared (kernel documentation, `block/stat.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "finished requests and their bytes, as named")]
pub struct DeviceIo {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
}

/// This process's counts, if the kernel keeps them.
pub fn process_io(root: &Sysroot) -> Option<ProcessIo> {
    let text = root.text("proc/self/io")?;
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(ProcessIo {
        read_bytes: count("read_bytes")?,
        write_bytes: count("write_bytes")?,
        cancelled_write_bytes: count("cancelled_write_bytes")?,
    })
}

/// A whole disk's counts; `None` if it does not exist or counting is off (`queue/iostats`).
pub fn device_io(root: &Sysroot, disk: &str) -> Option<DeviceIo> {
    let file = |file: &str| format!("sys/block/{disk}/{file}");
    if root.number::<u32>(&file("queue/iostats")) == Some(0) {
        return None;
    }
    let text = root.text(&file("stat"))?;
    let counts: Vec<u64> = text.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
    let bytes = |index: usize| counts.get(index)?.checked_mul(SECTOR_BYTES);
    Some(DeviceIo { reads: *counts.first()?, read_bytes: bytes(2)?, writes: *counts.get(4)?, write_bytes: bytes(6)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn bytes_are_counted_where_the_kernel_counts() {
        let fixture = Fixture::new("counters").file(
            "proc/self/io",
            "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 512\n",
        );
        let fixture = fixture.file("sys/block/vda/stat", " 12 3 80 9 7 1 160 5 0 1 2\n");
        let root = fixture.root();
        let io = ProcessIo { read_bytes: 4096, write_bytes: 8192, cancelled_write_bytes: 512 };
        assert_eq!(process_io(&root), Some(io));
        let device = DeviceIo { reads: 12, read_bytes: 80 * 512, writes: 7, write_bytes: 160 * 512 };
        assert_eq!(device_io(&root, "vda"), Some(device));
        assert_eq!(device_io(&root, "sda"), None);
        assert_eq!(device_io(&root, "../vda"), None);
    }

    #[test]
    fn a_disk_that_does_not_count_has_no_counters() {
        let fixture = Fixture::new("no-iostats")
            .file("sys/block/vda/stat", "0 0 0 0 0 0 0 0 0 0 0\n")
            .file("sys/block/vda/queue/iostats", "0\n")
            .file("sys/block/vdb/stat", "0 0 x\n");
        assert_eq!(device_io(&fixture.root(), "vda"), None);
        assert_eq!(device_io(&fixture.root(), "vdb"), None);
        assert_eq!(process_io(&fixture.root()), None);
    }

    #[test]
    fn this_process_reads_and_counts() {
        let root = Sysroot::host();
        // Not every kernel keeps these counts; they only grow.
        let Some(before) = process_io(&root) else { return };
        let after = process_io(&root).unwrap();
        assert!(after.read_bytes >= before.read_bytes && after.write_bytes >= before.write_bytes);
    }
}
