//! What was measured in an area, and what was not, with the reasons.

use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::sample::{Metric, MetricName};
use model::unit::Unit;

use super::groups::groups;
use crate::html::text::capital;
use crate::reason::{kind_words, reason_words};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::disk::{familiar, words};
use areas::label::{Axis, Common, Label, area_title};
use model::number::{Notation, clock, percent, quantity};

/// Columns that are kept even where they are empty.
const ALWAYS: [&str; 3] = ["Measured", "Of peak", "Confidence"];

pub(super) fn measured(area: Area, rows: &[&Row], document: &Document) -> Grid {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.status == Status::Ok).collect();
    let axis = Axis::of(area, &rows);
    let common = Common::of(&rows, axis).on(&rows, &document.machine);
    let place = common.words().map_or_else(String::new, |words| format!("; {words}"));
    let columns = [
        Column::number("Measured"),
        Column::number("±95 %"),
        Column::number("Undisturbed"),
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
        list(area, (format!("{area}-measured"), &format!("measured{place}")), (&rows, axis, &common), columns, |row| {
            Some(cells(row, row.metrics.first()?))
        });
    grid.notes.extend(rows.iter().any(|row| familiar::name(row).is_some()).then(|| familiar::ABOUT.to_owned()));
    grid.notes.extend(words::cpu_words(&rows));
    grid.notes.extend(words::loop_words(&rows));
    grid.notes.extend(words::cut_words(&rows));
    grid.without_empty_columns(&ALWAYS)
}

fn cells(row: &Row, metric: &Metric) -> Vec<Cell> {
    let summary = &metric.summary;
    let notation = Notation::of(row.area, metric.unit);
    let shown = |value: Option<f64>| Cell::number(value, |value| quantity(value, notation));
    let half = summary.ci95.filter(|_| summary.median != 0.0);
    let half = half.map(|[low, high]| (high - low).abs() / 2.0 / summary.median.abs());
    let peak = areas::chart::classic::tightest(metric);
    let kind = peak.map_or_else(String::new, |peak| kind_words(peak.kind).to_owned());
    vec![
        shown(Some(summary.median)),
        Cell::number(half, |half| format!("±{}", percent(half))),
        shown(summary.undisturbed.as_ref().map(|found| found.value)),
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
    let columns = ["Status", "Reason"].map(Column::text);
    let cells = |row: &Row| {
        let reason = row.reason.as_deref().map_or_else(String::new, reason_words);
        Some(vec![Cell::text(row.status.to_string()), Cell::text(reason)])
    };
    let name = (format!("{area}-not-measured"), "not measured");
    list(area, name, (&rows, axis, &Common::of(&[], axis)), columns, cells).without_empty_columns(&["Reason"])
}

fn list<const N: usize>(
    area: Area,
    (name, title): (String, &str),
    (rows, axis, common): (&[&Row], Axis, &Common),
    columns: [Column; N],
    cells: impl Fn(&Row) -> Option<Vec<Cell>>,
) -> Grid {
    let labels = ["What", "How", "Detail", "Known as"].map(Column::text);
    let columns = labels.into_iter().chain([Column::number(capital(axis.name()))]).chain(columns);
    let mut grid = Grid::new(name, Some(area), format!("{}: {title}", area_title(area)), columns.collect());
    for group in groups(rows, axis, common) {
        let Label { what, how, detail } = &group.label;
        grid.lines.extend(group.rows.into_iter().filter_map(|row| {
            let label = [what, how, detail, familiar::name(row).unwrap_or_default()].map(Cell::text);
            let line = label.into_iter().chain([Cell::count(axis.position(row))]).chain(cells(row)?);
            Some(GridLine::of(row, line.collect()))
        }));
    }
    grid
}
