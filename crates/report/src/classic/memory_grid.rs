//! The classic tables of memory as values: rates, and what a visit of a block or an access takes.

use model::experiment::Area;
use model::isa::MemoryOp;
use model::unit::Unit;

use super::cells::{efficiency, grade, interval, measured};
use super::memory::{MemoryPoint, MemorySeries, MemoryTable};
use super::memory_text::{access_words, block_of, notes};
use crate::grid::{ABSENT, Cell, Column, Grid, Line};
use model::number::{giga, percent, quantity};

/// The columns that both tables always have.
const KEPT: [&str; 11] = [
    "Workload",
    "Concurrency",
    "Block size",
    THROUGHPUT,
    LATENCY,
    "pmbw/STREAM measured",
    "Theoretical",
    "Efficiency",
    "pmbw/STREAM efficiency",
    "Standard deviation",
    "95 % interval",
];

/// The headings of what was measured.
const THROUGHPUT: &str = "Measured throughput";
const LATENCY: &str = "Measured latency";

/// The table of rates, and that of latency.
pub(super) fn grids(table: &MemoryTable) -> Vec<Grid> {
    vec![rates(table), latencies(table)]
}

fn columns(measured: &str, figure: impl Fn(&str) -> Column) -> Vec<Column> {
    vec![
        Column::text("Workload"),
        Column::number("Concurrency"),
        Column::text("Block size"),
        figure(measured),
        figure("pmbw/STREAM measured"),
        Column::text("Reference"),
        figure("Theoretical"),
        Column::number("Efficiency").shown("%").base(Unit::One),
        Column::number("pmbw/STREAM efficiency").shown("%").base(Unit::One),
        figure("Standard deviation"),
        Column::text("95 % interval"),
        Column::text("Grade"),
    ]
}

fn rates(table: &MemoryTable) -> Grid {
    let columns = columns(THROUGHPUT, |heading| Column::number(heading).shown("GB/s").base(Unit::BytePerSecond));
    let title = "The classic memory table, in 10^9 bytes a second (GB/s)";
    let mut grid = Grid::new("classic-memory-throughput", Some(Area::Memory), title, columns);
    grid.lines = table.rates().flat_map(|series| series.points.iter().map(|point| rate_line(series, point))).collect();
    grid.notes = notes(table, false);
    if !table.rates().flat_map(|series| &series.points).any(|point| point.theory.is_some()) {
        let declaration = "--declare memory.channels=12 --declare memory.mts=6000";
        grid.notes.push(format!("The memory's limit is not known here ({ABSENT}). If you know it: {declaration}."));
    }
    grid.without_empty_columns(&KEPT)
}

fn rate_line(series: &MemorySeries, point: &MemoryPoint) -> Line {
    let rate = |value: Option<f64>| Cell::figure(value, giga);
    let figure = point.rate;
    let cells = vec![
        Cell::text(series.workload.clone()),
        Cell::count(point.threads),
        Cell::text(block_of(series)),
        measured(point.status, rate(figure.map(|figure| figure.median))),
        rate(point.tool.map(|tool| tool.value)),
        Cell::text(point.tool.map_or("", |tool| tool.tool)),
        rate(point.theory.map(|theory| theory.value)),
        efficiency(point.efficiency),
        efficiency(point.tool.and_then(|tool| tool.efficiency)),
        rate(figure.and_then(|figure| figure.stddev)),
        interval(figure.and_then(|figure| figure.interval), giga),
        grade(point.grade),
    ];
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}

fn latencies(table: &MemoryTable) -> Grid {
    let columns = columns(LATENCY, |heading| Column::number(heading).base(Unit::Second));
    let title = "The classic memory table of latency: what one thread takes for one block, or for one access";
    let mut grid = Grid::new("classic-memory-latency", Some(Area::Memory), title, columns);
    let visits = table.rates().filter(|series| series.block.is_some());
    let visits = visits.flat_map(|series| series.points.iter().map(move |point| visit_line(series, point)));
    let accesses = table.accesses().flat_map(|series| series.points.iter().map(|point| access_line(series.op, point)));
    grid.lines = visits.chain(accesses).collect();
    let told = table.accesses().map(|series| series.op);
    let mut ops: Vec<MemoryOp> = Vec::new();
    for op in told {
        if !ops.contains(&op) {
            ops.push(op);
        }
    }
    grid.notes = shortest(table).into_iter().chain(highest(table)).collect();
    grid.notes.extend(ops.into_iter().map(access_words).map(|(name, meaning)| format!("{name}: {meaning}.")));
    grid.notes.push("No reference tool tells the time of a block or of an access.".to_owned());
    grid.without_empty_columns(&KEPT)
}

fn visit_line(series: &MemorySeries, point: &MemoryPoint) -> Line {
    let time = |value: Option<f64>| Cell::seconds(value);
    let figure = point.latency;
    let cells = vec![
        Cell::text(series.workload.clone()),
        Cell::count(point.threads),
        Cell::text(block_of(series)),
        measured(point.status, time(figure.map(|figure| figure.median))),
        Cell::absent(),
        Cell::absent(),
        Cell::absent(),
        Cell::absent(),
        Cell::absent(),
        time(figure.and_then(|figure| figure.stddev)),
        interval(figure.and_then(|figure| figure.interval), seconds),
        grade(point.grade),
    ];
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}

fn access_line(op: MemoryOp, point: &MemoryPoint) -> Line {
    let time = |value: Option<f64>| Cell::seconds(value);
    let figure = point.access;
    let cells = vec![
        Cell::text(access_words(op).0),
        Cell::count(point.threads),
        Cell::absent(),
        measured(point.status, time(figure.map(|figure| figure.median))),
        Cell::absent(),
        Cell::absent(),
        time(point.theory_access.map(|theory| theory.value)),
        efficiency(point.access_efficiency),
        Cell::absent(),
        time(figure.and_then(|figure| figure.stddev)),
        interval(figure.and_then(|figure| figure.interval), seconds),
        grade(point.grade),
    ];
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}

fn seconds(value: f64) -> String {
    quantity(value, Unit::Second)
}

/// The highest share of the least time of an access, where that is known.
fn highest(table: &MemoryTable) -> Option<String> {
    let points = table.accesses().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let known = points.filter_map(|(series, point)| Some((point.access_efficiency?, series, point)));
    let (share, series, point) = known.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    let words = crate::label::threads(point.threads);
    Some(format!("Highest efficiency: {}, {} with {words}.", percent(share), access_words(series.op).0))
}

/// The access that takes least, of those that wait for memory one by one.
fn shortest(table: &MemoryTable) -> Option<String> {
    let chases = table.accesses().filter(|series| series.op == MemoryOp::Load).flat_map(|series| &series.points);
    let known = chases.filter_map(|point| Some((point.access?, point.threads)));
    // The first of equals has the fewest threads.
    let (figure, threads) = known.reduce(|best, other| if other.0.high() < best.0.low() { other } else { best })?;
    let words = crate::label::threads(threads);
    Some(format!(
        "Shortest idle latency, the fewest threads that others do not undercut: {}, {words}.",
        seconds(figure.median)
    ))
}
