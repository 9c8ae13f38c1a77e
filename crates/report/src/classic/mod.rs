//! The tables of the classic suite as values, and in a terminal.

pub mod cpu;
pub mod disk;
pub mod linpack;
pub mod memory;
pub mod net;
mod table;
mod terminal;
mod values;

pub(crate) use values::tightest;
pub use values::{Estimate, Line, Measured, Point, Series, ToolValue, highest, lines};

use model::document::{Document, Row};
use model::experiment::Area;

use self::table::ClassicPart;
use self::terminal::Marks;
use crate::grid::value::Grid;
use crate::style::Style;

/// The parts of each area, by the name that its tables have in a benchmark's `Classic`.
const PARTS: &[(&str, fn(&Document) -> Vec<ClassicPart>)] = &[
    ("cpu", cpu::parts),
    ("linpack", linpack::parts),
    ("memory", memory::parts),
    ("disk", disk::parts),
    ("net", net::parts),
];

/// Whether a benchmark is shown in a classic table and nowhere else.
pub(crate) fn is_in_table_only(row: &Row, document: &Document) -> bool {
    let is_classic = document.run.suite == values::SUITE;
    row.classic.as_ref().filter(|_| is_classic).is_some_and(|classic| match classic.table.as_str() {
        "memory" | "disk" => true,
        "net" => net::NetKey::of(row).is_some(),
        _ => false,
    })
}

fn parts(area: Area, document: &Document) -> Vec<ClassicPart> {
    PARTS.iter().filter(|(name, _)| *name == area.name()).flat_map(|(_, parts)| parts(document)).collect()
}

/// The tables of this document in a terminal; none where it is no run of the classic suite.
pub(crate) fn paragraphs(document: &Document, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let parts: Vec<ClassicPart> = Area::ALL.iter().flat_map(|area| parts(*area, document)).collect();
    parts.iter().filter_map(|part| terminal::paragraph(part, marks, style)).collect()
}

/// The tables of this area as values; none where this is no run of the classic suite.
pub(crate) fn grids(area: Area, document: &Document) -> Vec<Grid> {
    let grid = |part| if let ClassicPart::Table(table) = part { table.into_grid(area) } else { None };
    parts(area, document).into_iter().filter_map(grid).collect()
}
