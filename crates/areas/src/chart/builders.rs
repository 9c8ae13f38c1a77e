//! The charts that several areas have, each with the area's words and results as arguments.

use std::collections::BTreeSet;

use model::document::Row;
use model::experiment::{Area, memory_id_names_working_set};
use model::number::{percent, quantity};
use model::unit::Unit;

use super::data::{
    Body, Chart, ChartAxis, DotKind, DotLine, Dots, Mark, Panel, Plot, Point, Reading, Series, Shape, is_drawable,
};
use super::grid::{Cell, Column};
use super::measured::{
    Curve, Measured, by_key, by_threads, curves, dot, efficiency_columns, list_names, median_columns, names,
    value_columns,
};
use crate::label::{Axis, Workload, block_words, stem_of, workload};
use crate::memory::label::{params as memory, without_block};

const MOST_LINES: usize = 10;
const MOST_PANELS: usize = 9;
const MOST_LISTED: usize = 16;
const MOST_TAILS: usize = 8;
pub(crate) const PEAK: &str = "theoretical peak";

impl Chart {
    pub(crate) fn new(area: Area, [name, title, about]: [&'static str; 3], columns: Vec<Column>, body: Body) -> Self {
        Self { name, area: Some(area), title: title.to_owned(), about: about.to_owned(), columns, body }
    }
}

impl Plot {
    pub(crate) fn single(x: ChartAxis, y: ChartAxis, series: Vec<Series>) -> Self {
        Self { x, y, limit: PEAK, panels: vec![Panel { series, ..Panel::default() }] }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    pub(crate) area: Area,
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) x: ChartAxis,
    pub(crate) y: ChartAxis,
    /// What the results of a line differ in.
    pub(crate) places: Axis,
    pub(crate) limit: &'static str,
}

impl Over {
    fn chart(&self, columns: Vec<Column>, panels: Vec<Panel>) -> Chart {
        let body = Body::Plot(Plot { x: self.x, y: self.y, limit: self.limit, panels });
        Chart::new(self.area, [self.name, self.title, self.about], columns, body)
    }

    fn place(&self, x: f64) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u32")]
        self.places.words(x as u32)
    }

    pub(crate) fn medians(&self, mut curves: Vec<Curve<'_>>) -> Option<Chart> {
        curves.truncate(MOST_LINES);
        let unit = curves.first()?.points.first()?.1.metric.unit;
        let series = curve_names(&curves, self.places).into_iter().zip(&curves).enumerate();
        let series = series.map(|(look, (name, curve))| curve.series(name, look, |x| self.place(x))).collect();
        Some(self.chart(median_columns(Some(unit)), vec![Panel { series, ..Panel::default() }]))
    }

    /// The efficiencies of each curve, and those of the reference tools against the same limit.
    pub(crate) fn efficiencies(&self, mut curves: Vec<Curve<'_>>) -> Chart {
        curves.truncate(MOST_LINES);
        let mut series: Vec<Series> = Vec::new();
        let mut push = |name: String, points: Vec<Point>| {
            if !points.is_empty() {
                series.push(Series::line(name, series.len(), points));
            }
        };
        for (name, curve) in curve_names(&curves, self.places).into_iter().zip(&curves) {
            let own = curve.points.iter().filter_map(|(x, measured)| {
                let mark = Mark { value: measured.efficiency()?, ..measured.mark() };
                Some(measured.share_point(*x, self.place(*x), mark))
            });
            push(name.clone(), own.collect());
            let tools = curve.points.iter().flat_map(|(_, measured)| measured.references());
            for tool in tools.map(|(reference, _)| reference.tool.as_str()).collect::<BTreeSet<_>>() {
                let shares = curve.points.iter().filter_map(|(x, measured)| {
                    let (reference, median) = measured.references().find(|(reference, _)| reference.tool == tool)?;
                    let share = Some(median / measured.limit()?).filter(|share| is_drawable(*share))?;
                    let text = format!("{} of the same peak", percent(share));
                    let mark = measured.reference_mark(reference, share, &text);
                    Some(measured.share_point(*x, self.place(*x), mark))
                });
                push(format!("{name}, {tool}"), shares.collect());
            }
        }
        self.chart(efficiency_columns(), vec![Panel { series, ..Panel::default() }])
    }

    /// The medians over blocks: a panel for each workload, a line for each number of threads.
    pub(crate) fn blocks(&self, all: &[Measured<'_>]) -> Option<Chart> {
        let curves = curves(all, 2, by_block);
        let unit = curves.first()?.points.first()?.1.metric.unit;
        let threads = |curve: &Curve<'_>| curve.first().params.threads();
        let counts: BTreeSet<u32> = curves.iter().map(threads).collect();
        let mut panels = by_key(curves, |curve| Some(workload(curve.first()).map(|own| own.key)));
        panels.truncate(MOST_PANELS);
        let firsts: Vec<&Row> = panels.iter().map(|(_, curves)| curves[0].first()).collect();
        let titles = workload_names(&firsts, self.places);
        let panels = panels.into_iter().zip(titles).map(|((_, mut curves), title)| {
            curves.sort_by_key(threads);
            let series = curves.iter().map(|curve| {
                let look = counts.iter().position(|count| *count == threads(curve)).unwrap_or(0);
                curve.series(self.places.words(threads(curve)), look, bytes_words)
            });
            Panel { title, series: series.collect(), zones: Vec::new() }
        });
        Some(self.chart(median_columns(Some(unit)), panels.collect()))
    }
}

fn curve_names(curves: &[Curve<'_>], places: Axis) -> Vec<String> {
    names(&curves.iter().map(Curve::first).collect::<Vec<_>>(), places)
}

pub(crate) fn bytes_words(bytes: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u64")]
    block_words(bytes as u64)
}

fn workload_names(rows: &[&Row], places: Axis) -> Vec<String> {
    let bare: Vec<Row> = rows.iter().map(|row| without_block(row)).collect();
    let named = rows.iter().zip(names(&bare.iter().collect::<Vec<_>>(), places));
    let without = named.map(|(row, name)| match workload(row).and_then(|own| own.block) {
        Some(block) => name.replace(&format!(" {}", block_words(block)), ""),
        None => name,
    });
    without.collect()
}

pub(crate) fn is_of_curve(row: &Row) -> bool {
    memory(row).is_some_and(|params| memory_id_names_working_set(&row.id, params))
}

fn by_block(row: &Row) -> Option<(String, f64)> {
    let Workload { key, block } = workload(row)?;
    Some((format!("{key} {}", row.params.threads()), block.filter(|block| *block > 0)? as f64))
}

pub(crate) fn over_threads<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    curves(all, 2, by_threads)
}

/// Curves over threads: of each workload only the block with the highest value.
pub(crate) fn at_best_block<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    let best = |curve: &Curve<'_>| curve.points.iter().map(|(_, own)| own.value()).fold(f64::MIN, f64::max);
    at_one_block(all, |one, other| best(one) > best(other))
}

/// Curves over threads: of each workload only the smallest block.
pub(crate) fn at_smallest_block<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    let block = |curve: &Curve<'_>| workload(curve.first()).and_then(|own| own.block);
    at_one_block(all, |one, other| block(one) < block(other))
}

fn at_one_block<'a>(all: &[Measured<'a>], is_better: impl Fn(&Curve<'a>, &Curve<'a>) -> bool) -> Vec<Curve<'a>> {
    let key = |curve: &Curve<'_>| Some(workload(curve.first()).map_or_else(|| stem_of(curve.first()), |own| own.key));
    let chosen = by_key(over_threads(all), key).into_iter().filter_map(|(_, curves)| {
        curves.into_iter().reduce(|kept, other| if is_better(&other, &kept) { other } else { kept })
    });
    chosen.collect()
}

pub(crate) const fn axis_title(unit: Unit) -> &'static str {
    match unit {
        Unit::FlopPerSecond | Unit::OpPerSecond => "Operations per second",
        Unit::BytePerSecond => "Throughput",
        Unit::Second => "Time",
        Unit::PerSecond => "Operations per second completed",
        Unit::Hertz => "Clock",
        Unit::SecondPerByte => "CPU time per byte",
        Unit::One => "Value",
    }
}

pub(crate) fn kind(name: &str, shape: Shape, tone: Option<usize>) -> DotKind {
    DotKind { name: name.to_owned(), shape, tone }
}

pub(crate) fn kinds(names: &[&str]) -> Vec<DotKind> {
    let shapes = [Shape::Circle, Shape::Square, Shape::Triangle];
    names.iter().zip(shapes).enumerate().map(|(tone, (name, shape))| kind(name, shape, Some(tone))).collect()
}

pub(crate) fn side_by_side(
    axis: ChartAxis,
    kinds: Vec<DotKind>,
    groups: &[Vec<(usize, Measured<'_>)>],
    labels: Vec<String>,
) -> Body {
    let lines = groups.iter().zip(labels).map(|(group, label)| {
        let marks = group.iter().map(|(kind, measured)| measured.dot(*kind)).collect();
        DotLine { label, marks, ..DotLine::default() }
    });
    Body::Dots(Dots { axis, kinds, lines: lines.collect(), spanned: true })
}

/// Each result with its limit and the values of reference tools; `None` where no result has either.
pub(crate) fn sides(area: Area, words: [&'static str; 3], limit: &str, all: &[Measured<'_>]) -> Option<Chart> {
    let has_references = |measured: &Measured<'_>| measured.references().next().is_some();
    let has_sides = |measured: &&Measured<'_>| measured.limit().is_some() || has_references(measured);
    let mut shown: Vec<Measured<'_>> = all.iter().filter(has_sides).copied().collect();
    shown.sort_by_key(|measured| !has_references(measured));
    shown.truncate(MOST_LISTED);
    // Floating-point operations are operations too; integer operations are no flop.
    let leading = shown.iter().find(|measured| measured.metric.unit == Unit::OpPerSecond).or(shown.first())?;
    let unit = leading.metric.unit;
    let axis = ChartAxis::new(axis_title(unit), Reading::Auto(leading.notation()));
    let references = shown.iter().flat_map(Measured::references);
    let tools: Vec<&str> =
        references.map(|(reference, _)| reference.tool.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let shapes = [Shape::Diamond, Shape::Triangle, Shape::Square, Shape::Down, Shape::Plus, Shape::Cross];
    let mut kinds = vec![kind("Assay", Shape::Circle, Some(0)), kind(limit, Shape::Bar, None)];
    kinds.extend(tools.iter().zip(shapes.into_iter().cycle()).map(|(tool, shape)| kind(tool, shape, Some(1))));
    let lines = shown.iter().zip(list_names(&shown)).map(|(measured, label)| {
        let references = measured.references().map(|(reference, median)| {
            let which = tools.iter().position(|tool| *tool == reference.tool).unwrap_or(0);
            let value = quantity(median, measured.notation());
            dot(which + 2, measured.reference_mark(reference, median, &value))
        });
        let marks = [measured.dot(0)].into_iter().chain(measured.limit_dot(1)).chain(references).collect();
        let note = measured.efficiency().map_or_else(String::new, percent);
        DotLine { label, note, marks, samples: Vec::new() }
    });
    let body = Body::Dots(Dots { axis, kinds, lines: lines.collect(), spanned: true });
    Some(Chart::new(area, words, value_columns("Value", Some(unit)), body))
}

/// A sample farther above the median than this is drawn at the end of the axis, so that the other samples stay apart.
const FARTHEST: f64 = 1.0;

pub(crate) fn samples(name: &'static str, all: &[Measured<'_>]) -> Option<Chart> {
    let has_samples = |measured: &&Measured<'_>| measured.value() > 0.0 && measured.metric.samples.len() > 1;
    let shown: Vec<Measured<'_>> = all.iter().filter(has_samples).take(MOST_LISTED).copied().collect();
    let is_far = |measured: &Measured<'_>| {
        let ends = measured.interval().into_iter().flatten();
        let values = measured.metric.samples.iter().map(|sample| sample.value).chain(ends);
        values.filter(|value| value.is_finite()).any(|value| value / measured.value() - 1.0 > FARTHEST)
    };
    let lines = shown.iter().zip(list_names(&shown)).map(|(measured, label)| {
        let median = measured.value();
        let about = |value: f64| (value / median - 1.0).min(FARTHEST);
        let samples = measured.metric.samples.iter().map(|sample| about(sample.value));
        let mut own = measured.dot(0);
        (own.at, own.interval) = (0.0, own.interval.map(|ends| ends.map(about)));
        let note = quantity(median, measured.notation());
        DotLine { label, note, marks: vec![own], samples: samples.filter(|value| is_drawable(*value)).collect() }
    });
    let axis = ChartAxis::new("Difference from the result's median", Reading::Difference);
    let kinds = vec![kind("median with its 95 % interval", Shape::Circle, Some(1))];
    let body = Body::Dots(Dots { axis, kinds, lines: lines.collect(), spanned: false });
    let about = "Every sample of some results as a dot, relative to the result's median, with the median's 95 % \
                 interval; the end of each line has the median.";
    let words = [name, "How steady were the samples?", about];
    let mut chart = Chart::new(shown.first()?.row.area, words, value_columns("Value", None), body);
    if shown.iter().any(is_far) {
        chart.about.push_str(" Samples above twice the median are at the end of the axis.");
    }
    Some(chart)
}

const PERCENTILES: [&str; 6] = ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "slowest"];

pub(crate) fn percentiles(area: Area, name: &'static str, title: &'static str, all: &[Measured<'_>]) -> Chart {
    let has = |measured: &&Measured<'_>| measured.metric.summary.percentiles.is_some();
    let shown: Vec<Measured<'_>> = all.iter().filter(has).take(MOST_TAILS).copied().collect();
    let series = shown.iter().zip(list_names(&shown)).enumerate().filter_map(|(look, (measured, name))| {
        let of = measured.metric.summary.percentiles?;
        let values = [of.p50, of.p90, of.p99, of.p99_9, of.p99_99, of.max];
        let points = values.into_iter().zip(PERCENTILES).enumerate().filter(|(_, (value, _))| is_drawable(*value));
        let point = |(index, (value, share)): (usize, (f64, &str))| {
            let latency = quantity(value, Unit::Second);
            let which = if share == "slowest" { "the slowest".to_owned() } else { format!("{share} at most") };
            let mark = measured.other_mark(value, 0, &format!(": {which} {latency}, {} operations", of.count));
            let cells = vec![Cell::number(Some(value), |_| latency), Cell::count(of.count)];
            let mark = Mark { confidence: measured.row.confidence, cells, ..mark };
            Point { x: index as f64, place: share.to_owned(), y: value, limit: None, mark }
        };
        Some(Series::line(name, look, points.map(point).collect()))
    });
    let x = ChartAxis::new("Share of the operations that were at least as fast", Reading::Steps(&PERCENTILES));
    let body = Body::Plot(Plot::single(x, ChartAxis::log("Latency", Unit::Second), series.collect()));
    let about =
        "Latency percentiles over all operations of all samples, a line for each result, on a logarithmic axis.";
    let columns = vec![Column::number("Latency").base(Unit::Second), Column::number("Operations")];
    Chart::new(area, [name, title, about], columns, body)
}
