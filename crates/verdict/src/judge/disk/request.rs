//! What a disk benchmark asks for.

use model::document::DiskConditions;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine};

/// Bytes of the file that was measured: fewer than planned where laying it out was cut short.
pub(in crate::judge) fn file_bytes(params: &DiskParams, conditions: &DiskConditions) -> u64 {
    conditions.file_bytes.unwrap_or(params.size)
}

/// Whether the row is about a device at all.
pub(in crate::judge) fn has_device(params: &DiskParams) -> bool {
    params.engine != DiskEngine::Null
}

/// Whether every request of the row is to reach the device.
pub(in crate::judge) fn goes_past_the_cache(params: &DiskParams) -> bool {
    has_device(params) && params.direct && params.cache == DiskCache::Bypassed
}
