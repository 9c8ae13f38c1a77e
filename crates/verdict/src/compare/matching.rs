//! Which result of one run is compared with which of the other, and why one cannot be compared.
//!
//! A benchmark keeps its id on every machine, but an id shows only what a plan varies: what else a result depends on
//! (working set, file size, engine, pages) is in the parameters, which must be the same.

use model::comparison::NotCompared;
use model::document::{Document, Row, Status};
use model::number::counted;
use model::sample::{Metric, MetricName};
use model::unit::format_size;
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) base: &'a Row,
    pub(super) new: &'a Row,
    pub(super) base_metric: &'a Metric,
    pub(super) new_metric: &'a Metric,
}

const FOUND: &[&str] = &["level"];

const WORDS: &[(&str, &str)] = &[
    ("working_set", "working set"),
    ("size", "size of the file"),
    ("isa", "instruction set"),
    ("path", "directory or peer"),
    ("zero_copy", "zero-copy"),
    ("direct", "direct I/O"),
    ("lda", "leading dimension"),
];

const SIZES: &[&str] = &["working_set", "size", "block"];

pub(super) fn has_measured(document: &Document, side: &str) -> Result<(), String> {
    if document.experiments.iter().any(|row| row.status == Status::Ok && !row.metrics.is_empty()) {
        return Ok(());
    }
    let (id, rows) = (&document.run.id, counted(document.experiments.len() as u64, "benchmark"));
    Err(format!("{side}, the run '{id}', has no measured result of {rows}. Name another run: assay runs"))
}

/// Every metric that can be compared, in the order of the base, and every other result with the reason.
pub(super) fn pairs<'a>(base: &'a Document, new: &'a Document) -> (Vec<Pair<'a>>, Vec<NotCompared>) {
    let (mut pairs, mut not_compared) = (Vec::new(), Vec::new());
    let mut refuse = |row: &Row, reason: String| not_compared.push(NotCompared { id: row.id.clone(), reason });
    for row in &base.experiments {
        let Some(other) = find(new, &row.id) else {
            refuse(row, "only in BASE".to_owned());
            continue;
        };
        match of_rows(row, other) {
            Ok(found) => pairs.extend(found),
            Err(reason) => refuse(row, reason),
        }
    }
    for row in new.experiments.iter().filter(|row| find(base, &row.id).is_none()) {
        refuse(row, "only in NEW".to_owned());
    }
    (pairs, not_compared)
}

fn find<'a>(document: &'a Document, id: &str) -> Option<&'a Row> {
    document.experiments.iter().find(|row| row.id == id)
}

fn of_rows<'a>(base: &'a Row, new: &'a Row) -> Result<Vec<Pair<'a>>, String> {
    for (row, side) in [(base, "BASE"), (new, "NEW")] {
        if row.status != Status::Ok {
            let reason = row.reason.as_deref().unwrap_or("no reason was recorded");
            return Err(format!("not measured in {side}: {} ({reason})", row.status));
        }
    }
    comparable(base, new)?;
    let mut pairs = Vec::new();
    let mut reason = "no metric on both sides".to_owned();
    for base_metric in metrics(base) {
        let Some(new_metric) = metrics(new).find(|metric| metric.name == base_metric.name) else { continue };
        match usable(base_metric).and_then(|()| usable(new_metric)) {
            Ok(()) => pairs.push(Pair { base, new, base_metric, new_metric }),
            Err(why) => reason = why,
        }
    }
    if pairs.is_empty() { Err(reason) } else { Ok(pairs) }
}

/// Checks that two results mean the same; of different ids only the units must agree.
pub(crate) fn comparable(base: &Row, new: &Row) -> Result<(), String> {
    if base.id == new.id {
        let (method, other) = (&base.method, &new.method);
        if method != other {
            return Err(format!("counted differently: by the method {method} in BASE and {other} in NEW"));
        }
        let differing = differing_parameters(base, new);
        if !differing.is_empty() {
            return Err(format!("measured with other parameters: {}", differing.join(", ")));
        }
    }
    for metric in metrics(base) {
        if let Some(other) = metrics(new).find(|other| other.name == metric.name)
            && (other.unit != metric.unit || other.better != metric.better)
        {
            return Err(format!("its {} is in {} in BASE and in {} in NEW", metric.name, metric.unit, other.unit));
        }
    }
    Ok(())
}

/// The compared metrics: headline, throughput and latency, without those derived from them.
pub(crate) fn metrics(row: &Row) -> impl Iterator<Item = &Metric> {
    let headline = row.metrics.first().map_or("", |metric| metric.name.as_str());
    let derived = if headline == MetricName::Iops.name() { MetricName::Throughput } else { MetricName::Iops };
    let wanted = move |metric: &&Metric| {
        let name = metric.name.as_str();
        // A latency that is the duration of its samples, as LINPACK has, is the rate again.
        let is_duration = || metric.samples.iter().all(|one| one.value.to_bits() == one.seconds.to_bits());
        let known = metric.name == MetricName::Throughput || metric.name == MetricName::Latency && !is_duration();
        (known && name != derived.name()) || name == headline
    };
    row.metrics.iter().filter(wanted)
}

fn usable(metric: &Metric) -> Result<(), String> {
    if metric.samples.is_empty() {
        return Err(format!("no samples of its {}", metric.name));
    }
    let positive = metric.samples.iter().all(|sample| (1e-150..=1e150).contains(&sample.value));
    if positive { Ok(()) } else { Err(format!("a sample of its {} is no positive number", metric.name)) }
}

/// The parameters that differ, in words: `working set 1GiB against 2GiB`.
fn differing_parameters(base: &Row, new: &Row) -> Vec<String> {
    let (base, new) = (object(base), object(new));
    let mut keys: Vec<&String> = base.keys().chain(new.keys().filter(|key| !base.contains_key(*key))).collect();
    keys.retain(|key| !FOUND.contains(&key.as_str()));
    // A parameter that an older version did not know is absent: the same as null.
    let value = |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or(Value::Null);
    let difference = |key: &String| {
        let words = WORDS.iter().find(|(known, _)| known == key).map_or(key.as_str(), |(_, words)| words);
        let (base, new) = (value(&base, key), value(&new, key));
        (base != new).then(|| format!("{words} {} against {}", shown(key, &base), shown(key, &new)))
    };
    keys.into_iter().filter_map(difference).collect()
}

/// Text that is equal where the parameters mean the same, without those of these names.
pub(crate) fn same_parameters(params: &Map<String, Value>, without: &[&str]) -> String {
    let is_compared = |(key, value): &(&String, &Value)| {
        !value.is_null() && !FOUND.contains(&key.as_str()) && !without.contains(&key.as_str())
    };
    let mut words: Vec<String> =
        params.iter().filter(is_compared).map(|(key, value)| format!("{key}={value}")).collect();
    words.sort_unstable();
    words.join(" ")
}

fn object(row: &Row) -> Map<String, Value> {
    match serde_json::to_value(&row.params) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn shown(key: &str, value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(bytes) if SIZES.contains(&key) => format_size(bytes),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
