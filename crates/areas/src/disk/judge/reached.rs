//! Whether the requests reached the device, and nothing else did.

use model::document::DiskConditions;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskOp};
use model::number::percent_tenths as percent;
use model::warning::{Warning, WarningCode};

/// The share of the bytes below which not all reached storage: some are read ahead of a window, or after it.
const REACHED: f64 = 0.95;
/// How many times our bytes the device writes at least to be called amplified: the threshold of the warning.
pub(super) const AMPLIFIED: f64 = 1.1;

pub(super) fn warnings(params: &DiskParams, conditions: &DiskConditions) -> Vec<Warning> {
    let unwritten = share_of_file(conditions.unwritten_bytes, params, conditions);
    let steps = &conditions.stepped_down;
    let direct = params.bypasses_cache();
    [
        Warning::when(WarningCode::NotWritten, unwritten, || {
            format!("{} of the file was never written.", percent(unwritten))
        }),
        direct.then(|| not_direct(params, conditions)).flatten(),
        direct.then(|| cached(conditions)).flatten(),
        kept_as_asked(params, conditions),
        compressed(params, conditions),
        direct.then(|| amplified(params, conditions)).flatten(),
        (!steps.is_empty()).then(|| {
            let seen = format!("The engine runs without some features: {}.", steps.join("; "));
            Warning::new(WarningCode::EngineSteppedDown, steps.len() as f64, &seen)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Direct I/O that was cached: the page cache holds it, it did not reach storage, or the file system copies on write.
fn not_direct(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    if params.op.writes() && conditions.in_place == Some(false) {
        let seen = "The file system copies on write for this file, since it checksums a copy.";
        return Some(Warning::new(WarningCode::NotDirect, 1.0, seen));
    }
    let cached = conditions.cached_share.unwrap_or(0.0);
    let missing = conditions.storage_share.filter(|share| *share < REACHED).map_or(0.0, |share| 1.0 - share);
    Warning::when(WarningCode::NotDirect, cached.max(missing), || {
        if missing > cached {
            format!("{} of the bytes reached storage.", percent(1.0 - missing))
        } else {
            format!("{} of the file was in the page cache after the samples.", percent(cached))
        }
    })
}

/// A device that moved less than was requested; more of one share does not make up for less of the other.
fn cached(conditions: &DiskConditions) -> Option<Warning> {
    let share = |share: Option<f64>| share.unwrap_or(1.0).min(1.0);
    let moved = share(conditions.storage_share) * share(conditions.device_share);
    Warning::when(WarningCode::Cached, 1.0 - moved, || {
        format!("The device moved {} of the requested bytes.", percent(moved))
    })
}

fn kept_as_asked(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    let before = conditions.cached_share_before?;
    match params.cache {
        DiskCache::Cold => Warning::when(WarningCode::NotCold, before, || {
            format!("{} of the file was in the page cache before a sample.", percent(before))
        }),
        // Writes need no warm cache.
        DiskCache::Warm if params.op.reads() => Warning::when(WarningCode::NotWarm, 1.0 - before, || {
            format!("Only {} of the file was in the page cache before a sample.", percent(before))
        }),
        DiskCache::Warm | DiskCache::Bypassed => None,
    }
}

/// The share of the file that these bytes are; 0 where unknown.
fn share_of_file(bytes: Option<u64>, params: &DiskParams, conditions: &DiskConditions) -> f64 {
    bytes.unwrap_or(0) as f64 / conditions.file_bytes.unwrap_or(params.size).max(1) as f64
}

fn compressed(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    let encoded = share_of_file(conditions.encoded_bytes, params, conditions);
    if conditions.compressed == Some(true) {
        let seen = format!("Compression is on for the file, and {} of it is compressed.", percent(encoded));
        return Some(Warning::new(WarningCode::Compressed, 1.0, &seen));
    }
    Warning::when(WarningCode::Compressed, encoded, || {
        format!("{} of the file is compressed or encrypted on the device.", percent(encoded))
    })
}

fn amplified(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    let writes_alone = matches!(params.op, DiskOp::Write | DiskOp::Rewrite);
    let asked = conditions.storage_share.unwrap_or(1.0).max(1.0);
    let times = asked * conditions.device_share.filter(|_| writes_alone)?;
    Warning::when(WarningCode::Amplified, times, || format!("The device wrote {times:.2} times the requested bytes."))
}

#[cfg(test)]
mod tests {
    use model::warning::Confidence;

    use super::super::tests::{codes, good};
    use super::*;
    use crate::tests::disk_params;

    fn of_read(conditions: DiskConditions) -> Vec<String> {
        codes(disk_params(32), conditions)
    }

    #[test]
    fn what_memory_answered_is_cached() {
        assert_eq!(of_read(DiskConditions { cached_share: Some(0.5), ..good() }), ["not_direct"]);
        assert_eq!(of_read(DiskConditions { storage_share: Some(0.0), ..good() }), ["not_direct", "cached"]);
        assert_eq!(of_read(DiskConditions { device_share: Some(0.3), ..good() }), ["cached"], "below the kernel");
        let other = DiskConditions { storage_share: Some(1.5), device_share: Some(0.9), ..good() };
        assert_eq!(of_read(other), ["cached"], "more of the one does not make up for it");
        assert_eq!(of_read(DiskConditions { storage_share: Some(0.96), device_share: Some(0.995), ..good() }), [""; 0]);
        assert_eq!(of_read(DiskConditions { unwritten_bytes: Some(1 << 19), ..good() }), ["not_written"]);
        let half = Some(disk_params(32).size / 2);
        let of_half = DiskConditions { unwritten_bytes: half, file_bytes: half, ..good() };
        let seen = warnings(&disk_params(32), &of_half);
        assert!(seen[0].text.contains("100 % of the file") || seen[0].text.contains("100.0 % of the file"), "{seen:?}");
        let stepped_down = vec!["registered buffers: no memory".to_owned()];
        assert_eq!(of_read(DiskConditions { stepped_down, ..good() }), ["engine_stepped_down"]);
    }

    #[test]
    fn rows_through_the_page_cache_are_held_to_what_it_was_to_hold() {
        let of = |cache, op, before| {
            let params = DiskParams { cache, op, direct: false, ..disk_params(32) };
            let served =
                DiskConditions { cached_share: Some(1.0), storage_share: Some(0.0), device_share: None, ..good() };
            codes(params, DiskConditions { cached_share_before: before, ..served })
        };
        assert_eq!(of(DiskCache::Cold, DiskOp::Read, Some(0.2)), ["not_cold"]);
        assert_eq!(of(DiskCache::Cold, DiskOp::Read, Some(0.04)), [""; 0]);
        assert_eq!(of(DiskCache::Warm, DiskOp::Read, Some(0.5)), ["not_warm"]);
        assert_eq!(of(DiskCache::Warm, DiskOp::Read, Some(0.97)), [""; 0]);
        assert_eq!(of(DiskCache::Warm, DiskOp::Write, Some(0.0)), [""; 0], "writes fill it");
        assert_eq!(
            (of(DiskCache::Cold, DiskOp::Read, None), of(DiskCache::Warm, DiskOp::Read, None)),
            (vec![], vec![])
        );
    }

    #[test]
    fn what_the_file_system_does_to_the_data_is_a_warning() {
        assert_eq!(of_read(DiskConditions { compressed: Some(true), ..good() }), ["compressed"]);
        assert_eq!(of_read(DiskConditions { encoded_bytes: Some(1 << 18), ..good() }), ["compressed"]);
        assert_eq!(of_read(DiskConditions { encoded_bytes: None, compressed: None, ..good() }), [""; 0]);
    }

    #[test]
    fn what_the_device_or_the_file_system_adds_is_amplified() {
        let of = |op, storage, device| {
            let params = DiskParams { op, ..disk_params(32) };
            let conditions = DiskConditions { storage_share: Some(storage), device_share: Some(device), ..good() };
            warnings(&params, &conditions)
        };
        for (storage, device, times) in [(1.0, 1.5, "1.50 times"), (8.0, 1.0, "8.00 times")] {
            let found = of(DiskOp::Write, storage, device);
            assert!(found.len() == 1 && found[0].text.contains(times), "{found:?}");
            assert_eq!((found[0].code.as_str(), found[0].confidence), ("amplified", Confidence::Fair));
        }
        for (op, storage, device) in [(DiskOp::Write, 1.0, 1.05), (DiskOp::Read, 1.0, 1.5), (DiskOp::Write, 1.04, 1.0)]
        {
            assert_eq!(of(op, storage, device), vec![]);
        }
        let found = of(DiskOp::Write, 0.5, 1.5);
        let codes: Vec<&str> = found.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["not_direct", "cached", "amplified"], "bytes that never came do not make up for others");
    }

    #[test]
    fn writes_that_are_copied_for_their_checksums_are_not_direct() {
        assert_eq!(WarningCode::Amplified.rule().fair, Some(AMPLIFIED), "the table's");
        let of = |op, in_place| codes(DiskParams { op, ..disk_params(32) }, DiskConditions { in_place, ..good() });
        assert_eq!(of(DiskOp::Write, Some(false)), ["not_direct"]);
        assert_eq!(of(DiskOp::Mixed, Some(false)), ["not_direct"]);
        assert!(of(DiskOp::Read, Some(false)).is_empty() && of(DiskOp::Write, Some(true)).is_empty());
        assert!(of(DiskOp::Write, None).is_empty(), "most file systems do not report it");
    }
}
