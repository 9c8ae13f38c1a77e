//! The classic tables of disks: rates of large blocks, what one of their requests takes, and latency and IOPS of small
//! ones.

use model::io::DiskCache;
use model::number::{percent, power, quantity, size, whole};
use model::unit::Unit;

use super::cpu_table::seconds;
use super::disk::{DiskPoint, DiskSeries, DiskTable, ToolFigures};
use super::figures::{Figure, InFull, highest, in_full};
use super::table::{ClassicPart, ClassicTable, GivesWay, Note, SideBySide, TableColumn, TableLine, lines};
use crate::grid::value::{ABSENT, Column};
use crate::layout::Align;
use areas::disk::label::cache_column;
use areas::label::{block_words, threads};

const FLUSHED: GivesWay = GivesWay { rank: 0, words: "writes with the flush" };
const FIO: GivesWay = GivesWay { rank: 1, words: "fio" };
const TOTAL: GivesWay = GivesWay { rank: 2, words: "the time for the total" };
const P99: GivesWay = GivesWay { rank: 3, words: "the 99th percentile" };
const INTERVAL: GivesWay = GivesWay { rank: 4, words: "the interval" };
const IOZONE: GivesWay = GivesWay { rank: 5, words: "IOzone" };

type SeriesPoint<'a> = (&'a DiskSeries, &'a DiskPoint);

/// What a table is about: a value of each point, its theory, and what the tools measured of it.
struct Answer {
    name: &'static str,
    /// The heading of what was measured, in a grid.
    heading: &'static str,
    title: &'static str,
    measured: fn(&DiskPoint) -> Option<Figure>,
    theory: fn(&DiskPoint) -> Option<f64>,
    efficiency: fn(&DiskPoint) -> Option<f64>,
    tool: fn(&ToolFigures) -> Option<f64>,
    /// The unit of the texts, and how many of it one of the base unit is.
    unit: &'static str,
    factor: f64,
    base: Unit,
    lower_is_better: bool,
    /// Columns that only a terminal has.
    extra: &'static [GivesWay],
}

const THROUGHPUT: Answer = Answer {
    name: "throughput",
    heading: "Measured throughput",
    title: "The classic disk table, in 10^6 bytes a second (MB/s)",
    measured: |point| point.rate,
    theory: |point| point.theory_rate.map(|theory| theory.value),
    efficiency: |point| point.efficiency,
    tool: |tool| tool.rate,
    unit: "MB/s",
    factor: 1e-6,
    base: Unit::BytePerSecond,
    lower_is_better: false,
    extra: &[FLUSHED, TOTAL],
};

const LATENCY: Answer = Answer {
    name: "latency",
    heading: "Measured",
    title: "The classic disk table of latency: what one request takes, in milliseconds",
    measured: |point| point.latency,
    theory: |point| point.theory_latency.map(|theory| theory.value),
    efficiency: |point| point.latency_efficiency,
    tool: |tool| tool.latency,
    unit: "ms",
    factor: 1e3,
    base: Unit::Second,
    lower_is_better: true,
    extra: &[P99],
};

const IOPS: Answer = Answer {
    name: "iops",
    heading: "Measured",
    title: "The classic disk table of IOPS, in requests a second",
    measured: |point| point.iops,
    theory: |point| point.theory_iops.map(|theory| theory.value),
    efficiency: |point| point.efficiency,
    tool: |tool| tool.iops,
    unit: "IOPS",
    factor: 1.0,
    base: Unit::PerSecond,
    lower_is_better: false,
    extra: &[TOTAL],
};

/// The tables with what must be known to read them. As a grid, latency is that of small and of large blocks.
pub(super) fn parts(table: &DiskTable) -> Vec<ClassicPart> {
    let (rates, requests) = (points(table.rates()), points(table.requests()));
    let place = table.place.as_ref().map_or_else(String::new, |place| format!(": {place}"));
    let throughput = grid(&THROUGHPUT, &rates, rate_notes(table));
    let throughput = ClassicTable {
        title: Some(format!("{}{place}", THROUGHPUT.title)),
        grid: throughput.grid.map(|(name, title)| (name, format!("{title}{place}"))),
        ..throughput
    };
    let (factor, unit) = latency_scale(&requests);
    let latency = grid(&Answer { unit, factor, ..LATENCY }, &requests, latency_notes(&requests));
    let title = format!("The classic disk table of latency, in {unit}");
    let latency = ClassicTable { title: Some(title), grid: None, ..latency };
    let all: Vec<SeriesPoint<'_>> = requests.iter().chain(&rates).copied().collect();
    let notes = highest_share(&all).map(Note::new).into_iter().chain(latency_notes(&requests)).collect();
    let latency_grid = grid(&LATENCY, &all, notes);
    let iops = grid(&IOPS, &requests, iops_notes(table));
    let iops = ClassicTable { title: Some(IOPS.title.to_owned()), ..iops };
    let visits = visits(table).map(ClassicPart::SideBySide);
    let tables = [latency, latency_grid, iops].map(ClassicPart::Table);
    [ClassicPart::Table(throughput)].into_iter().chain(visits).chain(tables).collect()
}

fn points<'a>(series: impl Iterator<Item = &'a DiskSeries>) -> Vec<SeriesPoint<'a>> {
    series.flat_map(|series| series.points.iter().map(move |point| (series, point))).collect()
}

/// Latencies are in milliseconds unless one of those past the page cache is below a tenth of it.
fn latency_scale(points: &[SeriesPoint<'_>]) -> (f64, &'static str) {
    let past = points.iter().filter(|(series, _)| series.cache == DiskCache::Bypassed);
    let medians = past.filter_map(|(_, point)| point.latency).map(|figure| figure.median);
    if medians.fold(f64::INFINITY, f64::min) < 1e-4 { (1e6, "us") } else { (1e3, "ms") }
}

/// The highest share of the least latency, of what goes past the page cache.
fn highest_share(points: &[SeriesPoint<'_>]) -> Option<String> {
    let past = points.iter().filter(|(series, _)| series.cache == DiskCache::Bypassed);
    let (share, line) = highest(past, |(_, point)| point.latency_efficiency)?;
    Some(format!("Highest efficiency: {}, {}.", percent(share), line_words(line)))
}

/// A value without an exponent where it has no more than nanoseconds' worth of digits: a column of milliseconds is read
/// from top to bottom.
fn plain(value: f64) -> String {
    if (1e-6..1e-3).contains(&value.abs()) { format!("{value:.6}") } else { whole(value) }
}

/// The table of an answer, as a grid.
fn grid(answer: &Answer, points: &[SeriesPoint<'_>], notes: Vec<Note>) -> ClassicTable {
    let about = |(_, point): &SeriesPoint<'_>| (point.id.clone(), point.status, point.grade);
    let lines = lines(points, about, |(series, _)| series.workload.clone());
    let columns = columns(answer, points, &lines);
    let grid = Some((format!("classic-disk-{}", answer.name), answer.title.to_owned()));
    ClassicTable { grid, title: None, lines, columns, notes }
}

fn columns(answer: &Answer, points: &[SeriesPoint<'_>], lines: &[TableLine]) -> Vec<TableColumn> {
    let value = |heading: &str| Column::number(heading).shown(answer.unit).base(answer.base);
    let percentage = |heading: &str| Column::number(heading).shown("%").base(Unit::One);
    let words = |value: f64| plain(value * answer.factor);
    let figure = |of: &dyn Fn(&DiskPoint) -> Option<f64>| TableColumn::figures(points, |(_, point)| of(point), words);
    let share = |of: &dyn Fn(&DiskPoint) -> Option<f64>| TableColumn::shares(points, |(_, point)| of(point));
    let of_theory = |point: &DiskPoint, tool: &ToolFigures| {
        let (theory, value) = (answer.theory)(point).zip((answer.tool)(tool))?;
        Some(if answer.lower_is_better { theory / value } else { value / theory })
    };
    let has_fio = points.iter().any(|(_, point)| (answer.tool)(&point.fio).is_some());
    let fio = || figure(&|point| (answer.tool)(&point.fio)).gives_way(FIO);
    let [workloads, blocks, caches] = labels(points);
    let counts = || TableColumn::counts(points, |(_, point)| point.threads.into());
    let mut columns = vec![
        workloads.grid(Column::text("Workload")).kept(),
        counts().grid(Column::number("Concurrency")).kept(),
        blocks.grid(Column::text("Block size")).kept(),
        caches.grid(Column::text("Page cache")),
        counts().text("threads", Align::Right),
        figure(&|point| (answer.measured)(point).map(|figure| figure.median))
            .or_status(lines, false)
            .text("measured", Align::Decimal)
            .grid(value(answer.heading))
            .kept(),
        TableColumn::half_intervals(points, |(_, point)| (answer.measured)(point)).gives_way(INTERVAL),
    ];
    let extra = |columns: GivesWay| answer.extra.contains(&columns);
    columns.extend(extra(P99).then(|| figure(&|point| point.p99).text("p99", Align::Decimal).gives_way(P99)));
    columns.extend(
        extra(FLUSHED).then(|| figure(&|point| point.flushed).text("flushed", Align::Decimal).gives_way(FLUSHED)),
    );
    columns.extend(has_fio.then(|| fio().text("fio", Align::Decimal)));
    columns.extend([
        figure(&|point| (answer.tool)(&point.iozone))
            .text("IOzone", Align::Decimal)
            .gives_way(IOZONE)
            .grid(value("IOzone"))
            .kept(),
        fio().grid(value("fio")),
        figure(&answer.theory).text("theory", Align::Decimal).grid(value("Theoretical")).kept(),
        share(&answer.efficiency).text("efficiency", Align::Decimal).grid(percentage("Efficiency")).kept(),
        share(&|point| of_theory(point, &point.iozone))
            .text("IOzone eff.", Align::Decimal)
            .gives_way(IOZONE)
            .grid(percentage("IOzone efficiency"))
            .kept(),
        share(&|point| of_theory(point, &point.fio)).grid(percentage("fio efficiency")),
        figure(&|point| (answer.measured)(point).and_then(|figure| figure.stddev))
            .text("std dev", Align::Decimal)
            .grid(value("Standard deviation"))
            .kept(),
        TableColumn::intervals(points, |(_, point)| (answer.measured)(point), words).kept(),
        TableColumn::grades(lines),
    ]);
    columns.extend(extra(TOTAL).then(|| {
        TableColumn::figures(points, |(_, point)| point.total_seconds, seconds)
            .text("total in", Align::Right)
            .gives_way(TOTAL)
    }));
    columns
}

/// Workload, block and page cache, in a terminal each where it is another one than on the line above.
fn labels(points: &[SeriesPoint<'_>]) -> [TableColumn; 3] {
    let workloads: Vec<&str> = points.iter().map(|(series, _)| series.workload.as_str()).collect();
    let series: Vec<*const DiskSeries> = points.iter().map(|(series, _)| std::ptr::from_ref(*series)).collect();
    let of = |word: fn(&DiskSeries) -> String| TableColumn::words(points, |(series, _)| word(series));
    [
        of(|series| series.workload.clone()).once(&workloads).text("", Align::Left),
        of(|series| block_words(series.block)).once(&series).text("block", Align::Left),
        of(|series| cache_of(series).to_owned()).once(&series).text("page cache", Align::Left),
    ]
}

/// What one request of a large block takes, the threads side by side.
fn visits(table: &DiskTable) -> Option<SideBySide> {
    let has_any = |series: &&DiskSeries| series.points.iter().any(|point| point.latency.is_some());
    let series: Vec<&DiskSeries> = table.rates().filter(has_any).collect();
    let firsts: Vec<SeriesPoint<'_>> =
        series.iter().filter_map(|series| Some((*series, series.points.first()?))).collect();
    let texts = labels(&firsts).map(|column| column.texts().to_vec());
    let of_series = |series: &&DiskSeries| {
        series.points.iter().map(|point| (point.threads, point.id.clone(), point.latency)).collect()
    };
    (!series.is_empty()).then(|| SideBySide {
        title: "The classic disk table of latency for large blocks: what one request takes",
        labels: ["", "block", "page cache"].into_iter().zip(texts).collect(),
        lines: series.iter().map(of_series).collect(),
    })
}

/// What the page cache did; nothing where it was gone past.
fn cache_of(series: &DiskSeries) -> &'static str {
    match series.cache {
        DiskCache::Bypassed => "",
        _ if series.is_below_sector() => "through",
        cache => cache_column(cache),
    }
}

/// `RS 1 MiB with 2 threads`.
fn line_words((series, point): &SeriesPoint<'_>) -> String {
    format!("{} {} with {}", series.workload, block_words(series.block), threads(point.threads))
}

fn best_words(table: &DiskTable, of_requests: bool) -> [Option<String>; 2] {
    let best: Vec<String> = table.fastest(of_requests).iter().map(line_words).collect();
    let which = if of_requests { "the fewest threads" } else { "the smallest block and the fewest threads" };
    let fastest = (!best.is_empty())
        .then(|| format!("Fastest, {which} whose interval the others do not exceed: {}.", best.join("; ")));
    let highest = table.highest_efficiency(of_requests);
    let highest =
        highest.map(|(share, line)| format!("Highest efficiency: {}, {}.", percent(share), line_words(&line)));
    [fastest, highest]
}

fn rate_notes(table: &DiskTable) -> Vec<Note> {
    let [fastest, highest] = best_words(table, false);
    let points = || table.rates().flat_map(|series| &series.points);
    let has = |wanted: fn(&DiskSeries) -> bool| table.rates().any(wanted);
    let notes = [
        fastest.map(Note::new),
        highest.map(Note::new),
        table.total.map(|total| Note::new(total_words(table, total))),
        Some(Note::new(
            "RS and WS read and write in order, RR and WR at random; of RWS and RWR every other request is a write. \
             Measured: the median; std dev: of the samples; theory: of the drive or its \
             link, for as many bytes a request.",
        )),
        (!points().any(|point| point.theory_rate.is_some())).then(|| {
            Note::new(
                "The drive's limits are not known here (-). If you know them: --declare disk.read_bps=7e9 \
                 --declare disk.write_bps=5e9 --declare disk.read_iops=1e6 --declare disk.write_iops=5e5.",
            )
        }),
        has(|series| series.cache != DiskCache::Bypassed).then(|| Note::new(cache_words(table))),
        points().any(|point| point.flushed.is_some()).then(|| {
            let words = "Flushed: writes with the flush after each sample counted in; measured is without it.";
            Note::needing(FLUSHED, words)
        }),
        Some(tool_words(&points().collect::<Vec<_>>(), |point| point.fio.rate)),
    ];
    notes.into_iter().flatten().collect()
}

fn latency_notes(points: &[SeriesPoint<'_>]) -> Vec<Note> {
    let past = points.iter().filter(|(series, _)| series.cache == DiskCache::Bypassed);
    let known = past.filter_map(|line| Some((line.1.latency?, line)));
    // The first of equals has the fewest threads.
    let least = known.reduce(|best, other| if other.0.high() < best.0.low() { other } else { best });
    let notes = [
        least.map(|(figure, line)| {
            Note::new(format!(
                "Shortest, the fewest threads that others do not undercut: {}, {}.",
                quantity(figure.median, Unit::Second),
                line_words(line)
            ))
        }),
        Some(Note::new(
            "Measured: the median of what one request takes as its thread sees it, never the time over all threads' \
             requests; theory: so many in flight over the most requests a second that the drive can answer.",
        )),
        Some(tool_words(&points.iter().map(|(_, point)| *point).collect::<Vec<_>>(), |point| point.fio.latency)),
    ];
    notes.into_iter().flatten().collect()
}

fn iops_notes(table: &DiskTable) -> Vec<Note> {
    let [fastest, highest] = best_words(table, true);
    let all = || table.requests().flat_map(|series| &series.points);
    let points = || all().filter(|point| point.total_seconds.is_some());
    let done =
        if points().all(|point| point.in_full) { "each sample did all of them" } else { "worked out from the rate" };
    let total = table.requests_total.filter(|_| points().count() > 0).map(|total| {
        let words = format!("Total in: the time for {} requests, divided among the threads; {done}.", power(total));
        Note::needing(TOTAL, words)
    });
    let tools = tool_words(&all().collect::<Vec<_>>(), |point| point.fio.iops);
    [fastest.map(Note::new), highest.map(Note::new), total, Some(tools)].into_iter().flatten().collect()
}

fn total_words(table: &DiskTable, total: f64) -> String {
    let points = table.rates().flat_map(|series| &series.points).filter(|point| point.rate.is_some());
    let done = match in_full(points.map(|point| point.in_full)) {
        InFull::All => "each sample moved all of them",
        InFull::Some => "some rows moved all of them in each sample, for the others the time is worked out",
        InFull::None => "the time for them is worked out from the rate; --exact-workload moves them all",
    };
    let small = table.requests_total.filter(|_| table.rates().any(DiskSeries::is_below_sector));
    let small = small.map_or_else(String::new, |total| format!(", of 8 B {} requests", power(total)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
    let bytes = total as u64;
    format!("Total: {}{small}, divided among the threads; {done}.", size(bytes))
}

fn cache_words(table: &DiskTable) -> String {
    let has = |wanted: fn(&DiskSeries) -> bool| table.series.iter().any(wanted);
    let small =
        "8 B: through the page cache by nature, which gathers them to pages; no device takes less than a sector.";
    let states = "Page cache: where nothing is said, gone past (direct I/O); cold: emptied for the file before each \
        pass; warm: filled before.";
    let told = [
        has(|series| series.cache != DiskCache::Bypassed && !series.is_below_sector()).then_some(states),
        has(DiskSeries::is_below_sector).then_some(small),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is in the columns of tools, as far as they are there.
fn tool_words(points: &[&DiskPoint], fio: fn(&DiskPoint) -> Option<f64>) -> Note {
    let told = |tool: &str| format!("{tool}: what it measured of the same, in turns with ours.");
    let own = points.iter().any(|point| fio(point).is_some()).then(|| Note::needing(FIO, told("fio")));
    let has_iozone = points.iter().any(|point| point.iozone != ToolFigures::default());
    let other = if has_iozone { told("IOzone") } else { format!("IOzone was not run ({ABSENT}).") };
    Note::joined(own.into_iter().chain([Note::needing(IOZONE, other)]))
}
