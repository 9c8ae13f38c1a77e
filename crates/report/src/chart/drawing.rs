//! A chart: what it says, and what is drawn of it.

use model::experiment::Area;

use super::svg::escape;
use super::{style, svg};
use crate::grid::value::{Column, Grid, GridLine};

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
    /// The chart for a page: an `<svg role="img">` with title and description, to be styled by [`style()`].
    pub svg: String,
    /// The same for a phone, 360 px wide, its marks without titles. A page shows the one or the other.
    pub narrow: String,
    /// Width and height of `svg`, in units of its view box: pixels where text is to be as large as it is meant.
    pub size: [f64; 2],
    /// The figures that are drawn.
    pub table: Grid,
    /// Ids of the rows that it rests on.
    pub evidence: Vec<String>,
}

/// What a chart says besides its drawing.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) area: Option<Area>,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
    /// What the limit of a point is called.
    pub(super) peak: String,
    /// The columns of its table behind those that name a point.
    pub(super) columns: Vec<Column>,
    pub(super) notes: Vec<String>,
}

impl Head {
    pub(super) fn new(area: Option<Area>, name: &str, title: &str) -> Self {
        let peak = "theoretical peak".to_owned();
        let [name, title] = [name, title].map(str::to_owned);
        Self { area, name, title, about: String::new(), peak, columns: Vec::new(), notes: Vec::new() }
    }

    /// Its table.
    pub(super) fn grid(&self, columns: Vec<Column>, lines: Vec<GridLine>) -> Grid {
        let name = format!("chart-{}", self.name);
        Grid { name, area: self.area, title: self.title.clone(), columns, lines, notes: self.notes.clone() }
    }
}

/// What was drawn at one width.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

/// A chart of its parts.
pub(super) fn finish(head: Head, [wide, narrow]: [&Drawing; 2], table: Grid, evidence: Vec<String>) -> Chart {
    let size = [wide.width, wide.height].map(|side| (side * 10.0).round() / 10.0);
    let whole = |drawing: &Drawing, suffix: &str| {
        let id = format!("chart-{}{suffix}", head.name);
        let (width, height) = (svg::px(drawing.width), svg::px(drawing.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
             aria-labelledby=\"{id}-title {id}-about\"><title id=\"{id}-title\">{}</title><desc id=\"{id}-about\">{}\
             </desc>\n{}</svg>",
            style::class(head.area),
            escape(&head.title),
            escape(&head.about),
            drawing.body
        )
    };
    let (svg, narrow) = (whole(wide, ""), whole(narrow, "-narrow"));
    let Head { area, name, title, about, .. } = head;
    Chart { name, area, title, about, svg, narrow, size, table, evidence }
}
