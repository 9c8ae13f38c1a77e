//! Charts as SVG: common scales, marks and text, one accent colour per area, direct labels where they fit, and no meaning
//! carried by colour alone.
//!
//! A chart is drawn twice: for wide screens, and 360 px wide for phones. Classes and custom properties ([`style()`]) style
//! it, so that the HTML report can theme and print it; [`standalone`] makes a single file. Every mark has its value,
//! interval, samples and confidence in a `<title>` and in `data-*` attributes. What is charted is in `areas::chart`.

mod dots;
mod drawing;
mod key;
mod matrix;
pub(crate) mod pairs;
mod plot;
mod scale;
pub(crate) mod strips;
mod style;
mod svg;

use areas::chart::{Body, Chart, Panel};
use model::document::Document;

use drawing::{WIDE, svgs};

pub use drawing::DrawnChart;
pub use style::{Theme, colours, style};
pub use svg::{escape, text_width};

/// The charts that a document has data for, area by area.
pub fn charts(document: &Document) -> Vec<DrawnChart> {
    areas::chart::charts(document).into_iter().filter_map(draw).collect()
}

fn draw(chart: Chart) -> Option<DrawnChart> {
    let Chart { name, area, title, observation, about, mut body } = chart;
    if let Body::Plot(plot) = &mut body
        && let [Panel { series, .. }] = &mut plot.panels[..]
        && let [only] = &mut series[..]
        && only.name.eq_ignore_ascii_case(plot.y.title)
    {
        // The axis has this title already.
        only.name.clear();
    }
    let is_empty = match &body {
        Body::Plot(plot) => plot.panels.iter().flat_map(|panel| &panel.series).all(|series| series.points.is_empty()),
        Body::Dots(dots) => dots.lines.iter().all(|line| line.marks.is_empty()),
        // A matrix of one cell shows nothing.
        Body::Matrix(matrix) => matrix.cells.iter().all(|cell| cell.mark.id == matrix.cells[0].mark.id),
    };
    if is_empty {
        return None;
    }
    let ([svg, narrow], height) = svgs(area, [name, &title, &about], |width| match &body {
        Body::Plot(plot) => plot::draw(plot, width),
        Body::Dots(dots) => dots::draw(dots, width),
        Body::Matrix(matrix) => matrix::draw(matrix, width),
    });
    let size = [WIDE, (height * 10.0).round() / 10.0];
    Some(DrawnChart { name: name.to_owned(), area, title, observation, about, svg, narrow, size })
}

/// A chart as a single SVG file with its title and its observation above it, in the light theme.
pub fn standalone(chart: &DrawnChart) -> String {
    const MARGIN: f64 = 28.0;
    const TITLE: f64 = 34.0;
    const TITLE_SIZE: f64 = 16.0;
    const LINE: f64 = 18.0;
    let [width, height] = chart.size;
    let said = svg::lines(&chart.observation, width);
    let head = TITLE + LINE * said.len() as f64;
    let [whole_width, whole_height] = [width + 2.0 * MARGIN, height + 2.0 * MARGIN + head].map(svg::px);
    let [top, width, height] = [MARGIN + head, width, height].map(svg::px);
    let said = said.iter().enumerate().map(|(index, line)| {
        let y = svg::px(MARGIN + TITLE_SIZE + LINE * (index as f64 + 1.0) + 2.0);
        let size = svg::TEXT;
        format!("<text x=\"{MARGIN}\" y=\"{y}\" text-anchor=\"start\" font-size=\"{size}\">{}</text>\n", escape(line))
    });
    let said: String = said.collect();
    let place = format!("<svg x=\"{MARGIN}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" ");
    let title = svg::cut(&chart.title, chart.size[0] * svg::TEXT / TITLE_SIZE);
    let paper = style::PAPER;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\" \
         width=\"{whole_width}\" height=\"{whole_height}\" viewBox=\"0 0 {whole_width} {whole_height}\">\n<style>\n{}\
         </style>\n<rect width=\"{whole_width}\" height=\"{whole_height}\" fill=\"{paper}\"/>\n<text class=\"head\" \
         x=\"{MARGIN}\" y=\"{}\" text-anchor=\"start\" font-size=\"{TITLE_SIZE}\">{}</text>\n{said}{}\n</svg>\n",
        style::class(chart.area),
        style::resolved(chart.area),
        svg::px(MARGIN + TITLE_SIZE),
        escape(&title),
        chart.svg.replacen("<svg ", &place, 1)
    )
}
