//! The classic tables of disks: rates of large blocks, and latency and IOPS of small blocks.

use model::document::{Document, Row, Status};
use model::experiment::{Classic, DiskParams};
use model::io::{DiskCache, DiskLayout, DiskOp, DiskPattern};
use model::number::{power, quantity, size, whole};
use model::sample::MetricName;
use model::unit::Unit;

use super::table::{
    Align, ClassicPart, ClassicTable, GivesWay, Note, Spec, TableColumn, ToolColumns, labels, side_by_side, table_lines,
};
use super::values::{Estimate, Line, Point, Series, best, common, gathered, highest, lines, rows_of};
use crate::chart::grid::Column;
use crate::disk::label::{cache_column, params};
use crate::label::{Axis, Common, block_words, threads};

/// The workloads in the tables' order; others follow in the document's.
const WORKLOADS: [&str; 6] = ["RS", "WS", "RR", "WR", "RWS", "RWR"];
/// A smaller total is a number of requests (a million), not of bytes (gigabytes).
const LEAST_TOTAL_BYTES: f64 = 1e7;
/// Smaller blocks cannot go past the page cache: no device has smaller sectors.
const SECTOR_BYTES: u64 = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskKey {
    /// `RS`, `WS`, `RR`, `WR`, or for every other request a write `RWS`, `RWR`.
    pub workload: String,
    pub block: u64,
    pub cache: DiskCache,
    pub layout: DiskLayout,
    /// Whether its answer is the time of requests and their number, not bytes per second.
    pub of_requests: bool,
}

impl DiskKey {
    fn of(params: &DiskParams, classic: &Classic) -> Self {
        // A suite calls blocks of bytes by their size; in the table they are in the rows of what they do.
        let workload = match (params.pattern, params.op) {
            _ if WORKLOADS.contains(&classic.workload.as_str()) => classic.workload.as_str(),
            (DiskPattern::Sequential, DiskOp::Read) => "RS",
            (DiskPattern::Sequential, DiskOp::Write) => "WS",
            (DiskPattern::Sequential, DiskOp::Mixed) => "RWS",
            (DiskPattern::Random, DiskOp::Read) => "RR",
            (DiskPattern::Random, DiskOp::Write) => "WR",
            (DiskPattern::Random, DiskOp::Mixed) => "RWR",
            _ => classic.workload.as_str(),
        };
        let of_requests = counts_requests(classic.total) && params.block >= SECTOR_BYTES;
        Self {
            workload: workload.to_owned(),
            block: params.block,
            cache: params.cache,
            layout: params.layout,
            of_requests,
        }
    }

    fn place(&self) -> (usize, u64, DiskCache, DiskLayout) {
        let workload = WORKLOADS.iter().position(|name| *name == self.workload).unwrap_or(WORKLOADS.len());
        (workload, self.block, self.cache, self.layout)
    }

    /// Whether its blocks are too small for any device: the page cache gathers them.
    pub const fn is_below_sector(&self) -> bool {
        self.block < SECTOR_BYTES
    }

    const fn file_words(&self) -> &'static str {
        if matches!(self.layout, DiskLayout::PerThread) { "own files" } else { "" }
    }

    fn cache_words(&self) -> &'static str {
        match self.cache {
            DiskCache::Bypassed => "",
            _ if self.is_below_sector() => "through",
            cache => cache_column(cache),
        }
    }
}

fn counts_requests(total: Option<f64>) -> bool {
    total.is_some_and(|total| total < LEAST_TOTAL_BYTES)
}

/// The series of a classic run, in the tables' order.
pub fn series(document: &Document) -> Vec<Series<DiskKey>> {
    let points = rows_of(document, "disk").into_iter().filter_map(|(row, classic)| {
        let params = params(row)?;
        Some((DiskKey::of(params, classic), point(row, params, classic.total)))
    });
    let mut all = gathered(points);
    all.sort_by_key(|series| series.key.place());
    all
}

/// Where the benchmarks past the page cache were measured; without such, all of them.
fn where_measured(document: &Document) -> Option<String> {
    let rows = rows_of(document, "disk");
    let is_past = |(row, classic): &&(&Row, &Classic)| {
        params(row).is_some_and(|own| own.cache == DiskCache::Bypassed) && !counts_requests(classic.total)
    };
    let mut measured: Vec<&Row> = rows.iter().filter(is_past).map(|(row, _)| *row).collect();
    if measured.is_empty() {
        measured = rows.iter().map(|(row, _)| *row).collect();
    }
    Common::of(&measured, Axis::Threads).on(&measured, &document.machine).words()
}

fn point(row: &Row, params: &DiskParams, total: Option<f64>) -> Point {
    let mut point = Point::of(row);
    let block = params.block as f64;
    let name = if counts_requests(total) { MetricName::Iops } else { MetricName::Throughput };
    // A result has the limits of its headline; the other rate is the same in another unit.
    (point.rate, point.iops) = (point.rate.or(&point.iops, block), point.iops.or(&point.rate, 1.0 / block));
    let in_flight = f64::from(params.depth) * f64::from(params.threads);
    // Little's law: the least mean latency is the requests in flight over the highest rate of requests.
    point.latency.theory = point.iops.theory.map(|most| in_flight / most);
    let share = point.latency.theory.zip(point.latency.median()).map(|(least, median)| least / median);
    // A median may lie below the mean.
    point.latency.efficiency = share.filter(|share| *share <= 1.0);
    let speed = if counts_requests(total) { point.iops.median() } else { point.rate.median() };
    point.with_total(total, speed, row.metric(name).filter(|_| row.status == Status::Ok))
}

const FLUSHED: GivesWay = GivesWay { rank: 0, words: "writes with the flush" };
const FIO: GivesWay = GivesWay { rank: 1, words: "fio" };
const TOTAL: GivesWay = GivesWay { rank: 2, words: "the time for the total" };
const P99: GivesWay = GivesWay { rank: 3, words: "the 99th percentile" };
const IOZONE: GivesWay = GivesWay { rank: 5, words: "IOzone" };

const TOOLS: &[ToolColumns] = &[
    ToolColumns {
        programs: &["iozone"],
        about: "IOzone: the same benchmark, alternating with ours",
        text: ["IOzone", "IOzone eff."],
        grid: ["IOzone", "IOzone efficiency"],
        gives_way: IOZONE,
        names_program: false,
    },
    ToolColumns {
        programs: &["fio"],
        about: "fio: the same benchmark, alternating with ours",
        text: ["fio", ""],
        grid: ["fio", "fio efficiency"],
        gives_way: FIO,
        names_program: false,
    },
];

const THROUGHPUT: Spec = Spec {
    name: "classic-disk-throughput",
    title: "The classic disk table, in 10^6 bytes a second (MB/s)",
    measured: |point| &point.rate,
    lower_is_better: false,
    format: plain,
    factor: 1e-6,
    units: ["MB/s"; 2],
    base: Some(Unit::BytePerSecond),
    headings: ["Measured throughput", "Theoretical"],
    in_text: Some(["threads", "efficiency"]),
    interval: Some(GivesWay { rank: 4, words: "the interval" }),
    tools: TOOLS,
};

const LATENCY: Spec = Spec {
    name: "classic-disk-latency",
    title: "The classic disk table of latency: what one request takes, in milliseconds",
    measured: |point| &point.latency,
    lower_is_better: true,
    factor: 1e3,
    units: ["ms"; 2],
    base: Some(Unit::Second),
    headings: ["Measured", "Theoretical"],
    tools: TOOLS.split_at(1).0,
    ..THROUGHPUT
};

const IOPS: Spec = Spec {
    name: "classic-disk-iops",
    title: "The classic disk table of IOPS, in requests a second",
    measured: |point| &point.iops,
    factor: 1.0,
    units: ["IOPS"; 2],
    base: Some(Unit::PerSecond),
    headings: ["Measured", "Theoretical"],
    ..THROUGHPUT
};

/// The tables with what must be known to read them. As a grid, latency is that of small and of large blocks.
pub(super) fn parts(document: &Document) -> Vec<ClassicPart> {
    let all = series(document);
    let (of_requests, of_rates): (Vec<_>, Vec<_>) = all.iter().partition(|series| series.key.of_requests);
    let (rates, requests) = (lines(of_rates.iter().copied()), lines(of_requests));
    let place = where_measured(document).map_or_else(String::new, |place| format!(": {place}"));
    let table = |spec: &Spec, place: &str, points: &[Line<'_, DiskKey>], extra: &[GivesWay], notes| {
        table(spec, document, place, points, extra, notes)
    };
    let throughput = table(&THROUGHPUT, &place, &rates, &[FLUSHED, TOTAL], rate_notes(&rates, &requests));
    let timed = |series: &&&Series<DiskKey>| series.points.iter().any(|point| point.latency.estimate.is_some());
    let timed: Vec<&Series<DiskKey>> = of_rates.iter().filter(timed).copied().collect();
    let title = "The classic disk table of latency for large blocks: what one request takes";
    let by_threads = side_by_side(title, labels_of(&timed, |series| &series.key), &timed);
    let spec = latency_spec(&requests);
    let title = format!("The classic disk table of latency, in {}", spec.units[0]);
    let latency = table(&spec, "", &requests, &[P99], latency_notes(&requests));
    let latency = ClassicTable { grid: None, title: Some(title), ..latency };
    let both: Vec<Line<'_, DiskKey>> = requests.iter().chain(&rates).copied().collect();
    let highest = Note::highest(highest(&past_cache(&both), |point| point.latency.efficiency), line_words);
    let notes = highest.into_iter().chain(latency_notes(&requests)).collect();
    let in_grids = ClassicTable { title: None, ..table(&LATENCY, "", &both, &[], notes) };
    let iops = table(&IOPS, "", &requests, &[TOTAL], iops_notes(&requests));
    let tables = [latency, in_grids, iops].map(ClassicPart::Table);
    [ClassicPart::Table(throughput)].into_iter().chain(by_threads).chain(tables).collect()
}

fn past_cache<'a>(points: &[Line<'a, DiskKey>]) -> Vec<Line<'a, DiskKey>> {
    points.iter().copied().filter(|(series, _)| series.key.cache == DiskCache::Bypassed).collect()
}

/// Latencies are in milliseconds unless one of those past the page cache is below a tenth of it.
fn latency_spec(points: &[Line<'_, DiskKey>]) -> Spec {
    let medians = past_cache(points).into_iter().filter_map(|(_, point)| point.latency.median());
    let is_fast = medians.fold(f64::INFINITY, f64::min) < 1e-4;
    if is_fast { Spec { factor: 1e6, units: ["us"; 2], ..LATENCY } } else { LATENCY }
}

/// A value without an exponent from nanoseconds on, since a column of milliseconds is read from top to bottom.
fn plain(value: f64) -> String {
    if (1e-6..1e-3).contains(&value.abs()) { format!("{value:.6}") } else { whole(value) }
}

fn table(
    spec: &Spec,
    document: &Document,
    place: &str,
    points: &[Line<'_, DiskKey>],
    extra: &[GivesWay],
    notes: Vec<Note>,
) -> ClassicTable {
    let lines = table_lines(points, |series| &series.key.workload);
    let values = |of: fn(&Point) -> Option<f64>, heading: &str, gives_way: GivesWay| {
        let column = TableColumn::values(points, |(_, point)| of(point), |value| spec.text(value));
        extra.contains(&gives_way).then(|| column.text(heading, Align::Decimal).gives_way(gives_way))
    };
    let timed = [values(|point| point.p99, "p99", P99), values(|point| point.flushed, "flushed", FLUSHED)];
    let total = extra.contains(&TOTAL).then(|| TableColumn::durations(points, "total in").gives_way(TOTAL));
    let extra = [timed.into_iter().flatten().collect(), Vec::new(), total.into_iter().collect()];
    spec.table((document, place), points, (lines, notes), labels_of(points, |(series, _)| &series.key), extra)
}

fn labels_of<P>(points: &[P], key: impl Fn(&P) -> &DiskKey) -> [TableColumn; 4] {
    let of = |headings, word: fn(&DiskKey) -> String| {
        labels(points, headings, |point| word(key(point)), |point| key(point).clone())
    };
    [
        labels(points, ["", "Workload"], |point| key(point).workload.clone(), |point| key(point).workload.clone()),
        of(["block", "Block size"], |key| block_words(key.block)),
        of(["page cache", ""], |key| key.cache_words().to_owned()).grid(Column::text("Page cache")),
        of(["files", "Files"], |key| key.file_words().to_owned()),
    ]
}

/// `RS 1 MiB with 2 threads`.
fn line_words((series, point): &Line<'_, DiskKey>) -> String {
    let files = if series.key.layout == DiskLayout::PerThread { " and own files" } else { "" };
    format!("{} {} with {}{files}", series.key.workload, block_words(series.key.block), threads(point.threads))
}

/// The fastest line of each workload past the page cache.
pub fn fastest<'a>(points: &[Line<'a, DiskKey>]) -> Vec<Line<'a, DiskKey>> {
    best(&past_cache(points), |key| &key.workload, |point| point.rate.estimate, Estimate::exceeds)
}

/// Of what goes past the page cache: the fastest, and the highest efficiency.
fn best_notes(points: &[Line<'_, DiskKey>], which: &str) -> [Option<Note>; 2] {
    let what = format!("Fastest ({which} whose interval no other line exceeds)");
    let highest = highest(&past_cache(points), |point| point.rate.efficiency);
    [Note::best(&what, &fastest(points), line_words), Note::highest(highest, line_words)]
}

fn rate_notes(points: &[Line<'_, DiskKey>], requests: &[Line<'_, DiskKey>]) -> Vec<Note> {
    let [fastest, highest] = best_notes(points, "smallest block and fewest threads");
    let has = |wanted: fn(&DiskKey) -> bool| points.iter().any(|(series, _)| wanted(&series.key));
    let has_any = |known: fn(&Point) -> bool| points.iter().any(|(_, point)| known(point));
    let notes = [
        fastest,
        highest,
        total_words(points, requests).map(|words| Note::total(points, TOTAL, &words)),
        Some(Note::new(
            "RS and WS: sequential reads and writes; RR and WR: random; RWS and RWR: every other request is a write. \
             Measured: the median; std dev: of the samples; theory: limit of the drive or its link for this request \
             size.",
        )),
        (!has_any(|point| point.rate.theory.is_some())).then(|| {
            Note::new(
                "The drive's limits are unknown. Declare them: --declare disk.read_bps=7e9 --declare \
                 disk.write_bps=5e9 --declare disk.read_iops=1e6 --declare disk.write_iops=5e5.",
            )
        }),
        has(|key| key.layout == DiskLayout::PerThread)
            .then(|| Note::new("Own files: one for each thread; else one file for all threads.")),
        has(|key| key.cache != DiskCache::Bypassed).then(|| Note::new(cache_words(points.iter().chain(requests)))),
        has_any(|point| point.flushed.is_some()).then(|| {
            let words = "Flushed: writes including the flush after each sample; measured is without it.";
            Note::needing(FLUSHED, words)
        }),
    ];
    notes.into_iter().flatten().collect()
}

fn latency_notes(points: &[Line<'_, DiskKey>]) -> Vec<Note> {
    let least = best(&past_cache(points), |_| (), |point| point.latency.estimate, Estimate::undercuts);
    let words = |line: &Line<'_, DiskKey>| {
        let median = line.1.latency.median().map_or_else(String::new, |median| quantity(median, Unit::Second));
        format!("{median}, {}", line_words(line))
    };
    let notes = [
        Note::best("Shortest (fewest threads that no other line undercuts)", &least, words),
        Some(Note::new(
            "Measured: median time of one request as its thread sees it; theory: requests in flight over the drive's \
             highest rate of requests.",
        )),
    ];
    notes.into_iter().flatten().collect()
}

fn iops_notes(points: &[Line<'_, DiskKey>]) -> Vec<Note> {
    let [fastest, highest] = best_notes(points, "fewest threads");
    let total = common(points.iter().filter_map(|(_, point)| point.total));
    let total = total.map(|total| Note::total(points, TOTAL, &format!("{} requests", power(total))));
    [fastest, highest, total].into_iter().flatten().collect()
}

fn total_words(points: &[Line<'_, DiskKey>], requests: &[Line<'_, DiskKey>]) -> Option<String> {
    let totals = || points.iter().chain(requests).filter_map(|(_, point)| point.total);
    let total = common(totals().filter(|total| !counts_requests(Some(*total))))?;
    let has_small = points.iter().any(|(series, _)| series.key.is_below_sector());
    let small = common(totals().filter(|total| counts_requests(Some(*total)))).filter(|_| has_small);
    let small = small.map_or_else(String::new, |total| format!(" (8 B: {} requests)", power(total)));
    let bytes = size(model::unit::whole_part(total));
    Some(format!("{bytes}{small}"))
}

fn cache_words<'a>(points: impl Iterator<Item = &'a Line<'a, DiskKey>>) -> String {
    let keys: Vec<&DiskKey> = points.map(|(series, _)| &series.key).collect();
    let small = "8 B: always through the page cache, since no device has sectors that small.";
    let states = "Page cache: bypassed (direct I/O) unless stated; cold: dropped for the file before each pass; warm: \
                  filled before.";
    let shown = [
        keys.iter().any(|key| key.cache != DiskCache::Bypassed && !key.is_below_sector()).then_some(states),
        keys.iter().any(|key| key.is_below_sector()).then_some(small),
    ];
    shown.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
