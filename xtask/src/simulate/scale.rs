//! `cargo xtask simulate scale`: plan, claims and report of many nodes with made-up results, in a folder that goes again.
//!
//! Nothing is measured of any node: the documents hold recorded noise. What is printed is what the paths cost here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use bench::cluster::claim::{claim, claimer};
use bench::cluster::evaluate::evaluate;
use bench::cluster::folder::{Folder, State};
use bench::cluster::make;
use model::cluster::{Claim, NodeFacts, Outcome, OutcomeStatus, PlanNode, Task, Work};
use model::document::Program;
use model::experiment::Area;
use model::machine::Machine;
use serde_json::{Value, json};
use stats::Better;
use stats::random::Random;

use super::noise::{Recorded, normal, recorded};
use crate::shell::Shell;

/// Nodes where no other number is given.
const NODES: usize = 10_000;
/// Experiments of a node.
const EXPERIMENTS: usize = 40;
/// Samples of an experiment, so that documents are as long as real ones.
const SAMPLES: usize = 8;
/// Areas, and so tasks of a node.
const AREAS: [Area; 4] = [Area::Cpu, Area::Linpack, Area::Memory, Area::Disk];
/// Every so many nodes one is slow, by a fifth in everything.
const SLOW_EVERY: usize = 1000;

pub(super) fn run(shell: &Shell, arguments: &[String]) -> Result<(), String> {
    let nodes = match arguments {
        [] => NODES,
        [number] => number.parse().map_err(|_| format!("'{number}' is no number of nodes"))?,
        _ => return Err("one number of nodes at most".to_owned()),
    };
    let place = shell.root().join(shell.target()).join("cluster-scale");
    let _ = fs::remove_dir_all(&place);
    let done = all(&Folder::at(&place), nodes);
    let _ = fs::remove_dir_all(&place);
    done
}

fn all(folder: &Folder, nodes: usize) -> Result<(), String> {
    let start = Instant::now();
    let tasks = plan(folder, nodes)?;
    println!("plan: {} tasks of {nodes} nodes in {:.1} s", tasks.len(), start.elapsed().as_secs_f64());
    claims(folder, nodes, tasks.len())?;
    let start = Instant::now();
    let bytes = results(folder, &tasks)?;
    println!("results written: {} MB in {:.1} s", bytes / 1_000_000, start.elapsed().as_secs_f64());
    let start = Instant::now();
    let document = evaluate(folder)?;
    let rows: usize = document.distributions.iter().map(|one| one.values.len()).sum();
    println!(
        "evaluated: {rows} values in {:.1} s, at most {} of memory",
        start.elapsed().as_secs_f64(),
        most_memory().unwrap_or_else(|| "an unknown amount".to_owned())
    );
    let start = Instant::now();
    let text = serde_json::to_vec(&document).map_err(|error| format!("cannot put it into words: {error}"))?;
    println!("as JSON: {} MB in {:.1} s", text.len() / 1_000_000, start.elapsed().as_secs_f64());
    let suspects: Vec<&str> = document.slow.iter().map(|slow| slow.node.as_str()).collect();
    let slow: Vec<String> = (0..nodes).filter(|node| is_slow(*node)).map(name).collect();
    let found = slow.iter().filter(|node| suspects.contains(&node.as_str())).count();
    println!("{found} of {} slow nodes are suspects, {} in all", slow.len(), suspects.len());
    if rows == nodes * EXPERIMENTS && document.problems.is_empty() && found == slow.len() {
        Ok(())
    } else {
        Err(format!(
            "{rows} values of {}, {} problems: not what was written",
            nodes * EXPERIMENTS,
            document.problems.len()
        ))
    }
}

fn name(node: usize) -> String {
    format!("n{node:05}")
}

const fn is_slow(node: usize) -> bool {
    node % SLOW_EVERY == SLOW_EVERY / 2
}

fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), profile: "made up".to_owned(), ..Program::default() }
}

fn plan(folder: &Folder, nodes: usize) -> Result<Vec<Task>, String> {
    let request = make::Request {
        name: "scale".to_owned(),
        created: "2026-11-22T12:00:00Z".to_owned(),
        program: program(),
        program_path: Some("/nowhere/assay".to_owned()),
        suite: "quick".to_owned(),
        areas: AREAS.to_vec(),
        filter: None,
        repeat: None,
        options: Vec::new(),
        directory: None,
        nodes: (0..nodes).map(|node| PlanNode { name: name(node), partition: None }).collect(),
        pairing: None,
        network: None,
        hpl: None,
        lease_seconds: 60.0,
        attempts: 3,
        seed: 1,
    };
    let expected: BTreeMap<Area, f64> = AREAS.map(|area| (area, 20.0)).into();
    let (plan, tasks) = make::make(&request, &expected)?;
    make::write(folder, &plan, &tasks, Path::new("/nowhere/assay"))?;
    Ok(tasks)
}

/// Claims a task on every tenth node as a worker does: what is in its own folder is all that it reads.
fn claims(folder: &Folder, nodes: usize, tasks: usize) -> Result<(), String> {
    let (start, mut most, mut claimed) = (Instant::now(), 0, 0);
    for node in (0..nodes).step_by(10).map(name) {
        let us = claimer(None)?;
        let [waiting, running] = [State::Waiting, State::Running].map(|state| folder.tasks(state, &node));
        let entries =
            fs::read_dir(&waiting).map_err(|error| format!("cannot read '{}': {error}", waiting.display()))?;
        most = most.max(entries.count());
        fs::create_dir_all(&running).map_err(|error| format!("cannot make '{}': {error}", running.display()))?;
        let held =
            claim(&waiting, &running, AREAS[0].name(), &us)?.ok_or("a task that nobody had was not to be had")?;
        claimed += 1;
        held.give_back(&waiting)?;
    }
    let took = start.elapsed().as_secs_f64();
    println!("claims: {claimed} in {took:.1} s; a worker's folder holds at most {most} names, the plan {tasks} tasks");
    // Its tasks and the file by which the node itself is claimed.
    if most <= AREAS.len() + 1 { Ok(()) } else { Err(format!("a worker would look through {most} names")) }
}

/// Publishes a result for every task; the bytes written.
fn results(folder: &Folder, tasks: &[Task]) -> Result<usize, String> {
    let recorded = recorded()?;
    let (mut random, mut bytes) = (Random::new(1), 0);
    let machine = serde_json::from_value::<Machine>(json!({
        "host": "node", "os": {"kernel": "6.1.0"},
        "cpu": {"model_name": "Made up 9000", "packages": 2, "cores": 64, "threads": 128},
        "memory": {"total_bytes": 1_u64 << 38, "channels": 16},
    }))
    .map_err(|error| format!("the made-up machine is none: {error}"))?;
    for task in tasks {
        let index: usize = task.node[1..].parse().unwrap_or(0);
        if task.name == AREAS[0].name() {
            let facts = NodeFacts {
                node: task.node.clone(),
                program: program(),
                machine: machine.clone(),
                settings: BTreeMap::new(),
                clock_skew_seconds: None,
            };
            write_quickly(&folder.node(&task.node).join("facts.json"), &json!(facts))?;
        }
        let place = folder.tasks(State::Done, &task.node).join(&task.name);
        bytes += write_quickly(&place.join("run/run.json"), &document(task, index, &machine, &recorded, &mut random))?;
        let outcome = Outcome {
            task: task.clone(),
            claim: Claim::default(),
            status: OutcomeStatus::Ok,
            reason: None,
            seconds: 20.0,
            exit_status: Some(0),
            at_once: None,
            figures: BTreeMap::new(),
        };
        bytes += write_quickly(&place.join("outcome.json"), &json!(outcome))?;
        let _ = fs::remove_file(folder.tasks(State::Waiting, &task.node).join(format!("{}.json", task.name)));
    }
    Ok(bytes)
}

/// Without waiting for the disk, unlike what a worker does.
fn write_quickly(path: &Path, value: &Value) -> Result<usize, String> {
    let text = value.to_string();
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, &text))
        .map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
    Ok(text.len())
}

fn document(task: &Task, node: usize, machine: &Machine, recorded: &[Recorded], random: &mut Random) -> Value {
    let area = match &task.work {
        Work::Suite(suite) => suite.areas.first().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    let speed = if is_slow(node) { 0.8_f64 } else { 1.0 }.ln() + 0.01 * normal(random);
    let mut scratch = Vec::new();
    let of_area: Vec<&Recorded> = recorded.iter().filter(|figure| figure.area == area).collect();
    let rows: Vec<Value> = (0..EXPERIMENTS / AREAS.len())
        .map(|row| {
            let figure = of_area[row % of_area.len()];
            let noise = figure.draw(random, &mut scratch);
            let higher = figure.better == Better::Higher;
            let value = if higher { (speed + noise).exp() * 1e9 } else { (noise - speed).exp() * 1e-9 };
            let samples: Vec<Value> = (0..SAMPLES).map(|number| sample(value, number)).collect();
            json!({
                "id": format!("{}/{row}", figure.experiment), "area": area, "params": {"type": "fp64", "threads": 1},
                "method": "made-up/1", "classic": null, "status": "ok", "reason": null, "seconds": 1.0, "grade": "A",
                "conditions": {"clock_hz": 3e9, "steal": 0.0, "other_load": 0.01}, "warnings": [], "verified": true,
                "metrics": [{
                    "name": if higher { "throughput" } else { "latency" }, "unit": if higher { "op/s" } else { "s" },
                    "better": if higher { "higher" } else { "lower" }, "samples": samples, "peaks": [],
                    "efficiency": null, "references": [], "summary": {"n": SAMPLES, "median": value, "ci95": null,
                        "min": value, "max": value, "mean": value, "stddev": 0.0, "cv": 0.0, "cv_robust": 0.0},
                }],
            })
        })
        .collect();
    json!({
        "schema": "assay.run/1", "assay": program(), "machine": machine, "conditions": {"before": {}, "after": {}},
        "run": {"id": task.node, "suite": "quick", "started": "", "seconds": 20.0, "seed": 1, "complete": true, "grade": "A"},
        "experiments": rows, "findings": [],
    })
}

fn sample(value: f64, number: usize) -> Value {
    json!({"value": value, "work": 1e9, "seconds": 0.1, "start": number, "launch": number + 1, "block": number + 1,
        "session": 1, "clock_hz": 3e9, "stolen_seconds": 0.0, "flags": [],
        "per_thread": [{"work": 1e9, "seconds": 0.1, "clock_hz": 3e9}]})
}

/// The most memory that this process has had, in the kernel's words.
fn most_memory() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_made_up_results_is_evaluated_whole() {
        let place = std::env::temp_dir().join(format!("assay-simulate-scale-{}", std::process::id()));
        let done = all(&Folder::at(&place), 20);
        let _ = fs::remove_dir_all(&place);
        assert_eq!(done, Ok(()));
    }
}
