//! One area as a table.
//!
//! Where there is room, a line holds all thread counts of one experiment side by side; where there is not, each has a line
//! of its own, which is also the better reading from three counts on. Either way no figure is left out: what gives way to a
//! narrow terminal is the bar, then the clock.

use model::document::{Row, Status};
use model::experiment::Area;
use model::peak::PeakKind;
use model::sample::Metric;

use super::grade_tone;
use super::notes::{Notes, efficiency_kind, kind_words};
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

    /// The row with the most threads.
    fn last(&self) -> Option<&'a Row> {
        self.rows().last()
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

/// The table of an area.
pub(super) fn lines<'a>(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Vec<String> {
    let wide = Table::wide(section, notes, style);
    let blocks = wide.fitted().unwrap_or_else(|| {
        let tall = Table::tall(section, notes, style);
        tall.fitted().unwrap_or_else(|| tall.required())
    });
    table(&blocks, GAP, style)
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
    fn fitted(&self) -> Option<Vec<Block>> {
        let fits = |blocks: &[Block]| table_width(blocks, GAP) <= self.style.width;
        let bare = self.blocks(None, None);
        if !fits(&bare) {
            return None;
        }
        let clocked = Some(self.clock_block()).filter(|clock| fits(&self.blocks(None, Some(clock))));
        let bars = BARS.iter().map(|length| Some(self.bar_column(*length)));
        let mut choices = bars.map(|bar| self.blocks(bar, clocked.as_ref()));
        Some(choices.find(|blocks| fits(blocks)).unwrap_or_else(|| self.blocks(None, clocked.as_ref())))
    }

    /// The blocks that cannot be left out, whether they fit or not.
    fn required(&self) -> Vec<Block> {
        self.blocks(None, None)
    }

    fn blocks(&self, bar: Option<Column>, clock: Option<&Block>) -> Vec<Block> {
        let mut blocks = vec![self.label_block(clock.is_none()), self.threads_block(), self.unit_block()];
        for slot in 0..self.slots.len() {
            blocks.extend([self.slot_block(slot), self.peak_block(slot), self.lost_block(slot)]);
        }
        blocks.extend(bar.map(|bar| Block::new("", Align::Left, vec![bar])));
        blocks.extend(clock.cloned());
        blocks
    }

    fn column(&self, align: Align, cell: impl Fn(&Line<'a>) -> Cell) -> Column {
        Column::new(align, self.lines.iter().map(cell))
    }

    /// The area and what is common to its rows, above what each line is about.
    fn label_block(&self, name_clock: bool) -> Block {
        let mut heading = area_title(self.section.area).to_owned();
        let clocks = self.clock_range().filter(|_| name_clock && self.section.area == Area::Cpu);
        for part in [self.section.common.words(), clocks.map(|range| format!("at {range}"))].into_iter().flatten() {
            heading.push_str("  ");
            heading.push_str(&part);
        }
        let part = |line: &Line<'a>, part: fn(&Label) -> &String| {
            Cell::plain(line.label.map_or_else(String::new, |label| self.style.clean(part(label))))
        };
        let what = self.column(Align::Left, |line| {
            let cell = part(line, |label| &label.what);
            if cell.text.is_empty() { cell } else { Cell::plain(format!("  {} ", cell.text)) }
        });
        Block::new(heading, Align::Left, vec![what, self.column(Align::Left, |line| part(line, |label| &label.how))])
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
            Some(row) if row.status != Status::Ok => Cell::spanning(self.with_marks(row, row.status.name()), Tone::Bad),
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
        let marks = self.notes.of_row(row).into_iter().map(|number| self.style.mark(number));
        std::iter::once(word.to_owned()).chain(marks).collect::<Vec<_>>().join(" ")
    }

    /// The share of the peak.
    fn peak_block(&self, slot: usize) -> Block {
        let heading = match efficiency_kind(self.section) {
            None | Some(PeakKind::Sustained) => "of peak".to_owned(),
            Some(PeakKind::MeasuredCeiling) => "of ceiling".to_owned(),
            Some(PeakKind::Link) => "of link".to_owned(),
            Some(PeakKind::Limit) => "of limit".to_owned(),
            Some(kind) => format!("of {} peak", kind_words(kind)),
        };
        let share = |line: &Line<'a>| Cell::plain(line.slots[slot].map_or_else(String::new, |row| self.of_peak(row)));
        Block::new(heading, Align::Left, vec![self.column(Align::Decimal, share)])
    }

    fn of_peak(&self, row: &Row) -> String {
        let text = match headline(row).map(|metric| metric.efficiency) {
            Some(Some(efficiency)) => percent(efficiency.value),
            Some(None) if self.notes.of_peak(row).is_some() => "unknown".to_owned(),
            _ => return String::new(),
        };
        self.notes.of_peak(row).map_or(text.clone(), |number| format!("{text} {}", self.style.mark(number)))
    }

    fn bar_column(&self, length: usize) -> Column {
        self.column(Align::Left, |line| {
            let efficiency = line.last().and_then(headline).and_then(|metric| metric.efficiency);
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
