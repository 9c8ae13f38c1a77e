//! The classic tables of disks in a terminal: rates of large blocks, what one of their requests takes, and latency and
//! IOPS of small ones.

use model::document::Status;
use model::io::DiskCache;
use model::unit::Unit;

use super::Marks;
use super::disk::{DiskPoint, DiskSeries, DiskTable, ToolFigures};
use super::memory::Figure;
use super::text::{ABSENT, known, left_out, seconds, share};
use crate::label::disk::cache_column;
use crate::label::{block_words, threads};
use crate::layout::{Align, Block, Cell, Column, table, table_width, wrap};
use crate::style::{Style, Tone};
use model::number::{percent, power, quantity, size, whole};

const RATES: &str = "The classic disk table, in 10^6 bytes a second (MB/s)";

const VISITS: &str = "The classic disk table of latency for large blocks: what one request takes";

const LATENCIES: &str = "The classic disk table of latency";

const IOPS: &str = "The classic disk table of IOPS, in requests a second";

/// Between columns, the better first.
const GAPS: [usize; 2] = [2, 1];

/// The columns that may give way, in the order in which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Optional {
    Flushed,
    Fio,
    Total,
    P99,
    Interval,
    Iozone,
}

impl Optional {
    const IN_ORDER: [Self; 6] = [Self::Flushed, Self::Fio, Self::Total, Self::P99, Self::Interval, Self::Iozone];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Flushed => "writes with the flush",
            Self::Fio => "fio",
            Self::Total => "the time for the total",
            Self::P99 => "the 99th percentile",
            Self::Interval => "the interval",
            Self::Iozone => "IOzone",
        }
    }
}

/// What a table is about: a figure of each point, its theory, and what the tools measured of it.
struct Answer<'a> {
    title: &'a str,
    measured: fn(&DiskPoint) -> Option<Figure>,
    theory: fn(&DiskPoint) -> Option<f64>,
    efficiency: fn(&DiskPoint) -> Option<f64>,
    iozone: fn(&DiskPoint) -> Option<f64>,
    fio: fn(&DiskPoint) -> Option<f64>,
    /// How many of the table's unit one of the document's is, and its name where the title does not say it.
    factor: f64,
    unit: &'static str,
    lower_is_better: bool,
    optional: &'a [Optional],
}

const THROUGHPUT: Answer<'static> = Answer {
    title: RATES,
    measured: |point| point.rate,
    theory: |point| point.theory_rate.map(|theory| theory.value),
    efficiency: |point| point.efficiency,
    iozone: |point| point.iozone.rate,
    fio: |point| point.fio.rate,
    factor: 1e-6,
    unit: "",
    lower_is_better: false,
    optional: &[Optional::Flushed, Optional::Fio, Optional::Total, Optional::Interval, Optional::Iozone],
};

const LATENCY: Answer<'static> = Answer {
    title: LATENCIES,
    measured: |point| point.latency,
    theory: |point| point.theory_latency.map(|theory| theory.value),
    efficiency: |point| point.latency_efficiency,
    iozone: |point| point.iozone.latency,
    fio: |point| point.fio.latency,
    factor: 1e3,
    unit: "ms",
    lower_is_better: true,
    optional: &[Optional::Fio, Optional::P99, Optional::Interval, Optional::Iozone],
};

const REQUESTS: Answer<'static> = Answer {
    title: IOPS,
    measured: |point| point.iops,
    theory: |point| point.theory_iops.map(|theory| theory.value),
    efficiency: |point| point.efficiency,
    iozone: |point| point.iozone.iops,
    fio: |point| point.fio.iops,
    factor: 1.0,
    unit: "",
    lower_is_better: false,
    optional: &[Optional::Fio, Optional::Total, Optional::Interval, Optional::Iozone],
};

/// The tables with what must be known to read them.
pub(super) fn paragraphs(table: &DiskTable, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let draw = Drawing { table, marks, style };
    let (rates, requests): (Vec<&DiskSeries>, Vec<&DiskSeries>) = (table.rates().collect(), table.requests().collect());
    let mut paragraphs = vec![draw.answer(&THROUGHPUT, &rates, &|dropped| rate_notes(table, dropped))];
    paragraphs.push(draw.visits(&rates));
    let latency = Answer { factor: latency_scale(&requests).0, unit: latency_scale(&requests).1, ..LATENCY };
    paragraphs.push(draw.answer(&latency, &requests, &|dropped| latency_notes(&requests, dropped)));
    paragraphs.push(draw.answer(&REQUESTS, &requests, &|dropped| iops_notes(table, dropped)));
    paragraphs
}

/// Latencies are told in milliseconds unless one of those past the page cache is below a tenth of it.
fn latency_scale(series: &[&DiskSeries]) -> (f64, &'static str) {
    let past = series.iter().filter(|series| series.cache == DiskCache::Bypassed);
    let medians = past.flat_map(|series| &series.points).filter_map(|point| point.latency);
    let least = medians.map(|figure| figure.median).fold(f64::INFINITY, f64::min);
    if least < 1e-4 { (1e6, "us") } else { (1e3, "ms") }
}

struct Drawing<'a> {
    table: &'a DiskTable,
    marks: Marks<'a>,
    style: &'a Style,
}

impl Drawing<'_> {
    fn title(&self, text: &str) -> Vec<String> {
        let lines = wrap(&self.style.clean(text), "", self.style.width);
        lines.iter().map(|line| self.style.paint(line, Tone::Strong)).collect()
    }

    /// A table of one answer with its notes; nothing where no series has it.
    fn answer(
        &self,
        answer: &Answer<'_>,
        series: &[&DiskSeries],
        notes: &dyn Fn(&[&str]) -> Vec<String>,
    ) -> Vec<String> {
        if series.is_empty() {
            return Vec::new();
        }
        let has_fio = series.iter().flat_map(|series| &series.points).any(|point| (answer.fio)(point).is_some());
        let can = |column: &Optional| answer.optional.contains(column) && (*column != Optional::Fio || has_fio);
        let all: Vec<Optional> = Optional::IN_ORDER.into_iter().filter(can).collect();
        let sets = (0..=all.len()).flat_map(|dropped| GAPS.map(|gap| (&all[dropped..], gap)));
        let fits = |(shown, gap): &(&[Optional], usize)| {
            table_width(&self.blocks(answer, series, shown), *gap) <= self.style.width
        };
        // Where nothing fits, the fewest columns are the least bad.
        let (shown, gap) = sets.into_iter().find(fits).unwrap_or((&[], 1));
        let dropped: Vec<&str> =
            all.iter().filter(|column| !shown.contains(column)).map(|column| column.words()).collect();
        let lines = separated(series, table(&self.blocks(answer, series, shown), gap, self.style));
        let place = self.table.place.as_ref().filter(|_| answer.title == RATES);
        let unit = if answer.unit.is_empty() { String::new() } else { format!(", in {}", answer.unit) };
        let place = place.map_or_else(String::new, |place| format!(": {place}"));
        let title = format!("{}{unit}{place}", answer.title);
        let notes: Vec<String> = notes(&dropped).into_iter().chain(left_out(&dropped)).collect();
        let notes = notes.iter().flat_map(|note| wrap(&self.style.clean(note), "  ", self.style.width));
        self.title(&title).into_iter().chain(lines).chain(notes).collect()
    }

    fn blocks(&self, answer: &Answer<'_>, series: &[&DiskSeries], shown: &[Optional]) -> Vec<Block> {
        let has = |column| shown.contains(&column);
        let column = |heading: &str, align, cell: &dyn Fn(&DiskPoint) -> Cell| {
            let points = series.iter().flat_map(|series| &series.points);
            let side = if align == Align::Right { Align::Right } else { Align::Left };
            Block::new(heading, side, vec![Column::new(align, points.map(cell))])
        };
        let figure = |value: Option<f64>| known(value.map(|value| whole(value * answer.factor)));
        let of_theory = |point: &DiskPoint, value: Option<f64>| {
            let (theory, value) = (answer.theory)(point).zip(value)?;
            Some(if answer.lower_is_better { theory / value } else { value / theory })
        };
        let mut all = labels(series, true);
        all.push(column("threads", Align::Right, &|point| Cell::plain(point.threads.to_string())));
        all.push(column("measured", Align::Decimal, &|point| match point.status {
            Status::Ok => figure((answer.measured)(point).map(|figure| figure.median)),
            _ => Cell::default(),
        }));
        if has(Optional::Interval) {
            let half = |point: &DiskPoint| known((answer.measured)(point).and_then(half).map(percent));
            all.push(column(self.style.plus_minus(), Align::Decimal, &half));
        }
        if has(Optional::P99) {
            all.push(column("p99", Align::Decimal, &|point| figure(point.p99)));
        }
        if has(Optional::Flushed) {
            all.push(column("flushed", Align::Decimal, &|point| figure(point.flushed)));
        }
        if has(Optional::Fio) {
            all.push(column("fio", Align::Decimal, &|point| figure((answer.fio)(point))));
        }
        if has(Optional::Iozone) {
            all.push(column("IOzone", Align::Decimal, &|point| figure((answer.iozone)(point))));
        }
        all.push(column("theory", Align::Decimal, &|point| figure((answer.theory)(point))));
        all.push(column("efficiency", Align::Decimal, &|point| share((answer.efficiency)(point))));
        if has(Optional::Iozone) {
            let theirs = |point: &DiskPoint| share(of_theory(point, (answer.iozone)(point)));
            all.push(column("IOzone eff.", Align::Decimal, &theirs));
        }
        let deviation = |point: &DiskPoint| figure((answer.measured)(point).and_then(|figure| figure.stddev));
        all.push(column("std dev", Align::Decimal, &deviation));
        if has(Optional::Total) {
            all.push(column("total in", Align::Right, &|point| known(point.total_seconds.map(seconds))));
        }
        all.push(column("", Align::Left, &|point| self.mark(point)));
        all
    }

    fn mark(&self, point: &DiskPoint) -> Cell {
        (self.marks)(&point.id).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
    }

    /// What one request takes, the threads side by side.
    fn visits(&self, series: &[&DiskSeries]) -> Vec<String> {
        let has_any = |series: &&&DiskSeries| series.points.iter().any(|point| point.latency.is_some());
        let series: Vec<&DiskSeries> = series.iter().filter(has_any).copied().collect();
        let mut counts: Vec<u32> = series.iter().flat_map(|series| &series.points).map(|point| point.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        if series.is_empty() {
            return Vec::new();
        }
        let column = |count: u32, interval: bool| {
            let points: Vec<Option<&DiskPoint>> =
                series.iter().map(|series| series.points.iter().find(|point| point.threads == count)).collect();
            let latency = |point: Option<&DiskPoint>| point.and_then(|point| point.latency);
            let value = points
                .iter()
                .copied()
                .map(|point| known(latency(point).map(|figure| quantity(figure.median, Unit::Second))));
            let spread = points.iter().copied().map(|point| {
                let half = latency(point).filter(|_| interval).and_then(half);
                let text = half.map(|half| format!("{}{}", self.style.plus_minus(), percent(half)));
                Cell::new(text.unwrap_or_default(), Tone::Dim)
            });
            let marked = points.iter().copied().map(|point| point.map_or_else(Cell::default, |point| self.mark(point)));
            let columns = vec![
                Column::new(Align::Decimal, value),
                Column::new(Align::Decimal, spread),
                Column::new(Align::Left, marked),
            ];
            Block::new(threads(count), Align::Left, columns)
        };
        let blocks = |interval: bool| {
            let mut blocks = labels(&series, false);
            blocks.extend(counts.iter().map(|count| column(*count, interval)));
            blocks
        };
        let choices = [true, false].into_iter().flat_map(|interval| GAPS.map(|gap| (blocks(interval), gap)));
        let mut fitting = choices.filter(|(blocks, gap)| table_width(blocks, *gap) <= self.style.width);
        let (blocks, gap) = fitting.next().unwrap_or_else(|| (blocks(false), 1));
        [self.title(VISITS), table(&blocks, gap, self.style)].concat()
    }
}

/// Half of the interval over the median.
pub(super) fn half(figure: Figure) -> Option<f64> {
    let [low, high] = figure.interval?;
    (figure.median != 0.0).then(|| (high - low).abs() / 2.0 / figure.median.abs())
}

/// A blank line before each workload but the first.
fn separated(series: &[&DiskSeries], lines: Vec<String>) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut separated: Vec<String> = lines.next().into_iter().collect();
    let mut before: Option<&DiskSeries> = None;
    for series in series {
        separated.extend(before.is_some_and(|before| before.workload != series.workload).then(String::new));
        separated.extend(lines.by_ref().take(series.points.len()));
        before = Some(series);
    }
    separated
}

/// What the page cache did; nothing where it was gone past.
pub(super) fn cache_of(series: &DiskSeries) -> &'static str {
    match series.cache {
        DiskCache::Bypassed => "",
        _ if series.is_below_sector() => "through",
        cache => cache_column(cache),
    }
}

/// Workload, block and page cache, each where it is another one than on the line above; for each point, or once a
/// series.
fn labels(series: &[&DiskSeries], each_point: bool) -> Vec<Block> {
    let (mut workloads, mut blocks, mut caches) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<&DiskSeries> = None;
    for one in series {
        let is_new = before.is_none_or(|before| before.workload != one.workload);
        let lines = if each_point { one.points.len() } else { 1 };
        for index in 0..lines {
            let first = |text: &str| if index == 0 { text.to_owned() } else { String::new() };
            workloads.push(Cell::plain(if is_new { first(&one.workload) } else { String::new() }).indented());
            blocks.push(Cell::plain(first(&block_words(one.block))));
            caches.push(Cell::plain(first(cache_of(one))));
        }
        before = Some(one);
    }
    vec![
        Block::new("", Align::Left, vec![Column::new(Align::Left, workloads)]),
        Block::new("block", Align::Left, vec![Column::new(Align::Left, blocks)]),
        Block::new("page cache", Align::Left, vec![Column::new(Align::Left, caches)]),
    ]
}

/// `RS 1 MiB with 2 threads`.
pub(super) fn line_words(series: &DiskSeries, point: &DiskPoint) -> String {
    format!("{} {} with {}", series.workload, block_words(series.block), threads(point.threads))
}

fn best_words(table: &DiskTable, of_requests: bool) -> [Option<String>; 2] {
    let best: Vec<String> =
        table.fastest(of_requests).iter().map(|(series, point)| line_words(series, point)).collect();
    let which = if of_requests { "the fewest threads" } else { "the smallest block and the fewest threads" };
    let fastest = (!best.is_empty())
        .then(|| format!("Fastest, {which} whose interval the others do not exceed: {}.", best.join("; ")));
    let highest = table.highest_efficiency(of_requests);
    let highest = highest.map(|(share, series, point)| {
        format!("Highest efficiency: {}, {}.", percent(share), line_words(series, point))
    });
    [fastest, highest]
}

pub(super) fn rate_notes(table: &DiskTable, dropped: &[&str]) -> Vec<String> {
    let [fastest, highest] = best_words(table, false);
    let points = || table.rates().flat_map(|series| &series.points);
    let has = |wanted: fn(&DiskSeries) -> bool| table.rates().any(wanted);
    let notes = [
        fastest,
        highest,
        table.total.map(|total| total_words(table, total)),
        Some(
            "RS and WS read and write in order, RR and WR at random; of RWS and RWR every other request is a write. \
             Measured: the median; std dev: of the samples; theory: of the drive or its \
             link, for as many bytes a request."
                .to_owned(),
        ),
        (!points().any(|point| point.theory_rate.is_some())).then(|| {
            "The drive's limits are not known here (-). If you know them: --declare disk.read_bps=7e9 \
             --declare disk.write_bps=5e9 --declare disk.read_iops=1e6 --declare disk.write_iops=5e5."
                .to_owned()
        }),
        has(|series| series.cache != DiskCache::Bypassed).then(|| cache_words(table)),
        (points().any(|point| point.flushed.is_some()) && shows(dropped, Optional::Flushed))
            .then(|| "Flushed: writes with the flush after each sample counted in; measured is without it.".to_owned()),
        tool_words(&points().collect::<Vec<_>>(), |point| point.fio.rate, dropped),
    ];
    notes.into_iter().flatten().collect()
}

pub(super) fn latency_notes(series: &[&DiskSeries], dropped: &[&str]) -> Vec<String> {
    let points: Vec<&DiskPoint> = series.iter().flat_map(|series| &series.points).collect();
    let past = series.iter().filter(|series| series.cache == DiskCache::Bypassed);
    let lines = past.flat_map(|series| series.points.iter().map(move |point| (*series, point)));
    let known = lines.filter_map(|(series, point)| Some((point.latency?, series, point)));
    // The first of equals has the fewest threads.
    let least = known.reduce(|best, other| if other.0.high() < best.0.low() { other } else { best });
    let notes = [
        least.map(|(figure, series, point)| {
            format!(
                "Shortest, the fewest threads that others do not undercut: {}, {}.",
                quantity(figure.median, Unit::Second),
                line_words(series, point)
            )
        }),
        Some(
            "Measured: the median of what one request takes as its thread sees it, never the time over all threads' \
             requests; theory: so many in flight over the most requests a second that the drive can answer."
                .to_owned(),
        ),
        tool_words(&points, |point| point.fio.latency, dropped),
    ];
    notes.into_iter().flatten().collect()
}

pub(super) fn iops_notes(table: &DiskTable, dropped: &[&str]) -> Vec<String> {
    let [fastest, highest] = best_words(table, true);
    let points = || table.requests().flat_map(|series| &series.points).filter(|point| point.total_seconds.is_some());
    let in_full = points().all(|point| point.in_full);
    let done = if in_full { "each sample did all of them" } else { "worked out from the rate" };
    let total = table.requests_total.filter(|_| points().count() > 0 && shows(dropped, Optional::Total));
    let total = total
        .map(|total| format!("Total in: the time for {} requests, divided among the threads; {done}.", power(total)));
    let all: Vec<&DiskPoint> = table.requests().flat_map(|series| &series.points).collect();
    let tools = tool_words(&all, |point| point.fio.iops, dropped);
    [fastest, highest, total, tools].into_iter().flatten().collect()
}

fn total_words(table: &DiskTable, total: f64) -> String {
    let points = || table.rates().flat_map(|series| &series.points).filter(|point| point.rate.is_some());
    let in_full = points().filter(|point| point.in_full).count();
    let done = if in_full > 0 && in_full == points().count() {
        "each sample moved all of them"
    } else if in_full > 0 {
        "some rows moved all of them in each sample, for the others the time is worked out"
    } else {
        "the time for them is worked out from the rate; --exact-workload moves them all"
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

fn shows(dropped: &[&str], column: Optional) -> bool {
    !dropped.contains(&column.words())
}

/// What stands in the columns of tools, as far as they are there.
fn tool_words(points: &[&DiskPoint], fio: fn(&DiskPoint) -> Option<f64>, dropped: &[&str]) -> Option<String> {
    let fio = shows(dropped, Optional::Fio) && points.iter().any(|point| fio(point).is_some());
    let iozone = points.iter().any(|point| point.iozone != ToolFigures::default());
    let told = |tool: &str| format!("{tool}: what it measured of the same, in turns with ours.");
    let own = fio.then(|| told("fio"));
    let other = shows(dropped, Optional::Iozone)
        .then(|| if iozone { told("IOzone") } else { format!("IOzone was not run ({ABSENT}).") });
    let parts: Vec<String> = [own, other].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}
