//! From rows to points: what a mark says, and which rows stand on one line.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::unit::Unit;
use model::warning::Grade;

use super::plot::{Point, Series};
use super::scale::is_drawable;
use super::svg::Facts;
use crate::grid::value::{Cell, Column, GridLine};
use areas::disk::label as disk;
use areas::label::{Axis, Common, Label};
use model::number::{Notation, percent, quantity, spread};

/// A metric of a row that was measured and can be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure<'a> {
    pub(super) row: &'a Row,
    pub(super) metric: &'a Metric,
}

impl<'a> Figure<'a> {
    /// The metric of this name; `None` where the row has none that can be drawn.
    pub(super) fn of(row: &'a Row, name: MetricName) -> Option<Self> {
        let metric = row.metric(name)?;
        let drawable = row.status == Status::Ok && is_drawable(metric.summary.median);
        drawable.then_some(Self { row, metric })
    }

    /// The median, in the metric's unit.
    pub(super) const fn value(&self) -> f64 {
        self.metric.summary.median
    }

    /// How its values are told.
    pub(super) const fn notation(&self) -> Notation {
        Notation::of(self.row.area, self.metric.unit)
    }

    /// The 95 % interval of the median.
    pub(super) fn interval(&self) -> Option<[f64; 2]> {
        self.metric.summary.ci95.filter(|ends| ends.iter().all(|end| is_drawable(*end)) && ends[0] <= ends[1])
    }

    /// The limit that its efficiency is against.
    pub(super) fn peak(&self) -> Option<f64> {
        let kind = self.metric.efficiency?.of;
        let peak = self.metric.peaks.iter().find(|peak| peak.kind == kind)?;
        Some(peak.value).filter(|value| is_drawable(*value))
    }

    /// Its efficiency, 1 being all of the peak.
    pub(super) fn efficiency(&self) -> Option<f64> {
        self.metric.efficiency.map(|efficiency| efficiency.value).filter(|value| is_drawable(*value))
    }

    /// Whether it must not be quoted.
    pub(super) fn is_doubtful(&self) -> bool {
        self.row.grade == Some(Grade::C)
    }

    /// What a reader learns of the median.
    pub(super) fn facts(&self) -> Facts {
        let summary = &self.metric.summary;
        let value = quantity(summary.median, self.notation());
        let mut text = format!("{}: {value}", Label::sentence(self.row));
        if self.interval().is_some() {
            text = format!("{text} {}", spread(summary, "\u{b1}"));
        }
        text = format!("{text}, n={}", summary.n);
        if let (Some(share), Some(peak)) = (self.efficiency(), self.peak()) {
            text = format!("{text}, {} of {}", percent(share), quantity(peak, self.notation()));
        }
        let text = self.row.grade.map_or_else(|| text.clone(), |grade| format!("{text}, grade {}", grade.name()));
        let interval = self.interval();
        Facts { id: self.row.id.clone(), value: summary.median, n: summary.n, interval, text }
    }

    /// The columns that [`Figure::cells`] fills.
    pub(super) fn columns(unit: Unit) -> Vec<Column> {
        vec![
            Column::number("Median").base(unit),
            Column::number("Lower end").base(unit),
            Column::number("Upper end").base(unit),
            Column::number("Samples"),
            Column::number("Peak").base(unit),
        ]
    }

    /// Median, interval, samples, peak.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let told = |value: Option<f64>| Cell::figure(value, |value| quantity(value, self.notation()));
        let interval = self.interval();
        vec![
            told(Some(self.value())),
            told(interval.map(|ends| ends[0])),
            told(interval.map(|ends| ends[1])),
            Cell::count(self.metric.summary.n),
            told(self.peak()),
        ]
    }

    /// The point of its median.
    pub(super) fn point(&self, x: f64, place: impl Into<String>) -> Point {
        Point {
            x,
            place: place.into(),
            y: self.value(),
            peak: self.peak(),
            is_hollow: self.is_doubtful(),
            cells: self.cells(),
            line: GridLine::of(self.row, Vec::new()),
            facts: self.facts(),
        }
    }

    /// The point of its efficiency.
    pub(super) fn efficiency_point(&self, x: f64, place: impl Into<String>) -> Option<Point> {
        let share = self.efficiency()?;
        let facts = Facts { value: share, interval: None, ..self.facts() };
        let cells = vec![Cell::share(Some(share)), Cell::count(self.metric.summary.n)];
        Some(Point { y: share, peak: None, cells, facts, ..self.point(x, place) })
    }
}

/// The columns of [`Figure::efficiency_point`].
pub(super) fn efficiency_columns() -> Vec<Column> {
    vec![Column::number("Of the peak"), Column::number("Samples")]
}

/// Figures that differ in their place on an axis alone, ascending by it.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    pub(super) figures: Vec<(f64, Figure<'a>)>,
}

impl<'a> Group<'a> {
    /// The row that stands for it in words: that of the first place.
    pub(super) fn first(&self) -> &'a Row {
        self.figures[0].1.row
    }

    /// As a line.
    pub(super) fn series(&self, name: String, look: usize, place: impl Fn(f64) -> String) -> Series {
        let points = self.figures.iter().map(|(x, figure)| figure.point(*x, place(*x))).collect();
        Series { name, look, joined: true, points, guide: Vec::new(), is_named_above: false }
    }
}

/// Figures by what `place` says they have in common (a text) and where they stand; of two at one place the first. In the
/// order of the document.
pub(super) fn grouped<'a>(
    figures: impl Iterator<Item = Figure<'a>>,
    place: impl Fn(&Row) -> Option<(String, f64)>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<(String, Group<'a>)> = Vec::new();
    for figure in figures {
        let Some((key, x)) = place(figure.row).filter(|(_, x)| is_drawable(*x)) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.figures.push((x, figure)),
            None => groups.push((key, Group { figures: vec![(x, figure)] })),
        }
    }
    let mut groups: Vec<Group<'a>> = groups.into_iter().map(|(_, group)| group).collect();
    for group in &mut groups {
        group.figures.sort_by(|one, other| one.0.total_cmp(&other.0));
        group.figures.dedup_by(|one, other| one.0.total_cmp(&other.0).is_eq());
    }
    groups
}

/// Names for rows that are drawn together, as short as tells them apart.
pub(super) fn names(rows: &[&Row], axis: Axis) -> Vec<String> {
    let common = Common::of(rows, axis);
    let labels: Vec<Label> = rows.iter().map(|row| Label::of(row, &common, axis)).collect();
    let tokens = |label: &Label| -> Vec<String> { label.how.split(", ").map(str::to_owned).collect() };
    let all: Vec<Vec<String>> = labels.iter().map(tokens).collect();
    let shared = |token: &String| all.len() > 1 && all.iter().all(|other| other.contains(token));
    let whats: Vec<String> = labels.iter().map(|label| label.what.clone()).collect();
    if is_distinct(&whats) {
        return whats;
    }
    let hows: Vec<String> = all
        .iter()
        .map(|own| own.iter().filter(|token| !shared(token)).cloned().collect::<Vec<_>>().join(", "))
        .collect();
    if is_distinct(&hows) && whats.iter().all(|what| *what == whats[0]) && hows.iter().all(|how| !how.is_empty()) {
        return hows;
    }
    // Without the pattern and the block, which come first, the rest is no more a part of what is done.
    let apart = |own: &[String]| rows.iter().all(|row| disk::params(row).is_some()) && own.first().is_some_and(shared);
    let named = whats.iter().zip(&hows).zip(&all).map(|((what, how), own)| match how.as_str() {
        "" => what.clone(),
        how if apart(own) => format!("{what}, {how}"),
        how => format!("{what} {how}"),
    });
    named.map(|name| name.trim().to_owned()).collect()
}

fn is_distinct(names: &[String]) -> bool {
    names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
}

/// Whether a chart over an axis says anything: at least one group of at least two places.
pub(super) fn lines(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    groups.into_iter().filter(|group| group.figures.len() > 1).collect()
}
