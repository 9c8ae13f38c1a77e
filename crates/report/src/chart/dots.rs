//! Charts of things side by side: a line for each, marks along a common axis. Points that have no order are not joined.

use std::collections::BTreeSet;

use super::drawing::{Chart, Drawing, Head, finish};
use super::key::{self, Item};
use super::plot::Axis;
use super::scale::{Scale, is_drawable};
use super::svg::{Anchor, Canvas, Facts, RADIUS, Shape, cut, text_width};
use crate::grid::value::{Cell, Column, Grid, GridLine};

/// A chart of things side by side.
#[derive(Clone, Debug)]
pub(super) struct Dots {
    pub(super) head: Head,
    pub(super) axis: Axis,
    pub(super) kinds: Vec<DotKind>,
    pub(super) lines: Vec<DotLine>,
    /// Whether a bar spans each line's marks, from the least to the greatest.
    pub(super) spanned: bool,
}

/// A kind of mark: its name in the key, its shape and its tone.
#[derive(Clone, Debug)]
pub(super) struct DotKind {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// `0` the area's accent, `1` dark, `2` grey; `None` for a limit.
    pub(super) tone: Option<usize>,
}

/// A thing.
#[derive(Clone, Debug, Default)]
pub(super) struct DotLine {
    pub(super) label: String,
    /// Said behind its marks: `88x`.
    pub(super) note: String,
    pub(super) marks: Vec<DotMark>,
    /// Single values beside the marks.
    pub(super) samples: Vec<f64>,
}

/// A mark.
#[derive(Clone, Debug)]
pub(super) struct DotMark {
    /// Index of its kind.
    pub(super) kind: usize,
    /// Where it stands on the axis.
    pub(super) at: f64,
    pub(super) is_hollow: bool,
    /// What is drawn as a whisker, on the axis.
    pub(super) interval: Option<[f64; 2]>,
    /// The cells of the table behind label and kind.
    pub(super) cells: Vec<Cell>,
    pub(super) line: GridLine,
    pub(super) facts: Facts,
}

/// From a line to the next, where labels stand beside and above.
const STEP: f64 = 26.0;
const STEP_NARROW: f64 = 38.0;
/// Share of the width that labels may take.
const LABEL_SHARE: f64 = 0.4;
/// Radius of a sample.
const SAMPLE: f64 = 2.6;

impl Dots {
    /// The chart; `None` where there is nothing to draw.
    pub(super) fn chart(self) -> Option<Chart> {
        let marks = || self.lines.iter().flat_map(|line| &line.marks);
        marks().next()?;
        let mut seen = BTreeSet::new();
        let evidence = marks().map(|mark| mark.facts.id.clone()).filter(|id| seen.insert(id.clone())).collect();
        let table = self.table();
        let (wide, narrow) = (self.draw(720.0), self.draw(360.0));
        Some(finish(self.head, [&wide, &narrow], table, evidence))
    }

    fn table(&self) -> Grid {
        let mut columns = vec![Column::text("What"), Column::text("Figure")];
        columns.extend(self.head.columns.iter().cloned());
        let lines = self.lines.iter().flat_map(|line| {
            line.marks.iter().map(|mark| {
                let first = [Cell::text(line.label.clone()), Cell::text(self.kinds[mark.kind].name.clone())];
                GridLine { cells: first.into_iter().chain(mark.cells.iter().cloned()).collect(), ..mark.line.clone() }
            })
        });
        self.head.grid(columns, lines.collect())
    }

    fn draw(&self, width: f64) -> Drawing {
        let mut canvas = Canvas::of(width);
        let is_wide = width > 500.0;
        let top = key::draw(&mut canvas, &self.key(), width);
        let labels = self.lines.iter().map(|line| text_width(&line.label)).fold(0.0, f64::max);
        let left = if is_wide { labels.min(width * LABEL_SHARE) + 18.0 } else { 10.0 };
        let notes = self.lines.iter().map(|line| text_width(&line.note)).fold(0.0, f64::max);
        let right = width - if notes > 0.0 { notes + 14.0 } else { 26.0 };
        let scale = self.scale((left, right), width);
        let step = if is_wide { STEP } else { STEP_NARROW };
        let bottom = top + step * self.lines.len() as f64 + 4.0;
        for tick in &scale.ticks {
            let (Some(at), Some(middle)) = (scale.at(tick.value), scale.middle(tick, (0.0, width))) else { continue };
            canvas.line("grid", (at, top), (at, bottom));
            canvas.text("tick", (middle, bottom + 15.0), Anchor::Middle, &tick.text);
        }
        let unit = cut(&scale.titled(&self.axis.title), width - 4.0);
        let half = text_width(&unit) / 2.0;
        let middle = f64::midpoint(left, right).clamp(half.min(width / 2.0), (width - half).max(width / 2.0));
        canvas.text("unit", (middle, bottom + 34.0), Anchor::Middle, &unit);
        for (index, line) in self.lines.iter().enumerate() {
            let at = top + step * index as f64 + if is_wide { step / 2.0 } else { step * 0.7 };
            if is_wide {
                canvas.text("name", (left - 14.0, at + 4.0), Anchor::End, &cut(&line.label, left - 18.0));
            } else {
                canvas.text("name", (0.0, at - 14.0), Anchor::Start, &cut(&line.label, width));
            }
            canvas.text("name", (width, at + 4.0), Anchor::End, &line.note);
            self.line(&mut canvas, line, &scale, at);
        }
        Drawing { width, height: bottom + 44.0, body: canvas.into_body() }
    }

    fn scale(&self, ends: (f64, f64), width: f64) -> Scale {
        let marks = self.lines.iter().flat_map(|line| &line.marks);
        let values: Vec<f64> = marks.map(|mark| mark.at).collect();
        let intervals = self.lines.iter().flat_map(|line| &line.marks).filter_map(|mark| mark.interval).flatten();
        let samples = self.lines.iter().flat_map(|line| line.samples.iter().copied());
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let positive = least > 0.0;
        let all: Vec<f64> = values.iter().copied().chain(intervals).chain(samples).collect();
        let all = all.into_iter().filter(|value| is_drawable(*value) && (!positive || *value > 0.0));
        Scale::new(&self.axis.reading, &all.collect::<Vec<_>>(), (ends.0 + 6.0, ends.1 - 6.0), 6).thinned((0.0, width))
    }

    fn key(&self) -> Vec<Item> {
        let used = |index: usize| self.lines.iter().flat_map(|line| &line.marks).any(|mark| mark.kind == index);
        let kinds = self.kinds.iter().enumerate().filter(|(index, _)| used(*index)).map(|(_, kind)| {
            let class = match kind.tone {
                Some(0) => "mark m0",
                Some(1) => "mark m1",
                Some(_) => "mark m2",
                None => "limit",
            };
            Item::Mark { class, shape: kind.shape, name: kind.name.clone() }
        });
        let samples = self.lines.iter().any(|line| !line.samples.is_empty());
        let hollow = self.lines.iter().flat_map(|line| &line.marks).any(|mark| mark.is_hollow);
        kinds
            .chain(samples.then(|| Item::Sample("one sample each".to_owned())))
            .chain(hollow.then(|| Item::Hollow("hollow: grade C".to_owned())))
            .collect()
    }

    fn line(&self, canvas: &mut Canvas, line: &DotLine, scale: &Scale, y: f64) {
        let places: Vec<f64> = line.marks.iter().filter_map(|mark| scale.at(mark.at)).collect();
        let least = places.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self.spanned && greatest > least {
            canvas.line("span", (least, y), (greatest, y));
        }
        for mark in &line.marks {
            let (Some(at), Some([low, high])) = (scale.at(mark.at), mark.interval) else { continue };
            let (from, to) = (scale.clamped(low), scale.clamped(high));
            if (at - from).max(to - at) > RADIUS {
                let tone = if line.samples.is_empty() { self.kinds[mark.kind].tone.unwrap_or(0) } else { 2 };
                canvas.line(&format!("whisker t{tone}"), (from, y), (to, y));
            }
        }
        let samples: Vec<(f64, f64)> = line.samples.iter().filter_map(|value| Some((scale.at(*value)?, y))).collect();
        canvas.dots(&samples, SAMPLE);
        // Limits lie under what was measured.
        let mut marks: Vec<&DotMark> = line.marks.iter().collect();
        marks.sort_by_key(|mark| self.kinds[mark.kind].tone.is_some());
        for mark in marks {
            let Some(at) = scale.at(mark.at) else { continue };
            let kind = &self.kinds[mark.kind];
            let class = match kind.tone {
                None => "limit".to_owned(),
                Some(tone) if mark.is_hollow => format!("mark hollow h{tone}"),
                Some(tone) => format!("mark m{tone}"),
            };
            canvas.mark(&class, kind.shape, (at, y), &mark.facts);
        }
    }
}
