//! What share of its limit each arithmetic kernel reaches, in operations per cycle of its undisturbed bursts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::texts::{or_dash, quantity};
use crate::record::{Record, confidence, distinct, machine_line};

/// The least share of the limit that a kernel must reach.
const MUST_REACH: f64 = 0.99;
/// The most by which operations per cycle may differ from run to run.
const MUST_REPEAT_WITHIN: f64 = 0.009;

/// A line for each measured benchmark of the cpu area.
pub(super) fn read(document: &Value) -> Vec<Record> {
    let rows = document["experiments"].as_array().into_iter().flatten();
    rows.filter(|row| row["area"] == "cpu" && row["status"] == "ok").filter_map(|row| record(document, row)).collect()
}

fn record(document: &Value, row: &Value) -> Option<Record> {
    let metric = row["metrics"].as_array()?.first()?;
    let has_cycles = |peak: &&Value| peak["kind"] == "sustained" || peak["kind"] == "inferred";
    let peak = metric["peaks"].as_array()?.iter().find(has_cycles).unwrap_or(&Value::Null);
    let per_cycle = |input: &&Value| input["name"].as_str().is_some_and(|name| name.contains("/cycle"));
    let limit = peak["inputs"].as_array().and_then(|inputs| inputs.iter().find(per_cycle)).unwrap_or(&Value::Null);
    let mut line = json!({
        "when": document["run"]["started"],
        "assay": document["assay"]["version"],
        "git": document["assay"]["git"],
        "machine": machine_line(&document["machine"]),
        "id": row["id"],
        "accumulator": row["kernel"]["accumulator"],
        "confidence": confidence(row),
        "n": metric["summary"]["n"],
        "median": metric["summary"]["median"],
        "unit": metric["unit"],
        "efficiency": metric["efficiency"]["value"],
        "limit": limit["value"],
        "limit_source": limit["source"],
        "limit_kind": peak["kind"],
    });
    for key in ["lost_share", "clock_hz", "clock_source", "ops_per_cycle", "ops_per_cycle_p90"] {
        line[key] = row["conditions"][key].clone();
    }
    Some(Record::new(&line))
}

pub(super) fn section(page: &mut String, here: &[&Record]) {
    page.push_str(HEAD);
    let (mut reached, mut known) = (0, 0);
    for id in distinct(here.iter().map(|record| record.text("id"))) {
        let Some(latest) = here.iter().rfind(|record| record.text("id") == id) else { continue };
        // Other builds have other kernels.
        let is_same = |record: &&&Record| record.text("id") == id && record.text("git") == latest.text("git");
        let all: Vec<&Record> = here.iter().filter(is_same).copied().collect();
        known += usize::from(latest.number("limit").is_some());
        reached += usize::from(share(latest).is_some_and(|share| share >= MUST_REACH));
        page.push_str(&table_row(latest, &all));
    }
    let least = 100.0 * MUST_REACH;
    let _ = writeln!(page, "\n{reached} of {known} benchmarks with a known limit reach {least:.0} % of it.\n");
}

const HEAD: &str = "\
### Every arithmetic kernel against its own limit

From `cargo lab peers limits`. *per cycle*: operations per cycle and core in the 90th percentile of all bursts of at least
1 ms, at the clock measured between them. *limit*: explained by `assay info`; ≈ marks a limit inferred from the measurement
itself. *of limit*: the first over the second; it must be 99 %. *repeats*: how far all runs of this build differ in operations
per cycle. *median* and *lost*: the rate over all samples, and the share of it lost to interference.

| benchmark | accumulator | per cycle | limit | of limit | repeats | median | lost | clock | confidence |
|---|---|---|---|---|---|---|---|---|---|
";

/// Operations per cycle over those that the limit allows.
fn share(record: &Record) -> Option<f64> {
    Some(record.number("ops_per_cycle_p90")? / record.number("limit")?)
}

/// How far the values of all runs differ, as a share of the greatest.
fn range(all: &[&Record]) -> Option<f64> {
    let values: Vec<f64> = all.iter().filter_map(|record| record.number("ops_per_cycle_p90")).collect();
    let [least, most] = [f64::min, f64::max].map(|end| values.iter().copied().reduce(end));
    (values.len() > 1).then_some(1.0 - least? / most?)
}

fn table_row(latest: &Record, all: &[&Record]) -> String {
    let percent = |value: Option<f64>, is_bad: bool| {
        let text = or_dash(value.map(|value| format!("{:.1} %", 100.0 * value)));
        if is_bad { format!("**{text}**") } else { text }
    };
    let plain = |key| or_dash(latest.number(key).map(|value| format!("{value:.2}")));
    let (share, range) = (share(latest), range(all));
    format!(
        "| `{}` | {} | {} | {}{} | {} | {} ({}) | {} | {} | {} | {} |\n",
        latest.text("id"),
        latest.text("accumulator"),
        plain("ops_per_cycle_p90"),
        if latest.text("limit_kind") == "inferred" { "≈ " } else { "" },
        plain("limit"),
        percent(share, share.is_some_and(|share| share < MUST_REACH)),
        percent(range, range.is_some_and(|range| range > MUST_REPEAT_WITHIN)),
        all.len(),
        or_dash(latest.number("median").map(|value| quantity(value, latest.text("unit")))),
        percent(latest.number("lost_share"), false),
        or_dash(latest.number("clock_hz").map(|hz| format!("{:.2} GHz", hz / 1e9))),
        latest.confidence(),
    )
}
