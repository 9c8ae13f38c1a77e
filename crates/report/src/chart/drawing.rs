//! From a chart as data to the drawn chart: two drawings, its table, and the results that it shows.

use areas::chart::{Body, Chart, Mark, Panel};
use model::experiment::Area;

use super::svg::escape;
use super::{dots, matrix, plot, style, svg};
use crate::grid::value::{Cell, Column, Grid, GridLine};

/// A drawn chart of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnChart {
    /// Unique in a document and the same in every run: lower-case letters, digits and hyphens, for file names and anchors.
    pub name: String,
    /// The area; `None` for a chart of the whole run.
    pub area: Option<Area>,
    /// The question that it answers: `Does arithmetic scale with threads?`
    pub title: String,
    /// A sentence that describes the drawing, for readers who do not see it.
    pub about: String,
    /// An `<svg role="img">` with title and description, to be styled by [`style()`].
    pub svg: String,
    /// The same 360 px wide, its marks without titles. The HTML report shows one or the other.
    pub narrow: String,
    /// Width and height of `svg` in units of its view box, which are pixels at the intended text size.
    pub size: [f64; 2],
    /// The values that are drawn.
    pub table: Grid,
    /// Ids of the results that it shows.
    pub evidence: Vec<String>,
}

/// A drawing at one width.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

/// The widths of the two drawings.
const WIDTHS: [f64; 2] = [720.0, 360.0];

/// Both drawings of a chart as SVG.
pub(super) fn svgs(area: Option<Area>, [name, title, about]: [&str; 3], drawings: &[Drawing; 2]) -> [String; 2] {
    let [title, about, class] = [escape(title), escape(about), style::class(area)];
    let whole = |drawing: &Drawing, suffix: &str| {
        let id = format!("chart-{name}{suffix}");
        let (width, height) = (svg::px(drawing.width), svg::px(drawing.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
             aria-labelledby=\"{id}-title {id}-about\"><title id=\"{id}-title\">{title}</title><desc id=\"{id}-about\">\
             {about}</desc>\n{}</svg>",
            drawing.body
        )
    };
    [whole(&drawings[0], ""), whole(&drawings[1], "-narrow")]
}

/// What `draw` makes at both widths.
pub(super) fn at_both_widths(draw: impl Fn(f64) -> Drawing) -> [Drawing; 2] {
    WIDTHS.map(draw)
}

/// A line of a chart's table: the cells that name a mark, and the mark.
pub(super) type MarkLine<'a> = (Vec<Cell>, &'a Mark);

/// The drawn chart; `None` where there is nothing to draw.
pub(super) fn draw(chart: Chart) -> Option<DrawnChart> {
    let Chart { name, area, title, about, columns, mut body } = chart;
    if let Body::Plot(plot) = &mut body
        && let [Panel { series, .. }] = &mut plot.panels[..]
        && let [only] = &mut series[..]
        && only.name.eq_ignore_ascii_case(plot.y.title)
    {
        // The axis has this title already.
        only.name.clear();
    }
    let (mut headings, lines): (Vec<Column>, Vec<MarkLine<'_>>) = match &body {
        Body::Plot(plot) => plot::table(plot),
        Body::Dots(dots) => dots::table(dots),
        Body::Matrix(matrix) => matrix::table(matrix),
    };
    headings.extend(columns);
    let mut evidence: Vec<String> = Vec::new();
    for (_, mark) in &lines {
        if !evidence.contains(&mark.id) {
            evidence.push(mark.id.clone());
        }
    }
    // A matrix of one cell shows nothing.
    if evidence.len() < if matches!(body, Body::Matrix(_)) { 2 } else { 1 } {
        return None;
    }
    let lines = lines.into_iter().map(|(mut cells, mark)| {
        cells.extend(mark.cells.iter().cloned());
        GridLine { id: Some(mark.id.clone()), cells, grade: mark.grade }
    });
    let lines = lines.collect();
    let table = Grid { lines, ..Grid::new(format!("chart-{name}"), area, title.clone(), headings) };
    let drawings = at_both_widths(|width| match &body {
        Body::Plot(plot) => plot::draw(plot, width),
        Body::Dots(dots) => dots::draw(dots, width),
        Body::Matrix(matrix) => matrix::draw(matrix, width),
    });
    let size = [drawings[0].width, drawings[0].height].map(|side| (side * 10.0).round() / 10.0);
    let [svg, narrow] = svgs(area, [name, &title, &about], &drawings);
    Some(DrawnChart { name: name.to_owned(), area, title, about, svg, narrow, size, table, evidence })
}
