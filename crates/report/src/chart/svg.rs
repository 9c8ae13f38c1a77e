//! SVG as text: elements, escaping, coordinates, and estimated text widths.

use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt::Write as _;

use areas::chart::{Mark, Shape};

use crate::formats::escape::{REPLACEMENT, is_hidden, visible};

pub(super) const TEXT: f64 = 12.0;

pub(super) const LINE: f64 = 1.35;

/// Drawings narrower than this are for phones, which have no pointer: their marks have attributes and no titles.
pub(super) const NARROW: f64 = 500.0;

pub(super) type At = (f64, f64);

pub(super) type Segment = (At, At);

/// The end of a text that its coordinate refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

fn outline(shape: Shape, (x, y): (f64, f64)) -> String {
    let r = RADIUS;
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<(f64, f64)> = corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect();
        through(&corners) + "Z"
    };
    match shape {
        Shape::Circle => {
            let (left, right, radius) = (px(x - r), px(x + r), px(r));
            let y = px(y);
            format!("M{left} {y}A{radius} {radius} 0 1 1 {right} {y}A{radius} {radius} 0 1 1 {left} {y}Z")
        }
        Shape::Square => polygon(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
        Shape::Triangle => polygon(&[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)]),
        Shape::Diamond => polygon(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
        Shape::Down => polygon(&[(0.0, 1.15), (-1.1, -0.8), (1.1, -0.8)]),
        Shape::Plus => polygon(&PLUS),
        Shape::Cross => polygon(&PLUS.map(|(dx, dy)| ((dx - dy) * FRAC_1_SQRT_2, (dx + dy) * FRAC_1_SQRT_2))),
        Shape::Bar => polygon(&[(-0.3, -1.9), (0.3, -1.9), (0.3, 1.9), (-0.3, 1.9)]),
    }
}

const PLUS: [(f64, f64); 12] = [
    (-0.4, -1.2),
    (0.4, -1.2),
    (0.4, -0.4),
    (1.2, -0.4),
    (1.2, 0.4),
    (0.4, 0.4),
    (0.4, 1.2),
    (-0.4, 1.2),
    (-0.4, 0.4),
    (-1.2, 0.4),
    (-1.2, -0.4),
    (-0.4, -0.4),
];

/// Radius of a mark.
pub(super) const RADIUS: f64 = 4.4;

fn data_attributes(mark: &Mark) -> String {
    let mut out = format!(" data-id=\"{}\" data-value=\"{}\"", escape(&mark.id), mark.value);
    if mark.n > 0 {
        let _ = write!(out, " data-n=\"{}\"", mark.n);
    }
    if let Some([low, high]) = mark.interval.filter(|ends| ends.iter().all(|end| end.is_finite())) {
        let _ = write!(out, " data-low=\"{low}\" data-high=\"{high}\"");
    }
    let _ = write!(out, " data-text=\"{}\"", escape(&mark.text));
    out
}

#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
    /// Whether marks have titles, which browsers show to a pointer.
    has_titles: bool,
}

impl Canvas {
    pub(super) fn of(width: f64) -> Self {
        Self { out: String::new(), has_titles: width >= NARROW }
    }

    pub(super) fn into_body(self) -> String {
        self.out
    }

    /// A path of a class; nothing for an empty one.
    fn path(&mut self, class: &str, path: &str, more: &str) {
        if !path.is_empty() {
            let _ = writeln!(self.out, "<path class=\"{class}\"{more} d=\"{path}\"/>");
        }
    }

    /// An element of a mark, with its title where it has one.
    fn element(&mut self, name: &str, attributes: &str, mark: &Mark) {
        let end =
            if self.has_titles { format!("><title>{}</title></{name}>", escape(&mark.text)) } else { "/>".to_owned() };
        let _ = writeln!(self.out, "<{name} {attributes}{}{end}", data_attributes(mark));
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): At, (x2, y2): At) {
        let (x1, y1, x2, y2) = (px(x1), px(y1), px(x2), px(y2));
        let _ = writeln!(self.out, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    pub(super) fn segments(&mut self, class: &str, lines: &[Segment]) {
        self.path(class, &lines.iter().map(|(from, to)| through(&[*from, *to])).collect::<String>(), "");
    }

    pub(super) fn rect(&mut self, class: &str, at: At, size: At) {
        let _ = writeln!(self.out, "<rect {}/>", rect(class, at, size));
    }

    /// A cell of a heat map, its colour as strong as `share` (0 to 1).
    pub(super) fn cell(&mut self, at: At, size: At, share: f64, mark: &Mark) {
        let attributes = format!("{} {}", rect("cell", at, size), strength(share));
        self.element("rect", &attributes, mark);
    }

    /// Cells of one share as one path.
    pub(super) fn tiles(&mut self, at: &[At], side: f64, share: f64) {
        let side = px(side);
        let tile = |(x, y): &At| format!("M{} {}h{side}v{side}h-{side}z", px(*x), px(*y));
        let path: String = at.iter().map(tile).collect();
        self.path("cell", &path, &format!(" {}", strength(share)));
    }

    /// Crosses as one path, for cells without a value.
    pub(super) fn crosses(&mut self, class: &str, at: &[At], reach: f64) {
        let side = px(2.0 * reach);
        let cross =
            |(x, y): &At| format!("M{} {}l{side} {side}m0 -{side}l-{side} {side}", px(x - reach), px(y - reach));
        self.path(class, &at.iter().map(cross).collect::<String>(), "");
    }

    /// A line through points; nothing for fewer than two.
    pub(super) fn polyline(&mut self, class: &str, points: &[At]) {
        if points.len() > 1 {
            self.path(class, &through(points), "");
        }
    }

    /// The area inside these corners; nothing for fewer than three.
    pub(super) fn polygon(&mut self, class: &str, corners: &[At]) {
        if corners.len() > 2 {
            self.path(class, &(through(corners) + "Z"), "");
        }
    }

    pub(super) fn mark(&mut self, class: &str, shape: Shape, at: At, mark: &Mark) {
        if shape == Shape::Circle {
            let (x, y) = (px(at.0), px(at.1));
            self.element("circle", &format!("class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\""), mark);
        } else {
            self.element("path", &format!("class=\"{class}\" d=\"{}\"", outline(shape, at)), mark);
        }
    }

    pub(super) fn sign(&mut self, class: &str, shape: Shape, at: At) {
        self.path(class, &outline(shape, at), "");
    }

    /// Samples as one path: a line of length 0 is the round cap of its pen.
    pub(super) fn dots(&mut self, at: &[At], radius: f64) {
        let path = at.iter().map(|(x, y)| format!("M{} {}h0", px(*x), px(*y))).collect::<Vec<_>>().concat();
        self.path("dots", &path, &format!(" stroke-width=\"{}\"", px(2.0 * radius)));
    }

    pub(super) fn text(&mut self, class: &str, (x, y): At, anchor: Anchor, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (px(x), px(y), escape(text));
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{TEXT}\">{text}</text>"
        );
    }

    /// The names of the rows and columns of a heat map with its corner at `left` and `top`, as many as do not touch.
    pub(super) fn sides(&mut self, [rows, columns]: [&[String]; 2], (left, top): At, (width, height): At) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive quotient")]
        let every = |needed: f64, room: f64| (needed / room).ceil().max(1.0) as usize;
        for (index, name) in columns.iter().enumerate().step_by(every(widest(columns) + 6.0, width)) {
            self.text("tick", (left + (index as f64 + 0.5) * width, top - 7.0), Anchor::Middle, name);
        }
        for (index, name) in rows.iter().enumerate().step_by(every(TEXT + 4.0, height)) {
            self.text("tick", (left - 8.0, top + (index as f64 + 0.5) * height + 4.0), Anchor::End, name);
        }
    }

    /// The colours of a heat map between the texts of their ends.
    pub(super) fn ramp(&mut self, (x, y): At, ends: [&str; 2]) {
        let from = x + text_width(ends[0]) + 8.0;
        self.text("tick", (x, y + TEXT), Anchor::Start, ends[0]);
        for step in 0..RAMP_STEPS {
            let at = (from + f64::from(step) * RAMP_STEP, y);
            let share = strength(f64::from(step) / f64::from(RAMP_STEPS - 1));
            let _ = writeln!(self.out, "<rect {} {share}/>", rect("cell", at, (RAMP_STEP, TEXT + 2.0)));
        }
        self.text("tick", (from + f64::from(RAMP_STEPS) * RAMP_STEP + 8.0, y + TEXT), Anchor::Start, ends[1]);
    }
}

const RAMP_STEPS: u32 = 5;
const RAMP_STEP: f64 = 22.0;

pub(super) fn ramp_width(ends: [&str; 2]) -> f64 {
    ends.map(text_width).iter().sum::<f64>() + f64::from(RAMP_STEPS) * RAMP_STEP + 16.0
}

fn rect(class: &str, (x, y): At, (width, height): At) -> String {
    let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height.max(0.0)));
    format!("class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

/// The strength of a cell's colour, which leaves the text on it readable.
fn strength(share: f64) -> String {
    format!("fill-opacity=\"{:.3}\"", 0.06 + 0.5 * share.clamp(0.0, 1.0))
}

fn through(points: &[(f64, f64)]) -> String {
    let letters = std::iter::once('M').chain(std::iter::repeat('L'));
    let steps = points.iter().zip(letters).map(|((x, y), letter)| format!("{letter}{} {}", px(*x), px(*y)));
    steps.collect::<Vec<_>>().concat()
}

/// A coordinate to a tenth of a unit; 0 for what is not finite.
pub(super) fn px(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 };
    // A negative zero would print its sign.
    format!("{}", if value == 0.0 { 0.0 } else { value })
}

/// Text as ASCII for XML: markup and other characters as references, line breaks and tabs as spaces, hidden characters as
/// U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            ' '..='~' => out.push(c),
            '\n' | '\r' | '\t' => out.push(' '),
            _ => {
                let shown = if is_hidden(c) { REPLACEMENT } else { c };
                let _ = write!(out, "&#x{:x};", u32::from(shown));
            }
        }
    }
    out
}

/// The estimated width of a text in units of the view box: in `DejaVu` Sans, the widest common sans serif, by classes of
/// characters.
pub fn text_width(text: &str) -> f64 {
    let share = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | 'I' | 'J' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        'A'..='Z' => 0.71,
        '+' | '=' | '<' | '>' | '~' => 0.84,
        ' '..='~' => 0.635,
        '\u{1100}'.. => 1.1,
        _ => 0.75,
    };
    text.chars().map(share).sum::<f64>() * TEXT
}

pub(super) fn widest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> f64 {
    texts.into_iter().map(|text| text_width(text.as_ref())).fold(0.0, f64::max)
}

/// As much of a text as fits, with an ellipsis if it was cut.
pub(super) fn cut(text: &str, width: f64) -> String {
    let text = visible(text);
    if text_width(&text) <= width {
        return text;
    }
    let room = width - text_width("\u{2026}");
    let ends = text.char_indices().map(|(end, _)| end);
    let end = ends.take_while(|end| text_width(&text[..*end]) <= room).last().unwrap_or(0);
    text[..end].trim_end().to_owned() + "\u{2026}"
}

/// A text in lines that fit, broken at spaces.
pub(super) fn lines(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(" ") + text_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_comes_out_harmless() {
        assert_eq!(escape("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
        assert_eq!(escape("a\u{0}\n\u{202e}b\u{ffff}"), "a&#xfffd; &#xfffd;b&#xfffd;");
        assert_eq!(escape("Größe 磁"), "Gr&#xf6;&#xdf;e &#x78c1;");
    }

    #[test]
    fn coordinates_are_numbers() {
        assert_eq!((px(12.345).as_str(), px(-0.01).as_str(), px(f64::NAN).as_str()), ("12.3", "0", "0"));
        assert_eq!(px(f64::INFINITY), "0");
    }

    #[test]
    fn a_long_text_is_cut_to_its_room() {
        let long = "x".repeat(500);
        let kept = cut(&long, 80.0);
        assert!(text_width(&kept) <= 80.0 && kept.ends_with('\u{2026}') && kept.len() > 6, "{kept}");
        assert_eq!(cut("short", 80.0), "short");
    }
}
