//! The classic tables of networks: rates, round trips and transfers in both directions.

use model::document::{Document, Row, Status};
use model::experiment::NetParams;
use model::io::{NetMode, Protocol};
use model::number::{counted, power, quantity, whole};
use model::sample::MetricName;
use model::unit::Unit;

use super::table::{
    Align, ClassicPart, ClassicTable, GivesWay, Note, Spec, TableColumn, ToolColumns, labels, table_lines,
};
use super::values::{
    Estimate, Line, Measured, Point, Series, ToolValue, best, common, gathered, highest, lines, rows_of,
};
use crate::chart::grid::Column;
use crate::label::{Axis, Common, block_words};
use crate::net::label::params;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetKind {
    Rate,
    RoundTrip,
    /// A fixed amount there and the same back.
    Transfer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetKey {
    pub kind: NetKind,
    pub protocol: Protocol,
    pub block: u64,
}

impl NetKey {
    /// The series of a benchmark; `None` for those that the classic programs do not have.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let own = params(row)?;
        let kind = match own.mode {
            NetMode::Stream | NetMode::NoDrop => NetKind::Rate,
            NetMode::Pingpong => NetKind::RoundTrip,
            NetMode::Transfer => NetKind::Transfer,
            NetMode::Connect | NetMode::Blast | NetMode::Load => return None,
        };
        Some(Self { kind, protocol: own.protocol, block: own.block })
    }
}

/// The series of a classic run, in the tables' order.
pub fn series(document: &Document) -> Vec<Series<NetKey>> {
    let rows = rows_of(document, "net");
    let all: Vec<&Row> = rows.iter().map(|(row, _)| *row).collect();
    let point = |(row, classic): &(&Row, &model::experiment::Classic)| {
        Some((NetKey::of(row)?, point(row, params(row)?, classic.total, &all)))
    };
    let mut series = gathered(rows.iter().filter_map(point));
    let place = |protocol: Protocol| Protocol::ALL.iter().position(|other| *other == protocol);
    series.sort_by_key(|Series { key, .. }| (key.kind, place(key.protocol), key.block));
    series
}

fn point(row: &Row, own: &NetParams, total: Option<f64>, rows: &[&Row]) -> Point {
    let metric = |name| row.metric(name).filter(|_| row.status == Status::Ok);
    let throughput = metric(MetricName::Throughput);
    let mut point = Point::of(row);
    // Round trips a second over all connections; where only their time is known, each connection makes its own.
    let each = point.latency.median().map(|latency| f64::from(own.threads) / latency);
    let speed = point.rate.median().or(each);
    if throughput.is_some_and(|metric| metric.unit != Unit::BytePerSecond) {
        point.rate = Measured::default();
    }
    if own.mode == NetMode::Pingpong {
        point.latency.tools.extend(ping(own, rows));
    } else {
        (point.latency.theory, point.latency.efficiency) = (None, None);
    }
    point.with_total(total, speed, throughput.or_else(|| metric(MetricName::Latency)))
}

/// The value of ping for a message of this size on one connection: ping knows no protocols.
fn ping(own: &NetParams, rows: &[&Row]) -> Option<ToolValue> {
    let is_alike = |other: &&&Row| {
        let of = |params: &NetParams| (params.mode, params.block, params.threads);
        own.threads == 1 && params(other).is_some_and(|other| of(other) == of(own))
    };
    let latencies = rows.iter().filter(is_alike).filter_map(|row| row.metric(MetricName::Latency));
    latencies.flat_map(|metric| Measured::of(metric).tools).find(|found| found.tool == "ping")
}

const SOCKPERF: GivesWay = GivesWay { rank: 0, words: "sockperf" };
const TOTAL: GivesWay = GivesWay { rank: 1, words: "the time for the total" };
const LOSS: GivesWay = GivesWay { rank: 2, words: "what was lost" };
const P99: GivesWay = GivesWay { rank: 3, words: "the 99th percentile" };
const IPERFS: GivesWay = GivesWay { rank: 5, words: "iperf" };
const PING: GivesWay = GivesWay { rank: 5, words: "ping" };

const THROUGHPUT: Spec = Spec {
    name: "classic-net-throughput",
    title: "The classic network table, in 10^6 bits a second (Mb/s)",
    measured: |point| &point.rate,
    lower_is_better: false,
    format: whole,
    factor: 8e-6,
    units: ["Mb/s"; 2],
    base: Some(Unit::BytePerSecond),
    headings: ["Measured", "Theoretical"],
    in_text: Some(["conc.", "eff."]),
    interval: Some(GivesWay { rank: 4, words: "the interval" }),
    tools: &[ToolColumns {
        programs: &["iperf3", "iperf"],
        about: "iperf: the same benchmark, alternating with ours",
        text: ["iperf", "iperf eff."],
        grid: ["iperf measured", "iperf efficiency"],
        gives_way: IPERFS,
        names_program: true,
    }],
};

const LATENCY: Spec = Spec {
    name: "classic-net-latency",
    title: "The classic network table of latency: a full round trip, in microseconds",
    measured: |point| &point.latency,
    lower_is_better: true,
    factor: 1e6,
    units: ["us"; 2],
    base: Some(Unit::Second),
    headings: ["Measured latency", "Theoretical latency"],
    tools: &[
        ToolColumns {
            programs: &["ping"],
            about: "ping: messages of the same size, from 16 B on one connection; the kernel answers, so no process wakes up",
            text: ["ping", "ping eff."],
            grid: ["ping measured", "ping efficiency"],
            gives_way: PING,
            names_program: false,
        },
        ToolColumns {
            programs: &["sockperf"],
            about: "sockperf: the same benchmark, from 14 B, alternating with ours",
            text: ["sockperf", ""],
            grid: ["sockperf measured", ""],
            gives_way: SOCKPERF,
            names_program: false,
        },
    ],
    ..THROUGHPUT
};

const TRANSFERS: Spec = Spec {
    name: "classic-net-transfers",
    title: "The classic network table of transfers: a fixed amount in each direction, in Mb/s of both",
    tools: &[],
    ..THROUGHPUT
};

pub(super) fn parts(document: &Document) -> Vec<ClassicPart> {
    let series = series(document);
    let rows = rows_of(document, "net").into_iter().map(|(row, _)| row);
    let rows: Vec<&Row> = rows.filter(|row| NetKey::of(row).is_some()).collect();
    let place = Common::of(&rows, Axis::Connections).words().map_or_else(String::new, |place| format!("; {place}"));
    let table = |kind, spec: &Spec, block, notes: fn(&[Line<'_, NetKey>]) -> Vec<Note>| {
        let points = of_kind(&series, kind);
        ClassicPart::Table(table(kind, spec, document, (&place, block), &points, notes(&points)))
    };
    let block = ["block", "Block size"];
    vec![
        table(NetKind::Rate, &THROUGHPUT, block, rate_notes),
        table(NetKind::RoundTrip, &LATENCY, ["message", "Message size"], latency_notes),
        table(NetKind::Transfer, &TRANSFERS, block, transfer_notes),
    ]
}

pub fn of_kind(series: &[Series<NetKey>], kind: NetKind) -> Vec<Line<'_, NetKey>> {
    lines(series.iter().filter(|series| series.key.kind == kind))
}

/// A table of this kind; blocks have these headings in a terminal and in a grid.
fn table(
    kind: NetKind,
    spec: &Spec,
    document: &Document,
    (place, block): (&str, [&str; 2]),
    points: &[Line<'_, NetKey>],
    notes: Vec<Note>,
) -> ClassicTable {
    let mut lines = table_lines(points, |series| series.key.protocol);
    // Protocols of one line each need no blank line between them.
    lines.iter_mut().zip(points).for_each(|(line, (series, _))| line.begins_group &= series.points.len() > 1);
    let p99 = TableColumn::values(points, |(_, point)| point.p99, |value| spec.text(value));
    let lost = TableColumn::shares(points, |(_, point)| point.loss).text("lost", Align::Decimal).gives_way(LOSS);
    let extra = vec![
        p99.text("p99", Align::Decimal).gives_way(P99),
        lost.grid(Column::number("Lost").shown("%").base(Unit::One)),
    ];
    let last = if kind == NetKind::Transfer {
        TableColumn::values(points, |(_, point)| point.latency.median(), |time| quantity(time, Unit::Second))
            .text("time of both", Align::Decimal)
            .grid(Column::number("Time of both").base(Unit::Second))
    } else {
        TableColumn::durations(points, "total in").gives_way(TOTAL)
    };
    let protocol = |(series, _): &Line<'_, NetKey>| series.key.protocol.name().to_uppercase();
    let labels = [
        labels(points, ["", "Protocol"], protocol, protocol),
        labels(points, block, |(series, _)| block_words(series.key.block), |(series, _)| series.key),
    ];
    spec.table((document, place), points, (lines, notes), labels, [extra, Vec::new(), vec![last]])
}

/// `TCP 64 KiB with 2 connections`.
fn line_words((series, point): &Line<'_, NetKey>) -> String {
    let (protocol, block) = (series.key.protocol.name().to_uppercase(), block_words(series.key.block));
    format!("{protocol} {block} with {}", counted(u64::from(point.threads), "connection"))
}

/// The best line of each protocol: the shortest latency, or the highest rate.
pub fn best_of<'a>(points: &[Line<'a, NetKey>], by_latency: bool) -> Vec<Line<'a, NetKey>> {
    if by_latency {
        best(points, |key| key.protocol, |point| point.latency.estimate, Estimate::undercuts)
    } else {
        best(points, |key| key.protocol, |point| point.rate.estimate, Estimate::exceeds)
    }
}

fn rate_notes(points: &[Line<'_, NetKey>]) -> Vec<Note> {
    let has_any = |wanted: fn(&Point) -> bool| points.iter().any(|(_, point)| wanted(point));
    let lost = "UDP: highest rate within the loss limit; lost: share of datagrams that did not arrive.";
    let what = "Fastest (smallest block and fewest connections whose interval no other line exceeds)";
    let total = common(points.iter().filter_map(|(_, point)| point.total));
    let notes = [
        Note::best(what, &best_of(points, false), line_words),
        Note::highest(highest(points, |point| point.rate.efficiency), line_words),
        total.map(|total| Note::total(points, TOTAL, &format!("{} bytes", power(total)))),
        Some(Note::new(
            "Conc.: connections, each with a thread on both hosts. Measured: median rate at the receiver; std dev: of \
             the samples; theory: link rate less framing, on loopback the rate of two copies between the same CPUs; \
             eff.: measured over theory.",
        )),
        has_any(|point| point.loss.is_some()).then(|| Note::new(lost)),
    ];
    notes.into_iter().flatten().collect()
}

fn latency_notes(points: &[Line<'_, NetKey>]) -> Vec<Note> {
    let has_any = |wanted: fn(&Point) -> bool| points.iter().any(|(_, point)| wanted(point));
    let total = common(points.iter().filter_map(|(_, point)| point.total));
    let total = total.map(|total| Note::total(points, TOTAL, &format!("{} round trips", power(total))));
    let theory = (!has_any(|point| point.latency.theory.is_some())).then(|| {
        Note::new("The least round trip is unknown. For a network, declare it: --declare net.latency_s=1e-6.")
    });
    let words = |line: &Line<'_, NetKey>| {
        let time = line.1.latency.median().map(|time| quantity(time, Unit::Second)).unwrap_or_default();
        format!("{}, {time}", line_words(line))
    };
    let what = "Shortest (smallest message and fewest connections that no other line undercuts)";
    let notes = [
        Note::best(what, &best_of(points, true), words),
        Note::highest(highest(points, |point| point.latency.efficiency), line_words),
        total,
        Some(Note::new("Measured: median of full round trips as the waiting thread sees them.")),
        theory,
    ];
    notes.into_iter().flatten().collect()
}

fn transfer_notes(points: &[Line<'_, NetKey>]) -> Vec<Note> {
    let unknown = points.iter().all(|(_, point)| point.rate.theory.is_none());
    unknown
        .then(|| Note::new("No reference tool makes such transfers, and their limit is unknown."))
        .into_iter()
        .collect()
}
