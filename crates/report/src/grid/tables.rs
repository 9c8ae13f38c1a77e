//! The tables of loads, reference tools, peaks and warnings: each heading next to the cell that it is of.

use std::cmp::Reverse;

use model::document::{Document, Row, Status};
use model::experiment::{Area, DiskParams};
use model::peak::{Peak, PeakInput};
use model::reference::{Reference, Verdict};
use model::sample::{Metric, MetricName, Percentiles};
use model::unit::Unit;
use model::warning::Warning;

use super::groups::grouped;
use crate::reason::{NO_REASON, kind_words, reason_words};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::disk::label::{other_words, params, sync_words};
use areas::label::{Label, area_title, block_words};
use model::number::{Notation, UnitScale, quantity};

/// A column of a table over items of a kind, and its cell for an item.
type ColumnOf<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

/// A table whose lines are those of these items; `line` makes one of an item and its cells.
fn table<T, const N: usize>(
    (name, area, title): (String, Option<Area>, String),
    columns: [ColumnOf<'_, T>; N],
    items: impl IntoIterator<Item = T>,
    line: impl Fn(&T, Vec<Cell>) -> GridLine,
) -> Grid {
    let cells = |item: T| line(&item, columns.iter().map(|(_, cell)| cell(&item)).collect());
    let lines = items.into_iter().map(cells).collect();
    Grid { lines, ..Grid::new(name, area, title, columns.map(|(column, _)| column).into()) }
}

/// Latency of a disk by offered load.
pub(super) fn loads(area: Area, rows: &[&Row]) -> Grid {
    let time = |row: &Row, of: fn(&Percentiles) -> f64| {
        let latency = row.metric(MetricName::Latency).and_then(|latency| latency.summary.percentiles);
        Cell::seconds(latency.as_ref().map(of))
    };
    let rate = |row: &Row| row.metric(MetricName::Iops).map(|rate| rate.summary.median);
    let late = |row: &Row| row.conditions.disk.as_ref().and_then(|seen| seen.late_share);
    let columns: [ColumnOf<'_, (&Row, &DiskParams, u32)>; 9] = [
        (Column::text("What"), &|(_, own, _)| Cell::text(load_words(own))),
        (Column::number("Depth"), &|(_, own, _)| Cell::count(own.depth)),
        (Column::number("Threads"), &|(_, own, _)| Cell::count(own.threads)),
        (Column::number("Load").base(Unit::One), &|(.., load)| {
            Cell::number(Some(f64::from(*load) / 100.0), |_| format!("{load} %"))
        }),
        (Column::number("Rate").base(Unit::PerSecond), &|(row, ..)| {
            Cell::number(rate(row), |rate| quantity(rate, Notation::Iops))
        }),
        (Column::number("p50").base(Unit::Second), &|(row, ..)| time(row, |found| found.p50)),
        (Column::number("p99").base(Unit::Second), &|(row, ..)| time(row, |found| found.p99)),
        (Column::number("p99.9").base(Unit::Second), &|(row, ..)| time(row, |found| found.p99_9)),
        (Column::number("Began late").base(Unit::One), &|(row, ..)| Cell::share(late(row))),
    ];
    let loads = rows.iter().filter(|row| row.status == Status::Ok).filter_map(|row| {
        let own = params(row)?;
        Some((*row, own, own.load_percent?))
    });
    let title = format!("{}: latency by offered load", area_title(area));
    let mut grid = table((format!("{area}-loads"), Some(area), title), columns, loads, |(row, ..), cells| {
        GridLine::of(row, cells)
    });
    if !grid.lines.is_empty() {
        grid.notes.push(LOADS_NOTE.to_owned());
    }
    grid
}

const LOADS_NOTE: &str = "Load: offered rate as a percentage of the highest rate, measured just before. Began late: requests that \
                    waited for a free place in the queue; the wait is part of the latency.";

fn load_words(own: &DiskParams) -> String {
    let mut what = vec![format!("{} {} {}", own.op, own.pattern, block_words(own.block))];
    what.extend(Some(sync_words(own.sync).to_owned()).filter(|words| !words.is_empty()));
    what.extend(other_words(own));
    what.join(", ")
}

/// What reference tools measured in an area.
pub(super) fn references(area: Area, rows: &[&Row]) -> Grid {
    let shown = |row: &Row, metric: &Metric, value: Option<f64>| {
        Cell::number(value, |value| quantity(value, Notation::of(row.area, metric.unit)))
    };
    let theirs = |reference: &Reference| reference.median.filter(|_| reference.status == Status::Ok);
    let interval = |reference: &Reference| {
        reference.ratio_ci95.map_or_else(String::new, |[low, high]| format!("{low:.3} to {high:.3}"))
    };
    let columns: [ColumnOf<'_, (&Row, &Metric, &Reference)>; 11] = [
        (Column::text("Benchmark"), &|(row, ..)| Cell::text(Label::sentence(row))),
        (Column::text("Metric"), &|(_, metric, _)| Cell::text(metric.name.to_string())),
        (Column::text("Tool"), &|(.., it)| Cell::text(it.tool.clone())),
        (Column::text("Version"), &|(.., it)| Cell::text(it.version.clone().unwrap_or_default())),
        (Column::number("Ours"), &|(row, metric, it)| shown(row, metric, theirs(it).map(|_| metric.summary.median))),
        (Column::number("Theirs"), &|(row, metric, it)| shown(row, metric, theirs(it))),
        (Column::number("Ours/theirs").base(Unit::One), &|(.., it)| {
            Cell::number(it.ratio, |ratio| format!("{ratio:.3}"))
        }),
        (Column::text("95 % interval"), &|(.., it)| Cell::text(interval(it))),
        (Column::text("Verdict"), &|(.., it)| Cell::text(it.verdict.map_or("", |_| verdict_words(it.verdict)))),
        (Column::number("Pairs"), &|(.., it)| Cell::count(it.samples.len() as u64)),
        (Column::text("Remark"), &|(.., it)| Cell::text(remark(it))),
    ];
    let metrics = rows.iter().flat_map(|row| row.metrics.iter().map(move |metric| (*row, metric)));
    let all = metrics.flat_map(|(row, metric)| metric.references.iter().map(move |reference| (row, metric, reference)));
    let title = format!("{}: compared with reference tools", area_title(area));
    let name = (format!("{area}-references"), Some(area), title);
    let grid = table(name, columns, all, |(row, ..), cells| GridLine::of(row, cells));
    grid.without_empty_columns(&["Ours", "Theirs", "Ours/theirs"])
}

fn remark(reference: &Reference) -> String {
    match reference.status {
        Status::Ok => reference.explanation.clone().unwrap_or_default(),
        status => format!("{status}: {}", reason_words(reference.reason.as_deref().unwrap_or(NO_REASON))),
    }
}

pub(crate) const fn verdict_words(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::AtLeast) => "at least as fast",
        Some(Verdict::Below) => "slower",
        Some(Verdict::Inconclusive) | None => "inconclusive",
    }
}

/// Our value of the same pairs, not of the whole result.
pub(crate) fn ours(reference: &Reference) -> Option<f64> {
    Some(reference.ratio? * reference.median?)
}

/// One prefix for our value and the tool's.
pub(crate) fn scale(row: &Row, metric: &Metric, reference: &Reference) -> Option<UnitScale> {
    let notation = Notation::of(row.area, metric.unit);
    let values: Vec<f64> = ours(reference).into_iter().chain(reference.median).collect();
    UnitScale::common(&values, notation).or_else(|| Some(UnitScale::of(*values.first()?, notation)))
}

/// Benchmarks that have a limit by the same arithmetic, with its unit.
type Alike<'a> = Vec<(&'a Row, Unit, &'a Peak)>;

/// Each limit of the headlines, once for all rows that have it by the same arithmetic.
pub(super) fn peaks(area: Area, rows: &[&Row]) -> Grid {
    let value = |unit: Unit, peak: &Peak| Cell::number(Some(peak.value), |it| quantity(it, Notation::of(area, unit)));
    let inputs = |peak: &Peak| peak.inputs.iter().map(input_words).collect::<Vec<_>>().join("; ");
    let columns: [ColumnOf<'_, Alike<'_>>; 7] = [
        (Column::text("Of"), &|alike| Cell::text(Label::sentence(alike[0].0))),
        (Column::text("Rests on"), &|alike| Cell::text(kind_words(alike[0].2.kind))),
        (Column::number("Peak"), &|alike| value(alike[0].1, alike[0].2)),
        (Column::text("Arithmetic"), &|alike| Cell::text(alike[0].2.formula.clone())),
        (Column::text("Inputs"), &|alike| Cell::text(inputs(alike[0].2))),
        (Column::number("Uncertainty").base(Unit::One), &|alike| Cell::share(alike[0].2.uncertainty)),
        (Column::number("Rows"), &|alike| Cell::count(alike.len() as u64)),
    ];
    let measured = rows.iter().filter(|row| row.status == Status::Ok);
    let metrics = measured.filter_map(|row| Some((*row, row.metrics.first()?)));
    let peaks = metrics.flat_map(|(row, metric)| metric.peaks.iter().map(move |peak| (row, metric.unit, peak)));
    let limits = grouped(peaks, |(_, unit, peak)| Some((*unit, peak.kind, peak.value.to_bits(), &peak.formula)));
    let limits = limits.into_iter().map(|(_, alike)| alike);
    let line = |alike: &Alike<'_>, cells| GridLine {
        id: (alike.len() == 1).then(|| alike[0].0.id.clone()),
        ..GridLine::plain(cells)
    };
    let title = format!("{}: the peaks and their formulas", area_title(area));
    table((format!("{area}-peaks"), Some(area), title), columns, limits, line).without_empty_columns(&[])
}

/// `flop/cycle = 32 (table: AMD Zen 5, 2 x 512-bit FMA)`.
fn input_words(input: &PeakInput) -> String {
    // Clocks and rates are not known to less than a unit.
    let value = if (1e6..1e15).contains(&input.value.abs()) { input.value.round() } else { input.value };
    format!("{} = {value} ({})", input.name, input.source)
}

/// Every kind of warning with its worst value, the advice, and the number of rows.
pub(super) fn warnings(document: &Document) -> Grid {
    let columns: [ColumnOf<'_, (&Row, &Warning, u64)>; 6] = [
        (Column::text("Warning"), &|(_, warning, _)| Cell::text(warning.code.as_str().replace('_', " "))),
        (Column::text("Highest confidence left"), &|(_, warning, _)| Cell::text(warning.confidence.to_string())),
        (Column::number("Rows"), &|(.., rows)| Cell::count(*rows)),
        (Column::text("Worst on"), &|(row, ..)| Cell::text(Label::sentence(row))),
        (Column::text("Observation"), &|(_, warning, _)| Cell::text(warning.text.clone())),
        (Column::text("Advice"), &|(_, warning, _)| Cell::text(warning.advice.clone())),
    ];
    let warnings = document.experiments.iter().flat_map(|row| row.warnings.iter().map(move |warning| (row, warning)));
    // The worse the confidence, then the greater the value.
    let severity = |warning: &Warning| (warning.confidence, warning.value.unwrap_or(f64::NEG_INFINITY));
    let kinds = grouped(warnings, |(_, warning)| Some(&warning.code)).into_iter().filter_map(|(_, alike)| {
        let rows = alike.chunk_by(|one, next| std::ptr::eq(one.0, next.0)).count() as u64;
        let (row, worst) =
            alike.into_iter().reduce(|one, other| if severity(other.1) > severity(one.1) { other } else { one })?;
        Some((row, worst, rows))
    });
    let mut kinds: Vec<(&Row, &Warning, u64)> = kinds.collect();
    kinds.sort_by_key(|(_, warning, rows)| Reverse((warning.confidence, *rows)));
    let line =
        |(row, ..): &(&Row, &Warning, u64), cells| GridLine { id: Some(row.id.clone()), ..GridLine::plain(cells) };
    table(("warnings".to_owned(), None, "Warnings".to_owned()), columns, kinds, line)
}
