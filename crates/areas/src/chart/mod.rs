//! The charts of a document as data: which results form a chart, on which axes, under which title. `report` draws them.

pub(crate) mod builders;
pub mod classic;
mod course;
mod data;
pub mod grid;
pub(crate) mod measured;
pub(crate) mod observed;
mod roofline;
mod steadiness;

pub use data::{
    Body, Chart, ChartAxis, DotKind, DotLine, DotMark, Dots, Hue, Look, Mark, Matrix, MatrixCell, Panel, Plot, Point,
    Reading, Series, Shape, Zone, is_drawable,
};
pub use measured::by_key;

use model::document::Document;

use crate::{cpu, disk, linpack, memory, net};

const CHARTS: &[fn(&Document) -> Vec<Chart>] = &[
    cpu::charts::charts,
    linpack::charts::charts,
    memory::charts::charts,
    disk::charts::charts,
    net::charts::charts,
    roofline::charts,
    steadiness::charts,
    course::charts,
];

/// The charts that a document has results for; some of them may have nothing to draw.
pub fn charts(document: &Document) -> Vec<Chart> {
    CHARTS.iter().flat_map(|charts| charts(document)).collect()
}
