//! The columns of a table. Which of them are shown, the form decides.

use model::document::{Row, Status};
use model::unit::Unit;

use super::super::notes::{efficiency_kind, has_no_limit, short_kind};
use super::{SlotLine, Table, loss, per_cycle};
use crate::layout::{Align, Block, Cell, Column};
use crate::style::Tone;
use crate::terminal::row::{grade_tone, headline, p99};
use areas::disk::familiar;
use areas::label::table_rules;
use model::number::{UnitScale, clock, digits, percent, spread};

impl<'a> Table<'a> {
    fn column(&self, align: Align, cell: impl Fn(&SlotLine<'a>) -> Cell) -> Column {
        Column::new(align, self.lines.iter().map(cell))
    }

    /// What each line is about.
    pub(super) fn label_block(&self, heading: String) -> Block {
        let what = self.column(Align::Left, |line| Cell::plain(self.style.clean(line.words.what)).indented());
        let how = self.column(Align::Left, |line| Cell::plain(self.style.clean(line.words.how)));
        let detail = self.column(Align::Left, |line| Cell::plain(self.style.clean(line.words.detail)));
        Block::new(heading, Align::Left, vec![what, how, detail])
    }

    /// Threads, connections or depth, where lines differ in it.
    pub(super) fn place_block(&self) -> Block {
        let place = |line: &SlotLine<'a>| Cell::plain(line.place.map_or_else(String::new, |place| place.to_string()));
        Block::new(self.section.axis.name(), Align::Right, vec![self.column(Align::Right, place)])
    }

    /// What other programs call the rows of one place.
    pub(super) fn name_block(&self, slot: usize) -> Block {
        let name = |line: &SlotLine<'a>| Cell::plain(line.slots[slot].and_then(familiar::name).unwrap_or_default());
        Block::new("known as", Align::Left, vec![self.column(Align::Left, name)])
    }

    pub(super) fn unit_block(&self) -> Block {
        let unit = |line: &SlotLine<'a>| Cell::plain(line.scale.map_or("", |scale| scale.unit()));
        Block::new("", Align::Left, vec![self.column(Align::Left, unit)])
    }

    /// What was measured at one place: figure, spread, grade and its footnotes.
    pub(super) fn slot_block(&self, slot: usize) -> Block {
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
    pub(super) fn p99_block(&self, slot: usize) -> Block {
        let all: Vec<f64> = self.section.rows().filter_map(p99).collect();
        let common = UnitScale::common(&all, Unit::Second);
        let column = self.column(Align::Decimal, |line| {
            Cell::plain(line.slots[slot].and_then(p99).map_or_else(String::new, |seconds| {
                let scale = common.unwrap_or_else(|| UnitScale::of(seconds, Unit::Second));
                format!("{} {}", scale.digits(seconds), scale.unit())
            }))
        });
        Block::new("p99", Align::Left, vec![column])
    }

    /// A word with the footnotes of its row: `B ¹ ³`.
    fn with_marks(&self, row: &Row, word: &str) -> String {
        self.marked(word, &self.notes.of_row(row))
    }

    fn marked(&self, word: &str, notes: &[usize]) -> String {
        let marks: Vec<String> = notes.iter().map(|number| self.style.mark(*number)).collect();
        // Superscripts need a blank to be told apart, brackets do not.
        format!("{word} {}", marks.join(if self.style.unicode { " " } else { "" })).trim_end().to_owned()
    }

    /// The share of the peak and a bar of `length` that repeats it.
    pub(super) fn peak_block(&self, slot: usize, length: usize) -> Block {
        let heading = format!("of {}", efficiency_kind(self.section).map_or("peak", short_kind));
        let share =
            |line: &SlotLine<'a>| Cell::plain(line.slots[slot].map_or_else(String::new, |row| self.of_peak(row)));
        Block::new(heading, Align::Left, vec![self.column(Align::Decimal, share), self.bar_column(slot, length)])
    }

    fn of_peak(&self, row: &Row) -> String {
        let notes = self.notes.of_peak(row);
        let text = match headline(row).map(|metric| metric.efficiency) {
            Some(Some(efficiency)) => percent(efficiency.value),
            Some(None) if has_no_limit(row) => "no limit".to_owned(),
            Some(None) if !notes.is_empty() => "unknown".to_owned(),
            _ => return String::new(),
        };
        self.marked(&text, &notes)
    }

    fn bar_column(&self, slot: usize, length: usize) -> Column {
        self.column(Align::Left, |line| {
            let efficiency = line.slots[slot].and_then(headline).and_then(|metric| metric.efficiency);
            let bar = efficiency.map_or_else(String::new, |efficiency| self.style.bar(efficiency.value, length));
            Cell::new(bar, Tone::Accent)
        })
    }

    /// The share of the rate that others took.
    pub(super) fn lost_block(&self, slot: usize) -> Block {
        let share =
            |line: &SlotLine<'a>| Cell::plain(line.slots[slot].and_then(loss).map_or_else(String::new, percent));
        Block::new("lost", Align::Left, vec![self.column(Align::Decimal, share)])
    }

    /// How the rate has grown, and what share that is of having grown like the threads.
    pub(super) fn scaling_blocks(&self) -> [Block; 2] {
        let scaling = |line: &SlotLine<'a>| line.rows().last().and_then(|row| row.scaling.as_ref());
        let speed_up = |line: &SlotLine<'a>| {
            Cell::plain(scaling(line).map_or_else(String::new, |scaling| format!("{:.2}x", scaling.speed_up)))
        };
        let share = |line: &SlotLine<'a>| {
            Cell::plain(scaling(line).map_or_else(String::new, |scaling| percent(scaling.parallel_efficiency)))
        };
        [
            Block::new("speed-up", Align::Left, vec![self.column(Align::Decimal, speed_up)]),
            Block::new("of ideal", Align::Left, vec![self.column(Align::Decimal, share)]),
        ]
    }

    /// Operations per cycle and core, of the row with the most threads.
    pub(super) fn per_cycle_block(&self) -> Block {
        let figure =
            |line: &SlotLine<'a>| Cell::plain(line.last().and_then(per_cycle).map_or_else(String::new, digits));
        Block::new("per cycle", Align::Left, vec![self.column(Align::Decimal, figure)])
    }

    /// The clock, where it sets the figures.
    pub(super) fn clock_block(&self) -> Block {
        if table_rules(self.section.area).requests {
            return Block::new("", Align::Left, Vec::new());
        }
        let hertz = |line: &SlotLine<'a>| line.last().and_then(|row| row.conditions.clock_hz);
        let cell = |line: &SlotLine<'a>| Cell::plain(hertz(line).map_or_else(String::new, clock));
        Block::new("clock", Align::Left, vec![self.column(Align::Decimal, cell)])
    }
}
