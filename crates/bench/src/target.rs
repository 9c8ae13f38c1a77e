//! Where disks are measured: what a directory stands on, found before anything is planned.
//!
//! Looks and changes nothing. What follows from it (a size, an engine, an obstacle) is the plan's business.

use std::path::PathBuf;

use machine::Sysroot;
use model::machine::Storage;

/// A directory to measure in.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskTarget {
    /// The directory.
    pub directory: PathBuf,
    /// Whether the user named it: what cannot be done there is then an error instead of skipped rows.
    pub named: bool,
    /// Its file system and the devices under it.
    pub storage: Storage,
    /// Bytes of the file system.
    pub total_bytes: u64,
    /// Bytes that this user can still have.
    pub available_bytes: u64,
    /// Why it cannot be measured in, if so: no such directory, read-only, memory instead of a disk.
    pub obstacle: Option<String>,
    /// Why `io_uring` cannot be had, if so.
    pub no_io_uring: Option<String>,
}

impl DiskTarget {
    /// Looks at a directory. One of our own that is not there yet is judged by the nearest one above it that is.
    pub fn look(directory: PathBuf, named: bool) -> Self {
        let storage = machine::storage(&Sysroot::host(), &directory);
        let (total_bytes, available_bytes, obstacle, no_io_uring) = (0, 0, None, None);
        Self { directory, named, storage, total_bytes, available_bytes, obstacle, no_io_uring }
    }
}
