//! What reference tools measured: a line for each row and tool, then which did not run, and why two values may differ.

use model::document::{Row, Status};
use model::number::{UnitScale, counted, digits, percent_brief};
use model::reference::{Reference, Verdict};
use model::sample::Metric;

use super::sections::Section;
use crate::grid::groups::grouped;
use crate::grid::tables::{ours, scale, verdict_words};
use crate::layout::{Align, Block, Cell, Column, cut, fitting, table, wrap};
use crate::reason::{NO_REASON, reason_words};
use crate::style::{Style, Tone};
use areas::label::Label;

const TITLE: &str = "Compared with reference tools";

const HOW_TO_READ: &str = "Ratio: our median over the tool's, with its 95 % interval over n alternating pairs; for \
     latencies, lower is better. At least as fast: the ratio is even or in our favour, and the \
     worse end of its interval is within 5 %.";

const LONGEST_TOOL: usize = 20;

struct Pairing<'a> {
    row: &'a Row,
    metric: &'a Metric,
    reference: &'a Reference,
    /// It is the first of its metric.
    first: bool,
}

pub(super) fn paragraphs(sections: &[Section<'_>], style: &Style) -> Option<Vec<String>> {
    let all = collect(sections);
    if all.is_empty() {
        return None;
    }
    let (measured, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|pairing| pairing.reference.status == Status::Ok);
    let mut lines = if measured.is_empty() {
        vec![style.paint(TITLE, Tone::Strong)]
    } else {
        Comparison { lines: &measured, style }.lines()
    };
    let notes = explanations(&measured).into_iter().chain(absences(&others));
    lines.extend(notes.flat_map(|note| wrap(&style.clean(&note), "  ", style.width)));
    if !measured.is_empty() {
        lines.extend(wrap(HOW_TO_READ, "  ", style.width).iter().map(|line| style.paint(line, Tone::Dim)));
    }
    Some(lines)
}

fn collect<'a>(sections: &[Section<'a>]) -> Vec<Pairing<'a>> {
    // Those of a classic table have their tools in it.
    let rows = sections.iter().flat_map(|section| section.rows().chain(section.apart.iter().copied()));
    let metrics = rows.flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)));
    let all = metrics.flat_map(|(row, metric)| {
        // What could not be run has no line of the table, so it is not the first of any.
        let first = metric.references.iter().position(|reference| reference.status == Status::Ok);
        let references = metric.references.iter().enumerate();
        references.map(move |(index, reference)| Pairing { row, metric, reference, first: first == Some(index) })
    });
    all.collect()
}

impl Pairing<'_> {
    fn words(&self) -> String {
        let row = Label::sentence(self.row);
        let headline = self.row.metrics.first().is_some_and(|metric| std::ptr::eq(metric, self.metric));
        if headline { row } else { format!("{row}, {}", self.metric.name) }
    }

    fn scale(&self) -> Option<UnitScale> {
        scale(self.row, self.metric, self.reference)
    }

    fn tool(&self, style: &Style) -> String {
        let tool = format!("{} {}", self.reference.tool, self.reference.version.as_deref().unwrap_or(""));
        cut(&style.clean(&tool), LONGEST_TOOL, style)
    }

    /// How far the ratio can be off to either side.
    fn half_width(&self, style: &Style) -> Option<String> {
        Some(format!("{}{}", style.plus_minus(), percent_brief(self.reference.half_width?)))
    }

    /// The verdict in words; `why`: with the reason of an inconclusive one.
    fn verdict(&self, style: &Style, why: bool) -> Cell {
        let words = verdict_words(self.reference.verdict);
        let pairs = counted(self.reference.samples.len() as u64, "pair");
        match self.reference.verdict {
            Some(Verdict::AtLeast) => Cell::new(words, Tone::Good),
            Some(Verdict::Below) => Cell::new(words, Tone::Bad),
            _ if why => Cell::new(format!("{words}: {}", self.half_width(style).unwrap_or(pairs)), Tone::Fair),
            _ => Cell::new(words, Tone::Fair),
        }
    }
}

struct Comparison<'a> {
    lines: &'a [Pairing<'a>],
    style: &'a Style,
}

impl Comparison<'_> {
    /// In the first of these forms that fits: a line for each tool; the row above its tools; the same with half of the
    /// interval.
    fn lines(&self) -> Vec<String> {
        const INDENT: &str = "    ";
        let what =
            |pairing: &Pairing<'_>| if pairing.first { self.style.clean(&pairing.words()) } else { String::new() };
        let whats = Block::single(TITLE, Align::Left, self.lines.iter().map(|one| Cell::plain(what(one)).indented()));
        let wide = std::iter::once(whats).chain(self.blocks(true)).collect();
        if let Some((blocks, gap)) = fitting([(wide, 2)], self.style.width) {
            return table(&blocks, gap, self.style);
        }
        let narrow = [true, false].map(|ends| (self.blocks(ends), 2));
        let found = fitting(narrow, self.style.width.saturating_sub(INDENT.len()));
        let (blocks, gap) = found.unwrap_or_else(|| (self.blocks(false), 1));
        let mut values = table(&blocks, gap, self.style).into_iter();
        let mut lines = vec![self.style.paint(TITLE, Tone::Strong)];
        lines.extend(values.next().map(|heading| format!("{INDENT}{heading}")));
        for (pairing, values) in self.lines.iter().zip(values) {
            if pairing.first {
                lines.extend(wrap(&what(pairing), "  ", self.style.width));
            }
            lines.push(format!("{INDENT}{values}"));
        }
        lines
    }

    /// The values, with both `ends` of the interval or with half of its width.
    fn blocks(&self, ends: bool) -> Vec<Block> {
        let column =
            |align: Align, cell: &dyn Fn(&Pairing<'_>) -> Cell| Column::new(align, self.lines.iter().map(cell));
        let text = |text: Option<String>| Cell::plain(text.unwrap_or_default());
        let value = |pairing: &Pairing<'_>, value: Option<f64>| {
            text(pairing.scale().zip(value).map(|(scale, value)| scale.digits(value)))
        };
        let tool = column(Align::Left, &|pairing| Cell::plain(pairing.tool(self.style)));
        let ours = column(Align::Decimal, &|pairing| value(pairing, ours(pairing.reference)));
        let theirs = column(Align::Decimal, &|pairing| value(pairing, pairing.reference.median));
        let unit = column(Align::Left, &|pairing| Cell::plain(pairing.scale().map_or("", |scale| scale.unit())));
        let ratio = column(Align::Decimal, &|pairing| text(pairing.reference.ratio.map(digits)));
        let interval = column(Align::Decimal, &|pairing| {
            let both = pairing.reference.ratio_ci95.map(|[low, high]| format!("{} to {}", digits(low), digits(high)));
            text(if ends { both } else { pairing.half_width(self.style) })
        });
        let verdict = column(Align::Left, &|pairing| pairing.verdict(self.style, ends));
        let pairs = column(Align::Right, &|pairing| Cell::plain(pairing.reference.samples.len().to_string()));
        let left = |heading: &str, columns: Vec<Column>| Block::new(heading, Align::Left, columns);
        let mut blocks = vec![left("tool", vec![tool]), left("ours", vec![ours]), left("theirs", vec![theirs, unit])];
        if ends {
            blocks.extend([left("ratio", vec![ratio]), left("95 % interval", vec![interval])]);
        } else {
            blocks.push(left("ratio", vec![ratio, interval]));
        }
        blocks.push(left("verdict", vec![verdict]));
        blocks.push(Block::new(if ends { "pairs" } else { "n" }, Align::Right, vec![pairs]));
        blocks
    }
}

/// What remarks on rows and tools have in common: tool, status and text.
type Remark<'a> = (&'a str, Status, &'a str);

fn remark<'a>(pairing: &Pairing<'a>, text: &'a str) -> Remark<'a> {
    (&pairing.reference.tool, pairing.reference.status, text)
}

/// The row where it is one, else how many there are.
fn rows_words(rows: &[&Pairing<'_>]) -> String {
    match rows {
        [only] => only.words(),
        _ => counted(rows.len() as u64, "result"),
    }
}

/// Why a tool's values may differ from ours; the rows are named only where it is not the same for all of them.
fn explanations(measured: &[Pairing<'_>]) -> Vec<String> {
    let remarks = grouped(measured, |one| Some(remark(one, one.reference.explanation.as_deref()?)));
    let several = |tool: &str| remarks.iter().filter(|((other, ..), _)| *other == tool).count() > 1;
    let words = |((tool, _, text), rows): &(Remark<'_>, Vec<&Pairing<'_>>)| {
        let rows = if several(tool) { format!(", for {}", rows_words(rows)) } else { String::new() };
        format!("{tool}{rows}: {}", reason_words(text))
    };
    remarks.iter().map(words).collect()
}

fn absences(others: &[Pairing<'_>]) -> Vec<String> {
    let remarks = grouped(others, |one| Some(remark(one, one.reference.reason.as_deref().unwrap_or(NO_REASON))));
    let words = |((tool, status, text), rows): (Remark<'_>, Vec<&Pairing<'_>>)| {
        format!("{tool} {status} for {}: {}", rows_words(&rows), reason_words(text))
    };
    remarks.into_iter().map(words).collect()
}
