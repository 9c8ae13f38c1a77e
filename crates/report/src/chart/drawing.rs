//! A drawn chart, and the frame of its two drawings.

use model::experiment::Area;

use super::svg::{Canvas, escape};
use super::{style, svg};

/// A drawn chart of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnChart {
    /// Unique in a document and the same in every run: lower-case letters, digits and hyphens, for file names and anchors.
    pub name: String,
    /// The area; `None` for a chart of the whole run.
    pub area: Option<Area>,
    /// The question that it answers: `Does arithmetic scale with threads?`
    pub title: String,
    /// The answer in a sentence; empty where the results support none.
    pub observation: String,
    /// A sentence that describes the drawing, for readers who do not see it.
    pub about: String,
    /// An `<svg role="img">` with title and description, to be styled by [`style()`].
    pub svg: String,
    /// The same 360 px wide, its marks without titles. The HTML report shows one or the other.
    pub narrow: String,
    /// Width and height of `svg` in units of its view box, which are pixels at the intended text size.
    pub size: [f64; 2],
}

pub(super) const WIDE: f64 = 720.0;

/// What `draw` draws in a width, with its height: as SVG in both widths, and the height of the wide one.
pub(super) fn svgs(
    area: Option<Area>,
    [name, title, about]: [&str; 3],
    draw: impl Fn(f64) -> (Canvas, f64),
) -> ([String; 2], f64) {
    let [title, about, class] = [escape(title), escape(about), style::class(area)];
    let whole = |width: f64, suffix: &str| {
        let id = format!("chart-{name}{suffix}");
        let (canvas, height) = draw(width);
        let [across, down] = [width, height].map(svg::px);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" viewBox=\"0 0 {across} {down}\" \
             aria-labelledby=\"{id}-title {id}-about\"><title id=\"{id}-title\">{title}</title><desc id=\"{id}-about\">\
             {about}</desc>\n{}</svg>",
            canvas.into_body()
        );
        (text, height)
    };
    let ((wide, height), (narrow, _)) = (whole(WIDE, ""), whole(360.0, "-narrow"));
    ([wide, narrow], height)
}
