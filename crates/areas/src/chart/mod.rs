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

/// The charts that a document has results for; some of them may have nothing to draw.
pub fn charts(document: &Document) -> Vec<Chart> {
    let mut all = cpu::charts::charts(document);
    all.extend(linpack::charts::charts(document));
    all.extend(memory::charts::charts(document));
    all.extend(disk::charts::charts(document));
    all.extend(net::charts::charts(document));
    all.extend([roofline::chart(document), steadiness::chart(document), course::chart(document)].into_iter().flatten());
    all
}
