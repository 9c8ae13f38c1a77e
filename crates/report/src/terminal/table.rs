//! One area as a table.
//!
//! Where there is room, a line holds all thread counts (for disks: all depths) of one experiment side by side; where
//! there is not, each has a line of its own, which is also the better reading from three on. Either way no result is
//! left out: what gives way to a narrow terminal is the bar, and then the clock's column.

use model::document::{Row, Status};
use model::experiment::Area;
use model::unit::Unit;

use super::grade_tone;
use super::notes::{Notes, efficiency_kind, has_no_limit, short_kind};
use super::section::Section;
use super::{headline, p99};
use crate::label::{Label, area_title};
use crate::layout::{Align, Block, Cell, Column, table, table_width, width, wrap};
use crate::number::{Notation, Scale, clock, percent, spread};
use crate::style::{Style, Tone};

/// Between blocks.
const GAP: usize = 2;

/// Between the parts of a heading.
const TITLE_GAP: &str = "  ";

/// Lengths of the bar, the better first.
const BARS: [usize; 2] = [10, 5];

/// How much wider than the words below it a heading may be; a longer one has a line of its own, so that a long path
/// does not push the figures away from what they are about.
const HEADING_EXCESS: usize = 16;

/// A share lost to others below this is not worth a column.
const LEAST_LOST: f64 = 0.005;

/// One line of the table: what it is about, and a row for each slot.
struct Line<'a> {
    label: Option<&'a Label>,
    /// Its place on the axis, where the slots do not say it.
    place: Option<u32>,
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

/// The table of an area, in the first of these forms that fits: thread counts or depths side by side; one below the
/// other; the same with less air; what was measured above its figures.
pub(super) fn lines<'a>(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Vec<String> {
    let wide = Table::wide(section, notes, style);
    let tall = Table::tall(section, notes, style);
    let forms = [(&wide, GAP), (&tall, GAP), (&tall, 1)];
    let fitted = forms.iter().find_map(|(form, gap)| form.fitted(*gap));
    fitted.unwrap_or_else(|| tall.narrow())
}

impl<'a> Table<'a> {
    /// All places of an experiment on one line.
    fn wide(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let (axis, places) = (section.axis, section.positions());
        let at = |rows: &[&'a Row], place| rows.iter().copied().find(|row| axis.position(row) == place);
        let lines = section.groups.iter().map(|group| Line {
            label: Some(&group.label),
            place: None,
            scale: scale(section, &group.rows),
            slots: places.iter().map(|place| at(&group.rows, *place)).collect(),
        });
        let slots = places.iter().map(|place| axis.words(*place)).collect();
        Self { section, notes, style, slots, lines: lines.collect() }
    }

    /// Each place on a line of its own.
    fn tall(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let lines = section.groups.iter().flat_map(|group| {
            group.rows.iter().enumerate().map(|(index, row)| Line {
                label: (index == 0).then_some(&group.label),
                place: Some(section.axis.position(row)),
                scale: scale(section, &group.rows),
                slots: vec![Some(*row)],
            })
        });
        Self { section, notes, style, slots: vec!["measured".to_owned()], lines: lines.collect() }
    }

    /// The lines with as many of the dispensable parts as there is room for; `None` where not even the others fit.
    fn fitted(&self, gap: usize) -> Option<Vec<String>> {
        let choices = BARS.map(|bar| (bar, true)).into_iter().chain([(0, true)]).chain(BARS.map(|bar| (bar, false)));
        choices.chain([(0, false)]).find_map(|(bar, clock)| {
            let heading = self.heading(!clock);
            let above = width(&heading) > self.label_block(String::new()).width() + HEADING_EXCESS;
            let blocks = self.blocks(if above { String::new() } else { heading.clone() }, bar, clock);
            let fits = table_width(&blocks, gap) <= self.style.width;
            let lines = || table(&blocks, gap, self.style);
            fits.then(|| if above { self.above(&heading).into_iter().chain(lines()).collect() } else { lines() })
        })
    }

    /// The heading on lines of its own.
    fn above(&self, heading: &str) -> Vec<String> {
        let (title, rest) = heading.split_once(TITLE_GAP).unwrap_or((heading, ""));
        let first = if rest.is_empty() { String::new() } else { format!("{title}{TITLE_GAP}") };
        let lines = wrap(if rest.is_empty() { title } else { rest }, &first, self.style.width);
        lines.iter().map(|line| self.style.paint(line, Tone::Strong)).collect()
    }

    /// What was measured on a line of its own above its figures, for very narrow terminals.
    fn narrow(&self) -> Vec<String> {
        const INDENT: &str = "    ";
        let mut figures = table(&self.figure_blocks(0), GAP, self.style).into_iter();
        let mut lines = self.above(&self.heading(true));
        lines.extend(figures.next().map(|heading| format!("{INDENT}{heading}")));
        for (line, figures) in self.lines.iter().zip(figures) {
            let label = line.label.map(|label| self.style.clean(&format!("{} {}", label.what, label.how)));
            lines.extend(label.map(|label| format!("  {label}")));
            lines.push(format!("{INDENT}{figures}"));
        }
        lines
    }

    /// Everything, with a bar of this length (0: none) and with or without the clock.
    fn blocks(&self, heading: String, bar: usize, clock: bool) -> Vec<Block> {
        let mut blocks = vec![self.label_block(heading)];
        blocks.extend(self.figure_blocks(bar));
        blocks.extend(clock.then(|| self.clock_block()));
        blocks
    }

    fn figure_blocks(&self, bar: usize) -> Vec<Block> {
        let mut blocks = vec![self.place_block(), self.unit_block()];
        let last = self.slots.len().saturating_sub(1);
        for slot in 0..self.slots.len() {
            let bar = if slot == last { bar } else { 0 };
            let (figures, peak) = (self.slot_block(slot), self.peak_block(slot, bar));
            blocks.extend([figures, self.p99_block(slot), peak, self.lost_block(slot)]);
        }
        blocks
    }

    fn column(&self, align: Align, cell: impl Fn(&Line<'a>) -> Cell) -> Column {
        Column::new(align, self.lines.iter().map(cell))
    }

    /// The area, what is common to its rows, and the clock where it has no column.
    fn heading(&self, name_clock: bool) -> String {
        let clocks = self.clock_range().filter(|_| name_clock && self.section.area == Area::Cpu);
        let common = self.section.common.words().map(|words| self.style.clean(&words));
        let parts = [common, clocks.map(|range| format!("at {range}"))];
        let title = std::iter::once(area_title(self.section.area).to_owned());
        title.chain(parts.into_iter().flatten()).collect::<Vec<_>>().join(TITLE_GAP)
    }

    /// What each line is about.
    fn label_block(&self, heading: String) -> Block {
        let words = |line: &Line<'a>, words: fn(&Label) -> String| {
            Cell::plain(line.label.map_or_else(String::new, |label| self.style.clean(&words(label))))
        };
        let what = self.column(Align::Left, |line| words(line, |label| label.what.clone()).indented());
        let how = self.column(Align::Left, |line| words(line, |label| label.how.clone()));
        Block::new(heading, Align::Left, vec![what, how])
    }

    /// Threads, connections or depth, where lines differ in it.
    fn place_block(&self) -> Block {
        let place = |line: &Line<'a>| Cell::plain(line.place.map_or_else(String::new, |place| place.to_string()));
        Block::new(self.section.axis.name(), Align::Right, vec![self.column(Align::Right, place)])
    }

    fn unit_block(&self) -> Block {
        let unit = |line: &Line<'a>| Cell::plain(line.scale.map_or("", |scale| scale.unit()));
        Block::new("", Align::Left, vec![self.column(Align::Left, unit)])
    }

    /// What was measured at one place: figure, spread, grade and its footnotes.
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

    /// What all but one in a hundred requests stayed below, where they were timed one by one.
    fn p99_block(&self, slot: usize) -> Block {
        let all: Vec<f64> = self.section.rows().filter_map(p99).collect();
        let common = Scale::common(&all, Unit::Second);
        let column = self.column(Align::Decimal, |line| {
            Cell::plain(line.slots[slot].and_then(p99).map_or_else(String::new, |seconds| {
                let scale = common.unwrap_or_else(|| Scale::of(seconds, Unit::Second));
                format!("{} {}", scale.digits(seconds), scale.unit())
            }))
        });
        Block::new("p99", Align::Left, vec![column])
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
            Some(None) if has_no_limit(row) => "no limit".to_owned(),
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

    /// The clock, where it sets the figures.
    fn clock_block(&self) -> Block {
        if matches!(self.section.area, Area::Disk | Area::Net) {
            return Block::new("", Align::Left, Vec::new());
        }
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

/// One prefix for all rows of the section in the same unit, or at least for those of one experiment.
fn scale(section: &Section<'_>, group: &[&Row]) -> Option<Scale> {
    let unit = group.iter().find_map(|row| headline(row))?.unit;
    let notation = Notation::of(section.area, unit);
    let medians = |rows: &mut dyn Iterator<Item = &Row>| -> Vec<f64> {
        let metrics = rows.filter_map(|row| row.metrics.first().filter(|metric| metric.unit == unit));
        metrics.map(|metric| metric.summary.median).collect()
    };
    let own = medians(&mut group.iter().copied());
    let most = own.iter().copied().fold(0.0, f64::max);
    let all = medians(&mut section.rows());
    let common = |values: &[f64]| Scale::common(values, notation);
    common(&all).or_else(|| common(&own)).or_else(|| Some(Scale::of(most, notation)))
}
