//! The classic tables of disks as values: throughput, latency and IOPS.

use model::experiment::Area;
use model::io::DiskCache;
use model::unit::Unit;

use super::cells::{efficiency, grade, interval, measured};
use super::disk::{DiskPoint, DiskSeries, DiskTable, ToolFigures};
use super::disk_text::{Optional, cache_of, iops_notes, latency_notes, line_words, rate_notes};
use super::memory::Figure;
use crate::grid::{Cell, Column, Grid, Line};
use crate::label::block_words;
use model::number::{percent, whole};

/// The columns that every table always has.
const KEPT: [&str; 11] = [
    "Workload",
    "Concurrency",
    "Block size",
    "Measured",
    "Measured throughput",
    "IOzone",
    "Theoretical",
    "Efficiency",
    "IOzone efficiency",
    "Standard deviation",
    "95 % interval",
];

/// The columns of the terminal that these tables do not have: the notes do not speak of them.
const WITHOUT: [Optional; 3] = [Optional::Flushed, Optional::Total, Optional::P99];

/// What a table is about: a figure of each point, its theory, and what the tools measured of it.
struct Answer {
    name: &'static str,
    /// The heading of what was measured.
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
};

/// The three tables. Latency is that of small and of large blocks.
pub(super) fn grids(table: &DiskTable) -> Vec<Grid> {
    let (rates, requests): (Vec<&DiskSeries>, Vec<&DiskSeries>) = (table.rates().collect(), table.requests().collect());
    let without = WITHOUT.map(Optional::words);
    let all: Vec<&DiskSeries> = requests.iter().chain(&rates).copied().collect();
    let mut throughput = grid(&THROUGHPUT, &rates, rate_notes(table, &without));
    if let Some(place) = &table.place {
        throughput.title = format!("{}: {place}", throughput.title);
    }
    vec![
        throughput,
        grid(&LATENCY, &all, highest(&all).into_iter().chain(latency_notes(&requests, &without)).collect()),
        grid(&IOPS, &requests, iops_notes(table, &without)),
    ]
}

/// The highest share of the least latency, of what goes past the page cache.
fn highest(series: &[&DiskSeries]) -> Option<String> {
    let past = series.iter().filter(|series| series.cache == DiskCache::Bypassed);
    let lines = past.flat_map(|series| series.points.iter().map(move |point| (*series, point)));
    let known = lines.filter_map(|(series, point)| Some((point.latency_efficiency?, series, point)));
    let (share, series, point) = known.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    Some(format!("Highest efficiency: {}, {}.", percent(share), line_words(series, point)))
}

fn grid(answer: &Answer, series: &[&DiskSeries], notes: Vec<String>) -> Grid {
    let figure = |heading: &str| Column::number(heading).shown(answer.unit).base(answer.base);
    let share = |heading: &str| Column::number(heading).shown("%").base(Unit::One);
    let columns = vec![
        Column::text("Workload"),
        Column::number("Concurrency"),
        Column::text("Block size"),
        Column::text("Page cache"),
        figure(answer.heading),
        figure("IOzone"),
        figure("fio"),
        figure("Theoretical"),
        share("Efficiency"),
        share("IOzone efficiency"),
        share("fio efficiency"),
        figure("Standard deviation"),
        Column::text("95 % interval"),
        Column::text("Grade"),
    ];
    let mut grid = Grid::new(format!("classic-disk-{}", answer.name), Some(Area::Disk), answer.title, columns);
    grid.lines =
        series.iter().flat_map(|series| series.points.iter().map(|point| line(answer, series, point))).collect();
    grid.notes = notes;
    grid.without_empty_columns(&KEPT)
}

/// A figure without an exponent where it has no more than nanoseconds' worth of digits: a column of milliseconds is read
/// from top to bottom.
fn plain(value: f64) -> String {
    if (1e-6..1e-3).contains(&value.abs()) { format!("{value:.6}") } else { whole(value) }
}

fn line(answer: &Answer, series: &DiskSeries, point: &DiskPoint) -> Line {
    let words = |value: f64| plain(value * answer.factor);
    let told = |value: Option<f64>| Cell::figure(value, words);
    let theory = (answer.theory)(point);
    let of_theory = |tool: &ToolFigures| {
        let (theory, value) = theory.zip((answer.tool)(tool))?;
        Some(if answer.lower_is_better { theory / value } else { value / theory })
    };
    let figure = (answer.measured)(point);
    let cells = vec![
        Cell::text(series.workload.clone()),
        Cell::count(point.threads),
        Cell::text(block_words(series.block)),
        Cell::text(if series.cache == DiskCache::Bypassed { "" } else { cache_of(series) }),
        measured(point.status, told(figure.map(|figure| figure.median))),
        told((answer.tool)(&point.iozone)),
        told((answer.tool)(&point.fio)),
        told(theory),
        efficiency((answer.efficiency)(point)),
        efficiency(of_theory(&point.iozone)),
        efficiency(of_theory(&point.fio)),
        told(figure.and_then(|figure| figure.stddev)),
        interval(figure.and_then(|figure| figure.interval), words),
        grade(point.grade),
    ];
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}
