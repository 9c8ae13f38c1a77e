//! The classic table of the CPU: each workload with plain and vector instructions, by threads, with HPL and the limits.

use model::document::{Document, Row, Status};
use model::experiment::Classic;
use model::isa::Element;
use model::number::{giga, power};
use model::peak::PeakKind;
use model::sample::MetricName;
use model::unit::Unit;

use super::table::{Align, ClassicPart, ClassicTable, GivesWay, Note, Spec, TableColumn, ToolColumns, table_lines};
use super::values::{Estimate, Line, Measured, Point, Series, ToolValue, common, gathered, highest, lines, rows_of};
use crate::chart::grid::Column;
use crate::cpu::label as cpu;
use crate::label::{Label, stem_of, threads};
use crate::linpack::label::solves_as_hpl;

/// The workloads in the table's order: by the width of their operands.
const WORKLOADS: [&str; 4] = ["QP", "HP", "SP", "DP"];

/// Within a workload: integers first, as the labels were made for them.
const ELEMENTS: [Element; 8] = {
    use Element::{Bf16, Fp16, Fp32, Fp64, Int8, Int16, Int32, Int64};
    [Int8, Int16, Fp16, Bf16, Int32, Fp32, Int64, Fp64]
};

const HPL: [&str; 2] = ["hpl", "hpcc"];
/// The name of our own LINPACK among the tools of a line.
pub const OWN: &str = "assay";

/// One workload of one type with one class of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuKey {
    /// `QP`, `HP`, `SP` or `DP`.
    pub workload: String,
    pub element: Element,
    /// `plain` or `vector`.
    pub class: String,
    /// The id of the kernel's benchmarks without the threads.
    stem: String,
    /// Operation and instruction set in words: `dot, AVX-512 VNNI`.
    kernel: String,
    /// What is summed into what, where that is not the type itself: `s32 ← u8 × s8`; else empty.
    sums: String,
}

impl CpuKey {
    /// `QP INT8 vector`.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.workload, cpu::precision(self.element), self.class)
    }

    fn place(&self) -> (usize, String, Option<usize>, String) {
        let workload = WORKLOADS.iter().position(|name| *name == self.workload).unwrap_or(WORKLOADS.len());
        let element = ELEMENTS.iter().position(|element| *element == self.element);
        (workload, self.workload.clone(), element, self.class.clone())
    }
}

/// The series of a classic run, in the table's order. Of several kernels it has the fastest.
pub fn series(document: &Document) -> Vec<Series<CpuKey>> {
    let rows = rows_of(document, "cpu").into_iter();
    let points = rows.filter_map(|(row, classic)| Some((key(row, classic)?, point(row, classic, document))));
    let mut all = gathered(points);
    all.sort_by_key(|series| series.key.place());
    let rate =
        |series: &Series<CpuKey>| series.points.iter().filter_map(|point| point.rate.median()).fold(0.0, f64::max);
    let mut fastest: Vec<Series<CpuKey>> = Vec::new();
    for series in all {
        match fastest.last_mut() {
            Some(known) if known.key.place() == series.key.place() => {
                if rate(&series) > rate(known) {
                    *known = series;
                }
            }
            _ => fastest.push(series),
        }
    }
    fastest
}

fn key(row: &Row, classic: &Classic) -> Option<CpuKey> {
    let element = cpu::params(row)?.element;
    Some(CpuKey {
        workload: classic.workload.clone(),
        element,
        class: classic.class.clone().unwrap_or_default(),
        stem: stem_of(row),
        kernel: Label::alone(row).how,
        sums: cpu::sums(element, row.kernel.as_ref()),
    })
}

fn point(row: &Row, classic: &Classic, document: &Document) -> Point {
    let metric = row.metric(MetricName::Throughput).filter(|_| row.status == Status::Ok);
    let point = Point::of(row);
    let rate = point.rate.median();
    let mut point = point.with_total(classic.total, rate, metric);
    let vectors = metric.and_then(|metric| metric.peaks.iter().find(|peak| peak.kind == PeakKind::PlatformMaximum));
    point.vector_theory = vectors.map(|peak| peak.value);
    let is_fp64 = cpu::params(row).is_some_and(|params| params.element == Element::Fp64);
    // HPL computes with vectors of fp64.
    let is_as_hpl = is_fp64 && classic.class.as_deref() == Some("vector");
    point.rate.tools = if is_as_hpl { linpack(document, point.threads) } else { Vec::new() };
    point
}

/// The highest rates of HPL and of our own LINPACK with as many threads.
fn linpack(document: &Document, threads: u32) -> Vec<ToolValue> {
    let rows = || document.experiments.iter().filter(|row| row.params.threads() == threads);
    let found = rows().flat_map(|row| &row.metrics).filter(|metric| metric.unit == Unit::FlopPerSecond);
    let found = found.flat_map(|metric| Measured::of(metric).tools);
    let tools = found.filter(|found| HPL.contains(&found.tool.as_str())).map(|found| found.value);
    let own = rows().filter(|row| solves_as_hpl(row) && row.status == Status::Ok);
    let own = own.filter_map(|row| row.metrics.first().filter(|metric| metric.unit == Unit::FlopPerSecond));
    let own = own.map(|metric| metric.summary.median);
    let highest = [(HPL[0], tools.reduce(f64::max)), (OWN, own.reduce(f64::max))].into_iter();
    highest
        .filter_map(|(tool, value)| Some(ToolValue { tool: tool.to_owned(), value: value?, is_own: false }))
        .collect()
}

/// The fewest threads that are as fast as any.
pub fn best_threads(series: &Series<CpuKey>) -> Option<u32> {
    fewest(series.points.iter().filter_map(|point| Some((point.threads, point.rate.estimate?))))
}

fn fewest(mut known: impl Iterator<Item = (u32, Estimate)> + Clone) -> Option<u32> {
    let (_, fastest) = known.clone().reduce(|best, other| if other.1.median > best.1.median { other } else { best })?;
    known.find(|(_, estimate)| estimate.ends()[1] >= fastest.ends()[0]).map(|(threads, _)| threads)
}

const TOTAL: GivesWay = GivesWay { rank: 0, words: "the time for the total" };
const VECTORS: GivesWay = GivesWay { rank: 3, words: "the vector peak of plain loops" };

const SPEC: Spec = Spec {
    name: "classic-cpu",
    title: "The classic CPU table, in billions of operations a second (GigaOPS: GFLOP/s, GOP/s)",
    measured: |point| &point.rate,
    lower_is_better: false,
    format: giga,
    factor: 1.0,
    units: ["GigaOPS", ""],
    base: None,
    headings: ["Measured", "Theoretical"],
    in_text: Some(["threads", "efficiency"]),
    interval: None,
    tools: &[
        ToolColumns {
            programs: &HPL,
            about: "HPL: its highest rate on as many threads, for FP64 vectors; HPL eff.: that over the theory",
            text: ["HPL", "HPL eff."],
            grid: ["HPL measured", "HPL efficiency"],
            gives_way: GivesWay { rank: 1, words: "HPL" },
            names_program: false,
        },
        ToolColumns {
            programs: &[OWN],
            about: "LINPACK: the same of Assay's own solver",
            text: ["LINPACK", "LINPACK eff."],
            grid: ["Assay LINPACK measured", "Assay LINPACK efficiency"],
            gives_way: GivesWay { rank: 2, words: "LINPACK" },
            names_program: false,
        },
    ],
};

pub(super) fn parts(document: &Document) -> Vec<ClassicPart> {
    let series = series(document);
    let points = lines(&series);
    let mut lines = table_lines(&points, |series| &series.key.workload);
    for line in &mut lines {
        line.is_marked = false;
    }
    let label = |word: fn(&CpuKey) -> String, key: fn(&CpuKey) -> String| {
        let words = TableColumn::words(&points, |(series, _)| word(&series.key));
        words.once(&points, |(series, _)| key(&series.key)).text("", Align::Left)
    };
    let labels = [
        TableColumn::words(&points, |(series, _)| series.key.name()).grid(Column::text("Workload")),
        label(|key| key.workload.clone(), |key| key.workload.clone()),
        label(|key| cpu::precision(key.element), |key| format!("{} {}", key.workload, key.element)).joined(),
        label(|key| key.class.clone(), CpuKey::name).joined(),
    ];
    let vectors = TableColumn::values(&points, |(_, point)| point.vector_theory, giga)
        .text("vectors", Align::Decimal)
        .gives_way(VECTORS)
        .grid(Column::number("Vector theoretical"));
    let total = common(points.iter().map(|(_, point)| point.total)).flatten();
    let times = total.map(|total| TableColumn::durations(&points, format!("{} in", power(total))).gives_way(TOTAL));
    let notes = notes(&series, &points, total);
    let extra = [Vec::new(), vec![vectors], times.into_iter().collect()];
    let title = "The classic CPU table, in billions of operations a second (GFLOP/s, GOP/s)".to_owned();
    let table = SPEC.table((document, ""), &points, (lines, notes), labels, extra);
    vec![ClassicPart::Table(ClassicTable { title: Some(title), ..table })]
}

fn notes(series: &[Series<CpuKey>], points: &[Line<'_, CpuKey>], total: Option<f64>) -> Vec<Note> {
    let line_words =
        |(series, point): &Line<'_, CpuKey>| format!("{} with {}", series.key.name(), threads(point.threads));
    let notes = [
        best_threads_words(series).map(Note::new),
        Note::highest(highest(points, |point| point.rate.efficiency), line_words),
        total.map(|total| Note::total(points, TOTAL, &format!("{} operations", power(total)))),
        Some(Note::new(
            "Measured: the median; std dev: of the samples; theory: operations per cycle x the measured clock; \
             vectors: theory of the best vector loop, for plain loops.",
        )),
        kernels(series).map(Note::new),
        points
            .iter()
            .all(|(_, point)| point.rate.theory.is_none())
            .then(|| Note::new("The theory is unknown: the instructions per cycle of this processor are in no table.")),
    ];
    notes.into_iter().flatten().collect()
}

/// `Best thread count (…): 2 for QP INT8 vector; 4 for all others.`
fn best_threads_words(series: &[Series<CpuKey>]) -> Option<String> {
    let best: Vec<(u32, String)> =
        series.iter().filter_map(|series| Some((best_threads(series)?, series.key.name()))).collect();
    let mut counts: Vec<u32> = best.iter().map(|(count, _)| *count).collect();
    counts.sort_unstable();
    counts.dedup();
    let of = |count: u32| best.iter().filter(move |(other, _)| *other == count).map(|(_, name)| name.as_str());
    // What most have in common comes last, in two words.
    let common = counts.iter().copied().max_by_key(|count| of(*count).count())?;
    let named = counts.iter().filter(|count| **count != common);
    let mut parts: Vec<String> =
        named.map(|count| format!("{count} for {}", of(*count).collect::<Vec<_>>().join(", "))).collect();
    let others = if parts.is_empty() { "all workloads" } else { "all others" };
    parts.push(format!("{common} for {others}"));
    Some(format!(
        "Best number of threads (fewest whose interval reaches that of the highest rate): {}.",
        parts.join("; ")
    ))
}

fn kernels(series: &[Series<CpuKey>]) -> Option<String> {
    const PLAIN: &str = "Plain: a scalar loop of one multiplication, one addition and one subtraction per step, as \
                         compilers generate it.";
    let of = |class: &'static str| series.iter().map(|series| &series.key).filter(move |key| key.class == class);
    let words = |key: &CpuKey| {
        let comma = if key.sums.is_empty() { "" } else { ", " };
        format!("{} {}{comma}{}", cpu::precision(key.element), key.kernel, key.sums)
    };
    let vector = of("vector").map(words).collect::<Vec<_>>();
    let vector = (!vector.is_empty()).then(|| format!("Vector, the fastest of each type: {}.", vector.join("; ")));
    let plain = of("plain").next().map(|_| PLAIN.to_owned());
    let shown: Vec<String> = plain.into_iter().chain(vector).collect();
    (!shown.is_empty()).then(|| shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_bring_nothing_beyond_noise_are_not_the_best() {
        let best = |points: &[(u32, f64)], noise: Option<f64>| {
            let interval = |median: f64| noise.map(|noise| [median * (1.0 - noise), median * (1.0 + noise)]);
            let estimate = |median: f64| Estimate { median, interval: interval(median), stddev: None };
            fewest(points.iter().map(|(threads, median)| (*threads, estimate(*median))))
        };
        assert_eq!(best(&[(1, 1.0), (2, 2.0), (4, 2.01)], Some(0.01)), Some(2));
        assert_eq!(best(&[(1, 1.0), (2, 2.0), (4, 2.2)], Some(0.01)), Some(4));
        assert_eq!(best(&[(1, 1.0), (2, 1.5), (4, 1.4)], None), Some(2));
        assert_eq!(best(&[], None), None);
    }
}
