//! The classic table of the CPU as a value.

use model::document::Status;
use model::experiment::Area;

use super::cells::{efficiency, grade, interval, measured};
use super::cpu::{CpuTable, Point, Series};
use super::text::notes;
use crate::grid::{Cell, Column, Grid, Line};
use model::number::giga;

const TITLE: &str = "The classic CPU table, in billions of operations a second (GigaOPS: GFLOP/s, GOP/s)";

/// The columns that the table always has.
const KEPT: [&str; 9] = [
    "Workload",
    "Concurrency",
    "Measured",
    "HPL measured",
    "Theoretical",
    "Efficiency",
    "HPL efficiency",
    "Standard deviation",
    "95 % interval",
];

/// The table.
pub(super) fn grid(table: &CpuTable) -> Grid {
    let columns = vec![
        Column::text("Workload"),
        Column::number("Concurrency"),
        Column::number("Measured").shown("GigaOPS"),
        Column::number("HPL measured"),
        Column::number("Theoretical"),
        Column::number("Vector theoretical"),
        Column::number("Efficiency").shown("%"),
        Column::number("HPL efficiency").shown("%"),
        Column::number("Standard deviation"),
        Column::text("95 % interval"),
        Column::text("Grade"),
    ];
    let mut grid = Grid::new("classic-cpu", Some(Area::Cpu), TITLE, columns);
    let points = table.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    grid.lines = points.map(|(series, point)| line(series, point)).collect();
    grid.notes = notes(table, false);
    grid.without_empty_columns(&KEPT)
}

fn line(series: &Series, point: &Point) -> Line {
    let rate = |value: Option<f64>| Cell::figure(value, giga);
    let cells = vec![
        Cell::text(series.name()),
        Cell::count(point.threads),
        measured(point.status, rate(point.measured)),
        rate(point.hpl.map(|hpl| hpl.value)),
        rate(point.theory.map(|theory| theory.value)),
        rate(point.vector_theory),
        efficiency(point.efficiency),
        efficiency(point.hpl.and_then(|hpl| hpl.efficiency)),
        rate(point.stddev),
        interval(point.interval.filter(|_| point.status == Status::Ok), giga),
        grade(point.grade),
    ];
    Line { id: Some(point.id.clone()), cells, grade: point.grade }
}
