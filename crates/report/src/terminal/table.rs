//! One area as a table.
//!
//! Where there is room, a line holds all thread counts of one experiment side by side; where there is not, each has a
//! line of its own, which is also the better reading from three counts on. Either way no result is left out: what gives
//! way to a narrow terminal is the bar, and then the clock's column.

use model::document::{Row, Status};
use model::experiment::Area;
use model::sample::Metric;

use super::grade_tone;
use super::notes::{Notes, efficiency_kind, short_kind};
use super::section::Section;
use crate::label::{Label, area_title, threads};
use crate::layout::{Align, Block, Cell, Column, table, table_width};
use crate::number::{Scale, clock, percent, spread};
use crate::style::{Style, Tone};

/// Between blocks.
const GAP: usize = 2;

/// Lengths of the bar, the better first.
const BARS: [usize; 2] = [10, 5];

/// A share lost to others below this is not worth a column.
const LEAST_LOST: f64 = 0.005;

/// One line of the table: what it is about, and a row for each slot.
struct Line<'a> {
    label: Option<&'a Label>,
    threads: u32,
    scale: Option<Scale>,
    slots: Vec<Option<&'a Row>>,
}

impl<'a> Line<'a> {
    fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.slots.iter().flatten().copied()
    }

    /// The measured row with the most threads.
    fn last(&self) -> Option<&'a Row> {
        self.rows().filter(|row| row.status == Status::Ok).last()
    }
}

/// A table before its widths are known.
struct Table<'a> {
    section: &'a Section<'a>,
    notes: &'a Notes<'a>,
    style: &'a Style,
    /// Heading of each slot.
    slots: Vec<String>,
    lines: Vec<Line<'a>>,
}

/// Whether a row has lost so much to others that the loss is shown.
pub(super) fn shows_loss(row: &Row) -> bool {
    row.area == Area::Cpu && loss(row).is_some_and(|share| share >= LEAST_LOST)
}

fn loss(row: &Row) -> Option<f64> {
    row.conditions.lost_share.filter(|_| row.status == Status::Ok)
}

/// The table of an area, in the first of these forms that fits: thread counts side by side; one below the other; the
/// same with less air; what was measured above its figures.
pub(super) fn lines<'a>(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Vec<String> {
    let wide = Table::wide(section, notes, style);
    let tall = Table::tall(section, notes, style);
    let forms = [(&wide, GAP), (&tall, GAP), (&tall, 1)];
    let fitted = forms.iter().find_map(|(form, gap)| form.fitted(*gap).map(|blocks| table(&blocks, *gap, style)));
    fitted.unwrap_or_else(|| tall.narrow())
}

impl<'a> Table<'a> {
    /// All thread counts of an experiment on one line.
    fn wide(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let counts = section.thread_counts();
        let at = |rows: &[&'a Row], count| rows.iter().copied().find(|row| row.params.threads() == count);
        let lines = section.groups.iter().map(|group| Line {
            label: Some(&group.label),
            threads: 0,
            scale: scale(section, &group.rows),
            slots: counts.iter().map(|count| at(&group.rows, *count)).collect(),
        });
        let slots = counts.iter().map(|count| threads(*count)).collect();
        Self { section, notes, style, slots, lines: lines.collect() }
    }

    /// Each thread count on a line of its own.
    fn tall(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let lines = section.groups.iter().flat_map(|group| {
            group.rows.iter().enumerate().map(|(index, row)| Line {
                label: (index == 0).then_some(&group.label),
                threads: row.params.threads(),
                scale: scale(section, &group.rows),
                slots: vec![Some(*row)],
            })
        });
        Self { section, notes, style, slots: vec!["measured".to_owned()], lines: lines.collect() }
    }

    /// The blocks with as many of the dispensable ones as there is room for; `None` where not even the others fit.
    fn fitted(&self, gap: usize) -> Option<Vec<Block>> {
        let fits = |blocks: &Vec<Block>| table_width(blocks, gap) <= self.style.width;
        let choices = BARS.map(|bar| (bar, true)).into_iter().chain([(0, true)]).chain(BARS.map(|bar| (bar, false)));
        choices.chain([(0, false)]).map(|(bar, clock)| self.blocks(bar, clock)).find(fits)
    }

    /// What was measured on a line of its own above its figures, for very narrow terminals.
    fn narrow(&self) -> Vec<String> {
        const INDENT: &str = "    ";
        let mut figures = table(&self.figure_blocks(0), GAP, self.style).into_iter();
        let mut lines = vec![self.style.paint(&self.heading(true), Tone::Strong)];
        lines.extend(figures.next().map(|heading| format!("{INDENT}{heading}")));
        for (line, figures) in self.lines.iter().zip(figures) {
            let label = line.label.map(|label| self.style.clean(&format!("{} {}", label.what, label.how)));
            lines.extend(label.map(|label| format!("  {label}")));
            lines.push(format!("{INDENT}{figures}"));
        }
        lines
    }

    /// Everything, with a bar of this length (0: none) and with or without the clock.
    fn blocks(&self, bar: usize, clock: bool) -> Vec<Block> {
        let mut blocks = vec![self.label_block(!clock)];
        blocks.extend(self.figure_blocks(bar));
        blocks.extend(clock.then(|| self.clock_block()));
        blocks
    }

    fn figure_blocks(&self, bar: usize) -> Vec<Block> {
        let mut blocks = vec![self.threads_block(), self.unit_block()];
        let last = self.slots.len().saturating_sub(1);
        for slot in 0..self.slots.len() {
            let bar = if slot == last { bar } else { 0 };
            blocks.extend([self.slot_block(slot), self.peak_block(slot, bar), self.lost_block(slot)]);
        }
        blocks
    }

    fn column(&self, align: Align, cell: impl Fn(&Line<'a>) -> Cell) -> Column {
        Column::new(align, self.lines.iter().map(cell))
    }

    /// The area, what is common to its rows, and the clock where it has no column.
    fn heading(&self, name_clock: bool) -> String {
        let clocks = self.clock_range().filter(|_| name_clock && self.section.area == Area::Cpu);
        let parts = [self.section.common.words(), clocks.map(|range| format!("at {range}"))];
        let title = std::iter::once(area_title(self.section.area).to_owned());
        title.chain(parts.into_iter().flatten()).collect::<Vec<_>>().join("  ")
    }

    /// What each line is about.
    fn label_block(&self, name_clock: bool) -> Block {
        let words = |line: &Line<'a>, words: fn(&Label) -> String| {
            Cell::plain(line.label.map_or_else(String::new, |label| self.style.clean(&words(label))))
        };
        let what = self.column(Align::Left, |line| words(line, |label| label.what.clone()).indented());
        let how = self.column(Align::Left, |line| words(line, |label| label.how.clone()));
        Block::new(self.heading(name_clock), Align::Left, vec![what, how])
    }

    /// The number of threads, where lines differ in it.
    fn threads_block(&self) -> Block {
        let column = self.column(Align::Right, |line| match line.threads {
            0 => Cell::default(),
            threads => Cell::plain(threads.to_string()),
        });
        Block::new("threads", Align::Right, vec![column])
    }

    fn unit_block(&self) -> Block {
        let unit = |line: &Line<'a>| Cell::plain(line.scale.map_or("", |scale| scale.unit()));
        Block::new("", Align::Left, vec![self.column(Align::Left, unit)])
    }

    /// What was measured with one number of threads: figure, spread, grade and its footnotes.
    fn slot_block(&self, slot: usize) -> Block {
        let value = self.column(Align::Decimal, |line| match line.slots[slot] {
            Some(row) if row.status != Status::Ok => {
                let tone = if row.status == Status::Failed { Tone::Bad } else { Tone::Dim };
                Cell::spanning(self.with_marks(row, row.status.name()), tone)
            }
            Some(row) => Cell::plain(match (headline(row), line.scale) {
                (Some(metric), Some(scale)) => scale.digits(metric.summary.median),
                _ => String::new(),
            }),
            None => Cell::default(),
        });
        let spread = self.column(Align::Decimal, |line| {
            let metric = line.slots[slot].and_then(headline);
            let text = metric.map_or_else(String::new, |metric| spread(&metric.summary, self.style.plus_minus()));
            Cell::new(text, Tone::Dim)
        });
        let grade = self.column(Align::Left, |line| {
            let graded = line.slots[slot].and_then(|row| Some((row, row.grade?)));
            graded.map_or_else(Cell::default, |(row, grade)| {
                Cell::new(self.with_marks(row, grade.name()), grade_tone(grade))
            })
        });
        Block::new(self.slots[slot].clone(), Align::Left, vec![value, spread, grade])
    }

    /// A word with the footnotes of its row: `B ¹ ³`.
    fn with_marks(&self, row: &Row, word: &str) -> String {
        let marks: Vec<String> = self.notes.of_row(row).into_iter().map(|number| self.style.mark(number)).collect();
        // Superscripts need a blank to be told apart, brackets do not.
        format!("{word} {}", marks.join(if self.style.unicode { " " } else { "" })).trim_end().to_owned()
    }

    /// The share of the peak and a bar of `length` that repeats it.
    fn peak_block(&self, slot: usize, length: usize) -> Block {
        let heading = format!("of {}", efficiency_kind(self.section).map_or("peak", short_kind));
        let share = |line: &Line<'a>| Cell::plain(line.slots[slot].map_or_else(String::new, |row| self.of_peak(row)));
        Block::new(heading, Align::Left, vec![self.column(Align::Decimal, share), self.bar_column(slot, length)])
    }

    fn of_peak(&self, row: &Row) -> String {
        let text = match headline(row).map(|metric| metric.efficiency) {
            Some(Some(efficiency)) => percent(efficiency.value),
            Some(None) if self.notes.of_peak(row).is_some() => "unknown".to_owned(),
            _ => return String::new(),
        };
        self.notes.of_peak(row).map_or(text.clone(), |number| format!("{text} {}", self.style.mark(number)))
    }

    fn bar_column(&self, slot: usize, length: usize) -> Column {
        self.column(Align::Left, |line| {
            let efficiency = line.slots[slot].and_then(headline).and_then(|metric| metric.efficiency);
            let bar = efficiency.map_or_else(String::new, |efficiency| self.style.bar(efficiency.value, length));
            Cell::new(bar, Tone::Accent)
        })
    }

    /// The share of the rate that others took, where any of it is worth telling.
    fn lost_block(&self, slot: usize) -> Block {
        if !self.section.rows().any(shows_loss) {
            return Block::new("", Align::Left, Vec::new());
        }
        let share = |line: &Line<'a>| Cell::plain(line.slots[slot].and_then(loss).map_or_else(String::new, percent));
        Block::new("lost", Align::Left, vec![self.column(Align::Decimal, share)])
    }

    fn clock_block(&self) -> Block {
        let hertz = |line: &Line<'a>| line.last().and_then(|row| row.conditions.clock_hz);
        let cell = |line: &Line<'a>| Cell::plain(hertz(line).map_or_else(String::new, clock));
        Block::new("clock", Align::Left, vec![self.column(Align::Decimal, cell)])
    }

    /// `3.79 GHz`, or `3.62 to 3.79 GHz`.
    fn clock_range(&self) -> Option<String> {
        let clocks = || self.section.rows().filter_map(|row| row.conditions.clock_hz);
        let (least, most) = (clock(clocks().reduce(f64::min)?), clock(clocks().reduce(f64::max)?));
        Some(if least == most { most } else { format!("{} to {most}", least.trim_end_matches(" GHz")) })
    }
}

/// The figure that a row stands for in the table.
fn headline(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|_| row.status == Status::Ok)
}

/// One prefix for all rows of the section in the same unit, or at least for those of one experiment.
fn scale(section: &Section<'_>, group: &[&Row]) -> Option<Scale> {
    let unit = group.iter().find_map(|row| headline(row))?.unit;
    let medians = |rows: &mut dyn Iterator<Item = &Row>| -> Vec<f64> {
        let metrics = rows.filter_map(|row| row.metrics.first().filter(|metric| metric.unit == unit));
        metrics.map(|metric| metric.summary.median).collect()
    };
    let own = medians(&mut group.iter().copied());
    let most = own.iter().copied().fold(0.0, f64::max);
    let all = medians(&mut section.rows());
    Scale::common(&all, unit).or_else(|| Scale::common(&own, unit)).or_else(|| Some(Scale::of(most, unit)))
}
