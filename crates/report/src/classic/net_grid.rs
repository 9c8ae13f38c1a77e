//! The classic tables of networks as values: throughput, latency, and transfers there and back.

use model::experiment::Area;
use model::unit::Unit;

use super::cells::{efficiency, grade, interval, measured};
use super::memory::Figure;
use super::net::{NetKind, NetPoint, NetSeries, NetTable};
use super::net_text::{Optional, latency_notes, rate_notes};
use crate::grid::{Cell, Column, Grid, Line};
use crate::label::block_words;
use model::number::whole;

/// What a table is about: a figure of each point, its theory, and what a tool measured of it.
struct Answer {
    kind: NetKind,
    name: &'static str,
    title: &'static str,
    /// The headings of the block, of what was measured, and of the theory.
    headings: [&'static str; 3],
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

/// The tool of a table.
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
    headings: ["Block size", "Measured", "Theoretical"],
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
    headings: ["Message size", "Measured latency", "Theoretical latency"],
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

/// The three tables.
pub(super) fn grids(table: &NetTable) -> Vec<Grid> {
    // The notes do not speak of columns that these tables do not have.
    let without = [Optional::Total, Optional::Loss, Optional::P99, Optional::Sockperf].map(Optional::words);
    vec![
        grid(&THROUGHPUT, table, rate_notes(table, &without)),
        grid(&LATENCY, table, latency_notes(table, &without)),
        grid(&TRANSFERS, table, Vec::new()),
    ]
}

fn grid(answer: &Answer, table: &NetTable, notes: Vec<String>) -> Grid {
    let place = table.place.as_ref().map_or_else(String::new, |place| format!("; {place}"));
    let title = format!("{}{place}", answer.title);
    let mut grid = Grid::new(format!("classic-net-{}", answer.name), Some(Area::Net), title, columns(answer));
    let lines = table.of_kind(answer.kind).flat_map(|series| series.points.iter().map(move |point| (series, point)));
    grid.lines = lines.map(|(series, point)| line(answer, series, point)).collect();
    grid.notes = notes;
    // Which iperf it was, of transfers how long, and what was lost.
    let optional = ["Reference", "There and back", "Lost", "95 % interval", "Grade"];
    let kept: Vec<String> = grid.columns.iter().map(|column| column.heading.clone()).collect();
    let kept: Vec<&str> = kept.iter().map(String::as_str).filter(|heading| !optional.contains(heading)).collect();
    grid.without_empty_columns(&kept)
}

fn columns(answer: &Answer) -> Vec<Column> {
    let figure = |heading: &str| Column::number(heading).shown(answer.unit).base(answer.base);
    let share = |heading: &str| Column::number(heading).shown("%").base(Unit::One);
    let [block, measured, theory] = answer.headings;
    let mut columns =
        vec![Column::text("Protocol"), Column::number("Concurrency"), Column::text(block), figure(measured)];
    if let Some(tool) = answer.tool {
        columns.extend([figure(&format!("{} measured", tool.name)), Column::text("Reference")]);
    }
    columns.extend([figure(theory), share("Efficiency")]);
    columns.extend(answer.tool.map(|tool| share(&format!("{} efficiency", tool.name))));
    columns.extend([figure("Standard deviation"), Column::text("95 % interval")]);
    if answer.kind == NetKind::Transfer {
        columns.push(Column::number("There and back").base(Unit::Second));
    }
    columns.extend([share("Lost"), Column::text("Grade")]);
    columns
}

fn line(answer: &Answer, series: &NetSeries, point: &NetPoint) -> Line {
    let words = |value: f64| whole(value * answer.factor);
    let told = |value: Option<f64>| Cell::figure(value, words);
    let figure = (answer.measured)(point);
    let theory = (answer.theory)(point);
    let mut cells = vec![
        Cell::text(series.protocol.name().to_uppercase()),
        Cell::count(point.threads),
        Cell::text(block_words(series.block)),
        measured(point.status, told(figure.map(|figure| figure.median))),
    ];
    let theirs = answer.tool.and_then(|tool| (tool.figure)(point));
    if let Some(tool) = answer.tool {
        cells.extend([told(theirs), Cell::text((tool.id)(point).unwrap_or_default())]);
    }
    cells.extend([told(theory), efficiency(point.efficiency)]);
    if answer.tool.is_some() {
        let share = theory.zip(theirs);
        cells.push(efficiency(share.map(
            |(theory, theirs)| {
                if answer.lower_is_better { theory / theirs } else { theirs / theory }
            },
        )));
    }
    cells.extend([
        told(figure.and_then(|figure| figure.stddev)),
        interval(figure.and_then(|figure| figure.interval), words),
    ]);
    if answer.kind == NetKind::Transfer {
        cells.push(Cell::seconds(point.latency.map(|took| took.median)));
    }
    cells.extend([efficiency(point.loss), grade(point.grade)]);
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}
