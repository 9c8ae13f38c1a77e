//! The charts that several areas have, each with the area's words and results as arguments.

use std::collections::BTreeSet;

use model::document::{Document, Row, Status};
use model::experiment::{Area, memory_id_names_working_set};
use model::number::brief::times;
use model::number::quantity;
use model::unit::{Better, Unit};

use super::data::{
    Body, Chart, ChartAxis, DotKind, DotLine, DotMark, Dots, Hue, Look, Mark, Panel, Plot, Point, Reading, Series,
    Shape, Zone, is_drawable,
};
use super::measured::{Curve, Measured, best, by_key, by_threads, curves, list_names, looks, names, uncrowded, widest};
use super::observed::{Seen, answers, factors};
use crate::label::{Axis, Workload, block_words, stem_of, workload};
use crate::memory::label::{params as memory, without_block};

const MOST_LINES: usize = 10;
const MOST_PANELS: usize = 9;
const MOST_LISTED: usize = 16;
const MOST_TAILS: usize = 8;
pub(crate) const PEAK: &str = "theoretical peak";

impl Chart {
    pub(crate) fn new(area: Area, [name, title, about]: [&'static str; 3], body: Body) -> Self {
        let [title, about] = [title, about].map(str::to_owned);
        Self { name, area: Some(area), title, observation: String::new(), about, body }
    }

    /// The same with a sentence that answers its question.
    pub(crate) fn observed(self, observation: Option<String>) -> Self {
        Self { observation: observation.unwrap_or_default(), ..self }
    }
}

impl Plot {
    pub(crate) fn single(x: ChartAxis, y: ChartAxis, series: Vec<Series>) -> Self {
        Self { x, y, limit: PEAK, panels: vec![Panel { series, ..Panel::default() }] }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    pub(crate) area: Area,
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) x: ChartAxis,
    pub(crate) y: ChartAxis,
    /// What the results of a line differ in.
    pub(crate) places: Axis,
    pub(crate) limit: &'static str,
}

impl Over {
    fn chart(&self, body: Body) -> Chart {
        Chart::new(self.area, [self.name, self.title, self.about], body)
    }

    fn plot(&self, panels: Vec<Panel>) -> Body {
        Body::Plot(Plot { x: self.x, y: self.y, limit: self.limit, panels })
    }

    fn place(&self, x: f64) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u32")]
        self.places.words(x as u32)
    }

    /// A line for each curve; curves of two points are dots, since a line would claim what is between them.
    pub(crate) fn medians(&self, mut curves: Vec<Curve<'_>>) -> Option<Chart> {
        curves.truncate(MOST_LINES);
        let unit = curves.first()?.points.first()?.1.metric.unit;
        let names = names(&curves.iter().map(Curve::first).collect::<Vec<_>>(), self.places);
        let observation = self.growth(&curves, &names, unit);
        let chart = if curves.iter().all(|curve| curve.points.len() == 2) {
            self.chart(self.slopes(&curves, names))
        } else {
            let looks = looks(&curves.iter().map(|curve| curve.points[0].1).collect::<Vec<_>>());
            let series = names.into_iter().zip(&curves).zip(looks);
            let series = series.map(|((name, curve), look)| curve.series(name, look)).collect();
            let zones = crowded(&curves).into_iter().collect();
            let panel = Panel { series, zones, ..Panel::default() };
            self.chart(self.plot(vec![panel]))
        };
        Some(chart.observed(observation))
    }

    fn slopes(&self, curves: &[Curve<'_>], names: Vec<String>) -> Body {
        let mut places: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let count = places.len();
        let shares_cpus = |x: f64| {
            let mut points = curves.iter().flat_map(|curve| &curve.points);
            points.any(|(place, measured)| place.total_cmp(&x).is_eq() && measured.is_crowded())
        };
        let named = |(index, x): (usize, &f64)| {
            let look = Look::step(index, count);
            let beyond = if shares_cpus(*x) { ", more than CPUs" } else { "" };
            kind(&format!("{}{beyond}", self.place(*x)), look.shape, Some(look.hue))
        };
        let mut kinds: Vec<DotKind> = places.iter().enumerate().map(named).collect();
        kinds.push(kind(self.limit, Shape::Bar, None));
        let which = |x: f64| places.iter().position(|place| place.total_cmp(&x).is_eq()).unwrap_or(0);
        let lines = curves.iter().zip(names).map(|(curve, label)| {
            let limits = curve.points.iter().filter_map(|(_, measured)| measured.limit_dot(count));
            let marks = curve.points.iter().map(|(x, measured)| measured.dot(which(*x))).chain(limits).collect();
            let ratio = Seen::ratio("", &curve.points[0].1, &curve.points[1].1);
            let note = ratio.map_or_else(String::new, |ratio| times(ratio.value));
            DotLine { label, note, marks, samples: Vec::new() }
        });
        Body::Dots(Dots { axis: self.y, kinds, lines: lines.collect(), spanned: true })
    }

    /// `Rate with 2 threads over 1 thread: 1.11x (read) to 1.24x (copy).`, of threads with a CPU each.
    fn growth(&self, curves: &[Curve<'_>], names: &[String], unit: Unit) -> Option<String> {
        let ends = |curve: &Curve<'_>, name: &String| {
            let mut own = curve.points.iter().filter(|(_, measured)| !measured.is_crowded());
            let (first, last) = (own.next()?, own.next_back()?);
            Some(((first.0, last.0), Seen::ratio(name, &first.1, &last.1)?))
        };
        let seen: Vec<_> = curves.iter().zip(names).filter_map(|(curve, name)| ends(curve, name)).collect();
        let longest =
            seen.iter().map(|(ends, _)| *ends).max_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)))?;
        let alike = seen.into_iter().filter(|(ends, _)| *ends == longest).map(|(_, seen)| seen);
        let what = if unit == Unit::Second { "Time" } else { "Rate" };
        let [few, many] = [longest.0, longest.1].map(|x| self.place(x));
        Some(format!("{what} with {many} over {few}: {}.", factors(alike)?))
    }

    /// The medians over blocks: a panel for each workload, a line for each number of threads.
    pub(crate) fn blocks(&self, all: &[Measured<'_>]) -> Option<Chart> {
        let curves = curves(&uncrowded(all), 3, by_block);
        curves.first()?;
        let threads = |curve: &Curve<'_>| curve.first().params.threads();
        let counts: BTreeSet<u32> = curves.iter().map(threads).collect();
        let mut panels = by_key(curves, |curve| Some(workload(curve.first()).map(|own| own.key)));
        panels.truncate(MOST_PANELS);
        let firsts: Vec<&Row> = panels.iter().map(|(_, curves)| curves[0].first()).collect();
        let titles = workload_names(&firsts, self.places);
        let keys: Vec<Option<String>> = panels.iter().map(|(key, _)| key.clone()).collect();
        let observation = self.best_blocks(all, keys.into_iter().zip(titles.iter().cloned()).collect());
        let panels = panels.into_iter().zip(titles).map(|((_, mut curves), title)| {
            curves.sort_by_key(threads);
            let series = curves.iter().map(|curve| {
                let step = counts.iter().position(|count| *count == threads(curve)).unwrap_or(0);
                curve.series(self.places.words(threads(curve)), Look::step(step, counts.len()))
            });
            Panel { title, series: series.collect(), zones: Vec::new() }
        });
        Some(self.chart(self.plot(panels.collect())).observed(observation))
    }

    /// The smallest block and the fewest threads of each workload that no other drawn result beats.
    fn best_blocks(&self, all: &[Measured<'_>], workloads: Vec<(Option<String>, String)>) -> Option<String> {
        let drawn = uncrowded(all);
        let block = |own: &Measured<'_>| workload(own.row).and_then(|own| own.block);
        let found = workloads.into_iter().filter_map(|(key, title)| {
            let own = drawn.iter().filter(|own| workload(own.row).map(|own| own.key) == key);
            let mut own: Vec<Measured<'_>> = own.copied().collect();
            own.sort_by_key(|own| (block(own), own.threads()));
            let best = best(own)?;
            Some((format!("{} with {}", block_words(block(&best)?), self.places.words(best.threads())), title))
        });
        let which = if drawn.first()?.metric.better == Better::Lower { "Shortest" } else { "Fastest" };
        let most = drawn.iter().map(Measured::threads).max()?;
        // The tables have more threads too, and may have another answer with those.
        let up_to =
            if drawn.len() == all.len() { String::new() } else { format!(" with up to {}", self.places.words(most)) };
        Some(format!("{which}{up_to}: {}.", answers(found.collect())?))
    }
}

/// The stretch of an axis of threads where these share CPUs, from between the last count that does not.
fn crowded(curves: &[Curve<'_>]) -> Option<Zone> {
    let of = |crowded: bool| {
        let all = curves.iter().flat_map(|curve| &curve.points);
        all.filter(move |(_, measured)| measured.is_crowded() == crowded).map(|(x, _)| *x)
    };
    let from = (of(false).reduce(f64::max)? * of(true).reduce(f64::min)?).sqrt();
    Some(Zone { from, to: f64::INFINITY, name: "more threads than CPUs".to_owned() })
}

fn workload_names(rows: &[&Row], places: Axis) -> Vec<String> {
    let bare: Vec<Row> = rows.iter().map(|row| without_block(row)).collect();
    let named = rows.iter().zip(names(&bare.iter().collect::<Vec<_>>(), places));
    let without = named.map(|(row, name)| match workload(row).and_then(|own| own.block) {
        Some(block) => name.replace(&format!(" {}", block_words(block)), ""),
        None => name,
    });
    without.collect()
}

pub(crate) fn is_of_curve(row: &Row) -> bool {
    memory(row).is_some_and(|params| memory_id_names_working_set(&row.id, params))
}

fn by_block(row: &Row) -> Option<(String, f64)> {
    let Workload { key, block } = workload(row)?;
    Some((format!("{key} {}", row.params.threads()), block.filter(|block| *block > 0)? as f64))
}

pub(crate) fn over_threads<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    curves(all, 2, by_threads)
}

/// Curves over threads: of each workload only the block with the highest value.
pub(crate) fn at_best_block<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    let best = |curve: &Curve<'_>| curve.points.iter().map(|(_, own)| own.value()).fold(f64::MIN, f64::max);
    at_one_block(all, |one, other| best(one) > best(other))
}

/// Curves over threads: of each workload only the smallest block.
pub(crate) fn at_smallest_block<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    let block = |curve: &Curve<'_>| workload(curve.first()).and_then(|own| own.block);
    at_one_block(all, |one, other| block(one) < block(other))
}

fn at_one_block<'a>(all: &[Measured<'a>], is_better: impl Fn(&Curve<'a>, &Curve<'a>) -> bool) -> Vec<Curve<'a>> {
    let key = |curve: &Curve<'_>| Some(workload(curve.first()).map_or_else(|| stem_of(curve.first()), |own| own.key));
    let chosen = by_key(over_threads(all), key).into_iter().filter_map(|(_, curves)| {
        curves.into_iter().reduce(|kept, other| if is_better(&other, &kept) { other } else { kept })
    });
    chosen.collect()
}

pub(crate) fn kind(name: &str, shape: Shape, hue: Option<Hue>) -> DotKind {
    DotKind { name: name.to_owned(), shape, hue }
}

pub(crate) fn kinds(names: &[&str]) -> Vec<DotKind> {
    let looks = (0..).map(|index| Look::nth(index, None));
    names.iter().zip(looks).map(|(name, look)| kind(name, look.shape, Some(look.hue))).collect()
}

pub(crate) fn side_by_side(
    axis: ChartAxis,
    kinds: Vec<DotKind>,
    groups: &[Vec<(usize, Measured<'_>)>],
    labels: Vec<String>,
) -> Body {
    let lines = groups.iter().zip(labels).map(|(group, label)| {
        let marks = group.iter().map(|(kind, measured)| measured.dot(*kind)).collect();
        DotLine { label, marks, ..DotLine::default() }
    });
    Body::Dots(Dots { axis, kinds, lines: lines.collect(), spanned: true })
}

/// The ratios of the second kind of each group to the first, in words.
pub(crate) fn ratios(
    groups: &[Vec<(usize, Measured<'_>)>],
    labels: &[String],
    [first, second]: [usize; 2],
) -> Option<String> {
    let seen = groups.iter().zip(labels).filter_map(|(group, label)| {
        let of = |kind: usize| group.iter().find(|(own, _)| *own == kind).map(|(_, own)| own);
        Seen::ratio(label, of(first)?, of(second)?)
    });
    factors(seen)
}

/// How each result compares with the reference tools that measured the same, rates and times apart.
pub(crate) fn tools(document: &Document, area: Area, names: [&'static str; 2]) -> Vec<Chart> {
    let of = |better: Better| {
        let rows = document.experiments.iter().filter(|row| row.area == area && row.status == Status::Ok);
        let compared = |own: &Measured<'_>| own.metric.references.iter().any(|tool| own.ratio_mark(tool).is_some());
        let first = rows.filter_map(|row| {
            let mut all = row.metrics.iter().filter(|metric| metric.better == better);
            all.find_map(|metric| Some(Measured { row, metric }).filter(compared))
        });
        widest(&first.collect::<Vec<_>>())
    };
    let [rates, times] = [of(Better::Higher), of(Better::Lower)];
    let chart = |name, what: [&'static str; 2], all| tools_chart(area, [name, what[0], what[1]], all);
    let rates = chart(names[0], ["How do the rates compare with reference tools?", ABOUT_RATES], rates);
    let times = chart(names[1], ["How do the times compare with reference tools?", ABOUT_TIMES], times);
    rates.into_iter().chain(times).collect()
}

const ABOUT_RATES: &str = "Assay's rate relative to that of each reference tool, measured alternately, with the 95 % interval \
                           of the ratio: to the right, Assay's is higher.";
const ABOUT_TIMES: &str = "Assay's time relative to that of each reference tool, measured alternately, with the 95 % interval \
                           of the ratio: to the right, Assay's is longer.";

fn tools_chart(area: Area, words: [&'static str; 3], mut shown: Vec<Measured<'_>>) -> Option<Chart> {
    shown.truncate(MOST_LISTED);
    let ids = shown.iter().flat_map(|own| own.metric.references.iter().map(|reference| reference.tool.as_str()));
    let ids: Vec<&str> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let mut seen: Vec<Vec<Seen>> = vec![Vec::new(); ids.len()];
    let mut lines = Vec::new();
    for (own, label) in shown.iter().zip(list_names(&shown)) {
        let mut marks = Vec::new();
        for reference in &own.metric.references {
            let (Some(mark), Some(kind)) = (own.ratio_mark(reference), ids.iter().position(|id| *id == reference.tool))
            else {
                continue;
            };
            seen[kind].push(Seen { value: mark.value, name: label.clone(), is_doubtful: own.is_doubtful() });
            marks.push(DotMark { kind, at: mark.value, interval: mark.interval, mark });
        }
        let note = if let [only] = &marks[..] { times(only.mark.value) } else { String::new() };
        lines.push(DotLine { label, note, marks, samples: Vec::new() });
    }
    lines.first()?;
    let found = ids.iter().zip(seen).filter_map(|(tool, seen)| Some(format!("{tool} {}", factors(seen)?)));
    let found: Vec<String> = found.collect();
    let observation = (!found.is_empty()).then(|| format!("Assay over the tool: {}.", found.join("; ")));
    let looks = (0..ids.len()).map(|index| Look::nth(index, None));
    let kinds = ids.iter().zip(looks).map(|(tool, look)| kind(tool, look.shape, Some(look.hue))).collect();
    let axis = ChartAxis::new("Assay over the tool", Reading::Ratio);
    let body = Body::Dots(Dots { axis, kinds, lines, spanned: false });
    Some(Chart::new(area, words, body).observed(observation))
}

const PERCENTILES: [&str; 6] = ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "slowest"];

pub(crate) fn percentiles(area: Area, name: &'static str, title: &'static str, all: &[Measured<'_>]) -> Chart {
    let has = |measured: &&Measured<'_>| measured.metric.summary.percentiles.is_some();
    let shown: Vec<Measured<'_>> = all.iter().filter(has).take(MOST_TAILS).copied().collect();
    let tails = shown.iter().zip(list_names(&shown)).filter_map(|(measured, name)| {
        let of = measured.metric.summary.percentiles?;
        let value = Some(of.p99 / of.p50).filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
        Some(Seen { value, name, is_doubtful: measured.is_doubtful() })
    });
    let observation = factors(tails).map(|tails| format!("The 99th percentile is {tails} the median."));
    let series = shown.iter().zip(list_names(&shown)).zip(looks(&shown)).filter_map(|((measured, name), look)| {
        let of = measured.metric.summary.percentiles?;
        let values = [of.p50, of.p90, of.p99, of.p99_9, of.p99_99, of.max];
        let points = values.into_iter().zip(PERCENTILES).enumerate().filter(|(_, (value, _))| is_drawable(*value));
        let point = |(index, (value, share)): (usize, (f64, &str))| {
            let latency = quantity(value, Unit::Second);
            let which = if share == "slowest" { "the slowest".to_owned() } else { format!("{share} at most") };
            let mark = measured.other_mark(value, 0, &format!(": {which} {latency}, {} operations", of.count));
            let mark = Mark { confidence: measured.row.confidence, ..mark };
            Point { x: index as f64, y: value, limit: None, mark }
        };
        Some(Series::line(name, look, points.map(point).collect()))
    });
    let x = ChartAxis::new("Share of the operations that were at least as fast", Reading::Steps(&PERCENTILES));
    let body = Body::Plot(Plot::single(x, ChartAxis::log("Latency", Unit::Second), series.collect()));
    let about =
        "Latency percentiles over all operations of all samples, a line for each result, on a logarithmic axis.";
    Chart::new(area, [name, title, about], body).observed(observation)
}
