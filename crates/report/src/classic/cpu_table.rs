//! The classic table of the CPU: its columns and its notes.

use model::number::{duration, giga, percent, power, quantity};
use model::unit::Unit;

use super::cpu::{CpuTable, HplSource, Point, Series};
use super::figures::{Figure, InFull, in_full};
use super::table::{ClassicPart, ClassicTable, GivesWay, Note, TableColumn, TableLine, lines};
use crate::grid::value::Column;
use crate::layout::Align;
use areas::cpu::label as cpu;
use areas::label::threads;

const TOTAL: GivesWay = GivesWay { rank: 0, words: "the time for the total" };
const HPL: GivesWay = GivesWay { rank: 1, words: "HPL" };
const VECTORS: GivesWay = GivesWay { rank: 2, words: "the vector peak beside plain rows" };

/// A time as people say it, with its digits where it is short.
pub(super) fn seconds(value: f64) -> String {
    if value < 59.995 { quantity(value, Unit::Second) } else { duration(value) }
}

/// The table with its notes.
pub(super) fn parts(table: &CpuTable) -> Vec<ClassicPart> {
    let points: Vec<(&Series, &Point)> = table.lines().collect();
    let about = |(_, point): &(&Series, &Point)| (point.id.clone(), point.status, point.grade);
    let mut lines = lines(&points, about, |(series, _)| series.workload.clone());
    for line in &mut lines {
        line.is_marked = false;
    }
    let grid = (
        "classic-cpu".to_owned(),
        "The classic CPU table, in billions of operations a second (GigaOPS: GFLOP/s, GOP/s)".to_owned(),
    );
    vec![ClassicPart::Table(ClassicTable {
        grid: Some(grid),
        title: Some("The classic CPU table, in billions of operations a second (GFLOP/s, GOP/s)".to_owned()),
        columns: columns(table, &points, &lines),
        lines,
        notes: notes(table),
    })]
}

fn columns(table: &CpuTable, points: &[(&Series, &Point)], lines: &[TableLine]) -> Vec<TableColumn> {
    type SeriesPoint<'a> = (&'a Series, &'a Point);
    let rate = |value: fn(&Point) -> Option<f64>| TableColumn::figures(points, |(_, point)| value(point), giga);
    let share = |value: fn(&Point) -> Option<f64>| TableColumn::shares(points, |(_, point)| value(point));
    let label = |word: fn(&Series) -> String| {
        TableColumn::words(points, |(series, _): &SeriesPoint<'_>| word(series)).text("", Align::Left)
    };
    let keys = |key: fn(&Series) -> String| points.iter().map(|(series, _)| key(series)).collect::<Vec<_>>();
    let element = |series: &Series| cpu::precision(series.element);
    let interval = |(_, point): &SeriesPoint<'_>| {
        point.measured.map(|median| Figure { median, interval: point.interval, stddev: None })
    };
    let mut columns = vec![
        TableColumn::words(points, |(series, _): &SeriesPoint<'_>| series.name()).grid(Column::text("Workload")).kept(),
        label(|series| series.workload.clone()).once(&keys(|series| series.workload.clone())),
        label(element).once(&keys(|series| format!("{} {}", series.workload, series.element))).joined(),
        label(|series| series.class.clone()).once(&keys(Series::name)).joined(),
        TableColumn::counts(points, |(_, point)| point.threads.into())
            .text("threads", Align::Right)
            .grid(Column::number("Concurrency"))
            .kept(),
        rate(|point| point.measured)
            .or_status(lines, true)
            .text("measured", Align::Decimal)
            .grid(Column::number("Measured").shown("GigaOPS"))
            .kept(),
        rate(|point| point.hpl.map(|hpl| hpl.value))
            .text("HPL", Align::Decimal)
            .gives_way(HPL)
            .grid(Column::number("HPL measured"))
            .kept(),
        rate(|point| point.theory.map(|theory| theory.value))
            .text("theory", Align::Decimal)
            .grid(Column::number("Theoretical"))
            .kept(),
        rate(|point| point.vector_theory)
            .text("vectors", Align::Decimal)
            .gives_way(VECTORS)
            .grid(Column::number("Vector theoretical")),
        share(|point| point.efficiency)
            .text("efficiency", Align::Decimal)
            .grid(Column::number("Efficiency").shown("%"))
            .kept(),
        share(|point| point.hpl.and_then(|hpl| hpl.efficiency))
            .text("HPL eff.", Align::Decimal)
            .gives_way(HPL)
            .grid(Column::number("HPL efficiency").shown("%"))
            .kept(),
        rate(|point| point.stddev).text("std dev", Align::Decimal).grid(Column::number("Standard deviation")).kept(),
        TableColumn::intervals(points, interval, giga).kept(),
        TableColumn::grades(lines),
    ];
    columns.extend(table.total.map(|total| {
        TableColumn::figures(points, |(_, point)| point.total_seconds, seconds)
            .text(format!("{} in", power(total)), Align::Right)
            .gives_way(TOTAL)
    }));
    columns
}

/// What must be known to read the table, and what follows from it.
fn notes(table: &CpuTable) -> Vec<Note> {
    let notes = [
        best_threads(table).map(Note::new),
        highest_efficiency(table).map(Note::new),
        table.total.map(|total| Note::of_text(workload(table, total))),
        Some(Note::new(
            "Measured: the median; std dev: of the samples; theory: operations per cycle x the clock measured beside \
             the row; vectors: the same for the best vector loop, beside plain ones.",
        )),
        kernels(table).map(Note::new),
        Some(Note::new(hpl_words(table))),
    ];
    notes.into_iter().flatten().collect()
}

/// `Best thread count (…): 2 for QP INT8 vector; 4 for all others.`
fn best_threads(table: &CpuTable) -> Option<String> {
    let best: Vec<(u32, &Series)> =
        table.series.iter().filter_map(|series| Some((series.best_threads()?, series))).collect();
    let mut counts: Vec<u32> = best.iter().map(|(count, _)| *count).collect();
    counts.sort_unstable();
    counts.dedup();
    let of = |count: u32| best.iter().filter(move |(other, _)| *other == count).map(|(_, series)| series.name());
    // What most have in common is said last, and in two words.
    let common = counts.iter().copied().max_by_key(|count| of(*count).count())?;
    let named = counts.iter().filter(|count| **count != common);
    let mut parts: Vec<String> =
        named.map(|count| format!("{count} for {}", of(*count).collect::<Vec<_>>().join(", "))).collect();
    let others = if parts.is_empty() { "all workloads" } else { "all others" };
    parts.push(format!("{common} for {others}"));
    Some(format!(
        "Best number of threads, the fewest whose interval reaches that of the highest rate: {}.",
        parts.join("; ")
    ))
}

fn highest_efficiency(table: &CpuTable) -> Option<String> {
    let (share, (series, point)) = table.highest_efficiency()?;
    Some(format!("Highest efficiency: {}, {} with {}.", percent(share), series.name(), threads(point.threads)))
}

/// What the total is, and whether it was done.
fn workload(table: &CpuTable, total: f64) -> String {
    let points = || table.series.iter().flat_map(|series| &series.points).filter(|point| point.measured.is_some());
    let full = points().filter(|point| point.in_full).count();
    let done = match in_full(points().map(|point| point.in_full)) {
        InFull::All => "each sample did all of them".to_owned(),
        InFull::Some => format!(
            "in {full} of {} rows each sample did all of them, for the others the time is worked out",
            points().count()
        ),
        InFull::None => "the time for them is worked out from the rate; --exact-workload does them in full".to_owned(),
    };
    format!("Total: {} operations, divided among the threads; {done}.", power(total))
}

/// Which loops stand behind the classes.
fn kernels(table: &CpuTable) -> Option<String> {
    const PLAIN: &str = "Plain: a scalar loop as compilers make it of one multiplication, one addition and one \
        subtraction a step.";
    let has_plain = table.series.iter().any(|series| series.class == "plain");
    let words = |series: &Series| {
        let comma = if series.sums.is_empty() { "" } else { ", " };
        format!("{} {}{comma}{}", cpu::precision(series.element), series.kernel, series.sums)
    };
    let vector = table.series.iter().filter(|series| series.class == "vector").map(words).collect::<Vec<_>>();
    let vector = (!vector.is_empty()).then(|| format!("Vector, the fastest of each type: {}.", vector.join("; ")));
    let told: Vec<String> = has_plain.then(|| PLAIN.to_owned()).into_iter().chain(vector).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn hpl_words(table: &CpuTable) -> String {
    let points = || table.series.iter().flat_map(|series| &series.points);
    let of = |source: HplSource| points().filter(move |point| point.hpl.is_some_and(|hpl| hpl.source == source));
    let own: Vec<String> = of(HplSource::Own).map(|point| threads(point.threads)).collect();
    let who = match (of(HplSource::Tool).count(), own.len()) {
        (0, 0) => return "HPL was not measured in this run.".to_owned(),
        (_, 0) => "the fastest that it was".to_owned(),
        (0, _) => "was not run; the fastest that our own LINPACK was, counted as HPL counts,".to_owned(),
        _ => format!("the fastest that it was (for want of it our own LINPACK with {})", own.join(", ")),
    };
    format!("HPL: {who} with as many threads, and that over the theory of its line.")
}
