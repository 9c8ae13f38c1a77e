//! The limits with their arithmetic: for each series of results the limit, its formula, and every input with its source.

use std::collections::HashSet;

use minijinja::{Value, context};
use model::document::{Document, Row};
use model::experiment::Area;
use model::number::{Notation, percent, quantity};
use model::peak::Peak;
use model::sample::Metric;
use serde::Serialize;

use crate::commands::info::input_words;
use crate::grid::groups::grouped;
use areas::label::{Label, area_title, stem_of, threads};

/// The most values of one input that are listed; of more, the least and the greatest.
const LISTED: usize = 3;

#[derive(Clone, Debug, Serialize)]
struct Series {
    what: String,
    lines: Vec<PeakLine>,
}

#[derive(Clone, Debug, Serialize)]
struct PeakLine {
    threads: String,
    kind: String,
    value: String,
    uncertainty: String,
    formula: String,
    #[serde(skip)]
    number: f64,
}

pub(super) fn areas(document: &Document) -> Vec<Value> {
    Area::ALL.iter().filter_map(|area| of_area(*area, document)).collect()
}

fn of_area(area: Area, document: &Document) -> Option<Value> {
    let rows = document.experiments.iter().filter(|row| row.area == area);
    let rows = rows.filter_map(|row| Some((row, row.metrics.first().filter(|metric| !metric.peaks.is_empty())?)));
    let series = grouped(rows, |(row, _)| Some(stem_of(row)));
    let what = |(row, _): &(&Row, &Metric)| {
        let label = Label::alone(row);
        format!("{} {}", label.what, label.how)
    };
    let names: Vec<String> = series.iter().map(|(_, results)| what(&results[0])).collect();
    let mut every: Vec<Series> = Vec::new();
    let mut inputs = Vec::new();
    for ((stem, results), what) in series.iter().zip(&names) {
        let is_unique = names.iter().filter(|name| *name == what).count() == 1;
        let what = if is_unique { what.clone() } else { format!("{what} ({stem})") };
        let peaks = results.iter().flat_map(|(row, metric)| metric.peaks.iter().map(move |peak| (row, metric, peak)));
        inputs.extend(peaks.clone().flat_map(|(.., peak)| &peak.inputs));
        let line = |(row, metric, peak): (&&Row, &&Metric, &Peak)| {
            PeakLine::new(row.params.threads(), peak, Notation::of(area, metric.unit))
        };
        every.push(Series { what, lines: peaks.map(line).collect() });
    }
    let greatest = merged(every.iter().map(Series::greatest));
    let inputs = inputs.into_iter().map(|input| (input_words(input), input));
    let inputs = grouped(inputs, |((name, _), input)| Some((name.clone(), input.source.as_str())));
    let inputs = inputs.into_iter().map(|((name, source), alike)| {
        let values = alike.into_iter().map(|((_, value), input)| (value, input.value)).collect();
        context! { name => name.replace('_', " "), values => listed(values), source }
    });
    (!greatest.is_empty()).then(|| {
        context! {
            accent => area.name(),
            title => area_title(area),
            greatest,
            inputs => inputs.collect::<Vec<_>>(),
        }
    })
}

/// Series with the same limits and formulas as one.
fn merged(all: impl Iterator<Item = Series>) -> Vec<Series> {
    let same = |series: &Series| -> Vec<[String; 4]> {
        let parts = |line: &PeakLine| [&line.kind, &line.value, &line.uncertainty, &line.formula].map(String::clone);
        series.lines.iter().map(parts).collect()
    };
    let groups = grouped(all, |series| Some(same(series))).into_iter();
    let named = groups.filter_map(|(_, group)| {
        let others = group.len() - 1;
        let first = group.into_iter().next()?;
        let what = match others {
            0 => first.what,
            1 => format!("{} and one more kind of result", first.what),
            _ => format!("{} and {others} more kinds of results", first.what),
        };
        Some(Series { what, ..first })
    });
    named.collect()
}

impl Series {
    /// The greatest limit of each kind, the first of equals.
    fn greatest(&self) -> Self {
        let kinds = grouped(&self.lines, |line| Some(&line.kind)).into_iter();
        let lines = kinds.filter_map(|(_, lines)| {
            lines.into_iter().reduce(|best, other| if other.number > best.number { other } else { best })
        });
        Self { what: self.what.clone(), lines: lines.cloned().collect() }
    }
}

impl PeakLine {
    fn new(count: u32, peak: &Peak, notation: Notation) -> Self {
        let uncertainty = peak.uncertainty.filter(|part| *part > 0.0).map(|part| format!("±{}", percent(part)));
        Self {
            threads: threads(count),
            kind: peak.kind.name().replace('_', " "),
            value: quantity(peak.value, notation),
            uncertainty: uncertainty.unwrap_or_default(),
            formula: peak.formula.clone(),
            number: peak.value,
        }
    }
}

/// The distinct values of an input, ascending: all, or the least and the greatest.
fn listed(mut values: Vec<(String, f64)>) -> String {
    let mut seen = HashSet::new();
    values.retain(|(text, _)| seen.insert(text.clone()));
    values.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let texts: Vec<String> = values.into_iter().map(|(text, _)| text).collect();
    match &texts[..] {
        [first, .., last] if texts.len() > LISTED => format!("{first} to {last}"),
        all => all.join(", "),
    }
}
