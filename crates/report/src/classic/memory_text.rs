//! The classic tables of memory in a terminal: rates by workload, block and threads; then what a visit takes, the threads
//! side by side.

use model::document::Status;
use model::isa::MemoryOp;
use model::unit::Unit;

use super::Marks;
use super::memory::{Figure, MemoryPoint, MemorySeries, MemoryTable};
use super::text::{ABSENT, known, left_out, rate, seconds, share};
use crate::label::{block_words, threads};
use crate::layout::{Align, Block, Cell, Column, table_width, wrap};
use crate::style::{Style, Tone};
use model::number::{percent, power, quantity, size};

const RATES: &str = "The classic memory table, in 10^9 bytes a second (GB/s)";

const VISITS: &str = "The classic memory table of latency: what one thread takes for one block";

const ACCESSES: &str = "One byte, 10^8 times, is three different questions";

/// The columns that may give way, in the order in which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optional {
    Total,
    Interval,
    Tool,
}

impl Optional {
    const IN_ORDER: [Self; 3] = [Self::Total, Self::Interval, Self::Tool];

    const fn words(self) -> &'static str {
        match self {
            Self::Total => "the time for the total",
            Self::Interval => "the interval",
            Self::Tool => "STREAM and pmbw",
        }
    }
}

/// The tables with what must be known to read them.
pub(super) fn paragraphs(table: &MemoryTable, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let all = Optional::IN_ORDER;
    let sets = (0..=all.len()).flat_map(|dropped| [2, 1].map(|gap| (&all[dropped..], gap)));
    let blocks = |shown: &[Optional]| rate_blocks(table, shown, marks, style);
    let fits = |(shown, gap): &(&[Optional], usize)| table_width(&blocks(shown), *gap) <= style.width;
    let (shown, gap) = sets.into_iter().find(fits).unwrap_or((&[], 1));
    let dropped: Vec<&str> = all.iter().filter(|column| !shown.contains(column)).map(|column| column.words()).collect();
    let mut paragraphs = Vec::new();
    if table.rates().next().is_some() {
        let lines = separated(table, crate::layout::table(&blocks(shown), gap, style));
        let notes: Vec<String> = notes(table, true).into_iter().chain(left_out(&dropped)).collect();
        let notes = notes.iter().flat_map(|note| wrap(&style.clean(note), "  ", style.width));
        paragraphs.push(title(RATES, style).into_iter().chain(lines).chain(notes).collect());
    }
    paragraphs.push(visits(table, marks, style));
    paragraphs.push(accesses(table, marks, style));
    paragraphs
}

fn title(text: &str, style: &Style) -> Vec<String> {
    wrap(text, "", style.width).iter().map(|line| style.paint(line, Tone::Strong)).collect()
}

/// A blank line before each workload but the first.
fn separated(table: &MemoryTable, lines: Vec<String>) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut separated: Vec<String> = lines.next().into_iter().collect();
    let mut before: Option<&MemorySeries> = None;
    for series in table.rates() {
        separated.extend(before.is_some_and(|before| before.workload != series.workload).then(String::new));
        separated.extend(lines.by_ref().take(series.points.len()));
        before = Some(series);
    }
    separated
}

/// The block, or for rows without one the operation.
pub(super) fn block_of(series: &MemorySeries) -> String {
    series.block.map_or_else(|| series.op.name().to_owned(), block_words)
}

fn rate_blocks(table: &MemoryTable, shown: &[Optional], marks: Marks<'_>, style: &Style) -> Vec<Block> {
    let has = |column| shown.contains(&column);
    let column = |heading: &str, align, cell: &dyn Fn(&MemoryPoint) -> Cell| {
        let points = table.rates().flat_map(|series| &series.points);
        let side = if align == Align::Right { Align::Right } else { Align::Left };
        Block::new(heading, side, vec![Column::new(align, points.map(cell))])
    };
    let of = |value: fn(Figure) -> Option<f64>| move |point: &MemoryPoint| rate(point.rate.and_then(value));
    let [workloads, blocks] = labels(table.rates(), true);
    let mut all = vec![
        Block::new("", Align::Left, vec![workloads]),
        Block::new("block", Align::Left, vec![blocks]),
        column("threads", Align::Right, &|point| Cell::plain(point.threads.to_string())),
        column("measured", Align::Decimal, &|point| match point.status {
            Status::Ok => rate(point.rate.map(|rate| rate.median)),
            _ => Cell::default(),
        }),
    ];
    if has(Optional::Interval) {
        all.push(column(style.plus_minus(), Align::Decimal, &|point| known(point.rate.and_then(half).map(percent))));
    }
    if has(Optional::Tool) {
        all.push(column("STREAM/pmbw", Align::Decimal, &|point| rate(point.tool.map(|tool| tool.value))));
    }
    all.push(column("theory", Align::Decimal, &|point| rate(point.theory.map(|theory| theory.value))));
    all.push(column("efficiency", Align::Decimal, &|point| share(point.efficiency)));
    if has(Optional::Tool) {
        all.push(column("their eff.", Align::Decimal, &|point| share(point.tool.and_then(|tool| tool.efficiency))));
    }
    all.push(column("std dev", Align::Decimal, &of(|figure| figure.stddev)));
    if let Some(total) = table.total.filter(|_| has(Optional::Total)) {
        let heading = format!("{} B in", power(total));
        all.push(column(&heading, Align::Right, &|point| known(point.total_seconds.map(seconds))));
    }
    all.push(column("", Align::Left, &|point| mark(point, marks)));
    all
}

/// Half of the interval over the median.
fn half(figure: Figure) -> Option<f64> {
    let [low, high] = figure.interval?;
    (figure.median != 0.0).then(|| (high - low).abs() / 2.0 / figure.median.abs())
}

fn mark(point: &MemoryPoint, marks: Marks<'_>) -> Cell {
    marks(&point.id).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
}

/// Workload and block, each where it is another one than on the line above; for each point, or once a series.
fn labels<'a>(series: impl Iterator<Item = &'a MemorySeries>, each_point: bool) -> [Column; 2] {
    let (mut workloads, mut blocks) = (Vec::new(), Vec::new());
    let mut before: Option<&MemorySeries> = None;
    for one in series {
        let is_new = before.is_none_or(|before| before.workload != one.workload);
        let lines = if each_point { one.points.len() } else { 1 };
        for index in 0..lines {
            let workload = if is_new && index == 0 { one.workload.as_str() } else { "" };
            workloads.push(Cell::plain(workload).indented());
            blocks.push(Cell::plain(if index == 0 { block_of(one) } else { String::new() }));
        }
        before = Some(one);
    }
    [Column::new(Align::Left, workloads), Column::new(Align::Left, blocks)]
}

/// What a visit of a block takes, the threads side by side.
fn visits(table: &MemoryTable, marks: Marks<'_>, style: &Style) -> Vec<String> {
    let series: Vec<&MemorySeries> = table
        .rates()
        .filter(|series| series.block.is_some() && series.points.iter().any(|point| point.latency.is_some()))
        .collect();
    let mut counts: Vec<u32> = series.iter().flat_map(|series| &series.points).map(|point| point.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    if series.is_empty() {
        return Vec::new();
    }
    let column = |count: u32, interval: bool| {
        let at = |series: &&MemorySeries| series.points.iter().find(|point| point.threads == count).cloned();
        let points: Vec<Option<MemoryPoint>> = series.iter().map(at).collect();
        let value = points.iter().map(|point| {
            let figure = point.as_ref().and_then(|point| point.latency);
            known(figure.map(|figure| quantity(figure.median, Unit::Second)))
        });
        let spread = points.iter().map(|point| {
            let half = point.as_ref().and_then(|point| point.latency).filter(|_| interval).and_then(half);
            Cell::new(
                half.map_or_else(String::new, |half| format!("{}{}", style.plus_minus(), percent(half))),
                Tone::Dim,
            )
        });
        let marked = points.iter().map(|point| point.as_ref().map_or_else(Cell::default, |point| mark(point, marks)));
        let columns = vec![
            Column::new(Align::Decimal, value),
            Column::new(Align::Decimal, spread),
            Column::new(Align::Left, marked),
        ];
        Block::new(threads(count), Align::Left, columns)
    };
    let blocks = |interval: bool| {
        let [workloads, sizes] = labels(series.iter().copied(), false);
        let mut blocks =
            vec![Block::new("", Align::Left, vec![workloads]), Block::new("block", Align::Left, vec![sizes])];
        blocks.extend(counts.iter().map(|count| column(*count, interval)));
        blocks
    };
    let fits = |blocks: &Vec<Block>| table_width(blocks, 2) <= style.width;
    let chosen = Some(blocks(true)).filter(fits).unwrap_or_else(|| blocks(false));
    [title(VISITS, style), crate::layout::table(&chosen, if fits(&chosen) { 2 } else { 1 }, style)].concat()
}

/// What is accessed, and what its figure means.
pub(super) const fn access_words(op: MemoryOp) -> (&'static str, &'static str) {
    match op {
        MemoryOp::Load => ("idle latency", "each load waits for the one before: how long memory takes to answer"),
        MemoryOp::Increment => ("random access", "independent words: how many answers are waited for at a time"),
        MemoryOp::ByteLoop => ("byte loop", "in order, byte by byte: bound by instructions, not by memory"),
        _ => ("access", ""),
    }
}

/// The three figures that the latency of one byte is.
fn accesses(table: &MemoryTable, marks: Marks<'_>, style: &Style) -> Vec<String> {
    let lines: Vec<(&MemorySeries, &MemoryPoint)> =
        table.accesses().flat_map(|series| series.points.iter().map(move |point| (series, point))).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let column = |heading: &str, align, cell: &dyn Fn(&(&MemorySeries, &MemoryPoint)) -> Cell| {
        Block::new(heading, Align::Left, vec![Column::new(align, lines.iter().map(cell))])
    };
    let time = |value: Option<f64>| known(value.map(|value| quantity(value, Unit::Second)));
    let mut before = "";
    let mut names = Vec::new();
    for (series, _) in &lines {
        let name = access_words(series.op).0;
        names.push(Cell::plain(if name == before { "" } else { name }).indented());
        before = name;
    }
    let blocks = [
        Block::new("", Align::Left, vec![Column::new(Align::Left, names)]),
        column("threads", Align::Right, &|(_, point)| Cell::plain(point.threads.to_string())),
        column("per access", Align::Decimal, &|(_, point)| time(point.access.map(|one| one.median))),
        column("std dev", Align::Decimal, &|(_, point)| time(point.access.and_then(|one| one.stddev))),
        column("all of them in", Align::Right, &|(_, point)| known(point.total_seconds.map(seconds))),
        column("", Align::Left, &|(_, point)| mark(point, marks)),
    ];
    let mut found = [title(ACCESSES, style), crate::layout::table(&blocks, 2, style)].concat();
    let mut told: Vec<MemoryOp> = Vec::new();
    for (series, _) in &lines {
        if !told.contains(&series.op) {
            told.push(series.op);
            let (name, meaning) = access_words(series.op);
            found.extend(wrap(&format!("{name}: {meaning}."), "  ", style.width));
        }
    }
    found
}

/// What must be known to read the table of rates, and what follows from it; of the time for the total, where it is shown.
pub(super) fn notes(table: &MemoryTable, shows_total: bool) -> Vec<String> {
    let set = table.working_set.map_or_else(String::new, |bytes| format!(", of {} whatever the block", size(bytes)));
    let best = table.fastest();
    let best: Vec<String> = best.iter().map(|(series, point)| fastest_words(series, point)).collect();
    let notes = [
        (!best.is_empty()).then(|| {
            format!(
                "Fastest, the smallest block and the fewest threads whose interval the others do not exceed: {}.",
                best.join("; ")
            )
        }),
        table.highest_efficiency().map(|(share, series, point)| {
            format!(
                "Highest efficiency: {}, {} {} with {}.",
                percent(share),
                series.workload,
                block_of(series),
                threads(point.threads)
            )
        }),
        table.total.filter(|_| shows_total).map(|total| in_full_words(table, total)),
        Some(
            "RWS and RWR copy a block (bytes read and bytes written both count), WS and WR write it, RS and RR read it; \
             S in order, R at random, each block once a pass. STREAM: its four loops, counted as it counts, and what pmbw \
             scans: reads and writes without blocks."
                .to_owned(),
        ),
        Some(format!(
            "Measured: the median over one working set{set}; std dev: of the samples; theory: transfers/s x bus width x \
             channels."
        )),
        Some(tool_words(table)),
    ];
    notes.into_iter().flatten().collect()
}

/// `RWS 1 MiB with 2 threads`.
fn fastest_words(series: &MemorySeries, point: &MemoryPoint) -> String {
    format!("{} {} with {}", series.workload, block_of(series), threads(point.threads))
}

fn in_full_words(table: &MemoryTable, total: f64) -> String {
    let points = || table.rates().flat_map(|series| &series.points).filter(|point| point.rate.is_some());
    let in_full = points().filter(|point| point.in_full).count();
    let done = if in_full > 0 && in_full == points().count() {
        "each sample moved all of them"
    } else if in_full > 0 {
        "some rows moved all of them in each sample, for the others the time is worked out"
    } else {
        "the time for them is worked out from the rate; --exact-workload moves them all"
    };
    format!("Total: {} bytes, divided among the threads; {done}.", power(total))
}

fn tool_words(table: &MemoryTable) -> String {
    let tools = || table.rates().flat_map(|series| &series.points).filter_map(|point| point.tool);
    if tools().next().is_none() {
        return format!("STREAM and pmbw were not measured in this run ({ABSENT}).");
    }
    let others = if tools().any(|tool| !tool.beside) {
        "; beside blocks, what it measured on as many threads without blocks"
    } else {
        ""
    };
    format!(
        "STREAM/pmbw: the faster of the two that does the same, counted as ours{others}; their eff.: that over the theory."
    )
}
