//! SVG as text: elements, escaping, coordinates, and how wide a text is likely to be.

use std::fmt::Write as _;

/// Size of ordinary text, in units of the view box.
pub(super) const TEXT: f64 = 12.0;

/// Height of a line of text, over its size.
pub(super) const LINE: f64 = 1.35;

/// What is written into a drawing.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
    /// Whether marks have titles, which browsers show to a pointer.
    has_titles: bool,
}

/// Drawings narrower than this are made for phones, which have no pointer: what their marks say is in their attributes
/// alone, for a script to show.
const LEAST_WITH_POINTER: f64 = 500.0;

/// From one point to another.
pub(super) type Segment = ((f64, f64), (f64, f64));

/// Where a text begins, has its middle or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Begins.
    Start,
    /// Has its middle.
    Middle,
    /// Ends.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// The shapes of marks, told apart without any colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    Plus,
    Cross,
    /// An upright bar, for limits.
    Bar,
}

impl Shape {
    /// The shapes of series, the plainest first.
    pub(super) const OF_SERIES: [Self; 7] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Down, Self::Plus, Self::Cross];

    /// Its outline about a point, as a path.
    fn outline(self, x: f64, y: f64, r: f64) -> String {
        let polygon = |corners: &[(f64, f64)]| {
            let mut path = String::new();
            for (index, (dx, dy)) in corners.iter().enumerate() {
                let letter = if index == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{letter}{} {}", px(x + dx * r), px(y + dy * r));
            }
            path + "Z"
        };
        match self {
            Self::Circle => {
                let (left, right, radius) = (px(x - r), px(x + r), px(r));
                let y = px(y);
                format!("M{left} {y}A{radius} {radius} 0 1 1 {right} {y}A{radius} {radius} 0 1 1 {left} {y}Z")
            }
            Self::Square => polygon(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
            Self::Triangle => polygon(&[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)]),
            Self::Diamond => polygon(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
            Self::Down => polygon(&[(0.0, 1.15), (-1.1, -0.8), (1.1, -0.8)]),
            Self::Plus => polygon(&PLUS),
            Self::Cross => polygon(&PLUS.map(|(dx, dy)| ((dx - dy) * HALF_SQRT, (dx + dy) * HALF_SQRT))),
            Self::Bar => polygon(&[(-0.3, -1.9), (0.3, -1.9), (0.3, 1.9), (-0.3, 1.9)]),
        }
    }
}

/// The corners of a plus.
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

/// Sine of 45 degrees.
const HALF_SQRT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Radius of a mark.
pub(super) const RADIUS: f64 = 4.4;

/// What a reader learns of a mark, and the page's script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// Id of the row.
    pub(super) id: String,
    /// The value that is drawn, in its base unit.
    pub(super) value: f64,
    /// Samples behind it; 0 where none are counted.
    pub(super) n: u32,
    /// The 95 % interval of the median.
    pub(super) interval: Option<[f64; 2]>,
    /// The sentence of the tooltip.
    pub(super) text: String,
}

impl Facts {
    /// As attributes.
    fn attributes(&self) -> String {
        let mut out = format!(" data-id=\"{}\" data-value=\"{}\"", escape(&self.id), self.value);
        if self.n > 0 {
            let _ = write!(out, " data-n=\"{}\"", self.n);
        }
        if let Some([low, high]) = self.interval.filter(|ends| ends.iter().all(|end| end.is_finite())) {
            let _ = write!(out, " data-low=\"{low}\" data-high=\"{high}\"");
        }
        let _ = write!(out, " data-text=\"{}\"", escape(&self.text));
        out
    }
}

impl Canvas {
    /// An empty drawing of this width.
    pub(super) fn of(width: f64) -> Self {
        Self { out: String::new(), has_titles: width >= LEAST_WITH_POINTER }
    }

    /// The end of a mark: its title, where it is to have one.
    fn end(&self, element: &str, facts: &Facts) -> String {
        if self.has_titles { format!("><title>{}</title></{element}>", escape(&facts.text)) } else { "/>".to_owned() }
    }

    /// What has been drawn.
    pub(super) fn into_body(self) -> String {
        self.out
    }

    /// A straight line of a class.
    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (px(x1), px(y1), px(x2), px(y2));
        let _ = writeln!(self.out, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// Straight lines of a class that say nothing each by itself, as one path.
    pub(super) fn segments(&mut self, class: &str, lines: &[Segment]) {
        let mut path = String::new();
        for ((x1, y1), (x2, y2)) in lines {
            let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(|value| px(*value));
            let _ = write!(path, "M{x1} {y1}L{x2} {y2}");
        }
        if !path.is_empty() {
            let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }

    /// A rectangle of a class.
    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height.max(0.0)));
        let _ =
            writeln!(self.out, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    /// A cell of a heat map: a rectangle as strong as `share` (0 to 1), with what it shows.
    pub(super) fn cell(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), share: f64, facts: &Facts) {
        let (strength, end, facts) = (strength(share), self.end("rect", facts), facts.attributes());
        let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height.max(0.0)));
        let _ = writeln!(
            self.out,
            "<rect class=\"cell\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             fill-opacity=\"{strength:.3}\"{facts}{end}"
        );
    }

    /// A sample of the colour of cells of this share.
    pub(super) fn swatch(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), share: f64) {
        let strength = strength(share);
        let (x, y, width, height) = (px(x), px(y), px(width), px(height));
        let _ = writeln!(
            self.out,
            "<rect class=\"cell\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill-opacity=\"{strength:.3}\"/>"
        );
    }

    /// Cells of one share that say nothing by themselves, as one path.
    pub(super) fn tiles(&mut self, at: &[(f64, f64)], side: f64, share: f64) {
        let (strength, side) = (strength(share), px(side));
        let tile = |(x, y): &(f64, f64)| format!("M{} {}h{side}v{side}h-{side}z", px(*x), px(*y));
        let path: String = at.iter().map(tile).collect();
        if !path.is_empty() {
            let _ = writeln!(self.out, "<path class=\"cell\" d=\"{path}\" fill-opacity=\"{strength:.3}\"/>");
        }
    }

    /// Crosses about these points as one path, for cells without a value.
    pub(super) fn crosses(&mut self, class: &str, at: &[(f64, f64)], reach: f64) {
        let side = px(2.0 * reach);
        let cross = |(x, y): &(f64, f64)| {
            format!("M{} {}l{side} {side}m0 -{side}l-{side} {side}", px(x - reach), px(y - reach))
        };
        let path: String = at.iter().map(cross).collect();
        if !path.is_empty() {
            let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }

    /// A line through points; nothing for fewer than two.
    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() > 1 {
            let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{}\"/>", through(points));
        }
    }

    /// The area inside these corners.
    pub(super) fn polygon(&mut self, class: &str, corners: &[(f64, f64)]) {
        if corners.len() > 2 {
            let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{}Z\"/>", through(corners));
        }
    }

    /// A mark of a row.
    pub(super) fn mark(&mut self, class: &str, shape: Shape, (x, y): (f64, f64), facts: &Facts) {
        let attributes = facts.attributes();
        let _ = if shape == Shape::Circle {
            let (x, y, end) = (px(x), px(y), self.end("circle", facts));
            writeln!(self.out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\"{attributes}{end}")
        } else {
            let (outline, end) = (shape.outline(x, y, RADIUS), self.end("path", facts));
            writeln!(self.out, "<path class=\"{class}\" d=\"{outline}\"{attributes}{end}")
        };
    }

    /// A mark that explains others, in a key.
    pub(super) fn sign(&mut self, class: &str, shape: Shape, (x, y): (f64, f64)) {
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{}\"/>", shape.outline(x, y, RADIUS));
    }

    /// Samples of one row as one path: a line without a length is the round cap of its pen.
    pub(super) fn dots(&mut self, at: &[(f64, f64)], radius: f64) {
        let mut path = String::new();
        for (x, y) in at {
            let _ = write!(path, "M{} {}h0", px(*x), px(*y));
        }
        if !path.is_empty() {
            let width = px(2.0 * radius);
            let _ = writeln!(self.out, "<path class=\"dots\" stroke-width=\"{width}\" d=\"{path}\"/>");
        }
    }

    /// A text of a class, its baseline at `y`.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        if text.is_empty() {
            return;
        }
        let (x, y, anchor) = (px(x), px(y), anchor.name());
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{TEXT}\">{}</text>",
            escape(text)
        );
    }
}

/// How strong the colour of a cell is: never so strong that a figure on it could not be read.
fn strength(share: f64) -> f64 {
    0.06 + 0.5 * share.clamp(0.0, 1.0)
}

fn through(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if index == 0 { 'M' } else { 'L' }, px(*x), px(*y));
    }
    path
}

/// A coordinate to a tenth of a unit. Whoever draws has made sure that it is a number; were it none, 0 still is.
pub(super) fn px(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 };
    // A negative zero would print its sign.
    format!("{}", if value == 0.0 { 0.0 } else { value })
}

/// Text as XML has it, in ASCII: markup and everything beyond ASCII as references; what XML forbids, and what turns the
/// direction of writing, as a space.
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
            _ if is_unseen(c) => out.push(' '),
            _ => {
                let _ = write!(out, "&#x{:x};", u32::from(c));
            }
        }
    }
    out
}

/// Whether a character is no text: controls, marks of direction, non-characters.
fn is_unseen(c: char) -> bool {
    let direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}

/// How wide a text is likely to be in a system's sans serif, in units of the view box: that of `DejaVu` Sans, the widest
/// of those in use, by classes of characters.
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

/// As much of a text as fits, with an ellipsis where some is left out.
pub(super) fn cut(text: &str, width: f64) -> String {
    let text: String = text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect();
    if text_width(&text) <= width {
        return text;
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept) + text_width("\u{2026}") > width {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "\u{2026}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_comes_out_harmless() {
        assert_eq!(escape("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
        assert_eq!(escape("a\u{0}\n\u{202e}b\u{ffff}"), "a   b ");
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
