//! Which benchmarks are read together in a terminal.

use model::document::{Document, Row};
use model::experiment::Area;

use super::areas::{disk, linpack, memory, net};
use crate::grid::groups::{Group, by_area, groups};
use areas::label::{Axis, Common};

pub(super) fn sections(document: &Document) -> Vec<Section<'_>> {
    by_area(document).map(|(area, rows)| section(area, rows, document)).collect()
}

fn section<'a>(area: Area, rows: Vec<&'a Row>, document: &Document) -> Section<'a> {
    let (classic, rows): (Vec<&Row>, Vec<&Row>) =
        rows.into_iter().partition(|row| areas::chart::classic::is_in_table_only(row, document));
    let is_apart = |row: &Row| {
        linpack::is_apart(row, &rows)
            || memory::is_apart(row, &rows)
            || disk::is_apart(row, &rows)
            || net::is_apart(row, &rows)
    };
    let (apart, rows): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is_apart(row));
    let axis = Axis::of(area, &rows);
    // Where all are read together, what they have in common stands above their tables.
    let said_of = if rows.is_empty() { &apart } else { &rows };
    let common = Common::of(said_of, axis).on(said_of, &document.machine);
    let groups = groups(&rows, axis, &common);
    Section { area, axis, common, groups, apart, classic }
}

#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) area: Area,
    /// What the slots of its table differ in.
    pub(super) axis: Axis,
    pub(super) common: Common,
    pub(super) groups: Vec<Group<'a>>,
    /// Rows that are read together, in tables of their own.
    pub(super) apart: Vec<&'a Row>,
    /// Rows of a classic table only.
    pub(super) classic: Vec<&'a Row>,
}

impl<'a> Section<'a> {
    /// Every row of its table, in reading order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.groups.iter().flat_map(|group| group.rows.iter().copied())
    }

    /// The places on the axis that occur, ascending.
    pub(super) fn positions(&self) -> Vec<u32> {
        let mut positions: Vec<u32> = self.rows().map(|row| self.axis.position(row)).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }
}
