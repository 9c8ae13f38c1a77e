//! Tables for the template: each line with the anchor of its result, each number with its sort key.

use std::collections::{HashMap, HashSet};

use minijinja::{Value, context};
use model::document::{Document, Row};
use model::warning::Confidence;
use serde::Serialize;

use super::text::{capital, code_anchor, row_anchor, warning_words};
use crate::grid;
use areas::chart::grid::Grid;
use areas::label::area_title;

/// The most lines of a table before the charts.
const AT_A_GLANCE: usize = 24;
/// The most characters of a cell on one line.
const UNBROKEN: usize = 28;
/// The most reasons next to a confidence; all of them are in the log.
const MOST_REASONS: usize = 2;

#[derive(Debug, Serialize)]
pub(super) struct Table {
    name: String,
    title: String,
    /// The title without the area; empty where it repeats the heading.
    caption: String,
    columns: Vec<String>,
    lines: Vec<TableLine>,
    /// Classes of the numeric columns: `n3 n4`.
    numeric: String,
    /// Columns with the same text in every line: `Limit: link`.
    common: Vec<String>,
    notes: Vec<String>,
    /// Whether it is folded, because it repeats other tables line by line.
    pub(super) folded: bool,
    /// Whether it is after the charts.
    pub(super) late: bool,
}

#[derive(Debug, Serialize)]
struct TableLine {
    /// Only the first line of a result has its anchor, since an anchor is unique.
    anchor: Option<String>,
    confidence: Option<&'static str>,
    reasons: Vec<Value>,
    cells: Vec<TableCell>,
}

#[derive(Debug, Serialize)]
struct TableCell {
    text: String,
    /// The sort key, where it is not the text.
    value: Option<String>,
    /// The filled part of the bar behind a share.
    share: Option<String>,
    /// Whether it may have several lines.
    long: bool,
    /// Whether it is the line's confidence.
    confidence: bool,
}

/// The anchors of results, each given to one line.
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

    /// The anchor of a result, if a line has it.
    pub(super) fn link(&self, id: &str) -> Option<String> {
        let (index, _) = self.places.get(id)?;
        self.given.contains(index).then(|| row_anchor(*index))
    }

    fn give(&mut self, id: &str) -> Option<String> {
        let (index, _) = self.places.get(id)?;
        self.given.insert(*index).then(|| row_anchor(*index))
    }

    /// The warnings that lowered the confidence of a result, each with its entry in the log.
    fn reasons(&self, id: &str) -> Vec<Value> {
        let Some((_, row)) = self.places.get(id) else { return Vec::new() };
        let Some(confidence) = row.confidence.filter(|confidence| *confidence > Confidence::High) else {
            return Vec::new();
        };
        let lowered = row.warnings.iter().filter(|warning| warning.confidence == confidence).take(MOST_REASONS);
        let codes = lowered.map(|warning| warning.code.as_str());
        codes.map(|code| context! { code => code_anchor(code), words => warning_words(code) }).collect()
    }
}

impl Table {
    /// A table whose lines have the anchors of its results.
    pub(super) fn anchored(grid: &Grid, anchors: &mut Anchors<'_>) -> Self {
        let mut table = Self::of(grid);
        for (line, own) in table.lines.iter_mut().zip(&grid.lines) {
            let Some(id) = own.id.as_deref() else { continue };
            line.anchor = anchors.give(id);
            // Only the line with the anchor has the reasons.
            line.reasons = line.anchor.as_ref().map_or_else(Vec::new, |_| anchors.reasons(id));
        }
        table
    }

    /// A table without anchors.
    pub(super) fn of(grid: &Grid) -> Self {
        let (common, kept) = common(grid);
        let columns = kept.iter().map(|index| grid.columns[*index].title()).collect();
        let numeric = kept.iter().enumerate().filter(|(_, index)| grid.columns[**index].numeric);
        let numeric: Vec<String> = numeric.map(|(place, _)| format!("n{}", place + 1)).collect();
        let lines = grid.lines.iter().map(|line| TableLine {
            anchor: None,
            confidence: line.confidence.map(Confidence::name),
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

/// Whether a table is too long for the place before the charts.
pub(super) const fn is_late(grid: &Grid) -> bool {
    grid.lines.len() > AT_A_GLANCE
}

impl TableCell {
    fn of(cell: &grid::Cell, column: &grid::Column) -> Self {
        let value = cell.value.filter(|_| column.numeric);
        let is_share = column.heading == "Of peak" || column.heading.to_ascii_lowercase().contains("efficiency");
        Self {
            text: if cell.is_absent() { "–".to_owned() } else { cell.text.clone() },
            // A count is its own sort key.
            value: value.filter(|value| value.to_string() != cell.text).map(short),
            share: cell.value.filter(|_| is_share).map(part),
            long: cell.text.chars().count() > UNBROKEN,
            confidence: is_confidence(&column.heading),
        }
    }
}

/// A number in a few characters, as a sort key.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.5e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

/// The part of a bar that a share fills: `97.8%`.
pub(super) fn part(share: f64) -> String {
    format!("{:.0}%", (share * 100.0).clamp(0.0, 100.0))
}

/// The texts of columns with the same text in every line, and the indices of the other columns. The first column and the
/// confidence always stay.
fn common(grid: &Grid) -> (Vec<String>, Vec<usize>) {
    let mut common = Vec::new();
    let mut kept = Vec::new();
    for (index, column) in grid.columns.iter().enumerate() {
        let mut cells = grid.lines.iter().map(|line| &line.cells[index]);
        let first = cells.next().filter(|first| !first.is_absent() && cells.all(|cell| cell.text == first.text));
        let may_go = index > 0 && grid.lines.len() > 1 && !column.numeric && !is_confidence(&column.heading);
        match first.filter(|_| may_go) {
            Some(cell) => common.push(format!("{}: {}", column.title(), cell.text)),
            None => kept.push(index),
        }
    }
    (common, kept)
}

/// A title without its area.
fn caption(grid: &Grid) -> String {
    let area = grid.area.map_or("", area_title);
    let rest = grid.title.strip_prefix(area).unwrap_or(&grid.title);
    match rest.strip_prefix(": ") {
        Some(rest) if !area.is_empty() => capital(rest),
        _ if rest.is_empty() => String::new(),
        _ => grid.title.clone(),
    }
}

fn is_confidence(heading: &str) -> bool {
    heading == "Confidence"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_are_short_and_keep_their_order() {
        let values = [-1e300, -2.5, 0.0, 1e-300, 0.1, 1.0, 87_265_089_551.879_7, 87_266_089_551.0, 1e18, f64::MAX];
        let short: Vec<String> = values.iter().map(|value| short(*value)).collect();
        assert_eq!((short[2].as_str(), short[5].as_str(), short[6].as_str()), ("0e0", "1e0", "8.72651e10"));
        let read: Vec<f64> = short.iter().map(|text| text.parse().unwrap()).collect();
        assert!(read.windows(2).all(|two| two[0] < two[1]), "{short:?}");
        assert_eq!([part(0.978), part(-3.0), part(7.0)], ["98%", "0%", "100%"]);
    }
}
