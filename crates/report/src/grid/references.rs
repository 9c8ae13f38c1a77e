//! What reference tools measured in an area.

use model::document::{Row, Status};
use model::experiment::Area;
use model::reference::{Reference, Verdict};
use model::sample::Metric;
use model::unit::Unit;

use crate::reason::{NO_REASON, reason_words};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::{Label, area_title};
use model::number::{Notation, UnitScale, quantity};

/// A line for each metric and tool.
pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
    let columns = vec![
        Column::text("Benchmark"),
        Column::text("Metric"),
        Column::text("Tool"),
        Column::text("Version"),
        Column::number("Ours"),
        Column::number("Theirs"),
        Column::number("Ours/theirs").base(Unit::One),
        Column::text("95 % interval"),
        Column::text("Verdict"),
        Column::number("Pairs"),
        Column::text("Remark"),
    ];
    let title = format!("{}: compared with reference tools", area_title(area));
    let mut grid = Grid::new(format!("{area}-references"), Some(area), title, columns);
    for row in rows {
        for metric in &row.metrics {
            let line = |reference| GridLine::of(row, cells(row, metric, reference));
            grid.lines.extend(metric.references.iter().map(line));
        }
    }
    grid.without_empty_columns(&["Ours", "Theirs", "Ours/theirs"])
}

fn cells(row: &Row, metric: &Metric, reference: &Reference) -> Vec<Cell> {
    let notation = Notation::of(row.area, metric.unit);
    let shown = |value: Option<f64>| Cell::number(value, |value| quantity(value, notation));
    let theirs = reference.median.filter(|_| reference.status == Status::Ok);
    let interval = reference.ratio_ci95.map_or_else(String::new, |[low, high]| format!("{low:.3} to {high:.3}"));
    let remark = match reference.status {
        Status::Ok => reference.explanation.clone().unwrap_or_default(),
        status => format!("{status}: {}", reason_words(reference.reason.as_deref().unwrap_or(NO_REASON))),
    };
    vec![
        Cell::text(Label::sentence(row)),
        Cell::text(metric.name.to_string()),
        Cell::text(reference.tool.clone()),
        Cell::text(reference.version.clone().unwrap_or_default()),
        shown(Some(metric.summary.median).filter(|_| theirs.is_some())),
        shown(theirs),
        Cell::number(reference.ratio, |ratio| format!("{ratio:.3}")),
        Cell::text(interval),
        Cell::text(reference.verdict.map_or("", |_| verdict_words(reference.verdict))),
        Cell::count(reference.samples.len() as u64),
        Cell::text(remark),
    ]
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
