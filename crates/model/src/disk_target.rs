//! The directory that a disk is measured in, as it was found before anything is planned.

use std::path::PathBuf;

use crate::machine::Storage;

/// A directory to measure in.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct DiskTarget {
    pub directory: PathBuf,
    /// Whether the user named it: what cannot be done there is then an error instead of skipped benchmarks.
    pub named: bool,
    /// Its file system and the devices under it.
    pub storage: Storage,
    pub total_bytes: u64,
    /// Bytes that this user can still allocate.
    pub available_bytes: u64,
    /// Why it cannot be measured in, if so, as a sentence: no such directory, read-only, memory instead of a disk.
    pub obstacle: Option<String>,
    /// Why files there cannot be opened with `O_DIRECT`, if so.
    pub no_direct: Option<String>,
    /// What direct I/O must be aligned to; `None` where the file system does not report it.
    pub alignment: Option<DirectAlignment>,
    /// Why `io_uring` is not available, if so.
    pub no_io_uring: Option<String>,
    /// Why native asynchronous I/O (`libaio`) is not available, if so.
    pub no_libaio: Option<String>,
    /// What a control group allows on its devices.
    pub limits: IoLimits,
    /// Whether the data is kept elsewhere: on a server, on the hypervisor's host, by another process.
    pub remote: bool,
}

/// What direct I/O on a file must be a multiple of, in bytes; both 0 where the file has no direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// The address in memory.
    pub memory_bytes: u32,
    /// The offset in the file, and the length.
    pub offset_bytes: u32,
}

/// One limit of a control group on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct IoLimit {
    /// B/s or 1/s.
    pub value: f64,
    /// The file of the control group, and the device.
    pub source: String,
}

/// The tightest limits on the devices that all requests to a directory pass through; `None` where there is no limit.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "named with their units")]
pub struct IoLimits {
    pub read_bytes_per_second: Option<IoLimit>,
    pub write_bytes_per_second: Option<IoLimit>,
    pub reads_per_second: Option<IoLimit>,
    pub writes_per_second: Option<IoLimit>,
}
