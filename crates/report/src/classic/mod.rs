//! The tables of the classic suite as values: its columns, what stood beside them, and what follows from them by stated
//! rules. How a table is set is a renderer's business; the one for terminals is beside it.
//!
//! Nothing is measured or estimated here: every figure is the document's, or the quotient of two of them.

mod cpu;
mod text;

pub use cpu::{CpuTable, Hpl, HplSource, Place, Point, Series, Theory};
pub(crate) use text::paragraphs;

use model::document::Document;

/// The suite whose runs have these tables.
const SUITE: &str = "classic";

/// The CPU's table of a run of the classic suite; `None` for other runs, and where the run has no such rows.
pub fn cpu_table(document: &Document) -> Option<CpuTable> {
    (document.run.suite == SUITE).then(|| CpuTable::of(document)).flatten()
}
