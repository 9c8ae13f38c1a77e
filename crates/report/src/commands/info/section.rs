//! Facts under a heading, as text.

use crate::layout::{paragraph, width, wrap};
use crate::style::{Style, Tone};

#[derive(Debug, PartialEq)]
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) source: String,
}

impl Fact {
    pub(super) fn new(name: impl Into<String>, value: String, source: impl Into<String>) -> Self {
        Self { name: name.into(), value, source: source.into() }
    }
}

#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) facts: Vec<Fact>,
    pub(super) aside: Option<&'static str>,
}

impl Section {
    pub(super) fn heading(&self, style: &Style) -> Vec<String> {
        let title = style.paint(self.title, Tone::Strong);
        let Some(aside) = self.aside else { return vec![title] };
        let whole = format!("{} ({aside})", self.title);
        if width(&whole) <= style.width {
            return vec![format!("{title} {}", style.paint(&format!("({aside})"), Tone::Dim))];
        }
        std::iter::once(title).chain(paragraph(&format!("({aside})"), "  ", Tone::Dim, style)).collect()
    }

    pub(super) fn lines(&self, style: &Style) -> Vec<String> {
        // A name or value wider than this does not widen its column for all others.
        const MOST: usize = 40;
        let widest = |part: fn(&Fact) -> &str| {
            let widths = self.facts.iter().map(|fact| width(part(fact)));
            widths.filter(|width| *width <= MOST).max().unwrap_or(0)
        };
        let widths = [widest(|fact| &fact.name), widest(|fact| &fact.value)];
        let before = std::iter::once("").chain(self.facts.iter().map(|fact| fact.source.as_str()));
        let facts = self.facts.iter().zip(before);
        let repeated = |fact: &Fact, before: &str| !before.is_empty() && before == fact.source;
        facts.flat_map(|(fact, before)| fact.lines(widths, repeated(fact, before), style)).collect()
    }
}

impl Fact {
    /// Name, value and source; the source below the value where it does not fit next to it, and `same` where it repeats.
    fn lines(&self, [name, value]: [usize; 2], repeated: bool, style: &Style) -> Vec<String> {
        // Least room for a source next to its value, and for a value next to its name.
        const LEAST_SOURCE: usize = 30;
        const LEAST_VALUE: usize = 20;
        if name + LEAST_VALUE > style.width {
            let source = paragraph(&self.source, "    ", Tone::Dim, style);
            let source = if self.source.is_empty() || repeated { Vec::new() } else { source };
            let own = paragraph(&self.name, "  ", Tone::Plain, style);
            return [own, paragraph(&self.value, "    ", Tone::Plain, style), source].concat();
        }
        let first = format!("  {:<name$}  ", self.name);
        let mut lines = wrap(&style.clean(&self.value), &style.plain(&first), style.width);
        let source = if repeated { "same".to_owned() } else { style.clean(&self.source) };
        if source.is_empty() {
            return lines;
        }
        let at = width(&first) + value + 2;
        let value = lines.last().map_or(0, |last| width(last));
        // Next to the value where it fits or wraps well; long paths do not.
        let longest = source.split(' ').map(width).max().unwrap_or(0).max(LEAST_SOURCE);
        let needed = longest.min(width(&source));
        let fits = lines.len() == 1 && value + 2 <= at && at + needed <= style.width;
        let indent = if fits { at } else { width(&first) + 2 };
        let source = wrap(&source, "", style.width.saturating_sub(indent));
        let mut before = if fits { lines.pop() } else { None };
        for line in source {
            let before = before.take().unwrap_or_default();
            lines.push(format!("{before:<indent$}{}", style.paint(&line, Tone::Dim)));
        }
        lines
    }
}
