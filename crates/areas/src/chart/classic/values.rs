//! The values in the classic tables of all areas, and which of them are best.

use model::document::{Document, Row, Status};
use model::experiment::Classic;
use model::number::deviation;
use model::peak::Peak;
use model::sample::{Metric, MetricName};
use model::unit::Better;
use model::warning::Confidence;
use verdict::grouping::by_key;

pub(super) use crate::label::same as common;

/// Largest relative difference between a sample's work and the total: threads do whole iterations of 10^7 operations.
const WHOLE: f64 = 1e-4;
pub(super) const SUITE: &str = "classic";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub median: f64,
    pub interval: Option<[f64; 2]>,
    pub stddev: Option<f64>,
}

impl Estimate {
    pub(crate) fn of(metric: &Metric) -> Self {
        let summary = &metric.summary;
        Self { median: summary.median, interval: summary.ci95, stddev: deviation(summary) }
    }

    fn scaled(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            interval: self.interval.map(|ends| ends.map(|end| end * factor)),
            stddev: self.stddev.map(|stddev| stddev * factor),
        }
    }

    /// The ends of its interval; the median twice without one.
    pub(super) fn ends(self) -> [f64; 2] {
        self.interval.unwrap_or([self.median; 2])
    }

    /// Half of the interval over the median.
    pub fn half_interval(self) -> Option<f64> {
        let [low, high] = self.interval?;
        (self.median != 0.0).then(|| (high - low).abs() / 2.0 / self.median.abs())
    }

    pub(crate) fn exceeds(self, other: Self) -> bool {
        self.ends()[0] > other.median.max(other.ends()[1])
    }

    pub(crate) fn undercuts(self, other: Self) -> bool {
        self.ends()[1] < other.median.min(other.ends()[0])
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub estimate: Option<Estimate>,
    pub theory: Option<f64>,
    /// Share of the limit that was reached, as the document has it.
    pub efficiency: Option<f64>,
    /// Whether it exceeds its limit, and therefore has no efficiency.
    pub is_above: bool,
    pub tools: Vec<ToolValue>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolValue {
    pub tool: String,
    /// The value in the unit of the metric.
    pub value: f64,
    /// Whether it ran with this benchmark; else with a similar one.
    pub is_own: bool,
}

impl Measured {
    pub(crate) fn of(metric: &Metric) -> Self {
        let found = metric.references.iter().filter(|found| found.status == Status::Ok);
        let tool =
            found.filter_map(|found| Some(ToolValue { tool: found.tool.clone(), value: found.median?, is_own: true }));
        let theory = tightest(metric).map(|peak| peak.value);
        let undisturbed = metric.summary.undisturbed.as_ref().map(|found| found.value);
        let value = undisturbed.map_or(metric.summary.median, |value| value.max(metric.summary.median));
        let rises = metric.better == Better::Higher && metric.efficiency.is_none();
        Self {
            estimate: Some(Estimate::of(metric)),
            theory,
            is_above: rises && theory.is_some_and(|theory| value > theory),
            efficiency: metric.efficiency.map(|efficiency| efficiency.value),
            tools: tool.collect(),
        }
    }

    /// The value of the first of these tools that has one.
    pub fn tool(&self, names: &[&str]) -> Option<&ToolValue> {
        names.iter().find_map(|name| self.tools.iter().find(|found| found.tool == *name))
    }

    pub fn median(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.median)
    }

    /// What is unknown here taken from `other`, whose unit is `factor` of this one's.
    pub(super) fn or(&self, other: &Self, factor: f64) -> Self {
        let tools = other.tools.iter().map(|found| ToolValue { value: found.value * factor, ..found.clone() });
        Self {
            estimate: self.estimate.or_else(|| other.estimate.map(|estimate| estimate.scaled(factor))),
            theory: self.theory.or_else(|| other.theory.map(|theory| theory * factor)),
            efficiency: self.efficiency.or(other.efficiency),
            is_above: self.is_above || other.is_above,
            tools: self.tools.iter().cloned().chain(tools).collect(),
        }
    }
}

/// One line of a table: a benchmark. Rates are per second, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub id: String,
    /// Threads or connections.
    pub threads: u32,
    pub status: Status,
    pub confidence: Option<Confidence>,
    /// Operations or bytes per second.
    pub rate: Measured,
    pub iops: Measured,
    /// Time of a request, access, block, round trip or transfer.
    pub latency: Measured,
    pub p99: Option<f64>,
    pub loss: Option<f64>,
    /// Bytes per second with the flush after each sample of writes counted in.
    pub flushed: Option<f64>,
    /// Highest rate of vector instructions, for a benchmark of scalar ones.
    pub vector_theory: Option<f64>,
    /// The workload's total: operations, bytes, requests, accesses or round trips.
    pub total: Option<f64>,
    pub total_seconds: Option<f64>,
    /// Whether each sample did the whole total.
    pub in_full: bool,
}

impl Point {
    /// The values of a benchmark; none where it was not measured.
    pub(super) fn of(row: &Row) -> Self {
        let metric = |name| row.metric(name).filter(|_| row.status == Status::Ok);
        let measured = |name| metric(name).map_or_else(Measured::default, Measured::of);
        let flushed = row.conditions.disk.as_ref().and_then(|disk| disk.flushed_bytes_per_second);
        let percentiles = metric(MetricName::Latency).and_then(|metric| metric.summary.percentiles);
        Self {
            id: row.id.clone(),
            threads: row.params.threads(),
            status: row.status,
            confidence: row.confidence,
            rate: measured(MetricName::Throughput),
            iops: measured(MetricName::Iops),
            latency: measured(MetricName::Latency),
            p99: percentiles.map(|percentiles| percentiles.p99),
            loss: measured(MetricName::Loss).median(),
            flushed: flushed.filter(|_| row.status == Status::Ok),
            vector_theory: None,
            total: None,
            total_seconds: None,
            in_full: false,
        }
    }

    /// The same with the time for a total at `speed` a second; `metric` has the samples that may have done all of it.
    pub(super) fn with_total(self, total: Option<f64>, speed: Option<f64>, metric: Option<&Metric>) -> Self {
        let seconds = total.zip(speed).map(|(total, speed)| total / speed).filter(|seconds| seconds.is_finite());
        let did = |(total, metric): (f64, &Metric)| {
            let whole = |work: f64| (work / total - 1.0).abs() < WHOLE;
            !metric.samples.is_empty() && metric.samples.iter().all(|sample| sample.work.is_some_and(whole))
        };
        Self { total, total_seconds: seconds, in_full: total.zip(metric).is_some_and(did), ..self }
    }
}

/// Benchmarks that differ in their threads alone, the fewest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<K> {
    pub key: K,
    pub points: Vec<Point>,
}

pub type Line<'a, K> = (&'a Series<K>, &'a Point);

/// The benchmarks of a classic run in the table of this name; none of other runs.
pub(super) fn rows_of<'a>(document: &'a Document, table: &str) -> Vec<(&'a Row, &'a Classic)> {
    let rows = document.experiments.iter().filter(|_| document.run.suite == SUITE);
    rows.filter_map(|row| Some((row, row.classic.as_ref().filter(|classic| classic.table == table)?))).collect()
}

pub(super) fn gathered<K: Clone + PartialEq>(points: impl Iterator<Item = (K, Point)>) -> Vec<Series<K>> {
    let series = by_key(points, |(key, _)| Some(key.clone())).into_iter().map(|(key, group)| {
        let mut points: Vec<Point> = group.into_iter().map(|(_, point)| point).collect();
        points.sort_by_key(|point| point.threads);
        Series { key, points }
    });
    series.collect()
}

pub fn lines<'a, K: 'a>(series: impl IntoIterator<Item = &'a Series<K>>) -> Vec<Line<'a, K>> {
    series.into_iter().flat_map(|series| series.points.iter().map(move |point| (series, point))).collect()
}

/// The limit that the efficiency is of; without one, the tightest that could carry it.
pub fn tightest(metric: &Metric) -> Option<&Peak> {
    if let Some(efficiency) = metric.efficiency {
        return metric.peaks.iter().find(|peak| peak.kind == efficiency.of);
    }
    let carrying = metric.peaks.iter().filter(|peak| peak.kind.carries_efficiency());
    carrying.min_by(|one, other| one.value.total_cmp(&other.value))
}

/// The line with the highest share; the first of equals.
pub fn highest<'a, K>(lines: &[Line<'a, K>], share: fn(&Point) -> Option<f64>) -> Option<(f64, Line<'a, K>)> {
    let known = lines.iter().filter_map(|line| Some((share(line.1)?, *line)));
    known.reduce(|best, other| if other.0 > best.0 { other } else { best })
}

/// The best line of each group. Fewer threads and smaller blocks come first, and only what beats them is better.
pub(super) fn best<'a, K, G: PartialEq>(
    lines: &[Line<'a, K>],
    group: impl Fn(&'a K) -> G,
    estimate: fn(&Point) -> Option<Estimate>,
    beats: fn(Estimate, Estimate) -> bool,
) -> Vec<Line<'a, K>> {
    let mut found: Vec<Line<'a, K>> = Vec::new();
    for line in lines.iter().filter(|line| estimate(line.1).is_some()) {
        match found.iter_mut().find(|other| group(&other.0.key) == group(&line.0.key)) {
            Some(known) if estimate(line.1).zip(estimate(known.1)).is_some_and(|(new, old)| beats(new, old)) => {
                *known = *line;
            }
            Some(_) => {}
            None => found.push(*line),
        }
    }
    found
}
