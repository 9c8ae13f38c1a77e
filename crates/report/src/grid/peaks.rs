//! The limits of an area's rows, each with its arithmetic.

use model::document::{Row, Status};
use model::experiment::Area;
use model::peak::{Peak, PeakInput};
use model::unit::Unit;

use super::groups::grouped;
use super::table::{ColumnOf, table};
use crate::reason::kind_words;
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::{Label, area_title};
use model::number::{Notation, quantity};

/// Benchmarks that have a limit by the same arithmetic, with its unit.
type Alike<'a> = Vec<(&'a Row, Unit, &'a Peak)>;

/// Each limit of the headlines, once for all rows that have it by the same arithmetic.
pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
    let value = |unit: Unit, peak: &Peak| Cell::number(Some(peak.value), |it| quantity(it, Notation::of(area, unit)));
    let inputs = |peak: &Peak| peak.inputs.iter().map(input_words).collect::<Vec<_>>().join("; ");
    let columns: [ColumnOf<'_, Alike<'_>>; 7] = [
        (Column::text("Of"), &|alike| Cell::text(Label::sentence(alike[0].0))),
        (Column::text("Rests on"), &|alike| Cell::text(kind_words(alike[0].2.kind))),
        (Column::number("Peak"), &|alike| value(alike[0].1, alike[0].2)),
        (Column::text("Arithmetic"), &|alike| Cell::text(alike[0].2.formula.clone())),
        (Column::text("Inputs"), &|alike| Cell::text(inputs(alike[0].2))),
        (Column::number("Uncertainty").base(Unit::One), &|alike| Cell::share(alike[0].2.uncertainty)),
        (Column::number("Rows"), &|alike| Cell::count(alike.len() as u64)),
    ];
    let measured = rows.iter().filter(|row| row.status == Status::Ok);
    let metrics = measured.filter_map(|row| Some((*row, row.metrics.first()?)));
    let peaks = metrics.flat_map(|(row, metric)| metric.peaks.iter().map(move |peak| (row, metric.unit, peak)));
    let limits = grouped(peaks, |(_, unit, peak)| Some((*unit, peak.kind, peak.value.to_bits(), &peak.formula)));
    let limits = limits.into_iter().map(|(_, alike)| alike);
    let line = |alike: &Alike<'_>, cells| GridLine {
        id: (alike.len() == 1).then(|| alike[0].0.id.clone()),
        ..GridLine::plain(cells)
    };
    let title = format!("{}: the peaks and their formulas", area_title(area));
    table((format!("{area}-peaks"), Some(area), title), columns, limits, line).without_empty_columns(&[])
}

/// `flop/cycle = 32 (table: AMD Zen 5, 2 x 512-bit FMA)`.
fn input_words(input: &PeakInput) -> String {
    // Clocks and rates are not known to less than a unit.
    let value = if (1e6..1e15).contains(&input.value.abs()) { input.value.round() } else { input.value };
    format!("{} = {value} ({})", input.name, input.source)
}
