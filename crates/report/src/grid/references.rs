//! What reference tools measured in an area.

use model::document::{Row, Status};
use model::experiment::Area;
use model::reference::{Reference, Verdict};
use model::sample::Metric;
use model::unit::Unit;

use super::table::{ColumnOf, table};
use crate::reason::{NO_REASON, reason_words};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::{Label, area_title};
use model::number::{Notation, UnitScale, quantity};

pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
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
