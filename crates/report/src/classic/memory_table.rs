//! The classic tables of memory: rates by workload, block and threads; what a block takes, the threads side by side; and
//! what an access takes.

use model::isa::MemoryOp;
use model::number::{giga, percent, power, quantity, size};
use model::unit::Unit;

use super::cpu_table::seconds;
use super::figures::{Figure, InFull, highest, in_full};
use super::memory::{MemoryPoint, MemorySeries, MemoryTable};
use super::table::{ClassicPart, ClassicTable, GivesWay, Note, SideBySide, TableColumn, TableLine, lines};
use crate::grid::value::{ABSENT, Column};
use crate::layout::Align;
use areas::label::{block_words, threads};

const TOTAL: GivesWay = GivesWay { rank: 0, words: "the time for the total" };
const INTERVAL: GivesWay = GivesWay { rank: 1, words: "the interval" };
const TOOL: GivesWay = GivesWay { rank: 2, words: "STREAM and pmbw" };

type SeriesPoint<'a> = (&'a MemorySeries, &'a MemoryPoint);

/// The tables with what must be known to read them.
pub(super) fn parts(table: &MemoryTable) -> Vec<ClassicPart> {
    let tables = [rates(table), accesses(table), latencies(table)].map(ClassicPart::Table);
    let [rates, accesses, latencies] = tables;
    let visits = visits(table).map(ClassicPart::SideBySide);
    [rates].into_iter().chain(visits).chain([accesses, latencies]).collect()
}

/// The block, or for benchmarks without one the operation.
fn block_of(series: &MemorySeries) -> String {
    series.block.map_or_else(|| series.op.name().to_owned(), block_words)
}

fn points<'a>(series: impl Iterator<Item = &'a MemorySeries>) -> Vec<SeriesPoint<'a>> {
    series.flat_map(|series| series.points.iter().map(move |point| (series, point))).collect()
}

fn lines_of(points: &[SeriesPoint<'_>], has_groups: bool) -> Vec<TableLine> {
    let about = |(_, point): &SeriesPoint<'_>| (point.id.clone(), point.status, point.grade);
    lines(points, about, |(series, _)| has_groups.then(|| series.workload.clone()))
}

fn rates(table: &MemoryTable) -> ClassicTable {
    let points = points(table.rates());
    let lines = lines_of(&points, true);
    let rate = |heading: &str| Column::number(heading).shown("GB/s").base(Unit::BytePerSecond);
    let percentage = |heading: &str| Column::number(heading).shown("%").base(Unit::One);
    let figure =
        |value: fn(&MemoryPoint) -> Option<f64>| TableColumn::figures(&points, |(_, point)| value(point), giga);
    let share = |value: fn(&MemoryPoint) -> Option<f64>| TableColumn::shares(&points, |(_, point)| value(point));
    let workloads: Vec<&str> = points.iter().map(|(series, _)| series.workload.as_str()).collect();
    let series: Vec<*const MemorySeries> = points.iter().map(|(series, _)| std::ptr::from_ref(*series)).collect();
    let mut columns = vec![
        TableColumn::words(&points, |(series, _)| series.workload.clone())
            .once(&workloads)
            .text("", Align::Left)
            .grid(Column::text("Workload"))
            .kept(),
        TableColumn::counts(&points, |(_, point)| point.threads.into()).grid(Column::number("Concurrency")).kept(),
        TableColumn::words(&points, |(series, _)| block_of(series))
            .once(&series)
            .text("block", Align::Left)
            .grid(Column::text("Block size"))
            .kept(),
        TableColumn::counts(&points, |(_, point)| point.threads.into()).text("threads", Align::Right),
        figure(|point| point.rate.map(|rate| rate.median))
            .or_status(&lines, false)
            .text("measured", Align::Decimal)
            .grid(rate("Measured throughput"))
            .kept(),
        TableColumn::half_intervals(&points, |(_, point)| point.rate).gives_way(INTERVAL),
        figure(|point| point.tool.map(|tool| tool.value))
            .text("STREAM/pmbw", Align::Decimal)
            .gives_way(TOOL)
            .grid(rate("pmbw/STREAM measured"))
            .kept(),
        TableColumn::words(&points, |(_, point)| point.tool.map_or("", |tool| tool.tool).to_owned())
            .grid(Column::text("Reference")),
        figure(|point| point.theory.map(|theory| theory.value))
            .text("theory", Align::Decimal)
            .grid(rate("Theoretical"))
            .kept(),
        share(|point| point.efficiency).text("efficiency", Align::Decimal).grid(percentage("Efficiency")).kept(),
        share(|point| point.tool.and_then(|tool| tool.efficiency))
            .text("their eff.", Align::Decimal)
            .gives_way(TOOL)
            .grid(percentage("pmbw/STREAM efficiency"))
            .kept(),
        figure(|point| point.rate.and_then(|rate| rate.stddev))
            .text("std dev", Align::Decimal)
            .grid(rate("Standard deviation"))
            .kept(),
        TableColumn::intervals(&points, |(_, point)| point.rate, giga).kept(),
        TableColumn::grades(&lines),
    ];
    columns.extend(table.total.map(|total| {
        TableColumn::figures(&points, |(_, point)| point.total_seconds, seconds)
            .text(format!("{} B in", power(total)), Align::Right)
            .gives_way(TOTAL)
    }));
    let title = "The classic memory table, in 10^9 bytes a second (GB/s)".to_owned();
    ClassicTable {
        grid: Some(("classic-memory-throughput".to_owned(), title.clone())),
        title: Some(title),
        lines,
        columns,
        notes: notes(table),
    }
}

/// What a block takes, the threads side by side.
fn visits(table: &MemoryTable) -> Option<SideBySide> {
    let series: Vec<&MemorySeries> = table
        .rates()
        .filter(|series| series.block.is_some() && series.points.iter().any(|point| point.latency.is_some()))
        .collect();
    let workloads = TableColumn::words(&series, |series| series.workload.clone());
    let workloads = workloads.once(&series.iter().map(|series| &series.workload).collect::<Vec<_>>());
    let blocks = series.iter().map(|series| block_of(series)).collect();
    let of_series = |series: &&MemorySeries| {
        series.points.iter().map(|point| (point.threads, point.id.clone(), point.latency)).collect()
    };
    (!series.is_empty()).then(|| SideBySide {
        title: "The classic memory table of latency: what one thread takes for one block",
        labels: vec![("", workloads.texts().to_vec()), ("block", blocks)],
        lines: series.iter().map(of_series).collect(),
    })
}

/// What is accessed, and what its figure means.
const fn access_words(op: MemoryOp) -> (&'static str, &'static str) {
    match op {
        MemoryOp::Load => ("idle latency", "each load waits for the one before: how long memory takes to answer"),
        MemoryOp::Increment => ("random access", "independent words: how many answers are waited for at a time"),
        MemoryOp::ByteLoop => ("byte loop", "in order, byte by byte: bound by instructions, not by memory"),
        _ => ("access", ""),
    }
}

/// What each of these accesses means.
fn meanings(points: &[SeriesPoint<'_>]) -> Vec<String> {
    let mut ops: Vec<MemoryOp> = Vec::new();
    for (series, _) in points {
        if !ops.contains(&series.op) {
            ops.push(series.op);
        }
    }
    ops.into_iter().map(access_words).map(|(name, meaning)| format!("{name}: {meaning}.")).collect()
}

/// The three values that the latency of one byte is, in a terminal.
fn accesses(table: &MemoryTable) -> ClassicTable {
    let points = points(table.accesses());
    let names: Vec<&str> = points.iter().map(|(series, _)| access_words(series.op).0).collect();
    let time =
        |value: fn(Figure) -> Option<f64>| TableColumn::times(&points, |(_, point)| point.access.and_then(value));
    let columns = vec![
        TableColumn::words(&names, |name| (*name).to_owned()).once(&names).text("", Align::Left),
        TableColumn::counts(&points, |(_, point)| point.threads.into()).text("threads", Align::Right).left(),
        time(|one| Some(one.median)).text("per access", Align::Decimal),
        time(|one| one.stddev).text("std dev", Align::Decimal),
        TableColumn::figures(&points, |(_, point)| point.total_seconds, seconds)
            .text("all of them in", Align::Right)
            .left(),
    ];
    ClassicTable {
        grid: None,
        title: Some("One byte, 10^8 times, is three different questions".to_owned()),
        lines: lines_of(&points, false),
        columns,
        notes: meanings(&points).into_iter().map(Note::new).collect(),
    }
}

/// What a block or an access takes, as a grid.
fn latencies(table: &MemoryTable) -> ClassicTable {
    let accesses = points(table.accesses());
    let mut all = points(table.rates().filter(|series| series.block.is_some()));
    all.extend(&accesses);
    let points = all;
    let lines = lines_of(&points, false);
    let figure = |(series, point): &SeriesPoint<'_>| if series.is_rate() { point.latency } else { point.access };
    let time = |heading: &str, value: &dyn Fn(&SeriesPoint<'_>) -> Option<f64>| {
        TableColumn::times(&points, value).grid(Column::number(heading).base(Unit::Second)).kept()
    };
    let share = |heading: &str, value: fn(&MemoryPoint) -> Option<f64>| {
        let column = Column::number(heading).shown("%").base(Unit::One);
        TableColumn::shares(&points, |(_, point)| value(point)).grid(column).kept()
    };
    let workload = |(series, _): &SeriesPoint<'_>| {
        if series.is_rate() { series.workload.clone() } else { access_words(series.op).0.to_owned() }
    };
    let block = |(series, _): &SeriesPoint<'_>| if series.is_rate() { block_of(series) } else { String::new() };
    let columns = vec![
        TableColumn::words(&points, workload).grid(Column::text("Workload")).kept(),
        TableColumn::counts(&points, |(_, point)| point.threads.into()).grid(Column::number("Concurrency")).kept(),
        TableColumn::words(&points, block).grid(Column::text("Block size")).kept(),
        time("Measured latency", &|line| figure(line).map(|figure| figure.median)).or_status(&lines, false),
        time("pmbw/STREAM measured", &|_| None),
        time("Theoretical", &|(_, point)| point.theory_access.map(|theory| theory.value)),
        share("Efficiency", |point| point.access_efficiency),
        share("pmbw/STREAM efficiency", |_| None),
        time("Standard deviation", &|line| figure(line).and_then(|figure| figure.stddev)),
        TableColumn::intervals(&points, figure, |value| quantity(value, Unit::Second)).kept(),
        TableColumn::grades(&lines),
    ];
    let mut notes: Vec<String> = shortest(table).into_iter().chain(highest_of_accesses(table)).collect();
    notes.extend(meanings(&accesses));
    notes.push("No reference tool tells the time of a block or of an access.".to_owned());
    let title = "The classic memory table of latency: what one thread takes for one block, or for one access";
    ClassicTable {
        grid: Some(("classic-memory-latency".to_owned(), title.to_owned())),
        title: None,
        lines,
        columns,
        notes: notes.into_iter().map(Note::new).collect(),
    }
}

/// The highest share of the least time of an access, where that is known.
fn highest_of_accesses(table: &MemoryTable) -> Option<String> {
    let lines = points(table.accesses()).into_iter();
    let (share, (series, point)) = highest(lines, |(_, point)| point.access_efficiency)?;
    let (name, words) = (access_words(series.op).0, threads(point.threads));
    Some(format!("Highest efficiency: {}, {name} with {words}.", percent(share)))
}

/// The access that takes least, of those that wait for memory one by one.
fn shortest(table: &MemoryTable) -> Option<String> {
    let chases = table.accesses().filter(|series| series.op == MemoryOp::Load).flat_map(|series| &series.points);
    let known = chases.filter_map(|point| Some((point.access?, point.threads)));
    // The first of equals has the fewest threads.
    let (figure, threads) = known.reduce(|best, other| if other.0.high() < best.0.low() { other } else { best })?;
    let words = areas::label::threads(threads);
    Some(format!(
        "Shortest idle latency, the fewest threads that others do not undercut: {}, {words}.",
        seconds(figure.median)
    ))
}

/// What must be known to read the table of rates, and what follows from it.
fn notes(table: &MemoryTable) -> Vec<Note> {
    let set = table.working_set.map_or_else(String::new, |bytes| format!(", of {} whatever the block", size(bytes)));
    let points = || table.rates().flat_map(|series| &series.points);
    let best = table.fastest();
    let best: Vec<String> = best.iter().map(line_words).collect();
    let notes = [
        (!best.is_empty()).then(|| {
            Note::new(format!(
                "Fastest, the smallest block and the fewest threads whose interval the others do not exceed: {}.",
                best.join("; ")
            ))
        }),
        table
            .highest_efficiency()
            .map(|(share, line)| Note::new(format!("Highest efficiency: {}, {}.", percent(share), line_words(&line)))),
        table.total.map(|total| Note::of_text(in_full_words(table, total))),
        Some(Note::new(
            "RWS and RWR copy a block (bytes read and bytes written both count), WS and WR write it, RS and RR read it; \
             S in order, R at random, each block once a pass. STREAM: its four loops, counted as it counts, and what pmbw \
             scans: reads and writes without blocks.",
        )),
        Some(Note::new(format!(
            "Measured: the median over one working set{set}; std dev: of the samples; theory: transfers/s x bus width x \
             channels."
        ))),
        Some(Note::new(tool_words(table))),
        (!points().any(|point| point.theory.is_some())).then(|| {
            Note::of_grid(format!(
                "The memory's limit is not known here ({ABSENT}). If you know it: --declare memory.channels=12 \
                 --declare memory.mts=6000."
            ))
        }),
    ];
    notes.into_iter().flatten().collect()
}

/// `RWS 1 MiB with 2 threads`.
fn line_words((series, point): &SeriesPoint<'_>) -> String {
    format!("{} {} with {}", series.workload, block_of(series), threads(point.threads))
}

fn in_full_words(table: &MemoryTable, total: f64) -> String {
    let points = table.rates().flat_map(|series| &series.points).filter(|point| point.rate.is_some());
    let done = match in_full(points.map(|point| point.in_full)) {
        InFull::All => "each sample moved all of them",
        InFull::Some => "some rows moved all of them in each sample, for the others the time is worked out",
        InFull::None => "the time for them is worked out from the rate; --exact-workload moves them all",
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
