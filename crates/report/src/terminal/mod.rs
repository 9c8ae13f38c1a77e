//! The result in a terminal: a line about the run, a table per area, reference tools, footnotes and findings.
//!
//! Live progress is printed by `cli`: a line for each headline result by [`HeadlineLines`], or for each result by [`row_line`].

pub(crate) mod answer;
mod areas;
mod header;
mod legend;
mod line;
mod notes;
mod references;
mod row;
mod sampling;
mod sections;
mod table;

use model::document::{Document, Row};
use model::experiment::Area;

use self::areas::{disk, linpack, memory, net};
use ::areas::chart::classic::is_in_table_only;
use ::areas::label::{Axis, Common};
use sections::Section;

use crate::classic;
use crate::grid::groups::{by_area, groups};
use crate::layout::{separated, wrap};
use crate::style::Style;

pub use answer::{Surroundings, answer};
pub(crate) use header::{machine_words, state, suite_words, summary};
pub use line::{HeadlineLines, provisional_line, row_line};

/// The whole result, ending in a newline.
pub fn render(document: &Document, style: &Style) -> String {
    let sections = sections(document);
    let notes = notes::Notes::collect(&sections);
    let mut paragraphs = vec![header::lines(document, style)];
    let tables: Vec<table::Drawn> = sections.iter().map(|section| table::draw(section, &notes, style)).collect();
    let how = [sampling::lines(document, style), legend::lines(document, &tables, style)].concat();
    for (section, table) in sections.iter().zip(tables) {
        paragraphs.push(table.lines);
        paragraphs.extend(linpack::paragraphs(section, &notes, style));
        paragraphs.extend(memory::paragraphs(section, &notes, style));
        paragraphs.extend(disk::paragraphs(section, &notes, style));
        paragraphs.extend(net::paragraphs(section, document.peer.as_deref(), &notes, style));
    }
    let marks = |id: &str| notes.marks(document.experiments.iter().find(|row| row.id == id)?, style);
    paragraphs.extend(classic::paragraphs(document, &marks, style));
    paragraphs.extend(references::paragraphs(&sections, style));
    paragraphs.extend([notes.lines(style), findings(document, style), how]);
    separated(&paragraphs)
}

fn findings(document: &Document, style: &Style) -> Vec<String> {
    document.findings.iter().flat_map(|finding| wrap(&style.clean(&finding.text), "", style.width)).collect()
}

fn sections(document: &Document) -> Vec<Section<'_>> {
    by_area(document).map(|(area, rows)| section(area, rows, document)).collect()
}

fn section<'a>(area: Area, rows: Vec<&'a Row>, document: &Document) -> Section<'a> {
    let (classic, rows): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| is_in_table_only(row, document));
    let is_apart = |row: &Row| {
        linpack::is_apart(row, &rows)
            || memory::is_apart(row, &rows)
            || disk::is_apart(row, &rows)
            || net::is_apart(row, &rows)
    };
    let (apart, rows): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is_apart(row));
    let axis = Axis::of(area, &rows);
    // Where all are read together, what they have in common is above their tables.
    let said_of = if rows.is_empty() { &apart } else { &rows };
    let common = Common::of(said_of, axis).on(said_of, &document.machine);
    let groups = groups(&rows, axis, &common);
    Section { area, axis, common, groups, apart, classic }
}
