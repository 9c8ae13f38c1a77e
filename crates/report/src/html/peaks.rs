//! The peaks with their arithmetic: for each series of rows what it could reach at best, the formula, and every figure in
//! it with its source.

use model::document::Document;
use model::experiment::Area;
use model::peak::{Peak, PeakInput};
use serde::Serialize;

use super::text;
use crate::info::input_words;
use crate::label::{Axis, Label, area_title, stem, threads};
use crate::number::{Notation, percent, quantity};

/// The peaks of an area.
#[derive(Debug, Serialize)]
pub(super) struct OfArea {
    accent: &'static str,
    title: &'static str,
    series: Vec<Series>,
}

/// The peaks of the rows that differ in their threads alone.
#[derive(Debug, Serialize)]
struct Series {
    what: String,
    /// The highest of those that shares are of, with its formula: what is read where the rest is folded.
    best: String,
    formula: String,
    lines: Vec<Line>,
    inputs: Vec<Input>,
    #[serde(skip)]
    stem: String,
    #[serde(skip)]
    most: f64,
}

#[derive(Debug, PartialEq, Serialize)]
struct Line {
    threads: String,
    kind: String,
    value: String,
    uncertainty: String,
    formula: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Input {
    name: String,
    value: String,
    source: String,
}

/// The peaks of every area that has some.
pub(super) fn areas(document: &Document) -> Vec<OfArea> {
    let all = Area::ALL.iter().map(|area| OfArea {
        accent: text::accent(Some(*area)),
        title: area_title(*area),
        series: series(*area, document),
    });
    all.filter(|of_area| !of_area.series.is_empty()).collect()
}

fn series(area: Area, document: &Document) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in document.experiments.iter().filter(|row| row.area == area) {
        let Some(metric) = row.metrics.first().filter(|metric| !metric.peaks.is_empty()) else { continue };
        let stem = stem(row, Axis::Threads);
        let place = *places.entry(stem.clone()).or_insert_with(|| {
            let label = Label::alone(row);
            all.push(Series {
                what: format!("{} {}", label.what, label.how).trim().to_owned(),
                best: String::new(),
                formula: String::new(),
                lines: Vec::new(),
                inputs: Vec::new(),
                stem,
                most: f64::NEG_INFINITY,
            });
            all.len() - 1
        });
        let notation = Notation::of(area, metric.unit);
        for peak in &metric.peaks {
            all[place].add(row.params.threads(), peak, notation);
        }
    }
    // Where labels are alike, the ids are not.
    let mut named = std::collections::HashMap::new();
    for series in &all {
        *named.entry(series.what.clone()).or_insert(0) += 1;
    }
    for series in all.iter_mut().filter(|series| named.get(&series.what).is_some_and(|count| *count > 1)) {
        series.what = format!("{} ({})", series.what, series.stem);
    }
    all
}

impl Series {
    fn add(&mut self, count: u32, peak: &Peak, notation: Notation) {
        let value = quantity(peak.value, notation);
        let kind = peak.kind.name().replace('_', " ");
        if (peak.kind.carries_efficiency() || self.formula.is_empty()) && peak.value > self.most {
            self.most = peak.value;
            self.best = format!("{value} ({kind})");
            self.formula.clone_from(&peak.formula);
        }
        let uncertainty = peak.uncertainty.filter(|part| *part > 0.0).map(|part| format!("±{}", percent(part)));
        self.lines.push(Line {
            threads: threads(count),
            kind,
            value,
            uncertainty: uncertainty.unwrap_or_default(),
            formula: peak.formula.clone(),
        });
        for input in peak.inputs.iter().map(Input::of) {
            if !self.inputs.contains(&input) {
                self.inputs.push(input);
            }
        }
    }
}

impl Input {
    fn of(input: &PeakInput) -> Self {
        let (name, value) = input_words(input);
        Self { name, value, source: input.source.clone() }
    }
}
