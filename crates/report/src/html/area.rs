//! The section of an area: its answer, findings, tables and charts.

use std::collections::HashSet;

use minijinja::{Value, context};
use model::document::Document;
use model::experiment::Area;

use super::tables::{Anchors, Table};
use super::text::capital;
use crate::chart::DrawnChart;
use areas::chart::grid::Grid;
use areas::label::area_title;

const ROOFLINE: &str = "roofline";

pub(super) struct Sections {
    pub(super) areas: Vec<Value>,
    pub(super) roofline: Vec<Value>,
    pub(super) over_time: Vec<Value>,
}

/// The sections of the areas that have results or charts: the answer, findings, tables and charts.
pub(super) fn sections(
    document: &Document,
    grids: &[Grid],
    charts: Vec<DrawnChart>,
    anchors: &mut Anchors<'_>,
) -> Sections {
    let mut tables: Vec<(Option<Area>, Table)> = tables(grids, anchors);
    // What a chart has as its observation is not repeated.
    let repeated: HashSet<String> = charts.iter().map(|chart| chart.observation.clone()).collect();
    let (roofline, charts): (Vec<_>, Vec<_>) = charts.into_iter().partition(|chart| chart.name == ROOFLINE);
    let roofline = roofline.into_iter().map(chart_of).collect();
    let mut drawn: Vec<(Option<Area>, Value)> = charts.into_iter().map(|chart| (chart.area, chart_of(chart))).collect();
    let mut drawn = |area: Option<Area>| drawn.extract_if(.., |(of, _)| *of == area).map(|(_, chart)| chart).collect();
    let areas = Area::ALL.iter().filter_map(|area| {
        let own = document.findings.iter().filter(|own| own.area == *area && !repeated.contains(&own.text));
        let findings: Vec<&str> = own.map(|finding| finding.text.as_str()).collect();
        let drawn: Vec<Value> = drawn(Some(*area));
        let tables = tables.extract_if(.., |(of, _)| *of == Some(*area)).map(|(_, table)| table).collect::<Vec<_>>();
        let is_empty = findings.is_empty() && drawn.is_empty() && tables.is_empty();
        let answer = document.answers.iter().find(|answer| answer.area == *area).map(|answer| capital(&answer.text));
        let (accent, title) = (area.name(), area_title(*area));
        (!is_empty).then(|| context! { accent, title, answer, findings, drawn, tables })
    });
    let areas = areas.collect();
    Sections { areas, roofline, over_time: drawn(None) }
}

/// The tables of the areas, classic tables first; references, limits and warnings have sections of their own.
fn tables(grids: &[Grid], anchors: &mut Anchors<'_>) -> Vec<(Option<Area>, Table)> {
    let is_classic = |grid: &&Grid| grid.name.starts_with("classic");
    let own = |grid: &&Grid| !["references", "peaks"].iter().any(|end| grid.name.ends_with(end)) && grid.area.is_some();
    let (classic, others): (Vec<&Grid>, Vec<&Grid>) = grids.iter().filter(own).partition(is_classic);
    let table = |grid: &Grid| {
        let is_absent = grid.name.ends_with("-not-measured");
        let is_list = !is_absent && grid.name.ends_with("-measured") && classic.iter().any(|own| own.area == grid.area);
        let mut table = Table::of(grid, is_list, anchors)?;
        table.folded = is_absent;
        Some((grid.area, table))
    };
    classic.iter().chain(&others).copied().filter_map(table).collect()
}

fn chart_of(chart: DrawnChart) -> Value {
    let DrawnChart { name, title, observation, about, svg, narrow, .. } = chart;
    let [svg, narrow] = [svg, narrow].map(|drawing| without_data(&drawing));
    context! { name, title, observation, about, svg, narrow }
}

/// A drawing without its `data-` attributes, since the report shows the titles of marks only, and without those that the
/// style sheet gives. Quotes in texts are escaped, so only attributes match.
fn without_data(drawing: &str) -> String {
    const START: &str = " data-";
    let mut parts = drawing.split(START);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        match part.split_once("=\"").filter(|(name, _)| is_name(name)).and_then(|(_, rest)| rest.split_once('"')) {
            Some((_, rest)) => kept.push_str(rest),
            None => kept.extend([START, part]),
        }
    }
    GIVEN.iter().fold(kept, |kept, attribute| kept.replace(attribute, ""))
}

const GIVEN: [&str; 3] = [r#" font-size="12""#, r#" text-anchor="start""#, r#" xmlns="http://www.w3.org/2000/svg""#];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attributes_are_taken_out() {
        let drawing = r#"<path class="m" data-id="a/b" font-size="12" data-n="3" d="M0"><title>a data-set data-n=&quot;4&quot;</title></path>"#;
        let kept = r#"<path class="m" d="M0"><title>a data-set data-n=&quot;4&quot;</title></path>"#;
        assert_eq!(without_data(drawing), kept);
        assert_eq!(without_data(kept), kept);
        assert_eq!(without_data(" data-n=\"open"), " data-n=\"open");
    }
}
