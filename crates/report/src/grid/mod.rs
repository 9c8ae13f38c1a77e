//! Every table of a document as a value.

pub(crate) mod groups;
mod loads;
mod measured;
mod peaks;
pub(crate) mod references;
mod table;
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

/// The table of this name.
pub fn grid(document: &Document, name: &str) -> Option<Grid> {
    grids(document).into_iter().find(|grid| grid.name == name)
}
