//! Every table of a document as a value.

pub(crate) mod groups;
mod loads;
mod measured;
mod peaks;
pub(crate) mod references;
mod warnings;

use model::document::{Document, Row};
use model::experiment::Area;

use crate::classic;

pub use areas::chart::grid::{ABSENT, Cell, Column, Grid, GridLine};

/// Every table of a document that has lines, in reading order: `classic-…`, `AREA-measured`, `AREA-not-measured`, `disk-loads`,
/// `AREA-references` and `AREA-peaks` for each area, then `warnings`.
pub fn grids(document: &Document) -> Vec<Grid> {
    let of_area = |(area, rows): (Area, Vec<&Row>)| {
        let own = [
            measured::measured(area, &rows, document),
            measured::not_measured(area, &rows),
            loads::grid(area, &rows),
            references::grid(area, &rows),
            peaks::grid(area, &rows),
        ];
        classic::grids(area, document).into_iter().chain(own).collect::<Vec<_>>()
    };
    let all = groups::by_area(document).flat_map(of_area).chain([warnings::grid(document)]);
    all.filter(|grid| !grid.lines.is_empty()).collect()
}

/// A column of a table over items of a kind, and its cell for an item.
type ColumnOf<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

/// A table whose lines are those of these items; `line` makes one of an item and its cells.
fn table<T, const N: usize>(
    (name, area, title): (String, Option<Area>, String),
    columns: [ColumnOf<'_, T>; N],
    items: impl IntoIterator<Item = T>,
    line: impl Fn(&T, Vec<Cell>) -> GridLine,
) -> Grid {
    let cells = |item: T| line(&item, columns.iter().map(|(_, cell)| cell(&item)).collect());
    let lines = items.into_iter().map(cells).collect();
    Grid { lines, ..Grid::new(name, area, title, columns.map(|(column, _)| column).into()) }
}

/// The table of this name.
pub fn grid(document: &Document, name: &str) -> Option<Grid> {
    grids(document).into_iter().find(|grid| grid.name == name)
}
