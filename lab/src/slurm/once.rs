//! Whether every task of a plan was done exactly once, in its folder and in the report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cluster::folder::Folder;
use cluster::tasks::tally;
use model::cluster::is_of_paths;
use serde_json::Value;

pub(super) type Name = (String, String);

#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    left: BTreeSet<Name>,
    done: BTreeSet<Name>,
    wrong: Vec<String>,
}

impl Found {
    pub(super) fn of(plan: &Path) -> Result<Self, String> {
        let folder = Folder::at(plan);
        let mut found = Self::default();
        for node in tally(&folder, &folder.plan()?)?.nodes {
            let named = |task: String| (node.node.clone(), task);
            found
                .left
                .extend(node.waiting.into_iter().chain(node.running.into_iter().map(|task| task.name)).map(named));
            found.done.extend(node.done.into_iter().map(named));
            for (task, why) in node.failed.into_iter().chain(node.skipped) {
                found.wrong.push(format!("{}/{task}: {why}", node.node));
            }
        }
        Ok(found)
    }
}

pub(super) fn waiting(plan: &Path) -> Result<BTreeSet<Name>, String> {
    Found::of(plan).map(|found| found.left)
}

pub(super) fn faults(expected: &BTreeSet<Name>, found: &Found, report: &Value) -> Vec<String> {
    let mut faults = found.wrong.clone();
    let missing = expected.difference(&found.done).map(|(node, task)| format!("{node}/{task} was not done"));
    let foreign = found.done.difference(expected).map(|(node, task)| format!("{node}/{task} is not of the plan"));
    let left = found.left.iter().map(|(node, task)| format!("{node}/{task} is left"));
    faults.extend(missing.chain(foreign).chain(left));
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
            // Values over paths have both halves of the rounds.
            let most = if is_of_paths(experiment) { 2 } else { 1 };
            if !(1..=most).contains(&times) {
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
        let found = Found { done: expected.clone(), ..Found::default() };
        let values = json!([{"node": "n1", "values": [1.0]}, {"node": "n2", "values": [1.0]}]);
        let report = json!({
            "plan": {"tasks": 2, "ok": 2, "left": 0, "failed": 0},
            "nodes": [{"name": "n1", "runs": ["done/n1/cpu/run"]}, {"name": "n2", "runs": ["done/n2/cpu/run"]}],
            "distributions": [{"experiment": "cpu/a", "metric": "rate", "values": values}],
        });
        (expected, found, report)
    }

    #[test]
    fn every_fault_is_found_and_what_is_right_has_none() {
        let (expected, found, report) = good();
        assert_eq!(faults(&expected, &found, &report), Vec::<String>::new());
        let plants: &[(fn(&mut Found, &mut Value), &str)] = &[
            (|found, _| drop(found.done.pop_last()), "n2/cpu was not done"),
            (|found, _| found.done.extend([name("n1", "x")]), "n1/x is not of the plan"),
            (|found, _| found.left.extend([name("n2", "cpu")]), "n2/cpu is left"),
            (|found, _| found.wrong.push("n2/cpu: so".into()), "n2/cpu: so"),
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
}
