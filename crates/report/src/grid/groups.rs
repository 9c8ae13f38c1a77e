//! The order in which benchmarks are read: by area, by what was measured, by threads or depth.

use model::document::{Document, Finding, Row};
use model::experiment::Area;

pub(crate) use areas::chart::by_key as grouped;
use areas::chart::grid::Grid;
use areas::cpu::label as cpu;
use areas::label::{Axis, Common, Label, stem};

pub(crate) fn by_area(document: &Document) -> impl Iterator<Item = (Area, Vec<&Row>)> {
    let of = |area: &Area| (*area, document.experiments.iter().filter(|row| row.area == *area).collect::<Vec<_>>());
    Area::ALL.iter().map(of).filter(|(_, rows)| !rows.is_empty())
}

pub(crate) fn tables_by_area<'a>(
    document: &'a Document,
    grids: &'a [Grid],
) -> impl Iterator<Item = (Area, Vec<&'a Grid>, Vec<&'a Finding>)> {
    let of = |area: &Area| {
        let own = grids.iter().filter(|grid| grid.area == Some(*area)).collect::<Vec<_>>();
        (*area, own, document.findings.iter().filter(|finding| finding.area == *area).collect::<Vec<_>>())
    };
    Area::ALL.iter().map(of).filter(|(_, grids, findings)| !grids.is_empty() || !findings.is_empty())
}

/// The benchmarks that differ in their place on the axis alone, the least first.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) label: Label,
    pub(crate) rows: Vec<&'a Row>,
}

/// These benchmarks in groups, arithmetic by precision.
pub(crate) fn groups<'a>(rows: &[&'a Row], axis: Axis, common: &Common) -> Vec<Group<'a>> {
    // Benchmarks of one name may have been carried out differently, by another engine for example.
    let key = |row: &&Row| Some((stem(row, axis), Label::of(row, common, axis)));
    let group = |((_, label), mut rows): ((String, Label), Vec<&'a Row>)| {
        rows.sort_by_key(|row| axis.position(row));
        Group { label, rows }
    };
    let mut groups: Vec<Group<'a>> = grouped(rows.iter().copied(), key).into_iter().map(group).collect();
    // In other areas all have the same place.
    groups.sort_by_key(|group| group.rows.first().map(|row| cpu::order(row)));
    groups
}
