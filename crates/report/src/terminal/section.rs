//! The rows of a document in the order in which they are read: by area, by what was measured (arithmetic by precision,
//! operation and instruction set), by threads or depth.

use model::document::Row;
use model::experiment::Area;

use areas::label::{Axis, Common, Label};

/// The rows of one area.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) area: Area,
    /// What the slots of its table differ in.
    pub(super) axis: Axis,
    pub(super) common: Common,
    pub(super) groups: Vec<Group<'a>>,
    /// Rows that are read together, in tables of their own.
    pub(super) apart: Vec<&'a Row>,
    /// Rows that stand in a classic table only.
    pub(super) classic: Vec<&'a Row>,
}

/// The rows that differ in their place on the axis alone, the least first.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) stem: String,
    pub(super) label: Label,
    pub(super) rows: Vec<&'a Row>,
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
