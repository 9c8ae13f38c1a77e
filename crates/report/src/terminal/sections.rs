//! Which benchmarks are read together: by area, by what was measured, by threads or depth.

use model::document::{Document, Row};
use model::experiment::Area;

use super::areas::{disk, linpack, memory, net};
use super::section::{Group, Section};
use crate::classic;
use areas::cpu::label as cpu;
use areas::label::{Axis, Common, Label, stem};

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
    // Of other areas all have the same place.
    groups.sort_by_key(|group| group.rows.first().map(|row| cpu::order(row)));
    Section { area, axis, common, groups, apart, classic }
}
