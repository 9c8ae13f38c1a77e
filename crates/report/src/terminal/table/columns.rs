//! The columns of a table. Which of them are shown, the form decides.

use model::document::{Row, Status};
use model::unit::Unit;

use super::{SlotLine, Table, loss, per_cycle};
use crate::layout::{Align, Block, Cell, Column};
use crate::style::Tone;
use crate::terminal::notes::{efficiency_kind, has_no_limit, marked, short_kind};
use crate::terminal::row::{confidence_tone, headline, p99};
use areas::disk::familiar;
use areas::label::table_rules;
use model::number::{UnitScale, clock, digits, percent, spread};

impl<'a> Table<'a> {
    fn column(&self, align: Align, cell: impl Fn(&SlotLine<'a>) -> Cell) -> Column {
        Column::new(align, self.lines.iter().map(cell))
    }

    pub(super) fn label_block(&self, heading: String) -> Block {
        let word = |index: usize| move |line: &SlotLine<'a>| Cell::plain(self.style.clean(line.words[index]));
        let first = self.column(Align::Left, |line| word(0)(line).indented());
        Block::new(
            heading,
            Align::Left,
            vec![first, self.column(Align::Left, word(1)), self.column(Align::Left, word(2))],
        )
    }

    fn block(&self, heading: &str, align: Align, text: impl Fn(&SlotLine<'a>) -> Option<String>) -> Block {
        Block::single(heading, align, self.lines.iter().map(|line| Cell::plain(text(line).unwrap_or_default())))
    }

    pub(super) fn place_block(&self) -> Block {
        self.block(self.section.axis.name(), Align::Right, |line| Some(line.place?.to_string()))
    }

    /// What other programs call the rows of one place.
    pub(super) fn name_block(&self, slot: usize) -> Block {
        self.block("known as", Align::Left, |line| Some(familiar::name(line.slots[slot]?)?.to_owned()))
    }

    pub(super) fn unit_block(&self) -> Block {
        self.block("", Align::Left, |line| Some(line.scale?.unit().to_owned()))
    }

    /// What was measured at one place: value, spread, confidence and its footnotes.
    pub(super) fn slot_block(&self, slot: usize) -> Block {
        let value = self.column(Align::Decimal, |line| match line.slots[slot] {
            Some(row) if row.status != Status::Ok => {
                let tone = if row.status == Status::Failed { Tone::Bad } else { Tone::Dim };
                Cell::spanning(marked(row.status.name(), &self.notes.of_row(row), self.style), tone)
            }
            row => {
                let value = row.and_then(headline).zip(line.scale);
                Cell::plain(value.map(|(metric, scale)| scale.digits(metric.summary.median)).unwrap_or_default())
            }
        });
        let spread = self.column(Align::Decimal, |line| {
            let metric = line.slots[slot].and_then(headline);
            let spread = metric.map(|metric| spread(&metric.summary, self.style.plus_minus()));
            Cell::new(spread.unwrap_or_default(), Tone::Dim)
        });
        let confidence = self.column(Align::Left, |line| {
            let rated = line.slots[slot].and_then(|row| Some((row, row.confidence?)));
            rated.map_or_else(Cell::default, |(row, confidence)| {
                Cell::new(marked(confidence.name(), &self.notes.of_row(row), self.style), confidence_tone(confidence))
            })
        });
        Block::new(self.slots[slot].clone(), Align::Left, vec![value, spread, confidence])
    }

    /// The 99th percentile of the latency, where requests were timed one by one.
    pub(super) fn p99_block(&self, slot: usize) -> Block {
        let all: Vec<f64> = self.section.rows().filter_map(p99).collect();
        let common = UnitScale::common(&all, Unit::Second);
        self.block("p99", Align::Decimal, |line| {
            let seconds = line.slots[slot].and_then(p99)?;
            let scale = common.unwrap_or_else(|| UnitScale::of(seconds, Unit::Second));
            Some(format!("{} {}", scale.digits(seconds), scale.unit()))
        })
    }

    pub(super) fn peak_block(&self, slot: usize, length: usize) -> Block {
        let heading = format!("of {}", efficiency_kind(self.section).map_or("peak", short_kind));
        let share = self.column(Align::Decimal, |line| {
            Cell::plain(line.slots[slot].and_then(|row| self.of_peak(row)).unwrap_or_default())
        });
        let bar = self.column(Align::Left, |line| {
            let efficiency = line.slots[slot].and_then(headline).and_then(|metric| metric.efficiency);
            let bar = efficiency.map(|efficiency| self.style.bar(efficiency.value, length));
            Cell::new(bar.unwrap_or_default(), Tone::Accent)
        });
        Block::new(heading, Align::Left, vec![share, bar])
    }

    fn of_peak(&self, row: &Row) -> Option<String> {
        let notes = self.notes.of_peak(row);
        let text = match headline(row)?.efficiency {
            Some(efficiency) => percent(efficiency.value),
            None if has_no_limit(row) => "no limit".to_owned(),
            None if !notes.is_empty() => "unknown".to_owned(),
            None => return None,
        };
        Some(marked(&text, &notes, self.style))
    }

    pub(super) fn lost_block(&self, slot: usize) -> Block {
        self.block("lost", Align::Decimal, |line| line.slots[slot].and_then(loss).map(percent))
    }

    /// How the rate has grown, and what share that is of having grown like the threads.
    pub(super) fn scaling_blocks(&self) -> [Block; 2] {
        let scaling = |line: &SlotLine<'a>| line.rows().last()?.scaling.clone();
        [
            self.block("speed-up", Align::Decimal, |line| Some(format!("{:.2}x", scaling(line)?.speed_up))),
            self.block("of ideal", Align::Decimal, |line| Some(percent(scaling(line)?.parallel_efficiency))),
        ]
    }

    pub(super) fn per_cycle_block(&self) -> Block {
        self.block("per cycle", Align::Decimal, |line| line.last().and_then(per_cycle).map(digits))
    }

    /// The clock, where it sets the values.
    pub(super) fn clock_block(&self) -> Block {
        let is_shown = !table_rules(self.section.area).requests;
        self.block("clock", Align::Decimal, |line| line.last()?.conditions.clock_hz.filter(|_| is_shown).map(clock))
    }
}
