//! Tables as the template sets them: each line with the anchor of its row, each figure with the value it is sorted by.

use std::collections::{HashMap, HashSet};

use model::document::{Document, Row};
use model::warning::Grade;
use serde::Serialize;

use super::text::{capital, code_anchor, row_anchor, warning_words};
use crate::grid;
use crate::grid::value::Grid;
use areas::label::area_title;

/// A table of at most so many lines is taken in at a glance.
const AT_A_GLANCE: usize = 24;

/// A cell of at most so many characters stays on one line.
const UNBROKEN: usize = 28;

/// At most so many reasons stand beside a grade; all of them are in the log.
const MOST_REASONS: usize = 2;

/// A table on the page.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    name: String,
    title: String,
    /// The title below the heading of its area; empty where it would say the same.
    caption: String,
    columns: Vec<Column>,
    lines: Vec<TableLine>,
    /// Classes of the columns that hold figures, `n3 n4`: said once, not in each cell.
    numeric: String,
    /// What columns would say in every line: `Rests on: sustained peak`.
    common: Vec<String>,
    notes: Vec<String>,
    /// Whether it only repeats, row by row, what tables beside it say.
    folded: bool,
    /// Whether it comes after the charts, which would else be out of sight.
    late: bool,
}

#[derive(Debug, Serialize)]
struct Column {
    title: String,
}

#[derive(Debug, Serialize)]
struct TableLine {
    /// Only the first line of a row has its anchor, since an anchor is unique.
    anchor: Option<String>,
    grade: Option<&'static str>,
    /// What made the grade less than A.
    reasons: Vec<Reason>,
    cells: Vec<TableCell>,
}

/// A kind of warning beside a grade, with the place of its entry in the log.
#[derive(Debug, Serialize)]
struct Reason {
    code: String,
    words: String,
}

#[derive(Debug, Serialize)]
struct TableCell {
    text: String,
    /// What it is sorted by, where the text would not do.
    value: Option<String>,
    /// The part of a bar behind it that is filled, in hundredths, for a share.
    share: Option<String>,
    /// Whether it may be broken into several lines.
    long: bool,
    /// Whether it is the line's grade.
    grade: bool,
}

/// Gives lines their anchors, each once.
#[derive(Debug)]
pub(super) struct Anchors<'a> {
    places: HashMap<&'a str, (usize, &'a Row)>,
    given: HashSet<usize>,
}

impl<'a> Anchors<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let rows = document.experiments.iter().enumerate();
        Self { places: rows.map(|(index, row)| (row.id.as_str(), (index, row))).collect(), given: HashSet::new() }
    }

    /// Where a row is on the page, if anywhere.
    pub(super) fn link(&self, id: &str) -> Option<String> {
        let (index, _) = self.places.get(id)?;
        self.given.contains(index).then(|| row_anchor(*index))
    }

    fn give(&mut self, id: &str) -> Option<String> {
        let (index, _) = self.places.get(id)?;
        self.given.insert(*index).then(|| row_anchor(*index))
    }

    /// What made the grade of a row less than A.
    fn reasons(&self, id: &str) -> Vec<Reason> {
        let Some((_, row)) = self.places.get(id) else { return Vec::new() };
        let Some(grade) = row.grade.filter(|grade| *grade > Grade::A) else { return Vec::new() };
        let causes = row.warnings.iter().filter(|warning| warning.grade == grade).take(MOST_REASONS);
        causes
            .map(|cause| Reason { code: code_anchor(cause.code.as_str()), words: warning_words(cause.code.as_str()) })
            .collect()
    }
}

impl Table {
    /// A table whose lines are where links to its rows lead.
    pub(super) fn anchored(grid: &Grid, anchors: &mut Anchors<'_>) -> Self {
        let mut table = Self::of(grid);
        for (line, own) in table.lines.iter_mut().zip(&grid.lines) {
            let Some(id) = own.id.as_deref() else { continue };
            line.anchor = anchors.give(id);
            // What repeats a line does not repeat its reasons.
            line.reasons = line.anchor.as_ref().map_or_else(Vec::new, |_| anchors.reasons(id));
        }
        table
    }

    /// The same, to be unfolded by whoever wants it, or not.
    pub(super) fn folded(self, folded: bool) -> Self {
        Self { folded, late: self.late || folded, ..self }
    }

    /// The same, after the charts or where it would be.
    pub(super) fn after(self, late: bool) -> Self {
        Self { late: self.late || late, ..self }
    }

    /// A table that repeats what others have.
    pub(super) fn of(grid: &Grid) -> Self {
        let (common, kept) = common(grid);
        let columns: Vec<Column> = kept.iter().map(|index| Column { title: grid.columns[*index].title() }).collect();
        let numeric = kept.iter().enumerate().filter(|(_, index)| grid.columns[**index].numeric);
        let numeric: Vec<String> = numeric.map(|(place, _)| format!("n{}", place + 1)).collect();
        let lines = grid.lines.iter().map(|line| TableLine {
            anchor: None,
            grade: line.grade.map(Grade::name),
            reasons: Vec::new(),
            cells: kept.iter().map(|index| TableCell::of(&line.cells[*index], &grid.columns[*index])).collect(),
        });
        Self {
            name: grid.name.clone(),
            title: grid.title.clone(),
            caption: caption(grid),
            lines: lines.collect(),
            columns,
            numeric: numeric.join(" "),
            common,
            notes: grid.notes.clone(),
            folded: false,
            late: is_late(grid),
        }
    }
}

/// Whether a table is too long to stand before the charts.
pub(super) const fn is_late(grid: &Grid) -> bool {
    grid.lines.len() > AT_A_GLANCE
}

impl TableCell {
    fn of(cell: &grid::Cell, column: &grid::Column) -> Self {
        let value = cell.value.filter(|_| column.numeric);
        Self {
            text: if cell.is_absent() { "–".to_owned() } else { cell.text.clone() },
            // A count is its own text; of others six digits are enough to tell them apart.
            value: value.filter(|value| value.to_string() != cell.text).map(short),
            share: cell.value.filter(|_| is_share(&column.heading)).map(part),
            long: cell.text.chars().count() > UNBROKEN,
            grade: is_grade(&column.heading),
        }
    }
}

/// A figure in a few characters, for sorting.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.5e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

/// The part of a bar that a share fills: `97.8%`.
pub(super) fn part(share: f64) -> String {
    let percent = (share * 100.0).clamp(0.0, 100.0);
    format!("{percent:.0}%")
}

/// What is the same in every line is said once, and its column left out; the columns that stay, by their places. The first
/// column names the lines, and grades are looked for.
fn common(grid: &Grid) -> (Vec<String>, Vec<usize>) {
    let mut said = Vec::new();
    let mut kept = Vec::new();
    for (index, column) in grid.columns.iter().enumerate() {
        let mut cells = grid.lines.iter().map(|line| &line.cells[index]);
        let first = cells.next().filter(|first| !first.is_absent() && cells.all(|cell| cell.text == first.text));
        let may_go = index > 0 && grid.lines.len() > 1 && !column.numeric && !is_grade(&column.heading);
        match first.filter(|_| may_go) {
            Some(cell) => said.push(format!("{}: {}", column.title(), cell.text)),
            None => kept.push(index),
        }
    }
    (said, kept)
}

/// A title without the area that it stands below.
fn caption(grid: &Grid) -> String {
    let area = grid.area.map_or("", area_title);
    let rest = grid.title.strip_prefix(area).unwrap_or(&grid.title);
    match rest.strip_prefix(": ") {
        Some(rest) if !area.is_empty() => capital(rest),
        _ if rest.is_empty() => String::new(),
        _ => grid.title.clone(),
    }
}

/// Whether a column holds parts of a whole.
fn is_share(heading: &str) -> bool {
    heading == "Of peak" || heading.to_ascii_lowercase().contains("efficiency")
}

fn is_grade(heading: &str) -> bool {
    heading == "Grade"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_keep_their_order() {
        let values = [-1e300, -2.5, 0.0, 1e-300, 0.1, 1.0, 87_265_089_551.879_7, 87_266_089_551.0, 1e18, f64::MAX];
        let short: Vec<String> = values.iter().map(|value| short(*value)).collect();
        assert_eq!((short[2].as_str(), short[5].as_str(), short[6].as_str()), ("0e0", "1e0", "8.72651e10"));
        let read: Vec<f64> = short.iter().map(|text| text.parse().unwrap()).collect();
        assert!(read.windows(2).all(|two| two[0] < two[1]), "{short:?}");
        assert_eq!([part(0.978), part(-3.0), part(7.0)], ["98%", "0%", "100%"]);
    }
}
