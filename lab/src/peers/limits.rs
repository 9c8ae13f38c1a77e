//! Our arithmetic kernels against their own limit: how many operations per cycle the undisturbed bursts of each reach, of
//! those that the peak allows.
//!
//! The program measures, and its document says; here each row becomes a line of `lab/data/limits.jsonl` and of a table. Only
//! the share of the limit is worked out here: one figure of the document over another.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::attempt::{Attempt, machine};

/// The least share of the limit that a kernel must reach.
const MUST_REACH: f64 = 0.99;

/// The most by which operations per cycle may differ from run to run.
const MUST_REPEAT_WITHIN: f64 = 0.009;

/// Every measured row of the cpu area in a document.
pub(super) fn read(document: &Value) -> Vec<Attempt> {
    let rows = document["experiments"].as_array().into_iter().flatten();
    rows.filter(|row| row["area"] == "cpu" && row["status"] == "ok").filter_map(|row| of(document, row)).collect()
}

fn of(document: &Value, row: &Value) -> Option<Attempt> {
    let metric = row["metrics"].as_array()?.first()?;
    let carries = |peak: &&Value| peak["kind"] == "sustained" || peak["kind"] == "inferred";
    let peak = metric["peaks"].as_array()?.iter().find(carries);
    let per_cycle = |input: &&Value| input["name"].as_str().is_some_and(|name| name.contains("/cycle"));
    let limit = peak.and_then(|peak| peak["inputs"].as_array()?.iter().find(per_cycle).cloned());
    let conditions = &row["conditions"];
    let line = json!({
        "when": document["run"]["started"],
        "assay": document["assay"]["version"],
        "git": document["assay"]["git"],
        "machine": machine(&document["machine"]),
        "id": row["id"],
        "accumulator": row["kernel"]["accumulator"],
        "confidence": row["confidence"],
        "n": metric["summary"]["n"],
        "median": metric["summary"]["median"],
        "unit": metric["unit"],
        "efficiency": metric["efficiency"]["value"],
        "lost_share": conditions["lost_share"],
        "clock_hz": conditions["clock_hz"],
        "clock_source": conditions["clock_source"],
        "ops_per_cycle": conditions["ops_per_cycle"],
        "ops_per_cycle_p90": conditions["ops_per_cycle_p90"],
        "limit": limit.as_ref().map(|limit| limit["value"].clone()),
        "limit_source": limit.as_ref().map(|limit| limit["source"].clone()),
        "limit_kind": peak.map(|peak| peak["kind"].clone()),
    });
    Attempt::of_line(&line.to_string())
}

/// The part of the page about one machine; nothing where there are no lines.
pub(super) fn section(page: &mut String, here: &[&Attempt]) {
    let mut ids: Vec<&str> = Vec::new();
    for attempt in here {
        if !ids.contains(&attempt.text("id")) {
            ids.push(attempt.text("id"));
        }
    }
    if ids.is_empty() {
        return;
    }
    page.push_str(HEAD);
    let (mut reached, mut known) = (0, 0);
    for id in &ids {
        let of_id: Vec<&Attempt> = here.iter().copied().filter(|attempt| attempt.text("id") == *id).collect();
        let Some(latest) = of_id.last() else { continue };
        // Other builds have other kernels.
        let all: Vec<&Attempt> =
            of_id.iter().copied().filter(|attempt| attempt.text("git") == latest.text("git")).collect();
        known += usize::from(latest.number("limit").is_some());
        reached += usize::from(share(latest).is_some_and(|share| share >= MUST_REACH));
        page.push_str(&line(latest, &all));
    }
    let least = 100.0 * MUST_REACH;
    let _ = writeln!(page, "\n{reached} of {known} rows with a known limit reach {least:.0} % of it.\n");
}

const HEAD: &str = "\
### Every arithmetic kernel against its own limit

From `cargo lab peers limits`. *per cycle*: operations per cycle and core in the 90th percentile of all bursts of 1 ms
or more, beside the clock measured between them, and the limit that `assay info` explains (≈ where it is inferred from
the measurement itself, and says nothing). *of limit*: the former over the latter; it must be 99 %. *repeats*: how far
the per-cycle figures of all runs of this build lie apart. *median* and *lost*: the rate over all samples, and the share
of it that others on the host took.

| what | accumulator | per cycle | limit | of limit | repeats | median | lost | clock | confidence |
|---|---|---|---|---|---|---|---|---|---|
";

/// Operations per cycle over those that the limit allows.
fn share(attempt: &Attempt) -> Option<f64> {
    Some(attempt.number("ops_per_cycle_p90")? / attempt.number("limit")?)
}

/// How far the figures of all runs lie apart, of the greatest.
fn apart(all: &[&Attempt]) -> Option<f64> {
    let figures: Vec<f64> = all.iter().filter_map(|attempt| attempt.number("ops_per_cycle_p90")).collect();
    let least = figures.iter().copied().reduce(f64::min)?;
    let most = figures.iter().copied().reduce(f64::max)?;
    (figures.len() > 1).then(|| 1.0 - least / most)
}

fn line(latest: &Attempt, all: &[&Attempt]) -> String {
    let percent = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{:.1} %", 100.0 * value));
    let figure = |key| latest.number(key).map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let inferred = if latest.text("limit_kind") == "inferred" { "≈ " } else { "" };
    let missed = share(latest).is_some_and(|share| share < MUST_REACH);
    let of_limit = if missed { format!("**{}**", percent(share(latest))) } else { percent(share(latest)) };
    let apart = apart(all);
    let far = apart.is_some_and(|apart| apart > MUST_REPEAT_WITHIN);
    let repeats = if far { format!("**{}**", percent(apart)) } else { percent(apart) };
    let clock = latest.number("clock_hz").map_or_else(|| "–".to_owned(), |hz| format!("{:.2} GHz", hz / 1e9));
    format!(
        "| `{}` | {} | {} | {inferred}{} | {of_limit} | {repeats} ({}) | {} | {} | {clock} | {} |\n",
        latest.text("id"),
        latest.text("accumulator"),
        figure("ops_per_cycle_p90"),
        figure("limit"),
        all.len(),
        latest
            .number("median")
            .map_or_else(|| "–".to_owned(), |value| super::shared::quantity(value, latest.text("unit"))),
        percent(latest.number("lost_share")),
        latest.text("confidence"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(p90: f64) -> Value {
        json!({
            "assay": {"version": "0.1.0", "git": "abc"},
            "run": {"started": "now"},
            "machine": {"cpu": {"model_name": "CPU"}},
            "experiments": [
                {"id": "cpu/fma/fp64/avx2/t1", "area": "cpu", "status": "ok", "confidence": "A",
                 "kernel": {"accumulator": "fp64"},
                 "conditions": {"ops_per_cycle": p90, "ops_per_cycle_p90": p90, "clock_hz": 3e9, "lost_share": 0.004},
                 "metrics": [{"unit": "flop/s", "summary": {"n": 9, "median": 47.5e9}, "peaks": [
                    {"kind": "boost", "inputs": []},
                    {"kind": "sustained", "inputs": [{"name": "cores", "value": 1.0},
                        {"name": "flop/cycle", "value": 16.0, "source": "table"}]}]}]},
                {"id": "cpu/matrix/int8/amx/t1", "area": "cpu", "status": "skipped", "metrics": []},
                {"id": "memory/x", "area": "memory", "status": "ok", "metrics": []}],
        })
    }

    #[test]
    fn only_measured_rows_of_arithmetic_have_a_limit() {
        let lines = read(&document(15.9));
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].number("limit"), lines[0].number("ops_per_cycle_p90")), (Some(16.0), Some(15.9)));
    }

    #[test]
    fn what_falls_short_or_does_not_repeat_stands_out() {
        let (first, second) = (read(&document(15.9)).remove(0), read(&document(15.0)).remove(0));
        let mut page = String::new();
        section(&mut page, &[&first]);
        assert!(page.contains("| 99.4 % | – (1) | 47.50 Gflop/s | 0.4 % | 3.00 GHz | A |"), "{page}");
        assert!(page.contains("1 of 1 rows"), "{page}");
        page.clear();
        section(&mut page, &[&first, &second]);
        let other_build = Attempt::of_line(&first.line().replace("\"abc\"", "\"def\"")).unwrap();
        let mut page_of_two = String::new();
        section(&mut page_of_two, &[&first, &other_build]);
        assert!(page_of_two.contains("| 99.4 % | – (1) |"), "{page_of_two}");
        assert!(page.contains("| **93.8 %** | **5.7 %** (2) |") && page.contains("0 of 1 rows"), "{page}");
    }
}
