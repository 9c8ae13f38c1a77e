//! Every kind of warning with its worst value, the advice, and the number of rows.

use std::cmp::Reverse;

use model::document::{Document, Row};
use model::warning::Warning;

use super::groups::grouped;
use super::table::{ColumnOf, table};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::Label;

pub(super) fn grid(document: &Document) -> Grid {
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
