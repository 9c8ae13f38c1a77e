//! The classic suite's tables of disks: each workload by block and threads; throughput of what comes in large blocks,
//! latency and IOPS of what comes in small ones, and the page cache beside both.

use model::document::{Document, Row, Status};
use model::experiment::{Classic, DiskParams};
use model::io::{DiskCache, DiskOp, DiskPattern};
use model::sample::{Metric, MetricName};
use model::warning::Grade;

use super::figures::{Figure, Theory, best, common, did, highest};
use areas::disk::label::params;
use areas::label::{Axis, Common};

/// The name of these tables in a row's [`Classic`].
pub(super) const TABLE: &str = "disk";

/// The workloads in the tables' order; others follow in the document's.
const WORKLOADS: [&str; 6] = ["RS", "WS", "RR", "WR", "RWS", "RWR"];

/// A total below this is one of operations, else of bytes: a million of the one, gigabytes of the other.
const LEAST_TOTAL_BYTES: f64 = 1e7;

/// Smaller blocks cannot go past the page cache: devices have sectors of at least so many bytes.
const SECTOR_BYTES: u64 = 512;

/// All tables.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskTable {
    /// One for each workload, block and state of the page cache, in the tables' order.
    pub series: Vec<DiskSeries>,
    /// Where and how most of it was measured: directory, file system, disk, engine, file.
    pub place: Option<String>,
    /// Bytes that each experiment of large blocks comes to over all threads, where all state the same.
    pub total: Option<f64>,
    /// Requests that each experiment of small blocks comes to, likewise.
    pub requests_total: Option<f64>,
}

/// One workload with one block, over the threads.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSeries {
    /// `RS`, `WS`, `RR`, `WR`, or of both in turn `RWS`, `RWR`.
    pub workload: String,
    /// Bytes of a request.
    pub block: u64,
    /// What the page cache was allowed to do.
    pub cache: DiskCache,
    /// Whether its answer is the time of single requests and their number, not bytes per second.
    pub of_requests: bool,
    /// By threads, the fewest first.
    pub points: Vec<DiskPoint>,
}

/// What a tool measured, told as each of the three.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ToolFigures {
    /// Bytes per second.
    pub rate: Option<f64>,
    /// Requests per second.
    pub iops: Option<f64>,
    /// Seconds of a request.
    pub latency: Option<f64>,
}

/// One line of the tables. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPoint {
    /// Id of the row.
    pub id: String,
    /// Threads.
    pub threads: u32,
    /// What became of it.
    pub status: Status,
    /// How far it can be trusted.
    pub grade: Option<Grade>,
    /// Bytes per second.
    pub rate: Option<Figure>,
    /// Requests per second.
    pub iops: Option<Figure>,
    /// Seconds of a request.
    pub latency: Option<Figure>,
    /// Seconds that 99 % of the requests took at most.
    pub p99: Option<f64>,
    /// Bytes per second with the flush after each sample of writes counted in.
    pub flushed: Option<f64>,
    /// The most bytes per second that are possible.
    pub theory_rate: Option<Theory>,
    /// The most requests per second.
    pub theory_iops: Option<Theory>,
    /// The least seconds of a request, as a mean: so many in flight over the most requests per second (Little's law),
    /// which for one in flight on a spinning disk is seek and half a rotation.
    pub theory_latency: Option<Theory>,
    /// Measured rate over theory, as the document has it.
    pub efficiency: Option<f64>,
    /// Theory of the latency over what was measured; `None` where a median below the mean makes it more than 1.
    pub latency_efficiency: Option<f64>,
    /// What `IOzone` measured.
    pub iozone: ToolFigures,
    /// What fio measured.
    pub fio: ToolFigures,
    /// Seconds for the total of its workload, bytes or operations.
    pub total_seconds: Option<f64>,
    /// Whether each of its samples was the whole total.
    pub in_full: bool,
}

/// Whether a row is of these tables.
pub(super) fn is_of_disk_table(row: &Row) -> bool {
    row.classic.as_ref().is_some_and(|classic| classic.table == TABLE) && params(row).is_some()
}

impl DiskTable {
    /// The tables of these rows; `None` where none belongs to them.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let rows: Vec<&Row> = document.experiments.iter().filter(|row| is_of_disk_table(row)).collect();
        let mut series: Vec<DiskSeries> = Vec::new();
        for row in &rows {
            let (Some(params), Some(classic)) = (params(row), row.classic.as_ref()) else { continue };
            let (new, point) = (series_of(params, classic), point(row, params, classic));
            let same =
                |one: &&mut DiskSeries| (&one.workload, one.block, one.cache) == (&new.workload, new.block, new.cache);
            match series.iter_mut().find(same) {
                Some(own) => own.points.push(point),
                None => series.push(DiskSeries { points: vec![point], ..new }),
            }
        }
        let place = |workload: &str| WORKLOADS.iter().position(|name| *name == workload).unwrap_or(WORKLOADS.len());
        series.sort_by_key(|one| (place(&one.workload), one.block, one.cache));
        for one in &mut series {
            one.points.sort_by_key(|point| point.threads);
        }
        let totals = || rows.iter().filter_map(|row| row.classic.as_ref()?.total);
        let total = common(totals().filter(|total| *total >= LEAST_TOTAL_BYTES));
        let requests_total = common(totals().filter(|total| *total < LEAST_TOTAL_BYTES));
        (!series.is_empty()).then(|| Self { series, place: where_measured(&rows, document), total, requests_total })
    }

    /// The series whose answer is bytes per second.
    pub fn rates(&self) -> impl Iterator<Item = &DiskSeries> {
        self.series.iter().filter(|series| !series.of_requests)
    }

    /// The series whose answer is the time of a request, and how many there are a second.
    pub fn requests(&self) -> impl Iterator<Item = &DiskSeries> {
        self.series.iter().filter(|series| series.of_requests)
    }

    /// Of the series that go past the page cache the highest efficiency, with its series and its point.
    pub fn highest_efficiency(&self, of_requests: bool) -> Option<(f64, (&DiskSeries, &DiskPoint))> {
        highest(self.past(of_requests), |(_, point)| point.efficiency)
    }

    /// Of each workload past the page cache the fastest line: its series and its point.
    pub fn fastest(&self, of_requests: bool) -> Vec<(&DiskSeries, &DiskPoint)> {
        let known = self.past(of_requests).filter(|(_, point)| point.rate.is_some());
        let beats = |one: Option<Figure>, other: Option<Figure>| {
            one.zip(other).is_some_and(|(rate, known)| rate.exceeds(known))
        };
        best(known, |(series, _)| &series.workload, |one, other| beats(one.1.rate, other.1.rate))
    }

    fn past(&self, of_requests: bool) -> impl Iterator<Item = (&DiskSeries, &DiskPoint)> {
        let wanted =
            move |series: &&DiskSeries| series.of_requests == of_requests && series.cache == DiskCache::Bypassed;
        let series = self.series.iter().filter(wanted);
        series.flat_map(|series| series.points.iter().map(move |point| (series, point)))
    }
}

impl DiskSeries {
    /// Whether its blocks are too small for any device: the page cache gathers them.
    pub const fn is_below_sector(&self) -> bool {
        self.block < SECTOR_BYTES
    }
}

/// Where the rows past the page cache were measured; without such, all of them.
fn where_measured(rows: &[&Row], document: &Document) -> Option<String> {
    let bytes = |row: &&Row| {
        let total = row.classic.as_ref().and_then(|classic| classic.total);
        params(row).is_some_and(|own| own.cache == DiskCache::Bypassed)
            && total.is_none_or(|total| total >= LEAST_TOTAL_BYTES)
    };
    let past: Vec<&Row> = rows.iter().copied().filter(bytes).collect();
    let rows = if past.is_empty() { rows } else { past.as_slice() };
    Common::of(rows, Axis::Threads).on(rows, &document.machine).words()
}

fn series_of(params: &DiskParams, classic: &Classic) -> DiskSeries {
    // A block of bytes is called by its size in a suite; what it does is said like that of the others.
    let workload = if WORKLOADS.contains(&classic.workload.as_str()) {
        classic.workload.clone()
    } else {
        workload(params).unwrap_or(&classic.workload).to_owned()
    };
    let counts_requests = classic.total.is_some_and(|total| total < LEAST_TOTAL_BYTES);
    let of_requests = counts_requests && params.block >= SECTOR_BYTES;
    DiskSeries { workload, block: params.block, cache: params.cache, of_requests, points: Vec::new() }
}

const fn workload(params: &DiskParams) -> Option<&'static str> {
    match (params.pattern, params.op) {
        (DiskPattern::Sequential, DiskOp::Read) => Some("RS"),
        (DiskPattern::Sequential, DiskOp::Write) => Some("WS"),
        (DiskPattern::Sequential, DiskOp::Mixed) => Some("RWS"),
        (DiskPattern::Random, DiskOp::Read) => Some("RR"),
        (DiskPattern::Random, DiskOp::Write) => Some("WR"),
        (DiskPattern::Random, DiskOp::Mixed) => Some("RWR"),
        _ => None,
    }
}

fn point(row: &Row, params: &DiskParams, classic: &Classic) -> DiskPoint {
    let metric = |name| row.metric(name).filter(|_| row.status == Status::Ok);
    let (rate, iops) = (metric(MetricName::Throughput), metric(MetricName::Iops));
    let latency = metric(MetricName::Latency);
    let block = params.block as f64;
    let scaled = |theory: Option<Theory>, factor: f64| {
        theory.map(|Theory { value, kind }| Theory { value: value * factor, kind })
    };
    // A row has the peaks of its headline; the other rate is the same in other words.
    let (of_rate, of_iops) = (rate.and_then(Theory::of), iops.and_then(Theory::of));
    let counts_requests = classic.total.is_some_and(|total| total < LEAST_TOTAL_BYTES);
    let counted = if counts_requests { iops } else { rate };
    let theory_iops = of_iops.or_else(|| scaled(of_rate, 1.0 / block));
    let in_flight = f64::from(params.depth) * f64::from(params.threads);
    let least_latency = theory_iops.map(|Theory { value, kind }| Theory { value: in_flight / value, kind });
    let latency_efficiency = least_latency.zip(latency).map(|(least, metric)| least.value / metric.summary.median);
    let latency_efficiency = latency_efficiency.filter(|share| *share <= 1.0);
    let share = |metric: Option<&Metric>| metric.and_then(|metric| metric.efficiency).map(|share| share.value);
    let flushed = row.conditions.disk.as_ref().and_then(|disk| disk.flushed_bytes_per_second);
    let rate_found = rate.map(Figure::of).or_else(|| iops.map(|metric| Figure::of(metric).scaled(block)));
    let iops_found = iops.map(Figure::of).or_else(|| rate.map(|metric| Figure::of(metric).scaled(1.0 / block)));
    let speed = if counts_requests { iops_found } else { rate_found };
    let total_seconds = classic.total.zip(speed).map(|(total, speed)| total / speed.median);
    DiskPoint {
        id: row.id.clone(),
        threads: params.threads,
        status: row.status,
        grade: row.grade,
        rate: rate_found,
        iops: iops_found,
        latency: latency.map(Figure::of),
        p99: latency.and_then(|metric| metric.summary.percentiles).map(|found| found.p99),
        flushed: flushed.filter(|_| row.status == Status::Ok),
        theory_rate: of_rate.or_else(|| scaled(of_iops, block)),
        theory_iops,
        theory_latency: least_latency,
        efficiency: share(rate).or_else(|| share(iops)),
        latency_efficiency,
        iozone: tool(row, "iozone", block),
        fio: tool(row, "fio", block),
        total_seconds: total_seconds.filter(|seconds| seconds.is_finite()),
        in_full: classic.total.zip(counted).is_some_and(|(total, metric)| did(total, metric)),
    }
}

/// What a tool measured beside this row: a rate of bytes is one of requests in other words.
fn tool(row: &Row, tool: &str, block: f64) -> ToolFigures {
    let of = |name: MetricName| {
        let references = row.metric(name).into_iter().flat_map(|metric| &metric.references);
        references.filter(|found| found.tool == tool && found.status == Status::Ok).find_map(|found| found.median)
    };
    let (rate, iops) = (of(MetricName::Throughput), of(MetricName::Iops));
    ToolFigures {
        rate: rate.or_else(|| iops.map(|iops| iops * block)),
        iops: iops.or_else(|| rate.map(|rate| rate / block)),
        latency: of(MetricName::Latency),
    }
}
