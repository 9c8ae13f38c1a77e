//! A table as a value for every format: cells have raw text and, where it is a number, the value in a base unit.

use model::document::Row;
use model::experiment::Area;
use model::number::{percent, quantity};
use model::unit::Unit;
use model::warning::Confidence;

/// The text of what is unknown or does not apply.
pub const ABSENT: &str = "-";

#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Unique in a document and the same in every run; small letters, digits and hyphens, as for a file name or an anchor.
    pub name: String,
    /// The area it is about; `None` for the run as a whole.
    pub area: Option<Area>,
    pub title: String,
    pub columns: Vec<Column>,
    pub lines: Vec<GridLine>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub heading: String,
    /// The unit in its heading, `GB/s`; empty where each text has its own, or none.
    pub shown: String,
    /// The base unit of its values, `B/s`; empty where they have none or several.
    pub base: String,
    /// Whether it holds numbers, which are set flush right and sorted by value.
    pub numeric: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GridLine {
    /// Id of the benchmark that it shows; `None` where it shows none or several.
    pub id: Option<String>,
    pub cells: Vec<Cell>,
    pub confidence: Option<Confidence>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The text; [`ABSENT`] where there is nothing.
    pub text: String,
    /// The finite value behind it, in the base unit of its column.
    pub value: Option<f64>,
}

impl Column {
    pub fn text(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), shown: String::new(), base: String::new(), numeric: false }
    }

    pub fn number(heading: impl Into<String>) -> Self {
        Self { numeric: true, ..Self::text(heading) }
    }

    #[must_use]
    pub fn shown(self, unit: impl Into<String>) -> Self {
        Self { shown: unit.into(), ..self }
    }

    #[must_use]
    pub fn base(self, unit: Unit) -> Self {
        Self { base: unit.to_string(), ..self }
    }

    /// The heading for people: `Measured GB/s`.
    pub fn title(&self) -> String {
        if self.shown.is_empty() { self.heading.clone() } else { format!("{} {}", self.heading, self.shown) }
    }
}

impl GridLine {
    pub fn of(row: &Row, cells: Vec<Cell>) -> Self {
        Self { id: Some(row.id.clone()), cells, confidence: row.confidence }
    }

    pub const fn plain(cells: Vec<Cell>) -> Self {
        Self { id: None, cells, confidence: None }
    }
}

impl Cell {
    /// Words; [`ABSENT`] for none.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::absent() } else { Self { text, value: None } }
    }

    pub fn absent() -> Self {
        Self { text: ABSENT.to_owned(), value: None }
    }

    /// A value with its text; [`ABSENT`] where it is unknown or not finite.
    pub fn number(value: Option<f64>, text: impl FnOnce(f64) -> String) -> Self {
        let known = value.filter(|value| value.is_finite());
        known.map_or_else(Self::absent, |value| Self { text: text(value), value: Some(value) })
    }

    pub fn count(value: impl Into<u64>) -> Self {
        let value = value.into();
        Self { text: value.to_string(), value: Some(value as f64) }
    }

    pub fn share(value: Option<f64>) -> Self {
        Self::number(value, percent)
    }

    /// A time with a unit that suits it: `112.0 ns`.
    pub fn seconds(value: Option<f64>) -> Self {
        Self::number(value, |value| quantity(value, Unit::Second))
    }

    /// Whether nothing is known or applies here.
    pub fn is_absent(&self) -> bool {
        self.value.is_none() && self.text == ABSENT
    }
}

impl Grid {
    pub fn new(name: impl Into<String>, area: Option<Area>, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { name: name.into(), area, title: title.into(), columns, lines: Vec::new(), notes: Vec::new() }
    }

    pub fn column(&self, heading: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.heading == heading)
    }

    /// The same without the columns that are empty in every line, except those with one of the `kept` headings.
    #[must_use]
    pub fn without_empty_columns(mut self, kept: &[&str]) -> Self {
        for index in (0..self.columns.len()).rev() {
            let is_empty = self.lines.iter().all(|line| line.cells[index].is_absent());
            if is_empty && !kept.contains(&self.columns[index].heading.as_str()) {
                self.columns.remove(index);
                self.lines.iter_mut().for_each(|line| drop(line.cells.remove(index)));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_line_says_is_no_column() {
        let columns = vec![Column::text("What"), Column::number("p99"), Column::number("Peak").shown("GB/s")];
        let mut grid = Grid::new("some", None, "Some", columns);
        grid.lines.push(GridLine::plain(vec![Cell::text("read"), Cell::absent(), Cell::absent()]));
        let grid = grid.without_empty_columns(&["Peak"]);
        assert_eq!(grid.columns.iter().map(Column::title).collect::<Vec<_>>(), ["What", "Peak GB/s"]);
        assert_eq!(grid.lines[0].cells, [Cell::text("read"), Cell::absent()]);
        assert_eq!((grid.column("Peak"), grid.column("p99")), (Some(1), None));
    }

    #[test]
    fn what_is_unknown_is_a_dash_without_a_value() {
        for unknown in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            assert!(Cell::share(unknown).is_absent());
        }
        assert!(Cell::text("").is_absent());
        assert_eq!(Cell::share(Some(0.5)), Cell { text: "50.0 %".into(), value: Some(0.5) });
        assert!(!Cell::number(Some(0.0), |_| ABSENT.to_owned()).is_absent());
    }
}
