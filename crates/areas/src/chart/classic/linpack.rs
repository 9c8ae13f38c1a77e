//! The classic tables of LINPACK: the trials of each number of threads, then all sizes with their rates, theory and HPL.

use model::document::{Document, Row, Status};
use model::linpack::{LinpackOp, LinpackParams};
use model::number::{giga, whole};
use model::sample::{MetricName, Sample};
use model::unit::Unit;

use super::table::{
    Align, ClassicPart, ClassicTable, GivesWay, Note, Spec, TableColumn, TableLine, ToolColumns, seconds, table_lines,
};
use super::values::{Line, Point, gathered, highest, lines, rows_of};
use crate::chart::grid::{ABSENT, Column};
use crate::label::threads;
use crate::linpack::label::params;

/// The scaled residual from which on a solution fails: HPL's.
const THRESHOLD: f64 = 16.0;
const KIB: f64 = 1024.0;

const READING: &str = "Time: of factors and solution, without making the matrix and checking. GFlops: (2/3 N^3 + 3/2 N^2) \
                       over the time. Residual: ||Ax - b||; (norm): over eps (||A|| ||x|| + ||b||) N; pass: less than 16.";

/// The sizes that were solved on as many threads, the smallest first.
#[derive(Clone, Debug)]
pub struct LinpackSeries<'a> {
    pub threads: u32,
    pub sizes: Vec<LinpackSize<'a>>,
}

#[derive(Clone, Debug)]
pub struct LinpackSize<'a> {
    pub row: &'a Row,
    pub params: &'a LinpackParams,
    pub trials: Vec<Trial>,
    /// Mean rate of the trials, flop/s.
    pub average: Option<f64>,
    /// Highest rate of a trial, flop/s.
    pub maximal: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Time of factors and solution.
    pub seconds: f64,
    /// Rate, flop/s.
    pub rate: f64,
    /// `||Ax - b||`.
    pub residual: Option<f64>,
    /// The same in multiples of what rounding explains.
    pub scaled: Option<f64>,
}

impl Trial {
    pub fn passes(&self) -> Option<bool> {
        self.scaled.map(|scaled| scaled < THRESHOLD)
    }
}

/// The series of a classic run, the fewest threads first.
pub fn series(document: &Document) -> Vec<LinpackSeries<'_>> {
    let solutions = rows_of(document, "linpack").into_iter().filter_map(|(row, _)| Some((row, params(row)?)));
    let mut sizes: Vec<LinpackSize<'_>> =
        solutions.filter(|(_, params)| params.op == LinpackOp::Lu).map(|(row, params)| size(row, params)).collect();
    sizes.sort_by_key(|size| (size.params.threads, size.params.n, size.params.lda));
    let series = sizes.chunk_by(|one, next| one.params.threads == next.params.threads);
    series.map(|sizes| LinpackSeries { threads: sizes[0].params.threads, sizes: sizes.to_vec() }).collect()
}

fn size<'a>(row: &'a Row, params: &'a LinpackParams) -> LinpackSize<'a> {
    let samples = |name| row.metric(name).map_or(&[][..], |metric| metric.samples.as_slice());
    // Samples of one repetition share their beginning.
    let with = |rate: &Sample, name| {
        let same = |other: &&Sample| other.launch == rate.launch && other.start.to_bits() == rate.start.to_bits();
        samples(name).iter().find(same).map(|sample| sample.value)
    };
    let trial = |rate: &Sample| Trial {
        seconds: rate.seconds,
        rate: rate.value,
        residual: with(rate, MetricName::ResidualRaw),
        scaled: with(rate, MetricName::Residual),
    };
    let rates = samples(MetricName::Throughput).iter().filter(|_| row.status == Status::Ok);
    let trials: Vec<Trial> = rates.map(trial).collect();
    let sum: f64 = trials.iter().map(|trial| trial.rate).sum();
    LinpackSize {
        row,
        params,
        average: (!trials.is_empty()).then_some(sum / trials.len() as f64),
        maximal: trials.iter().map(|trial| trial.rate).reduce(f64::max),
        trials,
    }
}

pub(super) fn parts(document: &Document) -> Vec<ClassicPart> {
    let series = series(document);
    let of_series = |series: &LinpackSeries<'_>| {
        let notes = missing(series);
        let missing = (!notes.is_empty()).then_some(ClassicPart::Notes(notes));
        std::iter::once(ClassicPart::Table(trials(series))).chain(missing)
    };
    let reading = ClassicPart::Notes(vec![READING.to_owned()]);
    let both = (!series.is_empty()).then(|| [reading, ClassicPart::Table(sizes(document, &series))]);
    series.iter().flat_map(of_series).chain(both.into_iter().flatten()).collect()
}

const SIZES: Spec = Spec {
    name: "classic-linpack-sizes",
    title: "The classic LINPACK table of sizes, in 10^9 operations a second (GFlops)",
    measured: |point| &point.rate,
    lower_is_better: false,
    format: giga,
    factor: 1.0,
    units: ["GFlops"; 2],
    base: Some(Unit::FlopPerSecond),
    headings: ["Measured", "Theoretical"],
    in_text: Some(["threads", "efficiency"]),
    interval: None,
    tools: &[ToolColumns {
        programs: &["hpl", "hpcc", "xlinpack"],
        about: "HPL: the same system on as many CPUs, alternating with ours; HPL eff.: that over the theory",
        text: ["HPL", "HPL eff."],
        grid: ["HPL measured", "HPL efficiency"],
        gives_way: GivesWay { rank: 1, words: "HPL" },
        names_program: true,
    }],
};

fn line(size: &LinpackSize<'_>, is_marked: bool) -> TableLine {
    let row = size.row;
    TableLine { id: row.id.clone(), status: row.status, confidence: row.confidence, begins_group: false, is_marked }
}

/// Size, leading dimension and alignment.
fn layout<P>(points: &[P], params: impl Fn(&P) -> &LinpackParams) -> [TableColumn; 3] {
    let count = |heading: &str, of: fn(&LinpackParams) -> u64| {
        TableColumn::counts(points, |point| of(params(point))).text(heading, Align::Right).grid(Column::number(heading))
    };
    let align = TableColumn::values(points, |point| Some(params(point).align as f64), |bytes| whole(bytes / KIB));
    [
        count("Size", |params| params.n),
        count("LDA", |params| params.lda),
        align.text("Align", Align::Right).grid(Column::number("Align").shown("KiB")),
    ]
}

fn trials(series: &LinpackSeries<'_>) -> ClassicTable {
    let points = series.sizes.iter().flat_map(|size| size.trials.iter().map(move |trial| (size, trial)));
    let points: Vec<(&LinpackSize<'_>, &Trial)> = points.collect();
    let is_first = |(size, trial): &(&LinpackSize<'_>, &Trial)| std::ptr::eq(*trial, &raw const size.trials[0]);
    let lines: Vec<TableLine> = points.iter().map(|point| line(point.0, is_first(point))).collect();
    let values = |value: fn(&Trial) -> Option<f64>, format: fn(f64) -> String| {
        TableColumn::values(&points, |(_, trial)| value(trial), format)
    };
    let set = |column: TableColumn, heading: &str, base: Unit| {
        column.text(heading, Align::Right).grid(Column::number(heading).base(base))
    };
    let check = |trial: &Trial| trial.passes().map_or(ABSENT, |passes| if passes { "pass" } else { "fail" });
    let mut columns: Vec<TableColumn> = layout(&points, |(size, _)| size.params).into();
    columns.extend([
        // In a terminal as people say it, in a grid in seconds.
        values(|trial| Some(trial.seconds), seconds).text("Time", Align::Right),
        values(|trial| Some(trial.seconds), whole).grid(Column::number("Time").shown("s").base(Unit::Second)),
        set(values(|trial| Some(trial.rate), giga), "GFlops", Unit::FlopPerSecond),
        set(values(|trial| trial.residual, scientific), "Residual", Unit::One),
        set(values(|trial| trial.scaled, scientific), "Residual(norm)", Unit::One),
        TableColumn::words(&points, |(_, trial)| check(trial).to_owned())
            .text("Check", Align::Left)
            .grid(Column::text("Check")),
        TableColumn::confidences(&lines),
    ]);
    let notes = fastest(series).into_iter().chain([READING.to_owned()]).chain(missing(series));
    let notes = notes.map(Note::of_grid).collect();
    ClassicTable { lines, columns, notes, ..titled(series) }
}

/// The sizes that were solved, each on all numbers of threads.
fn sizes(document: &Document, series: &[LinpackSeries<'_>]) -> ClassicTable {
    let solved = series.iter().flat_map(|series| &series.sizes).filter(|size| !size.trials.is_empty());
    let mut sizes: Vec<&LinpackSize<'_>> = solved.collect();
    sizes.sort_by_key(|size| (size.params.n, size.params.lda, size.params.threads));
    let series = gathered(sizes.iter().map(|size| ((size.params.n, size.params.lda), Point::of(size.row))));
    let points: Vec<Line<'_, (u64, u64)>> = lines(&series);
    let mut lines = table_lines(&points, |series| series.key);
    lines.iter_mut().for_each(|line| line.is_marked = false);
    let rate = |heading: &str, value: fn(&LinpackSize<'_>) -> Option<f64>, gives_way: GivesWay| {
        TableColumn::values(&sizes, |size| value(size), giga)
            .text(heading, Align::Decimal)
            .gives_way(gives_way)
            .grid(Column::number(heading).shown("GFlops").base(Unit::FlopPerSecond))
    };
    let [size, lda, _] = layout(&sizes, |size| size.params);
    let rates = [
        rate("Average", |size| size.average, GivesWay { rank: 2, words: "the mean" }),
        rate("Maximal", |size| size.maximal, GivesWay { rank: 3, words: "the highest rate" }),
    ];
    let best = highest(&points, |point| point.rate.efficiency);
    let best = Note::highest(best, |(series, point)| format!("N = {} with {}", series.key.0, threads(point.threads)));
    let reading = "Measured: the median of the trials; theory: operations per cycle x the measured clock.";
    let unknown = "The theory is unknown: the instructions per cycle of this processor are in no table.";
    let is_known = points.iter().any(|(_, point)| point.rate.theory.is_some());
    let reading = Note::new(if is_known { reading } else { unknown });
    let notes = best.into_iter().chain([reading]).collect();
    let extra = [rates.into(), Vec::new(), Vec::new()];
    SIZES.table((document, ""), &points, (lines, notes), [size.once(&sizes, |size| size.params.n), lda], extra)
}

/// A table of trials without lines; the unit is in its title in a terminal.
fn titled(series: &LinpackSeries<'_>) -> ClassicTable {
    let title = format!("The classic LINPACK table, {}", threads(series.threads));
    let text = format!("{title} (Align in KiB)");
    let grid = Some((format!("classic-linpack-trials-t{}", series.threads), title));
    ClassicTable { grid, title: Some(text), ..ClassicTable::default() }
}

/// The sizes without a trial, by what became of them.
fn missing(series: &LinpackSeries<'_>) -> Vec<String> {
    let of = |(status, words): (Status, &str)| {
        let without = series.sizes.iter().filter(|size| size.trials.is_empty() && size.row.status == status);
        let sizes: Vec<String> = without.map(|size| size.params.n.to_string()).collect();
        let sizes = Some(sizes.join(", ")).filter(|sizes| !sizes.is_empty())?;
        Some(format!("{words} on {}: N = {sizes}.", threads(series.threads)))
    };
    [(Status::Failed, "Failed"), (Status::Skipped, "Not measured")].into_iter().filter_map(of).collect()
}

fn fastest(series: &LinpackSeries<'_>) -> Option<String> {
    let known = series.sizes.iter().filter_map(|size| Some((size.params.n, size.maximal?)));
    let (n, rate) = known.reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    Some(format!("Fastest: {} GFlops at N = {n}.", giga(rate)))
}

fn scientific(value: f64) -> String {
    format!("{value:.3e}")
}
