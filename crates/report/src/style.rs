//! Width, characters and colours of text for people. Nothing depends on colour alone.

use crate::formats::escape::one_line;

/// What the output may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether characters beyond ASCII may be used.
    pub unicode: bool,
    /// Whether ANSI colours may be used.
    pub color: bool,
}

/// What a text is; the numbers are ANSI codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain = 0,
    Strong = 1,
    Dim = 2,
    Accent = 36,
    Good = 32,
    Fair = 33,
    Bad = 31,
}

/// Characters beyond ASCII, and their replacement in plain ASCII.
const ASCII: &[(char, &str)] = &[
    ('±', "+-"),
    ('·', "-"),
    ('×', "x"),
    ('µ', "u"),
    ('μ', "u"),
    ('…', "..."),
    ('–', "-"),
    ('—', "-"),
    ('→', "->"),
    ('←', "<-"),
    ('≥', ">="),
    ('≤', "<="),
    ('’', "'"),
    ('‘', "'"),
    ('“', "\""),
    ('”', "\""),
    ('®', "(R)"),
    ('™', "(TM)"),
    ('\u{a0}', " "),
];

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

impl Style {
    /// 80 columns of ASCII without colour.
    pub const PLAIN: Self = Self { width: 80, unicode: false, color: false };

    pub(crate) const fn plus_minus(&self) -> &'static str {
        if self.unicode { "±" } else { "+-" }
    }

    pub(crate) const fn separator(&self) -> &'static str {
        if self.unicode { " · " } else { " - " }
    }

    pub(crate) const fn ellipsis(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// The mark of a footnote: `²` or `[2]`.
    pub(crate) fn mark(&self, number: usize) -> String {
        if !self.unicode {
            return format!("[{number}]");
        }
        number.to_string().bytes().map(|digit| SUPERSCRIPTS[usize::from(digit - b'0')]).collect()
    }

    /// A bar of `ratio` of `width` columns; what is above 1 is full.
    pub(crate) fn bar(&self, ratio: f64, width: usize) -> String {
        let steps = if self.unicode { 8 } else { 1 };
        let filled = ratio.clamp(0.0, 1.0) * (width * steps) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the bar's steps")]
        let filled = filled.round() as usize;
        if !self.unicode {
            return "#".repeat(filled);
        }
        let mut bar = "█".repeat(filled / 8);
        if !filled.is_multiple_of(8) {
            bar.push(EIGHTHS[filled % 8 - 1]);
        }
        bar
    }

    /// `text` in its colour, where colours may be used; blanks at its end stay outside, so that they can be trimmed.
    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        if !self.color || tone == Tone::Plain || text.trim().is_empty() {
            return text.to_owned();
        }
        let (inner, blanks) = text.split_at(text.trim_end().len());
        format!("\x1b[{}m{inner}\x1b[0m{blanks}", tone as u8)
    }

    /// Text from elsewhere on one line, without hidden characters, and without what this style cannot show.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.plain(&one_line(text))
    }

    /// Text without what this style cannot show.
    pub(crate) fn plain(&self, text: &str) -> String {
        if self.unicode || text.is_ascii() {
            return text.to_owned();
        }
        let ascii = |c: char| match ASCII.iter().find(|(from, _)| *from == c) {
            Some((_, to)) => (*to).to_owned(),
            None => String::from(if c.is_ascii() { c } else { '?' }),
        };
        text.chars().map(ascii).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICH: Style = Style { width: 120, unicode: true, color: true };

    #[test]
    fn bars_move_in_eighths_or_in_whole_characters() {
        assert_eq!(RICH.bar(0.83, 10), "████████▎");
        assert_eq!(RICH.bar(1.3, 10), "██████████");
        assert_eq!(RICH.bar(0.0, 10), "");
        assert_eq!(Style::PLAIN.bar(0.83, 10), "########");
    }

    #[test]
    fn marks_have_all_digits() {
        assert_eq!((RICH.mark(10), Style::PLAIN.mark(10)), ("¹⁰".into(), "[10]".into()));
    }

    #[test]
    fn text_from_elsewhere_cannot_break_the_page() {
        assert_eq!(Style::PLAIN.clean("a\x1b[31m\n b × ß"), "a?[31m b x ?");
        assert_eq!(RICH.clean(" Größe\t×  2 \u{202e}"), "Größe × 2 \u{fffd}");
    }

    #[test]
    fn colour_is_only_used_where_it_is_allowed() {
        assert_eq!(RICH.paint("B ", Tone::Fair), "\x1b[33mB\x1b[0m ");
        assert_eq!(Style::PLAIN.paint("B", Tone::Fair), "B");
    }
}
