//! `cargo lab simulate scale`: what plan, claims and report of many nodes cost with simulated results, compared with the limits.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use bench::store::write_pieces;
use cluster::claims::claim::{claim, claimer};
use cluster::evaluate::evaluate;
use cluster::folder::{Folder, State};
use model::cluster::ClusterDocument;
use report::cluster::FORMS;
use serde_json::{Value, json};
use stats::Better;
use stats::random::Random;

use super::made::{AREAS, Cluster, Usual, plan, program, results};
use super::noise::Recorded;
use crate::record::write;
use xtask::shell::Shell;

const SIZES: [Size; 2] = [Size { nodes: 10_000, experiments: 40 }, Size { nodes: 10_000, experiments: 100 }];
const SLOW_EVERY: usize = 1000;
const MOST_PLAN_SECONDS: f64 = 5.0;
const MOST_REPORT_SECONDS: f64 = 60.0;
const MOST_MEMORY_BYTES: u64 = 1 << 30;
const PATH: &str = "docs/evidence/cluster-scale.md";

#[derive(Clone, Copy, Debug)]
struct Size {
    nodes: usize,
    experiments: usize,
}

#[derive(Debug)]
struct Costs {
    size: Size,
    tasks: usize,
    plan_seconds: f64,
    claims: usize,
    claims_seconds: f64,
    most_names: usize,
    documents_bytes: usize,
    evaluate_seconds: f64,
    forms: Vec<(&'static str, f64, u64)>,
    most_memory_bytes: Option<u64>,
    slow_found: usize,
    slow: usize,
}

pub(super) fn run(shell: &Shell) -> Result<(), String> {
    let place = shell.root().join(shell.target()).join("cluster-scale");
    let mut costs = Vec::new();
    for size in SIZES {
        let _ = fs::remove_dir_all(&place);
        let done = all(&Folder::at(&place), size);
        let _ = fs::remove_dir_all(&place);
        costs.push(done?);
    }
    write(&shell.root().join(PATH), &page(&costs))?;
    let defects: Vec<String> = costs.iter().flat_map(defects).collect();
    if defects.is_empty() { Ok(()) } else { Err(defects.join("; ")) }
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T, String>) -> Result<(T, f64), String> {
    let start = Instant::now();
    let done = work()?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{what} in {seconds:.1} s");
    Ok((done, seconds))
}

fn all(folder: &Folder, size: Size) -> Result<Costs, String> {
    let nodes = || (0..size.nodes).map(name);
    let (tasks, plan_seconds) = timed("planned", || plan(folder, program(), nodes(), None))?;
    let ((claims, most_names), claims_seconds) = timed("claimed", || claims(folder, size.nodes))?;
    let (documents_bytes, _) = timed("results made up", || results(folder, &tasks, &size, &mut Random::new(1)))?;
    forget_most_memory();
    let (document, evaluate_seconds) = timed("evaluated", || Ok(evaluate(folder, program())?))?;
    let forms = forms(folder, &document)?;
    let most_memory_bytes = most_memory();
    let values: usize = document.distributions.iter().map(|one| one.values.len()).sum();
    let wanted = size.nodes * (size.experiments / AREAS.len() * AREAS.len());
    if values != wanted || !document.problems.is_empty() {
        return Err(format!("{values} values of {wanted}, {} problems: not what was made", document.problems.len()));
    }
    let slow: Vec<String> = (0..size.nodes).filter(|node| is_slow(*node)).map(name).collect();
    let is_found = |node: &&String| document.slow.iter().any(|slow| slow.node == **node);
    let slow_found = slow.iter().filter(is_found).count();
    let (tasks, slow) = (tasks.len(), slow.len());
    Ok(Costs {
        size,
        tasks,
        plan_seconds,
        claims,
        claims_seconds,
        most_names,
        documents_bytes,
        evaluate_seconds,
        forms,
        most_memory_bytes,
        slow_found,
        slow,
    })
}

/// The name, seconds and bytes of each file of the report.
fn forms(folder: &Folder, document: &ClusterDocument) -> Result<Vec<(&'static str, f64, u64)>, String> {
    let target = folder.report();
    fs::create_dir_all(&target).map_err(|error| format!("cannot make '{}': {error}", target.display()))?;
    let mut costs = Vec::new();
    for (form, file) in FORMS.iter().filter_map(|form| Some((form, form.file?))) {
        let path = target.join(file);
        let (bytes, seconds) = timed(form.name, || {
            let pieces = (form.render)(document).map_err(|error| format!("{}: {error}", form.name))?;
            let written = write_pieces(&path, pieces).and_then(|()| fs::metadata(&path));
            Ok(written.map_err(|error| format!("cannot write '{}': {error}", path.display()))?.len())
        })?;
        costs.push((form.name, seconds, bytes));
    }
    Ok(costs)
}

impl Costs {
    fn report_seconds(&self) -> f64 {
        self.evaluate_seconds + self.forms.iter().map(|(_, seconds, _)| seconds).sum::<f64>()
    }
}

fn defects(costs: &Costs) -> Vec<String> {
    let Size { nodes, experiments } = costs.size;
    let of = format!("{nodes} nodes x {experiments}");
    let mut defects = Vec::new();
    let is_held = nodes * experiments <= SIZES[0].nodes * SIZES[0].experiments;
    if is_held && costs.plan_seconds > MOST_PLAN_SECONDS {
        defects.push(format!("{of}: the plan took {:.1} s", costs.plan_seconds));
    }
    if is_held && costs.report_seconds() > MOST_REPORT_SECONDS {
        defects.push(format!("{of}: the report took {:.1} s", costs.report_seconds()));
    }
    if let Some(bytes) = costs.most_memory_bytes.filter(|bytes| *bytes > MOST_MEMORY_BYTES) {
        defects.push(format!("{of}: the report took {} MiB of memory", bytes >> 20));
    }
    // Its tasks and the file by which the node itself is claimed.
    if costs.most_names > AREAS.len() + 1 {
        defects.push(format!("{of}: a worker looked through {} names", costs.most_names));
    }
    if costs.slow_found != costs.slow {
        defects.push(format!("{of}: {} of {} slow nodes were found", costs.slow_found, costs.slow));
    }
    defects
}

const HEAD: &str = "\
# What plan, claims and report cost on large clusters, simulated

Written by `cargo lab simulate scale`, in one process by the code of `assay cluster`: a plan in a folder on this machine's disk,
claims as workers make them, a simulated result for every task (recorded noise, documents of real length), and the report with all
its files. No node is measured. See also [how often slow nodes are found](cluster-simulation.md).

";

const TAIL: &str = "
Limits, which the command checks: 10 000 nodes x 40 experiments are planned in 5 s and reported in 60 s; a report of either size
needs at most 1 GiB; a worker reads only the names of its own node's tasks, at any number of nodes. The report reads one document
at a time and keeps its medians; `values.csv` and `junit.xml` are written piece by piece.
";

fn page(all: &[Costs]) -> String {
    let mut text = HEAD.to_owned();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(1).unwrap_or("unknown").to_owned();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "A machine of {cpus} CPUs, with a load of {load} (mean of five minutes, this command's own included).\n"
    );
    let mut line = |what: &str, value: &dyn Fn(&Costs) -> String| {
        let cells: Vec<String> = all.iter().map(value).collect();
        let _ = writeln!(text, "| {what} | {} |", cells.join(" | "));
    };
    line("", &|costs| format!("{} nodes x {} experiments", costs.size.nodes, costs.size.experiments));
    line("---", &|_| "---".to_owned());
    line("plan", &|costs| format!("{} tasks in {:.1} s", costs.tasks, costs.plan_seconds));
    line("claims", &|costs| format!("{:.1} ms each", 1e3 * costs.claims_seconds / costs.claims as f64));
    line("names that a worker looks through, at most", &|costs| costs.most_names.to_string());
    line("documents read", &|costs| format!("{:.1} GB", costs.documents_bytes as f64 / 1e9));
    line("evaluated in", &|costs| format!("{:.1} s", costs.evaluate_seconds));
    for (place, (name, ..)) in all.first().into_iter().flat_map(|costs| costs.forms.iter().enumerate()) {
        let cost = |costs: &Costs| {
            let cell = |(_, seconds, bytes): &(_, f64, u64)| format!("{seconds:.1} s, {:.1} MB", *bytes as f64 / 1e6);
            costs.forms.get(place).map_or_else(String::new, cell)
        };
        line(&format!("written as {name}"), &cost);
    }
    line("**report in all**", &|costs| format!("**{:.1} s**", costs.report_seconds()));
    line("**most memory**", &|costs| {
        costs.most_memory_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("**{} MiB**", bytes >> 20))
    });
    line("slow nodes suspected", &|costs| format!("{} of {}", costs.slow_found, costs.slow));
    text.push_str(TAIL);
    text
}

fn name(node: usize) -> String {
    format!("n{node:05}")
}

const fn is_slow(node: usize) -> bool {
    node % SLOW_EVERY == SLOW_EVERY / 2
}

impl Cluster for Size {
    fn speed(&self, node: usize, _: &str) -> f64 {
        if is_slow(node) { 0.8 } else { 1.0 }
    }

    fn machine(&self, _: usize) -> Value {
        json!({
            "host": "node", "os": {"kernel": "6.1.0"},
            "cpu": {"model_name": "Made up 9000", "packages": 2, "cores": 64, "threads": 128},
            "memory": {"total_bytes": 1_u64 << 38, "channels": 16},
        })
    }

    fn metrics<'a>(&self, of_area: &[&'a Recorded]) -> Vec<(&'a Recorded, Usual)> {
        let metric = |row: usize| {
            let recorded = of_area[row % of_area.len()];
            let is_higher = recorded.better == Better::Higher;
            let (metric, unit, value) = if is_higher { ("throughput", "op/s", 1e9) } else { ("latency", "s", 1e-9) };
            let experiment = format!("{}/{row}", recorded.experiment);
            (recorded, Usual { experiment, metric, unit, better: recorded.better, value })
        };
        (0..self.experiments / AREAS.len()).map(metric).collect()
    }

    fn spread(&self) -> [f64; 2] {
        [0.01, 1.0]
    }
}

fn claims(folder: &Folder, nodes: usize) -> Result<(usize, usize), String> {
    let (mut most, mut claimed) = (0, 0);
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
    Ok((claimed, most))
}

fn most_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
    kib.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Resets the peak of memory (proc(5), `clear_refs`). Without permission the peak of the whole process remains, which is larger.
fn forget_most_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(nodes: usize) -> Costs {
        let place = std::env::temp_dir().join(format!("assay-simulate-scale-{}-{nodes}", std::process::id()));
        let done = all(&Folder::at(&place), Size { nodes, experiments: 40 });
        let _ = fs::remove_dir_all(&place);
        done.unwrap()
    }

    #[test]
    fn a_plan_of_made_up_results_is_evaluated_whole() {
        let costs = costs(20);
        assert_eq!((costs.tasks, costs.claims, costs.most_names), (20 * AREAS.len(), 2, AREAS.len() + 1));
        assert_eq!(costs.forms.len(), FORMS.iter().filter(|form| form.file.is_some()).count());
        assert!(costs.forms.iter().any(|(name, _, bytes)| *name == "html" && *bytes > 10_000), "{costs:?}");
        assert!(page(&[costs]).contains("| written as html | "));
    }

    #[test]
    fn what_exceeds_a_limit_is_reported() {
        let mut costs = costs(10);
        costs.slow = 0;
        costs.slow_found = 0;
        (costs.plan_seconds, costs.evaluate_seconds, costs.most_memory_bytes) = (1.0, 1.0, Some(1 << 20));
        costs.forms = vec![("html", 1.0, 1)];
        assert_eq!(defects(&costs), Vec::<String>::new());
        (costs.plan_seconds, costs.evaluate_seconds, costs.most_memory_bytes) = (6.0, 60.0, Some(2 << 30));
        (costs.most_names, costs.slow) = (40, 1);
        assert_eq!(defects(&costs).len(), 5);
    }
}
