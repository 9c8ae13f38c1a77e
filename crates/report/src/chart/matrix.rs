//! Heat maps: rows and columns of numbered places, the colour stronger for larger values, the value in each cell.

use std::collections::BTreeSet;

use areas::chart::{Matrix, MatrixCell};
use model::number::{UnitScale, quantity};

use super::svg::{Anchor, Canvas, TEXT, cut, text_width};

const LARGEST: (f64, f64) = (64.0, 34.0);

pub(super) fn draw(matrix: &Matrix, width: f64) -> (Canvas, f64) {
    let side = |place: fn(&MatrixCell) -> u32| matrix.cells.iter().map(place).collect::<BTreeSet<u32>>();
    let (rows, columns) = (side(|cell| cell.from), side(|cell| cell.to));
    let texts = |side: &BTreeSet<u32>| side.iter().map(u32::to_string).collect::<Vec<_>>();
    let mut canvas = Canvas::of(width);
    let values: Vec<f64> = matrix.cells.iter().map(|cell| cell.mark.value).collect();
    let scale = UnitScale::common(&values, matrix.notation);
    let written = |value: f64| scale.map_or_else(|| quantity(value, matrix.notation), |scale| scale.digits(value));
    let left = rows.iter().map(|row| text_width(&row.to_string())).fold(0.0, f64::max) + 14.0;
    let [down, across] = matrix.sides;
    let unit = scale.map(UnitScale::unit).filter(|unit| !unit.is_empty());
    let above = unit.map_or_else(String::new, |unit| format!(", {unit}"));
    canvas.text("unit", (0.0, TEXT), Anchor::Start, &cut(&format!("{down} (down) {across} (across){above}"), width));
    let top = TEXT + 28.0;
    let room = (width - left - 4.0) / columns.len() as f64;
    let size = (room.min(LARGEST.0), room.min(LARGEST.1).max(4.0));
    canvas.sides([&texts(&rows), &texts(&columns)], (left, top), size);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let text = |cell: &MatrixCell| written(cell.mark.value) + if cell.mark.is_doubtful() { "*" } else { "" };
    let texts: Vec<String> = matrix.cells.iter().map(text).collect();
    let fits = texts.iter().all(|text| text_width(text) + 6.0 <= size.0) && size.1 >= TEXT + 4.0;
    for (cell, text) in matrix.cells.iter().zip(&texts) {
        let index = |side: &BTreeSet<u32>, place: u32| side.range(..place).count() as f64;
        let at = (left + index(&columns, cell.to) * size.0, top + index(&rows, cell.from) * size.1);
        let share = (cell.mark.value - least) / (most - least);
        canvas.cell(at, size, if share.is_finite() { share } else { 0.0 }, &cell.mark);
        if fits {
            canvas.text("name", (at.0 + size.0 / 2.0, at.1 + size.1 / 2.0 + 4.0), Anchor::Middle, text);
        }
    }
    let mut y = top + rows.len() as f64 * size.1 + 8.0;
    if !fits {
        canvas.ramp((left, y), [&written(least), &written(most)]);
        y += TEXT + 8.0;
    } else if matrix.cells.iter().any(|cell| cell.mark.is_doubtful()) {
        canvas.text("tick", (left, y + TEXT), Anchor::Start, "* low confidence");
        y += TEXT + 8.0;
    }
    (canvas, y + 4.0)
}
