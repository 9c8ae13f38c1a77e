//! The table of an area in a terminal: thread counts or depths side by side where there is room, else one below the other.
//!
//! No result is left out; to a narrow terminal give way the bar, the clock's column, what explains a value, and the names
//! that other programs have. This file decides on the form; the columns are in [`columns`].

mod columns;

use model::document::{Row, Status};

use super::notes::Notes;
use super::sections::Section;
use crate::grid::groups::Group;
use crate::layout::{Block, fitting, table, table_width, width, wrap};
use crate::reason::without_words;
use crate::style::{Style, Tone};
use crate::terminal::row::headline;
use areas::disk::familiar;
use areas::label::{Label, area_title, table_rules};
use model::number::{Notation, UnitScale, clock};

const GAP: usize = 2;
const TITLE_GAP: &str = "  ";
/// Lengths of the bar, the better first.
const BARS: [usize; 3] = [10, 5, 0];
/// How much wider than the words below it a heading may be; a longer one, of a long path, has a line of its own.
const HEADING_EXCESS: usize = 16;
/// A smaller loss to interference is not worth a column.
const LEAST_LOST: f64 = 0.005;
/// Up to this many benchmarks are an overview, which should be short. More of them are read to learn about the processor:
/// operations per cycle matter more than an even layout, and a blank line separates precisions.
const OVERVIEW: usize = 8;
/// From this many places on the axis on, the question is how the rate grows with them.
const SERIES: usize = 3;

#[expect(clippy::struct_excessive_bools, reason = "columns, each of which is shown or not")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    bar: usize,
    pub(super) per_cycle: bool,
    pub(super) scaling: bool,
    clock: bool,
    pub(super) names: bool,
}

impl Parts {
    /// Nothing that may give way.
    const NONE: Self = Self { bar: 0, per_cycle: false, scaling: false, clock: false, names: false };

    /// Every choice with all columns of `least` and none that are not in `most`, the best first.
    fn choices(least: Self, most: Self) -> Vec<Self> {
        let of =
            |least: bool, most: bool| [true, false].into_iter().filter(move |shown| *shown <= most && *shown >= least);
        let mut choices = Vec::new();
        for names in of(least.names, most.names) {
            for scaling in of(least.scaling, most.scaling) {
                for per_cycle in of(least.per_cycle, most.per_cycle) {
                    for clock in [true, false] {
                        choices.extend(BARS.map(|bar| Self { bar, per_cycle, scaling, clock, names }));
                    }
                }
            }
        }
        choices
    }
}

/// A table as it is shown, and its columns that need a legend.
pub(super) struct Drawn {
    pub(super) lines: Vec<String>,
    pub(super) parts: Parts,
    pub(super) lost: bool,
}

/// One line of the table: what it is about, and a row for each slot.
struct SlotLine<'a> {
    label: Option<&'a Label>,
    words: [&'a str; 3],
    /// Its place on the axis, where the slots do not say it.
    place: Option<u32>,
    scale: Option<UnitScale>,
    slots: Vec<Option<&'a Row>>,
}

impl<'a> SlotLine<'a> {
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
    slots: Vec<String>,
    lines: Vec<SlotLine<'a>>,
    /// The columns that its rows can fill.
    most: Parts,
    /// Without the loss, and with the share of the peak at the last place only.
    terse: bool,
}

/// Whether the loss of a row is worth a column.
pub(super) fn shows_loss(row: &Row) -> bool {
    table_rules(row.area).per_core && loss(row).is_some_and(|share| share >= LEAST_LOST)
}

fn loss(row: &Row) -> Option<f64> {
    row.conditions.lost_share.filter(|_| row.status == Status::Ok)
}

/// Operations per cycle and core when nobody interferes. Memory's bytes per cycle are another matter.
pub(super) fn per_cycle(row: &Row) -> Option<f64> {
    row.conditions.ops_per_cycle_p90.filter(|_| table_rules(row.area).per_core && row.status == Status::Ok)
}

/// The table of an area, in the first of these forms that fits: thread counts or depths side by side; one below the
/// other; the same with smaller gaps; labels above their values. Columns that matter for this table are given up only
/// where no form has room for them.
pub(super) fn draw<'a>(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Drawn {
    if section.groups.is_empty() {
        // The heading alone, where all rows are in tables of their own that need it.
        let heads = table_rules(section.area).always_heading && !section.apart.is_empty();
        let table = Table::of(section, notes, style);
        return table.drawn(if heads { table.above(&table.heading(false)) } else { Vec::new() }, Parts::NONE);
    }
    let wide = Table::wide(section, notes, style);
    let tall = Table::tall(section, notes, style);
    // The footnotes of disturbed rows have the loss too.
    let terse = Table { terse: true, ..Table::wide(section, notes, style) };
    let survey = is_survey(section);
    let series = tall.most.scaling && section.positions().len() >= SERIES;
    let scaling = Parts { scaling: series, ..Parts::NONE };
    let names = Parts { names: tall.most.names, ..Parts::NONE };
    let named = Parts { scaling: series, ..names };
    let per_cycle = Parts { per_cycle: survey && tall.most.per_cycle, ..named };
    let mut leasts = vec![per_cycle, named, names, scaling, Parts::NONE];
    leasts.dedup();
    for least in leasts {
        // Side by side there is nothing to see of how a rate grows; and two places side by side are an overview, which
        // is not made longer for names.
        let side_by_side = Parts { scaling: false, names: least.names && wide.slots.len() >= SERIES, ..least };
        let close =
            || if survey { wide.fitted(1, side_by_side).or_else(|| terse.fitted(1, side_by_side)) } else { None };
        let fitted = wide.fitted(GAP, side_by_side).or_else(close);
        let fitted = fitted.or_else(|| tall.fitted(GAP, least)).or_else(|| tall.fitted(1, least));
        if let Some(drawn) = fitted.or_else(|| tall.narrow(least)) {
            return drawn;
        }
    }
    tall.titled(Parts::NONE, 1)
}

fn is_survey(section: &Section<'_>) -> bool {
    table_rules(section.area).per_core && section.groups.len() > OVERVIEW
}

/// The precision of a group, where it is another one than that of the group before; elsewhere what it is about.
fn what<'a>(section: &'a Section<'a>, index: usize) -> &'a str {
    let what = |index: usize| section.groups[index].label.what.as_str();
    let repeated = table_rules(section.area).per_core && index > 0 && what(index) == what(index - 1);
    if repeated { "" } else { what(index) }
}

impl<'a> Table<'a> {
    fn of(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let most = Parts {
            bar: BARS[0],
            per_cycle: section.rows().any(|row| per_cycle(row).is_some()),
            scaling: section.rows().any(|row| row.scaling.is_some()),
            clock: true,
            names: section.rows().any(|row| familiar::name(row).is_some()),
        };
        Self { section, notes, style, slots: Vec::new(), lines: Vec::new(), most, terse: false }
    }

    fn wide(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let (axis, places) = (section.axis, section.positions());
        let at = |rows: &[&'a Row], place| rows.iter().copied().find(|row| axis.position(row) == place);
        let lines = section.groups.iter().enumerate().map(|(index, group)| SlotLine {
            label: Some(&group.label),
            words: [what(section, index), &group.label.how, &group.label.detail],
            place: None,
            scale: scale(section, &group.rows),
            slots: places.iter().map(|place| at(&group.rows, *place)).collect(),
        });
        let slots = places.iter().map(|place| axis.words(*place)).collect();
        let mut table = Self { slots, lines: lines.collect(), ..Self::of(section, notes, style) };
        table.most.scaling = false;
        table
    }

    fn tall(section: &'a Section<'a>, notes: &'a Notes<'a>, style: &'a Style) -> Self {
        let groups = section.groups.iter().enumerate();
        let lines = groups.flat_map(|(index, group)| stacked(section, what(section, index), group));
        let slots = vec!["measured".to_owned()];
        Self { slots, lines: lines.collect(), ..Self::of(section, notes, style) }
    }

    /// The lines with as many of the dispensable parts as there is room for beyond `least`; `None` where there is not
    /// even room for those.
    fn fitted(&self, gap: usize, least: Parts) -> Option<Drawn> {
        Parts::choices(least, self.most).into_iter().find_map(|parts| {
            let heading = self.heading(!parts.clock);
            let above = width(&heading) > self.label_block(String::new()).width() + HEADING_EXCESS;
            let mut blocks = vec![self.label_block(if above { String::new() } else { heading.clone() })];
            blocks.extend(self.value_blocks(parts));
            blocks.extend(parts.clock.then(|| self.clock_block()));
            let (blocks, gap) = fitting([(blocks, gap)], self.style.width)?;
            let mut texts = table(&blocks, gap, self.style).into_iter();
            let mut lines = if above { self.above(&heading) } else { Vec::new() };
            lines.extend(texts.next());
            for (index, text) in texts.enumerate() {
                lines.extend(self.begins_precision(index).then(String::new));
                lines.push(text);
            }
            Some(self.drawn(lines, parts))
        })
    }

    /// Whether a blank line is before this one: before each precision but the first, where there are many lines.
    fn begins_precision(&self, index: usize) -> bool {
        index > 0 && is_survey(self.section) && self.lines.get(index).is_some_and(|line| !line.words[0].is_empty())
    }

    fn above(&self, heading: &str) -> Vec<String> {
        let (title, rest) = heading.split_once(TITLE_GAP).unwrap_or((heading, ""));
        let first = if rest.is_empty() { String::new() } else { format!("{title}{TITLE_GAP}") };
        let lines = wrap(if rest.is_empty() { title } else { rest }, &first, self.style.width);
        lines.iter().map(|line| self.style.paint(line, Tone::Strong)).collect()
    }

    fn drawn(&self, lines: Vec<String>, parts: Parts) -> Drawn {
        Drawn { lines, parts, lost: self.shows_loss() }
    }

    fn narrow(&self, least: Parts) -> Option<Drawn> {
        let choices = Parts::choices(least, self.most).into_iter().filter(|parts| !parts.clock);
        let mut choices = choices.flat_map(|parts| [(parts, GAP), (parts, 1)]);
        let room = self.style.width.saturating_sub(width(INDENT));
        let fits = |(parts, gap): &(Parts, usize)| table_width(&self.value_blocks(*parts), *gap) <= room;
        choices.find(fits).map(|(parts, gap)| self.titled(parts, gap))
    }

    /// Values below their labels.
    fn titled(&self, parts: Parts, gap: usize) -> Drawn {
        let mut values = table(&self.value_blocks(parts), gap, self.style).into_iter();
        let mut lines = self.above(&self.heading(true));
        lines.extend(values.next().map(|heading| format!("{INDENT}{heading}")));
        for (index, (line, values)) in self.lines.iter().zip(values).enumerate() {
            lines.extend(self.begins_precision(index).then(String::new));
            lines.extend(line.label.map(|label| format!("  {}", self.style.clean(&title(label)))));
            // A line that only continues a label has no values.
            lines.extend((!values.is_empty()).then(|| format!("{INDENT}{values}")));
        }
        self.drawn(lines, parts)
    }

    fn shows_loss(&self) -> bool {
        !self.terse && self.section.rows().any(shows_loss)
    }

    fn value_blocks(&self, parts: Parts) -> Vec<Block> {
        let last = self.slots.len().saturating_sub(1);
        let mut blocks = vec![self.place_block()];
        blocks.extend((parts.names && last == 0).then(|| self.name_block(0)));
        blocks.push(self.unit_block());
        for slot in 0..self.slots.len() {
            let bar = if slot == last { parts.bar } else { 0 };
            blocks.extend((parts.names && last > 0).then(|| self.name_block(slot)));
            blocks.extend([self.slot_block(slot), self.p99_block(slot)]);
            blocks.extend((slot == last || !self.terse).then(|| self.peak_block(slot, bar)));
            blocks.extend(self.shows_loss().then(|| self.lost_block(slot)));
        }
        if parts.scaling {
            blocks.extend(self.scaling_blocks());
        }
        blocks.extend(parts.per_cycle.then(|| self.per_cycle_block()));
        blocks
    }

    /// The area, what is common to its rows, and the clock where it has no column.
    fn heading(&self, name_clock: bool) -> String {
        let clocks = || self.section.rows().filter_map(|row| row.conditions.clock_hz);
        // `at 3.79 GHz`, or `at 3.62 to 3.79 GHz`.
        let clock_range = || {
            let (least, most) = (clock(clocks().reduce(f64::min)?), clock(clocks().reduce(f64::max)?));
            let from = if least == most { String::new() } else { format!("{} to ", least.trim_end_matches(" GHz")) };
            Some(format!("at {from}{most}"))
        };
        let range = if name_clock && table_rules(self.section.area).per_core { clock_range() } else { None };
        let common = self.section.common.words().map(|words| self.style.clean(&words));
        let title = std::iter::once(area_title(self.section.area).to_owned());
        title.chain(common).chain(range).collect::<Vec<_>>().join(TITLE_GAP)
    }
}

const INDENT: &str = "    ";

/// `INT8 dot, AVX-512 VNNI, s32 ← u8 × s8`.
fn title(label: &Label) -> String {
    let Label { what, how, detail } = label;
    let comma = if detail.is_empty() { "" } else { ", " };
    format!("{what} {how}{comma}{detail}")
}

/// The lines of a group, with the detail of its label on the second. Rows that were not measured for one reason are one
/// line.
fn stacked<'a>(section: &'a Section<'a>, what: &'a str, group: &'a Group<'a>) -> Vec<SlotLine<'a>> {
    let Label { how, detail, .. } = &group.label;
    let line = |index: usize, row: Option<&'a Row>| SlotLine {
        label: (index == 0).then_some(&group.label),
        words: match index {
            0 => [what, how, ""],
            1 => ["", detail, ""],
            _ => [""; 3],
        },
        place: row.map(|row| section.axis.position(row)),
        scale: row.and(scale(section, &group.rows)),
        slots: vec![row],
    };
    let why = |row: &Row| (row.status, without_words(row));
    let are_alike = || group.rows.iter().all(|row| row.status != Status::Ok && why(row) == why(group.rows[0]));
    if group.rows.len() > 1 && are_alike() {
        return vec![SlotLine { place: None, ..line(0, group.rows.first().copied()) }];
    }
    let mut lines: Vec<SlotLine<'a>> =
        group.rows.iter().enumerate().map(|(index, row)| line(index, Some(*row))).collect();
    if lines.len() == 1 && !detail.is_empty() {
        lines.push(line(1, None));
    }
    lines
}

/// One prefix for all rows of the section in the same unit, or at least for those of one experiment.
fn scale(section: &Section<'_>, group: &[&Row]) -> Option<UnitScale> {
    let unit = group.iter().find_map(|row| headline(row))?.unit;
    let notation = Notation::of(section.area, unit);
    let medians = |rows: &mut dyn Iterator<Item = &Row>| -> Vec<f64> {
        let metrics = rows.filter_map(|row| row.metrics.first().filter(|metric| metric.unit == unit));
        metrics.map(|metric| metric.summary.median).collect()
    };
    let (own, all) = (medians(&mut group.iter().copied()), medians(&mut section.rows()));
    let common = UnitScale::common(&all, notation).or_else(|| UnitScale::common(&own, notation));
    Some(common.unwrap_or_else(|| UnitScale::of(own.into_iter().fold(0.0, f64::max), notation)))
}
