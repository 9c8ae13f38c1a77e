//! Text in columns and paragraphs.
//!
//! A table is a row of blocks; a block is a heading above one or more columns. Widths are numbers of characters; colours
//! are added after padding, so they do not count.

use crate::style::{Style, Tone};

pub(crate) use areas::chart::classic::Align;

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
    /// It takes the place of the cells to its right in its block.
    spans: bool,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, spans: false }
    }

    pub(crate) fn spanning(text: impl Into<String>, tone: Tone) -> Self {
        Self { spans: true, ..Self::new(text, tone) }
    }

    /// The same, set in from its heading, and a little apart from the next.
    pub(crate) fn indented(self) -> Self {
        let text = if self.text.is_empty() { self.text } else { format!("  {} ", self.text) };
        Self { text, ..self }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    align: Align,
    cells: Vec<Cell>,
}

/// Columns that belong together under one heading.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    heading: String,
    align: Align,
    columns: Vec<Column>,
}

const COLUMN_GAP: usize = 1;

/// Between blocks, the better first.
pub(crate) const GAPS: [usize; 2] = [2, 1];

pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, align: Align) -> String {
    let fill = " ".repeat(to.saturating_sub(width(text)));
    if align == Align::Right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

fn around_point(text: &str) -> Option<(usize, usize)> {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '±' | '+' | '-'));
    let point = text.find(['.', ' ']).unwrap_or(text.len());
    numeric.then(|| (width(&text[..point]), width(&text[point..])))
}

impl Column {
    pub(crate) fn new(align: Align, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { align, cells: cells.into_iter().collect() }
    }

    fn aligned(&self) -> Vec<String> {
        let texts = || self.cells.iter().map(|cell| if cell.spans { "" } else { cell.text.as_str() });
        let numbers = || texts().filter_map(around_point);
        let before = numbers().map(|(before, _)| before).max().unwrap_or(0);
        let place = |text: &str| match (self.align, around_point(text)) {
            (Align::Decimal, Some((own, _))) => format!("{}{text}", " ".repeat(before - own)),
            _ => text.to_owned(),
        };
        let placed: Vec<String> = texts().map(place).collect();
        let widest = placed.iter().map(|text| width(text)).max().unwrap_or(0);
        placed.iter().map(|text| pad(text, widest, self.align)).collect()
    }
}

impl Block {
    /// Columns under a heading, without those that have no text.
    pub(crate) fn new(heading: impl Into<String>, align: Align, columns: Vec<Column>) -> Self {
        let columns = columns.into_iter().filter(|column| column.cells.iter().any(|cell| !cell.text.is_empty()));
        Self { heading: heading.into(), align, columns: columns.collect() }
    }

    pub(crate) fn single(heading: impl Into<String>, align: Align, cells: impl IntoIterator<Item = Cell>) -> Self {
        let side = if align == Align::Right { align } else { Align::Left };
        Self::new(heading, side, vec![Column::new(align, cells)])
    }

    pub(crate) fn width(&self) -> usize {
        let spanning = self.columns.iter().flat_map(|column| &column.cells).filter(|cell| cell.spans);
        let widest = spanning.map(|cell| width(&cell.text)).max().unwrap_or(0);
        self.columns_width().max(widest).max(width(&self.heading))
    }

    fn columns_width(&self) -> usize {
        let widths = self.columns.iter().map(|column| column.aligned().first().map_or(0, |text| width(text)));
        widths.sum::<usize>() + COLUMN_GAP * self.columns.len().saturating_sub(1)
    }

    /// The heading and every line, all of the block's width.
    pub(crate) fn lines(&self, style: &Style) -> Vec<String> {
        let (inner, outer) = (self.columns_width(), self.width());
        let aligned: Vec<Vec<String>> = self.columns.iter().map(Column::aligned).collect();
        let count = self.columns.first().map_or(0, |column| column.cells.len());
        let line = |index: usize| {
            let cells = || self.columns.iter().map(|column| &column.cells[index]);
            if let Some(cell) = cells().find(|cell| cell.spans) {
                return style.paint(&pad(&cell.text, outer, self.align), cell.tone);
            }
            let parts: Vec<_> =
                cells().zip(&aligned).map(|(cell, texts)| style.paint(&texts[index], cell.tone)).collect();
            let (text, fill) = (parts.join(&" ".repeat(COLUMN_GAP)), " ".repeat(outer - inner));
            if self.align == Align::Right { format!("{fill}{text}") } else { format!("{text}{fill}") }
        };
        let heading = style.paint(&pad(&self.heading, outer, self.align), Tone::Strong);
        std::iter::once(heading).chain((0..count).map(line)).collect()
    }
}

pub(crate) fn table_width(blocks: &[Block], gap: usize) -> usize {
    let shown = || blocks.iter().filter(|block| !block.columns.is_empty());
    shown().map(Block::width).sum::<usize>() + gap * shown().count().saturating_sub(1)
}

pub(crate) fn table(blocks: &[Block], gap: usize, style: &Style) -> Vec<String> {
    let shown = blocks.iter().filter(|block| !block.columns.is_empty());
    let blocks: Vec<Vec<String>> = shown.map(|block| block.lines(style)).collect();
    let count = blocks.first().map_or(0, Vec::len);
    let line = |index: usize| {
        let parts: Vec<&str> = blocks.iter().map(|lines| lines[index].as_str()).collect();
        parts.join(&" ".repeat(gap)).trim_end().to_owned()
    };
    (0..count).map(line).collect()
}

/// The first of these tables that fits, with its gap.
pub(crate) fn fitting(
    choices: impl IntoIterator<Item = (Vec<Block>, usize)>,
    to: usize,
) -> Option<(Vec<Block>, usize)> {
    choices.into_iter().find(|(blocks, gap)| table_width(blocks, *gap) <= to)
}

/// `text` in lines of at most `to` columns: the first after `first`, the others after as many blanks. Longer words are not
/// cut: commands and paths are there to be copied.
pub(crate) fn wrap(text: &str, first: &str, to: usize) -> Vec<String> {
    let mut lines = vec![first.to_owned()];
    let mut blank = "";
    for word in unbreakable(text) {
        match lines.last_mut() {
            Some(line) if blank.is_empty() || width(line) + 1 + width(&word) <= to => {
                *line = format!("{line}{blank}{word}");
            }
            _ => lines.push(format!("{}{word}", " ".repeat(width(first)))),
        }
        blank = " ";
    }
    lines
}

/// Text from elsewhere, wrapped after `first`, in one colour.
pub(crate) fn paragraph(text: &str, first: &str, tone: Tone, style: &Style) -> Vec<String> {
    wrap(&style.clean(text), first, style.width).iter().map(|line| style.paint(line, tone)).collect()
}

/// Paragraphs with a blank line between them, ending in a newline.
pub(crate) fn separated(paragraphs: &[Vec<String>]) -> String {
    let paragraphs = paragraphs.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    format!("{}\n", paragraphs.collect::<Vec<_>>().join("\n\n"))
}

/// The words of a text; an option and its value are one, and so are a number and its percent sign.
fn unbreakable(text: &str) -> Vec<String> {
    let is_option = |word: &str| {
        let is_long = word.trim_start_matches('`').starts_with("--");
        is_long && word.ends_with(char::is_alphanumeric) && !word.contains(' ')
    };
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut().filter(|last| word.starts_with('%') || is_option(last)) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// The parts joined by `separator`, broken between parts, and inside one only where it does not fit on a line.
pub(crate) fn flow(parts: &[String], separator: &str, to: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + width(separator) + width(part) <= to => {
                *line = format!("{line}{separator}{part}");
            }
            _ => lines.extend(wrap(part, "", to)),
        }
    }
    lines
}

/// `text` cut to `to` columns with an ellipsis.
pub(crate) fn cut(text: &str, to: usize, style: &Style) -> String {
    if width(text) <= to {
        return text.to_owned();
    }
    let kept: String = text.chars().take(to.saturating_sub(width(style.ellipsis()))).collect();
    format!("{}{}", kept.trim_end(), style.ellipsis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(align: Align, texts: &[&str]) -> Column {
        Column::new(align, texts.iter().map(|text| Cell::plain(*text)))
    }

    #[test]
    fn numbers_align_on_their_point() {
        let column = column(Align::Decimal, &["241.1", "30.12", "1932", "failed"]);
        assert_eq!(column.aligned(), [" 241.1 ", "  30.12", "1932   ", "failed "]);
    }

    #[test]
    fn empty_columns_and_blocks_vanish() {
        let blocks = [
            Block::new("a", Align::Left, vec![column(Align::Left, &["x", "y"])]),
            Block::new("gone", Align::Left, vec![column(Align::Left, &["", ""])]),
            Block::new("b", Align::Right, vec![column(Align::Right, &["1", "22"]), column(Align::Left, &["", ""])]),
        ];
        assert_eq!(table(&blocks, 2, &Style::PLAIN), ["a   b", "x   1", "y  22"]);
        assert_eq!(table_width(&blocks, 2), 5);
    }

    #[test]
    fn paragraphs_hang_and_long_words_stay_whole() {
        assert_eq!(wrap("one two three", "1 ", 9), ["1 one two", "  three"]);
        assert_eq!(wrap("a 95 %, b", "", 6), ["a", "95 %,", "b"]);
        assert_eq!(wrap("a abcdefghijkl", "", 5), ["a", "abcdefghijkl"]);
        assert_eq!(wrap("use --repeat 9 or more", "", 12), ["use", "--repeat 9", "or more"]);
        assert_eq!(flow(&["ab".into(), "cd".into(), "ef".into()], " - ", 8), ["ab - cd", "ef"]);
        assert_eq!(flow(&["ab".into(), "c d e".into()], " - ", 3), ["ab", "c d", "e"]);
        assert_eq!(cut("abcdefgh", 6, &Style::PLAIN), "abc...");
    }
}
