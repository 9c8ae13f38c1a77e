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

/// The tables and notes of an area in a run of the classic suite; none of other runs.
pub fn parts(area: Area, document: &Document) -> Vec<ClassicPart> {
    match area {
        Area::Cpu => cpu::parts(document),
        Area::Linpack => linpack::parts(document),
        Area::Memory => memory::parts(document),
        Area::Disk => disk::parts(document),
        Area::Net => net::parts(document),
    }
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
