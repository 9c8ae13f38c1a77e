//! Every table of a document as a value.

pub(crate) mod groups;
mod measured;
pub(crate) mod tables;

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
            tables::loads(area, &rows),
            tables::references(area, &rows),
            tables::peaks(area, &rows),
        ];
        classic::grids(area, document).into_iter().chain(own).collect::<Vec<_>>()
    };
    let all = groups::by_area(document).flat_map(of_area).chain([tables::warnings(document)]);
    all.filter(|grid| !grid.lines.is_empty()).collect()
}

/// The table of this name.
pub fn grid(document: &Document, name: &str) -> Option<Grid> {
    grids(document).into_iter().find(|grid| grid.name == name)
}
