//! Every kind of warning with its worst value, the advice, and the number of rows.

use model::document::{Document, Row};
use model::warning::{Confidence, Warning};

use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::label::Label;

/// A kind of warning, and the row with the worst of it.
struct WarningKind<'a> {
    worst: (&'a Row, &'a Warning),
    rows: Vec<&'a Row>,
}

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
    let mut kinds = kinds(document);
    kinds.sort_by_key(|kind| std::cmp::Reverse((kind.worst.1.confidence, kind.rows.len())));
    grid.lines = kinds.iter().map(line).collect();
    grid
}

fn kinds(document: &Document) -> Vec<WarningKind<'_>> {
    let mut kinds: Vec<WarningKind<'_>> = Vec::new();
    for row in &document.experiments {
        for warning in &row.warnings {
            let Some(kind) = kinds.iter_mut().find(|kind| kind.worst.1.code == warning.code) else {
                kinds.push(WarningKind { worst: (row, warning), rows: vec![row] });
                continue;
            };
            if severity(warning) > severity(kind.worst.1) {
                kind.worst = (row, warning);
            }
            if !kind.rows.iter().any(|other| std::ptr::eq(*other, row)) {
                kind.rows.push(row);
            }
        }
    }
    kinds
}

/// The worse the confidence, then the greater the value.
fn severity(warning: &Warning) -> (Confidence, f64) {
    (warning.confidence, warning.value.unwrap_or(f64::NEG_INFINITY))
}

fn line(kind: &WarningKind<'_>) -> GridLine {
    let (row, warning) = kind.worst;
    let cells = vec![
        Cell::text(warning.code.as_str().replace('_', " ")),
        Cell::text(warning.confidence.to_string()),
        Cell::count(kind.rows.len() as u64),
        Cell::text(Label::sentence(row)),
        Cell::text(warning.text.clone()),
        Cell::text(warning.advice.clone()),
    ];
    GridLine { id: Some(row.id.clone()), cells, confidence: None }
}
