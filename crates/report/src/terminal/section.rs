//! The rows of a document in the order in which they are read: by area, by what was measured (arithmetic by precision,
//! operation and instruction set), by threads or depth.

use model::document::{Document, Row};
use model::experiment::Area;

use super::{disk, linpack, memory, net};
use crate::classic;
use crate::label::{Axis, Common, Label, cpu, stem};

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
    stem: String,
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

/// The areas that have rows.
pub(super) fn sections(document: &Document) -> Vec<Section<'_>> {
    let of = |area: &Area| document.experiments.iter().filter(|row| row.area == *area).collect::<Vec<_>>();
    let areas = Area::ALL.iter().map(|area| (*area, of(area))).filter(|(_, rows)| !rows.is_empty());
    areas.map(|(area, rows)| section(area, rows, document)).collect()
}

fn section<'a>(area: Area, rows: Vec<&'a Row>, document: &Document) -> Section<'a> {
    let (classic, rows): (Vec<&Row>, Vec<&Row>) =
        rows.into_iter().partition(|row| classic::is_in_table_only(row, document));
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
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        // Rows of one name may still have been carried out differently, by another engine for example.
        let (stem, label) = (stem(row, axis), Label::of(row, &common, axis));
        match groups.iter_mut().find(|group| group.stem == stem && group.label == label) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { stem, label, rows: vec![row] }),
        }
    }
    for group in &mut groups {
        group.rows.sort_by_key(|row| axis.position(row));
    }
    if area == Area::Cpu {
        groups.sort_by_key(|group| group.rows.first().map(|row| cpu::order(row)));
    }
    Section { area, axis, common, groups, apart, classic }
}
