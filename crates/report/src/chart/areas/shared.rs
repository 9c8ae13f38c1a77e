//! The charts that several areas have.

use std::collections::BTreeSet;

use model::document::{Document, Row, Status};
use model::experiment::{Area, memory_id_names_working_set};
use model::reference::Reference;
use model::sample::MetricName;
use model::unit::Unit;

use crate::chart::dots::{DotKind, DotLine, DotMark, Dots};
use crate::chart::drawing::Chart;
use crate::chart::drawing::Head;
use crate::chart::figure::{self, Figure, Group, efficiency_columns, grouped, lines, names};
use crate::chart::plot::{Axis, Panel, Plot, Point, Series};
use crate::chart::scale::{Reading, is_drawable};
use crate::chart::svg::{Facts, Shape};
use crate::grid::value::{Cell, Column, GridLine};
use areas::label::{self, Axis as Places, Label, Workload, block_words, workload};
use areas::memory::label::{params as memory, without_block};
use model::number::{Notation, percent, quantity};

/// More lines than this are no picture.
pub(super) const MOST_LINES: usize = 10;
/// More things than this are no picture either.
const MOST_THINGS: usize = 16;

/// A chart of lines over an axis before its rows are chosen.
#[derive(Clone, Debug)]
pub(super) struct Over {
    pub(super) area: Area,
    pub(super) name: &'static str,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// What the rows of a line differ in.
    pub(super) places: Places,
    /// What a limit is called.
    pub(super) limit: &'static str,
}

/// What most limits are.
pub(super) const PEAK: &str = "theoretical peak";

impl Over {
    /// A line for each group, as far as they can be told apart in one drawing.
    pub(super) fn chart(&self, groups: Vec<Group<'_>>) -> Option<Chart> {
        let plot = self.plot(groups)?;
        plot.chart()
    }

    /// The same before it is drawn.
    pub(super) fn plot(&self, mut groups: Vec<Group<'_>>) -> Option<Plot> {
        groups.truncate(MOST_LINES);
        let rows: Vec<&Row> = groups.iter().map(Group::first).collect();
        let unit = groups.first()?.figures.first()?.1.metric.unit;
        let mut plot = self.empty(Figure::columns(unit));
        let places = self.places;
        let series = groups.iter().zip(names(&rows, places)).enumerate();
        let series = series.map(|(look, (group, name))| group.series(name, look, |x| place(places, x))).collect();
        plot.panels.push(Panel { series, ..Panel::default() });
        Some(plot)
    }

    fn empty(&self, columns: Vec<Column>) -> Plot {
        let mut plot = Plot::new(Some(self.area), self.name, &self.title, self.x.clone(), self.y.clone());
        plot.head.about.clone_from(&self.about);
        self.limit.clone_into(&mut plot.head.peak);
        plot.head.columns = columns;
        plot
    }

    /// Of each group the share of its peak that was reached, and what the tools beside it reached of the same peak.
    pub(super) fn efficiencies(&self, mut groups: Vec<Group<'_>>) -> Option<Chart> {
        groups.truncate(MOST_LINES);
        let rows: Vec<&Row> = groups.iter().map(Group::first).collect();
        let mut plot = self.empty(efficiency_columns());
        let mut series: Vec<Series> = Vec::new();
        for (group, name) in groups.iter().zip(names(&rows, self.places)) {
            let point = |(x, figure): &(f64, Figure<'_>)| figure.efficiency_point(*x, place(self.places, *x));
            push(&mut series, name.clone(), group.figures.iter().filter_map(point).collect());
            for tool in tools(group) {
                let point = |(x, figure): &(f64, Figure<'_>)| tool_share(figure, tool, *x, self.places);
                push(&mut series, format!("{name}, {tool}"), group.figures.iter().filter_map(point).collect());
            }
        }
        plot.panels.push(Panel { series, ..Panel::default() });
        plot.chart()
    }
}

fn push(series: &mut Vec<Series>, name: String, points: Vec<Point>) {
    if !points.is_empty() {
        series.push(Series {
            name,
            look: series.len(),
            joined: true,
            points,
            guide: Vec::new(),
            is_named_above: false,
        });
    }
}

/// The tools that measured beside any row of a group.
fn tools<'a>(group: &Group<'a>) -> Vec<&'a str> {
    let all = group.figures.iter().flat_map(|(_, figure)| measured_beside(figure)).map(|(tool, _)| tool.tool.as_str());
    let all: BTreeSet<&str> = all.collect();
    all.into_iter().collect()
}

/// The tools that measured beside a row, with their medians.
fn measured_beside<'a>(figure: &Figure<'a>) -> impl Iterator<Item = (&'a Reference, f64)> + use<'a> {
    let ok = figure.metric.references.iter().filter(|reference| reference.status == Status::Ok);
    ok.filter_map(|reference| Some((reference, reference.median.filter(|median| is_drawable(*median))?)))
}

fn tool_share(figure: &Figure<'_>, tool: &str, x: f64, places: Places) -> Option<Point> {
    let (reference, median) = measured_beside(figure).find(|(reference, _)| reference.tool == tool)?;
    let share = Some(median / figure.peak()?).filter(|share| is_drawable(*share))?;
    let n = u32::try_from(reference.samples.len()).unwrap_or(u32::MAX);
    let text = format!(
        "{}, {}: {} of the same peak, n={n}",
        Label::sentence(figure.row),
        tool_words(reference),
        percent(share)
    );
    Some(Point {
        y: share,
        peak: None,
        cells: vec![Cell::share(Some(share)), Cell::count(n)],
        facts: Facts { value: share, n, interval: None, text, id: figure.row.id.clone() },
        ..figure.point(x, place(places, x))
    })
}

fn tool_words(reference: &Reference) -> String {
    reference.version.as_ref().map_or_else(|| reference.tool.clone(), |version| format!("{} {version}", reference.tool))
}

/// A place on an axis of counts in words.
pub(super) fn place(places: Places, x: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u32")]
    places.words(x as u32)
}

/// Measured rows of an area.
pub(super) fn rows_of(document: &Document, area: Area) -> impl Iterator<Item = &Row> {
    document.experiments.iter().filter(move |row| row.area == area)
}

/// The figures of one metric in an area.
pub(super) fn figures(document: &Document, area: Area, metric: MetricName) -> impl Iterator<Item = Figure<'_>> {
    rows_of(document, area).filter_map(move |row| Figure::of(row, metric))
}

/// Where a row stands by its threads, and what it shares with those that differ in nothing else.
#[expect(clippy::unnecessary_wraps, reason = "a place as `grouped` wants it, and not every row has every place")]
pub(super) fn by_threads(row: &Row) -> Option<(String, f64)> {
    Some((label::stem_of(row), f64::from(row.params.threads())))
}

/// The block that a row works in.
pub(super) fn block(row: &Row) -> Option<u64> {
    workload(row)?.block
}

/// Whether a row is a point of a curve over working sets.
pub(super) fn is_of_curve(row: &Row) -> bool {
    memory(row).is_some_and(|params| memory_id_names_working_set(&row.id, params))
}

/// Where a row stands by its block, and what it shares with those that differ in nothing else.
pub(super) fn by_block(row: &Row) -> Option<(String, f64)> {
    let Workload { key, block } = workload(row)?;
    Some((format!("{key} {}", row.params.threads()), block.filter(|block| *block > 0)? as f64))
}

/// Of each workload the block of one group alone: that which `better` prefers.
pub(super) fn one_block<'a>(groups: Vec<Group<'a>>, better: impl Fn(&Group<'a>, &Group<'a>) -> bool) -> Vec<Group<'a>> {
    let mut kept: Vec<(Option<String>, Group<'a>)> = Vec::new();
    for group in groups {
        let own = workload(group.first()).map(|own| own.key);
        match kept.iter_mut().find(|(other, _)| own.is_some() && *other == own) {
            Some((_, other)) if better(&group, other) => *other = group,
            Some(_) => {}
            None => kept.push((own, group)),
        }
    }
    kept.into_iter().map(|(_, group)| group).collect()
}

/// Lines over threads.
pub(super) fn by_thread_lines<'a>(all: &[Figure<'a>]) -> Vec<Group<'a>> {
    lines(grouped(all.iter().copied(), by_threads))
}

/// The figures whose rows differ from another's in their block alone.
pub(super) fn with_other_blocks<'a>(all: &[Figure<'a>]) -> Vec<Figure<'a>> {
    let groups = lines(grouped(all.iter().copied(), by_block)).into_iter();
    groups.flat_map(|group| group.figures).map(|(_, figure)| figure).collect()
}

/// The figures of those rows for which something holds.
pub(super) fn only<'a>(all: &[Figure<'a>], holds: impl Fn(&Row) -> bool) -> Vec<Figure<'a>> {
    all.iter().filter(|figure| holds(figure.row)).copied().collect()
}

/// The group whose best figure is higher.
pub(super) fn is_faster(one: &Group<'_>, other: &Group<'_>) -> bool {
    let best = |group: &Group<'_>| group.figures.iter().map(|(_, figure)| figure.value()).fold(f64::MIN, f64::max);
    best(one) > best(other)
}

/// The group whose block is smaller.
pub(super) fn is_finer(one: &Group<'_>, other: &Group<'_>) -> bool {
    block(one.first()) < block(other.first())
}

/// A chart over blocks: a panel for each workload, a line for each number of threads.
pub(super) fn over_blocks(over: &Over, figures: Vec<Figure<'_>>) -> Option<Chart> {
    let unit = figures.first()?.metric.unit;
    let groups = lines(grouped(figures.into_iter(), by_block));
    let mut counts: Vec<u32> = groups.iter().map(|group| group.first().params.threads()).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut panels: Vec<(Option<String>, Vec<Group<'_>>)> = Vec::new();
    for group in groups {
        let own = workload(group.first()).map(|own| own.key);
        match panels.iter_mut().find(|(other, _)| *other == own) {
            Some((_, groups)) => groups.push(group),
            None => panels.push((own, vec![group])),
        }
    }
    // Whatever is beyond that is in the tables.
    panels.truncate(9);
    let firsts: Vec<&Row> = panels.iter().map(|(_, groups)| groups[0].first()).collect();
    let titles = workload_names(&firsts, over.places);
    let mut plot = over.empty(Figure::columns(unit));
    for ((_, mut groups), title) in panels.into_iter().zip(titles) {
        groups.sort_by_key(|group| group.first().params.threads());
        let series = groups.iter().map(|group| {
            let threads = group.first().params.threads();
            let look = counts.iter().position(|count| *count == threads).unwrap_or(0);
            group.series(over.places.words(threads), look, bytes_words)
        });
        plot.panels.push(Panel { title, series: series.collect(), zones: Vec::new() });
    }
    plot.chart()
}

fn bytes_words(bytes: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u64")]
    block_words(bytes as u64)
}

/// The names of workloads without their blocks.
fn workload_names(rows: &[&Row], places: Places) -> Vec<String> {
    let bare: Vec<Row> = rows.iter().map(|row| without_block(row)).collect();
    let labels = figure::names(&bare.iter().collect::<Vec<_>>(), places);
    let without = |(row, name): (&&Row, String)| match block(row).map(block_words) {
        Some(block) => name.replace(&format!(" {block}"), ""),
        None => name,
    };
    rows.iter().zip(labels).map(without).collect()
}

/// Ours, the tools' and the limit of each row side by side; `None` where nothing stands beside any of them.
pub(super) fn sides(head: Head, figures: &[Figure<'_>]) -> Option<Chart> {
    let beside = |figure: &&Figure<'_>| figure.peak().is_some() || measured_beside(figure).next().is_some();
    let mut shown: Vec<Figure<'_>> = figures.iter().filter(beside).copied().collect();
    // Where not all have room, those with a tool beside them come first.
    shown.sort_by_key(|figure| measured_beside(figure).next().is_none());
    shown.truncate(MOST_THINGS);
    // Beside integer operations those of floating point are operations too; they are no flop.
    let leading = shown.iter().find(|figure| figure.metric.unit == Unit::OpPerSecond).or(shown.first())?;
    let (notation, unit) = (leading.notation(), leading.metric.unit);
    let tools: BTreeSet<String> =
        shown.iter().flat_map(measured_beside).map(|(reference, _)| reference.tool.clone()).collect();
    let tools: Vec<String> = tools.into_iter().collect();
    let shapes = [Shape::Diamond, Shape::Triangle, Shape::Square, Shape::Down, Shape::Plus, Shape::Cross];
    let mut kinds = vec![kind("Assay", Shape::Circle, Some(0)), kind(&head.peak, Shape::Bar, None)];
    kinds.extend(tools.iter().enumerate().map(|(index, tool)| kind(tool, shapes[index % shapes.len()], Some(1))));
    let rows: Vec<&Row> = shown.iter().map(|figure| figure.row).collect();
    let lines = shown.iter().zip(things(&rows)).map(|(figure, label)| {
        let mut marks = vec![own(figure, 0)];
        marks.extend(limit(figure, 1));
        for (reference, median) in measured_beside(figure) {
            let which = tools.iter().position(|tool| *tool == reference.tool).unwrap_or(0);
            marks.push(theirs(figure, reference, median, which + 2));
        }
        let note = figure.efficiency().map_or_else(String::new, percent);
        DotLine { label, note, marks, samples: Vec::new() }
    });
    let lines = lines.collect();
    let axis = Axis::new(axis_title(unit), Reading::Auto(notation));
    let mut head = head;
    head.columns = figure_columns(unit);
    Dots { head, axis, kinds, lines, spanned: true }.chart()
}

/// What an axis of this unit is called.
pub(super) const fn axis_title(unit: Unit) -> &'static str {
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

/// A kind of mark.
pub(super) fn kind(name: &str, shape: Shape, tone: Option<usize>) -> DotKind {
    DotKind { name: name.to_owned(), shape, tone }
}

/// The columns of a table of single figures.
pub(super) fn figure_columns(unit: Unit) -> Vec<Column> {
    vec![
        Column::number("Value").base(unit),
        Column::number("Lower end").base(unit),
        Column::number("Upper end").base(unit),
        Column::number("Samples"),
    ]
}

fn cells(value: f64, interval: Option<[f64; 2]>, n: u32, notation: Notation) -> Vec<Cell> {
    let told = |value: Option<f64>| Cell::figure(value, |value| quantity(value, notation));
    let count = if n == 0 { Cell::absent() } else { Cell::count(n) };
    vec![told(Some(value)), told(interval.map(|ends| ends[0])), told(interval.map(|ends| ends[1])), count]
}

/// The mark of a row's own figure.
pub(super) fn own(figure: &Figure<'_>, kind: usize) -> DotMark {
    let facts = figure.facts();
    DotMark {
        kind,
        at: figure.value(),
        is_hollow: figure.is_doubtful(),
        interval: facts.interval,
        cells: cells(facts.value, facts.interval, facts.n, figure.notation()),
        line: GridLine::of(figure.row, Vec::new()),
        facts,
    }
}

/// The mark of a row's limit.
pub(super) fn limit(figure: &Figure<'_>, kind: usize) -> Option<DotMark> {
    let value = figure.peak()?;
    let text = format!("{}: at most {}", Label::sentence(figure.row), quantity(value, figure.notation()));
    Some(mark(figure, kind, value, text))
}

/// A mark of another value that belongs to a row.
pub(super) fn mark(figure: &Figure<'_>, kind: usize, value: f64, text: String) -> DotMark {
    let facts = Facts { id: figure.row.id.clone(), value, n: 0, interval: None, text };
    DotMark {
        kind,
        at: value,
        is_hollow: false,
        interval: None,
        cells: cells(value, None, 0, figure.notation()),
        line: GridLine { id: Some(figure.row.id.clone()), cells: Vec::new(), grade: None },
        facts,
    }
}

fn theirs(figure: &Figure<'_>, reference: &Reference, median: f64, kind: usize) -> DotMark {
    let n = u32::try_from(reference.samples.len()).unwrap_or(u32::MAX);
    let value = quantity(median, figure.notation());
    let text = format!("{}, {}: {value}, n={n}", Label::sentence(figure.row), tool_words(reference));
    let mut mark = mark(figure, kind, median, text);
    mark.facts.n = n;
    mark.cells = cells(median, None, n, figure.notation());
    mark
}

/// Names for things that stand below each other, as short as tells them apart; threads are said where they differ.
pub(super) fn things(rows: &[&Row]) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let axis = Places::of(first.area, rows);
    let names = names(rows, axis);
    let differ = rows.iter().any(|row| axis.position(row) != axis.position(first));
    let told = |(row, name): (&&Row, String)| {
        if differ { format!("{name}, {}", axis.words(axis.position(row))) } else { name }
    };
    rows.iter().zip(names).map(told).collect()
}

/// Of rows that differ in nothing but their threads those with the most.
pub(super) fn widest<'a>(figures: impl Iterator<Item = Figure<'a>>) -> Vec<Figure<'a>> {
    let groups = grouped(figures, by_threads);
    groups.into_iter().filter_map(|mut group| group.figures.pop()).map(|(_, figure)| figure).collect()
}

/// A sample farther above its row's median than this stands at the end of the axis: one that is hundreds of times the
/// median would leave no room to tell the others apart.
const FARTHEST: f64 = 1.0;

/// Every sample of some rows about their medians.
pub(super) fn samples(area: Area, name: &str, figures: &[Figure<'_>]) -> Option<Chart> {
    let shown: Vec<Figure<'_>> = figures
        .iter()
        .filter(|figure| figure.value() > 0.0 && figure.metric.samples.len() > 1)
        .take(MOST_THINGS)
        .copied()
        .collect();
    let rows: Vec<&Row> = shown.iter().map(|figure| figure.row).collect();
    let is_far = |figure: &Figure<'_>| {
        let ends = figure.interval().into_iter().flatten();
        let values = figure.metric.samples.iter().map(|sample| sample.value).chain(ends);
        values.filter(|value| value.is_finite()).any(|value| value / figure.value() - 1.0 > FARTHEST)
    };
    let some_are_far = shown.iter().any(is_far);
    let lines = shown.iter().zip(things(&rows)).map(|(figure, label)| {
        let median = figure.value();
        let about = |value: f64| (value / median - 1.0).min(FARTHEST);
        let samples = figure.metric.samples.iter().map(|sample| about(sample.value));
        let mut own = own(figure, 0);
        own.at = 0.0;
        own.interval = figure.interval().map(|ends| ends.map(about));
        let note = quantity(median, figure.notation());
        DotLine { label, note, marks: vec![own], samples: samples.filter(|value| is_drawable(*value)).collect() }
    });
    let lines: Vec<DotLine> = lines.collect();
    let mut head = Head::new(Some(area), name, "How steady were the samples?");
    head.about = "Every sample of some rows as a dot, by how far it is from the row's median, with the median's 95 % \
                  interval; the median itself stands at the end of each line."
        .into();
    if some_are_far {
        head.about.push_str(" What is more than twice the median stands at the end of the axis.");
    }
    head.columns = figure_columns(Unit::One);
    for column in &mut head.columns {
        column.base.clear();
    }
    let kinds = vec![kind("median with its 95 % interval", Shape::Circle, Some(1))];
    let axis = Axis::new("Difference from the row's median", Reading::Difference);
    Dots { head, axis, kinds, lines, spanned: false }.chart()
}

/// The percentiles that a histogram gives, in order.
const PERCENTILES: [&str; 6] = ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "slowest"];

/// Latency percentiles of some rows.
pub(super) fn percentiles(area: Area, name: &str, title: &str, figures: &[Figure<'_>]) -> Option<Chart> {
    let with: Vec<Figure<'_>> =
        figures.iter().filter(|figure| figure.metric.summary.percentiles.is_some()).take(8).copied().collect();
    let rows: Vec<&Row> = with.iter().map(|figure| figure.row).collect();
    let steps = PERCENTILES.iter().map(|&name| name.to_owned()).collect();
    let x = Axis::new("Share of the operations that were at least as fast", Reading::Steps(steps));
    let y = Axis::new("Latency", Reading::Log(Unit::Second.into()));
    let mut plot = Plot::new(Some(area), name, title, x, y);
    plot.head.about =
        "Latency percentiles over all operations of all repetitions, a line for each row; the latency is on a \
                       logarithmic axis."
            .into();
    plot.head.columns = vec![Column::number("Latency").base(Unit::Second), Column::number("Operations")];
    let series = with.iter().zip(things(&rows)).enumerate().filter_map(|(look, (figure, name))| {
        let of = figure.metric.summary.percentiles?;
        let values = [of.p50, of.p90, of.p99, of.p99_9, of.p99_99, of.max];
        let points = values.into_iter().zip(PERCENTILES).enumerate().filter(|(_, (value, _))| is_drawable(*value));
        let point = |(index, (value, share)): (usize, (f64, &str))| {
            let told = quantity(value, Unit::Second);
            let which = if share == "slowest" { "the slowest".to_owned() } else { format!("{share} at most") };
            let text = format!("{}: {which} {told}, {} operations", Label::sentence(figure.row), of.count);
            let facts = Facts { id: figure.row.id.clone(), value, n: 0, interval: None, text };
            let cells = vec![Cell::figure(Some(value), |_| told), Cell::count(of.count)];
            Point { y: value, peak: None, cells, facts, ..figure.point(index as f64, share) }
        };
        Some(Series {
            name,
            look,
            joined: true,
            points: points.map(point).collect(),
            guide: Vec::new(),
            is_named_above: false,
        })
    });
    let series = series.collect();
    plot.panels.push(Panel { series, ..Panel::default() });
    plot.chart()
}
