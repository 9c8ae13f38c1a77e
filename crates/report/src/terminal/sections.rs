//! The benchmarks that are read together in a terminal.

use std::collections::BTreeSet;

use model::document::Row;
use model::experiment::Area;

use crate::grid::groups::Group;
use areas::label::{Axis, Common};

#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) area: Area,
    pub(super) axis: Axis,
    pub(super) common: Common,
    pub(super) groups: Vec<Group<'a>>,
    /// Rows that are read together, in tables of their own.
    pub(super) apart: Vec<&'a Row>,
    pub(super) classic: Vec<&'a Row>,
}

impl<'a> Section<'a> {
    /// Every row of its table, in reading order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.groups.iter().flat_map(|group| group.rows.iter().copied())
    }

    /// The places on the axis that occur, ascending.
    pub(super) fn positions(&self) -> Vec<u32> {
        self.rows().map(|row| self.axis.position(row)).collect::<BTreeSet<u32>>().into_iter().collect()
    }
}
