//! The texts of a comparison that all formats share.

use std::fmt::Write;

use model::comparison::{AreaMean, Change, Compared, Comparison, Direction, NotCompared};
use model::experiment::Area;
use model::number::{Notation, UnitScale, change, counted, percent, percent_short};
use model::unit::Unit;

use crate::grid::groups::grouped;
use areas::label::area_title;

pub(super) const ORDER: [Change; 3] = [Change::Changed, Change::Inconclusive, Change::Same];

/// The results with a verdict, area by area in the order of the first result of each area.
pub(super) fn rows_of(comparison: &Comparison, verdict: Change) -> Vec<&Compared> {
    let areas = grouped(&comparison.experiments, |row| Some(area_word(&row.id))).into_iter();
    areas.flat_map(|(_, rows)| rows).filter(|row| row.verdict == verdict).collect()
}

fn area_word(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

pub(super) const fn verdict_title(verdict: Change) -> &'static str {
    match verdict {
        Change::Changed => "Changed",
        Change::Inconclusive => "Inconclusive",
        Change::Same => "Unchanged",
    }
}

pub(super) const fn verdict_words(row: &Compared) -> &'static str {
    match (row.verdict, row.direction) {
        (Change::Changed, Some(Direction::Worse)) => "worse",
        (Change::Changed, Some(Direction::Better)) => "better",
        (Change::Changed, None) => "changed",
        (Change::Inconclusive, _) => "inconclusive",
        (Change::Same, _) => "unchanged",
    }
}

/// `2 of 38 results changed, both for the worse; 30 are unchanged within 2 … 10 %; 6 are inconclusive.`
pub(super) fn summary(comparison: &Comparison, ellipsis: &str) -> String {
    let rows = &comparison.experiments;
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict);
    let count = |verdict| of(verdict).count();
    let total = counted(rows.len() as u64, "result");
    if rows.is_empty() {
        return "Nothing was compared.".to_owned();
    }
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let (changed, same, unknown) = (count(Change::Changed), count(Change::Same), count(Change::Inconclusive));
    let mut parts = vec![match changed {
        0 => "No result changed".to_owned(),
        _ => format!("{changed} of {total} changed, {}", directions(rows)),
    }];
    if same > 0 {
        let limits = limits(of(Change::Same), ellipsis);
        parts.push(format!("{same} {} unchanged within {limits}", are(same)));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} {} inconclusive", are(unknown)));
    }
    format!("{}.", parts.join("; "))
}

fn directions(rows: &[Compared]) -> String {
    let count = |direction| rows.iter().filter(|row| row.direction == Some(direction)).count();
    let all = |count: usize| ["", "", "both "].get(count).copied().unwrap_or("all ");
    match (count(Direction::Worse), count(Direction::Better)) {
        (worse, 0) => format!("{}for the worse", all(worse)),
        (0, better) => format!("{}for the better", all(better)),
        (worse, better) => format!("{worse} for the worse and {better} for the better"),
    }
}

fn limits<'a>(rows: impl Iterator<Item = &'a Compared> + Clone, ellipsis: &str) -> String {
    let least = rows.clone().map(|row| row.threshold).fold(f64::INFINITY, f64::min);
    let most = rows.map(|row| row.threshold).fold(0.0, f64::max);
    let (low, high) = (limit(least), limit(most));
    if low == high { format!("{high} %") } else { format!("{low} {ellipsis} {high} %") }
}

fn limit(threshold: f64) -> String {
    percent_short(threshold).trim_end_matches(" %").to_owned()
}

/// The least change that counts: `10 %`; `10 + 4 %` with the possible effect of interference.
pub(super) fn limit_words(row: &Compared) -> String {
    let plus = if row.allowance > 0.0005 { format!(" + {}", limit(row.allowance)) } else { String::new() };
    format!("{}{plus} %", limit(row.threshold))
}

/// The ends of an interval as changes: `-9.0 … -7.2`; empty without an interval.
pub(super) fn interval(row: &Compared, ellipsis: &str) -> String {
    row.ratio_ci95.map_or_else(String::new, |[low, high]| format!("{} {ellipsis} {}", change(low), change(high)))
}

pub(super) fn values(row: &Compared) -> [String; 3] {
    let area = area_word(&row.id).parse::<Area>();
    let notation = area.map_or(Notation::Plain(row.unit), |area| Notation::of(area, row.unit));
    let scale = UnitScale::common(&[row.base, row.new], notation).unwrap_or_else(|| UnitScale::of(row.base, notation));
    [scale.digits(row.base), scale.digits(row.new), scale.unit().to_owned()]
}

/// The name of a result: its id, the id of the other side if it differs, and its metric if the id has several.
pub(super) fn name(row: &Compared, comparison: &Comparison) -> String {
    let name = row.id_new.as_ref().map_or_else(|| row.id.clone(), |new| format!("{} against {new}", row.id));
    let several = comparison.experiments.iter().filter(|other| other.id == row.id).count() > 1;
    let usual = if row.unit == Unit::Second { "latency" } else { "throughput" };
    // Two results of one benchmark differ in their units; a metric that the unit does not imply is always shown.
    let is_named = several && row.metric == "latency" || row.metric != usual && row.metric != "iops";
    if is_named { format!("{name} {}", row.metric) } else { name }
}

/// Texts without repetition, in order.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    grouped(texts, |text| Some(*text)).into_iter().map(|(text, _)| text).collect()
}

/// Distinct explanations, numbered in reading order.
#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    pub(super) texts: Vec<&'a str>,
}

impl<'a> Notes<'a> {
    pub(super) fn of(comparison: &'a Comparison) -> Self {
        let rows = ORDER.into_iter().flat_map(|verdict| rows_of(comparison, verdict));
        Self { texts: distinct(rows.filter_map(|row| row.explanation.as_deref())) }
    }

    pub(super) fn number(&self, row: &Compared) -> Option<usize> {
        let text = row.explanation.as_deref()?;
        self.texts.iter().position(|other| *other == text).map(|index| index + 1)
    }
}

/// The ids of results that were not compared, by reason.
pub(super) fn reasons(not_compared: &[NotCompared]) -> Vec<(&str, Vec<&NotCompared>)> {
    grouped(not_compared, |row| Some(row.reason.as_str()))
}

const PROCESS_RUNS: &str = "process runs";

pub(super) fn legend(comparison: &Comparison) -> String {
    let mut text = String::from(if comparison.live {
        "Change: NEW over BASE, the ratio of the medians of pairs measured in turn, with its 95 % interval. Limit: smaller \
         changes do not count."
    } else {
        "Change: NEW over BASE (Hodges-Lehmann), with its 95 % interval. Limit: smaller changes do not count. It is the \
         larger of 2 % and twice the noise between runs."
    });
    if comparison.experiments.iter().any(|row| limit_words(row).contains('+')) {
        text.push_str(" After the plus: the possible effect of interference.");
    }
    let sources = distinct(comparison.experiments.iter().filter_map(|row| row.noise_source.as_deref()));
    if !sources.is_empty() {
        let _ = write!(text, " Noise known from: {}.", sources.join("; "));
    }
    let process_runs = comparison.experiments.iter().filter(|row| row.units == PROCESS_RUNS).count();
    if comparison.experiments.iter().any(|row| matches!(row.units.as_str(), "samples" | PROCESS_RUNS)) {
        text.push_str(" Intervals are of samples within one session; the limit includes differences between sessions.");
    }
    if process_runs > 0 {
        let results = counted(process_runs as u64, "result");
        let _ = write!(text, " For {results}, process runs differ more than samples, so process runs were compared.");
    }
    text
}

pub(super) fn means(means: &[AreaMean]) -> Option<String> {
    let words = |mean: &AreaMean| {
        let area = mean.area.parse().map_or_else(|_| mean.area.clone(), |area| area_title(area).to_owned());
        format!("{area} {} % ({})", change(mean.ratio), counted(u64::from(mean.n), "result"))
    };
    let all: Vec<String> = means.iter().map(words).collect();
    (!all.is_empty()).then(|| format!("Geometric mean of all results, more is better: {}.", all.join(", ")))
}

pub(super) fn chance(row: &Compared) -> String {
    row.p.map_or_else(String::new, |p| if p < 0.0005 { "< 0.1 %".to_owned() } else { percent(p) })
}
