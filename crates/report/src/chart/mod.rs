//! Charts as SVG, designed as a set: the same scales, marks and words in all of them, one accent colour per area, direct
//! labels where they fit, and nothing said by colour alone.
//!
//! [`charts`] gives those that a document has data for. A chart is drawn twice: for a page and, for 360 px, for a phone.
//! It is styled by classes and custom properties ([`style`]), so that a page can theme and print it; [`standalone`] makes
//! a file of its own. Every chart has its table, and every mark says what it is: value, interval, samples and grade, in a
//! `<title>` and in `data-*` attributes.
//!
//! Nothing is measured or estimated here: every figure is the document's. What is not a finite number is not drawn.

mod style;
mod svg;

use model::document::Document;
use model::experiment::Area;

use crate::grid::Grid;

pub use style::{DARK, LIGHT, colours, style};
pub use svg::{escape, text_width};

/// A chart of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Unique in a document and the same in every run; small letters, digits and hyphens, so that it can be a file name or
    /// an anchor.
    pub name: String,
    /// The area it is about; `None` for the run as a whole.
    pub area: Option<Area>,
    /// The question that it answers: `Does arithmetic scale with threads?`
    pub title: String,
    /// What is drawn, in a sentence, for those who do not see it.
    pub about: String,
    /// The chart for a page: an `<svg role="img">` with title and description, to be styled by [`style`].
    pub svg: String,
    /// The same for a phone, 360 px wide. A page shows the one or the other.
    pub narrow: String,
    /// The figures that are drawn.
    pub table: Grid,
    /// Ids of the rows that it rests on.
    pub evidence: Vec<String>,
}

/// The charts that a document has data for, area by area.
pub fn charts(_document: &Document) -> Vec<Chart> {
    Vec::new()
}

/// Width of a sparkline, in units of the view box.
const SPARK_WIDTH: f64 = 96.0;
/// Its height.
const SPARK_HEIGHT: f64 = 20.0;

/// The samples of a row in the order in which they were taken, as a line as small as a word; empty for fewer than two.
/// It repeats what a table says, and is hidden from screen readers.
pub fn sparkline(values: &[f64], area: Area) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if values.len() < 2 {
        return String::new();
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (inset, last) = (2.0, (values.len() - 1) as f64);
    let place = |(index, value): (usize, &f64)| {
        let share = value / (high - low) - low / (high - low);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        let x = inset + index as f64 / last * (SPARK_WIDTH - 2.0 * inset);
        (x, SPARK_HEIGHT - inset - share * (SPARK_HEIGHT - 2.0 * inset))
    };
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(place).collect();
    let mut canvas = svg::Canvas::default();
    canvas.polyline("line t0", &points);
    let class = style::class(Some(area));
    format!(
        "<svg class=\"{class} spark\" viewBox=\"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}\" width=\"{SPARK_WIDTH}\" \
         height=\"{SPARK_HEIGHT}\" aria-hidden=\"true\">{}</svg>",
        canvas.into_body()
    )
}

/// A chart as a file of its own: with its title above it, in the light theme.
pub fn standalone(chart: &Chart) -> String {
    chart.svg.clone()
}
