//! The limits of an area's rows, each with its arithmetic.

use model::document::{Row, Status};
use model::experiment::Area;
use model::peak::{Peak, PeakInput};
use model::unit::Unit;

use crate::terminal::kind_words;
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::{Label, area_title};
use model::number::{Notation, quantity};

/// A limit, the first row that has it, and how many do.
struct Limit<'a> {
    first: &'a Row,
    unit: Unit,
    peak: &'a Peak,
    rows: u64,
}

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
    grid.lines = limits(rows).into_iter().map(|limit| line(&limit)).collect();
    grid.without_empty_columns(&[])
}

fn limits<'a>(rows: &[&'a Row]) -> Vec<Limit<'a>> {
    let mut limits: Vec<Limit<'a>> = Vec::new();
    for row in rows.iter().filter(|row| row.status == Status::Ok) {
        let Some(metric) = row.metrics.first() else { continue };
        for peak in &metric.peaks {
            let same = |limit: &&mut Limit<'_>| {
                (limit.unit, limit.peak.kind, limit.peak.value.to_bits(), &limit.peak.formula)
                    == (metric.unit, peak.kind, peak.value.to_bits(), &peak.formula)
            };
            match limits.iter_mut().find(same) {
                Some(limit) => limit.rows += 1,
                None => limits.push(Limit { first: row, unit: metric.unit, peak, rows: 1 }),
            }
        }
    }
    limits
}

fn line(limit: &Limit<'_>) -> GridLine {
    let Limit { first, unit, peak, rows } = limit;
    let notation = Notation::of(first.area, *unit);
    let inputs = peak.inputs.iter().map(input_words).collect::<Vec<_>>().join("; ");
    let cells = vec![
        Cell::text(Label::sentence(first)),
        Cell::text(kind_words(peak.kind)),
        Cell::number(Some(peak.value), |value| quantity(value, notation)),
        Cell::text(peak.formula.clone()),
        Cell::text(inputs),
        Cell::share(peak.uncertainty),
        Cell::count(*rows),
    ];
    GridLine { id: (*rows == 1).then(|| first.id.clone()), cells, confidence: None }
}

/// `flop/cycle = 32 (table: AMD Zen 5, 2 x 512-bit FMA)`.
fn input_words(input: &PeakInput) -> String {
    // Clocks and rates are not known to less than a unit.
    let value = if (1e6..1e15).contains(&input.value.abs()) { input.value.round() } else { input.value };
    format!("{} = {value} ({})", input.name, input.source)
}
