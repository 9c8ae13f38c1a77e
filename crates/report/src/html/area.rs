//! The section of an area: findings, tables, and charts with the findings that they show.

use std::cmp::Reverse;
use std::collections::HashSet;

use minijinja::{Value, context};
use model::document::{Document, Finding};
use model::experiment::Area;

use super::tables::{Anchors, Table, is_late};
use super::text;
use crate::chart::DrawnChart;
use areas::chart::grid::Grid;
use areas::label::Label;

/// The chart with a section of its own.
const ROOFLINE: &str = "roofline";

const MOST_EVIDENCE: usize = 3;

/// The sections of the areas that have results or charts, and the roofline.
pub(super) fn sections(
    document: &Document,
    grids: &[Grid],
    charts: Vec<DrawnChart>,
    anchors: &mut Anchors<'_>,
) -> (Vec<Value>, Vec<Value>) {
    let mut tables: Vec<(Option<Area>, Table)> = tables(grids, anchors);
    let shown = shown(&document.findings, &charts);
    let findings = |wanted: &dyn Fn(&Finding, Option<usize>) -> bool| -> Vec<Value> {
        let own = document.findings.iter().zip(&shown).filter(|(finding, chart)| wanted(finding, **chart));
        own.map(|(finding, _)| said(finding, document, anchors)).collect()
    };
    let chart_of = |(index, chart): (usize, DrawnChart)| {
        (chart.area, chart_of(chart, &findings(&|_, shown| shown == Some(index))))
    };
    let (roofline, charts): (Vec<_>, Vec<_>) =
        charts.into_iter().enumerate().partition(|(_, chart)| chart.name == ROOFLINE);
    let roofline = roofline.into_iter().map(|chart| chart_of(chart).1).collect();
    let mut drawn: Vec<(Option<Area>, Value)> = charts.into_iter().map(chart_of).collect();
    let areas = Area::ALL.iter().map(|area| Some(*area)).chain([None]);
    let sections = areas.filter_map(|area| {
        let findings = findings(&|finding, chart| chart.is_none() && Some(finding.area) == area);
        let drawn: Vec<Value> = drawn.extract_if(.., |(of, _)| *of == area).map(|(_, chart)| chart).collect();
        let tables: Vec<Table> = tables.extract_if(.., |(of, _)| *of == area).map(|(_, table)| table).collect();
        let is_empty = findings.is_empty() && drawn.is_empty() && tables.is_empty();
        let (accent, title) = (text::accent(area), text::heading(area));
        (!is_empty).then(|| context! { accent, title, findings, drawn, tables })
    });
    (sections.collect(), roofline)
}

/// The tables of the areas, classic tables first; references, limits and warnings have sections of their own.
fn tables(grids: &[Grid], anchors: &mut Anchors<'_>) -> Vec<(Option<Area>, Table)> {
    let is_classic = |grid: &Grid| grid.name.starts_with("classic");
    let with = |grid: &Grid, holds: &dyn Fn(&Grid) -> bool| grids.iter().any(|own| own.area == grid.area && holds(own));
    let is_list = |grid: &Grid| grid.name.ends_with("-measured");
    let own = |grid: &&Grid| !["references", "peaks"].iter().any(|end| grid.name.ends_with(end)) && grid.area.is_some();
    let mut ordered: Vec<&Grid> = grids.iter().filter(own).collect();
    ordered.sort_by_key(|grid| !is_classic(grid));
    let table = |grid: &Grid| {
        // The list of results repeats classic tables; details of a long list follow it.
        let folded = is_list(grid) && with(grid, &is_classic);
        let follows = grid.name.ends_with("-loads") && with(grid, &|own| is_list(own) && is_late(own));
        let mut table = Table::anchored(grid, anchors);
        (table.folded, table.late) = (folded, table.late || folded || follows);
        (grid.area, table)
    };
    ordered.into_iter().map(table).collect()
}

/// The most findings of a chart, as long as another chart shows as much of their evidence.
const MOST_FINDINGS: usize = 3;
/// Rules about how far an area's results can be trusted: their findings are before its table.
const OF_TRUST: [&str; 2] = ["disturbed", "what_to_try"];

/// For each finding the chart of its area that shows most of its evidence; `None` where no chart shows any, and for
/// findings about the whole area.
fn shown(findings: &[Finding], charts: &[DrawnChart]) -> Vec<Option<usize>> {
    let rows: Vec<HashSet<&str>> =
        charts.iter().map(|chart| chart.evidence.iter().map(String::as_str).collect()).collect();
    let mut counts = vec![0; charts.len()];
    let mut chosen = |finding: &Finding| {
        let rank = |index: usize| {
            let part = finding.evidence.iter().filter(|id| rows[index].contains(id.as_str())).count();
            // Of charts that show as much: one with room, then the one with the fewest results.
            (part, counts[index] < MOST_FINDINGS, Reverse(rows[index].len()), Reverse(index))
        };
        let own = (0..charts.len()).filter(|index| charts[*index].area == Some(finding.area));
        let own = own.filter(|_| !OF_TRUST.contains(&finding.code.as_str()));
        let found = own.map(rank).filter(|(part, ..)| *part > 0).max().map(|(.., Reverse(index))| index);
        if let Some(index) = found {
            counts[index] += 1;
        }
        found
    };
    findings.iter().map(&mut chosen).collect()
}

fn said(finding: &Finding, document: &Document, anchors: &Anchors<'_>) -> Value {
    let evidence = finding.evidence.iter().take(MOST_EVIDENCE).map(|id| {
        // The last of equal ids.
        let row = document.experiments.iter().rev().find(|row| row.id == *id);
        context! { anchor => anchors.link(id), what => row.map_or_else(|| id.clone(), Label::sentence) }
    });
    context! {
        text => finding.text,
        evidence => evidence.collect::<Vec<_>>(),
        more => finding.evidence.len().saturating_sub(MOST_EVIDENCE),
    }
}

fn chart_of(chart: DrawnChart, findings: &[Value]) -> Value {
    let table = Table::of(&chart.table);
    let DrawnChart { name, title, about, svg, narrow, .. } = chart;
    let [svg, narrow] = [svg, narrow].map(|drawing| without_data(&drawing));
    context! { name, title, about, svg, narrow, table, findings }
}

/// A drawing without its `data-` attributes, since the report shows the titles of marks only. Quotes in texts are escaped,
/// so only attributes match.
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
