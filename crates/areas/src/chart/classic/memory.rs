//! The classic tables of memory: rates, the time of a block by threads, and the three latencies of one byte.

use model::document::{Document, Row};
use model::experiment::{Classic, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};
use model::number::{giga, power, quantity, size};
use model::sample::MetricName;
use model::unit::Unit;

use super::table::{
    Align, ClassicPart, ClassicTable, GivesWay, Note, Spec, TableColumn, ToolColumns, labels, seconds, side_by_side,
    table_lines,
};
use super::values::{
    Estimate, Line, Measured, Point, Series, ToolValue, best, common, gathered, highest, lines, rows_of,
};
use crate::chart::grid::Column;
use crate::label::{block_words, threads};
use crate::memory::label::params;

/// The workloads in the table's order; others follow in the document's.
const WORKLOADS: [&str; 7] = ["RWS", "RWR", "WS", "WR", "RS", "RR", "STREAM"];
const TOOLS: [&str; 2] = ["stream", "pmbw"];
/// A copied byte counts twice: it is read and it is written.
const BYTES_PER_BYTE_COPIED: f64 = 2.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryKey {
    /// `RWS`, `RWR`, `WS`, `WR`, `RS`, `RR`, `STREAM`, or what a latency is of.
    pub workload: String,
    pub op: MemoryOp,
    /// Bytes of a block; `None` without blocks.
    pub block: Option<u64>,
}

impl MemoryKey {
    /// Whether its answer is bytes per second, not the time of an access.
    pub fn is_rate(&self) -> bool {
        WORKLOADS.contains(&self.workload.as_str())
    }

    fn place(&self) -> (usize, Option<u64>) {
        (WORKLOADS.iter().position(|name| *name == self.workload).unwrap_or(WORKLOADS.len()), self.block)
    }

    fn block_words(&self) -> String {
        self.block.map_or_else(|| self.op.name().to_owned(), block_words)
    }

    const fn access(&self) -> [&'static str; 2] {
        match self.op {
            MemoryOp::Load => ["idle latency", "each load waits for the one before: the response time of memory"],
            MemoryOp::Increment => ["random access", "independent words: the number of concurrent misses"],
            MemoryOp::ByteLoop => ["byte loop", "in order, byte by byte: bound by instructions, not by memory"],
            _ => ["access", ""],
        }
    }
}

/// The series of a classic run, in the table's order.
pub fn series(document: &Document) -> Vec<Series<MemoryKey>> {
    let points = rows_of(document, "memory").into_iter().filter_map(|(row, classic)| {
        let MemoryParams { op, block, .. } = *params(row)?;
        let key = MemoryKey { workload: classic.workload.clone(), op, block };
        let point = point(row, classic, &key, document);
        Some((key, point))
    });
    let mut all = gathered(points);
    all.sort_by_key(|series| series.key.place());
    all
}

fn point(row: &Row, classic: &Classic, key: &MemoryKey, document: &Document) -> Point {
    let point = Point::of(row);
    // Without a rate the threads share the accesses.
    let each = point.latency.median().map(|latency| f64::from(point.threads) / latency);
    let speed = point.rate.median().or(each);
    let mut point = point.with_total(classic.total, speed, row.metric(MetricName::Throughput));
    let time = if key.is_rate() { point.latency.estimate } else { access(row, &point) };
    // The limit of a rate is no limit of the time between two accesses.
    if key.is_rate() || point.rate.estimate.is_some() {
        point.latency = Measured { estimate: time, ..Measured::default() };
    }
    point.rate.tools = tool(row, document).filter(|_| key.is_rate()).into_iter().collect();
    point
}

/// The time between two accesses of a rate of accesses; otherwise the latency.
fn access(row: &Row, point: &Point) -> Option<Estimate> {
    let Some(Estimate { median, interval, stddev }) = point.rate.estimate else { return point.latency.estimate };
    let counted = match (row.metric(MetricName::Throughput)?.unit, params(row)?.op) {
        (Unit::OpPerSecond, _) => 1.0,
        (_, MemoryOp::ByteLoop) => BYTES_PER_BYTE_COPIED,
        _ => return point.latency.estimate,
    };
    let time = |rate: f64| counted / rate;
    Some(Estimate {
        median: time(median),
        interval: interval.map(|[low, high]| [time(high), time(low)]),
        // As large a share of the time as of the rate.
        stddev: stddev.map(|stddev| stddev / median * time(median)),
    })
}

/// The highest value of STREAM or pmbw for this benchmark, else for its operation in sequence without blocks.
fn tool(row: &Row, document: &Document) -> Option<ToolValue> {
    let own = params(row)?;
    let is_alike = |other: &&Row| {
        params(other).is_some_and(|other| {
            (other.op, other.pattern, other.block, other.threads)
                == (own.op, MemoryPattern::Sequential, None, own.threads)
        })
    };
    let in_order = || document.experiments.iter().filter(|_| own.pattern == MemoryPattern::Sequential);
    let similar = || fastest_tool(in_order().filter(is_alike)).map(|found| ToolValue { is_own: false, ..found });
    fastest_tool(std::iter::once(row)).or_else(similar)
}

fn fastest_tool<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<ToolValue> {
    let metrics = rows.flat_map(|row| &row.metrics).filter(|metric| metric.unit == Unit::BytePerSecond);
    let found = metrics.flat_map(|metric| Measured::of(metric).tools);
    let known = found.filter(|found| TOOLS.contains(&found.tool.as_str()));
    known.reduce(|best, other| if other.value > best.value { other } else { best })
}

const TOTAL: GivesWay = GivesWay { rank: 0, words: "the time for the total" };
const TOOL: GivesWay = GivesWay { rank: 2, words: "STREAM and pmbw" };

const RATES: Spec = Spec {
    name: "classic-memory-throughput",
    title: "The classic memory table, in 10^9 bytes a second (GB/s)",
    measured: |point| &point.rate,
    lower_is_better: false,
    format: giga,
    factor: 1.0,
    units: ["GB/s"; 2],
    base: Some(Unit::BytePerSecond),
    headings: ["Measured throughput", "Theoretical"],
    in_text: Some(["threads", "efficiency"]),
    interval: Some(GivesWay { rank: 1, words: "the interval" }),
    tools: &[TOOL_COLUMNS],
};
const TOOL_COLUMNS: ToolColumns = ToolColumns {
    programs: &TOOLS,
    about: "STREAM/pmbw: the faster of the two, counted as ours; for blocks, its rate without blocks on as many threads; \
            their eff.: that over the theory",
    text: ["STREAM/pmbw", "their eff."],
    grid: ["pmbw/STREAM measured", "pmbw/STREAM efficiency"],
    gives_way: TOOL,
    names_program: true,
};

const LATENCIES: Spec = Spec {
    name: "classic-memory-latency",
    title: "The classic memory table of latency: what one thread takes for one block, or for one access",
    measured: |point| &point.latency,
    lower_is_better: true,
    format: |value| quantity(value, Unit::Second),
    units: [""; 2],
    base: Some(Unit::Second),
    headings: ["Measured latency", "Theoretical"],
    in_text: None,
    interval: None,
    tools: &[],
    ..RATES
};

pub(super) fn parts(document: &Document) -> Vec<ClassicPart> {
    let series = series(document);
    let (rates, accesses): (Vec<_>, Vec<_>) = series.iter().partition(|series| series.key.is_rate());
    let has_blocks = |series: &&Series<MemoryKey>| {
        series.key.block.is_some() && series.points.iter().any(|point| point.latency.estimate.is_some())
    };
    let blocks: Vec<&Series<MemoryKey>> = rates.iter().copied().filter(has_blocks).collect();
    let workload = |series: &&Series<MemoryKey>| series.key.workload.clone();
    let labels = [
        labels(&blocks, ["", ""], workload, workload),
        TableColumn::words(&blocks, |series| series.key.block_words()).text("block", Align::Left),
    ];
    let title = "The classic memory table of latency: what one thread takes for one block";
    let by_threads = side_by_side(title, labels, &blocks);
    let with_blocks = rates.iter().copied().filter(|series| series.key.block.is_some());
    let latencies =
        latency_table(document, &lines(with_blocks.chain(accesses.iter().copied())), &lines(accesses.iter().copied()));
    let tables = [access_table(&lines(accesses)), latencies].map(ClassicPart::Table);
    [ClassicPart::Table(rate_table(&lines(rates), document))].into_iter().chain(by_threads).chain(tables).collect()
}

fn rate_table(points: &[Line<'_, MemoryKey>], document: &Document) -> ClassicTable {
    let lines = table_lines(points, |series| &series.key.workload);
    let workload = |(series, _): &Line<'_, MemoryKey>| series.key.workload.clone();
    let block = |(series, _): &Line<'_, MemoryKey>| series.key.block_words();
    let labels = [
        labels(points, ["", "Workload"], workload, workload),
        labels(points, ["block", "Block size"], block, |(series, _)| &series.key),
    ];
    let total = common(points.iter().map(|(_, point)| point.total)).flatten();
    let times = total.map(|total| TableColumn::durations(points, format!("{} B in", power(total))).gives_way(TOTAL));
    let rows = rows_of(document, "memory").into_iter();
    let rows = rows.filter(|(_, classic)| WORKLOADS.contains(&classic.workload.as_str()));
    let working_set = common(rows.filter_map(|(row, _)| Some(params(row)?.working_set)));
    let notes = rate_notes(points, total, working_set);
    RATES.table((document, ""), points, (lines, notes), labels, [Vec::new(), Vec::new(), times.into_iter().collect()])
}

fn meanings(points: &[Line<'_, MemoryKey>]) -> impl Iterator<Item = Note> {
    let mut meanings: Vec<[&str; 2]> = points.iter().map(|(series, _)| series.key.access()).collect();
    meanings.dedup();
    meanings.into_iter().map(|[name, meaning]| Note::new(format!("{name}: {meaning}.")))
}

fn access_table(points: &[Line<'_, MemoryKey>]) -> ClassicTable {
    let name = |(series, _): &Line<'_, MemoryKey>| series.key.access()[0];
    let time = |value: fn(Estimate) -> Option<f64>| {
        TableColumn::values(points, |(_, point)| point.latency.estimate.and_then(value), LATENCIES.format)
    };
    let columns = vec![
        TableColumn::words(points, |line| name(line).to_owned()).once(points, name).text("", Align::Left),
        TableColumn::counts(points, |(_, point)| point.threads.into()).text("threads", Align::Right).left(),
        time(|one| Some(one.median)).text("per access", Align::Decimal),
        time(|one| one.stddev).text("std dev", Align::Decimal),
        TableColumn::durations(points, "all of them in").left(),
    ];
    ClassicTable {
        grid: None,
        title: Some("One byte, 10^8 times: three different questions".to_owned()),
        lines: table_lines(points, |_| ()),
        columns,
        notes: meanings(points).collect(),
    }
}

fn latency_table(
    document: &Document,
    points: &[Line<'_, MemoryKey>],
    accesses: &[Line<'_, MemoryKey>],
) -> ClassicTable {
    let lines = table_lines(points, |_| ());
    let words = |of_rate: fn(&MemoryKey) -> String, of_access: fn(&MemoryKey) -> String| {
        TableColumn::words(points, |(series, _)| (if series.key.is_rate() { of_rate } else { of_access })(&series.key))
    };
    let labels = [
        words(|key| key.workload.clone(), |key| key.access()[0].to_owned()).grid(Column::text("Workload")),
        words(MemoryKey::block_words, |_| String::new()).grid(Column::text("Block size")),
    ];
    let chases: Vec<_> = accesses.iter().copied().filter(|(series, _)| series.key.op == MemoryOp::Load).collect();
    // The first of equals has the fewest threads.
    let shortest = best(&chases, |_| (), |point| point.latency.estimate, Estimate::undercuts);
    let words = |(_, point): &Line<'_, MemoryKey>| {
        let time = point.latency.median().map_or_else(String::new, seconds);
        format!("{time}, {}", threads(point.threads))
    };
    let notes = [
        Note::best("Shortest idle latency (fewest threads that no other line undercuts)", &shortest, words),
        Note::highest(highest(accesses, |point| point.latency.efficiency), |(series, point)| {
            format!("{} with {}", series.key.access()[0], threads(point.threads))
        }),
    ];
    let tools = "No reference tool measures the time of a block or of an access";
    let is_known = points.iter().any(|(_, point)| point.latency.theory.is_some());
    let tools = Note::new(format!("{tools}{}.", if is_known { "" } else { ", and its limit is unknown" }));
    let notes = notes.into_iter().flatten().chain(meanings(accesses)).chain([tools]).collect();
    LATENCIES.table((document, ""), points, (lines, notes), labels, Default::default())
}

/// `RWS 1 MiB with 2 threads`.
fn line_words((series, point): &Line<'_, MemoryKey>) -> String {
    format!("{} {} with {}", series.key.workload, series.key.block_words(), threads(point.threads))
}

pub fn fastest<'a>(points: &[Line<'a, MemoryKey>]) -> Vec<Line<'a, MemoryKey>> {
    best(points, |key| (&key.workload, key.op), |point| point.rate.estimate, Estimate::exceeds)
}

fn rate_notes(points: &[Line<'_, MemoryKey>], total: Option<f64>, working_set: Option<u64>) -> Vec<Note> {
    let set = working_set.map_or_else(String::new, |bytes| format!(", of {} whatever the block", size(bytes)));
    let what = "Fastest (smallest block and fewest threads whose interval no other line exceeds)";
    let notes = [
        Note::best(what, &fastest(points), line_words),
        Note::highest(highest(points, |point| point.rate.efficiency), line_words),
        total.map(|total| Note::total(points, TOTAL, &format!("{} bytes", power(total)))),
        Some(Note::new(
            "RWS and RWR copy a block (bytes read and written both count), WS and WR write it, RS and RR read it. S is \
             sequential, R is random, each block once a pass. STREAM has its four loops, counted as it counts; pmbw \
             has scans: reads and writes without blocks.",
        )),
        Some(Note::new(format!(
            "Measured: the median over one working set{set}; std dev: of the samples; theory: transfers/s x bus width \
             x channels."
        ))),
        (!points.iter().any(|(_, point)| point.rate.theory.is_some())).then(|| {
            Note::new(
                "The memory's limit is unknown. Declare it: --declare memory.channels=12 --declare memory.mts=6000.",
            )
        }),
    ];
    notes.into_iter().flatten().collect()
}
