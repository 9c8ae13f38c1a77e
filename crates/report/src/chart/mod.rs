//! Charts as SVG, designed as a set: the same scales, marks and words in all of them, one accent colour per area, direct
//! labels where they fit, and nothing said by colour alone.
//!
//! [`charts`] gives those that a document has data for. A chart is drawn twice: for a page and, for 360 px, for a phone.
//! It is styled by classes and custom properties ([`style()`]), so that a page can theme and print it; [`standalone`] makes
//! a file of its own. Every chart has its table, and every mark says what it is: value, interval, samples and grade, in a
//! `<title>` and in `data-*` attributes.
//!
//! Nothing is measured or estimated here: every figure is the document's. What is not a finite number is not drawn.

mod areas;
mod dots;
mod drawing;
mod figure;
mod heat;
mod key;
pub(crate) mod pairs;
mod plot;
mod scale;
pub(crate) mod strips;
mod style;
mod svg;

use model::document::Document;
use model::experiment::Area;

pub use drawing::Chart;
pub use style::{DARK, LIGHT, colours, style};
pub use svg::{escape, text_width};

/// The charts that a document has data for, area by area.
pub fn charts(document: &Document) -> Vec<Chart> {
    areas::all(document)
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
    let mut canvas = svg::Canvas::of(SPARK_WIDTH);
    canvas.polyline("line t0", &points);
    let class = style::class(Some(area));
    format!(
        "<svg class=\"{class} spark\" viewBox=\"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}\" width=\"{SPARK_WIDTH}\" \
         height=\"{SPARK_HEIGHT}\" aria-hidden=\"true\">{}</svg>",
        canvas.into_body()
    )
}

/// Room about a chart in a file of its own.
const MARGIN: f64 = 28.0;
/// Room for its title there.
const TITLE: f64 = 34.0;
/// The size of the title.
const TITLE_SIZE: f64 = 16.0;

/// A chart as a file of its own: with its title above it, in the light theme.
pub fn standalone(chart: &Chart) -> String {
    let [width, height] = chart.size;
    let [whole_width, whole_height] = [width + 2.0 * MARGIN, height + 2.0 * MARGIN + TITLE].map(svg::px);
    let place = format!(
        "<svg x=\"{MARGIN}\" y=\"{}\" width=\"{}\" height=\"{}\" ",
        svg::px(MARGIN + TITLE),
        svg::px(width),
        svg::px(height)
    );
    let title = svg::cut(&chart.title, width * svg::TEXT / TITLE_SIZE);
    let paper = LIGHT[0].1;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\" \
         width=\"{whole_width}\" height=\"{whole_height}\" viewBox=\"0 0 {whole_width} {whole_height}\">\n<style>\n{}\
         </style>\n<rect width=\"{whole_width}\" height=\"{whole_height}\" fill=\"{paper}\"/>\n<text class=\"head\" \
         x=\"{MARGIN}\" y=\"{}\" text-anchor=\"start\" font-size=\"{TITLE_SIZE}\">{}</text>\n{}\n</svg>\n",
        style::class(chart.area),
        style::resolved(chart.area),
        svg::px(MARGIN + TITLE_SIZE),
        escape(&title),
        chart.svg.replacen("<svg ", &place, 1)
    )
}
