//! Prometheus' text exposition format, for the textfile collector of `node_exporter`: gauges in base units, a series for
//! each row. The median has the metric's name (`assay_throughput_bytes_per_second`); interval, deviation, peaks, percentiles
//! and reference tools have names of their own, so that no sum over a name mixes different things. Every series has the
//! labels `run` and `suite`, so that the files of several runs can be in one folder.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::document::{Document, Row, Status};
use model::sample::Metric;
use model::unit::Unit;

use crate::formats::escape::one_line;
use crate::grid::groups::grouped;

#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// Labels of every series.
    common: [(&'static str, String); 2],
    /// Help of each metric, and its series by their labels as they are written: the format demands one of equal labels only.
    metrics: BTreeMap<String, (String, BTreeMap<String, f64>)>,
}

impl Exposition {
    pub(crate) fn new(common: [(&'static str, String); 2]) -> Self {
        Self { common, metrics: BTreeMap::new() }
    }

    /// Adds a series with a finite value; the first of equal labels stays.
    pub(crate) fn add(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        if value.is_finite() {
            let common = self.common.iter().map(|(name, text)| (*name, text.as_str()));
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain(common).collect();
            let (_, series) = self.metrics.entry(name.to_owned()).or_insert_with(|| (help.to_owned(), BTreeMap::new()));
            series.entry(labels_text(&labels)).or_insert(value);
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, (help, series)) in &self.metrics {
            let help = one_line(help).replace('\\', "\\\\");
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
            for (labels, value) in series {
                let _ = writeln!(text, "{name}{labels} {value:?}");
            }
        }
        text
    }
}

/// The whole file.
pub fn render(document: &Document) -> String {
    let common = [("run", document.run.id.clone()), ("suite", document.run.suite.clone())];
    let mut exposition = Exposition::new(common);
    add_run(&mut exposition, document);
    for row in &document.experiments {
        add_row(&mut exposition, row);
    }
    exposition.text()
}

fn add_run(exposition: &mut Exposition, document: &Document) {
    let run = &document.run;
    let labels = [
        ("version", document.assay.version.as_str()),
        ("host", document.machine.host.as_deref().unwrap_or_default()),
        ("cpu", document.machine.cpu.model_name.as_deref().unwrap_or_default()),
        ("confidence", run.confidence.map_or("", |confidence| confidence.name())),
    ];
    let help = "The run: its program, machine and confidence; always 1.";
    exposition.add("assay_run_info", help, &labels, 1.0);
    exposition.add("assay_run_duration_seconds", "How long the run took.", &[], run.seconds);
    if let Some(started) = unix_seconds(&run.started) {
        exposition.add("assay_run_start_time_seconds", "When the run began, in seconds since 1970.", &[], started);
    }
    let complete = if run.complete { 1.0 } else { 0.0 };
    exposition.add("assay_run_complete", "Whether every planned benchmark was reached.", &[], complete);
    for status in Status::ALL {
        let count = document.experiments.iter().filter(|row| row.status == *status).count() as f64;
        exposition.add("assay_rows", "Planned benchmarks by status.", &[("status", status.name())], count);
    }
    let warnings = document.experiments.iter().flat_map(|row| &row.warnings);
    for (code, alike) in grouped(warnings, |warning| Some(warning.code.as_str())) {
        let help = "Warnings by kind, over all benchmarks.";
        exposition.add("assay_warnings", help, &[("code", code)], alike.len() as f64);
    }
}

fn add_row(exposition: &mut Exposition, row: &Row) {
    let (id, area) = (row.id.as_str(), row.area.name());
    let own = [("id", id), ("area", area)];
    let with = |name: &'static str, value: &'static str| [own[0], own[1], (name, value)];
    exposition.add("assay_row_status", "Status of a benchmark; always 1.", &with("status", row.status.name()), 1.0);
    if let Some(confidence) = row.confidence {
        let help = "Confidence of a benchmark (high, fair, low); always 1.";
        exposition.add("assay_row_confidence", help, &with("confidence", confidence.name()), 1.0);
    }
    row.metrics.iter().for_each(|metric| add_metric(exposition, row, metric));
}

fn add_metric(exposition: &mut Exposition, row: &Row, metric: &Metric) {
    let own = [("id", row.id.as_str()), ("area", row.area.name())];
    let name = |part: &str| name("assay", metric.name.as_str(), part, metric.unit);
    let of = one_line(metric.name.as_str());
    let summary = &metric.summary;
    let [low, high] = summary.ci95.map_or([None; 2], |ends| ends.map(Some));
    let values = [
        ("", "Median", Some(summary.median)),
        ("_ci95_low", "Lower end of the 95 % interval of the median", low),
        ("_ci95_high", "Upper end of the 95 % interval of the median", high),
        ("_stddev", "Standard deviation of the samples", summary.stddev),
    ];
    for (part, what, value) in values {
        exposition.add(&name(part), &format!("{what} of {of}."), &own, value.unwrap_or(f64::NAN));
    }
    let counted = [own[0], own[1], ("metric", metric.name.as_str())];
    exposition.add("assay_samples", "Samples of a metric.", &counted, f64::from(summary.n));
    if let Some(found) = &summary.percentiles {
        // A label "quantile" is for summaries alone.
        let shown = [("50", found.p50), ("90", found.p90), ("99", found.p99), ("99.9", found.p99_9)];
        for (percentile, value) in shown.into_iter().chain([("99.99", found.p99_99), ("100", found.max)]) {
            let labels = [own[0], own[1], ("percentile", percentile)];
            exposition.add(&name("_percentile"), &format!("Percentiles of {of} over all operations."), &labels, value);
        }
    }
    for peak in &metric.peaks {
        let labels = [own[0], own[1], ("kind", peak.kind.name())];
        exposition.add(&name("_peak"), &format!("Limits of {of} by kind."), &labels, peak.value);
    }
    if let Some(efficiency) = metric.efficiency {
        let labels = [own[0], own[1], ("metric", metric.name.as_str()), ("of", efficiency.of.name())];
        exposition.add("assay_efficiency_ratio", "Share of the peak that was reached.", &labels, efficiency.value);
    }
    if let Some(range) = metric.expectations.first() {
        let labels = [own[0], own[1], ("source", range.source.as_str())];
        for (part, value) in [("_expected_low", range.low), ("_expected_high", range.high)] {
            exposition.add(&name(part), &format!("Range in which {of} should be."), &labels, value);
        }
    }
    if let Some(verdict) = metric.verdict {
        let labels = [own[0], own[1], ("metric", metric.name.as_str()), ("verdict", verdict.name())];
        let help = "Whether a metric is as_expected, below or above its range; always 1.";
        exposition.add("assay_verdict", help, &labels, 1.0);
    }
    for reference in &metric.references {
        let Some(median) = reference.median else { continue };
        let version = reference.version.as_deref().unwrap_or_default();
        let labels = [own[0], own[1], ("tool", &reference.tool), ("version", version)];
        exposition.add(&name("_reference"), &format!("Value of {of} measured by a reference tool."), &labels, median);
        if let Some(ratio) = reference.ratio {
            let labels = [own[0], own[1], ("metric", metric.name.as_str()), ("tool", &reference.tool)];
            exposition.add("assay_reference_ratio", "Our value over that of a reference tool.", &labels, ratio);
        }
    }
}

/// The name of a metric's series: `assay_throughput_peak_bytes_per_second`.
pub(crate) fn name(before: &str, metric: &str, part: &str, unit: Unit) -> String {
    let stem = name_part(metric);
    format!("{before}_{stem}{part}{}", suffix(&stem, unit))
}

/// A name of the document as a part of a metric's name: small letters, digits and underscores.
fn name_part(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The base unit at the end of a metric's name; requests per second and plain numbers other than shares have none.
fn suffix(stem: &str, unit: Unit) -> &'static str {
    match (stem, unit) {
        ("loss" | "duplicates" | "reordered", Unit::One) => "_ratio",
        ("iops", Unit::PerSecond) | (_, Unit::One) => "",
        (_, Unit::FlopPerSecond) => "_flop_per_second",
        (_, Unit::OpPerSecond) => "_operations_per_second",
        (_, Unit::BytePerSecond) => "_bytes_per_second",
        (_, Unit::Second) => "_seconds",
        (_, Unit::PerSecond) => "_per_second",
        (_, Unit::Hertz) => "_hertz",
        (_, Unit::SecondPerByte) => "_seconds_per_byte",
    }
}

/// `{id="…",area="…"}`; a backslash, a quote and the end of a line are escaped.
fn labels_text(labels: &[(&str, &str)]) -> String {
    let value = |text: &str| one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    let labels: Vec<String> = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", value(text))).collect();
    format!("{{{}}}", labels.join(","))
}

/// Seconds since 1970 of `2026-11-20T12:00:00Z`; `None` where it is no such moment.
pub(crate) fn unix_seconds(text: &str) -> Option<f64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers =
        |text: &str, separator| -> Option<Vec<u32>> { text.split(separator).map(|part| part.parse().ok()).collect() };
    let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
    let (&[year, month, day], &[hour, minute, second]) = (date.as_slice(), time.as_slice()) else { return None };
    if !(1970..10_000).contains(&year) || !(1..13).contains(&month) || !(1..32).contains(&day) {
        return None;
    }
    // Years are counted from March on, so that the leap day is the last of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_before_month = (153 * month + 2) / 5;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + days_before_month + day - 1;
    // From 1 March of the year 0 to 1 January 1970.
    let days = days.checked_sub(719_468)?;
    (hour < 24 && minute < 60 && second < 61)
        .then(|| f64::from(days) * 86_400.0 + f64::from(hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_seconds_since_1970() {
        assert_eq!(unix_seconds("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(unix_seconds("2000-02-29T23:59:59Z"), Some(951_868_799.0));
        assert_eq!(unix_seconds("2026-11-20T12:00:00Z"), Some(1_795_176_000.0));
        for none in
            ["", "2026-11-20", "2026-13-20T12:00:00Z", "1969-12-31T00:00:00Z", "2026-11-20T12:00Z", "-1-1-1T1:1:1Z"]
        {
            assert_eq!(unix_seconds(none), None, "{none}");
        }
    }

    #[test]
    fn labels_and_names_are_escaped() {
        assert_eq!(labels_text(&[("id", "a\\b\"c\nd")]), "{id=\"a\\\\b\\\"c d\"}");
        assert_eq!(name_part("Through-put é"), "through_put__");
    }

    #[test]
    fn equal_series_are_written_once_and_what_is_no_number_never() {
        let common = [("run", "r1".to_owned()), ("suite", "quick".to_owned())];
        let mut exposition = Exposition::new(common);
        exposition.add("a", "A.", &[("id", "x")], 1.0);
        exposition.add("a", "A.", &[("id", "x")], 2.0);
        exposition.add("b", "B.", &[], f64::NAN);
        assert_eq!(exposition.text(), "# HELP a A.\n# TYPE a gauge\na{id=\"x\",run=\"r1\",suite=\"quick\"} 1.0\n");
    }
}
