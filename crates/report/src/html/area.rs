//! The section of an area: its charts, each with the findings that it shows, the findings that no chart shows, and its
//! tables.

use model::document::{Document, Finding};
use model::experiment::Area;
use serde::Serialize;

use super::tables::{Anchors, Table, is_late};
use super::text;
use crate::chart::DrawnChart;
use crate::grid::value::Grid;
use areas::label::Label;

/// The chart that has a section of its own.
const ROOFLINE: &str = "roofline";

/// At most so many rows are named as a finding's evidence; how many more there are is said.
const MOST_EVIDENCE: usize = 3;

/// A section about an area, or about the run as a whole.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    accent: &'static str,
    title: &'static str,
    /// What no chart shows.
    findings: Vec<Said>,
    figures: Vec<Figure>,
    tables: Vec<Table>,
}

/// A chart with what is to be seen in it.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    name: String,
    title: String,
    about: String,
    svg: String,
    narrow: String,
    table: Table,
    findings: Vec<Said>,
}

/// A finding with its evidence.
#[derive(Debug, Serialize)]
struct Said {
    code: String,
    text: String,
    evidence: Vec<Evidence>,
    /// Rows that are not named.
    more: usize,
}

#[derive(Debug, Serialize)]
struct Evidence {
    anchor: Option<String>,
    what: String,
}

/// The sections of the areas that have rows or charts, and the figures of the roofline's.
pub(super) fn sections(
    document: &Document,
    grids: &[Grid],
    charts: Vec<DrawnChart>,
    anchors: &mut Anchors<'_>,
) -> (Vec<Section>, Vec<Figure>) {
    let is_table = |grid: &&Grid| {
        // What trusted tools measured, and the peaks, have sections of their own; so have the warnings.
        !["references", "peaks"].iter().any(|end| grid.name.ends_with(end)) && grid.area.is_some()
    };
    // The classic tables answer first; every row by itself stands below them, folded.
    let is_classic = |grid: &Grid| grid.name.starts_with("classic");
    let repeats = |grid: &Grid| {
        grid.name.ends_with("-measured") && grids.iter().any(|other| other.area == grid.area && is_classic(other))
    };
    let mut ordered: Vec<&Grid> = grids.iter().filter(is_table).collect();
    ordered.sort_by_key(|grid| !is_classic(grid));
    // What singles out rows of a long table comes after it.
    let is_after = |grid: &Grid| {
        let is_long = |other: &&Grid| other.area == grid.area && other.name.ends_with("-measured") && is_late(other);
        grid.name.ends_with("-loads") && grids.iter().any(|other| is_long(&other))
    };
    let mut set = |grid: &Grid| Table::anchored(grid, anchors).folded(repeats(grid)).after(is_after(grid));
    let mut tables: Vec<(Option<Area>, Table)> = ordered.into_iter().map(|grid| (grid.area, set(grid))).collect();
    let shown = shown(&document.findings, &charts);
    let words = Words::of(document);
    let said = |finding: &Finding| words.said(finding, anchors);
    let mut figures: Vec<(Option<Area>, Figure)> = charts
        .into_iter()
        .enumerate()
        .map(|(index, chart)| {
            let own = document.findings.iter().zip(&shown).filter(|(_, place)| **place == Some(index));
            (chart.area, Figure::of(chart, own.map(|(finding, _)| said(finding)).collect()))
        })
        .collect();
    let roofline = figures.extract_if(.., |(_, figure)| figure.name.starts_with(ROOFLINE)).map(|(_, figure)| figure);
    let roofline: Vec<Figure> = roofline.collect();
    let areas = Area::ALL.iter().map(|area| Some(*area)).chain([None]);
    let sections = areas.map(|area| Section {
        accent: text::accent(area),
        title: text::heading(area),
        findings: document
            .findings
            .iter()
            .zip(&shown)
            .filter(|(finding, place)| place.is_none() && Some(finding.area) == area)
            .map(|(finding, _)| said(finding))
            .collect(),
        figures: figures.extract_if(.., |(of, _)| *of == area).map(|(_, figure)| figure).collect(),
        tables: tables.extract_if(.., |(of, _)| *of == area).map(|(_, table)| table).collect(),
    });
    let is_there =
        |section: &Section| !(section.findings.is_empty() && section.figures.is_empty() && section.tables.is_empty());
    let sections = sections.filter(is_there).collect();
    (sections, roofline)
}

/// Findings that have room beside a chart; more go to another one that shows as much of them, as long as there is one.
const MOST_BESIDE: usize = 3;

/// Rules that say how far an area's rows are to be trusted: they stand before its table, beside no chart.
const OF_TRUST: [&str; 2] = ["disturbed", "what_to_try"];

/// For each finding the chart of its area that shows most of its evidence; `None` where none shows any, and where it is
/// of the area as a whole.
fn shown(findings: &[Finding], charts: &[DrawnChart]) -> Vec<Option<usize>> {
    let rows: Vec<std::collections::HashSet<&str>> =
        charts.iter().map(|chart| chart.evidence.iter().map(String::as_str).collect()).collect();
    let mut beside = vec![0; charts.len()];
    let mut place = |finding: &Finding| {
        let seen = |index: usize| {
            let part = finding.evidence.iter().filter(|id| rows[index].contains(id.as_str())).count();
            // Of charts that show as much, one that has room beside it, then the one that shows least besides.
            let has_room = beside[index] < MOST_BESIDE;
            (part, has_room, std::cmp::Reverse(rows[index].len()), std::cmp::Reverse(index))
        };
        let own = (0..charts.len()).filter(|index| charts[*index].area == Some(finding.area));
        let own = own.filter(|_| !OF_TRUST.contains(&finding.code.as_str()));
        let found = own.map(seen).filter(|(part, ..)| *part > 0).max().map(|(.., std::cmp::Reverse(index))| index);
        if let Some(index) = found {
            beside[index] += 1;
        }
        found
    };
    findings.iter().map(&mut place).collect()
}

/// Rows in words, by their ids.
struct Words<'a>(std::collections::HashMap<&'a str, String>);

impl<'a> Words<'a> {
    /// The words of the rows that findings rest on.
    fn of(document: &'a Document) -> Self {
        let named: std::collections::HashSet<&str> =
            document.findings.iter().flat_map(|finding| &finding.evidence).map(String::as_str).collect();
        let rows = document.experiments.iter().filter(|row| named.contains(row.id.as_str()));
        Self(rows.map(|row| (row.id.as_str(), Label::sentence(row))).collect())
    }

    fn said(&self, finding: &Finding, anchors: &Anchors<'_>) -> Said {
        let evidence = finding
            .evidence
            .iter()
            .take(MOST_EVIDENCE)
            .map(|id| Evidence { anchor: anchors.link(id), what: self.0.get(id.as_str()).unwrap_or(id).clone() });
        Said {
            code: finding.code.clone(),
            text: finding.text.clone(),
            evidence: evidence.collect(),
            more: finding.evidence.len().saturating_sub(MOST_EVIDENCE),
        }
    }
}

impl Figure {
    fn of(chart: DrawnChart, findings: Vec<Said>) -> Self {
        let table = Table::of(&chart.table);
        let DrawnChart { name, title, about, svg, narrow, .. } = chart;
        let [svg, narrow] = [svg, narrow].map(|drawing| without_data(&drawing));
        Self { name, title, about, svg, narrow, table, findings }
    }
}

/// A drawing without the figures in its `data-` attributes: what a mark stands for is its title, which is all that a
/// page shows of it. A quote in a text is escaped, so only attributes look like them.
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
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attributes_are_taken_out() {
        let drawing =
            r#"<path class="m" data-id="a/b" data-n="3" d="M0"><title>a data-set data-n=&quot;4&quot;</title></path>"#;
        let kept = r#"<path class="m" d="M0"><title>a data-set data-n=&quot;4&quot;</title></path>"#;
        assert_eq!(without_data(drawing), kept);
        assert_eq!(without_data(kept), kept);
        assert_eq!(without_data(" data-n=\"open"), " data-n=\"open");
    }
}
