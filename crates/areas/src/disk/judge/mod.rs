//! Conditions and warnings of the disk, from what process runs saw.

mod course;
pub(crate) mod limits;
mod queue;
mod reached;

use model::document::{Conditions, DiskConditions, Row};
use model::experiment::DiskParams;
use model::io::DiskCache;
use model::plan::Planned;
use model::surroundings::{Change, DiskHeat};
use model::warning::Warning;
use verdict::judge::{ProcessRun, median, others_share};

use crate::disk::label::params;

/// Bytes that a benchmark must have moved before its share of the device's traffic is worth a value.
const LEAST_COUNTED_BYTES: u64 = 4 << 20;
/// Bytes per second that a file system may write on its own (journal, times). On ext4 3 to 5 of 1100 MB were not ours,
/// on a host that wrote 0.6 to 0.8 MB/s when idle.
const JOURNAL_BYTES: u64 = 1 << 20;

pub(super) fn conditions(planned: &Planned, runs: &[&ProcessRun], conditions: &mut Conditions) {
    let Some(params) = planned.experiment.disk() else { return };
    if params.load_percent.is_some() {
        // The warm-up has no load: it measures the rate that the load is a share of.
        conditions.warm_up_change = None;
    }
    conditions.disk = of_disk(params, runs, conditions.cpu_share);
    if let Some(disk) = &mut conditions.disk {
        disk.other_share = other_share(params, runs);
    }
}

/// The conditions of all process runs: facts from the last, measurements from all.
fn of_disk(params: &DiskParams, runs: &[&ProcessRun], cpu_busy: Option<f64>) -> Option<DiskConditions> {
    let all: Vec<&DiskConditions> = runs.iter().filter_map(|run| run.seen.disk.as_ref()).collect();
    let values = |of: fn(&DiskConditions) -> Option<f64>| all.iter().filter_map(|one| of(one)).collect::<Vec<f64>>();
    let middle = |of: fn(&DiskConditions) -> Option<f64>| median(&values(of));
    let sum = |of: fn(&DiskConditions) -> Option<u64>| all.iter().filter_map(|one| of(one)).reduce(std::ops::Add::add);
    let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
    let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
    let before = values(|one| one.cached_share_before);
    let heat = runs.iter().filter_map(|run| run.surroundings.disk_heat);
    let heat: Option<DiskHeat> = heat.min_by(|one, other| one.headroom().total_cmp(&other.headroom()));
    Some(DiskConditions {
        laid_out_bytes: sum(|one| one.laid_out_bytes),
        written_bytes: sum(|one| one.written_bytes),
        unwritten_bytes: all.iter().filter_map(|one| one.unwritten_bytes).max(),
        cached_share: most(values(|one| one.cached_share)),
        cached_share_before: if params.cache == DiskCache::Warm { least(before) } else { most(before) },
        flushed_bytes_per_second: middle(|one| one.flushed_bytes_per_second),
        read_share: middle(|one| one.read_share),
        read_latency_seconds: middle(|one| one.read_latency_seconds),
        write_latency_seconds: middle(|one| one.write_latency_seconds),
        full_iops: middle(|one| one.full_iops),
        due_iops: middle(|one| one.due_iops),
        late_share: middle(|one| one.late_share),
        depth_achieved: middle(|one| one.depth_achieved),
        storage_share: middle(|one| one.storage_share),
        device_share: device_share(params, runs),
        device_celsius: heat.map(|heat| heat.celsius),
        device_limit_celsius: heat.map(|heat| heat.limit_celsius),
        link_share: least(runs.iter().filter_map(|run| run.surroundings.disk_link_share).collect()),
        flush_seconds: middle(|one| one.flush_seconds),
        cpu_seconds_per_request: middle(|one| one.cpu_seconds_per_request),
        loop_iops: middle(|one| one.loop_iops),
        // The worker's own sum misses threads that only a flow knows of.
        cpu_busy: middle(|one| one.cpu_busy).or(cpu_busy),
        ..(*all.last()?).clone()
    })
}

/// Bytes that the device moved over those that we moved, in the direction of the benchmark and without the journal.
fn device_share(params: &DiskParams, runs: &[&ProcessRun]) -> Option<f64> {
    if !params.bypasses_cache() {
        return None;
    }
    let (mut device, mut ours) = (0, 0);
    for run in runs {
        let (of_device, own) = in_direction(params, &run.surroundings)?;
        device += own.min(of_device).max(of_device.saturating_sub(journal_bytes(&run.surroundings)));
        ours += own;
    }
    (ours >= LEAST_COUNTED_BYTES).then(|| device as f64 / ours as f64)
}

/// Bytes that the device moved, and those that we moved, in the benchmark's direction; both directions for a mix.
fn in_direction(params: &DiskParams, around: &Change) -> Option<(u64, u64)> {
    let (all, written) = (around.disk_bytes?, around.disk_written_bytes?);
    let (own, own_written) = (around.own_disk_bytes, around.own_disk_written_bytes);
    Some(match (params.op.reads(), params.op.writes()) {
        (true, true) => (all, own),
        (false, _) => (written, own_written),
        (true, false) => (all.saturating_sub(written), own.saturating_sub(own_written)),
    })
}

/// Bytes that the file system may write during a process run that are not counted as another program's.
fn journal_bytes(around: &Change) -> u64 {
    JOURNAL_BYTES * model::unit::whole_part(around.seconds.clamp(1.0, 1e6).ceil())
}

/// The share of the device's traffic that other programs caused; `None` without a device and through the page cache.
/// Of an amplified result only reads count as other programs'.
fn other_share(params: &DiskParams, runs: &[&ProcessRun]) -> Option<f64> {
    if !params.bypasses_cache() {
        return None;
    }
    let writes_alone = params.op.writes() && !params.op.reads();
    let amplified = writes_alone && device_share(params, runs).is_some_and(|share| share >= reached::AMPLIFIED);
    others_share(runs, |run| {
        let around = &run.surroundings;
        let written = around.disk_written_bytes.filter(|_| amplified).unwrap_or(0);
        let others = around.other_disk_bytes?.saturating_sub(written.saturating_sub(around.own_disk_written_bytes));
        Some((others.saturating_sub(journal_bytes(around)), around.disk_bytes?))
    })
}

pub(super) fn warnings(row: &Row, _: &[ProcessRun]) -> Vec<Warning> {
    let params = params(row).filter(|params| params.has_device());
    let (Some(params), Some(conditions)) = (params, &row.conditions.disk) else { return Vec::new() };
    let mut warnings = reached::warnings(params, conditions);
    warnings.extend(queue::warnings(params, conditions, row));
    warnings.extend(course::warnings(params, conditions, row));
    warnings
}

#[cfg(test)]
pub(crate) mod tests {
    use model::document::Status;
    use model::experiment::{Area, Params};
    use model::io::{DiskEngine, DiskOp, DiskPattern};
    use model::unit::Unit;
    use model::wire::Observations;

    use super::*;
    use crate::tests::{disk_params, metric, planned_with};

    /// What a row sees that did what it says, with 32 requests in flight.
    pub(crate) fn good() -> DiskConditions {
        DiskConditions {
            depth_achieved: Some(31.7),
            cached_share: Some(0.0),
            storage_share: Some(1.01),
            device_share: Some(1.004),
            unwritten_bytes: Some(0),
            encoded_bytes: Some(0),
            compressed: Some(false),
            device_celsius: Some(55.0),
            device_limit_celsius: Some(81.85),
            link_share: Some(1.0),
            cpu_busy: Some(0.3),
            loop_iops: Some(3e6),
            mean_latency_seconds: Some(31.7 / 100e3),
            ..DiskConditions::default()
        }
    }

    /// Nine samples of 100 000 requests/s, noise of some per cent included.
    pub(crate) const QUIET: [f64; 9] = [1e5, 1.02e5, 0.97e5, 1.01e5, 0.99e5, 1.03e5, 0.98e5, 1e5, 1.0e5];

    pub(crate) fn row(params: DiskParams, conditions: DiskConditions, iops: &[f64]) -> Row {
        let id = model::experiment::disk_id(&params, model::experiment::DiskChoices::default());
        let bytes: Vec<f64> = iops.iter().map(|rate| rate * params.block as f64).collect();
        let of_bytes = metric("throughput", Unit::BytePerSecond, &bytes);
        let of_requests = metric("iops", Unit::OpPerSecond, iops);
        let is_random = params.pattern == DiskPattern::Random;
        let mut row = Row::planned(&planned_with(Area::Disk, Params::Disk(params)).experiment, "");
        row.metrics = if is_random { vec![of_requests, of_bytes] } else { vec![of_bytes, of_requests] };
        row.id = id;
        row.conditions.disk = Some(conditions);
        row.status = Status::Ok;
        row
    }

    pub(crate) fn codes(params: DiskParams, conditions: DiskConditions) -> Vec<String> {
        warnings(&row(params, conditions, &QUIET), &[]).into_iter().map(|warning| warning.code.to_string()).collect()
    }

    #[test]
    fn a_row_that_did_what_it_says_or_has_no_device_has_nothing_to_say() {
        assert_eq!(codes(disk_params(32), good()), [""; 0]);
        assert_eq!(codes(disk_params(32), DiskConditions::default()), [""; 0], "nor one of which nothing is known");
        let null = DiskParams { engine: DiskEngine::Null, ..disk_params(32) };
        let odd = DiskConditions { depth_achieved: Some(1.0), cpu_busy: Some(1.0), cached_share: Some(1.0), ..good() };
        assert!(codes(disk_params(32), odd.clone()).len() >= 3);
        assert_eq!(codes(null, odd), [""; 0]);
    }

    fn launched(disk: DiskConditions, surroundings: Change) -> ProcessRun {
        let seen = Observations { waiting: true, disk: Some(disk), ..Observations::default() };
        ProcessRun { seen, surroundings, ..ProcessRun::default() }
    }

    fn merged(params: DiskParams, launches: &[ProcessRun]) -> Option<DiskConditions> {
        let mut found = Conditions { cpu_share: Some(0.5), ..Conditions::default() };
        let planned = planned_with(Area::Disk, Params::Disk(params));
        conditions(&planned, &launches.iter().collect::<Vec<_>>(), &mut found);
        found.disk
    }

    #[test]
    fn facts_come_from_the_last_launch_and_measurements_from_all() {
        let launch = |cached, depth| {
            let seen = DiskConditions {
                cached_share: Some(cached),
                cached_share_before: Some(cached),
                depth_achieved: Some(depth),
                ..good()
            };
            launched(seen, Change::default())
        };
        let launches = [launch(0.2, 30.0), launch(0.0, 31.0), launch(0.1, 32.0)];
        let cold = DiskParams { cache: DiskCache::Cold, direct: false, ..disk_params(32) };
        let found = merged(cold.clone(), &launches).unwrap();
        assert_eq!((found.cached_share, found.depth_achieved, found.cpu_busy), (Some(0.2), Some(31.0), Some(0.3)));
        assert_eq!(found.cached_share_before, Some(0.2));
        let warm = merged(DiskParams { cache: DiskCache::Warm, ..cold.clone() }, &launches).unwrap();
        assert_eq!(warm.cached_share_before, Some(0.0), "of a warm file what is missing counts");
        assert!(merged(cold, &[ProcessRun::default()]).is_none());
        let change = |celsius, share| Change {
            disk_heat: Some(DiskHeat { celsius, limit_celsius: 80.0 }),
            disk_link_share: Some(share),
            ..Change::default()
        };
        let launches = [launched(good(), change(79.0, 1.0)), launched(good(), change(60.0, 0.5))];
        let found = merged(disk_params(32), &launches).unwrap();
        assert_eq!((found.device_celsius, found.link_share), (Some(79.0), Some(0.5)));
    }

    #[test]
    fn bytes_of_the_device_are_held_against_ours_in_the_row_s_direction() {
        const MIB: u64 = 1 << 20;
        let around = |read: u64, written: u64, own_read: u64, own_written: u64| Change {
            seconds: 0.5,
            disk_bytes: Some((read + written) * MIB),
            disk_written_bytes: Some(written * MIB),
            own_disk_bytes: (own_read + own_written) * MIB,
            own_disk_written_bytes: own_written * MIB,
            ..Change::default()
        };
        let share = |op, change: Change| {
            let params = DiskParams { op, ..disk_params(32) };
            merged(params, &[launched(good(), change), launched(good(), change)]).unwrap().device_share
        };
        assert_eq!(share(DiskOp::Read, around(100, 50, 100, 0)), Some(1.0));
        assert_eq!(share(DiskOp::Read, around(20, 0, 100, 0)), Some(0.2));
        assert_eq!(share(DiskOp::Write, around(0, 151, 0, 100)), Some(1.5), "the journal's mebibyte apart");
        assert_eq!(share(DiskOp::Write, around(0, 101, 0, 100)), Some(1.0));
        assert_eq!(share(DiskOp::Mixed, around(50, 50, 50, 50)), Some(1.0));
        assert_eq!(share(DiskOp::Read, around(1, 0, 1, 0)), None, "too little");
        assert_eq!(share(DiskOp::Read, Change { disk_written_bytes: None, ..around(9, 0, 9, 0) }), None);
        let buffered = DiskParams { direct: false, cache: DiskCache::Warm, ..disk_params(32) };
        assert_eq!(merged(buffered, &[launched(good(), around(9, 0, 9, 0))]).unwrap().device_share, None);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "exact values")]
    fn bytes_of_others_are_beyond_ours_and_the_file_systems() {
        let share = |params: DiskParams, other_disk_bytes: u64| {
            let disk_bytes = Some(100 << 20);
            let change =
                Change { seconds: 0.5, disk_bytes, other_disk_bytes: Some(other_disk_bytes), ..Change::default() };
            merged(params, &vec![launched(DiskConditions::default(), change); 2]).unwrap().other_share
        };
        assert_eq!([1 << 20, 3 << 19, 51 << 20].map(|other| share(disk_params(1), other).unwrap()), [0.0, 0.005, 0.5]);
        let buffered = DiskParams { direct: false, ..disk_params(1) };
        assert_eq!(share(buffered, 51 << 20), None, "its own may come at any time");
        let null = DiskParams { engine: DiskEngine::Null, ..disk_params(1) };
        assert_eq!(share(null, 51 << 20), None, "nothing is asked of a device");
        let journal = |seconds| journal_bytes(&Change { seconds, ..Change::default() }) / JOURNAL_BYTES;
        assert_eq!([0.2, 1.0, 2.5, f64::NAN].map(journal), [1, 1, 3, 0], "a longer process run allows more");
        let share = |written: u64, read: u64| {
            let change = Change {
                seconds: 0.5,
                disk_bytes: Some((written + read) << 20),
                disk_written_bytes: Some(written << 20),
                own_disk_bytes: 100 << 20,
                own_disk_written_bytes: 100 << 20,
                other_disk_bytes: Some((written + read - 100) << 20),
                ..Change::default()
            };
            let params = DiskParams { op: DiskOp::Write, ..disk_params(1) };
            merged(params, &[launched(DiskConditions::default(), change)]).unwrap().other_share.unwrap()
        };
        assert_eq!((share(200, 0), share(105, 0)), (0.0, 4.0 / 105.0));
        assert!((share(200, 201) - 200.0 / 401.0).abs() < 1e-9, "what it read is");
    }
}
