//! Matrices: from a node or a core to another, the stronger the colour the more, with the figure in each cell.

use std::collections::BTreeSet;

use super::drawing::{Chart, Drawing, Head, finish};
use super::svg::{Anchor, Canvas, Facts, TEXT, text_width};
use crate::grid::value::{Cell, GridLine};
use model::number::{Notation, UnitScale, quantity};

/// A matrix.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    pub(super) head: Head,
    /// What the rows and the columns are: `from CPU`, `to CPU`.
    pub(super) sides: (String, String),
    pub(super) rows: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) notation: Notation,
    pub(super) cells: Vec<HeatCell>,
}

/// A cell.
#[derive(Clone, Debug)]
pub(super) struct HeatCell {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) line: GridLine,
    pub(super) facts: Facts,
    pub(super) is_doubtful: bool,
}

/// The largest cell.
const LARGEST: (f64, f64) = (64.0, 34.0);

impl Heat {
    /// The chart; `None` where there is nothing to draw.
    pub(super) fn chart(self) -> Option<Chart> {
        self.cells.first()?;
        let mut seen = BTreeSet::new();
        let ids = self.cells.iter().map(|cell| cell.facts.id.clone());
        let evidence: Vec<String> = ids.filter(|id| seen.insert(id.clone())).collect();
        // One cell is no picture.
        evidence.get(1)?;
        let lines = self.cells.iter().map(|cell| {
            let places = [cell.from, cell.to].map(|place| Cell::text(place.to_string()));
            GridLine { cells: places.into_iter().chain(cell.line.cells.iter().cloned()).collect(), ..cell.line.clone() }
        });
        let first = [&self.sides.0, &self.sides.1].map(|side| crate::grid::Column::text(side.clone()));
        let columns = first.into_iter().chain(self.head.columns.iter().cloned()).collect();
        let table = self.head.grid(columns, lines.collect());
        let (wide, narrow) = (self.draw(720.0), self.draw(360.0));
        Some(finish(self.head, [&wide, &narrow], table, evidence))
    }

    fn values(&self) -> Vec<f64> {
        self.cells.iter().map(|cell| cell.facts.value).collect()
    }

    fn draw(&self, width: f64) -> Drawing {
        let mut canvas = Canvas::of(width);
        let scale = UnitScale::common(&self.values(), self.notation);
        let told = |value: f64| scale.map_or_else(|| quantity(value, self.notation), |scale| scale.digits(value));
        let names = self.rows.iter().map(|row| text_width(&row.to_string())).fold(0.0, f64::max);
        let left = names + 14.0;
        let unit = scale.map_or("", UnitScale::unit);
        let sides = format!("{} (down) {} (across)", self.sides.0, self.sides.1);
        let above = if unit.is_empty() { sides } else { format!("{sides}, {unit}") };
        canvas.text("unit", (0.0, TEXT), Anchor::Start, &super::svg::cut(&above, width));
        let top = TEXT + 28.0;
        let size = (
            ((width - left - 4.0) / self.columns.len().max(1) as f64).min(LARGEST.0),
            ((width - left - 4.0) / self.columns.len().max(1) as f64).min(LARGEST.1).max(4.0),
        );
        self.names(&mut canvas, (left, top), size);
        let values = self.values();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let texts = self.cells.iter().map(|cell| told(cell.facts.value) + if cell.is_doubtful { "*" } else { "" });
        let texts: Vec<String> = texts.collect();
        let fits = texts.iter().all(|text| text_width(text) + 6.0 <= size.0) && size.1 >= TEXT + 4.0;
        for (cell, text) in self.cells.iter().zip(&texts) {
            let place = |all: &[u32], one: u32| all.iter().position(|other| *other == one).unwrap_or(0) as f64;
            let at = (left + place(&self.columns, cell.to) * size.0, top + place(&self.rows, cell.from) * size.1);
            let share = (cell.facts.value - least) / (most - least);
            canvas.cell(at, size, if share.is_finite() { share } else { 0.0 }, &cell.facts);
            if fits {
                let middle = (at.0 + size.0 / 2.0, at.1 + size.1 / 2.0 + 4.0);
                canvas.text("name", middle, Anchor::Middle, text);
            }
        }
        let bottom = top + self.rows.len() as f64 * size.1;
        let height = self.scale_of_colour(&mut canvas, (left, bottom), (&told(least), &told(most)), fits);
        Drawing { width, height, body: canvas.into_body() }
    }

    /// The numbers of rows and columns, as many as do not touch.
    fn names(&self, canvas: &mut Canvas, (left, top): (f64, f64), size: (f64, f64)) {
        let widest = self.columns.iter().map(|column| text_width(&column.to_string())).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive quotient")]
        let every = |needed: f64, room: f64| (needed / room).ceil().max(1.0) as usize;
        for (index, column) in self.columns.iter().enumerate().step_by(every(widest + 6.0, size.0)) {
            let x = left + (index as f64 + 0.5) * size.0;
            canvas.text("tick", (x, top - 7.0), Anchor::Middle, &column.to_string());
        }
        for (index, row) in self.rows.iter().enumerate().step_by(every(TEXT + 4.0, size.1)) {
            let y = top + (index as f64 + 0.5) * size.1 + 4.0;
            canvas.text("tick", (left - 8.0, y), Anchor::End, &row.to_string());
        }
    }

    /// What the colours stand for, where cells have no room for figures; and what a star means.
    fn scale_of_colour(&self, canvas: &mut Canvas, (left, bottom): (f64, f64), ends: (&str, &str), fits: bool) -> f64 {
        let mut y = bottom + 8.0;
        if !fits {
            let from = left + text_width(ends.0) + 8.0;
            canvas.text("tick", (left, y + TEXT), Anchor::Start, ends.0);
            for step in 0..5 {
                let share = f64::from(step) / 4.0;
                canvas.swatch((from + f64::from(step) * 22.0, y), (22.0, TEXT + 2.0), share);
            }
            canvas.text("tick", (from + 118.0, y + TEXT), Anchor::Start, ends.1);
            y += TEXT + 8.0;
        } else if self.cells.iter().any(|cell| cell.is_doubtful) {
            canvas.text("tick", (left, y + TEXT), Anchor::Start, "* grade C");
            y += TEXT + 8.0;
        }
        y + 4.0
    }
}
