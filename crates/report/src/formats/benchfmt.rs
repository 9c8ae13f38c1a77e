//! The Go benchmark format (<https://go.dev/design/14313-benchmark-format>) for `benchstat`: a line for each sample.
//!
//! By default benchstat compares only runs that agree in all configuration (`goos`, `pkg`, `cpu`), so the run's name and
//! what was not measured are comments.

use std::collections::BTreeSet;
use std::fmt::Write;

use model::document::{Document, Row, Status};
use model::sample::Metric;
use model::unit::{Better, Unit};

use crate::formats::escape::one_line;
use crate::grid::groups::by_area;
use crate::reason::NO_REASON;

const NANO: f64 = 1e9;

/// The whole file.
pub fn render(document: &Document) -> String {
    let mut text = String::new();
    let [id, suite, version] =
        [&document.run.id, &document.run.suite, &document.assay.version].map(|part| one_line(part));
    let _ = writeln!(text, "# {id}, {suite} suite, Assay {version}");
    text.push_str("goos: linux\n");
    if let Some(model) = document.machine.cpu.model_name.as_deref().map(one_line).filter(|model| !model.is_empty()) {
        let _ = writeln!(text, "cpu: {model}");
    }
    text.push_str(&units(document));
    for (area, rows) in by_area(document) {
        let _ = writeln!(text, "pkg: assay/{area}");
        text.extend(rows.into_iter().map(lines));
    }
    text
}

/// Which direction of each unit is better, where benchstat does not know it.
fn units(document: &Document) -> String {
    let metrics = document.experiments.iter().flat_map(|row| &row.metrics);
    let units: BTreeSet<(String, Better)> = metrics.map(|metric| (unit(metric).0, metric.better)).collect();
    let line = |(unit, better): &(String, Better)| format!("Unit {unit} better={better}\n");
    units.iter().map(line).collect()
}

fn lines(row: &Row) -> String {
    if row.status != Status::Ok {
        let [id, reason] = [row.id.as_str(), row.reason.as_deref().unwrap_or(NO_REASON)].map(one_line);
        return format!("# {} {id}: {reason}\n", row.status);
    }
    let name = name(row);
    let count = row.metrics.iter().map(|metric| metric.samples.len()).max().unwrap_or(0);
    let line = |index: usize| {
        let values: Vec<String> = row.metrics.iter().filter_map(|metric| value(metric, index)).collect();
        (!values.is_empty()).then(|| format!("{name} 1 {}\n", values.join(" ")))
    };
    (0..count).filter_map(line).collect()
}

/// `BenchmarkCpu/fma/fp64/avx512/t2-2`: the id, and behind the dash the threads, as Go has its processors there.
fn name(row: &Row) -> String {
    let id: String = one_line(&row.id).chars().map(|c| if c == ' ' { '_' } else { c }).collect();
    let mut chars = id.chars();
    // What follows the word must not be a small letter.
    let first = chars.next().map_or_else(|| "X".to_owned(), |first| first.to_uppercase().collect());
    let first = if first.starts_with(char::is_lowercase) { format!("X{first}") } else { first };
    format!("Benchmark{first}{}-{}", chars.as_str(), row.params.threads())
}

fn value(metric: &Metric, index: usize) -> Option<String> {
    let value = metric.samples.get(index)?.value;
    let (unit, factor) = unit(metric);
    let value = value * factor;
    value.is_finite().then(|| format!("{} {unit}", number(value)))
}

/// The shortest digits that read back as the same number, with an exponent where they would be many.
fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e15).contains(&size) { value.to_string() } else { format!("{value:e}") }
}

/// The unit of a metric's values, and how many of it one of the base unit is. Units have no blanks, and those of one line
/// differ, so all but the metrics that Go has too contain the metric's name.
fn unit(metric: &Metric) -> (String, f64) {
    let name = Some(one_line(metric.name.as_str()).replace(' ', "_")).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "unnamed".to_owned());
    match (metric.name.as_str(), metric.unit) {
        ("throughput", unit) => (unit.to_string(), 1.0),
        ("latency", Unit::Second) => ("ns/op".to_owned(), NANO),
        ("iops", Unit::PerSecond) => ("IO/s".to_owned(), 1.0),
        ("cpu_cost", Unit::SecondPerByte) => ("cpu-ns/B".to_owned(), NANO),
        (_, Unit::Second) => (format!("{name}-ns"), NANO),
        (_, Unit::One) => (name, 1.0),
        (_, unit) => (format!("{name}-{unit}"), 1.0),
    }
}
