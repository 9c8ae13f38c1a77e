//! The limits of an area's rows, each with its arithmetic.

use model::document::{Row, Status};
use model::experiment::Area;
use model::peak::{Peak, PeakInput};
use model::unit::Unit;

use super::groups::grouped;
use crate::reason::kind_words;
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::{Label, area_title};
use model::number::{Notation, quantity};

/// Each limit of the headlines, once for all rows that have it by the same arithmetic.
pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
    let columns = vec![
        Column::text("Of"),
        Column::text("Rests on"),
        Column::number("Peak"),
        Column::text("Arithmetic"),
        Column::text("Inputs"),
        Column::number("Uncertainty").base(Unit::One),
        Column::number("Rows"),
    ];
    let title = format!("{}: the peaks and their formulas", area_title(area));
    let mut grid = Grid::new(format!("{area}-peaks"), Some(area), title, columns);
    let measured = rows.iter().filter(|row| row.status == Status::Ok);
    let metrics = measured.filter_map(|row| Some((*row, row.metrics.first()?)));
    let peaks = metrics.flat_map(|(row, metric)| metric.peaks.iter().map(move |peak| (row, metric.unit, peak)));
    let limits = grouped(peaks, |(_, unit, peak)| Some((*unit, peak.kind, peak.value.to_bits(), &peak.formula)));
    let line = |(_, alike): (_, Vec<(&Row, Unit, &Peak)>)| {
        let (first, unit, peak) = alike[0];
        let cells = vec![
            Cell::text(Label::sentence(first)),
            Cell::text(kind_words(peak.kind)),
            Cell::number(Some(peak.value), |value| quantity(value, Notation::of(area, unit))),
            Cell::text(peak.formula.clone()),
            Cell::text(peak.inputs.iter().map(input_words).collect::<Vec<_>>().join("; ")),
            Cell::share(peak.uncertainty),
            Cell::count(alike.len() as u64),
        ];
        GridLine { id: (alike.len() == 1).then(|| first.id.clone()), cells, confidence: None }
    };
    grid.lines = limits.into_iter().map(line).collect();
    grid.without_empty_columns(&[])
}

/// `flop/cycle = 32 (table: AMD Zen 5, 2 x 512-bit FMA)`.
fn input_words(input: &PeakInput) -> String {
    // Clocks and rates are not known to less than a unit.
    let value = if (1e6..1e15).contains(&input.value.abs()) { input.value.round() } else { input.value };
    format!("{} = {value} ({})", input.name, input.source)
}
