//! The small tables of memory: curves over working sets, misses at a time, latency under load, matrices of nodes and cores.

use std::collections::BTreeSet;

use model::document::Row;
use model::experiment::{MemoryParams, memory_id_names_working_set};
use model::isa::{MemoryOp, MemoryPattern};
use model::sample::{Metric, MetricName};
use model::unit::Unit;

use super::drawing::{Drawing, MetricColumns, measured_metric, values};
use crate::grid::groups::grouped;
use crate::layout::{Align, Block, Cell, GAPS, table, wrap};
use crate::style::{Style, Tone};
use crate::terminal::notes::Notes;
use crate::terminal::row::headline;
use crate::terminal::sections::Section;
use areas::label::{page_words, threads};
use areas::memory::label::{op_words, params};
use model::number::{UnitScale, quantity, size, spread};

/// From this many working sets on, rows that differ in nothing else are a curve.
const LEAST_POINTS: usize = 4;

fn apart_from_size(params: &MemoryParams) -> MemoryParams {
    MemoryParams { working_set: 0, level: None, ..params.clone() }
}

fn names_size(row: &Row) -> bool {
    params(row).is_some_and(|params| memory_id_names_working_set(&row.id, params))
}

pub(crate) fn is_apart(row: &Row, rows: &[&Row]) -> bool {
    let Some(own) = params(row) else { return false };
    let point = || {
        let common = apart_from_size(own);
        let alike = |other: &&&Row| params(other).is_some_and(|other| apart_from_size(other) == common);
        names_size(row) && rows.iter().filter(alike).filter(|other| names_size(other)).count() >= LEAST_POINTS
    };
    is_chains(own) || own.background.is_some() || own.nodes.is_some() || point()
}

fn is_chains(params: &MemoryParams) -> bool {
    params.chains.is_some_and(|chains| chains > 1)
}

pub(crate) fn paragraphs(section: &Section<'_>, notes: &Notes<'_>, style: &Style) -> Vec<Vec<String>> {
    let memory = |wanted: fn(&MemoryParams) -> bool| -> Vec<&Row> {
        section.apart.iter().copied().filter(|row| params(row).is_some_and(wanted)).collect()
    };
    let draw = Drawing { notes, style };
    let mut paragraphs = draw.curves(&memory(|own| !is_chains(own) && own.background.is_none() && own.nodes.is_none()));
    let idle = section.rows().find(|row| {
        params(row).is_some_and(|own| {
            own.pattern == MemoryPattern::Chase && own.threads == 1 && own.chains == Some(1) && own.group.is_none()
        })
    });
    paragraphs.push(draw.chains(&memory(|own| is_chains(own) && own.nodes.is_none()), idle));
    paragraphs.push(draw.loaded(&memory(|own| own.background.is_some() && own.nodes.is_none())));
    paragraphs.extend(draw.matrices(&memory(|own| own.nodes.is_some())));
    paragraphs
}

impl Drawing<'_> {
    /// Curves over working sets: tables of as many as fit side by side.
    fn curves(&self, rows: &[&Row]) -> Vec<Vec<String>> {
        let mut groups = grouped(rows.iter().copied(), |row| params(row).map(apart_from_size));
        groups.sort_by_key(|(own, _)| own.pattern != MemoryPattern::Chase);
        let mut paragraphs = Vec::new();
        let mut rest = groups.as_slice();
        while !rest.is_empty() {
            let fitting = (1..=rest.len()).rev().find_map(|count| Some((count, self.curve(&rest[..count])?)));
            // A single curve that does not fit is shown as it is.
            let (count, lines) = fitting.unwrap_or((1, Vec::new()));
            paragraphs.push(lines);
            rest = &rest[count..];
        }
        paragraphs
    }

    fn curve(&self, groups: &[(MemoryParams, Vec<&Row>)]) -> Option<Vec<String>> {
        let of = |row: &Row| params(row).map_or(0, |own| own.working_set);
        let mut sizes: Vec<u64> = groups.iter().flat_map(|(_, rows)| rows.iter().map(|row| of(row))).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let alike =
            |same: fn(&MemoryParams, &MemoryParams) -> bool| groups.iter().all(|(own, _)| same(own, &groups[0].0));
        let (same_threads, same_pages) = (alike(|a, b| a.threads == b.threads), alike(|a, b| a.pages == b.pages));
        let shown: Vec<MetricColumns<'_>> = groups
            .iter()
            .map(|(own, rows)| {
                let mut words = vec![op_words(own.op)];
                words.extend((!same_threads).then(|| threads(own.threads)));
                words.extend((!same_pages).then(|| page_words(own.pages).to_owned()));
                let found = |size: &u64| rows.iter().copied().find(|row| of(row) == *size);
                MetricColumns {
                    heading: words.join(", "),
                    rows: sizes.iter().map(found).collect(),
                    metric: metric_of(own),
                    scale: None,
                }
            })
            .collect();
        let level = |index: usize| shown.iter().find_map(|one| params(one.rows[index]?)?.level.clone());
        let levels: Vec<Cell> =
            (0..sizes.len()).map(|index| Cell::plain(level(index).unwrap_or_default().to_uppercase())).collect();
        let labels: Vec<Cell> = sizes.iter().map(|bytes| Cell::plain(size(*bytes)).indented()).collect();
        let own = &groups[0].0;
        let mut title = vec!["Memory over working sets".to_owned()];
        title.extend(same_threads.then(|| threads(own.threads)));
        title.extend(same_pages.then(|| page_words(own.pages).to_owned()));
        let lines = self.fitted(|spread, length| {
            let mut blocks = vec![
                Block::single("  size", Align::Left, labels.clone()),
                Block::single("level", Align::Left, levels.clone()),
            ];
            blocks.extend(shown.iter().map(|one| self.block(one, spread)));
            blocks.push(self.shape(&shown[0], length));
            blocks
        })?;
        Some([self.title(&title.join(", ")), lines].concat())
    }

    /// Bars for the shape of a curve: logarithmic, since levels differ by factors.
    fn shape(&self, shown: &MetricColumns<'_>, length: usize) -> Block {
        let medians = || shown.metrics().map(|metric| metric.map(|metric| metric.summary.median));
        let values = || medians().flatten().filter(|value| *value > 0.0);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        // The least has a bar too: one step.
        let share =
            |value: f64| if most > least { 0.04 + 0.96 * (value / least).ln() / (most / least).ln() } else { 1.0 };
        let bar = |median: Option<f64>| {
            let text = median.filter(|value| *value > 0.0).map(|value| self.style.bar(share(value), length));
            Cell::new(text.unwrap_or_default(), Tone::Accent)
        };
        let heading = if length == 0 { String::new() } else { format!("{}, log", shown.heading) };
        Block::single(heading, Align::Left, medians().map(bar))
    }

    fn chains(&self, rows: &[&Row], idle: Option<&Row>) -> Vec<String> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut rows: Vec<&Row> = idle.into_iter().chain(rows.iter().copied()).collect();
        rows.sort_by_key(|row| params(row).and_then(|own| own.chains));
        let latency =
            idle.and_then(|row| measured_metric(row, MetricName::Latency)).map(|metric| metric.summary.median);
        let chains =
            |row: &&Row| Cell::plain(params(row).and_then(|own| own.chains).unwrap_or(1).to_string()).indented();
        let rate = |row: &Row| loads_per_second(row).map(|rate| format!("{:.1}", rate / 1e6)).unwrap_or_default();
        let rates = rows.iter().map(|row| (Some(*row), headline(row).map(|metric| (metric, rate(row)))));
        let blocks = [
            Block::single("  chains", Align::Left, rows.iter().map(chains)),
            self.with_remarks("million loads/s", rates, true),
            values("lines in flight", &rows, |row| Some(format!("{:.1}", loads_per_second(row)? * latency?))),
        ];
        let title = self.title("Memory, concurrent misses, 1 thread: loads/s x idle latency = lines in flight");
        [title, table(&blocks, GAPS[0], self.style)].concat()
    }

    fn loaded(&self, rows: &[&Row]) -> Vec<String> {
        let Some(load) = rows.first().and_then(|row| params(row)?.background) else { return Vec::new() };
        let pause = |row: &Row| params(row).and_then(|own| own.background).map_or(0, |load| load.pause_ns);
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| std::cmp::Reverse(pause(row)));
        let labels: Vec<Cell> = rows.iter().map(|row| Cell::plain(format!("{} ns", pause(row))).indented()).collect();
        let columns = |heading: &str, metric| {
            let rows = rows.iter().map(|row| Some(*row)).collect();
            MetricColumns { heading: heading.into(), rows, metric, scale: None }
        };
        let bandwidth = columns("the others", MetricName::Throughput);
        let latency = columns("latency", MetricName::Latency);
        let lines = self.fitted(|spread, length| {
            vec![
                Block::single("  pause", Align::Left, labels.clone()),
                self.block(&bandwidth, spread),
                self.block(&latency, spread),
                self.shape(&latency, length),
            ]
        });
        let title = format!("Memory, latency while other threads {}", op_words(load.op));
        [self.title(&title), lines.unwrap_or_default()].concat()
    }

    /// A matrix for each operation; a single pair is a line.
    fn matrices(&self, rows: &[&Row]) -> Vec<Vec<String>> {
        let key = |row: &&Row| params(row).map(|own| (own.op, own.pattern == MemoryPattern::Pair));
        let matrices = grouped(rows.iter().copied(), key);
        matrices.into_iter().map(|((op, pair), rows)| self.matrix(op, pair, &rows)).collect()
    }

    fn matrix(&self, op: MemoryOp, pair: bool, rows: &[&Row]) -> Vec<String> {
        let (what, down, across) = if pair {
            ("Memory, round trip of a cache line between cores", "CPU", "CPU ")
        } else {
            ("Memory of nodes", "threads on", "memory on ")
        };
        let what = if pair { what.to_owned() } else { format!("{what}, {}", op_words(op)) };
        if let [row] = rows {
            let value = headline(row).map_or_else(
                || row.status.name().to_owned(),
                |metric| {
                    let spread = spread(&metric.summary, self.style.plus_minus());
                    format!("{} {spread}", quantity(metric.summary.median, metric.unit))
                },
            );
            let between = ends(row).map_or_else(String::new, |(from, to)| format!(" ({down} {from}, {across}{to})"));
            return self.title(&format!("{what}{between}: {value}"));
        }
        let (froms, tos): (BTreeSet<u32>, BTreeSet<u32>) = rows.iter().filter_map(|row| ends(row)).unzip();
        let at = |from: u32, to: u32| rows.iter().copied().find(|row| ends(row) == Some((from, to)));
        let labels: Vec<Cell> = froms.iter().map(|from| Cell::plain(from.to_string()).indented()).collect();
        let metric = if op == MemoryOp::Load || pair { MetricName::Latency } else { MetricName::Throughput };
        let values: Vec<f64> =
            rows.iter().filter_map(|row| Some(measured_metric(row, metric)?.summary.median)).collect();
        let unit = rows.iter().find_map(|row| Some(measured_metric(row, metric)?.unit));
        let scale = unit.and_then(|unit| UnitScale::common(&values, unit));
        let lines = self.fitted(|spread, _| {
            let mut blocks = vec![Block::single(format!("  {down}"), Align::Left, labels.clone())];
            blocks.extend(tos.iter().map(|to| {
                let rows = froms.iter().map(|from| at(*from, *to)).collect();
                self.block(&MetricColumns { heading: format!("{across}{to}"), rows, metric, scale }, spread)
            }));
            blocks
        });
        let unit = scale.map_or_else(String::new, |scale| format!(", {}", scale.unit()));
        let title = self.title(&format!("{what}{unit}"));
        [title, lines.unwrap_or_else(|| self.extremes(rows))].concat()
    }

    /// Least, median and most, where a matrix is wider than the terminal.
    fn extremes(&self, rows: &[&Row]) -> Vec<String> {
        let mut shown: Vec<(f64, &Row, &Metric)> =
            rows.iter().filter_map(|row| headline(row).map(|metric| (metric.summary.median, *row, metric))).collect();
        shown.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(least), Some(most)) = (shown.first(), shown.last()) else { return Vec::new() };
        let middle = &shown[shown.len() / 2];
        let words = |(value, row, metric): &(f64, &Row, &Metric)| {
            let between = ends(row).map_or_else(String::new, |(from, to)| format!(" ({from} to {to})"));
            format!("{}{between}", quantity(*value, metric.unit))
        };
        let text = format!(
            "least {}, median {}, most {}, of {} pairs; the whole matrix is in run.json and in the CSV",
            words(least),
            quantity(middle.0, middle.2.unit),
            words(most),
            shown.len()
        );
        wrap(&text, "  ", self.style.width)
    }
}

fn metric_of(own: &MemoryParams) -> MetricName {
    if own.pattern == MemoryPattern::Chase { MetricName::Latency } else { MetricName::Throughput }
}

/// Loads per second: of several chains their rate, of a single one as many as fit into a second after each other.
fn loads_per_second(row: &Row) -> Option<f64> {
    let rate = measured_metric(row, MetricName::Throughput).filter(|metric| metric.unit == Unit::OpPerSecond);
    let rate = rate.map(|metric| metric.summary.median);
    rate.or_else(|| measured_metric(row, MetricName::Latency).map(|metric| 1.0 / metric.summary.median))
}

/// The nodes or CPUs between which a row is: `0-1`, `cpu0-cpu1`.
fn ends(row: &Row) -> Option<(u32, u32)> {
    let (from, to) = params(row)?.nodes.as_deref()?.split_once('-')?;
    let number = |text: &str| text.trim_start_matches("cpu").parse().ok();
    Some((number(from)?, number(to)?))
}
