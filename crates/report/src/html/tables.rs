//! Tables as the template sets them: each line with the anchor of its row, each figure with the value it is sorted by.

use std::collections::{HashMap, HashSet};

use model::document::Document;
use model::warning::Grade;
use serde::Serialize;

use crate::grid::Grid;

/// A table on the page.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    name: String,
    title: String,
    columns: Vec<Column>,
    lines: Vec<Line>,
    notes: Vec<String>,
    /// Whether it only repeats, row by row, what tables beside it say.
    folded: bool,
}

#[derive(Debug, Serialize)]
struct Column {
    title: String,
    numeric: bool,
}

#[derive(Debug, Serialize)]
struct Line {
    /// Only the first line of a row has its anchor, since an anchor is unique.
    anchor: Option<String>,
    grade: Option<&'static str>,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize)]
struct Cell {
    text: String,
    /// What it is sorted by, where the text would not do.
    value: Option<f64>,
    numeric: bool,
    /// The part of a bar behind it that is filled, in hundredths, for a share.
    share: Option<f64>,
    absent: bool,
}

/// Gives lines their anchors, each once.
#[derive(Debug)]
pub(super) struct Anchors<'a> {
    places: HashMap<&'a str, usize>,
    given: HashSet<usize>,
}

impl<'a> Anchors<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let rows = document.experiments.iter().enumerate();
        Self { places: rows.map(|(index, row)| (row.id.as_str(), index)).collect(), given: HashSet::new() }
    }

    /// Where a row is on the page, if anywhere.
    pub(super) fn link(&self, id: &str) -> Option<String> {
        self.places.get(id).filter(|index| self.given.contains(index)).map(|index| super::anchor(*index))
    }

    fn give(&mut self, id: &str) -> Option<String> {
        let index = *self.places.get(id)?;
        self.given.insert(index).then(|| super::anchor(index))
    }
}

impl Table {
    /// A table whose lines are where links to its rows lead.
    pub(super) fn anchored(grid: &Grid, anchors: &mut Anchors<'_>) -> Self {
        Self::set(grid, |id| anchors.give(id))
    }

    /// The same, to be unfolded by whoever wants it, or not.
    pub(super) fn folded(self, folded: bool) -> Self {
        Self { folded, ..self }
    }

    /// A table that repeats what others have.
    pub(super) fn of(grid: &Grid) -> Self {
        Self::set(grid, |_| None)
    }

    fn set(grid: &Grid, mut anchor: impl FnMut(&str) -> Option<String>) -> Self {
        let columns = grid.columns.iter().map(|column| Column { title: column.title(), numeric: column.numeric });
        let is_share: Vec<bool> = grid.columns.iter().map(|column| is_share(&column.heading)).collect();
        let lines = grid.lines.iter().map(|line| Line {
            anchor: line.id.as_deref().and_then(&mut anchor),
            grade: line.grade.map(Grade::name),
            cells: line
                .cells
                .iter()
                .zip(&grid.columns)
                .zip(&is_share)
                .map(|((cell, column), share)| Cell {
                    text: if cell.is_absent() { "–".to_owned() } else { cell.text.clone() },
                    value: cell.value.filter(|_| column.numeric),
                    numeric: column.numeric,
                    share: cell.value.filter(|_| *share).map(|value| (value * 100.0).clamp(0.0, 100.0)),
                    absent: cell.is_absent(),
                })
                .collect(),
        });
        Self {
            name: grid.name.clone(),
            title: grid.title.clone(),
            columns: columns.collect(),
            lines: lines.collect(),
            notes: grid.notes.clone(),
            folded: false,
        }
    }
}

/// Whether a column holds parts of a whole.
fn is_share(heading: &str) -> bool {
    heading == "Of peak" || heading.to_ascii_lowercase().contains("efficiency")
}
