//! A table over items of a kind: each heading next to the cell that it is of.

use model::experiment::Area;

use areas::chart::grid::{Cell, Column, Grid, GridLine};

/// A column of a table over items of a kind, and its cell for an item.
pub(super) type ColumnOf<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

/// A table whose lines are those of these items; `line` makes one of an item and its cells.
pub(super) fn table<T, const N: usize>(
    (name, area, title): (String, Option<Area>, String),
    columns: [ColumnOf<'_, T>; N],
    items: impl IntoIterator<Item = T>,
    line: impl Fn(&T, Vec<Cell>) -> GridLine,
) -> Grid {
    let cells = |item: T| line(&item, columns.iter().map(|(_, cell)| cell(&item)).collect());
    let lines = items.into_iter().map(cells).collect();
    Grid { lines, ..Grid::new(name, area, title, columns.map(|(column, _)| column).into()) }
}
