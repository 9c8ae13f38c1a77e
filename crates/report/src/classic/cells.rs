//! What the classic tables have in common as values.

use model::document::Status;
use model::warning::Grade;

use crate::grid::Cell;

/// The figure of a row; what became of it where it has none.
pub(super) fn measured(status: Status, figure: Cell) -> Cell {
    if status == Status::Ok { figure } else { Cell::text(status.name()) }
}

/// A share under a heading that says `%`: `99.3`.
pub(super) fn efficiency(value: Option<f64>) -> Cell {
    Cell::figure(value, |value| model::number::percent(value).trim_end_matches(" %").to_owned())
}

/// Both ends of an interval, as `words` has figures.
pub(super) fn interval(ends: Option<[f64; 2]>, words: impl Fn(f64) -> String) -> Cell {
    let finite = ends.filter(|ends| ends.iter().all(|end| end.is_finite()));
    finite.map_or_else(Cell::absent, |[low, high]| Cell::text(format!("{} to {}", words(low), words(high))))
}

/// A grade as a word.
pub(super) fn grade(grade: Option<Grade>) -> Cell {
    grade.map_or_else(Cell::absent, |grade| Cell::text(grade.name()))
}
