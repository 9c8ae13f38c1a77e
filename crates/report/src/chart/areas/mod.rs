//! Which charts there are: for each area the questions that its rows can answer, and which rows answer them.

mod cpu;
mod disk;
mod linpack;
mod memory;
mod net;
mod roofline;
mod shared;

use model::document::Document;

use crate::chart::drawing::Chart;

/// The charts of a document, area by area, in reading order.
pub(super) fn all(document: &Document) -> Vec<Chart> {
    [cpu::charts, linpack::charts, memory::charts, disk::charts, net::charts, roofline::charts]
        .into_iter()
        .flat_map(|area| area(document))
        .collect()
}
