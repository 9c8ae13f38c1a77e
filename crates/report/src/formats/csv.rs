//! Tidy CSV: one line per metric of each row, base units, no prefixes; absent facts are empty fields. Quoting as in RFC
//! 4180. Text that a spreadsheet would take for a formula begins with an apostrophe.
//!
//! The columns are the same for every document, so that files of many runs can be put together. New ones come last, so
//! that a column keeps its place. Percentiles count the `operations` that were timed one by one; the columns
//! `reference_*` are lists separated by `;`, each in the order of `reference_tool`.

use model::document::{Document, Row};
use model::peak::Peak;
use model::reference::Reference;
use model::sample::{Metric, Percentiles, Sample};
use serde_json::Value;

use self::Source::{OfMetric, OfReferences, Parts, RowWords};
use crate::formats::escape::visible;
use areas::chart::grid::{ABSENT, Cell, Column, Grid};
use areas::disk::familiar;

/// Where the fields of a column come from.
enum Source {
    /// Parts of the row: their place in the document, and their names, from which those of the columns are made.
    Parts(&'static str, &'static str),
    RowWords(fn(&Row) -> String),
    OfMetric(fn(&Metric) -> String),
    OfReferences(fn(&Reference) -> String),
}

/// Every column; of parts, the start of their names. LINPACK's `n` is not a sample's `n`, so parameters begin with `param_`.
const COLUMNS: &[(&str, Source)] = &[
    ("", Parts("", "id area")),
    (
        "param_",
        Parts(
            "/params",
            "op type isa threads pattern block working_set pages chains level nodes engine n nb lda align size depth \
             direct sync cache layout path protocol mode direction zero_copy segmentation",
        ),
    ),
    ("", Parts("", "method status reason")),
    ("metric", OfMetric(|metric| metric.name.to_string())),
    ("unit", OfMetric(|metric| metric.unit.to_string())),
    ("better", OfMetric(|metric| metric.better.to_string())),
    ("n", OfMetric(|metric| metric.summary.n.to_string())),
    ("median", OfMetric(|metric| metric.summary.median.to_string())),
    ("ci95_low", OfMetric(|metric| text(metric.summary.ci95.map(|[low, _]| low)))),
    ("ci95_high", OfMetric(|metric| text(metric.summary.ci95.map(|[_, high]| high)))),
    ("min", OfMetric(|metric| metric.summary.min.to_string())),
    ("max", OfMetric(|metric| metric.summary.max.to_string())),
    ("mean", OfMetric(|metric| metric.summary.mean.to_string())),
    ("stddev", OfMetric(|metric| text(metric.summary.stddev))),
    ("cv", OfMetric(|metric| text(metric.summary.cv))),
    ("cv_robust", OfMetric(|metric| text(metric.summary.cv_robust))),
    ("peak_kind", OfMetric(|metric| text(shown_peak(metric).map(|peak| peak.kind)))),
    ("peak_value", OfMetric(|metric| text(shown_peak(metric).map(|peak| peak.value)))),
    ("efficiency", OfMetric(|metric| text(metric.efficiency.map(|efficiency| efficiency.value)))),
    ("efficiency_of", OfMetric(|metric| text(metric.efficiency.map(|efficiency| efficiency.of)))),
    ("", Parts("/conditions", "clock_hz cpu_share lost_share")),
    ("", Parts("", "confidence verified")),
    (
        "warnings",
        RowWords(|row| row.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>().join(";")),
    ),
    ("p50", OfMetric(|metric| percentile(metric, |found| found.p50))),
    ("p90", OfMetric(|metric| percentile(metric, |found| found.p90))),
    ("p99", OfMetric(|metric| percentile(metric, |found| found.p99))),
    ("p99.9", OfMetric(|metric| percentile(metric, |found| found.p99_9))),
    ("p99.99", OfMetric(|metric| percentile(metric, |found| found.p99_99))),
    ("p100", OfMetric(|metric| percentile(metric, |found| found.max))),
    // A document of an earlier version does not say how many there were.
    (
        "operations",
        OfMetric(|metric| text(metric.summary.percentiles.map(|found| found.count).filter(|count| *count > 0))),
    ),
    ("reference_tool", OfReferences(|reference| reference.tool.clone())),
    ("reference_version", OfReferences(|reference| text(reference.version.as_deref()))),
    ("reference_status", OfReferences(|reference| reference.status.to_string())),
    ("reference_median", OfReferences(|reference| text(reference.median))),
    ("reference_ratio", OfReferences(|reference| text(reference.ratio))),
    ("reference_ratio_low", OfReferences(|reference| text(reference.ratio_ci95.map(|[low, _]| low)))),
    ("reference_ratio_high", OfReferences(|reference| text(reference.ratio_ci95.map(|[_, high]| high)))),
    ("reference_verdict", OfReferences(|reference| text(reference.verdict))),
    ("reference_pairs", OfReferences(|reference| reference.samples.len().to_string())),
    ("", Parts("/kernel", "accumulator")),
    ("", Parts("/conditions", "ops_per_cycle ops_per_cycle_p90")),
    ("", Parts("/scaling", "speed_up parallel_efficiency")),
    ("param_", Parts("/params", "group background/op background/pause_ns placement load_percent")),
    (
        "",
        Parts(
            "/conditions/disk",
            "flushed_bytes_per_second cached_share_before storage_share depth_achieved read_share read_latency_seconds \
             write_latency_seconds full_iops due_iops late_share loop_iops",
        ),
    ),
    ("classic_", Parts("/classic", "table workload total")),
    ("param_", Parts("/params", "loss_goal_per_million wait")),
    (
        "",
        Parts(
            "/conditions/net",
            "interface mtu address_family congestion_control batching sending_cpu_seconds receiving_cpu_seconds \
             zero_copied_share offered_bytes_per_second idle_latency_seconds load_bytes_per_second",
        ),
    ),
    ("probes_", Parts("/conditions/net", "late_share")),
    (
        "tcp_",
        Parts(
            "/conditions/net/tcp",
            "busy_seconds receiver_limited_seconds buffer_limited_seconds round_trip_seconds least_round_trip_seconds",
        ),
    ),
    ("solver", RowWords(|row| text(row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.as_ref())))),
    (
        "",
        Parts(
            "/conditions/linpack",
            "matrix_bytes mapped_bytes fill_seconds check_seconds fma_flop_per_second fma_clock_hz lost_to_clock \
             lost_to_algorithm refinements",
        ),
    ),
    ("known_as", RowWords(|row| text(familiar::name(row)))),
    ("", Parts("/conditions/disk", "cpu_seconds_per_request")),
    ("undisturbed", OfMetric(|metric| text(metric.summary.undisturbed.as_ref().map(|found| found.value)))),
    ("expected_low", OfMetric(|metric| text(metric.expectations.first().map(|range| range.low)))),
    ("expected_high", OfMetric(|metric| text(metric.expectations.first().map(|range| range.high)))),
    ("expected_source", OfMetric(|metric| text(metric.expectations.first().map(|range| &range.source)))),
    ("verdict", OfMetric(|metric| text(metric.verdict))),
];

/// The whole file, with its heading.
pub fn render(document: &Document) -> String {
    let names = |(start, source): &(&str, Source)| match source {
        Parts(_, names) => names.split(' ').map(|name| format!("{start}{}", name.replace('/', "_"))).collect(),
        _ => vec![(*start).to_owned()],
    };
    let mut text = line(&COLUMNS.iter().flat_map(names).collect::<Vec<_>>());
    for row in &document.experiments {
        // Writing plain data as JSON cannot fail; if it did, its fields would be absent.
        let value = serde_json::to_value(Row { metrics: Vec::new(), ..row.clone() }).unwrap_or(Value::Null);
        let mut add = |metric: Option<&Metric>| {
            let fields = COLUMNS.iter().flat_map(|(_, source)| fields(source, row, &value, metric));
            text.push_str(&line(&fields.collect::<Vec<_>>()));
        };
        if row.metrics.is_empty() {
            add(None);
        }
        row.metrics.iter().for_each(|metric| add(Some(metric)));
    }
    text
}

fn fields(source: &Source, row: &Row, value: &Value, metric: Option<&Metric>) -> Vec<String> {
    match source {
        Parts(place, names) => {
            let part = |name| value.pointer(&format!("{place}/{name}")).map_or_else(String::new, value_text);
            names.split(' ').map(part).collect()
        }
        RowWords(words) => vec![words(row)],
        OfMetric(words) => vec![metric.map_or_else(String::new, words)],
        OfReferences(item) => {
            let references = metric.map_or(&[][..], |metric| &metric.references);
            // A `;` of a tool's version would make two items of it.
            vec![references.iter().map(|reference| item(reference).replace(';', ",")).collect::<Vec<_>>().join(";")]
        }
    }
}

/// A value of the document; numbers with the shortest digits that read back as the same number.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => text(number.as_f64()),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

fn percentile(metric: &Metric, of: fn(&Percentiles) -> f64) -> String {
    text(metric.summary.percentiles.as_ref().map(of))
}

/// The peak that the efficiency is against; without one, the first that could carry one.
fn shown_peak(metric: &Metric) -> Option<&Peak> {
    match metric.efficiency {
        Some(efficiency) => metric.peaks.iter().find(|peak| peak.kind == efficiency.of),
        None => metric.peaks.iter().find(|peak| peak.kind.carries_efficiency()),
    }
}

/// A table as it is shown, for a spreadsheet. Where each text of a column names its own unit, the values are in the base
/// unit, which the heading names; what is absent is an empty field.
pub fn table(grid: &Grid) -> String {
    // The texts of such a column would have to be taken apart, and their values need not.
    let is_in_base_unit = |column: &Column| column.shown.is_empty() && !column.base.is_empty();
    let heading = |column: &Column| {
        if is_in_base_unit(column) { format!("{} [{}]", column.heading, column.base) } else { column.title() }
    };
    let field = |(column, cell): (&Column, &Cell)| match cell.value {
        _ if cell.is_absent() => String::new(),
        Some(value) if is_in_base_unit(column) => value.to_string(),
        _ => cell.text.clone(),
    };
    let mut text = line(&grid.columns.iter().map(heading).collect::<Vec<_>>());
    text.extend(grid.lines.iter().map(|row| line(&grid.columns.iter().zip(&row.cells).map(field).collect::<Vec<_>>())));
    text
}

/// The columns. `source` is `assay` or the tool; `index` counts the samples of a metric, and of a tool the pairs, from 1.
const SAMPLE_COLUMNS: [&str; 18] = [
    "id", "area", "threads", "method", "metric", "unit", "better", "source", "index", "value", "work", "seconds",
    "start", "launch", "block", "session", "clock_hz", "flags",
];

/// One line for each sample, ours and those of reference tools, with a heading.
pub fn samples(document: &Document) -> String {
    let mut text = line(&SAMPLE_COLUMNS.map(str::to_owned));
    for (row, metric) in document.experiments.iter().flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)))
    {
        let common = [
            row.id.clone(),
            row.area.to_string(),
            row.params.threads().to_string(),
            row.method.clone(),
            metric.name.to_string(),
            metric.unit.to_string(),
            metric.better.to_string(),
        ];
        let own = (1_u32..).zip(&metric.samples).map(|(index, sample)| own(index, sample));
        let all = own.chain(metric.references.iter().flat_map(theirs));
        text.extend(all.map(|fields| line(&[common.to_vec(), fields].concat())));
    }
    text
}

/// From `source` on, of one of ours.
fn own(index: u32, sample: &Sample) -> Vec<String> {
    let mut fields = vec!["assay".to_owned(), index.to_string()];
    fields.extend([Some(sample.value), sample.work, Some(sample.seconds), Some(sample.start)].map(text));
    fields.extend([sample.launch, sample.block, sample.session].map(|number| text(Some(number))));
    fields.extend([text(sample.clock_hz), sample.flags.join(";")]);
    fields
}

/// From `source` on, of each run of a tool.
fn theirs(reference: &Reference) -> impl Iterator<Item = Vec<String>> {
    reference.samples.iter().map(|sample| {
        let known = [reference.tool.clone(), sample.pair.to_string(), text(Some(sample.value))];
        let rest = [String::new(), String::new(), text(Some(sample.start))];
        let mut fields: Vec<String> = known.into_iter().chain(rest).collect();
        fields.resize(SAMPLE_COLUMNS.len() - 7, String::new());
        fields
    })
}

pub(crate) fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(crate) fn line(fields: &[String]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    format!("{}\n", quoted.join(","))
}

fn quote(field: &str) -> String {
    let field = harmless(visible(field));
    if field.contains(['"', ',', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

/// The field with an apostrophe before what a spreadsheet would take for a formula (OWASP, "CSV Injection"); a number is
/// none, whatever its sign.
fn harmless(field: String) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\n']) && field.parse::<f64>().is_err();
    // A dash alone is what stands for nothing.
    if is_formula && field != ABSENT { format!("'{field}") } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(quote("a b"), "a b");
        assert_eq!(quote("say \"no\", please\n"), "\"say \"\"no\"\", please\n\"");
    }

    #[test]
    fn what_a_spreadsheet_would_carry_out_is_text() {
        assert_eq!(quote("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(quote("@SUM(1,2)"), "\"'@SUM(1,2)\"");
        for number in ["-1.5", "+2", "-1e-9", "-inf", "-", "a=b"] {
            assert_eq!(quote(number), number);
        }
    }
}
