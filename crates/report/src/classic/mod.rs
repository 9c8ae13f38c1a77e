//! The tables of the classic suite as values: its columns, what stood beside them, and what follows from them by stated
//! rules. How a table is set is a renderer's business; the one for terminals is beside it.
//!
//! Nothing is measured or estimated here: every figure is the document's, or the quotient of two of them.

mod cells;
mod cpu;
mod cpu_grid;
mod disk;
mod disk_grid;
mod disk_text;
mod linpack;
mod linpack_grid;
mod linpack_text;
mod memory;
mod memory_grid;
mod memory_text;
mod net;
mod net_grid;
mod net_text;
mod text;

pub(crate) use cpu::tightest;
pub use cpu::{CpuTable, Hpl, HplSource, Place, Point, Series, Theory};
pub use disk::{DiskPoint, DiskSeries, DiskTable, ToolFigures};
pub use linpack::{LinpackSeries, LinpackSize, LinpackTable, Trial};
pub use memory::{Figure, MemoryPoint, MemorySeries, MemoryTable, ToolRate};
pub use net::{NetKind, NetPoint, NetSeries, NetTable};

use model::document::{Document, Row};
use model::experiment::Area;

use crate::grid::Grid;
use crate::style::{Style, Tone};

/// What stands beside the row of this id where its grade is below A, or where it was not measured: `B ¹`.
pub(crate) type Marks<'a> = &'a dyn Fn(&str) -> Option<(String, Tone)>;

/// The suite whose runs have these tables.
const SUITE: &str = "classic";

/// The CPU's table of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn cpu_table(document: &Document) -> Option<CpuTable> {
    (document.run.suite == SUITE).then(|| CpuTable::of(document)).flatten()
}

/// LINPACK's tables of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn linpack_table(document: &Document) -> Option<LinpackTable> {
    (document.run.suite == SUITE).then(|| LinpackTable::of(document)).flatten()
}

/// The memory's table of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn memory_table(document: &Document) -> Option<MemoryTable> {
    (document.run.suite == SUITE).then(|| MemoryTable::of(document)).flatten()
}

/// The disks' tables of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn disk_table(document: &Document) -> Option<DiskTable> {
    (document.run.suite == SUITE).then(|| DiskTable::of(document)).flatten()
}

/// The networks' tables of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn net_table(document: &Document) -> Option<NetTable> {
    (document.run.suite == SUITE).then(|| NetTable::of(document)).flatten()
}

/// Whether a row is shown in a classic table and nowhere else.
pub(crate) fn is_in_table_only(row: &Row, document: &Document) -> bool {
    let is_of_one = || memory::is_of_memory_table(row) || disk::is_of_disk_table(row) || net::is_of_net_table(row);
    document.run.suite == SUITE && is_of_one()
}

/// The tables of this document in a terminal; none where it is no run of the classic suite.
pub(crate) fn paragraphs(document: &Document, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let linpack = linpack_table(document).map(|table| linpack_text::paragraphs(&table, marks, style));
    let memory = memory_table(document).map(|table| memory_text::paragraphs(&table, marks, style));
    let disk = disk_table(document).map(|table| disk_text::paragraphs(&table, marks, style));
    let net = net_table(document).map(|table| net_text::paragraphs(&table, marks, style));
    let others = linpack.into_iter().chain(memory).chain(disk).chain(net).flatten();
    text::paragraph(document, style).into_iter().chain(others).collect()
}

/// The tables of this area as values; none where this is no run of the classic suite.
pub(crate) fn grids(area: Area, document: &Document) -> Vec<Grid> {
    match area {
        Area::Cpu => cpu_table(document).iter().map(cpu_grid::grid).collect(),
        Area::Linpack => linpack_table(document).as_ref().map_or_else(Vec::new, linpack_grid::grids),
        Area::Memory => memory_table(document).as_ref().map_or_else(Vec::new, memory_grid::grids),
        Area::Disk => disk_table(document).as_ref().map_or_else(Vec::new, disk_grid::grids),
        Area::Net => net_table(document).as_ref().map_or_else(Vec::new, net_grid::grids),
    }
}
