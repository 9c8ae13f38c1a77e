//! The classic tables of LINPACK: for each number of threads the trials, then the sizes.

use model::document::Status;
use model::number::{giga, whole};
use model::unit::Unit;

use super::cpu_table::seconds;
use super::linpack::{LinpackSeries, LinpackSize, LinpackTable, Trial};
use super::table::{ClassicPart, ClassicTable, Note, TableColumn, TableLine};
use crate::grid::value::{ABSENT, Column};
use crate::layout::Align;
use areas::label::threads;

/// Bytes of the unit of alignments.
const KIB: f64 = 1024.0;

const READING: &str = "Time: of factors and solution, without making the matrix and checking. GFlops: (2/3 N^3 + 3/2 N^2) \
                       over the time. Residual: ||Ax - b||; (norm): over eps (||A|| ||x|| + ||b||) N; pass: less than 16.";

/// The tables with what must be known to read them.
pub(super) fn parts(table: &LinpackTable) -> Vec<ClassicPart> {
    let of_series = |series: &LinpackSeries| {
        let notes = missing(series);
        let missing = (!notes.is_empty()).then_some(ClassicPart::Notes(notes));
        [ClassicPart::Table(trials(series)), ClassicPart::Table(sizes(series))].into_iter().chain(missing)
    };
    let mut parts: Vec<ClassicPart> = table.series.iter().flat_map(of_series).collect();
    parts.push(ClassicPart::Notes(vec![READING.to_owned()]));
    parts
}

fn line(size: &LinpackSize, is_marked: bool) -> TableLine {
    TableLine { id: size.id.clone(), status: size.status, grade: size.grade, begins_group: false, is_marked }
}

/// Size, leading dimension and alignment; the last two of them `everywhere`, or in a terminal alone.
fn layout<P>(points: &[P], size: impl Fn(&P) -> &LinpackSize, everywhere: bool) -> [TableColumn; 3] {
    let count = |heading: &str, of: fn(&LinpackSize) -> u64| {
        TableColumn::counts(points, |point| of(size(point))).text(heading, Align::Right)
    };
    let [lda, align] = [count("LDA", |size| size.lda), count("Align", |size| size.align >> 10)];
    let align = if everywhere {
        TableColumn::figures(points, |point| Some(size(point).align as f64), |bytes| whole(bytes / KIB))
            .text("Align", Align::Right)
            .grid(Column::number("Align").shown("KiB"))
            .kept()
    } else {
        align
    };
    let lda = if everywhere { lda.grid(Column::number("LDA")).kept() } else { lda };
    [count("Size", |size| size.n).grid(Column::number("Size")).kept(), lda, align]
}

/// A line for each trial.
fn trials(series: &LinpackSeries) -> ClassicTable {
    let points: Vec<(&LinpackSize, usize, &Trial)> = series
        .solved()
        .flat_map(|size| size.trials.iter().enumerate().map(move |(index, trial)| (size, index, trial)))
        .collect();
    let lines: Vec<TableLine> = points.iter().map(|(size, index, _)| line(size, *index == 0)).collect();
    let figure = |value: fn(&Trial) -> Option<f64>, format: fn(f64) -> String| {
        TableColumn::figures(&points, |(_, _, trial)| value(trial), format)
    };
    let mut columns: Vec<TableColumn> = layout(&points, |(size, ..)| size, true).into();
    columns.extend([
        // In a terminal as people say it, in a grid in seconds.
        figure(|trial| Some(trial.seconds), seconds).text("Time", Align::Right),
        figure(|trial| Some(trial.seconds), whole).grid(Column::number("Time").shown("s").base(Unit::Second)).kept(),
        figure(|trial| Some(trial.rate), giga)
            .text("GFlops", Align::Right)
            .grid(Column::number("GFlops").base(Unit::FlopPerSecond))
            .kept(),
        figure(|trial| trial.residual, scientific)
            .text("Residual", Align::Right)
            .grid(Column::number("Residual").base(Unit::One))
            .kept(),
        figure(|trial| trial.scaled, scientific)
            .text("Residual(norm)", Align::Right)
            .grid(Column::number("Residual(norm)").base(Unit::One))
            .kept(),
        TableColumn::words(&points, |(_, _, trial)| trial.passes.map_or(ABSENT, check).to_owned())
            .text("Check", Align::Left)
            .grid(Column::text("Check"))
            .kept(),
        TableColumn::grades(&lines).kept(),
    ]);
    let missing = missing(series).into_iter().map(Note::of_grid);
    let notes = fastest(series).into_iter().chain([READING.to_owned()]).map(Note::of_grid).chain(missing).collect();
    table("trials", "The classic LINPACK table", "(Align in KiB)", series, (lines, columns, notes))
}

fn table(
    name: &str,
    title: &str,
    unit: &str,
    series: &LinpackSeries,
    (lines, columns, notes): (Vec<TableLine>, Vec<TableColumn>, Vec<Note>),
) -> ClassicTable {
    let title = format!("{title}, {}", threads(series.threads));
    let text = format!("{title} {unit}");
    let grid = Some((format!("classic-linpack-{name}-t{}", series.threads), title));
    ClassicTable { grid, title: Some(text), lines, columns, notes }
}

const fn check(passes: bool) -> &'static str {
    if passes { "pass" } else { "fail" }
}

/// A line for each size that has a trial.
fn sizes(series: &LinpackSeries) -> ClassicTable {
    let sizes: Vec<&LinpackSize> = series.solved().collect();
    let mut columns: Vec<TableColumn> = layout(&sizes, |size| size, false).into();
    let rate = |heading: &str, value: fn(&LinpackSize) -> Option<f64>| {
        TableColumn::figures(&sizes, |size| value(size), giga)
            .text(heading, Align::Right)
            .grid(Column::number(heading).shown("GFlops").base(Unit::FlopPerSecond))
            .kept()
    };
    columns.extend([rate("Average", |size| size.average), rate("Maximal", |size| size.maximal)]);
    let lines = sizes.iter().map(|size| line(size, false)).collect();
    table("sizes", "LINPACK performance", "(GFlops)", series, (lines, columns, Vec::new()))
}

/// The sizes without a trial, by what became of them.
fn missing(series: &LinpackSeries) -> Vec<String> {
    let of = |(status, words): (Status, &str)| {
        let without = series.sizes.iter().filter(|size| size.trials.is_empty() && size.status == status);
        let sizes: Vec<String> = without.map(|size| size.n.to_string()).collect();
        let sizes = Some(sizes.join(", ")).filter(|sizes| !sizes.is_empty())?;
        Some(format!("{words} on {}: N = {sizes}.", threads(series.threads)))
    };
    [(Status::Failed, "Failed"), (Status::Skipped, "Not measured")].into_iter().filter_map(of).collect()
}

/// The trial with the highest rate.
fn fastest(series: &LinpackSeries) -> Option<String> {
    let known = series.sizes.iter().filter_map(|size| Some((size, size.maximal?)));
    let (size, rate) = known.reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    Some(format!("Fastest: {} GFlops at N = {}.", giga(rate), size.n))
}

/// A residual as LINPACK prints it: `1.857e-12`.
fn scientific(value: f64) -> String {
    format!("{value:.3e}")
}
