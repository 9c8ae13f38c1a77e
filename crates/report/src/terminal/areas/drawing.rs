//! The small tables below an area's: rows that are read together and not one by one.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName, Percentiles};
use model::unit::Unit;

use crate::layout::{Align, Block, Cell, Column, cut, table, table_width, width, wrap};
use crate::style::{Style, Tone};
use crate::terminal::notes::Notes;
use crate::terminal::row::headline;
use model::number::{Notation, UnitScale, quantity, spread};

/// Lengths of the bar, the better first.
const LENGTHS: [usize; 3] = [24, 12, 0];

/// Between blocks, the better first.
pub(crate) const GAPS: [usize; 2] = [2, 1];

/// How small tables are set: with which footnotes, and for which terminal.
pub(crate) struct Drawing<'a> {
    pub(crate) notes: &'a Notes<'a>,
    pub(crate) style: &'a Style,
}

/// The columns of one figure: it, its spread, and its grade where that is not A.
pub(crate) struct Figures<'a> {
    pub(crate) heading: String,
    pub(crate) rows: Vec<Option<&'a Row>>,
    pub(crate) metric: MetricName,
    /// The scale of several columns that are read together; `None` for one of its own, which its heading names.
    pub(crate) scale: Option<UnitScale>,
}

impl<'a> Figures<'a> {
    /// The metric of each row; `None` where it was not measured.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = Option<&'a Metric>> {
        self.rows.iter().map(|row| row.and_then(|row| figure(row, self.metric)))
    }
}

/// The rows of a table: what each is called, and columns for those of their places that are not the same in all of
/// them; what is the same belongs into the title.
pub(crate) struct Named {
    title: String,
    labels: Vec<String>,
    places: Vec<(&'static str, Vec<u32>)>,
}

impl Named {
    /// Rows of these names.
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

    /// The first columns, labels being cut to `to` columns.
    fn blocks(&self, to: usize, style: &Style) -> Vec<Block> {
        let labels = self.labels.iter().map(|label| Cell::plain(cut(label, to, style)).indented()).collect();
        let places = self.places.iter().map(|(heading, values)| {
            let cells = values.iter().map(|value| Cell::plain(value.to_string()));
            Block::new(*heading, Align::Right, vec![Column::new(Align::Right, cells)])
        });
        std::iter::once(left("", labels)).chain(places).collect()
    }

    fn label_width(&self) -> usize {
        self.labels.iter().map(|label| width(label)).max().unwrap_or(0)
    }
}

impl Drawing<'_> {
    /// A title in bold, on as many lines as it takes.
    pub(crate) fn title(&self, text: &str) -> Vec<String> {
        wrap(&self.style.clean(text), "", self.style.width)
            .iter()
            .map(|line| self.style.paint(line, Tone::Strong))
            .collect()
    }

    /// What stands behind a figure whose row is not of grade A.
    pub(crate) fn remark(&self, row: &Row) -> Cell {
        self.notes.marks(row, self.style).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
    }

    /// One figure of several rows below its heading.
    pub(crate) fn block(&self, figures: &Figures<'_>, with_spread: bool) -> Block {
        let metrics: Vec<Option<&Metric>> = figures.metrics().collect();
        let values: Vec<f64> = metrics.iter().flatten().map(|metric| metric.summary.median).collect();
        let unit = metrics.iter().flatten().map(|metric| metric.unit).next().unwrap_or(Unit::One);
        let scale = figures.scale.or_else(|| UnitScale::common(&values, unit));
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
        let first = |row: &Row| row.metrics.first().is_none_or(|metric| metric.name == figures.metric);
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

    /// A headline with its spread and what stands behind its grade, each with a unit of its own.
    pub(crate) fn measured(&self, heading: &str, rows: &[Option<&Row>], with_spread: bool) -> Block {
        let told = |row: &Row, metric: &Metric| quantity(metric.summary.median, Notation::of(row.area, metric.unit));
        let figures =
            rows.iter().map(|row| row.and_then(|row| headline(row).map(|metric| (metric, told(row, metric)))));
        self.with_remarks(heading, rows, figures.collect(), with_spread)
    }

    /// The same of this metric, its median told in these words.
    pub(crate) fn measured_as(
        &self,
        heading: &str,
        rows: &[Option<&Row>],
        with_spread: bool,
        (name, told): (MetricName, &dyn Fn(&Metric) -> String),
    ) -> Block {
        let figures = rows.iter().map(|row| figure((*row)?, name).map(|metric| (metric, told(metric))));
        self.with_remarks(heading, rows, figures.collect(), with_spread)
    }

    fn with_remarks(
        &self,
        heading: &str,
        rows: &[Option<&Row>],
        figures: Vec<Option<(&Metric, String)>>,
        with_spread: bool,
    ) -> Block {
        let spreads = figures.iter().map(|figure| {
            let metric = figure.as_ref().filter(|_| with_spread).map(|(metric, _)| metric);
            let text = metric.map(|metric| spread(&metric.summary, self.style.plus_minus()));
            Cell::new(text.unwrap_or_default(), Tone::Dim)
        });
        let spreads = Column::new(Align::Decimal, spreads);
        let values = figures.into_iter().map(|figure| Cell::plain(figure.map(|(_, text)| text).unwrap_or_default()));
        let remark = |row: Option<&Row>| row.map_or_else(Cell::default, |row| self.remark(row));
        let remarks = Column::new(Align::Left, rows.iter().copied().map(remark));
        Block::new(heading, Align::Left, vec![Column::new(Align::Decimal, values), spreads, remarks])
    }

    /// The widest form of a table that fits, below its title: spreads give way first, then the ends of labels.
    /// `figures` is told whether spreads are shown.
    pub(crate) fn titled(&self, named: &Named, figures: impl Fn(bool) -> Vec<Block>) -> Vec<String> {
        self.stepped(named, 2, |step| figures(step == 0))
    }

    /// The same where more may give way, in so many steps; `figures` is told how many of them have been taken.
    pub(crate) fn stepped(&self, named: &Named, steps: usize, figures: impl Fn(usize) -> Vec<Block>) -> Vec<String> {
        let blocks = |step: usize, to: usize| [named.blocks(to, self.style), figures(step)].concat();
        let whole = named.label_width();
        let choices = (0..steps).flat_map(|step| GAPS.map(|gap| (step, gap)));
        let mut fitting = choices.map(|(step, gap)| (blocks(step, whole), gap));
        let chosen = fitting.find(|(blocks, gap)| table_width(blocks, *gap) <= self.style.width);
        let (blocks, gap) = chosen.unwrap_or_else(|| {
            let last = steps.saturating_sub(1);
            let excess = table_width(&blocks(last, whole), 1).saturating_sub(self.style.width);
            (blocks(last, whole.saturating_sub(excess)), 1)
        });
        [self.title(&named.title), table(&blocks, gap, self.style)].concat()
    }

    /// The table with as much of what may give way as there is room for; `None` where even the least does not fit.
    pub(crate) fn fitted(&self, blocks: impl Fn(bool, usize) -> Vec<Block>) -> Option<Vec<String>> {
        let choices = [true, false].into_iter().flat_map(|spread| LENGTHS.map(|length| (spread, length)));
        let mut choices = choices.flat_map(|(spread, length)| GAPS.map(|gap| (spread, length, gap)));
        choices.find_map(|(spread, length, gap)| {
            let blocks = blocks(spread, length);
            (table_width(&blocks, gap) <= self.style.width).then(|| table(&blocks, gap, self.style))
        })
    }
}

/// The figure of a measured row.
pub(crate) fn figure(row: &Row, name: MetricName) -> Option<&Metric> {
    row.metric(name).filter(|_| row.status == Status::Ok)
}

/// The percentiles of what a measured row took.
pub(crate) fn percentiles(row: &Row) -> Option<Percentiles> {
    figure(row, MetricName::Latency)?.summary.percentiles
}

/// A column of words below its heading.
pub(crate) fn left(heading: &str, cells: Vec<Cell>) -> Block {
    Block::new(heading, Align::Left, vec![Column::new(Align::Left, cells)])
}

/// A column of figures below its heading.
pub(crate) fn decimal(heading: &str, cells: impl IntoIterator<Item = Option<String>>) -> Block {
    let cells = cells.into_iter().map(|text| Cell::plain(text.unwrap_or_default()));
    Block::new(heading, Align::Left, vec![Column::new(Align::Decimal, cells)])
}
