//! Tables for the template: each line with the anchor of its result, each number with its sort key.

use std::collections::{HashMap, HashSet};

use model::document::{Document, Row};
use model::warning::Confidence;
use serde::Serialize;

use super::text::{capital, row_anchor, warning_words};
use areas::chart::grid::{Column, Grid, GridLine};
use areas::label::area_title;

/// The most characters of a cell on one line.
const UNBROKEN: usize = 28;
/// The place of the measured value: after the benchmark and one number, so that a phone shows it.
const VALUE_PLACE: usize = 2;

#[derive(Debug, Serialize)]
pub(super) struct Table {
    name: String,
    title: String,
    /// The title without the area; empty where it repeats the heading.
    caption: String,
    columns: Vec<String>,
    lines: Vec<TableLine>,
    /// Classes of the numeric columns and of the measured value: `n2 n3 v3`.
    classes: String,
    notes: Vec<String>,
    /// Whether it is folded and follows the charts.
    pub(super) folded: bool,
}

#[derive(Debug, Serialize)]
struct TableLine {
    /// Only the first line of a result has its anchor, since an anchor is unique.
    anchor: Option<String>,
    confidence: Option<&'static str>,
    /// The warnings that lowered the confidence: `wide interval, vCPU shared`.
    reasons: String,
    cells: Vec<TableCell>,
}

#[derive(Debug, Serialize)]
struct TableCell {
    text: String,
    /// The filled part of the bar behind a share.
    share: Option<String>,
    long: bool,
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

    fn reasons(&self, id: &str) -> String {
        let row = self.places.get(id).map(|(_, row)| *row);
        let Some((row, confidence)) = row.and_then(|row| Some((row, row.confidence?))) else { return String::new() };
        let lowered = row.warnings.iter().filter(|warning| warning.confidence == confidence);
        let lowered = lowered.filter(|_| confidence > Confidence::High);
        lowered.map(|warning| warning_words(warning.code.as_str())).collect::<Vec<_>>().join(", ")
    }
}

impl Table {
    /// A table whose lines have the anchors of their results; nothing where other tables have all of them. A list of all
    /// results leaves those out that another table has.
    pub(super) fn of(grid: &Grid, is_list: bool, anchors: &mut Anchors<'_>) -> Option<Self> {
        let mut grid = grid.clone();
        let mut places: Vec<Option<String>> = Vec::new();
        grid.lines.retain(|line| {
            let anchor = line.id.as_deref().and_then(|id| anchors.give(id));
            let is_kept = !is_list || anchor.is_some();
            places.extend(is_kept.then_some(anchor));
            is_kept
        });
        let (shared, kept) = shared(&grid);
        let columns = arranged(&grid, &kept);
        let first = |column: &Vec<usize>| &grid.columns[column[0]];
        let numeric = columns.iter().enumerate().filter(|(place, column)| *place > 0 && first(column).numeric);
        let mut classes: Vec<String> = numeric.map(|(place, _)| format!("n{}", place + 1)).collect();
        let value = columns.iter().position(|column| is_value(first(column))).unwrap_or(0);
        classes.push(format!("v{}", value + 1));
        let lines = grid.lines.iter().zip(places).map(|(line, anchor)| TableLine {
            // Only the line with the anchor has the reasons.
            reasons: anchor.as_ref().and(line.id.as_deref()).map_or_else(String::new, |id| anchors.reasons(id)),
            anchor,
            confidence: line.confidence.map(Confidence::name),
            cells: columns.iter().map(|column| TableCell::of(line, column, first(column))).collect(),
        });
        let is_low = |line: &GridLine| line.confidence == Some(Confidence::Low);
        let low = grid.lines.iter().any(is_low).then(|| LOW.to_owned());
        let notes = shared.into_iter().chain(grid.notes.iter().cloned()).chain(low).collect();
        let titles = columns.iter().map(|column| title(column.iter().map(|index| &grid.columns[*index])));
        let columns = titles.collect();
        (!grid.lines.is_empty()).then(|| Self {
            caption: caption(&grid),
            lines: lines.collect(),
            columns,
            classes: classes.join(" "),
            notes,
            folded: false,
            name: grid.name.clone(),
            title: grid.title.clone(),
        })
    }
}

const LOW: &str =
    "† low confidence: do not rely on the value. The reason is next to the confidence, and in Conditions.";

/// The columns in reading order, each with the columns of the grid whose texts it joins: what identifies a benchmark, one
/// number, the measured value, the rest.
fn arranged(grid: &Grid, kept: &[usize]) -> Vec<Vec<usize>> {
    let single = |indices: &[usize]| indices.iter().map(|index| vec![*index]).collect::<Vec<_>>();
    let column = |index: &usize| &grid.columns[*index];
    let Some(value) = kept.iter().position(|index| is_value(column(index))) else { return single(kept) };
    let (numbers, words): (Vec<usize>, Vec<usize>) = kept[..value].iter().partition(|index| column(index).numeric);
    let (names, labels): (Vec<usize>, Vec<usize>) = words.iter().partition(|index| column(index).heading == "Known as");
    let mut columns: Vec<Vec<usize>> = [labels].into_iter().filter(|labels| !labels.is_empty()).collect();
    let before = numbers.len().min(VALUE_PLACE - columns.len());
    let rest = [&numbers[..before], &kept[value..=value], &numbers[before..], &names, &kept[value + 1..]];
    columns.extend(rest.into_iter().flat_map(single));
    columns
}

fn is_value(column: &Column) -> bool {
    ["Measured", "GFlops", "Status", "Reason"].iter().any(|words| column.heading.starts_with(words))
}

/// `Benchmark` for what and how; `Workload, block size`.
fn title<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    let mut titles = columns.map(Column::title);
    match titles.next() {
        Some(first) if first == "What" => "Benchmark".to_owned(),
        Some(first) => titles.fold(first, |all, next| format!("{all}, {}", next.to_lowercase())),
        None => String::new(),
    }
}

impl TableCell {
    fn of(line: &GridLine, column: &[usize], first: &Column) -> Self {
        let known = column.iter().map(|index| &line.cells[*index]).filter(|cell| !cell.is_absent());
        let parts: Vec<&str> = known.map(|cell| cell.text.as_str()).collect();
        let is_share = first.heading == "Of peak" || first.heading.to_ascii_lowercase().contains("efficiency");
        let text = match &parts[..] {
            [] => "–".to_owned(),
            [what, how, rest @ ..] => [&[format!("{what} {how}").as_str()], rest].concat().join(", "),
            [only] => (*only).to_owned(),
        };
        Self {
            long: text.chars().count() > UNBROKEN,
            text,
            share: line.cells[column[0]].value.filter(|_| is_share).map(part),
            confidence: first.heading == CONFIDENCE,
        }
    }
}

/// The part of a bar that a share fills: `97.8%`.
pub(super) fn part(share: f64) -> String {
    format!("{:.0}%", (share * 100.0).clamp(0.0, 100.0))
}

/// Columns that stay where all their texts are the same, apart from the first.
const STAYING: [&str; 2] = ["How", CONFIDENCE];

/// The texts of columns with the same text in every line, and the indices of the other columns.
fn shared(grid: &Grid) -> (Vec<String>, Vec<usize>) {
    let mut common = Vec::new();
    let mut kept = Vec::new();
    for (index, column) in grid.columns.iter().enumerate() {
        let mut cells = grid.lines.iter().map(|line| &line.cells[index]);
        let first = cells.next().filter(|first| !first.is_absent() && cells.all(|cell| cell.text == first.text));
        let may_go =
            index > 0 && grid.lines.len() > 1 && !column.numeric && !STAYING.contains(&column.heading.as_str());
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

const CONFIDENCE: &str = "Confidence";

#[cfg(test)]
mod tests {
    use super::*;

    use areas::chart::grid::Cell;

    #[test]
    fn the_value_is_in_the_third_column_and_identifies_its_benchmark() {
        let columns = ["What", "How", "Known as"].map(Column::text).into_iter();
        let columns = columns.chain(["Threads", "Measured", "n"].map(Column::number)).collect();
        let grid = Grid::new("some", None, "Some", columns);
        let all: Vec<usize> = (0..6).collect();
        assert_eq!(arranged(&grid, &all), [vec![0, 1], vec![3], vec![4], vec![2], vec![5]]);
        let line = GridLine::plain(["read", "4 KiB"].map(Cell::text).to_vec());
        assert_eq!(TableCell::of(&line, &[0, 1], &grid.columns[0]).text, "read 4 KiB");
        assert_eq!(arranged(&grid, &[3, 4, 5]), [[3], [4], [5]]);
        assert_eq!([part(0.978), part(-3.0), part(7.0)], ["98%", "0%", "100%"]);
    }
}
