//! The classic tables of LINPACK as values: for each number of threads the trials, and the sizes.

use model::document::Status;
use model::experiment::Area;
use model::unit::Unit;

use super::cells::grade;
use super::linpack::{LinpackSeries, LinpackSize, LinpackTable, Trial};
use super::linpack_text::{READING, check, missing, scientific};
use crate::grid::{Cell, Column, Grid, Line};
use crate::label::threads;
use model::number::{giga, whole};

/// Bytes of the unit that alignments are told in.
const KIB: f64 = 1024.0;

/// The tables, the fewest threads first.
pub(super) fn grids(table: &LinpackTable) -> Vec<Grid> {
    table.series.iter().flat_map(|series| [trials(series), sizes(series)]).collect()
}

fn grid(name: &str, title: &str, series: &LinpackSeries, columns: Vec<Column>) -> Grid {
    let name = format!("classic-linpack-{name}-t{}", series.threads);
    Grid::new(name, Some(Area::Linpack), format!("{title}, {}", threads(series.threads)), columns)
}

/// A line for each trial.
fn trials(series: &LinpackSeries) -> Grid {
    let columns = vec![
        Column::number("Size"),
        Column::number("LDA"),
        Column::number("Align").shown("KiB"),
        Column::number("Time").shown("s").base(Unit::Second),
        Column::number("GFlops").base(Unit::FlopPerSecond),
        Column::number("Residual").base(Unit::One),
        Column::number("Residual(norm)").base(Unit::One),
        Column::text("Check"),
        Column::text("Grade"),
    ];
    let mut grid = grid("trials", "The classic LINPACK table", series, columns);
    let each = series.sizes.iter().flat_map(|size| size.trials.iter().map(move |trial| (size, trial)));
    grid.lines = each.map(|(size, trial)| line(size, trial)).collect();
    grid.notes = fastest(series).into_iter().chain([READING.to_owned()]).chain(absent(series)).collect();
    grid
}

fn line(size: &LinpackSize, trial: &Trial) -> Line {
    let residual = |value: Option<f64>| Cell::figure(value, scientific);
    let cells = vec![
        Cell::count(size.n),
        Cell::count(size.lda),
        align(size),
        Cell::figure(Some(trial.seconds), whole),
        Cell::figure(Some(trial.rate), giga),
        residual(trial.residual),
        residual(trial.scaled),
        Cell::text(trial.passes.map(check).unwrap_or_default()),
        grade(size.grade),
    ];
    Line { id: Some(size.id.clone()), cells, grade: size.grade }
}

fn align(size: &LinpackSize) -> Cell {
    Cell::figure(Some(size.align as f64), |bytes| whole(bytes / KIB))
}

/// A line for each size that has a trial.
fn sizes(series: &LinpackSeries) -> Grid {
    let rate = |heading: &str| Column::number(heading).shown("GFlops").base(Unit::FlopPerSecond);
    let columns = vec![Column::number("Size"), rate("Average"), rate("Maximal")];
    let mut grid = grid("sizes", "LINPACK performance", series, columns);
    let line = |size: &LinpackSize| {
        let cells = [size.average, size.maximal].map(|value| Cell::figure(value, giga));
        let cells = [Cell::count(size.n)].into_iter().chain(cells).collect();
        Line { id: Some(size.id.clone()), cells, grade: size.grade }
    };
    grid.lines = series.solved().map(line).collect();
    grid
}

/// The trial with the highest rate.
fn fastest(series: &LinpackSeries) -> Option<String> {
    let known = series.sizes.iter().filter_map(|size| Some((size, size.maximal?)));
    let (size, rate) = known.reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    Some(format!("Fastest: {} GFlops at N = {}.", giga(rate), size.n))
}

/// The sizes without a trial, by what became of them.
fn absent(series: &LinpackSeries) -> impl Iterator<Item = String> {
    [Status::Failed, Status::Skipped].into_iter().filter_map(|status| missing(series, status))
}
