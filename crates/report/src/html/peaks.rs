//! The peaks with their arithmetic: for each series of rows what it could reach at best, the formula, and every figure in
//! it with its source.

use std::collections::HashMap;

use model::document::Document;
use model::experiment::Area;
use model::peak::{Peak, PeakInput};
use serde::Serialize;

use super::text;
use crate::commands::info::input_words;
use areas::label::{Axis, Label, area_title, stem, threads};
use model::number::{Notation, percent, quantity};

/// As many different figures of one source are listed; of more the least and the most are told.
const LISTED: usize = 3;

/// The peaks of an area.
#[derive(Debug, Serialize)]
pub(super) struct OfArea {
    accent: &'static str,
    title: &'static str,
    /// Of each series the greatest of each kind.
    greatest: Vec<Series>,
    /// Every peak, where there are more.
    every: Vec<Series>,
    inputs: Vec<Input>,
}

/// The peaks of the rows that differ in their threads alone.
#[derive(Clone, Debug, Serialize)]
struct Series {
    what: String,
    lines: Vec<PeakLine>,
    #[serde(skip)]
    stem: String,
}

#[derive(Clone, Debug, Serialize)]
struct PeakLine {
    threads: String,
    kind: String,
    value: String,
    uncertainty: String,
    formula: String,
    #[serde(skip)]
    figure: f64,
}

/// The figures of one name that come from one source.
#[derive(Debug, Serialize)]
struct Input {
    name: String,
    values: String,
    source: String,
    #[serde(skip)]
    figures: Vec<(f64, String)>,
}

/// The peaks of every area that has some.
pub(super) fn areas(document: &Document) -> Vec<OfArea> {
    Area::ALL.iter().filter_map(|area| of_area(*area, document)).collect()
}

fn of_area(area: Area, document: &Document) -> Option<OfArea> {
    let mut every: Vec<Series> = Vec::new();
    let mut places = HashMap::new();
    let mut inputs = Inputs::default();
    for row in document.experiments.iter().filter(|row| row.area == area) {
        let Some(metric) = row.metrics.first().filter(|metric| !metric.peaks.is_empty()) else { continue };
        let stem = stem(row, Axis::Threads);
        let place = *places.entry(stem.clone()).or_insert_with(|| {
            let label = Label::alone(row);
            every.push(Series { what: format!("{} {}", label.what, label.how), lines: Vec::new(), stem });
            every.len() - 1
        });
        for peak in &metric.peaks {
            every[place].lines.push(PeakLine::of(row.params.threads(), peak, Notation::of(area, metric.unit)));
            peak.inputs.iter().for_each(|input| inputs.add(input));
        }
    }
    tell_apart(&mut every);
    let greatest = alike_together(every.iter().map(Series::greatest).collect());
    let count = |all: &[Series]| all.iter().map(|series| series.lines.len()).sum::<usize>();
    if count(&every) == count(&greatest) {
        every.clear();
    }
    let (accent, title) = (text::accent(Some(area)), area_title(area));
    (!greatest.is_empty()).then(|| OfArea { accent, title, greatest, every, inputs: inputs.told() })
}

/// Series of one peak and one formula as one: a bus has the same limit whatever is copied over it.
fn alike_together(all: Vec<Series>) -> Vec<Series> {
    let mut groups: Vec<(Series, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for series in all {
        let lines = series.lines.iter().map(|line| [&line.kind, &line.value, &line.uncertainty, &line.formula]);
        let same = lines.map(|parts| parts.map(String::as_str).join("\n")).collect::<Vec<_>>().join("\n");
        if let Some(place) = places.get(&same) {
            groups[*place].1 += 1;
        } else {
            places.insert(same, groups.len());
            groups.push((series, 0));
        }
    }
    let told = |(series, others): (Series, usize)| match others {
        0 => series,
        1 => Series { what: format!("{} and one kind of row more", series.what), ..series },
        _ => Series { what: format!("{} and {others} kinds of rows more", series.what), ..series },
    };
    groups.into_iter().map(told).collect()
}

/// Where labels are alike, the ids are not.
fn tell_apart(all: &mut [Series]) {
    let mut named: HashMap<String, usize> = HashMap::new();
    for series in all.iter() {
        *named.entry(series.what.clone()).or_default() += 1;
    }
    for series in all.iter_mut().filter(|series| named.get(&series.what).is_some_and(|count| *count > 1)) {
        series.what = format!("{} ({})", series.what, series.stem);
    }
}

impl Series {
    /// The greatest of each kind, the first of equals.
    fn greatest(&self) -> Self {
        let mut lines: Vec<PeakLine> = Vec::new();
        for line in &self.lines {
            match lines.iter_mut().find(|other| other.kind == line.kind) {
                Some(other) if line.figure > other.figure => *other = line.clone(),
                Some(_) => {}
                None => lines.push(line.clone()),
            }
        }
        Self { lines, ..self.clone() }
    }
}

impl PeakLine {
    fn of(count: u32, peak: &Peak, notation: Notation) -> Self {
        let uncertainty = peak.uncertainty.filter(|part| *part > 0.0).map(|part| format!("±{}", percent(part)));
        Self {
            threads: threads(count),
            kind: peak.kind.name().replace('_', " "),
            value: quantity(peak.value, notation),
            uncertainty: uncertainty.unwrap_or_default(),
            formula: peak.formula.clone(),
            figure: peak.value,
        }
    }
}

/// The figures of all formulas, those of one name and source together, in the order of their first appearance.
#[derive(Debug, Default)]
struct Inputs {
    all: Vec<Input>,
    places: HashMap<(String, String), usize>,
}

impl Inputs {
    fn add(&mut self, input: &PeakInput) {
        let (name, value) = input_words(input);
        let place = *self.places.entry((name.clone(), input.source.clone())).or_insert_with(|| {
            let source = input.source.clone();
            self.all.push(Input { name, values: String::new(), source, figures: Vec::new() });
            self.all.len() - 1
        });
        let figures = &mut self.all[place].figures;
        if !figures.iter().any(|(_, told)| *told == value) {
            figures.push((input.value, value));
        }
    }

    fn told(mut self) -> Vec<Input> {
        for input in &mut self.all {
            input.figures.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let told: Vec<&str> = input.figures.iter().map(|(_, told)| told.as_str()).collect();
            input.values = match &told[..] {
                [first, .., last] if told.len() > LISTED => format!("{first} to {last}"),
                all => all.join(", "),
            };
        }
        self.all
    }
}
