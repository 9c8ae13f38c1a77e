//! Results of the disk compared with the limits of link, control group, provider and disk, and with each other.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use model::disk_target::{DiskTarget, IoLimits};
use model::document::{Row, Status};
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskLayout, DiskOp, DiskPattern};
use model::machine::Machine;
use model::number::{UnitScale, byte_rate, percent_hundredths, percent_tenths as percent, request_rate};
use model::peak::PeakKind;
use model::sample::{Metric, MetricName};
use model::warning::{self, Warning, WarningCode};
use verdict::efficiency::{is_impossible, withdraw_impossible};

use crate::disk::label::params;

/// How far a value may exceed the link's: the error of two clocks and of a window's ends.
const ABOVE_LINK: f64 = 1.02;
/// The least time in which a device answers, in seconds: crossing PCI Express alone takes about half of it each way.
const FASTEST_SECONDS: f64 = 1e-6;
/// How far a value of fewer than six samples exceeds all of another's to be above it for certain. A choice.
const ABOVE_RANGE: f64 = 1.5;
/// How close to a limit a rate is at it: the error of a throttle's time slices and of a sample's ends.
const AT_LIMIT: RangeInclusive<f64> = 0.95..=1.05;
/// Below this share of a spinning disk its arm moves noticeably less than over all of it.
const SHORT_SPAN: f64 = 0.05;
const OF_DISKS: &[&str] = &["sata", "sas"];
/// The block size, in bytes, from which requests one after the other are as fast as the device.
const LARGE_BLOCK_BYTES: u64 = 128 << 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) target: &'a DiskTarget,
    pub(crate) machine: &'a Machine,
    pub(crate) declared: &'a BTreeMap<String, f64>,
}

pub(crate) fn hold_against(row: &mut Row, limits: Limits<'_>) {
    let Some(params) = params(row).filter(|params| params.has_device()).cloned() else { return };
    let rates = rates(&params, row);
    let found = [
        impossible(&params, row),
        rates.iter().find_map(|rate| capped_by_cgroup(*rate, &limits.target.limits)),
        rates.iter().find_map(|rate| capped_by_provider(*rate, limits)),
        short_span(&params, row, limits),
    ];
    row.warnings.extend(found.into_iter().flatten());
    withdraw_impossible(row);
}

/// Adds a warning to random reads that are faster than sequential reads of larger blocks with as many bytes in flight,
/// which no device is (IO500's check, github.com/IO500/io500/issues/109).
pub(crate) fn hold_against_each_other(rows: &mut [Row], _: &Machine) {
    let reads = |row: &Row| {
        let params = params(row).filter(|params| row.status == Status::Ok && params.op == DiskOp::Read)?;
        (params.bypasses_cache() && params.load_percent.is_none()).then(|| params.clone())
    };
    let sequential: Vec<(DiskParams, String, f64)> = rows
        .iter()
        .filter_map(|row| Some((reads(row)?, row.id.clone(), at_most(row.metric(MetricName::Throughput)?))))
        .filter(|(params, ..)| params.pattern == DiskPattern::Sequential && params.block >= LARGE_BLOCK_BYTES)
        .collect();
    for row in rows {
        let Some(params) = reads(row).filter(|params| params.pattern == DiskPattern::Random) else { continue };
        let Some(least) = row.metric(MetricName::Throughput).map(at_least) else { continue };
        let comparable = sequential
            .iter()
            .filter(|(other, ..)| other.block > params.block && other.bytes_in_flight() >= params.bytes_in_flight());
        let Some((_, id, most)) = comparable.max_by(|one, other| one.2.total_cmp(&other.2)) else { continue };
        if least <= *most || row.warnings.iter().any(is_impossible) {
            continue;
        }
        let times = least / most;
        let seen = format!(
            "Random reads are at least {times:.2} times as fast as {id}, which reads larger blocks sequentially."
        );
        row.warnings.push(Warning::new(WarningCode::Impossible, times, &seen));
        withdraw_impossible(row);
        row.confidence = row.confidence.map(|_| warning::confidence(&row.warnings));
    }
}

/// The least that a metric is for certain: the low end of its interval, or far below all samples.
fn at_least(metric: &Metric) -> f64 {
    metric.summary.ci95.map_or(metric.summary.min / ABOVE_RANGE.sqrt(), |[low, _]| low)
}

fn at_most(metric: &Metric) -> f64 {
    metric.summary.ci95.map_or(metric.summary.max * ABOVE_RANGE.sqrt(), |[_, high]| high)
}

/// A direct result above its link, or reads that come back sooner than any device answers.
fn impossible(params: &DiskParams, row: &Row) -> Option<Warning> {
    let headline = row.metrics.first().filter(|_| params.bypasses_cache())?;
    let link = headline.peaks.iter().find(|peak| peak.kind == PeakKind::Link);
    if let Some(link) = link.filter(|link| headline.summary.median > ABOVE_LINK * link.value) {
        let times = headline.summary.median / link.value;
        let seen = format!("Measured {times:.2} times what the link carries ({}).", link.formula);
        return Some(Warning::new(WarningCode::Impossible, times, &seen));
    }
    let of_reads = row.conditions.disk.as_ref().and_then(|disk| disk.read_latency_seconds);
    let of_all = || row.metric(MetricName::Latency)?.summary.percentiles.map(|percentiles| percentiles.p50);
    let median = if params.op.writes() { of_reads } else { of_reads.or_else(of_all) };
    median.filter(|median| *median > 0.0 && *median < FASTEST_SECONDS).map(|median| {
        let seen = format!("Half of the reads completed within {}.", UnitScale::NANOSECONDS.fixed(median, 0));
        Warning::new(WarningCode::Impossible, FASTEST_SECONDS / median, &seen)
    })
}

/// A rate of bytes (B/s) or of requests (1/s) in one direction.
#[derive(Clone, Copy, Debug)]
struct Rate {
    of_bytes: bool,
    reads: bool,
    value: f64,
}

impl Rate {
    fn words(self) -> String {
        let Self { of_bytes, reads, value } = self;
        let way = if reads { "read" } else { "written" };
        format!("{} {way}", if of_bytes { byte_rate(value) } else { request_rate(value) })
    }
}

fn rates(params: &DiskParams, row: &Row) -> Vec<Rate> {
    let cold = params.cache == DiskCache::Cold && params.op == DiskOp::Read;
    if !params.bypasses_cache() && !cold {
        return Vec::new();
    }
    let of_reads = match (params.op.reads(), params.op.writes()) {
        (true, true) => row.conditions.disk.as_ref().and_then(|disk| disk.read_share).unwrap_or(0.5),
        (reads, _) => f64::from(u8::from(reads)),
    };
    let mut rates = Vec::new();
    for (name, of_bytes) in [(MetricName::Throughput, true), (MetricName::Iops, false)] {
        // Behind the page cache the kernel makes requests of its own size.
        let Some(metric) = row.metric(name).filter(|_| of_bytes || !cold) else { continue };
        for (reads, share) in [(true, of_reads), (false, 1.0 - of_reads)] {
            rates.push(Rate { of_bytes, reads, value: share * metric.summary.median });
        }
    }
    rates.retain(|rate| rate.value > 0.0);
    rates
}

fn capped_by_cgroup(rate: Rate, limits: &IoLimits) -> Option<Warning> {
    let limit = match (rate.of_bytes, rate.reads) {
        (true, true) => &limits.read_bytes_per_second,
        (true, false) => &limits.write_bytes_per_second,
        (false, true) => &limits.reads_per_second,
        (false, false) => &limits.writes_per_second,
    };
    let limit = limit.as_ref()?;
    let share = rate.value / limit.value;
    AT_LIMIT.contains(&share).then(|| {
        let seen = format!("{} are {} of what {} allows.", rate.words(), percent(share), limit.source);
        Warning::new(WarningCode::CappedByCgroup, share, &seen)
    })
}

/// A declared rate is what a provider sells of a virtual or remote disk; of a physical disk it is what the disk can do.
fn capped_by_provider(rate: Rate, limits: Limits<'_>) -> Option<Warning> {
    let Limits { target, machine, declared } = limits;
    let named = |name: &String| machine.disks.iter().find(|disk| disk.name == *name);
    let disks: Vec<_> = target.storage.disks().iter().filter_map(named).collect();
    let is_virtual = !disks.is_empty() && disks.iter().all(|disk| disk.is_virtual == Some(true));
    let key = match (rate.of_bytes, rate.reads) {
        (true, true) => "disk.read_bps",
        (true, false) => "disk.write_bps",
        (false, true) => "disk.read_iops",
        (false, false) => "disk.write_iops",
    };
    let share = rate.value / declared.get(key).copied().filter(|limit| *limit > 0.0)?;
    let is_sold = is_virtual || target.remote || machine.virtualization.is_some();
    (is_sold && AT_LIMIT.contains(&share)).then(|| {
        let seen = format!("{} are {} of the declared {key}.", rate.words(), percent(share));
        Warning::new(WarningCode::CappedByProvider, share, &seen)
    })
}

/// A small file on a disk that certainly spins: virtual disks and USB bridges may report rotation without it.
fn short_span(params: &DiskParams, row: &Row, limits: Limits<'_>) -> Option<Warning> {
    let files = if params.layout == DiskLayout::PerThread { u64::from(params.threads) } else { 1 };
    let size = row.conditions.disk.as_ref().and_then(|disk| disk.file_bytes).unwrap_or(params.size);
    let seeks = params.pattern != DiskPattern::Sequential && params.cache != DiskCache::Warm;
    let disks = limits.target.storage.disks();
    let [disk] = disks.as_slice() else { return None };
    let disk = limits.machine.disks.iter().find(|found| found.name == *disk)?;
    let certain =
        disk.rotations_per_minute.is_some() || disk.transport.as_deref().is_some_and(|by| OF_DISKS.contains(&by));
    let spins = disk.rotational == Some(true) && disk.is_virtual == Some(false) && certain;
    let bytes = disk.bytes.filter(|bytes| *bytes > 0 && spins && seeks)?;
    let span = size.saturating_mul(files) as f64 / bytes as f64;
    (span < SHORT_SPAN).then(|| {
        let seen = format!("The file takes {} of the spinning disk {}.", percent_hundredths(span), disk.name);
        Warning::new(WarningCode::ShortSpan, 1.0 - span, &seen)
    })
}

#[cfg(test)]
mod tests {
    use model::disk_target::IoLimit;
    use model::document::DiskConditions;
    use model::experiment::Params;
    use model::machine::{Disk, Storage, StorageDevice, Virtualization};
    use model::peak::{Efficiency, Peak};
    use model::sample::Percentiles;
    use model::warning::Confidence;

    use super::super::tests::{QUIET, good, row};
    use super::*;
    use crate::tests::{disk_params, machine_with_cpus};

    /// A directory on `sda`.
    fn target() -> DiskTarget {
        let device = StorageDevice { name: "sda1".into(), disk: Some("sda".into()), ..StorageDevice::default() };
        DiskTarget {
            directory: "/data".into(),
            storage: Storage { chain: vec![device], ..Storage::default() },
            total_bytes: 1 << 40,
            available_bytes: 1 << 40,
            ..DiskTarget::default()
        }
    }

    fn machine(rotational: bool, is_virtual: bool) -> Machine {
        let disk = Disk {
            name: "sda".into(),
            bytes: Some(10_000_000_000_000),
            rotational: Some(rotational),
            is_virtual: Some(is_virtual),
            transport: Some("sata".into()),
            ..Disk::default()
        };
        Machine { disks: vec![disk], ..machine_with_cpus(2) }
    }

    fn codes(row: &Row) -> Vec<&str> {
        row.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    fn held(mut row: Row, target: &DiskTarget, machine: &Machine, declared: &[&str]) -> Row {
        let of =
            |item: &&str| item.split_once('=').map(|(key, value)| (key.to_owned(), value.parse().unwrap())).unwrap();
        let declared = declared.iter().map(of).collect();
        hold_against(&mut row, Limits { target, machine, declared: &declared });
        row
    }

    fn plain(params: DiskParams) -> Row {
        row(params, good(), &QUIET)
    }

    fn with_link(value: f64) -> Row {
        let mut row = plain(disk_params(32));
        let peak = Peak {
            kind: PeakKind::Link,
            value,
            formula: "600 MB/s / 4KiB (SATA 6 Gbit/s)".into(),
            inputs: Vec::new(),
            uncertainty: None,
        };
        row.metrics[0].peaks = vec![peak];
        row.metrics[0].efficiency = Some(Efficiency { value: 1e5 / value, of: PeakKind::Link });
        row
    }

    #[test]
    fn an_ordinary_row_is_held_against_everything_and_keeps_its_efficiency() {
        let target = DiskTarget {
            limits: IoLimits {
                reads_per_second: Some(IoLimit { value: 2e5, source: "io.max".into() }),
                ..IoLimits::default()
            },
            ..target()
        };
        let row = held(with_link(1.4e5), &target, &machine(false, false), &["disk.read_iops=1.2e5"]);
        assert_eq!((codes(&row), row.metrics[0].efficiency.is_some()), (vec![], true));
    }

    #[test]
    fn more_than_the_link_carries_cannot_be() {
        let mut above = with_link(5e4);
        above.warnings.push(Warning::new(WarningCode::AbovePeak, 2.0, "x"));
        let above = held(above, &target(), &machine(false, false), &[]);
        assert_eq!((codes(&above), above.metrics[0].efficiency), (vec!["impossible"], None));
        assert_eq!(above.warnings[0].confidence, Confidence::Low);
        assert_eq!(codes(&held(with_link(0.99e5), &target(), &machine(false, false), &[])), [""; 0], "within the ends");
        let mut cached = with_link(5e4);
        cached.params = Params::Disk(DiskParams { direct: false, cache: DiskCache::Warm, ..disk_params(32) });
        assert_eq!(codes(&held(cached, &target(), &machine(false, false), &[])), [""; 0], "memory is no device");
    }

    #[test]
    fn a_read_that_is_back_within_a_microsecond_saw_no_device() {
        let with = |p50: f64, params: DiskParams| {
            let mut row = plain(params);
            let mut latency = row.metrics[0].clone();
            latency.name = "latency".into();
            let percentiles = Percentiles { p50, p90: p50, p99: p50, p99_9: p50, p99_99: p50, max: p50, count: 9 };
            latency.summary.percentiles = Some(percentiles);
            row.metrics.push(latency);
            held(row, &target(), &machine(false, false), &[])
        };
        let fast = with(0.3e-6, disk_params(1));
        assert!(codes(&fast) == ["impossible"] && fast.warnings[0].text.contains("300 ns"), "{:?}", fast.warnings);
        assert_eq!(codes(&with(5e-6, disk_params(1))), [""; 0]);
        let write = DiskParams { op: DiskOp::Write, ..disk_params(1) };
        assert_eq!(codes(&with(0.3e-6, write)), [""; 0], "a write may end in a buffer");
        let mixed = DiskParams { op: DiskOp::Mixed, ..disk_params(1) };
        let conditions = DiskConditions { read_latency_seconds: Some(0.5e-6), ..good() };
        let mixed = held(row(mixed, conditions, &QUIET), &target(), &machine(false, false), &[]);
        assert_eq!(codes(&mixed), ["impossible"]);
    }

    #[test]
    fn small_blocks_at_random_are_not_faster_than_large_ones_in_order() {
        let random = |iops: f64| row(disk_params(32), good(), &QUIET.map(|rate| rate / 1e5 * iops));
        let sequential = |depth, rate: f64| {
            let params = DiskParams { pattern: DiskPattern::Sequential, block: 1 << 20, ..disk_params(depth) };
            row(params, good(), &QUIET.map(|one| one / 1e5 * rate / f64::from(1 << 20)))
        };
        let rated = |mut rows: Vec<Row>| {
            for row in &mut rows {
                row.confidence = Some(Confidence::High);
            }
            for _ in 0..2 {
                hold_against_each_other(&mut rows, &Machine::default());
            }
            rows
        };
        let rows = rated(vec![random(1e6), sequential(8, 2e9)]);
        assert_eq!(
            (codes(&rows[0]), rows[0].confidence, codes(&rows[1])),
            (vec!["impossible"], Some(Confidence::Low), vec![])
        );
        assert!(rows[0].warnings[0].text.contains(&rows[1].id), "{:?}", rows[0].warnings);
        assert_eq!(codes(&rated(vec![random(1e5), sequential(8, 2e9)])[0]), [""; 0]);
        assert_eq!(codes(&rated(vec![random(4.9e5), sequential(8, 2e9)])[0]), [""; 0], "the intervals meet");
        let deep = row(DiskParams { threads: 64, ..disk_params(32) }, good(), &QUIET.map(|rate| rate * 10.0));
        assert_eq!(codes(&rated(vec![deep, sequential(1, 2e9)])[0]), [""; 0], "the other had less in flight");
        assert_eq!(codes(&rated(vec![random(1e6)])[0]), [""; 0]);
        // Three samples have no interval.
        let three = |mut row: Row| {
            row.metrics.iter_mut().for_each(|metric| metric.summary.ci95 = None);
            row
        };
        let rated = |iops| rated(vec![three(random(iops)), three(sequential(8, 2e9))]);
        assert_eq!(codes(&rated(6e5)[0]), [""; 0], "a fifth more may be the minutes between them");
        assert_eq!(codes(&rated(1e6)[0]), ["impossible"]);
    }

    #[test]
    fn a_rate_at_a_limit_of_the_control_group_or_the_provider_is_the_limit_s() {
        let with = |limits: IoLimits, params: DiskParams| {
            let target = DiskTarget { limits, ..target() };
            held(plain(params), &target, &machine(false, false), &[])
        };
        let limit = |value| Some(IoLimit { value, source: "/sys/fs/cgroup/a/io.max (riops of sda)".into() });
        let reads = |value| IoLimits { reads_per_second: limit(value), ..IoLimits::default() };
        let capped = with(reads(1.02e5), disk_params(32));
        assert_eq!((codes(&capped), capped.warnings[0].confidence), (vec!["capped_by_cgroup"], Confidence::Fair));
        assert!(capped.warnings[0].text.contains("98.0 %") && capped.warnings[0].text.contains("io.max"));
        for value in [1.1e5, 0.9e5] {
            assert_eq!(codes(&with(reads(value), disk_params(32))), [""; 0], "{value}");
        }
        let bytes = IoLimits { read_bytes_per_second: limit(409.6e6), ..IoLimits::default() };
        assert_eq!(codes(&with(bytes.clone(), disk_params(32))), ["capped_by_cgroup"]);
        let write = DiskParams { op: DiskOp::Write, ..disk_params(32) };
        assert_eq!(codes(&with(bytes, write)), [""; 0], "a limit of reads");
        let half = DiskParams { op: DiskOp::Mixed, ..disk_params(32) };
        assert_eq!(codes(&with(reads(0.5e5), half)), ["capped_by_cgroup"]);
        let warm = DiskParams { cache: DiskCache::Warm, direct: false, ..disk_params(32) };
        assert_eq!(codes(&with(reads(1e5), warm)), [""; 0]);
        let declared = ["disk.read_iops=1e5"];
        let of = |machine: &Machine, declared: &[&str]| {
            codes(&held(plain(disk_params(32)), &target(), machine, declared)).join(" ")
        };
        assert_eq!(of(&machine(false, true), &declared), "capped_by_provider");
        assert_eq!(of(&machine(false, false), &declared), "");
        let guest = Machine { virtualization: Some(Virtualization::default()), ..machine(false, false) };
        assert_eq!(of(&guest, &declared), "capped_by_provider");
        assert_eq!(of(&guest, &["disk.read_iops=2e5"]), "");
        assert_eq!(of(&guest, &[]), "");
    }

    #[test]
    fn a_small_file_on_a_disk_that_spins_is_a_short_span() {
        let of = |machine: &Machine, params: DiskParams| {
            let row = held(plain(params), &target(), machine, &[]);
            codes(&row).join(" ")
        };
        let small = || DiskParams { size: 1 << 30, ..disk_params(1) };
        assert_eq!(of(&machine(true, false), small()), "short_span");
        assert_eq!(of(&machine(true, true), small()), "", "a hypervisor's disk says that it spins");
        assert_eq!(of(&machine(false, false), small()), "");
        let on_usb = |rotations_per_minute| {
            let mut machine = machine(true, false);
            (machine.disks[0].transport, machine.disks[0].rotations_per_minute) =
                (Some("usb".into()), rotations_per_minute);
            machine
        };
        assert_eq!(of(&on_usb(None), small()), "", "bridges of USB say so of any stick");
        assert_eq!(of(&on_usb(Some(5400)), small()), "short_span");
        assert_eq!(of(&machine(true, false), DiskParams { size: 600_000_000_000, ..small() }), "");
        assert_eq!(of(&machine(true, false), DiskParams { pattern: DiskPattern::Sequential, ..small() }), "");
    }
}
