//! A comparison for a terminal.

use model::comparison::{Change, Compared, Comparison, Direction};
use model::number::{change, counted};

use super::bar;
use super::parts::{
    Notes, ORDER, legend, limit_words, means, name, reasons, rows_of, summary, values, verdict_title, verdict_words,
};
use crate::html::text::some_of;
use crate::layout::{Align, Block, Cell, Column, fitting, flow, separated, table, table_width, width, wrap};
use crate::style::{Style, Tone};

const GAP: usize = 2;
const WORD: usize = 6;
/// The most results that are listed for one reason; --json has all.
const MOST_LEFT_OUT: usize = 6;

/// The comparison as text, ending in a newline: the verdict, both sides, the results by verdict, and explanations.
pub fn text(comparison: &Comparison, style: &Style) -> String {
    let notes = Notes::of(comparison);
    let mut paragraphs = vec![head(comparison, style), warnings(comparison, style)];
    paragraphs.extend(ORDER.map(|verdict| section(comparison, verdict, &notes, style)));
    paragraphs.extend([note_lines(&notes, style), left_out(comparison, style), foot(comparison, style)]);
    separated(&paragraphs)
}

fn head(comparison: &Comparison, style: &Style) -> Vec<String> {
    let is_worse = comparison.experiments.iter().any(|row| row.direction == Some(Direction::Worse));
    let tone = if is_worse { Tone::Bad } else { Tone::Strong };
    let verdict = wrap(&summary(comparison, style.ellipsis()), "", style.width);
    let verdict = verdict.iter().map(|line| style.paint(line, tone));
    verdict.chain(side_lines(comparison, style)).collect()
}

/// Both sides; what they have in common is a line of its own.
fn side_lines(comparison: &Comparison, style: &Style) -> Vec<String> {
    let [base, new] = [&comparison.base, &comparison.new].map(|side| {
        let switch = side.switch.as_ref().map_or_else(String::new, |command| format!("switched by '{command}'"));
        let expected =
            side.as_expected.map(|[fine, all]| format!("{fine} of {} as expected", counted(all.into(), "result")));
        let own = [side.name.clone(), side.started.clone(), switch, expected.unwrap_or_default()];
        (own, [side.machine.clone(), format!("Assay {}", side.program)])
    });
    let common = base.1 == new.1;
    let line = |word: &str, parts: &[String]| {
        let parts: Vec<String> = parts.iter().map(|part| style.clean(part)).filter(|part| !part.is_empty()).collect();
        let lines = flow(&parts, style.separator(), style.width.saturating_sub(WORD));
        let lines = lines.into_iter().enumerate();
        lines.map(|(index, line)| format!("{:<WORD$}{line}", if index == 0 { word } else { "" })).collect::<Vec<_>>()
    };
    let of = |word: &str, (own, shared): &([String; 4], [String; 2])| {
        if common { line(word, own) } else { line(word, &[own.as_slice(), shared].concat()) }
    };
    let both = if common { line("both", &base.1) } else { Vec::new() };
    [of("BASE", &base), of("NEW", &new), both].concat()
}

fn warnings(comparison: &Comparison, style: &Style) -> Vec<String> {
    comparison.warnings.iter().flat_map(|warning| wrap(&style.clean(warning), "! ", style.width)).collect()
}

fn section(comparison: &Comparison, verdict: Change, notes: &Notes<'_>, style: &Style) -> Vec<String> {
    let rows = rows_of(comparison, verdict);
    if rows.is_empty() {
        return Vec::new();
    }
    let title = format!("{}: {}", verdict_title(verdict), counted(rows.len() as u64, "result"));
    let set = Table { comparison, rows, notes, style };
    let same = verdict == Change::Same;
    // An unchanged result has one line at any width, without its limit in a narrow terminal.
    let mut forms = vec![set.wide(same, true, true), set.wide(same, true, false)];
    forms.extend(same.then(|| set.wide(same, false, false)));
    let found = fitting(forms.into_iter().map(|blocks| (blocks, GAP)), style.width);
    let lines = found.map_or_else(|| set.narrow(same), |(blocks, gap)| table(&blocks, gap, style));
    std::iter::once(style.paint(&title, Tone::Strong)).chain(lines).collect()
}

struct Table<'a> {
    comparison: &'a Comparison,
    rows: Vec<&'a Compared>,
    notes: &'a Notes<'a>,
    style: &'a Style,
}

impl Table<'_> {
    fn column(&self, align: Align, of: impl Fn(&Compared) -> String, tone: impl Fn(&Compared) -> Tone) -> Column {
        Column::new(align, self.rows.iter().map(|row| Cell::new(self.style.clean(&of(row)), tone(row))))
    }

    fn plain(&self, align: Align, of: impl Fn(&Compared) -> String) -> Column {
        self.column(align, of, |_| Tone::Plain)
    }

    fn values(&self, same: bool) -> Vec<Block> {
        let value = |index: usize| self.plain(Align::Decimal, move |row| values(row)[index].clone());
        let unit = self.plain(Align::Left, |row| values(row)[2].clone());
        let new = Block::new("new", Align::Left, vec![value(1), unit]);
        if same { vec![new] } else { vec![Block::new("base", Align::Left, vec![value(0)]), new] }
    }

    fn changes(&self, with_limit: bool) -> Vec<Block> {
        let end = |align, of: fn([f64; 2]) -> String| {
            self.plain(align, move |row| row.ratio_ci95.map_or_else(String::new, of))
        };
        let ellipsis = self.style.ellipsis();
        let between = self.plain(Align::Left, |row| row.ratio_ci95.map_or("", |_| ellipsis).to_owned());
        let parts = vec![
            self.plain(Align::Decimal, |row| format!("{} %", change(row.ratio))),
            end(Align::Right, |[low, _]| format!("({}", change(low))),
            between,
            end(Align::Left, |[_, high]| format!("{})", change(high))),
        ];
        let limit = Block::new("limit", Align::Left, vec![self.plain(Align::Left, limit_words)]);
        let change = Block::new("change", Align::Left, parts);
        if with_limit { vec![change, limit] } else { vec![change] }
    }

    fn verdicts(&self) -> Block {
        let tone = |row: &Compared| match row.direction {
            Some(Direction::Better) => Tone::Good,
            Some(Direction::Worse) => Tone::Bad,
            None => Tone::Plain,
        };
        let words = |row: &Compared| match row.verdict {
            Change::Changed => verdict_words(row).to_owned(),
            // The heading has the verdict.
            Change::Inconclusive | Change::Same => String::new(),
        };
        let mark = Column::new(Align::Left, self.rows.iter().map(|row| Cell::plain(self.mark(row))));
        Block::new("", Align::Left, vec![self.column(Align::Left, words, tone), mark])
    }

    fn mark(&self, row: &Compared) -> String {
        self.notes.number(row).map_or_else(String::new, |number| self.style.mark(number))
    }

    fn wide(&self, same: bool, with_limit: bool, with_bar: bool) -> Vec<Block> {
        let names = self.plain(Align::Left, |row| name(row, self.comparison));
        let mut blocks = vec![Block::new("", Align::Left, vec![names])];
        blocks.extend(self.values(same));
        blocks.extend(self.changes(with_limit));
        blocks.push(self.verdicts());
        let bars = self.rows.iter().map(|row| Cell::new(bar::bar(row, self.style), Tone::Accent));
        blocks.extend(with_bar.then(|| Block::single("", Align::Left, bars)));
        blocks
    }

    /// Two lines for each result, in a narrow terminal: its name and verdict, then its values.
    fn narrow(&self, same: bool) -> Vec<String> {
        let mut values = self.values(same);
        values.extend(self.changes(true));
        let set_in = self.style.width.saturating_sub(table_width(&values, GAP)).min(GAP);
        let mut lines = table(&values, GAP, self.style).into_iter().map(|line| format!("{}{line}", " ".repeat(set_in)));
        let mut all: Vec<String> = lines.next().into_iter().collect();
        for (row, line) in self.rows.iter().zip(lines) {
            let name = self.style.clean(&name(row, self.comparison));
            let words = if row.verdict == Change::Changed { verdict_words(row) } else { "" };
            let verdict = format!("{words} {}", self.mark(row));
            let whole = format!("{name}  {}", verdict.trim()).trim_end().to_owned();
            let fits = width(&whole) <= self.style.width;
            all.extend(if fits { vec![whole] } else { wrap(&whole, "", self.style.width) });
            all.push(line);
        }
        all
    }
}

fn note_lines(notes: &Notes<'_>, style: &Style) -> Vec<String> {
    let widest = width(&style.mark(notes.texts.len()));
    let numbered = notes.texts.iter().enumerate();
    numbered
        .flat_map(|(index, text)| {
            let mark = format!(" {:<widest$} ", style.mark(index + 1));
            wrap(&style.clean(text), &mark, style.width)
        })
        .collect()
}

fn left_out(comparison: &Comparison, style: &Style) -> Vec<String> {
    let lines = reasons(&comparison.not_compared).into_iter().flat_map(|(reason, ids)| {
        let ids: Vec<String> = ids.into_iter().map(|row| row.id.clone()).collect();
        let line = format!("{}: {reason}", some_of(&ids, MOST_LEFT_OUT));
        wrap(&style.clean(&line), "  ", style.width)
    });
    let title = format!("Not compared: {}", counted(comparison.not_compared.len() as u64, "result"));
    let title = (!comparison.not_compared.is_empty()).then(|| style.paint(&title, Tone::Strong));
    title.into_iter().chain(lines).collect()
}

fn foot(comparison: &Comparison, style: &Style) -> Vec<String> {
    let lines = means(&comparison.geometric_means).into_iter().chain([legend(comparison)]);
    let lines = lines.flat_map(|text| wrap(&style.clean(&text), "", style.width));
    lines.map(|line| style.paint(&line, Tone::Dim)).collect()
}
