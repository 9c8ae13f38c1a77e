//! Every kind of warning with its worst value, the advice, and the number of rows.

use std::cmp::Reverse;

use model::document::{Document, Row};
use model::warning::Warning;

use super::groups::grouped;
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::Label;

/// A line for each kind, those that lower a confidence first.
pub(super) fn grid(document: &Document) -> Grid {
    let columns = vec![
        Column::text("Warning"),
        Column::text("Highest confidence left"),
        Column::number("Rows"),
        Column::text("Worst on"),
        Column::text("Observation"),
        Column::text("Advice"),
    ];
    let mut grid = Grid::new("warnings", None, "Warnings", columns);
    let warnings = document.experiments.iter().flat_map(|row| row.warnings.iter().map(move |warning| (row, warning)));
    // The worse the confidence, then the greater the value.
    let severity = |warning: &Warning| (warning.confidence, warning.value.unwrap_or(f64::NEG_INFINITY));
    let kinds = grouped(warnings, |(_, warning)| Some(&warning.code)).into_iter().filter_map(|(_, alike)| {
        let rows = alike.chunk_by(|one, next| std::ptr::eq(one.0, next.0)).count() as u64;
        let worst =
            alike.into_iter().reduce(|one, other| if severity(other.1) > severity(one.1) { other } else { one });
        Some((worst?, rows))
    });
    let mut kinds: Vec<((&Row, &Warning), u64)> = kinds.collect();
    kinds.sort_by_key(|((_, warning), rows)| Reverse((warning.confidence, *rows)));
    let line = |((row, warning), rows): ((&Row, &Warning), u64)| {
        let cells = vec![
            Cell::text(warning.code.as_str().replace('_', " ")),
            Cell::text(warning.confidence.to_string()),
            Cell::count(rows),
            Cell::text(Label::sentence(row)),
            Cell::text(warning.text.clone()),
            Cell::text(warning.advice.clone()),
        ];
        GridLine { id: Some(row.id.clone()), cells, confidence: None }
    };
    grid.lines = kinds.into_iter().map(line).collect();
    grid
}
