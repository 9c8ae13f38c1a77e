//! One value per area, with its share of the limit as a bar. A rule chooses it: the first of the area's preferences that
//! was measured, of equals the highest; a disturbed result only where there is no other.

use minijinja::{Value, context};
use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::sample::{Metric, MetricName};
use model::unit::Better;
use model::warning::{Confidence, WarningCode};
use serde::Serialize;

use super::tables::Anchors;
use crate::reason::kind_words;
use areas::label::{Label, area_title, labels};
use model::number::{Notation, percent, quantity, spread};

pub(super) const ABOVE: &str = "above its limit, so the limit or its clock is wrong";

#[derive(Debug, Serialize)]
pub(super) struct Gauge {
    pub(super) accent: &'static str,
    title: &'static str,
    pub(super) value: String,
    spread: String,
    pub(super) what: String,
    /// The filled part of the bar in percent; `None` without a limit.
    filled: Option<f64>,
    /// The same as text: `96.1 %`.
    pub(super) share: Option<String>,
    /// The kind of the limit: `of the boost peak`.
    pub(super) of: Option<String>,
    /// Why there is no share.
    pub(super) why: &'static str,
    confidence: Option<&'static str>,
    /// The time of a single access, request or round trip.
    latency: Option<Value>,
    anchor: Option<String>,
    #[serde(skip)]
    pub(super) area: Area,
}

pub(super) fn gauges(document: &Document, anchors: &Anchors<'_>) -> Vec<Gauge> {
    Area::ALL.iter().filter_map(|area| gauge(*area, document, anchors)).collect()
}

fn gauge(area: Area, document: &Document, anchors: &Anchors<'_>) -> Option<Gauge> {
    let measured = |row: &&Row| row.area == area && row.status == Status::Ok && headline(row).is_some();
    let rows: Vec<&Row> = document.experiments.iter().filter(measured).collect();
    let row = first_of(area, &rows)?;
    let metric = headline(row)?;
    let share = metric.efficiency.filter(|efficiency| efficiency.value.is_finite());
    let is_above = row.warnings.iter().any(|warning| warning.code == WarningCode::AbovePeak);
    Some(Gauge {
        accent: area.name(),
        title: area_title(area),
        value: quantity(metric.summary.median, Notation::of(area, metric.unit)),
        spread: spread(&metric.summary, "±"),
        what: Label::sentence(row),
        filled: share.map(|share| (share.value * 100.0).clamp(0.0, 100.0)),
        share: share.map(|share| percent(share.value)),
        of: share.map(|share| format!("of the {}", kind_words(share.of))),
        why: if is_above { ABOVE } else { "no known limit" },
        confidence: row.confidence.map(Confidence::name),
        latency: latency(area, &rows, anchors),
        anchor: anchors.link(&row.id),
        area,
    })
}

fn headline(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|metric| metric.summary.median.is_finite())
}

/// The result whose value is shown for an area.
fn first_of<'a>(area: Area, rows: &[&'a Row]) -> Option<&'a Row> {
    let most = |of: fn(&Row) -> bool, quoted: bool| {
        let fit = rows.iter().copied().filter(|row| of(row) && (!quoted || row.confidence != Some(Confidence::Low)));
        let value = |row: &Row| headline(row).map_or(f64::NEG_INFINITY, |metric| metric.summary.median);
        fit.reduce(|best, other| if value(other) > value(best) { other } else { best })
    };
    let is_rate: fn(&Row) -> bool = |row| headline(row).is_some_and(|metric| metric.better == Better::Higher);
    let preferences = || labels(area).leading.iter().copied().chain([is_rate]);
    let preferred = [true, false].into_iter().find_map(|quoted| preferences().find_map(|of| most(of, quoted)));
    preferred.or_else(|| rows.first().copied())
}

/// The time of the longest chase, a random read, or a round trip.
fn latency(area: Area, rows: &[&Row], anchors: &Anchors<'_>) -> Option<Value> {
    let single = labels(area).single;
    let fit = rows.iter().copied().filter(|row| row.params.threads() == 1);
    let timed = fit.filter_map(|row| Some((single(row)?, (row, row.metric(MetricName::Latency)?))));
    let longest = timed.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, found)| found);
    let (row, metric) = longest.filter(|(_, metric)| metric.summary.median.is_finite())?;
    let value = quantity(metric.summary.median, Notation::of(area, metric.unit));
    Some(context! { value, what => Label::sentence(row), anchor => anchors.link(&row.id) })
}
