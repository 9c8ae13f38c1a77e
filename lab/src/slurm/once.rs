//! Whether every task of a plan was done exactly once, in its folder and in the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

pub(super) type Name = (String, String);

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with('.')).collect()
}

fn tasks(plan: &Path, state: &str) -> Vec<Name> {
    let folder = plan.join(state);
    let of = |node: String| {
        let files = names(&folder.join(&node)).into_iter();
        let json = files.filter(|file| state == "done" || Path::new(file).extension().is_some_and(|end| end == "json"));
        json.map(|file| {
            let name = file.strip_suffix(".json").unwrap_or(&file);
            (node.clone(), name.split('@').next().unwrap_or(name).to_owned())
        })
        .collect::<Vec<_>>()
    };
    names(&folder).into_iter().flat_map(of).collect()
}

pub(super) fn waiting(plan: &Path) -> BTreeSet<Name> {
    tasks(plan, "waiting").into_iter().collect()
}

#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    left: Vec<Name>,
    done: Vec<Name>,
    wrong: Vec<String>,
}

impl Found {
    pub(super) fn of(plan: &Path) -> Self {
        let left = [tasks(plan, "waiting"), tasks(plan, "running")].concat();
        let done = tasks(plan, "done");
        let wrong = done.iter().filter_map(|(node, task)| {
            let file = plan.join("done").join(node).join(task).join("outcome.json");
            let outcome = fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let Some(outcome) = outcome else {
                return Some(format!("{node}/{task}: no outcome.json that can be read"));
            };
            let own = outcome["task"]["node"] == node.as_str() && outcome["task"]["name"] == task.as_str();
            let why = outcome["reason"].as_str().unwrap_or_default();
            match outcome["status"].as_str() {
                _ if !own => Some(format!("{node}/{task}: its outcome is of another task")),
                Some("ok") => None,
                status => Some(format!("{node}/{task}: {} {why}", status.unwrap_or("no status"))),
            }
        });
        Self { wrong: wrong.collect(), left, done }
    }
}

pub(super) fn faults(expected: &BTreeSet<Name>, found: &Found, report: &Value) -> Vec<String> {
    let mut faults = found.wrong.clone();
    let mut count: BTreeMap<&Name, u32> = expected.iter().map(|name| (name, 0)).collect();
    for name in &found.done {
        *count.entry(name).or_default() += 1;
    }
    for ((node, task), times) in count {
        let known = expected.contains(&(node.clone(), task.clone()));
        if times != 1 || !known {
            faults.push(format!(
                "{node}/{task} was done {times} times{}",
                if known { "" } else { ", and is not of the plan" }
            ));
        }
    }
    faults.extend(found.left.iter().map(|(node, task)| format!("{node}/{task} is left")));
    let number = |name: &str| report["plan"][name].as_u64();
    let all = Some(expected.len() as u64);
    if (number("tasks"), number("ok"), number("left"), number("failed")) != (all, all, Some(0), Some(0)) {
        faults.push(format!("the report has {}, but there are {} tasks", report["plan"], expected.len()));
    }
    faults.extend(faults_of_report(expected, report));
    faults
}

fn faults_of_report(expected: &BTreeSet<Name>, report: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let nodes: BTreeSet<&str> = expected.iter().map(|(node, _)| node.as_str()).collect();
    let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let said: Vec<Value> = listed(&report["nodes"]);
    let named: Vec<&str> = said.iter().filter_map(|node| node["name"].as_str()).collect();
    if named.len() != nodes.len() || named.iter().copied().collect::<BTreeSet<_>>() != nodes {
        faults.push(format!("the report's nodes are {named:?}"));
    }
    for node in &said {
        let name = node["name"].as_str().unwrap_or_default();
        let runs: Vec<String> =
            listed(&node["runs"]).iter().filter_map(|run| run.as_str().map(str::to_owned)).collect();
        // HPL's outcome has its values in it; suites and pairs have a document each.
        let tasks = expected.iter().filter(|(node, task)| node == name && !task.starts_with("hpl")).count();
        if runs.len() != tasks || runs.iter().collect::<BTreeSet<_>>().len() != tasks {
            faults.push(format!("{name} has {tasks} tasks with a document, and these runs: {runs:?}"));
        }
    }
    let distributions = listed(&report["distributions"]);
    if distributions.is_empty() {
        faults.push("the report has no values".to_owned());
    }
    let mut seen: BTreeMap<(String, String, String), u32> = BTreeMap::new();
    for distribution in &distributions {
        let of = |name: &str| distribution[name].as_str().unwrap_or_default().to_owned();
        for value in listed(&distribution["values"]) {
            let node = value["node"].as_str().unwrap_or_default().to_owned();
            let values = listed(&value["values"]).len();
            *seen.entry((of("experiment"), of("metric"), node)).or_default() +=
                u32::try_from(values).unwrap_or(u32::MAX);
        }
    }
    let metrics: BTreeSet<(&String, &String)> =
        seen.keys().map(|(experiment, metric, _)| (experiment, metric)).collect();
    for (experiment, metric) in metrics {
        for node in &nodes {
            let times = seen.get(&(experiment.clone(), metric.clone(), (*node).to_owned())).copied().unwrap_or(0);
            if times != 1 {
                faults.push(format!("{node} has {times} values of {experiment}, {metric}"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(node: &str, task: &str) -> Name {
        (node.to_owned(), task.to_owned())
    }

    fn good() -> (BTreeSet<Name>, Found, Value) {
        let expected: BTreeSet<Name> = [name("n1", "cpu"), name("n2", "cpu")].into();
        let found = Found { done: expected.iter().cloned().collect(), ..Found::default() };
        let values = json!([{"node": "n1", "values": [1.0]}, {"node": "n2", "values": [1.0]}]);
        let report = json!({
            "plan": {"tasks": 2, "ok": 2, "left": 0, "failed": 0},
            "nodes": [{"name": "n1", "runs": ["done/n1/cpu/run"]}, {"name": "n2", "runs": ["done/n2/cpu/run"]}],
            "distributions": [{"experiment": "cpu/a", "metric": "rate", "values": values}],
        });
        (expected, found, report)
    }

    #[test]
    fn what_is_right_has_no_fault() {
        let (expected, found, report) = good();
        assert_eq!(faults(&expected, &found, &report), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_found() {
        type Plant = fn(&mut Found, &mut Value);
        let plants: &[(Plant, &str)] = &[
            (|found, _| drop(found.done.pop()), "n2/cpu was done 0 times"),
            (|found, _| found.done.push(name("n1", "cpu")), "n1/cpu was done 2 times"),
            (|found, _| found.done.push(name("n1", "x")), "n1/x was done 1 times, and is not of the plan"),
            (|found, _| found.left.push(name("n2", "cpu")), "n2/cpu is left"),
            (|_, report| report["plan"]["ok"] = json!(1), "but there are 2 tasks"),
            (|_, report| report["plan"]["left"] = json!(1), "but there are 2 tasks"),
            (|_, report| report["nodes"][0]["runs"] = json!([]), "n1 has 1 tasks with a document"),
            (|_, report| report["nodes"][0]["runs"] = json!(["a", "a"]), "n1 has 1 tasks with a document"),
            (|_, report| report["nodes"][1]["name"] = json!("n1"), "the report's nodes"),
            (|_, report| report["distributions"] = json!([]), "no values"),
            (
                |_, report| report["distributions"][0]["values"][1]["node"] = json!("n1"),
                "n1 has 2 values of cpu/a, rate",
            ),
            (
                |_, report| report["distributions"][0]["values"][1]["node"] = json!("n1"),
                "n2 has 0 values of cpu/a, rate",
            ),
            (|_, report| report["distributions"][0]["values"][0]["values"] = json!([1, 2]), "n1 has 2 values"),
        ];
        for (plant, expected_fault) in plants {
            let (expected, mut found, mut report) = good();
            plant(&mut found, &mut report);
            let faults = faults(&expected, &found, &report);
            assert!(faults.iter().any(|fault| fault.contains(expected_fault)), "{expected_fault}: {faults:?}");
        }
    }

    #[test]
    fn a_folder_is_looked_through() {
        let plan = std::env::temp_dir().join(format!("assay-once-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = plan.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("waiting/n1/.node.json", "{}");
        write("waiting/n1/cpu.json", "{}");
        write("running/n1/disk@7.json", "{}");
        write("running/n1/disk@7.who", "{}");
        write("done/n2/cpu/outcome.json", r#"{"task": {"node": "n2", "name": "cpu"}, "status": "ok"}"#);
        write("done/n2/disk/outcome.json", r#"{"task": {"node": "n2", "name": "cpu"}, "status": "ok"}"#);
        write(
            "done/n2/net/outcome.json",
            r#"{"task": {"node": "n2", "name": "net"}, "status": "failed", "reason": "so"}"#,
        );
        write("done/n2/memory/outcome.json", "cut o");
        let found = Found::of(&plan);
        assert_eq!(waiting(&plan), [name("n1", "cpu")].into());
        fs::remove_dir_all(&plan).unwrap();
        assert_eq!(found.left, [name("n1", "cpu"), name("n1", "disk")]);
        assert_eq!(found.done.len(), 4);
        let mut wrong = found.wrong;
        wrong.sort();
        let expected = ["n2/disk: its outcome is of another task", "n2/memory: no outcome.json that can be read"];
        assert_eq!(wrong, [expected[0], expected[1], "n2/net: failed so"]);
    }
}
