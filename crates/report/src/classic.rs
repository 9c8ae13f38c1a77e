//! The classic tables in a terminal. Columns give way to a narrow one, which a note lists; and as grids.

use std::collections::BTreeSet;

use model::document::{Document, Status};
use model::experiment::Area;
use model::number::{percent, quantity};
use model::unit::Unit;

use crate::layout::{Align, Block, Cell, Column, GAPS, fitting, paragraph, table, wrap};
use crate::style::{Style, Tone};
use areas::chart::classic::{
    ClassicPart, ClassicTable, Estimate, GivesWay, PLUS_MINUS, SideBySide, TableColumn, TableLine, parts,
};
use areas::chart::grid::{ABSENT, Grid};
use areas::label::threads;

/// The mark after the benchmark of this id if its confidence is not high or it was not measured: `fair ¹`.
pub(crate) type Marks<'a> = &'a dyn Fn(&str) -> Option<(String, Tone)>;

/// The tables of this document; none where it is no run of the classic suite.
pub(crate) fn paragraphs(document: &Document, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let draw = Drawing { marks, style };
    let drawn = |part: ClassicPart| match part {
        ClassicPart::Table(table) => draw.table(&table),
        ClassicPart::SideBySide(table) => Some(draw.side_by_side(&table)),
        ClassicPart::Notes(notes) => Some(draw.notes(&notes)),
    };
    Area::ALL.iter().flat_map(|area| parts(*area, document)).filter_map(drawn).collect()
}

pub(crate) fn grids(area: Area, document: &Document) -> Vec<Grid> {
    let grid = |part| if let ClassicPart::Table(table) = part { table.into_grid(area) } else { None };
    parts(area, document).into_iter().filter_map(grid).collect()
}

struct Drawing<'a> {
    marks: Marks<'a>,
    style: &'a Style,
}

impl Drawing<'_> {
    fn title(&self, text: &str) -> Vec<String> {
        paragraph(text, "", Tone::Strong, self.style)
    }

    fn notes(&self, notes: &[String]) -> Vec<String> {
        notes.iter().flat_map(|note| wrap(&self.style.clean(note), "  ", self.style.width)).collect()
    }

    fn mark(&self, id: &str) -> Cell {
        (self.marks)(id).map_or_else(Cell::default, |(text, tone)| Cell::new(text, tone))
    }

    fn table(&self, classic: &ClassicTable) -> Option<Vec<String>> {
        let title = classic.title.as_ref().filter(|_| !classic.lines.is_empty())?;
        let own = classic.columns.iter().filter(|column| column.text.is_some()).filter_map(|column| column.gives_way);
        let mut all: Vec<GivesWay> = own.collect();
        all.sort_unstable_by_key(|columns| columns.rank);
        all.dedup();
        let mut sets = (0..=all.len()).flat_map(|dropped| GAPS.map(|gap| (&all[dropped..], gap)));
        let found = sets
            .find_map(|(shown, gap)| Some((shown, fitting([(self.blocks(classic, shown), gap)], self.style.width)?)));
        // Where nothing fits, the fewest columns are the least bad.
        let (shown, (blocks, gap)) = found.unwrap_or_else(|| (&[], (self.blocks(classic, &[]), 1)));
        let mut lines = table(&blocks, gap, self.style).into_iter();
        let mut paragraph = self.title(title);
        paragraph.extend(lines.next());
        for (line, about) in lines.zip(&classic.lines) {
            paragraph.extend(about.begins_group.then(String::new));
            paragraph.push(line);
        }
        let dropped: Vec<&str> =
            all.iter().filter(|columns| !shown.contains(columns)).map(|columns| columns.words).collect();
        let left_out = (!dropped.is_empty())
            .then(|| format!("Hidden for lack of room: {}. Use a wider terminal to see them.", dropped.join(", ")));
        paragraph.extend(self.notes(&classic.text_notes(shown)));
        paragraph.extend(self.notes(left_out.as_slice()));
        Some(paragraph)
    }

    fn blocks(&self, classic: &ClassicTable, shown: &[GivesWay]) -> Vec<Block> {
        let columns = classic.columns.iter().filter(|column| column.gives_way.is_none_or(|own| shown.contains(&own)));
        let columns: Vec<_> = columns.filter_map(|column| Some((column, column.text.as_ref()?))).collect();
        let cells = |texts: &[String]| -> Vec<Cell> {
            let cell = |(text, status): (&String, Status)| {
                let tone = match status {
                    _ if text == ABSENT => Tone::Dim,
                    Status::Failed if text == status.name() => Tone::Bad,
                    Status::Skipped if text == status.name() => Tone::Dim,
                    _ => Tone::Plain,
                };
                Cell::new(self.style.plain(text), tone)
            };
            texts.iter().zip(classic.lines.iter().map(|line| line.status)).map(cell).collect()
        };
        let mut blocks: Vec<Block> = Vec::new();
        for (index, own) in columns.chunk_by(|_, (next, _)| next.is_joined).enumerate() {
            let (_, heading) = own[0];
            let set = own.iter().enumerate().map(|(within, (column, heading))| {
                let cells = cells(&column.texts);
                let is_first = index == 0 && within == 0;
                let cells = cells.into_iter().map(|cell| if is_first { cell.indented() } else { cell });
                Column::new(heading.align, cells)
            });
            let words =
                if heading.words == PLUS_MINUS { self.style.plus_minus() } else { &self.style.clean(&heading.words) };
            blocks.push(Block::new(words, heading.side, set.collect()));
        }
        let mark = |line: &TableLine| if line.is_marked { self.mark(&line.id) } else { Cell::default() };
        blocks.push(Block::single("", Align::Left, classic.lines.iter().map(mark)));
        blocks
    }

    fn side_by_side(&self, classic: &SideBySide) -> Vec<String> {
        let counts: BTreeSet<u32> = classic.lines.iter().flatten().map(|(count, ..)| *count).collect();
        let block = |count: u32, interval: bool| {
            let at = || classic.lines.iter().map(move |line| line.iter().find(|(other, ..)| *other == count));
            let values = || at().map(|point| point.and_then(|(_, _, estimate)| *estimate));
            let value = values().map(|estimate| match estimate {
                Some(estimate) => Cell::plain(quantity(estimate.median, Unit::Second)),
                None => Cell::new(ABSENT, Tone::Dim),
            });
            let spread = values().map(|estimate| {
                let half = estimate.filter(|_| interval).and_then(Estimate::half_interval);
                let text = half.map(|half| format!("{}{}", self.style.plus_minus(), percent(half)));
                Cell::new(text.unwrap_or_default(), Tone::Dim)
            });
            let marked = at().map(|point| point.map_or_else(Cell::default, |(_, id, _)| self.mark(id)));
            let columns = vec![
                Column::new(Align::Decimal, value),
                Column::new(Align::Decimal, spread),
                Column::new(Align::Left, marked),
            ];
            Block::new(threads(count), Align::Left, columns)
        };
        let blocks = |interval: bool| {
            let label = |(index, column): (usize, &TableColumn)| {
                let cells = column.texts.iter().map(Cell::plain);
                let cells = cells.map(|cell| if index == 0 { cell.indented() } else { cell });
                let heading = column.text.as_ref().map_or("", |heading| &heading.words);
                Block::single(heading, Align::Left, cells)
            };
            let labels = classic.labels.iter().enumerate().map(label);
            labels.chain(counts.iter().map(|count| block(*count, interval))).collect::<Vec<Block>>()
        };
        let choices = [true, false].into_iter().flat_map(|interval| GAPS.map(|gap| (blocks(interval), gap)));
        let (blocks, gap) = fitting(choices, self.style.width).unwrap_or_else(|| (blocks(false), 1));
        [self.title(classic.title), table(&blocks, gap, self.style)].concat()
    }
}
