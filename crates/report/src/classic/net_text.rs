//! The classic tables of networks in a terminal: rates, round trips, and transfers there and back.

use model::document::Status;
use model::unit::Unit;

use super::Marks;
use super::disk_text::half;
use super::memory::Figure;
use super::net::{NetKind, NetPoint, NetSeries, NetTable};
use super::text::{ABSENT, known, left_out, seconds, share};
use crate::label::block_words;
use crate::layout::{Align, Block, Cell, Column, table, table_width, wrap};
use crate::style::{Style, Tone};
use model::number::{counted, percent, power, quantity, size, whole};

const RATES: &str = "The classic network table, in 10^6 bits a second (Mb/s)";

const ROUND_TRIPS: &str = "The classic network table of latency: a full round trip, in microseconds";

const TRANSFERS: &str =
    "The classic network table of transfers: a fixed amount there and the same back, in Mb/s of both";

/// Bytes per second times this are Mb/s.
const MEGABITS: f64 = 8e-6;

/// Seconds times this are microseconds.
const MICROSECONDS: f64 = 1e6;

/// Between columns, the better first.
const GAPS: [usize; 2] = [2, 1];

/// The columns that may give way, in the order in which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Optional {
    Sockperf,
    Total,
    Loss,
    P99,
    Interval,
    Tool,
}

impl Optional {
    const IN_ORDER: [Self; 6] = [Self::Sockperf, Self::Total, Self::Loss, Self::P99, Self::Interval, Self::Tool];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Sockperf => "sockperf",
            Self::Total => "the time for the total",
            Self::Loss => "what was lost",
            Self::P99 => "the 99th percentile",
            Self::Interval => "the interval",
            Self::Tool => "iperf and ping",
        }
    }
}

/// What a table is about: a figure of each point, its theory, and what a tool measured of it.
struct Answer {
    kind: NetKind,
    title: &'static str,
    /// The heading of a block.
    block: &'static str,
    measured: fn(&NetPoint) -> Option<Figure>,
    theory: fn(&NetPoint) -> Option<f64>,
    /// The tool of its table, and its figure.
    tool: (&'static str, fn(&NetPoint) -> Option<f64>),
    /// How many of the table's unit one of the document's is.
    factor: f64,
    lower_is_better: bool,
}

const THROUGHPUT: Answer = Answer {
    kind: NetKind::Rate,
    title: RATES,
    block: "block",
    measured: |point| point.rate,
    theory: |point| point.theory_rate.map(|theory| theory.value),
    tool: ("iperf", |point| point.iperf),
    factor: MEGABITS,
    lower_is_better: false,
};

const LATENCY: Answer = Answer {
    kind: NetKind::RoundTrip,
    title: ROUND_TRIPS,
    block: "message",
    measured: |point| point.latency,
    theory: |point| point.theory_latency.map(|theory| theory.value),
    tool: ("ping", |point| point.ping),
    factor: MICROSECONDS,
    lower_is_better: true,
};

const TRANSFER: Answer = Answer { kind: NetKind::Transfer, title: TRANSFERS, ..THROUGHPUT };

/// The tables with what must be known to read them.
pub(super) fn paragraphs(table: &NetTable, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let draw = Drawing { table, marks, style };
    vec![
        draw.answer(&THROUGHPUT, &|dropped| rate_notes(table, dropped)),
        draw.answer(&LATENCY, &|dropped| latency_notes(table, dropped)),
        draw.answer(&TRANSFER, &|_| Vec::new()),
    ]
}

struct Drawing<'a> {
    table: &'a NetTable,
    marks: Marks<'a>,
    style: &'a Style,
}

impl Drawing<'_> {
    /// A table of one answer with its notes; nothing where no series has it.
    fn answer(&self, answer: &Answer, notes: &dyn Fn(&[&str]) -> Vec<String>) -> Vec<String> {
        let series: Vec<&NetSeries> = self.table.of_kind(answer.kind).collect();
        if series.is_empty() {
            return Vec::new();
        }
        let has = |column: &Optional| match column {
            Optional::Sockperf => has_any(&series, |point| point.sockperf.is_some()),
            Optional::Loss => has_any(&series, |point| point.loss.is_some()),
            Optional::P99 => has_any(&series, |point| point.p99.is_some()),
            // Of a transfer the exchange is the sample, and its time stands beside it.
            Optional::Total | Optional::Tool => answer.kind != NetKind::Transfer,
            Optional::Interval => true,
        };
        let all: Vec<Optional> = Optional::IN_ORDER.into_iter().filter(has).collect();
        let sets = (0..=all.len()).flat_map(|dropped| GAPS.map(|gap| (&all[dropped..], gap)));
        let fits = |(shown, gap): &(&[Optional], usize)| {
            table_width(&self.blocks(answer, &series, shown), *gap) <= self.style.width
        };
        // Where nothing fits, the fewest columns are the least bad.
        let (shown, gap) = sets.into_iter().find(fits).unwrap_or((&[], 1));
        let lines = separated(&series, table(&self.blocks(answer, &series, shown), gap, self.style));
        let dropped: Vec<&str> =
            all.iter().filter(|column| !shown.contains(column)).map(|column| column.words()).collect();
        let place = self.table.place.as_ref().map_or_else(String::new, |place| format!("; {place}"));
        let title = wrap(&self.style.clean(&format!("{}{place}", answer.title)), "", self.style.width);
        let title = title.iter().map(|line| self.style.paint(line, Tone::Strong));
        let notes: Vec<String> = notes(&dropped).into_iter().chain(left_out(&dropped)).collect();
        let notes = notes.iter().flat_map(|note| wrap(&self.style.clean(note), "  ", self.style.width));
        title.chain(lines).chain(notes).collect()
    }

    fn blocks(&self, answer: &Answer, series: &[&NetSeries], shown: &[Optional]) -> Vec<Block> {
        let has = |column| shown.contains(&column);
        let column = |heading: &str, align, cell: &dyn Fn(&NetPoint) -> Cell| {
            let points = series.iter().flat_map(|series| &series.points);
            let side = if align == Align::Right { Align::Right } else { Align::Left };
            Block::new(heading, side, vec![Column::new(align, points.map(cell))])
        };
        let figure = |value: Option<f64>| known(value.map(|value| whole(value * answer.factor)));
        let (name, tool) = answer.tool;
        let theirs = |point: &NetPoint| {
            let (theory, value) = (answer.theory)(point).zip(tool(point))?;
            Some(if answer.lower_is_better { theory / value } else { value / theory })
        };
        let mut all = labels(series, answer.block);
        all.push(column("conc.", Align::Right, &|point| Cell::plain(point.threads.to_string())));
        all.push(column("measured", Align::Decimal, &|point| match point.status {
            Status::Ok => figure((answer.measured)(point).map(|figure| figure.median)),
            _ => Cell::default(),
        }));
        if has(Optional::Interval) {
            let half = |point: &NetPoint| known((answer.measured)(point).and_then(half).map(percent));
            all.push(column(self.style.plus_minus(), Align::Decimal, &half));
        }
        if has(Optional::P99) {
            all.push(column("p99", Align::Decimal, &|point| figure(point.p99)));
        }
        if has(Optional::Loss) {
            all.push(column("lost", Align::Decimal, &|point| share(point.loss)));
        }
        if has(Optional::Sockperf) {
            all.push(column("sockperf", Align::Decimal, &|point| figure(point.sockperf)));
        }
        if has(Optional::Tool) {
            all.push(column(name, Align::Decimal, &|point| figure(tool(point))));
        }
        all.push(column("theory", Align::Decimal, &|point| figure((answer.theory)(point))));
        all.push(column("eff.", Align::Decimal, &|point| share(point.efficiency)));
        if has(Optional::Tool) {
            all.push(column(&format!("{name} eff."), Align::Decimal, &|point| share(theirs(point))));
        }
        let deviation = |point: &NetPoint| figure((answer.measured)(point).and_then(|figure| figure.stddev));
        all.push(column("std dev", Align::Decimal, &deviation));
        if has(Optional::Total) {
            all.push(column("total in", Align::Right, &|point| known(point.total_seconds.map(seconds))));
        }
        if answer.kind == NetKind::Transfer {
            let took = |point: &NetPoint| known(point.latency.map(|took| quantity(took.median, Unit::Second)));
            all.push(column("there and back", Align::Decimal, &took));
        }
        all.push(column("", Align::Left, &|point| {
            (self.marks)(&point.id).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
        }));
        all
    }
}

fn has_any(series: &[&NetSeries], wanted: fn(&NetPoint) -> bool) -> bool {
    series.iter().any(|series| series.points.iter().any(wanted))
}

/// A blank line before each protocol but the first.
fn separated(series: &[&NetSeries], lines: Vec<String>) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut separated: Vec<String> = lines.next().into_iter().collect();
    let mut before: Option<&NetSeries> = None;
    for series in series {
        let is_new = before.is_some_and(|before| before.protocol != series.protocol);
        separated.extend((is_new && series.points.len() > 1).then(String::new));
        separated.extend(lines.by_ref().take(series.points.len()));
        before = Some(series);
    }
    separated
}

/// Protocol and block, each where it is another one than on the line above.
fn labels(series: &[&NetSeries], heading: &str) -> Vec<Block> {
    let (mut protocols, mut blocks) = (Vec::new(), Vec::new());
    let mut before: Option<&NetSeries> = None;
    for one in series {
        let is_new = before.is_none_or(|before| before.protocol != one.protocol);
        for index in 0..one.points.len() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            let protocol = if is_new { first(one.protocol.name().to_uppercase()) } else { String::new() };
            protocols.push(Cell::plain(protocol).indented());
            blocks.push(Cell::plain(first(block_words(one.block))));
        }
        before = Some(one);
    }
    vec![
        Block::new("", Align::Left, vec![Column::new(Align::Left, protocols)]),
        Block::new(heading, Align::Left, vec![Column::new(Align::Left, blocks)]),
    ]
}

/// `TCP 64 KiB with 2 connections`.
fn line_words(series: &NetSeries, point: &NetPoint) -> String {
    let (protocol, block) = (series.protocol.name().to_uppercase(), block_words(series.block));
    format!("{protocol} {block} with {}", counted(u64::from(point.threads), "connection"))
}

fn best_words(table: &NetTable, kind: NetKind) -> [Option<String>; 2] {
    let told = |(series, point): &(&NetSeries, &NetPoint)| match (kind, point.latency) {
        (NetKind::RoundTrip, Some(figure)) => {
            format!("{}, {}", line_words(series, point), quantity(figure.median, Unit::Second))
        }
        _ => line_words(series, point),
    };
    let best: Vec<String> = table.best(kind).iter().map(told).collect();
    let what = if kind == NetKind::RoundTrip {
        "Shortest, the smallest message and the fewest connections that others do not undercut"
    } else {
        "Fastest, the smallest block and the fewest connections whose interval the others do not exceed"
    };
    let best = (!best.is_empty()).then(|| format!("{what}: {}.", best.join("; ")));
    let highest = table.highest_efficiency(kind).map(|(share, series, point)| {
        format!("Highest efficiency: {}, {}.", percent(share), line_words(series, point))
    });
    [best, highest]
}

pub(super) fn rate_notes(table: &NetTable, dropped: &[&str]) -> Vec<String> {
    let [best, highest] = best_words(table, NetKind::Rate);
    let series: Vec<&NetSeries> = table.of_kind(NetKind::Rate).collect();
    let shown = |column: Optional| !dropped.contains(&column.words());
    let tool = if has_any(&series, |point| point.iperf.is_some()) {
        "iperf: what it measured of the same, in turns with ours.".to_owned()
    } else {
        format!("iperf was not run ({ABSENT}).")
    };
    let lost = "UDP is the highest rate within its goal of loss; lost: the share of the datagrams that never came.";
    let notes = [
        best,
        highest,
        table.total.filter(|_| shown(Optional::Total)).map(|total| total_words(&series, total)),
        Some(
            "Conc.: connections, each with a thread at either end. Measured: the median of what the receiver counted; \
             std dev: of the samples; theory: of the link less framing, on loopback what two copies of each byte between \
             the same CPUs come to; eff.: measured over theory."
                .to_owned(),
        ),
        has_any(&series, |point| point.loss.is_some()).then(|| lost.to_owned()),
        shown(Optional::Tool).then_some(tool),
    ];
    notes.into_iter().flatten().collect()
}

pub(super) fn latency_notes(table: &NetTable, dropped: &[&str]) -> Vec<String> {
    let [best, highest] = best_words(table, NetKind::RoundTrip);
    let series: Vec<&NetSeries> = table.of_kind(NetKind::RoundTrip).collect();
    let shown = |column: Optional| !dropped.contains(&column.words());
    let ping = if has_any(&series, |point| point.ping.is_some()) {
        "ping: the system's, with as large a message, whatever the protocol; the kernel answers it, and no process has to \
         wake up."
            .to_owned()
    } else {
        format!("ping was not run ({ABSENT}); it tells times of 16 B and more.")
    };
    let total = table.round_trips_total.filter(|_| shown(Optional::Total));
    let in_full = series.iter().flat_map(|series| &series.points).all(|point| point.in_full);
    let done = if in_full { "each sample made all of them" } else { "worked out from the rate" };
    let total = total.map(|total| {
        format!("Total in: the time for {} round trips, divided among the connections; {done}.", power(total))
    });
    let theory = (!has_any(&series, |point| point.theory_latency.is_some())).then(|| {
        format!(
            "No least round trip is known here ({ABSENT}): on loopback there is none, of a network it can be declared \
                 (--declare net.latency_s=1e-6)."
        )
    });
    let what = "Measured: the median of full round trips, as the thread that waits sees them, never half of one.";
    let notes = [best, highest, total, Some(what.to_owned()), theory, shown(Optional::Tool).then_some(ping)];
    notes.into_iter().flatten().collect()
}

fn total_words(series: &[&NetSeries], total: f64) -> String {
    let points = || series.iter().flat_map(|series| &series.points).filter(|point| point.rate.is_some());
    let in_full = points().filter(|point| point.in_full).count();
    let done = if in_full > 0 && in_full == points().count() {
        "each sample moved all of it"
    } else if in_full > 0 {
        "some rows moved all of it in each sample, for the others the time is worked out"
    } else {
        "the time for it is worked out from the rate; --exact-workload moves it all"
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
    let bytes = total as u64;
    format!("Total: {} B ({}), divided among the connections; {done}.", power(total), size(bytes))
}
