//! One comparison of one run: what a document says of one tool beside one metric, as a line of `lab/data/peers.jsonl`.

use serde_json::{Map, Value, json};
use stats::SpreadRatio;

/// One line. Kept as the JSON it is, so that lines of earlier and later versions stay readable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt(Map<String, Value>);

/// Every comparison in a document, those that failed among them; not those with tools that are not installed.
pub(crate) fn read(document: &Value) -> Vec<Attempt> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut attempts = Vec::new();
    for row in list(document, "experiments") {
        for metric in list(&row, "metrics") {
            // A tool that is not here was not tried.
            let tried = list(&metric, "references").into_iter().filter(|reference| !is_missing(reference));
            attempts.extend(tried.map(|reference| of(document, &row, &metric, &reference)));
        }
    }
    attempts
}

fn is_missing(reference: &Value) -> bool {
    reference["reason"].as_str().is_some_and(|reason| reason.contains(" is not installed"))
}

fn of(document: &Value, row: &Value, metric: &Value, reference: &Value) -> Attempt {
    let line = json!({
        "when": document["run"]["started"],
        "assay": document["assay"]["version"],
        "git": document["assay"]["git"],
        "machine": machine(&document["machine"]),
        "kernel": document["machine"]["os"]["kernel"],
        "id": row["id"],
        "method": row["method"],
        "path": row["params"]["path"],
        "confidence": row["confidence"],
        "cpus": row["conditions"]["cpus"],
        "metric": metric["name"],
        "unit": metric["unit"],
        "better": metric["better"],
        "ours": metric["summary"]["median"],
        "ours_cv_robust": reference["spread"]["ours"],
        "theirs_cv_robust": reference["spread"]["theirs"],
        "figures": figures(reference),
        "tool": reference["tool"],
        "version": reference["version"],
        "argv": reference["argv"],
        "env": reference["env"],
        "server_argv": reference["server_argv"],
        "status": reference["status"],
        "reason": reference["reason"],
        "pairs": reference["pairs"],
        "theirs": reference["median"],
        "ratio": reference["ratio"],
        "ratio_ci95": reference["ratio_ci95"],
        "half_width": reference["half_width"],
        "verdict": reference["verdict"],
        "bytes_factor": reference["bytes_factor"],
        "explanation": reference["explanation"],
        "also": reference["also"],
        "loop_iops": row["conditions"]["disk"]["loop_iops"],
    });
    Attempt(line.as_object().cloned().unwrap_or_default())
}

/// Ours and theirs of every pair, in the order of measurement; `null` where there is none.
fn figures(reference: &Value) -> Value {
    let pair = |sample: &Value| json!([sample["ours"], sample["value"]]);
    let pairs: Vec<Value> = reference["samples"].as_array().into_iter().flatten().map(pair).collect();
    if pairs.is_empty() { Value::Null } else { json!(pairs) }
}

/// The machine in a line: processor, cores, memory, hypervisor.
pub(super) fn machine(machine: &Value) -> String {
    let cpu = &machine["cpu"];
    let name =
        cpu["model_name"].as_str().unwrap_or("unknown processor").split_whitespace().collect::<Vec<_>>().join(" ");
    let architecture = cpu["microarchitecture"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
    let cores = cpu["cores"].as_u64().map(|cores| format!(", {cores} cores")).unwrap_or_default();
    let memory = machine["memory"]["total_bytes"].as_f64();
    let memory = memory.map(|bytes| format!(", {:.0} GiB", bytes / f64::from(1 << 30))).unwrap_or_default();
    let hypervisor = machine["virtualization"]["hypervisor"].as_str();
    let hypervisor = hypervisor.map(|name| format!(", {name} guest")).unwrap_or_default();
    format!("{name}{architecture}{cores}{memory}{hypervisor}")
}

impl Attempt {
    /// Made while no CPU went idle: another comparison than the same without.
    pub(super) fn made_awake(mut self) -> Self {
        self.0.insert("id".to_owned(), json!(format!("{} awake", self.text("id"))));
        self.0.insert("awake".to_owned(), json!(true));
        self
    }

    /// Whether no CPU went idle meanwhile.
    pub(super) fn is_awake(&self) -> bool {
        self.0.get("awake") == Some(&json!(true))
    }

    /// Made on a loop device: another comparison than the same on the disk itself.
    pub(super) fn made_on_a_loop(mut self) -> Self {
        self.0.insert("id".to_owned(), json!(format!("{} on a loop device", self.text("id"))));
        self.0.insert("loop_device".to_owned(), json!(true));
        self
    }

    /// Whether it was on a loop device.
    pub(super) fn is_on_a_loop(&self) -> bool {
        self.0.get("loop_device") == Some(&json!(true))
    }

    /// Taken from a document that another machine made.
    pub(super) fn made_elsewhere(mut self) -> Self {
        self.0.insert("elsewhere".to_owned(), json!(true));
        self
    }

    /// Whether it was taken from a document that another machine made.
    pub(super) fn is_from_elsewhere(&self) -> bool {
        self.0.get("elsewhere") == Some(&json!(true))
    }

    /// As a line.
    pub(crate) fn line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// From a line; `None` of what is none.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        serde_json::from_str::<Value>(line).ok()?.as_object().cloned().map(Self)
    }

    /// A text of it, empty where it has none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number of it.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    /// Words of it, such as a command line.
    pub(crate) fn words(&self, key: &str) -> Vec<&str> {
        let list = self.0.get(key).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    /// What a tool's environment held but its locale and its folder, as it is written before a command.
    pub(crate) fn environment(&self) -> Vec<String> {
        let all = self.0.get("env").and_then(Value::as_object).into_iter().flatten();
        let its_own = all.filter(|(name, value)| *name != "LC_ALL" && *value != tools::FOLDER);
        its_own.filter_map(|(name, value)| Some(format!("{name}='{}'", value.as_str()?))).collect()
    }

    /// The CPUs that both sides could use.
    pub(crate) fn cpus(&self) -> Vec<u64> {
        let list = self.0.get("cpus").and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_u64).collect()).unwrap_or_default()
    }

    /// The figures of every pair, ours first; none in lines of versions that did not keep them.
    fn pairs(&self) -> Vec<(f64, f64)> {
        let list = self.0.get("figures").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|pair| Some((pair[0].as_f64()?, pair[1].as_f64()?))).collect()
    }

    /// How much further our figures scatter than the tool's; `None` where the line does not hold them, or theirs do not
    /// scatter.
    pub(crate) fn spread_ratio(&self) -> Option<SpreadRatio> {
        stats::spread_ratio(&self.pairs()).ok()
    }

    /// The area of its row.
    pub(crate) fn area(&self) -> &str {
        self.text("id").split('/').next().unwrap_or_default()
    }

    /// The two ends of the ratio's interval.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let ends = self.0.get("ratio_ci95")?.as_array()?;
        Some((ends.first()?.as_f64()?, ends.get(1)?.as_f64()?))
    }

    /// Another figure that both sides reported: ours, theirs, the ratio and its interval.
    pub(crate) fn also(&self, name: &str) -> Option<[f64; 5]> {
        let all = self.0.get("also").and_then(Value::as_array)?;
        let one = all.iter().find(|one| one["name"] == name)?;
        let number = |value: &Value| value.as_f64();
        let ends = &one["ratio_ci95"];
        Some([
            number(&one["ours"])?,
            number(&one["theirs"])?,
            number(&one["ratio"])?,
            number(&ends[0])?,
            number(&ends[1])?,
        ])
    }

    /// What is compared with what, on which machine: attempts that agree in it are repetitions of each other.
    pub(crate) fn comparison(&self) -> (&str, &str, &str, &str) {
        (self.text("machine"), self.text("id"), self.text("metric"), self.text("tool"))
    }

    /// Whether another is of the same run too, and not its repetition.
    pub(super) fn is_the_same_as(&self, other: &Self) -> bool {
        self.comparison() == other.comparison() && self.text("when") == other.text("when")
    }

    /// Whether another is beside the same metric of the same row on the same machine, whatever its tool.
    pub(crate) fn is_beside_the_same_as(&self, other: &Self) -> bool {
        ["machine", "id", "metric"].iter().all(|key| self.text(key) == other.text(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn document() -> Value {
        json!({
            "assay": {"version": "0.1.0", "git": "abc"},
            "run": {"started": "2026-11-21T12:00:00Z"},
            "machine": {"cpu": {"model_name": "Some  CPU", "microarchitecture": "Zen 5", "cores": 2},
                        "memory": {"total_bytes": 25_769_803_776_u64}, "os": {"kernel": "6.18"},
                        "virtualization": {"hypervisor": "KVM"}},
            "experiments": [{"id": "net/tcp-stream/128KiB/t1", "confidence": "A", "conditions": {"cpus": [0]}, "metrics": [
                {"name": "throughput", "unit": "B/s", "better": "higher", "summary": {"median": 4e9},
                 "references": [
                    {"tool": "iperf3", "version": "3.12", "argv": ["iperf3", "-c"], "env": {"LC_ALL": "C", "X": "{1},{2}"}, "status": "ok", "pairs": 20,
                     "samples": [{"value": 3.9e9, "ours": 4.0e9, "pair": 1}, {"value": 3.8e9, "ours": 4.1e9, "pair": 2}],
                     "median": 3.9e9, "ratio": 1.026, "ratio_ci95": [1.0, 1.05], "spread": {"ours": 0.02, "theirs": 0.03}, "verdict": "at_least"},
                    {"tool": "other", "status": "skipped", "reason": "not found", "median": null}]}]}],
        })
    }

    #[test]
    fn every_reference_of_a_document_is_an_attempt() {
        let attempts = read(&document());
        assert_eq!(attempts.len(), 2);
        assert_eq!(attempts[0].text("machine"), "Some CPU (Zen 5), 2 cores, 24 GiB, KVM guest");
        assert_eq!(attempts[0].interval(), Some((1.0, 1.05)));
        assert_eq!(attempts[0].number("theirs_cv_robust"), Some(0.03));
        assert_eq!((attempts[0].environment(), attempts[0].cpus()), (vec!["X='{1},{2}'".to_owned()], vec![0]));
        assert!(attempts[0].is_beside_the_same_as(&attempts[1]));
        assert_eq!((attempts[0].pairs(), attempts[0].area()), (vec![(4.0e9, 3.9e9), (4.1e9, 3.8e9)], "net"));
        assert_eq!(attempts[0].spread_ratio().map(|spread| (spread.n, spread.interval)), Some((2, None)));
        assert_eq!((attempts[1].pairs(), attempts[1].spread_ratio()), (vec![], None));
        assert_eq!(attempts[1].text("reason"), "not found");
        assert_eq!(attempts[1].number("ratio"), None);
    }

    #[test]
    fn a_tool_that_is_not_here_was_not_tried() {
        let mut document = document();
        let reason = &mut document["experiments"][0]["metrics"][0]["references"][1]["reason"];
        *reason = json!("x is not installed: there is no 'x' on the search path");
        assert_eq!(read(&document).len(), 1);
    }

    #[test]
    fn a_line_reads_back() {
        let attempt = &read(&document())[0];
        assert_eq!(Attempt::of_line(&attempt.line()).as_ref(), Some(attempt));
        assert_eq!(Attempt::of_line("garbage"), None);
    }
}
