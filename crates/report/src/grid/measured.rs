//! What was measured in an area, and what was not, with the reasons.

use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::sample::{Metric, MetricName};
use model::unit::Unit;

use super::groups::groups;
use crate::html::text::capital;
use crate::reason::{kind_words, reason_words};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::disk::familiar;
use areas::disk::words;
use areas::label::{Axis, Common, Label, area_title};
use model::number::{Notation, clock, percent, quantity};

/// Columns that are kept even where they are empty.
const ALWAYS: [&str; 3] = ["Measured", "Of peak", "Confidence"];

const KNOWN_AS: &str = "Known as";

pub(super) fn measured(area: Area, rows: &[&Row], document: &Document) -> Grid {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.status == Status::Ok).collect();
    let axis = Axis::of(area, &rows);
    let common = Common::of(&rows, axis).on(&rows, &document.machine);
    let place = common.words().map_or_else(String::new, |words| format!("; {words}"));
    let columns = vec![
        Column::text("What"),
        Column::text("How"),
        Column::text("Detail"),
        Column::text(KNOWN_AS),
        Column::number(axis_heading(axis)),
        Column::number("Measured"),
        Column::number("±95 %"),
        Column::number("p99").base(Unit::Second),
        Column::number("CPU per request").base(Unit::Second),
        Column::number("Of peak").base(Unit::One),
        Column::number("Peak"),
        Column::text("Rests on"),
        Column::number("Clock").base(Unit::Hertz),
        Column::text("Confidence"),
        Column::number("n"),
    ];
    let mut grid =
        Grid::new(format!("{area}-measured"), Some(area), format!("{}: measured{place}", area_title(area)), columns);
    grid.lines = in_order(&rows, axis, &common)
        .filter_map(|(row, label)| Some(GridLine::of(row, cells(row, row.metrics.first()?, label, axis))))
        .collect();
    grid.notes.extend(rows.iter().any(|row| familiar::name(row).is_some()).then(|| familiar::ABOUT.to_owned()));
    grid.notes.extend(words::cpu_words(&rows));
    grid.notes.extend(words::loop_words(&rows));
    grid.notes.extend(words::cut_words(&rows));
    grid.without_empty_columns(&ALWAYS)
}

fn cells(row: &Row, metric: &Metric, label: Label, axis: Axis) -> Vec<Cell> {
    let summary = &metric.summary;
    let notation = Notation::of(row.area, metric.unit);
    let shown = |value: Option<f64>| Cell::number(value, |value| quantity(value, notation));
    let half = summary.ci95.filter(|_| summary.median != 0.0);
    let half = half.map(|[low, high]| (high - low).abs() / 2.0 / summary.median.abs());
    let peak = areas::chart::classic::tightest(metric);
    let kind = peak.map_or_else(String::new, |peak| kind_words(peak.kind).to_owned());
    vec![
        Cell::text(label.what),
        Cell::text(label.how),
        Cell::text(label.detail),
        Cell::text(familiar::name(row).unwrap_or_default()),
        Cell::count(axis.position(row)),
        shown(Some(summary.median)),
        Cell::number(half, |half| format!("±{}", percent(half))),
        Cell::seconds(p99(row)),
        Cell::seconds(words::cpu_seconds_per_request(row)),
        Cell::share(metric.efficiency.map(|efficiency| efficiency.value)),
        shown(peak.map(|peak| peak.value)),
        Cell::text(kind),
        Cell::number(row.conditions.clock_hz, clock),
        Cell::text(row.confidence.map_or_else(String::new, |confidence| confidence.to_string())),
        Cell::count(summary.n),
    ]
}

fn p99(row: &Row) -> Option<f64> {
    row.metric(MetricName::Latency)?.summary.percentiles.map(|percentiles| percentiles.p99)
}

pub(super) fn not_measured(area: Area, rows: &[&Row]) -> Grid {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.status != Status::Ok).collect();
    let axis = Axis::of(area, &rows);
    let common = Common::of(&[], axis);
    let columns = vec![
        Column::text("What"),
        Column::text("How"),
        Column::text("Detail"),
        Column::text(KNOWN_AS),
        Column::number(axis_heading(axis)),
        Column::text("Status"),
        Column::text("Reason"),
    ];
    let title = format!("{}: not measured", area_title(area));
    let mut grid = Grid::new(format!("{area}-not-measured"), Some(area), title, columns);
    grid.lines = in_order(&rows, axis, &common)
        .map(|(row, Label { what, how, detail })| {
            let reason = row.reason.as_deref().map_or_else(String::new, reason_words);
            let place = Cell::count(axis.position(row));
            let name = familiar::name(row).unwrap_or_default().to_owned();
            let words = [row.status.to_string(), reason].map(Cell::text);
            GridLine::of(
                row,
                [what, how, detail, name].map(Cell::text).into_iter().chain([place]).chain(words).collect(),
            )
        })
        .collect();
    grid.without_empty_columns(&["Reason"])
}

/// Each row with its label, in reading order.
fn in_order<'a>(rows: &[&'a Row], axis: Axis, common: &Common) -> impl Iterator<Item = (&'a Row, Label)> {
    let groups = groups(rows, axis, common).into_iter();
    groups.flat_map(|group| group.rows.into_iter().map(move |row| (row, group.label.clone())))
}

/// The axis as a heading: `Threads`.
fn axis_heading(axis: Axis) -> String {
    capital(axis.name())
}
