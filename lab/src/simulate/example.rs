//! `cargo lab simulate example`: the HTML report of a simulated cluster for the documentation. Of its sixteen nodes, one lacks two
//! memory modules and one has a slow inbound link.

use std::fs;

use cluster::evaluate::{evaluate, second_pass};
use cluster::folder::Folder;
use cluster::tasks::add;
use model::cluster::{ClusterDocument, Pairing, Standing};
use model::document::Program;
use serde_json::{Value, json};
use stats::Better;
use stats::random::Random;

use super::made::{Cluster, Usual, plan, program, results};
use super::noise::Recorded;
use xtask::shell::Shell;

const PATH: &str = "docs/example/cluster.html";
const NODES: usize = 16;
const SLOW: (usize, f64) = (11, 0.82);
const NARROW: (usize, f64) = (6, 0.41);

const USUAL: [(&str, &str, f64); 14] = [
    ("cpu/fma/fp64/avx512/", "flop/s", 118e9),
    ("cpu/fma/fp64/scalar/", "flop/s", 15.1e9),
    ("cpu/fma/fp32/avx512/", "flop/s", 237e9),
    ("cpu/fma/fp32/scalar/", "flop/s", 15.2e9),
    ("cpu/dot/int8/avx512_vnni/", "op/s", 941e9),
    ("cpu/dot/int8/scalar/", "op/s", 14.8e9),
    ("linpack/lu/", "flop/s", 101e9),
    ("memory/sequential-read/", "B/s", 14.2e9),
    ("memory/sequential-", "B/s", 11.7e9),
    ("memory/chase-load/2MiB/", "s", 98e-9),
    ("memory/chase-load/", "s", 121e-9),
    ("disk/sequential-", "B/s", 2.9e9),
    ("disk/random-read/", "1/s", 14.1e3),
    ("disk/random-write/", "1/s", 41.0e3),
];

struct Rack;

impl Cluster for Rack {
    fn speed(&self, node: usize, area: &str) -> f64 {
        if node == SLOW.0 && area == "memory" { SLOW.1 } else { 1.0 }
    }

    fn link(&self, _: usize, to: usize) -> f64 {
        if to == NARROW.0 { NARROW.1 } else { 1.0 }
    }

    fn machine(&self, node: usize) -> Value {
        let channels = if node == SLOW.0 { 14 } else { 16 };
        let kernel = if node == 3 || node == 4 { "6.1.0-38-amd64" } else { "6.1.0-41-amd64" };
        json!({
            "host": name(node), "os": {"kernel": kernel},
            "cpu": {"model_name": "Made-up Server Processor 9000", "packages": 2, "cores": 64, "threads": 128,
                "governor": "performance"},
            "memory": {"total_bytes": 1_u64 << 39, "channels": channels},
        })
    }

    fn metrics<'a>(&self, of_area: &[&'a Recorded]) -> Vec<(&'a Recorded, Usual)> {
        let metric = |recorded: &&'a Recorded| {
            let (_, unit, value) = USUAL.iter().find(|(start, ..)| recorded.experiment.starts_with(start))?;
            // What two threads do is twice what one does; a latency stays.
            let threads = if recorded.experiment.ends_with("/t2") { 2.0 } else { 1.0 };
            let is_higher = recorded.better == Better::Higher;
            let usual = Usual {
                experiment: recorded.experiment.clone(),
                metric: if is_higher { "throughput" } else { "latency" },
                unit,
                better: recorded.better,
                value: if is_higher { value * threads } else { *value },
            };
            Some((*recorded, usual))
        };
        of_area.iter().filter_map(metric).collect()
    }

    fn spread(&self) -> [f64; 2] {
        // Half of the noise recorded on a virtual machine: a node of its own is quieter.
        [0.004, 0.5]
    }
}

fn name(node: usize) -> String {
    format!("n{node:02}")
}

pub(super) fn run(shell: &Shell, arguments: &[String]) -> Result<(), String> {
    if let Some(word) = arguments.first() {
        return Err(format!("the example takes nothing, and there is '{word}'"));
    }
    let place = shell.root().join(shell.target()).join("cluster-example");
    let _ = fs::remove_dir_all(&place);
    let document = document(&Folder::at(&place));
    let _ = fs::remove_dir_all(&place);
    let page = report::cluster::html::render(&document?)?;
    let path = shell.root().join(PATH);
    fs::write(&path, &page).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{PATH}: {} kB", page.len() / 1000);
    Ok(())
}

fn document(folder: &Folder) -> Result<ClusterDocument, String> {
    let argv = ["assay", "cluster", "plan", "--partition", "batch", "--pairs", "all", "made-up-rack"];
    let maker = Program { argv: argv.map(str::to_owned).into(), ..program() };
    let tasks = plan(folder, maker, (1..=NODES).map(name), Some(Pairing::All))?;
    let mut random = Random::new(1);
    results(folder, &tasks, &Rack, &mut random)?;
    let again = second_pass(folder, &evaluate(folder, program())?);
    add(folder, &again)?;
    results(folder, &again, &Rack, &mut random)?;
    let document = evaluate(folder, program())?;
    let slow = document.slow.iter().filter(|slow| slow.standing == Standing::Slow);
    let slow: Vec<&str> = slow.map(|slow| slow.node.as_str()).collect();
    if slow == [name(NARROW.0), name(SLOW.0)] {
        Ok(document)
    } else {
        Err(format!("{slow:?} are slow: not what was made"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_node_is_named_with_its_cause_and_the_network_is_a_square() {
        let place = std::env::temp_dir().join(format!("assay-simulate-example-{}", std::process::id()));
        let document = document(&Folder::at(&place));
        let _ = fs::remove_dir_all(&place);
        let document = document.unwrap();
        assert_eq!(document.drain, [name(NARROW.0), name(SLOW.0)]);
        let slow = document.slow.iter().find(|slow| slow.node == name(SLOW.0)).unwrap();
        assert_eq!(
            (slow.areas.as_slice(), slow.causes[0].code.as_str()),
            (&["memory".to_owned()][..], "fewer_channels")
        );
        assert!(document.problems.is_empty(), "{:?}", document.problems);
        assert_eq!(document.pairs.len(), 4);
        assert!(document.pairs.iter().all(|matrix| matrix.pairs.len() == NODES * (NODES - 1)));
    }
}
