//! The classic suite's table of memory: each workload by block and threads, what a visit of a block takes, and what STREAM
//! and pmbw measured; below them the three figures that "one byte, a hundred million times" really is.

use model::document::{Document, Row, Status};
use model::experiment::{Classic, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};
use model::sample::{Metric, MetricName};
use model::unit::Unit;
use model::warning::Grade;

use areas::memory::label::params as memory;

use super::figures::{Figure, Theory, best, common, did, highest};

/// The name of this table in a row's [`Classic`].
const TABLE: &str = "memory";

/// The workloads in the table's order; others follow in the document's.
const WORKLOADS: [&str; 7] = ["RWS", "RWR", "WS", "WR", "RS", "RR", "STREAM"];

/// The tools that stand in the table, the better for the purpose first.
const TOOLS: [&str; 2] = ["stream", "pmbw"];

/// A copied byte counts twice: it is read and it is written.
const BYTES_PER_BYTE_COPIED: f64 = 2.0;

/// The whole table.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryTable {
    /// One for each workload, operation and block, in the table's order.
    pub series: Vec<MemorySeries>,
    /// Bytes that each experiment of a rate comes to over all threads, where all state the same.
    pub total: Option<f64>,
    /// Bytes over all threads and arrays, where all rows of a rate have the same.
    pub working_set: Option<u64>,
}

/// One workload with one block, over the threads.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySeries {
    /// `RWS`, `RWR`, `WS`, `WR`, `RS`, `RR`, `STREAM`, or what a latency is of.
    pub workload: String,
    /// What is done.
    pub op: MemoryOp,
    /// Bytes of a block; `None` where there are none.
    pub block: Option<u64>,
    /// By threads, the fewest first.
    pub points: Vec<MemoryPoint>,
}

/// What a tool measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolRate {
    /// The tool: `stream` or `pmbw`.
    pub tool: &'static str,
    /// Its rate counted as ours, B/s.
    pub value: f64,
    /// The same over the theory of the line.
    pub efficiency: Option<f64>,
    /// Whether it ran beside this row; else beside the same operation without blocks on as many threads.
    pub beside: bool,
}

/// One line of the table. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPoint {
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
    /// Seconds that one thread takes for one block, or for one access.
    pub latency: Option<Figure>,
    /// The most bytes per second that are possible.
    pub theory: Option<Theory>,
    /// Measured over theory, as the document has it.
    pub efficiency: Option<f64>,
    /// What STREAM or pmbw measured.
    pub tool: Option<ToolRate>,
    /// Seconds of one access, for what is about accesses; of independent ones the time between two of them.
    pub access: Option<Figure>,
    /// The least seconds of one access, where it is known.
    pub theory_access: Option<Theory>,
    /// Theory of the access over what was measured, as the document has it.
    pub access_efficiency: Option<f64>,
    /// Seconds for the total of its workload, bytes or accesses.
    pub total_seconds: Option<f64>,
    /// Whether each of its samples was the whole total.
    pub in_full: bool,
}

/// Whether a row is of this table.
pub(super) fn is_of_memory_table(row: &Row) -> bool {
    row.classic.as_ref().is_some_and(|classic| classic.table == TABLE)
}

impl MemoryTable {
    /// The table of these rows; `None` where none belongs to it.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let rows = document.experiments.iter().filter(|row| is_of_memory_table(row));
        let rows: Vec<(&Row, &Classic, &MemoryParams)> =
            rows.filter_map(|row| Some((row, row.classic.as_ref()?, memory(row)?))).collect();
        let mut series: Vec<MemorySeries> = Vec::new();
        for (row, classic, params) in &rows {
            let point = point(row, classic, document);
            let same = |one: &&mut MemorySeries| {
                (one.workload.as_str(), one.op, one.block) == (&classic.workload, params.op, params.block)
            };
            match series.iter_mut().find(same) {
                Some(own) => own.points.push(point),
                None => series.push(MemorySeries {
                    workload: classic.workload.clone(),
                    op: params.op,
                    block: params.block,
                    points: vec![point],
                }),
            }
        }
        let place = |workload: &str| WORKLOADS.iter().position(|name| *name == workload).unwrap_or(WORKLOADS.len());
        series.sort_by_key(|one| (place(&one.workload), one.block));
        for one in &mut series {
            one.points.sort_by_key(|point| point.threads);
        }
        let rates = || rows.iter().filter(|(_, classic, _)| place(&classic.workload) < WORKLOADS.len());
        let total = common(rates().map(|(_, classic, _)| classic.total)).flatten();
        let working_set = common(rates().map(|(_, _, params)| params.working_set));
        (!series.is_empty()).then_some(Self { series, total, working_set })
    }

    /// The series whose answer is bytes per second.
    pub fn rates(&self) -> impl Iterator<Item = &MemorySeries> {
        self.series.iter().filter(|series| series.is_rate())
    }

    /// The series whose answer is the time of one access.
    pub fn accesses(&self) -> impl Iterator<Item = &MemorySeries> {
        self.series.iter().filter(|series| !series.is_rate())
    }

    /// The highest efficiency, with its series and its point.
    pub fn highest_efficiency(&self) -> Option<(f64, (&MemorySeries, &MemoryPoint))> {
        highest(self.rate_lines(), |(_, point)| point.efficiency)
    }

    /// Of each workload and operation the fastest line: its series and its point.
    pub fn fastest(&self) -> Vec<(&MemorySeries, &MemoryPoint)> {
        let known = self.rate_lines().filter(|(_, point)| point.rate.is_some());
        let beats = |one: Option<Figure>, other: Option<Figure>| {
            one.zip(other).is_some_and(|(rate, known)| rate.exceeds(known))
        };
        best(known, |(series, _)| (&series.workload, series.op), |one, other| beats(one.1.rate, other.1.rate))
    }

    fn rate_lines(&self) -> impl Iterator<Item = (&MemorySeries, &MemoryPoint)> {
        self.rates().flat_map(|series| series.points.iter().map(move |point| (series, point)))
    }
}

impl MemorySeries {
    /// Whether its answer is bytes per second.
    pub fn is_rate(&self) -> bool {
        WORKLOADS.contains(&self.workload.as_str())
    }
}

fn point(row: &Row, classic: &Classic, document: &Document) -> MemoryPoint {
    let metric = |name| row.metric(name).filter(|_| row.status == Status::Ok);
    let rate = metric(MetricName::Throughput);
    let latency = metric(MetricName::Latency);
    let theory = rate.and_then(Theory::of);
    let is_rate = WORKLOADS.contains(&classic.workload.as_str());
    // The peak of a rate is no limit of the time between two accesses.
    let of_access = latency.filter(|_| !is_rate && rate.is_none());
    // The total over the rate; accesses x the time of one, shared by the threads, where there is no rate.
    let seconds = |total: f64| match (rate, latency) {
        (Some(rate), _) => Some(total / rate.summary.median),
        (None, Some(latency)) => Some(total * latency.summary.median / f64::from(row.params.threads())),
        (None, None) => None,
    };
    MemoryPoint {
        id: row.id.clone(),
        threads: row.params.threads(),
        status: row.status,
        grade: row.grade,
        rate: rate.map(Figure::of),
        latency: latency.map(Figure::of),
        theory,
        efficiency: rate.and_then(|metric| metric.efficiency).map(|efficiency| efficiency.value),
        tool: tool(row, document, theory).filter(|_| is_rate),
        total_seconds: classic.total.and_then(seconds).filter(|seconds| seconds.is_finite()),
        access: access(row, rate, latency).filter(|_| !is_rate),
        theory_access: of_access.and_then(Theory::of),
        access_efficiency: of_access.and_then(|metric| metric.efficiency).map(|efficiency| efficiency.value),
        in_full: is_rate && classic.total.zip(rate).is_some_and(|(total, metric)| did(total, metric)),
    }
}

/// What one access takes: a latency as it is; of a rate of accesses, the time between two of them.
fn access(row: &Row, rate: Option<&Metric>, latency: Option<&Metric>) -> Option<Figure> {
    let Some(rate) = rate else { return latency.map(Figure::of) };
    let counted = match (rate.unit, memory(row)?.op) {
        (Unit::OpPerSecond, _) => 1.0,
        (_, MemoryOp::ByteLoop) => BYTES_PER_BYTE_COPIED,
        _ => return latency.map(Figure::of),
    };
    let time = |rate: f64| counted / rate;
    let Figure { median, interval, stddev } = Figure::of(rate);
    Some(Figure {
        median: time(median),
        interval: interval.map(|[low, high]| [time(high), time(low)]),
        // As large a share of the time as of the rate.
        stddev: stddev.map(|stddev| stddev / median * time(median)),
    })
}

/// The fastest that STREAM or pmbw was beside this row; without either, beside the same operation in order and without
/// blocks, on as many threads.
fn tool(row: &Row, document: &Document, theory: Option<Theory>) -> Option<ToolRate> {
    let params = memory(row)?;
    let alike = |other: &&Row| {
        let whole = |own: &MemoryParams| {
            (own.op, own.pattern, own.block, own.threads)
                == (params.op, MemoryPattern::Sequential, None, params.threads)
        };
        memory(other).is_some_and(whole)
    };
    let own = rates(std::iter::once(row)).map(|found| (found, true));
    let in_order = params.pattern == MemoryPattern::Sequential;
    let others = || rates(document.experiments.iter().filter(alike)).filter(|_| in_order).map(|found| (found, false));
    let ((tool, value), beside) = own.or_else(others)?;
    Some(ToolRate { tool, value, efficiency: theory.map(|theory| value / theory.value), beside })
}

/// The fastest of the tools beside these rows.
fn rates<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<(&'static str, f64)> {
    let metrics = rows.flat_map(|row| &row.metrics).filter(|metric| metric.unit == Unit::BytePerSecond);
    let references = metrics.flat_map(|metric| &metric.references).filter(|found| found.status == Status::Ok);
    let known = references.filter_map(|found| Some((*TOOLS.iter().find(|tool| **tool == found.tool)?, found.median?)));
    known.reduce(|best, other| if other.1 > best.1 { other } else { best })
}
