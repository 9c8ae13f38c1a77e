//! How the small tables below an area's are set.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName, Percentiles};
use model::unit::Unit;

use crate::layout::{Align, Block, Cell, Column, GAPS, cut, fitting, paragraph, table, table_width, width};
use crate::style::{Style, Tone};
use crate::terminal::notes::Notes;
use crate::terminal::row::headline;
use model::number::{Notation, UnitScale, quantity, spread as spread_words};

/// Lengths of the bar, the better first.
const LENGTHS: [usize; 3] = [24, 12, 0];

/// How small tables are set: with which footnotes, and for which terminal.
pub(crate) struct Drawing<'a> {
    pub(crate) notes: &'a Notes<'a>,
    pub(crate) style: &'a Style,
}

/// The columns of one metric: value, spread, and confidence where that is not high.
pub(crate) struct MetricColumns<'a> {
    pub(crate) heading: String,
    pub(crate) rows: Vec<Option<&'a Row>>,
    pub(crate) metric: MetricName,
    /// The scale of several columns that are read together; `None` for one of its own, which its heading names.
    pub(crate) scale: Option<UnitScale>,
}

impl<'a> MetricColumns<'a> {
    /// The metric of each row; `None` where it was not measured.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = Option<&'a Metric>> {
        self.rows.iter().map(|row| row.and_then(|row| measured_metric(row, self.metric)))
    }
}

/// Values of a table in one unit where that reads well, else each in its own.
pub(crate) struct CommonUnit {
    scale: Option<UnitScale>,
    notation: Notation,
}

impl CommonUnit {
    pub(crate) fn of(values: impl Iterator<Item = f64>, notation: impl Into<Notation>) -> Self {
        let notation = notation.into();
        Self { scale: UnitScale::common(&values.collect::<Vec<_>>(), notation), notation }
    }

    pub(crate) fn words(&self, value: f64) -> String {
        match self.scale {
            Some(scale) => format!("{} {}", scale.digits(value), scale.unit()),
            None => quantity(value, self.notation),
        }
    }
}

/// The labels of a table's rows, with columns for their places where these differ; what all share is in the title.
pub(crate) struct Named {
    title: String,
    labels: Vec<String>,
    places: Vec<(&'static str, Vec<u32>)>,
}

impl Named {
    pub(crate) fn new(title: &str, labels: Vec<String>) -> Self {
        Self { title: title.to_owned(), labels, places: Vec::new() }
    }

    /// Adds where each row stands.
    pub(crate) fn place(&mut self, values: Vec<u32>, heading: &'static str, in_title: impl Fn(u32) -> String) {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => {
                self.title = format!("{}, {}", self.title, in_title(*first));
            }
            Some(_) => self.places.push((heading, values)),
            None => {}
        }
    }

    fn blocks(&self, to: usize, style: &Style) -> Vec<Block> {
        let labels = self.labels.iter().map(|label| Cell::plain(cut(label, to, style)).indented());
        let places = self.places.iter().map(|(heading, values)| {
            let cells = values.iter().map(|value| Cell::plain(value.to_string()));
            Block::single(*heading, Align::Right, cells)
        });
        std::iter::once(Block::single("", Align::Left, labels)).chain(places).collect()
    }
}

impl Drawing<'_> {
    pub(crate) fn title(&self, text: &str) -> Vec<String> {
        paragraph(text, "", Tone::Strong, self.style)
    }

    /// The confidence and footnotes of a row that is not of high confidence.
    pub(crate) fn remark(&self, row: &Row) -> Cell {
        self.notes.marks(row, self.style).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
    }

    pub(crate) fn block<'r>(&self, shown: &MetricColumns<'r>, with_spread: bool) -> Block {
        let metrics: Vec<Option<&'r Metric>> = shown.metrics().collect();
        let values: Vec<f64> = metrics.iter().flatten().map(|metric| metric.summary.median).collect();
        let unit = metrics.iter().flatten().map(|metric| metric.unit).next().unwrap_or(Unit::One);
        let scale = shown.scale.or_else(|| UnitScale::common(&values, unit));
        let words = |metric: &Metric| match scale {
            Some(scale) => scale.digits(metric.summary.median),
            None => quantity(metric.summary.median, unit),
        };
        let named = scale.filter(|_| shown.scale.is_none());
        let heading = format!("{} {}", shown.heading, named.map_or("", |scale| scale.unit()));
        // A row has one confidence, whatever it measured.
        let first = |row: &&Row| row.metrics.first().is_none_or(|metric| metric.name == shown.metric);
        let cell = |(row, metric): (Option<&'r Row>, Option<&'r Metric>)| {
            (row.filter(first), metric.map(|metric| (metric, words(metric))))
        };
        self.with_remarks(heading.trim_end(), shown.rows.iter().copied().zip(metrics).map(cell), with_spread)
    }

    /// A headline with its spread and what stands behind its confidence, each with a unit of its own.
    pub(crate) fn measured<'r>(
        &self,
        heading: &str,
        rows: impl IntoIterator<Item = Option<&'r Row>>,
        with_spread: bool,
    ) -> Block {
        let words = |row: &Row, metric: &Metric| quantity(metric.summary.median, Notation::of(row.area, metric.unit));
        let cell = |row: &'r Row| headline(row).map(|metric| (metric, words(row, metric)));
        self.with_remarks(heading, rows.into_iter().map(|row| (row, row.and_then(cell))), with_spread)
    }

    /// The same of this metric, its median in these words.
    pub(crate) fn measured_as(
        &self,
        heading: &str,
        rows: &[&Row],
        with_spread: bool,
        (name, words): (MetricName, impl Fn(f64) -> String),
    ) -> Block {
        let metric = |row| measured_metric(row, name).map(|metric| (metric, words(metric.summary.median)));
        self.with_remarks(heading, rows.iter().map(|row| (Some(*row), metric(row))), with_spread)
    }

    /// Columns of these values with their spreads and remarks.
    pub(crate) fn with_remarks<'r>(
        &self,
        heading: &str,
        cells: impl IntoIterator<Item = (Option<&'r Row>, Option<(&'r Metric, String)>)>,
        with_spread: bool,
    ) -> Block {
        let mut columns: [Vec<Cell>; 3] = Default::default();
        for (row, metric) in cells {
            let spread = metric.as_ref().filter(|_| with_spread);
            let spread = spread.map(|(metric, _)| spread_words(&metric.summary, self.style.plus_minus()));
            columns[0].push(Cell::plain(metric.map(|(_, value)| value).unwrap_or_default()));
            columns[1].push(Cell::new(spread.unwrap_or_default(), Tone::Dim));
            columns[2].push(row.map_or_else(Cell::default, |row| self.remark(row)));
        }
        let aligns = [Align::Decimal, Align::Decimal, Align::Left];
        let columns = aligns.into_iter().zip(columns).map(|(align, cells)| Column::new(align, cells));
        Block::new(heading, Align::Left, columns.collect())
    }

    /// The widest form of a table that fits, below its title: spreads give way first, then the ends of labels.
    /// `columns` gets whether spreads are shown.
    pub(crate) fn titled(&self, named: &Named, columns: impl Fn(bool) -> Vec<Block>) -> Vec<String> {
        self.stepped(named, 2, |step| columns(step == 0))
    }

    /// The same where more may give way, in this many steps; `columns` gets how many of them have been taken. Nothing
    /// without rows.
    pub(crate) fn stepped(&self, named: &Named, steps: usize, columns: impl Fn(usize) -> Vec<Block>) -> Vec<String> {
        if named.labels.is_empty() {
            return Vec::new();
        }
        let blocks = |step: usize, to: usize| [named.blocks(to, self.style), columns(step)].concat();
        let whole = named.labels.iter().map(|label| width(label)).max().unwrap_or(0);
        let choices = (0..steps).flat_map(|step| GAPS.map(|gap| (blocks(step, whole), gap)));
        let (blocks, gap) = fitting(choices, self.style.width).unwrap_or_else(|| {
            let last = steps.saturating_sub(1);
            let excess = table_width(&blocks(last, whole), 1).saturating_sub(self.style.width);
            (blocks(last, whole.saturating_sub(excess)), 1)
        });
        [self.title(&named.title), table(&blocks, gap, self.style)].concat()
    }

    /// The table with as much of what may give way as there is room for; `None` where even the least does not fit.
    pub(crate) fn fitted(&self, blocks: impl Fn(bool, usize) -> Vec<Block>) -> Option<Vec<String>> {
        let choices = [true, false].into_iter().flat_map(|spread| LENGTHS.map(|length| (spread, length)));
        let choices = choices.flat_map(|(spread, length)| GAPS.map(|gap| (blocks(spread, length), gap)));
        fitting(choices, self.style.width).map(|(blocks, gap)| table(&blocks, gap, self.style))
    }
}

pub(crate) fn measured_metric(row: &Row, name: MetricName) -> Option<&Metric> {
    row.metric(name).filter(|_| row.status == Status::Ok)
}

pub(crate) fn percentiles(row: &Row) -> Option<Percentiles> {
    measured_metric(row, MetricName::Latency)?.summary.percentiles
}

pub(crate) fn words(heading: &str, rows: &[&Row], text: impl Fn(&Row) -> Option<String>) -> Block {
    Block::single(heading, Align::Left, rows.iter().map(|row| Cell::plain(text(row).unwrap_or_default())))
}

pub(crate) fn values(heading: &str, rows: &[&Row], text: impl Fn(&Row) -> Option<String>) -> Block {
    Block::single(heading, Align::Decimal, rows.iter().map(|row| Cell::plain(text(row).unwrap_or_default())))
}
