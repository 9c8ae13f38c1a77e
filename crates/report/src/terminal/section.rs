//! The rows of a document in the order in which they are read: by area, by what was measured, by threads.

use model::document::{Document, Row};
use model::experiment::Area;

use crate::label::{Common, Label, stem};

/// The rows of one area.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) area: Area,
    pub(super) common: Common,
    pub(super) groups: Vec<Group<'a>>,
}

/// The rows that differ in their threads alone, the fewest first.
#[derive(Debug)]
pub(super) struct Group<'a> {
    stem: String,
    pub(super) label: Label,
    pub(super) rows: Vec<&'a Row>,
}

impl<'a> Section<'a> {
    /// Every row, in reading order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.groups.iter().flat_map(|group| group.rows.iter().copied())
    }

    /// The thread counts that occur, ascending.
    pub(super) fn thread_counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.rows().map(|row| row.params.threads()).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

/// The areas that have rows.
pub(super) fn sections(document: &Document) -> Vec<Section<'_>> {
    let of = |area: &Area| document.experiments.iter().filter(|row| row.area == *area).collect::<Vec<_>>();
    Area::ALL.iter().map(|area| (*area, of(area))).filter(|(_, rows)| !rows.is_empty()).map(section).collect()
}

fn section((area, rows): (Area, Vec<&Row>)) -> Section<'_> {
    let common = Common::of(&rows);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let stem = stem(row);
        match groups.iter_mut().find(|group| group.stem == stem) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { stem, label: Label::of(row, common), rows: vec![row] }),
        }
    }
    for group in &mut groups {
        group.rows.sort_by_key(|row| row.params.threads());
    }
    Section { area, common, groups }
}
