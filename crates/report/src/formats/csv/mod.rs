//! Tidy CSV: one line per metric of each row, base units, no prefixes; absent facts are empty fields. Quoting as in RFC
//! 4180, lines ended as Unix tools expect. Text that a spreadsheet would take for a formula begins with an apostrophe.
//!
//! The samples themselves, one line each, are [`samples()`]'s; a single table for a spreadsheet is [`table`]'s.
//!
//! The columns are the same for every document, whatever areas it holds, so that files of many runs can be put
//! together. New ones come last, so that a column keeps its place.
//!
//! Percentiles (`p50` to `p100`, the slowest of all) are over the `operations` that were timed one by one, in the
//! metric's unit. What trusted tools measured beside a metric stands in the columns `reference_*`: lists separated by
//! `;`, each in the order of `reference_tool`, an absent fact being an empty item. The last columns are the row's and
//! the same in each of its lines.

mod field;
mod samples;

use model::document::{DiskConditions, Document, NetConditions, Row, TcpConditions};
use model::linpack::LinpackConditions;
use model::peak::Peak;
use model::reference::Reference;
use model::sample::{Metric, Percentiles};
use serde_json::Value;

use crate::grid::value::{Cell, Column, Grid};
use crate::render::{Render, RenderError};
use areas::disk::familiar;
use areas::disk::label::params as disk_params;
use areas::memory::label::params as memory;
use areas::net::label::params as net_params;

use field::{figure, text};

pub(crate) use field::line;
pub use samples::{CsvSamples, render as samples};

/// Writes one line per metric.
#[derive(Clone, Copy, Debug)]
pub struct Csv;

impl Render for Csv {
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError> {
        Ok(render(document).into_bytes())
    }
}

/// The columns before the parameters.
const ROW_COLUMNS: &[&str] = &["id", "area"];

/// Every parameter of every area, as columns of the same name after `param_` (LINPACK's `n` is not a sample's `n`).
const PARAMS: &[&str] = &[
    "op",
    "type",
    "isa",
    "threads",
    "pattern",
    "block",
    "working_set",
    "pages",
    "chains",
    "level",
    "nodes",
    "engine",
    "n",
    "nb",
    "lda",
    "align",
    "size",
    "depth",
    "direct",
    "sync",
    "cache",
    "layout",
    "path",
    "protocol",
    "mode",
    "direction",
    "zero_copy",
    "segmentation",
];

/// The columns after the parameters.
const FIGURE_COLUMNS: &[&str] = &[
    "method",
    "status",
    "reason",
    "metric",
    "unit",
    "better",
    "n",
    "median",
    "ci95_low",
    "ci95_high",
    "min",
    "max",
    "mean",
    "stddev",
    "cv",
    "cv_robust",
    "peak_kind",
    "peak_value",
    "efficiency",
    "efficiency_of",
    "clock_hz",
    "cpu_share",
    "lost_share",
    "grade",
    "verified",
    "warnings",
];

/// The columns of percentiles.
const PERCENTILE_COLUMNS: &[&str] = &["p50", "p90", "p99", "p99.9", "p99.99", "p100", "operations"];

/// Writes one item of a list about references.
type ReferenceItem = fn(&Reference) -> String;

/// The columns of references, and what each holds of one.
const REFERENCE_COLUMNS: &[(&str, ReferenceItem)] = &[
    ("reference_tool", |reference| reference.tool.clone()),
    ("reference_version", |reference| text(reference.version.as_deref())),
    ("reference_status", |reference| reference.status.to_string()),
    ("reference_median", |reference| figure(reference.median)),
    ("reference_ratio", |reference| figure(reference.ratio)),
    ("reference_ratio_low", |reference| figure(reference.ratio_ci95.map(|[low, _]| low))),
    ("reference_ratio_high", |reference| figure(reference.ratio_ci95.map(|[_, high]| high))),
    ("reference_verdict", |reference| text(reference.verdict)),
    ("reference_pairs", |reference| reference.samples.len().to_string()),
];

/// Writes one field of a row.
type RowField = fn(&Row) -> String;

/// What was seen of the file and the device of a row of the disk.
fn disk(row: &Row) -> Option<&DiskConditions> {
    row.conditions.disk.as_ref()
}

/// What was seen of the path and the sockets of a row of the network.
fn net(row: &Row) -> Option<&NetConditions> {
    row.conditions.net.as_ref()
}

/// What TCP said of the senders' connections.
fn tcp(row: &Row) -> Option<&TcpConditions> {
    net(row)?.tcp.as_ref()
}

/// What was seen of the solver of a row of LINPACK.
fn linpack(row: &Row) -> Option<&LinpackConditions> {
    row.conditions.linpack.as_ref()
}

/// The columns about loops, threads, disks, classic tables, networks, solvers and what later versions added to the
/// parameters, and what each holds of a row.
const ROW_FIGURES: &[(&str, RowField)] = &[
    ("accumulator", |row| text(row.kernel.as_ref().map(|kernel| &kernel.accumulator))),
    ("ops_per_cycle", |row| figure(row.conditions.ops_per_cycle)),
    ("ops_per_cycle_p90", |row| figure(row.conditions.ops_per_cycle_p90)),
    ("speed_up", |row| figure(row.scaling.as_ref().map(|scaling| scaling.speed_up))),
    ("parallel_efficiency", |row| figure(row.scaling.as_ref().map(|scaling| scaling.parallel_efficiency))),
    ("param_group", |row| text(memory(row).and_then(|params| params.group))),
    ("param_background_op", |row| text(memory(row).and_then(|params| params.background).map(|load| load.op))),
    ("param_background_pause_ns", |row| {
        text(memory(row).and_then(|params| params.background).map(|load| load.pause_ns))
    }),
    ("param_placement", |row| text(memory(row).and_then(|params| params.placement))),
    ("param_load_percent", |row| text(disk_params(row).and_then(|params| params.load_percent))),
    ("flushed_bytes_per_second", |row| figure(disk(row).and_then(|disk| disk.flushed_bytes_per_second))),
    ("cached_share_before", |row| figure(disk(row).and_then(|disk| disk.cached_share_before))),
    ("storage_share", |row| figure(disk(row).and_then(|disk| disk.storage_share))),
    ("depth_achieved", |row| figure(disk(row).and_then(|disk| disk.depth_achieved))),
    ("read_share", |row| figure(disk(row).and_then(|disk| disk.read_share))),
    ("read_latency_seconds", |row| figure(disk(row).and_then(|disk| disk.read_latency_seconds))),
    ("write_latency_seconds", |row| figure(disk(row).and_then(|disk| disk.write_latency_seconds))),
    ("full_iops", |row| figure(disk(row).and_then(|disk| disk.full_iops))),
    ("due_iops", |row| figure(disk(row).and_then(|disk| disk.due_iops))),
    ("late_share", |row| figure(disk(row).and_then(|disk| disk.late_share))),
    ("loop_iops", |row| figure(disk(row).and_then(|disk| disk.loop_iops))),
    ("classic_table", |row| text(row.classic.as_ref().map(|classic| &classic.table))),
    ("classic_workload", |row| text(row.classic.as_ref().map(|classic| &classic.workload))),
    ("classic_total", |row| figure(row.classic.as_ref().and_then(|classic| classic.total))),
    ("param_loss_goal_per_million", |row| text(net_params(row).and_then(|params| params.loss_goal_per_million))),
    ("param_wait", |row| text(net_params(row).and_then(|params| params.wait))),
    ("interface", |row| text(net(row).and_then(|net| net.interface.as_ref()))),
    ("mtu", |row| text(net(row).and_then(|net| net.mtu))),
    ("address_family", |row| text(net(row).and_then(|net| net.address_family.as_ref()))),
    ("congestion_control", |row| text(net(row).and_then(|net| net.congestion_control.as_ref()))),
    ("batching", |row| net(row).map_or_else(String::new, |net| net.batching.join(";"))),
    ("sending_cpu_seconds", |row| figure(net(row).and_then(|net| net.sending_cpu_seconds))),
    ("receiving_cpu_seconds", |row| figure(net(row).and_then(|net| net.receiving_cpu_seconds))),
    ("zero_copied_share", |row| figure(net(row).and_then(|net| net.zero_copied_share))),
    ("offered_bytes_per_second", |row| figure(net(row).and_then(|net| net.offered_bytes_per_second))),
    ("idle_latency_seconds", |row| figure(net(row).and_then(|net| net.idle_latency_seconds))),
    ("load_bytes_per_second", |row| figure(net(row).and_then(|net| net.load_bytes_per_second))),
    ("probes_late_share", |row| figure(net(row).and_then(|net| net.late_share))),
    ("tcp_busy_seconds", |row| figure(tcp(row).and_then(|tcp| tcp.busy_seconds))),
    ("tcp_receiver_limited_seconds", |row| figure(tcp(row).and_then(|tcp| tcp.receiver_limited_seconds))),
    ("tcp_buffer_limited_seconds", |row| figure(tcp(row).and_then(|tcp| tcp.buffer_limited_seconds))),
    ("tcp_round_trip_seconds", |row| figure(tcp(row).and_then(|tcp| tcp.round_trip_seconds))),
    ("tcp_least_round_trip_seconds", |row| figure(tcp(row).and_then(|tcp| tcp.least_round_trip_seconds))),
    ("solver", |row| text(linpack(row).and_then(|seen| seen.kernel.as_ref()))),
    ("matrix_bytes", |row| text(linpack(row).and_then(|seen| seen.matrix_bytes))),
    ("mapped_bytes", |row| text(linpack(row).and_then(|seen| seen.mapped_bytes))),
    ("fill_seconds", |row| figure(linpack(row).and_then(|seen| seen.fill_seconds))),
    ("check_seconds", |row| figure(linpack(row).and_then(|seen| seen.check_seconds))),
    ("fma_flop_per_second", |row| figure(linpack(row).and_then(|seen| seen.fma_flop_per_second))),
    ("fma_clock_hz", |row| figure(linpack(row).and_then(|seen| seen.fma_clock_hz))),
    ("lost_to_clock", |row| figure(linpack(row).and_then(|seen| seen.lost_to_clock))),
    ("lost_to_algorithm", |row| figure(linpack(row).and_then(|seen| seen.lost_to_algorithm))),
    ("refinements", |row| figure(linpack(row).and_then(|seen| seen.refinements))),
    ("known_as", |row| text(familiar::name(row))),
    ("cpu_seconds_per_request", |row| figure(disk(row).and_then(|disk| disk.cpu_seconds_per_request))),
];

/// The whole file, with its heading.
pub fn render(document: &Document) -> String {
    let params = PARAMS.iter().map(|name| format!("param_{name}"));
    let fixed = |columns: &'static [&'static str]| columns.iter().map(|name| (*name).to_owned());
    let references = REFERENCE_COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let heading = fixed(ROW_COLUMNS).chain(params).chain(fixed(FIGURE_COLUMNS)).chain(fixed(PERCENTILE_COLUMNS));
    let figures = ROW_FIGURES.iter().map(|(name, _)| (*name).to_owned());
    let mut text = line(&heading.chain(references).chain(figures).collect::<Vec<_>>());
    for row in &document.experiments {
        if row.metrics.is_empty() {
            text.push_str(&line(&fields(row, None)));
        }
        for metric in &row.metrics {
            text.push_str(&line(&fields(row, Some(metric))));
        }
    }
    text
}

fn fields(row: &Row, metric: Option<&Metric>) -> Vec<String> {
    let mut fields = vec![row.id.clone(), row.area.to_string()];
    // Parameters are plain data: writing them as JSON cannot fail, and if it did they would be absent.
    let params = serde_json::to_value(&row.params).unwrap_or(Value::Null);
    fields.extend(PARAMS.iter().map(|name| params.get(name).map_or_else(String::new, param)));
    fields.extend([row.method.clone(), row.status.to_string(), row.reason.clone().unwrap_or_default()]);
    fields.extend(metric_fields(metric));
    let conditions = &row.conditions;
    fields.extend([conditions.clock_hz, conditions.cpu_share, conditions.lost_share].map(figure));
    let codes: Vec<&str> = row.warnings.iter().map(|warning| warning.code.as_str()).collect();
    fields.extend([text(row.grade), text(row.verified), codes.join(";")]);
    fields.extend(percentile_fields(metric));
    let references = metric.map_or(&[][..], |metric| &metric.references);
    fields.extend(REFERENCE_COLUMNS.iter().map(|(_, item)| list(references, *item)));
    fields.extend(ROW_FIGURES.iter().map(|(_, field)| field(row)));
    fields
}

fn percentile_fields(metric: Option<&Metric>) -> Vec<String> {
    let Some(percentiles) = metric.and_then(|metric| metric.summary.percentiles) else {
        return vec![String::new(); PERCENTILE_COLUMNS.len()];
    };
    let Percentiles { p50, p90, p99, p99_9, p99_99, max, count } = percentiles;
    let mut fields: Vec<String> = [p50, p90, p99, p99_9, p99_99, max].map(|value| figure(Some(value))).into();
    // A document of an earlier version does not say how many there were.
    fields.push(if count == 0 { String::new() } else { count.to_string() });
    fields
}

/// One item for each reference. A `;` of a tool's version would make two of it.
fn list(references: &[Reference], item: ReferenceItem) -> String {
    references.iter().map(|reference| item(reference).replace(';', ",")).collect::<Vec<_>>().join(";")
}

/// From `metric` to `efficiency_of`.
fn metric_fields(metric: Option<&Metric>) -> Vec<String> {
    const COLUMNS: usize = 17;
    let Some(metric) = metric else { return vec![String::new(); COLUMNS] };
    let summary = &metric.summary;
    let [low, high] = summary.ci95.map_or([None; 2], |interval| interval.map(Some));
    let peak = shown_peak(metric);
    let mut fields =
        vec![metric.name.to_string(), metric.unit.to_string(), metric.better.to_string(), summary.n.to_string()];
    fields.extend(
        [Some(summary.median), low, high, Some(summary.min), Some(summary.max), Some(summary.mean)].map(figure),
    );
    fields.extend([summary.stddev, summary.cv, summary.cv_robust].map(figure));
    fields.extend([text(peak.map(|peak| peak.kind)), figure(peak.map(|peak| peak.value))]);
    fields.extend([figure(metric.efficiency.map(|of| of.value)), text(metric.efficiency.map(|of| of.of))]);
    fields
}

/// The peak that the efficiency is against; without one, the first that could carry one.
fn shown_peak(metric: &Metric) -> Option<&Peak> {
    match metric.efficiency {
        Some(efficiency) => metric.peaks.iter().find(|peak| peak.kind == efficiency.of),
        None => metric.peaks.iter().find(|peak| peak.kind.carries_efficiency()),
    }
}

fn param(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A table as it is shown, for a spreadsheet. Where each text of a column names its own unit, the values stand in the base
/// unit, which the heading names; what is absent is an empty field.
pub fn table(grid: &Grid) -> String {
    let mut text = line(&grid.columns.iter().map(heading).collect::<Vec<_>>());
    for row in &grid.lines {
        let cells = grid.columns.iter().zip(&row.cells);
        text.push_str(&line(&cells.map(|(column, cell)| cell_text(column, cell)).collect::<Vec<_>>()));
    }
    text
}

/// Whether the texts of a column would have to be taken apart, and their values need not.
fn is_in_base_unit(column: &Column) -> bool {
    column.shown.is_empty() && !column.base.is_empty()
}

fn heading(column: &Column) -> String {
    if is_in_base_unit(column) { format!("{} [{}]", column.heading, column.base) } else { column.title() }
}

fn cell_text(column: &Column, cell: &Cell) -> String {
    match cell.value {
        _ if cell.is_absent() => String::new(),
        Some(value) if is_in_base_unit(column) => value.to_string(),
        _ => cell.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_metric_fills_its_columns() {
        let from = FIGURE_COLUMNS.iter().position(|name| *name == "metric").unwrap();
        let to = FIGURE_COLUMNS.iter().position(|name| *name == "clock_hz").unwrap();
        assert_eq!(metric_fields(None).len(), to - from);
    }
}
