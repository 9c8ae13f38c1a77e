//! One comparison of one run: a tool and a metric, as a line of `lab/data/peers.jsonl`.

use serde_json::{Value, json};

use crate::record::{Record, confidence, machine_line};

pub(super) const ATTEMPTS: &str = "lab/data/peers.jsonl";
/// The area whose benchmarks can run on a loop device.
pub(super) const DISK: &str = "disk";
/// The network benchmarks between two namespaces, as word of the command and as path of a benchmark.
pub(super) const VETH: &str = "veth";

/// Under which circumstances a comparison was made; each is a field of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Awake,
    OnLoop,
    Elsewhere,
}

impl Mark {
    /// The field of the line, and what the id of the benchmark gets: a marked comparison never repeats an unmarked one.
    const fn field(self) -> (&'static str, &'static str) {
        match self {
            Self::Awake => ("awake", " awake"),
            Self::OnLoop => ("loop_device", " on a loop device"),
            Self::Elsewhere => ("elsewhere", ""),
        }
    }
}

/// Every comparison in a document, also those that failed, without the tools that are not installed.
pub(super) fn read(document: &Value) -> Vec<Record> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let is_missing =
        |reference: &Value| reference["reason"].as_str().is_some_and(|reason| reason.contains(" is not installed"));
    let mut attempts = Vec::new();
    for row in list(document, "experiments") {
        for metric in list(&row, "metrics") {
            let tried = list(&metric, "references").into_iter().filter(|reference| !is_missing(reference));
            attempts.extend(tried.map(|reference| attempt(document, &row, &metric, &reference)));
        }
    }
    attempts
}

fn attempt(document: &Value, row: &Value, metric: &Value, reference: &Value) -> Record {
    let pair = |sample: &Value| json!([sample["ours"], sample["value"]]);
    let pairs: Vec<Value> = reference["samples"].as_array().into_iter().flatten().map(pair).collect();
    let mut line = json!({
        "when": document["run"]["started"],
        "assay": document["assay"]["version"],
        "git": document["assay"]["git"],
        "machine": machine_line(&document["machine"]),
        "kernel": document["machine"]["os"]["kernel"],
        "id": row["id"],
        "method": row["method"],
        "path": row["params"]["path"],
        "confidence": confidence(row),
        "cpus": row["conditions"]["cpus"],
        "metric": metric["name"],
        "unit": metric["unit"],
        "better": metric["better"],
        "ours": metric["summary"]["median"],
        "ours_cv_robust": reference["spread"]["ours"],
        "theirs_cv_robust": reference["spread"]["theirs"],
        "values": if pairs.is_empty() { Value::Null } else { json!(pairs) },
        "theirs": reference["median"],
        "loop_iops": row["conditions"]["disk"]["loop_iops"],
    });
    let copied = "tool version argv env server_argv status reason pairs ratio ratio_ci95 half_width verdict bytes_factor \
                  explanation also";
    for key in copied.split(' ') {
        line[key] = reference[key].clone();
    }
    Record::new(&line)
}

impl Record {
    pub(super) fn marked(mut self, mark: Mark) -> Self {
        let (field, suffix) = mark.field();
        let id = format!("{}{suffix}", self.text("id"));
        self.0.extend([("id".to_owned(), json!(id)), (field.to_owned(), json!(true))]);
        self
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        self.is(mark.field().0)
    }

    /// The tool's own environment as it is written before a command, without its locale and its folder.
    pub(super) fn environment(&self) -> Vec<String> {
        let all = self.0.get("env").and_then(Value::as_object).into_iter().flatten();
        let own = all.filter(|(name, value)| *name != "LC_ALL" && *value != tools::FOLDER);
        own.filter_map(|(name, value)| Some(format!("{name}='{}'", value.as_str()?))).collect()
    }

    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let ends = self.list("ratio_ci95");
        Some((ends.first()?.as_f64()?, ends.get(1)?.as_f64()?))
    }

    /// Another value that both sides report: ours, theirs, the ratio and its interval.
    pub(super) fn also(&self, name: &str) -> Option<[f64; 5]> {
        let one = self.list("also").iter().find(|one| one["name"] == name)?;
        let ends = &one["ratio_ci95"];
        let numbers = [&one["ours"], &one["theirs"], &one["ratio"], &ends[0], &ends[1]].map(Value::as_f64);
        let [Some(ours), Some(theirs), Some(ratio), Some(low), Some(high)] = numbers else { return None };
        Some([ours, theirs, ratio, low, high])
    }

    /// Machine, benchmark, metric and tool: attempts that agree in these repeat each other.
    pub(super) fn comparison(&self) -> [&str; 4] {
        ["machine", "id", "metric", "tool"].map(|key| self.text(key))
    }

    /// Whether both compare the same metric of the same benchmark on the same machine, with any tool.
    pub(super) fn same_metric(&self, other: &Self) -> bool {
        self.comparison()[..3] == other.comparison()[..3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_installed_tool_of_a_document_is_an_attempt() {
        let document = json!({
            "run": {"started": "2026-11-21T12:00:00Z"},
            "machine": {"cpu": {"model_name": "Some  CPU"}},
            "experiments": [{"id": "net/tcp-stream/128KiB/t1", "confidence": "high", "conditions": {"cpus": [0]}, "metrics": [
                {"name": "throughput", "unit": "B/s", "better": "higher", "summary": {"median": 4e9},
                 "references": [
                    {"tool": "iperf3", "version": "3.12", "argv": ["iperf3", "-c"], "env": {"LC_ALL": "C", "X": "{1},{2}"}, "status": "ok", "pairs": 20,
                     "samples": [{"value": 3.9e9, "ours": 4.0e9, "pair": 1}, {"value": 3.8e9, "ours": 4.1e9, "pair": 2}],
                     "median": 3.9e9, "ratio": 1.026, "ratio_ci95": [1.0, 1.05], "spread": {"ours": 0.02, "theirs": 0.03}, "verdict": "at_least"},
                    {"tool": "other", "status": "skipped", "reason": "not found", "median": null},
                    {"tool": "x", "status": "skipped", "reason": "x is not installed: there is no 'x' on the search path"}]}]}],
        });
        let attempts = read(&document);
        assert_eq!(attempts.len(), 2);
        assert_eq!(attempts[0].comparison(), ["Some CPU", "net/tcp-stream/128KiB/t1", "throughput", "iperf3"]);
        assert_eq!((attempts[0].interval(), attempts[0].confidence()), (Some((1.0, 1.05)), "high"));
        assert_eq!(attempts[0].number("theirs_cv_robust"), Some(0.03));
        assert_eq!(attempts[0].environment(), ["X='{1},{2}'"]);
        assert!(attempts[0].same_metric(&attempts[1]));
        assert_eq!((attempts[1].text("reason"), attempts[1].number("ratio")), ("not found", None));
    }
}
