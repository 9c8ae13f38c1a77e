//! The classic suite's table of the CPU: each workload with plain and vector instructions, by threads, beside HPL and
//! what is possible.

use std::collections::BTreeSet;

use model::document::{Document, Row, Status};
use model::experiment::Classic;
use model::isa::Element;
use model::peak::{Peak, PeakKind};
use model::sample::Metric;
use model::unit::Unit;
use model::warning::Grade;

use super::figures::{Theory, did, highest};
use areas::cpu::label as cpu;
use areas::label::{Label, stem_of};
use areas::linpack::label::solves_as_hpl;
use model::number::deviation;

/// The name of this table in a row's [`Classic`].
const TABLE: &str = "cpu";

/// The workloads in the table's order: by the width of their operands.
const WORKLOADS: [&str; 4] = ["QP", "HP", "SP", "DP"];

/// Within a workload: integers first, as the labels were made for them.
const ELEMENTS: [Element; 8] = [
    Element::Int8,
    Element::Int16,
    Element::Fp16,
    Element::Bf16,
    Element::Int32,
    Element::Fp32,
    Element::Int64,
    Element::Fp64,
];

/// The tools that are HPL, or have it in them.
const HPL: [&str; 2] = ["hpl", "hpcc"];

/// The whole table.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTable {
    /// One for each workload, type and class, in the table's order.
    pub series: Vec<Series>,
    /// Operations that the table's experiment comes to over all threads, where all rows state the same.
    pub total: Option<f64>,
}

/// One workload of one type with one class of instructions, over the threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `QP`, `HP`, `SP` or `DP`.
    pub workload: String,
    /// The type of the operands.
    pub element: Element,
    /// `plain` or `vector`.
    pub class: String,
    /// Operation and instruction set in words: `dot, AVX-512 VNNI`.
    pub kernel: String,
    /// What is summed into what, where that is not the type itself: `s32 ← u8 × s8`; else empty.
    pub sums: String,
    /// By threads, the fewest first.
    pub points: Vec<Point>,
}

/// One line of the table. Rates are in `op/s` or `flop/s`; what is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Id of the row.
    pub id: String,
    /// Threads.
    pub threads: u32,
    /// What became of it.
    pub status: Status,
    /// How far it can be trusted.
    pub grade: Option<Grade>,
    /// The unit of the rates; `None` where nothing was measured.
    pub unit: Option<Unit>,
    /// The median rate.
    pub measured: Option<f64>,
    /// The 95 % interval of the median.
    pub interval: Option<[f64; 2]>,
    /// The samples' standard deviation.
    pub stddev: Option<f64>,
    /// What is possible with this class of instructions.
    pub theory: Option<Theory>,
    /// What vector instructions could do at most, beside plain ones.
    pub vector_theory: Option<f64>,
    /// Measured over theory, as the document has it.
    pub efficiency: Option<f64>,
    /// What HPL did with as many threads; beside fp64 with vectors only, which is what it computes with.
    pub hpl: Option<Hpl>,
    /// Seconds for the table's total at this rate.
    pub total_seconds: Option<f64>,
    /// Whether each of its samples was the whole total.
    pub in_full: bool,
}

/// A rate of solving dense equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hpl {
    /// The rate, `flop/s`.
    pub value: f64,
    /// The same over the theory of the line.
    pub efficiency: Option<f64>,
    /// Who measured it.
    pub source: HplSource,
}

/// Who measured a rate of solving dense equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HplSource {
    /// HPL itself, run beside ours.
    Tool,
    /// Our own LINPACK, counted alike.
    Own,
}

impl CpuTable {
    /// The table of these rows; `None` where none belongs to it.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let rows = document.experiments.iter().filter_map(|row| Some((row, row.classic.as_ref()?)));
        let rows: Vec<(&Row, &Classic)> = rows.filter(|(_, classic)| classic.table == TABLE).collect();
        let first_total = rows.first()?.1.total;
        let total = first_total.filter(|_| rows.iter().all(|(_, classic)| classic.total == first_total));
        let keys: BTreeSet<_> = rows.iter().filter_map(|(row, classic)| key(row, classic)).collect();
        let series = keys.into_iter().filter_map(|wanted| {
            let own = rows.iter().filter(|(row, classic)| key(row, classic) == Some(wanted));
            series(&own.copied().collect::<Vec<_>>(), document)
        });
        Some(Self { series: series.collect(), total })
    }

    /// Every line, in reading order.
    pub fn lines(&self) -> impl Iterator<Item = (&Series, &Point)> {
        self.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)))
    }

    /// The line with the highest efficiency.
    pub fn highest_efficiency(&self) -> Option<(f64, (&Series, &Point))> {
        highest(self.lines(), |(_, point)| point.efficiency)
    }

    /// Whether any line stands beside HPL.
    pub fn has_hpl(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.hpl.is_some())
    }
}

impl Series {
    /// The fewest threads that are as fast as any: whose interval reaches that of the highest median.
    pub fn best_threads(&self) -> Option<u32> {
        let bounds = |point: &Point| {
            let median = point.measured?;
            Some((median, point.interval.unwrap_or([median; 2])))
        };
        let known = || self.points.iter().filter_map(|point| Some((point.threads, bounds(point)?)));
        let (_, (_, [least, _])) = known().reduce(|best, other| if other.1.0 > best.1.0 { other } else { best })?;
        known().find(|(_, (_, [_, most]))| *most >= least).map(|(threads, _)| threads)
    }

    /// `QP INT8 vector`.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.workload, cpu::precision(self.element), self.class)
    }
}

/// A series' place in the table, and what tells it from others.
type Key<'a> = (usize, &'a str, usize, &'a str);

fn key<'a>(row: &Row, classic: &'a Classic) -> Option<Key<'a>> {
    let element = cpu::params(row)?.element;
    let workload = WORKLOADS.iter().position(|name| *name == classic.workload).unwrap_or(WORKLOADS.len());
    let element = ELEMENTS.iter().position(|other| *other == element)?;
    Some((workload, &classic.workload, element, classic.class.as_deref().unwrap_or_default()))
}

/// The series of rows of one key: where they are of several kernels, those of the fastest.
fn series(rows: &[(&Row, &Classic)], document: &Document) -> Option<Series> {
    let rate = |row: &Row| measured(row).map_or(0.0, |metric| metric.summary.median);
    let fastest = rows.iter().reduce(|best, other| if rate(other.0) > rate(best.0) { other } else { best })?;
    let (row, classic) = *fastest;
    let kernel = stem_of(row);
    let mut points: Vec<Point> = rows
        .iter()
        .filter(|(row, _)| stem_of(row) == kernel)
        .map(|(row, classic)| point(row, classic, document))
        .collect();
    points.sort_by_key(|point| point.threads);
    let element = cpu::params(row)?.element;
    Some(Series {
        workload: classic.workload.clone(),
        element,
        class: classic.class.clone().unwrap_or_default(),
        kernel: Label::alone(row).how,
        sums: cpu::sums(element, row.kernel.as_ref()),
        points,
    })
}

fn measured(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|_| row.status == Status::Ok)
}

fn point(row: &Row, classic: &Classic, document: &Document) -> Point {
    let metric = measured(row);
    let threads = row.params.threads();
    let theory = metric.and_then(Theory::of);
    let rate = metric.map(|metric| metric.summary.median);
    let fp64 = cpu::params(row).is_some_and(|params| params.element == Element::Fp64);
    let beside_hpl = fp64 && classic.class.as_deref() == Some("vector");
    Point {
        id: row.id.clone(),
        threads,
        status: row.status,
        grade: row.grade,
        unit: metric.map(|metric| metric.unit),
        measured: rate,
        interval: metric.and_then(|metric| metric.summary.ci95),
        stddev: metric.and_then(|metric| deviation(&metric.summary)),
        theory,
        vector_theory: metric.and_then(|metric| peak(metric, PeakKind::PlatformMaximum)).map(|peak| peak.value),
        efficiency: metric.and_then(|metric| metric.efficiency).map(|efficiency| efficiency.value),
        hpl: beside_hpl.then(|| hpl(document, threads, theory)).flatten(),
        total_seconds: classic.total.zip(rate).filter(|(_, rate)| *rate > 0.0).map(|(total, rate)| total / rate),
        in_full: classic.total.zip(metric).is_some_and(|(total, metric)| did(total, metric)),
    }
}

fn peak(metric: &Metric, kind: PeakKind) -> Option<&Peak> {
    metric.peaks.iter().find(|peak| peak.kind == kind)
}

/// The fastest that HPL was with as many threads; without it, the fastest that our own LINPACK was.
fn hpl(document: &Document, threads: u32, theory: Option<Theory>) -> Option<Hpl> {
    let rows = || document.experiments.iter().filter(|row| row.params.threads() == threads);
    let metrics = || rows().flat_map(|row| &row.metrics).filter(|metric| metric.unit == Unit::FlopPerSecond);
    let references = metrics().flat_map(|metric| &metric.references);
    let tool = references.filter(|reference| HPL.contains(&reference.tool.as_str()) && reference.status == Status::Ok);
    let tool = tool.filter_map(|reference| reference.median).reduce(f64::max);
    let own = rows().filter(|row| solves_as_hpl(row)).filter_map(measured);
    let own = own.filter(|metric| metric.unit == Unit::FlopPerSecond).map(|metric| metric.summary.median);
    let found = tool.map(|value| (value, HplSource::Tool));
    let (value, source) = found.or_else(|| own.reduce(f64::max).map(|value| (value, HplSource::Own)))?;
    Some(Hpl { value, efficiency: theory.map(|theory| value / theory.value), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(points: &[(u32, f64, Option<[f64; 2]>)]) -> Series {
        let point = |(threads, measured, interval): &(u32, f64, Option<[f64; 2]>)| Point {
            id: String::new(),
            threads: *threads,
            status: Status::Ok,
            grade: None,
            unit: Some(Unit::OpPerSecond),
            measured: Some(*measured),
            interval: *interval,
            stddev: None,
            theory: None,
            vector_theory: None,
            efficiency: None,
            hpl: None,
            total_seconds: None,
            in_full: false,
        };
        Series {
            workload: "QP".into(),
            element: Element::Int8,
            class: "plain".into(),
            kernel: String::new(),
            sums: String::new(),
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn threads_that_bring_nothing_beyond_noise_are_not_the_best() {
        let around = |median: f64| Some([median * 0.99, median * 1.01]);
        let oversubscribed = series_of(&[(1, 1.0, around(1.0)), (2, 2.0, around(2.0)), (4, 2.01, around(2.01))]);
        assert_eq!(oversubscribed.best_threads(), Some(2));
        let growing = series_of(&[(1, 1.0, around(1.0)), (2, 2.0, around(2.0)), (4, 2.2, around(2.2))]);
        assert_eq!(growing.best_threads(), Some(4));
        assert_eq!(series_of(&[(1, 1.0, None), (2, 1.5, None), (4, 1.4, None)]).best_threads(), Some(2));
        assert_eq!(series_of(&[]).best_threads(), None);
    }
}
