//! The classic tables of each area, as values.

pub mod cpu;
pub mod disk;
pub mod linpack;
pub mod memory;
pub mod net;
mod table;
mod values;

pub use table::{
    Align, ClassicPart, ClassicTable, GivesWay, PLUS_MINUS, SideBySide, TableColumn, TableLine, TextHeading,
};
pub use values::{Estimate, Line, Measured, Point, Series, ToolValue, highest, lines, tightest};

use model::document::{Document, Row};
use model::experiment::Area;

type Parts = fn(&Document) -> Vec<ClassicPart>;

/// The parts of each area, by the name that its tables have in a benchmark's `Classic`.
const PARTS: &[(&str, Parts)] = &[
    ("cpu", cpu::parts),
    ("linpack", linpack::parts),
    ("memory", memory::parts),
    ("disk", disk::parts),
    ("net", net::parts),
];

/// The tables and notes of an area in a run of the classic suite; none of other runs.
pub fn parts(area: Area, document: &Document) -> Vec<ClassicPart> {
    PARTS.iter().filter(|(name, _)| *name == area.name()).flat_map(|(_, parts)| parts(document)).collect()
}

/// Whether a benchmark is shown in a classic table and nowhere else.
pub fn is_in_table_only(row: &Row, document: &Document) -> bool {
    let is_classic = document.run.suite == values::SUITE;
    row.classic.as_ref().filter(|_| is_classic).is_some_and(|classic| match classic.table.as_str() {
        "memory" | "disk" => true,
        "net" => net::NetKey::of(row).is_some(),
        _ => false,
    })
}
