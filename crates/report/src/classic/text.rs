//! The classic tables in a terminal. Columns give way to a narrow one, and it is said which.

use model::document::{Document, Status};
use model::unit::Unit;

use super::cpu::{CpuTable, HplSource, Place, Point, Series};
use super::cpu_table;
use crate::label::{cpu, threads};
use crate::layout::{Align, Block, Cell, Column, table, table_width, wrap};
use crate::style::{Style, Tone};
use model::number::{duration, giga, percent, power, quantity};

const TITLE: &str = "The classic CPU table, in billions of operations a second (GFLOP/s, GOP/s)";

/// What stands where nothing is known or applies.
pub(super) const ABSENT: &str = "-";

/// Between columns, the better first.
const GAPS: [usize; 2] = [2, 1];

/// The columns that may give way, in the order in which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optional {
    Total,
    Hpl,
    Vectors,
}

impl Optional {
    const IN_ORDER: [Self; 3] = [Self::Total, Self::Hpl, Self::Vectors];

    const fn words(self) -> &'static str {
        match self {
            Self::Total => "the time for the total",
            Self::Hpl => "HPL",
            Self::Vectors => "the vector peak beside plain rows",
        }
    }
}

/// The table of the CPU; `None` where this document has none.
pub(super) fn paragraph(document: &Document, style: &Style) -> Option<Vec<String>> {
    let table = cpu_table(document)?;
    let all = Optional::IN_ORDER;
    let sets = (0..=all.len()).flat_map(|dropped| GAPS.map(|gap| (&all[dropped..], gap)));
    let fits = |(shown, gap): &(&[Optional], usize)| table_width(&blocks(&table, shown, style), *gap) <= style.width;
    // Where nothing fits, the fewest columns are the least bad.
    let (shown, gap) = sets.into_iter().find(fits).unwrap_or((&[], 1));
    let mut lines = wrap(TITLE, "", style.width);
    for line in &mut lines {
        *line = style.paint(line, Tone::Strong);
    }
    lines.extend(separated(&table, self::table(&blocks(&table, shown, style), gap, style)));
    let dropped = all.iter().filter(|column| !shown.contains(column)).map(|column| column.words());
    let dropped: Vec<&str> = dropped.collect();
    let notes: Vec<String> = notes(&table, true).into_iter().chain(left_out(&dropped)).collect();
    lines.extend(notes.iter().flat_map(|note| wrap(&style.clean(note), "  ", style.width)));
    Some(lines)
}

/// A blank line before each workload but the first.
fn separated(table: &CpuTable, lines: Vec<String>) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut separated: Vec<String> = lines.next().into_iter().collect();
    for (index, series) in table.series.iter().enumerate() {
        if index > 0 && series.workload != table.series[index - 1].workload {
            separated.push(String::new());
        }
        separated.extend(lines.by_ref().take(series.points.len()));
    }
    separated
}

fn blocks(table: &CpuTable, shown: &[Optional], style: &Style) -> Vec<Block> {
    let has = |column| shown.contains(&column);
    let mut blocks = vec![
        label_block(table),
        column(table, "threads", Align::Right, |point| Cell::plain(point.threads.to_string())),
        column(table, "measured", Align::Decimal, measured),
    ];
    let hpl = |point: &Point| point.hpl;
    if has(Optional::Hpl) {
        blocks.push(column(table, "HPL", Align::Decimal, |point| rate(hpl(point).map(|hpl| hpl.value))));
    }
    blocks.push(column(table, "theory", Align::Decimal, |point| rate(point.theory.map(|theory| theory.value))));
    if has(Optional::Vectors) {
        blocks.push(column(table, "vectors", Align::Decimal, |point| rate(point.vector_theory)));
    }
    blocks.push(column(table, "efficiency", Align::Decimal, |point| share(point.efficiency)));
    if has(Optional::Hpl) {
        blocks
            .push(column(table, "HPL eff.", Align::Decimal, |point| share(hpl(point).and_then(|hpl| hpl.efficiency))));
    }
    blocks.push(column(table, "std dev", Align::Decimal, |point| rate(point.stddev)));
    if let Some(total) = table.total.filter(|_| has(Optional::Total)) {
        let heading = style.clean(&format!("{} in", power(total)));
        blocks.push(column(table, &heading, Align::Right, |point| known(point.total_seconds.map(seconds))));
    }
    blocks
}

/// Workload, type and class, each where it is another one than on the line above.
fn label_block(table: &CpuTable) -> Block {
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    let mut before: Option<&Series> = None;
    for series in &table.series {
        let workload = before.is_none_or(|before| before.workload != series.workload);
        let element = workload || before.is_none_or(|before| before.element != series.element);
        let words = [(&series.workload, workload), (&cpu::precision(series.element), element), (&series.class, true)];
        for index in 0..series.points.len() {
            for (column, (word, first)) in columns.iter_mut().zip(words) {
                column.push(Cell::plain(if first && index == 0 { word.as_str() } else { "" }));
            }
        }
        before = Some(series);
    }
    let [workloads, elements, classes] = columns;
    let workloads = workloads.into_iter().map(Cell::indented);
    let columns = vec![
        Column::new(Align::Left, workloads),
        Column::new(Align::Left, elements),
        Column::new(Align::Left, classes),
    ];
    Block::new("", Align::Left, columns)
}

fn column(table: &CpuTable, heading: &str, align: Align, cell: impl Fn(&Point) -> Cell) -> Block {
    let points = table.series.iter().flat_map(|series| &series.points);
    let side = if align == Align::Right { Align::Right } else { Align::Left };
    Block::new(heading, side, vec![Column::new(align, points.map(cell))])
}

fn measured(point: &Point) -> Cell {
    match point.status {
        Status::Ok => rate(point.measured),
        Status::Failed => Cell::new(point.status.name(), Tone::Bad),
        Status::Skipped => Cell::new(point.status.name(), Tone::Dim),
    }
}

pub(super) fn rate(value: Option<f64>) -> Cell {
    known(value.map(giga))
}

/// A time as people say it, with its digits where it is short.
pub(super) fn seconds(value: f64) -> String {
    if value < 59.995 { quantity(value, Unit::Second) } else { duration(value) }
}

pub(super) fn share(value: Option<f64>) -> Cell {
    known(value.map(percent))
}

pub(super) fn known(text: Option<String>) -> Cell {
    text.map_or_else(|| Cell::new(ABSENT, Tone::Dim), Cell::plain)
}

/// The columns that gave way.
pub(super) fn left_out(dropped: &[&str]) -> Option<String> {
    let words = || format!("Left out for want of room: {}; a wider terminal shows it.", dropped.join(", "));
    (!dropped.is_empty()).then(words)
}

/// What must be known to read the table, and what follows from it; of the time for the total, where it is shown.
pub(super) fn notes(table: &CpuTable, shows_total: bool) -> Vec<String> {
    let notes = [
        best_threads(table),
        highest_efficiency(table),
        table.total.filter(|_| shows_total).map(|total| workload(table, total)),
        Some(
            "Measured: the median; std dev: of the samples; theory: operations per cycle x the clock measured beside \
             the row; vectors: the same for the best vector loop, beside plain ones."
                .to_owned(),
        ),
        kernels(table),
        Some(hpl_words(table)),
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
    let Place { series, point } = table.highest_efficiency()?;
    let series = &table.series[series];
    let point = &series.points[point];
    let share = percent(point.efficiency?);
    Some(format!("Highest efficiency: {share}, {} with {}.", series.name(), threads(point.threads)))
}

/// What the total is, and whether it was done.
fn workload(table: &CpuTable, total: f64) -> String {
    let points = || table.series.iter().flat_map(|series| &series.points).filter(|point| point.measured.is_some());
    let in_full = points().filter(|point| point.in_full).count();
    let done = if in_full > 0 && in_full == points().count() {
        "each sample did all of them".to_owned()
    } else if in_full > 0 {
        format!(
            "in {in_full} of {} rows each sample did all of them, for the others the time is worked out",
            points().count()
        )
    } else {
        "the time for them is worked out from the rate; --exact-workload does them in full".to_owned()
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
