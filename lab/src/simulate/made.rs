//! Simulated results of a plan's tasks, published in the plan's folder as workers do. Values carry recorded noise.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cluster::folder::{Folder, State};
use cluster::plan::request::{Request, make};
use cluster::plan::write::write;
use model::cluster::{Claim, NodeFacts, Outcome, OutcomeStatus, PairTask, Pairing, Plan, PlanNode, Task, Work};
use model::document::Program;
use model::experiment::Area;
use model::machine::Machine;
use serde_json::{Value, json};
use stats::Better;
use stats::random::Random;

use super::noise::{Recorded, recorded};

pub(super) const AREAS: [Area; 4] = [Area::Cpu, Area::Linpack, Area::Memory, Area::Disk];
const SAMPLES: u32 = 8;

#[derive(Clone, Debug)]
pub(super) struct Usual {
    pub(super) experiment: String,
    pub(super) metric: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) value: f64,
}

pub(super) trait Cluster {
    fn speed(&self, node: usize, area: &str) -> f64;
    fn link(&self, _from: usize, _to: usize) -> f64 {
        1.0
    }
    fn machine(&self, node: usize) -> Value;
    fn metrics<'a>(&self, of_area: &[&'a Recorded]) -> Vec<(&'a Recorded, Usual)>;
    /// The lasting difference of healthy nodes, and the recorded noise times this.
    fn spread(&self) -> [f64; 2];
}

pub(super) fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), profile: "made up".to_owned(), ..Program::default() }
}

/// Writes a plan of the quick suite for these nodes into a folder; its tasks.
pub(super) fn plan(
    folder: &Folder,
    program: Program,
    nodes: impl Iterator<Item = String>,
    pairing: Option<Pairing>,
) -> Result<Vec<Task>, String> {
    let plan = Plan {
        name: "made-up-rack".to_owned(),
        created: "2026-11-22T12:00:00Z".to_owned(),
        program,
        program_path: "/nowhere/assay".to_owned(),
        suite: "quick".to_owned(),
        nodes: nodes.map(|name| PlanNode { name, partition: None }).collect(),
        pairing,
        lease_seconds: 60.0,
        attempts: 3,
        seed: 1,
        ..Plan::default()
    };
    let request = Request { plan, areas: AREAS.to_vec(), ..Request::default() };
    let (plan, tasks) = make(&request, &AREAS.map(|area| (area, 20.0)).into())?;
    write(folder, &plan, &tasks, Path::new("/nowhere/assay"))?;
    Ok(tasks)
}

fn number(name: &str) -> usize {
    name.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0)
}

pub(super) fn results(
    folder: &Folder,
    tasks: &[Task],
    cluster: &dyn Cluster,
    random: &mut Random,
) -> Result<usize, String> {
    let recorded = recorded()?;
    let mut bytes = 0;
    for task in tasks {
        let machine = serde_json::from_value::<Machine>(cluster.machine(number(&task.node)))
            .map_err(|error| format!("the made-up machine is none: {error}"))?;
        let facts = folder.node(&task.node).join("facts.json");
        if !facts.exists() {
            let facts_of_node = NodeFacts {
                node: task.node.clone(),
                program: program(),
                machine: machine.clone(),
                settings: BTreeMap::new(),
                clock_skew_seconds: None,
            };
            bytes += write_quickly(&facts, &json!(facts_of_node))?;
        }
        let place = folder.tasks(State::Done, &task.node).join(&task.name);
        let rows = rows(task, cluster, &recorded, random);
        bytes += write_quickly(&place.join("run/run.json"), &document(task, &machine, &rows))?;
        bytes += write_quickly(&place.join("outcome.json"), &json!(outcome(task)))?;
        let _ = fs::remove_file(folder.tasks(State::Waiting, &task.node).join(format!("{}.json", task.name)));
    }
    Ok(bytes)
}

fn outcome(task: &Task) -> Outcome {
    Outcome {
        task: task.clone(),
        claim: Claim::default(),
        status: OutcomeStatus::Ok,
        reason: None,
        seconds: task.seconds,
        exit_status: Some(0),
        at_once: None,
        values: BTreeMap::new(),
    }
}

fn write_quickly(path: &Path, value: &Value) -> Result<usize, String> {
    let text = value.to_string();
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, &text))
        .map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
    Ok(text.len())
}

fn rows(task: &Task, cluster: &dyn Cluster, recorded: &[Recorded], random: &mut Random) -> Vec<Value> {
    match &task.work {
        Work::Pair(pair) => between(task, pair, cluster, random),
        Work::Suite(suite) => {
            let area = suite.areas.first().map_or("", String::as_str);
            let node = number(&task.node);
            // What lasts is the same in each pass, so it is drawn from the node and not from the passes' sequence.
            let own = Random::new(node as u64 + 1).normal();
            let [apart, noise] = cluster.spread();
            let speed = cluster.speed(node, area).ln() + apart * own;
            let of_area: Vec<&Recorded> = recorded.iter().filter(|metric| metric.area == area).collect();
            let mut scratch = Vec::new();
            let row = |(metric, usual): (&Recorded, Usual)| {
                row(area, &usual, speed, noise * metric.draw(random, &mut scratch))
            };
            cluster.metrics(&of_area).into_iter().map(row).collect()
        }
        Work::Hpl(_) => Vec::new(),
    }
}

fn between(task: &Task, pair: &PairTask, cluster: &dyn Cluster, random: &mut Random) -> Vec<Value> {
    // Pairs that are measured together share the switches, as they would.
    let shared = if pair.together { 0.85_f64 } else { 1.0 };
    let speed = (shared * cluster.link(number(&task.node), number(&pair.to))).ln();
    let metric = |experiment: &str, metric, unit, better, value| Usual {
        experiment: experiment.to_owned(),
        metric,
        unit,
        better,
        value,
    };
    [
        metric("net/tcp-stream/128KiB/t4", "throughput", "B/s", Better::Higher, 11.6e9),
        metric("net/tcp-pingpong/14B/t1", "latency", "s", Better::Lower, 18.2e-6),
    ]
    .map(|usual| row("net", &usual, speed, 0.01 * random.normal()))
    .into()
}

fn row(area: &str, usual: &Usual, speed: f64, noise: f64) -> Value {
    // The noise was recorded of the value itself, whichever way it counts.
    let factor = if usual.better == Better::Higher { speed + noise } else { noise - speed };
    let value = usual.value * factor.exp();
    let samples: Vec<Value> = (1..=SAMPLES).map(|number| sample(value, number)).collect();
    json!({
        "id": usual.experiment, "area": area, "params": {"type": "fp64", "threads": 1},
        "method": "made-up/1", "classic": null, "status": "ok", "reason": null, "seconds": 1.0, "confidence": "high",
        "conditions": {"clock_hz": 3e9, "steal": 0.0, "other_load": 0.01}, "warnings": [], "verified": true,
        "metrics": [{
            "name": usual.metric, "unit": usual.unit,
            "better": if usual.better == Better::Higher { "higher" } else { "lower" }, "samples": samples, "peaks": [],
            "efficiency": null, "references": [], "summary": {"n": SAMPLES, "median": value, "ci95": null,
                "min": value, "max": value, "mean": value, "stddev": 0.0, "cv": 0.0, "cv_robust": 0.0},
        }],
    })
}

fn sample(value: f64, number: u32) -> Value {
    json!({"value": value, "work": 1e9, "seconds": 0.1, "start": number, "launch": number, "block": number,
        "session": 1, "clock_hz": 3e9, "stolen_seconds": 0.0, "flags": [],
        "per_thread": [{"work": 1e9, "seconds": 0.1, "clock_hz": 3e9}]})
}

fn document(task: &Task, machine: &Machine, rows: &[Value]) -> Value {
    json!({
        "schema": model::document::SCHEMA, "assay": program(), "machine": machine,
        "conditions": {"before": {}, "after": {}},
        "run": {"id": task.node, "suite": "quick", "started": "", "seconds": 20.0, "seed": 1, "complete": true, "confidence": "high"},
        "experiments": rows, "findings": [],
    })
}
