//! A chart as plain data: what it shows, on which axes. `report` lays it out and draws it.

use model::experiment::Area;
use model::number::Notation;
use model::unit::Unit;
use model::warning::Confidence;

/// A chart of a document.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Unique in a document and the same in every run: lower-case letters, digits and hyphens.
    pub name: &'static str,
    /// The area; `None` for a chart of the whole run.
    pub area: Option<Area>,
    pub title: String,
    /// The answer in a sentence; empty where the results support none.
    pub observation: String,
    /// A sentence that describes the drawing, for readers who do not see it.
    pub about: String,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    Plot(Plot),
    Dots(Dots),
    Matrix(Matrix),
}

/// Points over an axis, in one panel or in several that share their axes.
#[derive(Clone, Debug)]
pub struct Plot {
    pub x: ChartAxis,
    pub y: ChartAxis,
    /// The name of the limits of points.
    pub limit: &'static str,
    /// At least one.
    pub panels: Vec<Panel>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartAxis {
    pub title: &'static str,
    pub reading: Reading,
}

impl ChartAxis {
    pub const THREADS: Self = Self::new("Threads", Reading::Counts);

    pub const fn new(title: &'static str, reading: Reading) -> Self {
        Self { title, reading }
    }

    /// An axis from 0, or a logarithmic one where the values differ much.
    pub const fn auto(title: &'static str, unit: Unit) -> Self {
        Self::new(title, Reading::Auto(Notation::Plain(unit)))
    }

    pub const fn log(title: &'static str, unit: Unit) -> Self {
        Self::new(title, Reading::Log(Notation::Plain(unit)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// Values from 0, or on a logarithmic scale where they differ much.
    Auto(Notation),
    Linear(Notation),
    /// Values on a logarithmic scale, if all are above 0.
    Log(Notation),
    /// Shares from 0 to 1, as percentages.
    Share,
    /// Shares from 0 to the largest, as percentages.
    Part,
    /// Factors around 1.
    Ratio,
    /// Differences as shares, on both sides of 0.
    Difference,
    /// Counts; each that occurs has a tick.
    Counts,
    /// Bytes, by powers of two.
    Sizes,
    Numbers,
    /// Names in order; values are their indices.
    Steps(&'static [&'static str]),
}

impl Reading {
    pub const fn notation(self) -> Option<Notation> {
        match self {
            Self::Auto(notation) | Self::Linear(notation) | Self::Log(notation) => Some(notation),
            _ => None,
        }
    }
}

/// One of several drawings side by side.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Empty for a single panel.
    pub title: String,
    pub series: Vec<Series>,
    /// Named stretches of the horizontal axis, ascending.
    pub zones: Vec<Zone>,
}

#[derive(Clone, Debug)]
pub struct Zone {
    pub from: f64,
    /// Infinite where it has no end.
    pub to: f64,
    pub name: String,
}

impl Zone {
    pub const fn is_open(&self) -> bool {
        self.to.is_infinite()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the key or next to its last point.
    pub name: String,
    pub look: Look,
    pub joined: bool,
    /// Ascending by `x`.
    pub points: Vec<Point>,
    /// A second line, derived from the values of the points.
    pub guide: Vec<(f64, f64)>,
    /// Whether its name is above its last point and not to the right.
    pub is_named_above: bool,
}

impl Series {
    pub fn line(name: String, look: Look, points: Vec<Point>) -> Self {
        Self { name, look, joined: true, points, ..Self::default() }
    }
}

#[derive(Clone, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub limit: Option<f64>,
    pub mark: Mark,
}

/// What a mark shows in its tooltip and in attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    pub id: String,
    /// Confidence of the result; `None` for values that were not measured.
    pub confidence: Option<Confidence>,
    /// The value in its base unit.
    pub value: f64,
    /// Number of samples; 0 where they are not counted.
    pub n: u32,
    /// The 95 % interval of the median.
    pub interval: Option<[f64; 2]>,
    pub text: String,
}

impl Mark {
    /// Whether the value must not be quoted.
    pub fn is_doubtful(&self) -> bool {
        self.confidence == Some(Confidence::Low)
    }
}

#[derive(Clone, Debug)]
pub struct Dots {
    pub axis: ChartAxis,
    /// The kinds of marks, in the order of the key.
    pub kinds: Vec<DotKind>,
    pub lines: Vec<DotLine>,
    /// Whether a bar spans the marks of each line.
    pub spanned: bool,
}

#[derive(Clone, Debug)]
pub struct DotKind {
    pub name: String,
    pub shape: Shape,
    /// `None` for a limit.
    pub hue: Option<Hue>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub hue: Hue,
    /// Number of its dashes: 0 for none.
    pub dash: usize,
    pub shape: Shape,
}

impl Look {
    /// The look of the n-th series of a chart, in the colour of its meaning if it has one. Dashes and shape differ too, for
    /// paper without colours.
    pub fn nth(index: usize, hue: Option<Hue>) -> Self {
        const SHAPES: [Shape; 7] =
            [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Down, Shape::Plus, Shape::Cross];
        Self { hue: hue.unwrap_or(Hue::Plain(index % 3)), dash: index % 4, shape: SHAPES[index % SHAPES.len()] }
    }

    /// The look of the n-th of several counts, ascending.
    pub fn step(index: usize, count: usize) -> Self {
        Self::nth(index, Some(Hue::step(index, count)))
    }
}

/// The meaning of a colour, the same in every chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    /// Without a meaning: 0 the area's colour, 1 dark, 2 grey.
    Plain(usize),
    /// A count, from few (0) to many ([`Hue::STEPS`] - 1): shades of the area's colour.
    Step(usize),
    Read,
    Write,
    Tcp,
    Udp,
}

impl Default for Hue {
    fn default() -> Self {
        Self::Plain(0)
    }
}

impl Hue {
    pub const STEPS: usize = 4;

    /// The shade of the n-th of several counts, ascending.
    pub fn step(index: usize, count: usize) -> Self {
        let last = count.saturating_sub(1);
        Self::Step((index.min(last) * (Self::STEPS - 1) + last / 2).checked_div(last).unwrap_or(1))
    }
}

/// The shape of a mark; shapes differ without colour too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
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

#[derive(Clone, Debug, Default)]
pub struct DotLine {
    pub label: String,
    /// Text at the end of the line: `88x`.
    pub note: String,
    pub marks: Vec<DotMark>,
    /// Single samples, drawn as small dots.
    pub samples: Vec<f64>,
}

#[derive(Clone, Debug)]
pub struct DotMark {
    pub kind: usize,
    pub at: f64,
    /// Ends of its whisker on the axis.
    pub interval: Option<[f64; 2]>,
    pub mark: Mark,
}

#[derive(Clone, Debug)]
pub struct Matrix {
    /// The names of both sides: `from CPU`, `to CPU`.
    pub sides: [&'static str; 2],
    pub notation: Notation,
    /// Ascending by place, each place once.
    pub cells: Vec<MatrixCell>,
}

#[derive(Clone, Debug)]
pub struct MatrixCell {
    pub from: u32,
    pub to: u32,
    pub mark: Mark,
}

/// No value of a machine is larger, or smaller and not 0; what is beyond is not drawn.
const LARGEST: f64 = 1e30;

pub fn is_drawable(value: f64) -> bool {
    value == 0.0 || (1.0 / LARGEST..LARGEST).contains(&value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shades_from_the_first_to_the_last() {
        let shades = |count: usize| (0..count).map(|index| Hue::step(index, count)).collect::<Vec<_>>();
        assert_eq!(shades(1), [Hue::Step(1)]);
        assert_eq!(shades(2), [0, 3].map(Hue::Step));
        assert_eq!(shades(4), [0, 1, 2, 3].map(Hue::Step));
        assert_eq!(shades(8).last(), Some(&Hue::Step(3)));
    }
}
