//! The classic tables of networks: throughput, round trips, and transfers there and back.

use model::number::{counted, percent, power, quantity, size, whole};
use model::unit::Unit;

use super::cpu_table::seconds;
use super::figures::{Figure, InFull, in_full};
use super::net::{NetKind, NetPoint, NetSeries, NetTable};
use super::table::{ClassicPart, ClassicTable, GivesWay, Note, TableColumn, TableLine, lines};
use crate::grid::value::{ABSENT, Column};
use crate::layout::Align;
use areas::label::block_words;

const SOCKPERF: GivesWay = GivesWay { rank: 0, words: "sockperf" };
const TOTAL: GivesWay = GivesWay { rank: 1, words: "the time for the total" };
const LOSS: GivesWay = GivesWay { rank: 2, words: "what was lost" };
const P99: GivesWay = GivesWay { rank: 3, words: "the 99th percentile" };
const INTERVAL: GivesWay = GivesWay { rank: 4, words: "the interval" };
const TOOL: GivesWay = GivesWay { rank: 5, words: "iperf and ping" };

type SeriesPoint<'a> = (&'a NetSeries, &'a NetPoint);

/// What a table is about: a value of each point, its theory, and what a tool measured of it.
struct Answer {
    kind: NetKind,
    name: &'static str,
    title: &'static str,
    /// The headings of the block: in a terminal, and in a grid; and in a grid of what was measured, and of the theory.
    headings: [&'static str; 4],
    measured: fn(&NetPoint) -> Option<Figure>,
    theory: fn(&NetPoint) -> Option<f64>,
    /// The tool of the table; `None` where none does the same.
    tool: Option<Tool>,
    /// The unit of the texts, and how many of it one of the base unit is.
    unit: &'static str,
    factor: f64,
    base: Unit,
    lower_is_better: bool,
}

/// The tool of a table: its value, and which of several programs it was.
#[derive(Clone, Copy)]
struct Tool {
    name: &'static str,
    figure: fn(&NetPoint) -> Option<f64>,
    id: fn(&NetPoint) -> Option<&'static str>,
}

const IPERF: Tool = Tool { name: "iperf", figure: |point| point.iperf, id: |point| point.iperf_tool };

const PING: Tool = Tool { name: "ping", figure: |point| point.ping, id: |_| None };

const THROUGHPUT: Answer = Answer {
    kind: NetKind::Rate,
    name: "throughput",
    title: "The classic network table, in 10^6 bits a second (Mb/s)",
    headings: ["block", "Block size", "Measured", "Theoretical"],
    measured: |point| point.rate,
    theory: |point| point.theory_rate.map(|theory| theory.value),
    tool: Some(IPERF),
    unit: "Mb/s",
    factor: 8e-6,
    base: Unit::BytePerSecond,
    lower_is_better: false,
};

const LATENCY: Answer = Answer {
    kind: NetKind::RoundTrip,
    name: "latency",
    title: "The classic network table of latency: a full round trip, in microseconds",
    headings: ["message", "Message size", "Measured latency", "Theoretical latency"],
    measured: |point| point.latency,
    theory: |point| point.theory_latency.map(|theory| theory.value),
    tool: Some(PING),
    unit: "us",
    factor: 1e6,
    base: Unit::Second,
    lower_is_better: true,
};

const TRANSFERS: Answer = Answer {
    kind: NetKind::Transfer,
    name: "transfers",
    title: "The classic network table of transfers: a fixed amount there and the same back, in Mb/s of both",
    tool: None,
    ..THROUGHPUT
};

/// The tables with what must be known to read them.
pub(super) fn parts(table: &NetTable) -> Vec<ClassicPart> {
    let tables = [
        answered(&THROUGHPUT, table, rate_notes(table)),
        answered(&LATENCY, table, latency_notes(table)),
        answered(&TRANSFERS, table, Vec::new()),
    ];
    tables.into_iter().map(ClassicPart::Table).collect()
}

fn points(table: &NetTable, kind: NetKind) -> Vec<SeriesPoint<'_>> {
    table.of_kind(kind).flat_map(|series| series.points.iter().map(move |point| (series, point))).collect()
}

fn answered(answer: &Answer, table: &NetTable, notes: Vec<Note>) -> ClassicTable {
    let points = points(table, answer.kind);
    let about = |(_, point): &SeriesPoint<'_>| (point.id.clone(), point.status, point.grade);
    let mut lines = lines(&points, about, |(series, _)| series.protocol);
    // Of one line each, protocols need no blank line between them.
    lines.iter_mut().zip(&points).for_each(|(line, (series, _))| line.begins_group &= series.points.len() > 1);
    let place = table.place.as_ref().map_or_else(String::new, |place| format!("; {place}"));
    let title = format!("{}{place}", answer.title);
    let grid = Some((format!("classic-net-{}", answer.name), title.clone()));
    let columns = columns(answer, &points, &lines);
    ClassicTable { grid, title: Some(title), lines, columns, notes }
}

fn columns(answer: &Answer, points: &[SeriesPoint<'_>], lines: &[TableLine]) -> Vec<TableColumn> {
    let value = |heading: &str| Column::number(heading).shown(answer.unit).base(answer.base);
    let percentage = |heading: &str| Column::number(heading).shown("%").base(Unit::One);
    let words = |value: f64| whole(value * answer.factor);
    let figure = |of: &dyn Fn(&NetPoint) -> Option<f64>| TableColumn::figures(points, |(_, point)| of(point), words);
    let share = |of: &dyn Fn(&NetPoint) -> Option<f64>| TableColumn::shares(points, |(_, point)| of(point));
    let has = |of: fn(&NetPoint) -> Option<f64>| points.iter().any(|(_, point)| of(point).is_some());
    let counts = || TableColumn::counts(points, |(_, point)| point.threads.into());
    let [block, block_size, measured, theory] = answer.headings;
    let loss = || share(&|point| point.loss).gives_way(LOSS);
    let [protocols, blocks] = labels(points);
    let mut columns = vec![
        protocols.grid(Column::text("Protocol")).kept(),
        counts().grid(Column::number("Concurrency")).kept(),
        blocks.text(block, Align::Left).grid(Column::text(block_size)).kept(),
        counts().text("conc.", Align::Right),
        figure(&|point| (answer.measured)(point).map(|figure| figure.median))
            .or_status(lines, false)
            .text("measured", Align::Decimal)
            .grid(value(measured))
            .kept(),
        TableColumn::half_intervals(points, |(_, point)| (answer.measured)(point)).gives_way(INTERVAL),
    ];
    let p99 = has(|point| point.p99).then(|| figure(&|point| point.p99).text("p99", Align::Decimal).gives_way(P99));
    let lost = has(|point| point.loss).then(|| loss().text("lost", Align::Decimal));
    let sockperf = || figure(&|point| point.sockperf).text("sockperf", Align::Decimal).gives_way(SOCKPERF);
    columns.extend([p99, lost, has(|point| point.sockperf).then(sockperf)].into_iter().flatten());
    if let Some(tool) = answer.tool {
        columns.push(
            figure(&tool.figure)
                .text(tool.name, Align::Decimal)
                .gives_way(TOOL)
                .grid(value(&format!("{} measured", tool.name)))
                .kept(),
        );
        let id = |(_, point): &SeriesPoint<'_>| (tool.id)(point).unwrap_or_default().to_owned();
        columns.push(TableColumn::words(points, id).grid(Column::text("Reference")));
    }
    columns.extend([
        figure(&answer.theory).text("theory", Align::Decimal).grid(value(theory)).kept(),
        share(&|point| point.efficiency).text("eff.", Align::Decimal).grid(percentage("Efficiency")).kept(),
    ]);
    columns.extend(answer.tool.map(|tool| {
        let theirs = |point: &NetPoint| {
            let (theory, value) = (answer.theory)(point).zip((tool.figure)(point))?;
            Some(if answer.lower_is_better { theory / value } else { value / theory })
        };
        share(&theirs)
            .text(format!("{} eff.", tool.name), Align::Decimal)
            .gives_way(TOOL)
            .grid(percentage(&format!("{} efficiency", tool.name)))
            .kept()
    }));
    columns.extend([
        figure(&|point| (answer.measured)(point).and_then(|figure| figure.stddev))
            .text("std dev", Align::Decimal)
            .grid(value("Standard deviation"))
            .kept(),
        TableColumn::intervals(points, |(_, point)| (answer.measured)(point), words),
    ]);
    columns.push(if answer.kind == NetKind::Transfer {
        TableColumn::times(points, |(_, point)| point.latency.map(|took| took.median))
            .text("there and back", Align::Decimal)
            .grid(Column::number("There and back").base(Unit::Second))
    } else {
        TableColumn::figures(points, |(_, point)| point.total_seconds, seconds)
            .text("total in", Align::Right)
            .gives_way(TOTAL)
    });
    columns.extend([loss().grid(percentage("Lost")), TableColumn::grades(lines)]);
    columns
}

/// Protocol and block, in a terminal each where it is another one than on the line above.
fn labels(points: &[SeriesPoint<'_>]) -> [TableColumn; 2] {
    let protocols: Vec<_> = points.iter().map(|(series, _)| series.protocol).collect();
    let series: Vec<*const NetSeries> = points.iter().map(|(series, _)| std::ptr::from_ref(*series)).collect();
    let protocol = TableColumn::words(points, |(series, _)| series.protocol.name().to_uppercase());
    let blocks = TableColumn::words(points, |(series, _)| block_words(series.block));
    [protocol.once(&protocols).text("", Align::Left), blocks.once(&series)]
}

fn has_any(points: &[SeriesPoint<'_>], wanted: fn(&NetPoint) -> bool) -> bool {
    points.iter().any(|(_, point)| wanted(point))
}

/// `TCP 64 KiB with 2 connections`.
fn line_words((series, point): &SeriesPoint<'_>) -> String {
    let (protocol, block) = (series.protocol.name().to_uppercase(), block_words(series.block));
    format!("{protocol} {block} with {}", counted(u64::from(point.threads), "connection"))
}

fn best_words(table: &NetTable, kind: NetKind) -> [Option<Note>; 2] {
    let told = |line: &SeriesPoint<'_>| match (kind, line.1.latency) {
        (NetKind::RoundTrip, Some(figure)) => {
            format!("{}, {}", line_words(line), quantity(figure.median, Unit::Second))
        }
        _ => line_words(line),
    };
    let best: Vec<String> = table.best(kind).iter().map(told).collect();
    let what = if kind == NetKind::RoundTrip {
        "Shortest, the smallest message and the fewest connections that others do not undercut"
    } else {
        "Fastest, the smallest block and the fewest connections whose interval the others do not exceed"
    };
    let best = (!best.is_empty()).then(|| format!("{what}: {}.", best.join("; ")));
    let highest = table.highest_efficiency(kind);
    let highest =
        highest.map(|(share, line)| format!("Highest efficiency: {}, {}.", percent(share), line_words(&line)));
    [best.map(Note::new), highest.map(Note::new)]
}

fn rate_notes(table: &NetTable) -> Vec<Note> {
    let [best, highest] = best_words(table, NetKind::Rate);
    let points = points(table, NetKind::Rate);
    let tool = if has_any(&points, |point| point.iperf.is_some()) {
        "iperf: what it measured of the same, in turns with ours.".to_owned()
    } else {
        format!("iperf was not run ({ABSENT}).")
    };
    let lost = "UDP is the highest rate within its goal of loss; lost: the share of the datagrams that never came.";
    let notes = [
        best,
        highest,
        table.total.map(|total| Note::needing(TOTAL, total_words(&points, total))),
        Some(Note::new(
            "Conc.: connections, each with a thread at either end. Measured: the median of what the receiver counted; \
             std dev: of the samples; theory: of the link less framing, on loopback what two copies of each byte between \
             the same CPUs come to; eff.: measured over theory.",
        )),
        has_any(&points, |point| point.loss.is_some()).then(|| Note::new(lost)),
        Some(Note::needing(TOOL, tool)),
    ];
    notes.into_iter().flatten().collect()
}

fn latency_notes(table: &NetTable) -> Vec<Note> {
    let [best, highest] = best_words(table, NetKind::RoundTrip);
    let points = points(table, NetKind::RoundTrip);
    let ping = if has_any(&points, |point| point.ping.is_some()) {
        "ping: the system's, with as large a message, whatever the protocol; the kernel answers it, and no process has to \
         wake up."
            .to_owned()
    } else {
        format!("ping was not run ({ABSENT}); it tells times of 16 B and more.")
    };
    let done = if points.iter().all(|(_, point)| point.in_full) {
        "each sample made all of them"
    } else {
        "worked out from the rate"
    };
    let total = table.round_trips_total.map(|total| {
        let words =
            format!("Total in: the time for {} round trips, divided among the connections; {done}.", power(total));
        Note::needing(TOTAL, words)
    });
    let theory = (!has_any(&points, |point| point.theory_latency.is_some())).then(|| {
        Note::new(format!(
            "No least round trip is known here ({ABSENT}): on loopback there is none, of a network it can be declared \
             (--declare net.latency_s=1e-6)."
        ))
    });
    let what = "Measured: the median of full round trips, as the thread that waits sees them, never half of one.";
    let notes = [best, highest, total, Some(Note::new(what)), theory, Some(Note::needing(TOOL, ping))];
    notes.into_iter().flatten().collect()
}

fn total_words(points: &[SeriesPoint<'_>], total: f64) -> String {
    let points = points.iter().filter(|(_, point)| point.rate.is_some());
    let done = match in_full(points.map(|(_, point)| point.in_full)) {
        InFull::All => "each sample moved all of it",
        InFull::Some => "some rows moved all of it in each sample, for the others the time is worked out",
        InFull::None => "the time for it is worked out from the rate; --exact-workload moves it all",
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
    let bytes = total as u64;
    format!("Total: {} B ({}), divided among the connections; {done}.", power(total), size(bytes))
}
