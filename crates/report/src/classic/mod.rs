//! The tables of the classic suite as values: its columns, what stood beside them, and what follows from them by stated
//! rules. How a table is set is a renderer's business; the one for terminals is beside it.
//!
//! Nothing is measured or estimated here: every figure is the document's, or the quotient of two of them.

mod cpu;
mod cpu_table;
mod disk;
mod disk_table;
mod figures;
mod linpack;
mod linpack_table;
mod memory;
mod memory_table;
mod net;
mod net_table;
mod table;
mod terminal;

pub use cpu::{CpuTable, Hpl, HplSource, Point, Series};
pub use disk::{DiskPoint, DiskSeries, DiskTable, ToolFigures};
pub(crate) use figures::tightest;
pub use figures::{Figure, Theory};
pub use linpack::{LinpackSeries, LinpackSize, LinpackTable, Trial};
pub use memory::{MemoryPoint, MemorySeries, MemoryTable, ToolRate};
pub use net::{NetKind, NetPoint, NetSeries, NetTable};

use model::document::{Document, Row};
use model::experiment::Area;

use self::table::ClassicPart;
use self::terminal::Marks;
use crate::grid::value::Grid;
use crate::style::Style;

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

/// The parts of an area; none where this is no run of the classic suite.
fn parts(area: Area, document: &Document) -> Vec<ClassicPart> {
    match area {
        Area::Cpu => cpu_table(document).as_ref().map(cpu_table::parts),
        Area::Linpack => linpack_table(document).as_ref().map(linpack_table::parts),
        Area::Memory => memory_table(document).as_ref().map(memory_table::parts),
        Area::Disk => disk_table(document).as_ref().map(disk_table::parts),
        Area::Net => net_table(document).as_ref().map(net_table::parts),
    }
    .unwrap_or_default()
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
