//! What can be known of a directory before disks are measured in it.

use serde::Serialize;

use crate::benchmark::io::DiskEngine;

/// A directory as a measurement would find it. Nothing was written to find that out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StorageProbe {
    /// Why nothing can be measured there, if so.
    pub obstacle: Option<String>,
    /// Size of the file system, B.
    pub total_bytes: Option<u64>,
    /// What this user can still have of it, B.
    pub available_bytes: Option<u64>,
    /// Why files there cannot be read and written past the page cache, if so.
    pub no_direct: Option<String>,
    /// Alignment that direct I/O needs of memory, B; `null` where the file system does not say, or could not be asked.
    pub memory_align_bytes: Option<u32>,
    /// Alignment that direct I/O needs of offsets and lengths, B.
    pub offset_align_bytes: Option<u32>,
    /// By what requests can be made.
    pub engines: Vec<EngineProbe>,
    /// What control groups allow on the devices below.
    pub limits: Vec<LimitProbe>,
    /// Traffic of other processes on the devices below, B/s; `null` where no device counts.
    pub others_bytes_per_second: Option<f64>,
    /// How long that was looked at, s.
    pub watched_seconds: Option<f64>,
}

/// Whether an engine can be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct EngineProbe {
    pub engine: DiskEngine,
    /// Why it is not available; `None` where it is.
    pub why_not: Option<String>,
}

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitProbe {
    /// `read_bytes_per_second`, `write_bytes_per_second`, `reads_per_second` or `writes_per_second`.
    pub what: String,
    /// The limit, B/s or 1/s.
    pub value: f64,
    /// Where it is set.
    pub source: String,
}
