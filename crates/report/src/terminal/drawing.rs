//! The small tables below an area's: rows that are read together and not one by one.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::unit::Unit;

use super::notes::Notes;
use crate::layout::{Align, Block, Cell, Column, table, table_width, wrap};
use crate::number::{Scale, quantity, spread};
use crate::style::{Style, Tone};

/// Lengths of the bar, the better first.
const LENGTHS: [usize; 3] = [24, 12, 0];

/// Between blocks, the better first.
pub(super) const GAPS: [usize; 2] = [2, 1];

/// How small tables are set: with which footnotes, and for which terminal.
pub(super) struct Drawing<'a> {
    pub(super) notes: &'a Notes<'a>,
    pub(super) style: &'a Style,
}

/// The columns of one figure: it, its spread, and its grade where that is not A.
pub(super) struct Figures<'a> {
    pub(super) heading: String,
    pub(super) rows: Vec<Option<&'a Row>>,
    pub(super) metric: MetricName,
    /// The scale of several columns that are read together; `None` for one of its own, which its heading names.
    pub(super) scale: Option<Scale>,
}

impl<'a> Figures<'a> {
    /// The metric of each row; `None` where it was not measured.
    pub(super) fn metrics(&self) -> impl Iterator<Item = Option<&'a Metric>> {
        self.rows.iter().map(|row| row.and_then(|row| figure(row, self.metric)))
    }
}

impl Drawing<'_> {
    /// A title in bold, on as many lines as it takes.
    pub(super) fn title(&self, text: &str) -> Vec<String> {
        wrap(&self.style.clean(text), "", self.style.width)
            .iter()
            .map(|line| self.style.paint(line, Tone::Strong))
            .collect()
    }

    /// What stands behind a figure whose row is not of grade A.
    pub(super) fn remark(&self, row: &Row) -> Cell {
        self.notes.marks(row, self.style).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
    }

    /// One figure of several rows below its heading.
    pub(super) fn block(&self, figures: &Figures<'_>, with_spread: bool) -> Block {
        let metrics: Vec<Option<&Metric>> = figures.metrics().collect();
        let values: Vec<f64> = metrics.iter().flatten().map(|metric| metric.summary.median).collect();
        let unit = metrics.iter().flatten().map(|metric| metric.unit).next().unwrap_or(Unit::One);
        let scale = figures.scale.or_else(|| Scale::common(&values, unit));
        let told = |metric: &Metric| match scale {
            Some(scale) => scale.digits(metric.summary.median),
            None => quantity(metric.summary.median, unit),
        };
        let value = |metric: Option<&Metric>| Cell::plain(metric.map_or_else(String::new, told));
        let spreads = |metric: Option<&Metric>| {
            let text = metric.filter(|_| with_spread).map(|metric| spread(&metric.summary, self.style.plus_minus()));
            Cell::new(text.unwrap_or_default(), Tone::Dim)
        };
        // A row has one grade, whatever it measured.
        let first = |row: &Row| row.metrics.first().is_none_or(|metric| metric.name == figures.metric.name());
        let remark =
            |row: Option<&Row>| row.filter(|row| first(row)).map_or_else(Cell::default, |row| self.remark(row));
        let named = scale.filter(|_| figures.scale.is_none());
        let heading = format!("{} {}", figures.heading, named.map_or("", |scale| scale.unit()));
        let columns = vec![
            Column::new(Align::Decimal, metrics.iter().copied().map(value)),
            Column::new(Align::Decimal, metrics.iter().copied().map(spreads)),
            Column::new(Align::Left, figures.rows.iter().copied().map(remark)),
        ];
        Block::new(heading.trim_end(), Align::Left, columns)
    }

    /// The table with as much of what may give way as there is room for; `None` where even the least does not fit.
    pub(super) fn fitted(&self, blocks: impl Fn(bool, usize) -> Vec<Block>) -> Option<Vec<String>> {
        let choices = [true, false].into_iter().flat_map(|spread| LENGTHS.map(|length| (spread, length)));
        let mut choices = choices.flat_map(|(spread, length)| GAPS.map(|gap| (spread, length, gap)));
        choices.find_map(|(spread, length, gap)| {
            let blocks = blocks(spread, length);
            (table_width(&blocks, gap) <= self.style.width).then(|| table(&blocks, gap, self.style))
        })
    }
}

/// The figure of a measured row.
pub(super) fn figure(row: &Row, name: MetricName) -> Option<&Metric> {
    row.metric(name).filter(|_| row.status == Status::Ok)
}
