//! The conditions and warnings of rows that wait for a device or for another process.

use model::document::{DiskConditions, NetConditions, Row};
use model::experiment::{DiskParams, Params};
use model::io::DiskOp;
use model::sample::MetricName;
use model::warning::{Warning, WarningCode};
use model::wire::Observations;

use super::{median, percent};

/// By so much two slices of warm-up differ on a device that has settled: disks on a shared host, 100 ms each.
pub(super) const USUAL_CHANGE: f64 = 0.2;

/// From this share on the threads' CPUs were busy all the time.
const BUSY: f64 = 0.95;

/// Below this share of the bytes, storage was not reached for all of them: some per cent are read ahead of a window's
/// begin, or after its end.
const REACHED: f64 = 0.95;

/// What all launches of a disk row saw: facts from the last, measurements from all.
pub(super) fn disk(seen: &[&Observations], cpu_busy: Option<f64>) -> Option<DiskConditions> {
    let all: Vec<&DiskConditions> = seen.iter().filter_map(|one| one.disk.as_ref()).collect();
    let values = |of: fn(&DiskConditions) -> Option<f64>| all.iter().filter_map(|one| of(one)).collect::<Vec<f64>>();
    let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
    Some(DiskConditions {
        unwritten_bytes: all.iter().filter_map(|one| one.unwritten_bytes).max(),
        cached_share: most(values(|one| one.cached_share)),
        depth_achieved: median(&values(|one| one.depth_achieved)),
        storage_share: median(&values(|one| one.storage_share)),
        flush_seconds: median(&values(|one| one.flush_seconds)),
        cpu_seconds_per_request: median(&values(|one| one.cpu_seconds_per_request)),
        loop_iops: median(&values(|one| one.loop_iops)),
        // The worker's own sum misses threads that only a flow knows of.
        cpu_busy: median(&values(|one| one.cpu_busy)).or(cpu_busy),
        ..(*all.last()?).clone()
    })
}

/// What all launches of a network row saw.
pub(super) fn net(seen: &[&Observations], cpu_busy: Option<f64>) -> Option<NetConditions> {
    let all: Vec<&NetConditions> = seen.iter().filter_map(|one| one.net.as_ref()).collect();
    let ceilings: Vec<f64> = all.iter().filter_map(|one| one.two_copy_bytes_per_second).collect();
    let lost = all.iter().map(|one| one.lost).collect::<Option<Vec<u64>>>().map(|lost| lost.iter().sum());
    Some(NetConditions { two_copy_bytes_per_second: median(&ceilings), lost, cpu_busy, ..(*all.last()?).clone() })
}

/// The warnings of a disk or network row whose conditions are set.
pub(super) fn warnings(row: &Row) -> Vec<Warning> {
    match (&row.params, &row.conditions.disk, &row.conditions.net) {
        (Params::Disk(params), Some(conditions), _) => of_disk(params, conditions),
        (Params::Net(_), _, Some(conditions)) => of_net(row, conditions).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn of_disk(params: &DiskParams, conditions: &DiskConditions) -> Vec<Warning> {
    let unwritten = conditions.unwritten_bytes.unwrap_or(0) as f64 / params.size as f64;
    let missing_depth = conditions.depth_achieved.map_or(0.0, |depth| 1.0 - depth / f64::from(params.depth));
    let busy = conditions.cpu_busy.unwrap_or(0.0);
    let steps = &conditions.stepped_down;
    [
        Warning::when(WarningCode::NotWritten, unwritten, || {
            format!("{} of the file was never written.", percent(unwritten))
        }),
        not_direct(params, conditions),
        Warning::when(WarningCode::DepthNotReached, missing_depth, || {
            let achieved = conditions.depth_achieved.unwrap_or(0.0);
            format!("{achieved:.1} requests were in flight, not {}.", params.depth)
        }),
        (busy >= BUSY).then(|| {
            Warning::new(
                WarningCode::CpuBound,
                busy,
                &format!("The threads were busy for {} of the time.", percent(busy)),
            )
        }),
        (!steps.is_empty()).then(|| {
            let seen = format!("Not everything that makes requests cheap could be had: {}.", steps.join("; "));
            Warning::new(WarningCode::EngineSteppedDown, steps.len() as f64, &seen)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether something was cached although direct I/O was asked for: by what the page cache holds of the file, by what
/// the kernel says reached storage, and by what is known of file systems that copy on write. These buffer a write and
/// flush it at once, which shows in neither of the figures.
fn not_direct(params: &DiskParams, conditions: &DiskConditions) -> Option<Warning> {
    if params.op != DiskOp::Read && conditions.in_place == Some(false) {
        let seen =
            "The file system copies on write and did not leave it for this file: its checksums are made of a copy.";
        return Some(Warning::new(WarningCode::NotDirect, 1.0, seen));
    }
    let cached = conditions.cached_share.unwrap_or(0.0);
    let missing = conditions.storage_share.filter(|share| *share < REACHED).map_or(0.0, |share| 1.0 - share);
    Warning::when(WarningCode::NotDirect, cached.max(missing), || {
        if missing > cached {
            format!("Storage was reached for {} of the bytes.", percent(1.0 - missing))
        } else {
            format!("{} of the file was in the page cache afterwards.", percent(cached))
        }
    })
}

fn of_net(row: &Row, conditions: &NetConditions) -> Option<Warning> {
    let lost = conditions.lost.unwrap_or(0);
    let came = row.metric(MetricName::Latency)?.summary.percentiles.map_or(0, |percentiles| percentiles.count);
    let share = lost as f64 / (lost + came).max(1) as f64;
    Warning::when(WarningCode::DatagramsLost, share, || format!("{lost} datagrams never came back."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::disk_params;

    fn good() -> DiskConditions {
        DiskConditions {
            depth_achieved: Some(31.7),
            cached_share: Some(0.0),
            storage_share: Some(1.01),
            unwritten_bytes: Some(0),
            cpu_busy: Some(0.3),
            ..DiskConditions::default()
        }
    }

    fn codes(conditions: &DiskConditions) -> Vec<String> {
        of_disk(&disk_params(32), conditions).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_row_that_did_what_it_says_has_nothing_to_say() {
        assert!(codes(&good()).is_empty());
    }

    #[test]
    fn every_lie_of_a_disk_has_its_warning() {
        assert_eq!(codes(&DiskConditions { cached_share: Some(0.5), ..good() }), ["not_direct"]);
        assert_eq!(codes(&DiskConditions { storage_share: Some(0.0), ..good() }), ["not_direct"]);
        assert_eq!(codes(&DiskConditions { unwritten_bytes: Some(1 << 19), ..good() }), ["not_written"]);
        assert_eq!(codes(&DiskConditions { depth_achieved: Some(4.0), ..good() }), ["depth_not_reached"]);
        assert_eq!(codes(&DiskConditions { cpu_busy: Some(0.99), ..good() }), ["cpu_bound"]);
        let stepped_down = vec!["registered buffers: no memory".to_owned()];
        assert_eq!(codes(&DiskConditions { stepped_down, ..good() }), ["engine_stepped_down"]);
    }

    #[test]
    fn writes_that_are_copied_for_their_checksums_are_not_direct() {
        let of = |op, in_place| {
            let params = DiskParams { op, ..disk_params(32) };
            let warnings = of_disk(&params, &DiskConditions { in_place, ..good() });
            warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        assert_eq!(of(DiskOp::Write, Some(false)), ["not_direct"]);
        assert!(of(DiskOp::Read, Some(false)).is_empty() && of(DiskOp::Write, Some(true)).is_empty());
        assert!(of(DiskOp::Write, None).is_empty(), "most file systems say nothing of it");
    }

    #[test]
    fn facts_come_from_the_last_launch_and_measurements_from_all() {
        let seen = |cached, depth| Observations {
            waiting: true,
            disk: Some(DiskConditions { cached_share: Some(cached), depth_achieved: Some(depth), ..good() }),
            ..Observations::default()
        };
        let merged = disk(&[&seen(0.2, 30.0), &seen(0.0, 31.0), &seen(0.1, 32.0)], Some(0.5)).unwrap();
        assert_eq!((merged.cached_share, merged.depth_achieved, merged.cpu_busy), (Some(0.2), Some(31.0), Some(0.3)));
        assert!(disk(&[&Observations::default()], None).is_none());
    }
}
