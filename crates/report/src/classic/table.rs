//! A classic table as a value: each column has its texts for a terminal and its cells for a grid.

use model::document::Status;
use model::experiment::Area;
use model::number::{percent, quantity};
use model::unit::Unit;
use model::warning::Grade;

use super::figures::Figure;
use crate::grid::value::{ABSENT, Cell, Column, Grid, GridLine};
use crate::layout::Align;

/// The heading of intervals in a terminal; a style has its own sign for it.
pub(super) const PLUS_MINUS: &str = "±";

/// One part of the classic suite's report, in reading order.
pub(super) enum ClassicPart {
    /// A table for a terminal, a grid, or both.
    Table(ClassicTable),
    /// A table of times with the threads side by side, for a terminal.
    SideBySide(SideBySide),
    /// Sentences in a paragraph of their own, for a terminal.
    Notes(Vec<String>),
}

/// A table whose lines are benchmarks.
pub(super) struct ClassicTable {
    /// Its name and title as a grid; `None` where only a terminal has it.
    pub(super) grid: Option<(String, String)>,
    /// Its title in a terminal; `None` where only grids have it.
    pub(super) title: Option<String>,
    pub(super) lines: Vec<TableLine>,
    pub(super) columns: Vec<TableColumn>,
    pub(super) notes: Vec<Note>,
}

/// What a line is about.
pub(super) struct TableLine {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) grade: Option<Grade>,
    /// A blank line precedes it in a terminal.
    pub(super) begins_group: bool,
    /// Its warnings are marked in a terminal.
    pub(super) is_marked: bool,
}

/// A line for each point: `about` has its id, status and grade, and `group` what begins a group where it changes.
pub(super) fn lines<P, K: PartialEq>(
    points: &[P],
    about: impl Fn(&P) -> (String, Status, Option<Grade>),
    group: impl Fn(&P) -> K,
) -> Vec<TableLine> {
    let line = |(index, point): (usize, &P)| {
        let (id, status, grade) = about(point);
        let begins_group = index > 0 && group(&points[index - 1]) != group(point);
        TableLine { id, status, grade, begins_group, is_marked: true }
    };
    points.iter().enumerate().map(line).collect()
}

/// Columns that a terminal leaves out where there is no room, and the words for them. The lowest rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivesWay {
    pub(super) rank: u8,
    pub(super) words: &'static str,
}

/// A column.
#[derive(Default)]
pub(super) struct TableColumn {
    texts: Vec<String>,
    cells: Vec<Cell>,
    pub(super) text: Option<TextHeading>,
    grid: Option<(Column, bool)>,
    pub(super) gives_way: Option<GivesWay>,
    /// In a terminal it has no heading of its own, but that of the column before it.
    pub(super) is_joined: bool,
}

/// How a column is set in a terminal.
pub(super) struct TextHeading {
    pub(super) words: String,
    pub(super) align: Align,
    /// Where the heading is.
    pub(super) side: Align,
}

impl TableColumn {
    /// Words, the same in every form.
    pub(super) fn words<P>(points: &[P], text: impl Fn(&P) -> String) -> Self {
        let texts: Vec<String> = points.iter().map(text).collect();
        Self { cells: texts.iter().map(Cell::text).collect(), texts, ..Self::default() }
    }

    /// Counts.
    pub(super) fn counts<P>(points: &[P], count: impl Fn(&P) -> u64) -> Self {
        let counts: Vec<u64> = points.iter().map(count).collect();
        let texts = counts.iter().map(u64::to_string).collect();
        Self { texts, cells: counts.into_iter().map(Cell::count).collect(), ..Self::default() }
    }

    /// Values as `format` writes them.
    pub(super) fn figures<P>(points: &[P], value: impl Fn(&P) -> Option<f64>, format: impl Fn(f64) -> String) -> Self {
        let values: Vec<Option<f64>> = points.iter().map(value).collect();
        let text = |value: &Option<f64>| value.map_or_else(|| ABSENT.to_owned(), &format);
        let texts = values.iter().map(text).collect();
        Self { texts, cells: values.into_iter().map(|value| Cell::figure(value, &format)).collect(), ..Self::default() }
    }

    /// Times with units of their own.
    pub(super) fn times<P>(points: &[P], value: impl Fn(&P) -> Option<f64>) -> Self {
        Self::figures(points, value, |value| quantity(value, Unit::Second))
    }

    /// Shares as percentages; the sign is in the heading of a grid.
    pub(super) fn shares<P>(points: &[P], value: impl Fn(&P) -> Option<f64>) -> Self {
        let mut column = Self::figures(points, value, percent);
        for cell in &mut column.cells {
            cell.text = cell.text.trim_end_matches(" %").to_owned();
        }
        column
    }

    /// Half of each interval over the median, in a terminal alone.
    pub(super) fn half_intervals<P>(points: &[P], figure: impl Fn(&P) -> Option<Figure>) -> Self {
        let half = |point: &P| figure(point).and_then(Figure::half_interval);
        Self::figures(points, half, percent).text(PLUS_MINUS, Align::Decimal)
    }

    /// Both ends of each interval, in grids alone.
    pub(super) fn intervals<P>(
        points: &[P],
        figure: impl Fn(&P) -> Option<Figure>,
        format: impl Fn(f64) -> String,
    ) -> Self {
        let words = |point: &P| {
            let ends = figure(point).and_then(|figure| figure.interval);
            let finite = ends.filter(|ends| ends.iter().all(|end| end.is_finite()));
            finite.map_or_else(String::new, |[low, high]| format!("{} to {}", format(low), format(high)))
        };
        Self::words(points, words).grid(Column::text("95 % interval"))
    }

    /// The grades, in grids alone.
    pub(super) fn grades(lines: &[TableLine]) -> Self {
        Self::words(lines, |line| line.grade.map_or("", Grade::name).to_owned()).grid(Column::text("Grade"))
    }

    /// The same in a grid, under this heading.
    pub(super) fn grid(self, column: Column) -> Self {
        Self { grid: Some((column, false)), ..self }
    }

    /// The same, in a grid even where no line has anything in it.
    pub(super) fn kept(self) -> Self {
        Self { grid: self.grid.map(|(column, _)| (column, true)), ..self }
    }

    /// The same in a terminal, under this heading.
    pub(super) fn text(self, words: impl Into<String>, align: Align) -> Self {
        let side = if align == Align::Right { Align::Right } else { Align::Left };
        Self { text: Some(TextHeading { words: words.into(), align, side }), ..self }
    }

    /// The same with its heading to the left.
    pub(super) fn left(self) -> Self {
        Self { text: self.text.map(|heading| TextHeading { side: Align::Left, ..heading }), ..self }
    }

    /// The same, left out of a terminal that has no room for it.
    pub(super) fn gives_way(self, gives_way: GivesWay) -> Self {
        Self { gives_way: Some(gives_way), ..self }
    }

    /// The same below the heading of the column before it.
    pub(super) fn joined(self) -> Self {
        Self { is_joined: true, ..self }
    }

    /// The same with a label only where it differs from the one above; `keys` are what must be equal.
    pub(super) fn once<K: PartialEq>(mut self, keys: &[K]) -> Self {
        for index in 1..self.texts.len() {
            if keys[index] == keys[index - 1] {
                self.texts[index].clear();
            }
        }
        self
    }

    /// The same with the status of what was not measured; `in_text`: in a terminal too, which else has it in a mark.
    pub(super) fn or_status(mut self, lines: &[TableLine], in_text: bool) -> Self {
        let without = lines.iter().enumerate().filter(|(_, line)| line.status != Status::Ok);
        for (index, line) in without {
            self.cells[index] = Cell::text(line.status.name());
            self.texts[index] = if in_text { line.status.name().to_owned() } else { String::new() };
        }
        self
    }

    /// Its texts for a terminal, from top to bottom.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }
}

/// What must be known to read a table, or follows from it.
pub(super) struct Note {
    /// Sentences, each with the columns that it needs.
    parts: Vec<(Option<GivesWay>, String)>,
    in_text: bool,
    in_grid: bool,
}

impl Note {
    /// A sentence that needs no column.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { parts: vec![(None, text.into())], in_text: true, in_grid: true }
    }

    /// A sentence about columns that may be left out.
    pub(super) fn needing(columns: GivesWay, text: impl Into<String>) -> Self {
        Self { parts: vec![(Some(columns), text.into())], in_text: true, in_grid: true }
    }

    /// A note for grids alone.
    pub(super) fn of_grid(text: impl Into<String>) -> Self {
        Self { in_text: false, ..Self::new(text) }
    }

    /// A note for terminals alone.
    pub(super) fn of_text(text: impl Into<String>) -> Self {
        Self { in_grid: false, ..Self::new(text) }
    }

    /// Several in one paragraph.
    pub(super) fn joined(notes: impl IntoIterator<Item = Self>) -> Self {
        Self { parts: notes.into_iter().flat_map(|note| note.parts).collect(), in_text: true, in_grid: true }
    }

    fn told(&self, has: impl Fn(GivesWay) -> bool) -> Option<String> {
        let parts = self.parts.iter().filter(|(needs, _)| needs.is_none_or(&has)).map(|(_, text)| text.as_str());
        let parts: Vec<&str> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl ClassicTable {
    /// The notes for a terminal that shows these columns.
    pub(super) fn text_notes(&self, shown: &[GivesWay]) -> Vec<String> {
        let notes = self.notes.iter().filter(|note| note.in_text);
        notes.filter_map(|note| note.told(|columns| shown.contains(&columns))).collect()
    }

    /// The table as a grid; `None` where only a terminal has it.
    pub(super) fn into_grid(self, area: Area) -> Option<Grid> {
        let has =
            |columns| self.columns.iter().any(|column| column.grid.is_some() && column.gives_way == Some(columns));
        let notes = self.notes.iter().filter(|note| note.in_grid).filter_map(|note| note.told(has)).collect();
        let (name, title) = self.grid?;
        let own = self.columns.into_iter().filter_map(|column| Some((column.grid?, column.cells)));
        let own: Vec<_> = own.filter(|((_, kept), cells)| *kept || !cells.iter().all(Cell::is_absent)).collect();
        let mut lines: Vec<GridLine> = self
            .lines
            .into_iter()
            .map(|line| GridLine { id: Some(line.id), cells: Vec::with_capacity(own.len()), grade: line.grade })
            .collect();
        let mut columns = Vec::with_capacity(own.len());
        for ((column, _), cells) in own {
            columns.push(column);
            lines.iter_mut().zip(cells).for_each(|(line, cell)| line.cells.push(cell));
        }
        let grid = Grid::new(name, Some(area), title, columns);
        Some(Grid { lines, notes, ..grid })
    }
}

/// Times by threads: a line for each series.
pub(super) struct SideBySide {
    pub(super) title: &'static str,
    /// Headings and texts of the labels.
    pub(super) labels: Vec<(&'static str, Vec<String>)>,
    /// For each line its benchmarks: threads, id, and the time.
    pub(super) lines: Vec<Vec<(u32, String, Option<Figure>)>>,
}
