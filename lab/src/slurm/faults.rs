//! `cargo lab cluster faults`: one node is made slow, and the report must name that node and no other.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::accept::check;
use super::config::NODES;
use super::daemons;
use super::network;
use super::plan::Plan;
use super::rig::{Rig, ready};
use crate::held::{Group, Held, shell};
use crate::record::{Keeper, Record, build, machine_line, records, write};
use stats::random::Random;
use xtask::shell::Shell;
use xtask::tally::Tally;

const RESULTS: &str = "lab/data/cluster.jsonl";
const PAGE: &str = "docs/evidence/cluster-faults.md";
const SUITE: &str = include_str!("faults.toml");
const SEED: u64 = 48;
/// Percent of one CPU. The nodes have two.
const QUOTA: u32 = 25;
const RATE: &str = "2gbit";
const HOG: &str = "dd if=/dev/zero of=/dev/null bs=512M";
/// Busy for 30 of every 100 ms.
const LOAD: &str = "timeout 0.03 sh -c \"while :; do :; done\"; sleep 0.07";
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct Fault {
    name: &'static str,
    how: &'static str,
    /// Options of `assay cluster plan`.
    plan: &'static [&'static str],
    /// Options of `assay cluster run`. The nodes share one machine: except for pairs, one is measured at a time.
    run: &'static [&'static str],
    /// Makes the node slow while `measure` runs.
    during: fn(&Faults, &Plan, node: usize, measure: &mut dyn FnMut()) -> Result<(), String>,
}

const ONE_AT_A_TIME: &[&str] = &["--max-concurrent", "1"];

const FAULTS: [Fault; 4] = [
    Fault {
        name: "nothing",
        how: "no node is slow",
        plan: &["--area", "cpu"],
        run: ONE_AT_A_TIME,
        during: |_, _, _, measure| {
            measure();
            Ok(())
        },
    },
    Fault {
        name: "quota",
        how: "the control group of the node's slurmd gets 25 % of one CPU",
        plan: &["--area", "cpu"],
        run: ONE_AT_A_TIME,
        during: |faults, _, node, measure| {
            let [set, lift] = faults.groups[node].quota_commands(QUOTA);
            shell(&set)?;
            measure();
            shell(&lift)
        },
    },
    Fault {
        name: "memory",
        how: "while the node measures, `dd if=/dev/zero of=/dev/null bs=512M` runs on each CPU",
        plan: &["--area", "memory"],
        run: ONE_AT_A_TIME,
        during: hog,
    },
    Fault {
        name: "path",
        how: "tc limits both ends of the node's veth pair to 2 Gb/s",
        plan: &["--filter", "cpu/fma/fp64/**", "--pairs", "all"],
        run: &[],
        during: |_, _, node, measure| {
            network::limit(NODES[node], Some(RATE))?;
            measure();
            network::limit(NODES[node], None)
        },
    },
];

fn hog(_: &Faults, plan: &Plan, node: usize, measure: &mut dyn FnMut()) -> Result<(), String> {
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hogs = scope.spawn(|| -> Result<(), String> {
            let mut hogs = Vec::new();
            while !has_ended.load(Ordering::Relaxed) {
                let measures = !plan.workers(Some(NODES[node])).is_empty();
                if measures && hogs.is_empty() {
                    hogs = on_each_cpu(HOG)?;
                } else if !measures {
                    hogs.clear();
                }
                std::thread::sleep(LOOK);
            }
            Ok(())
        });
        measure();
        has_ended.store(true, Ordering::Relaxed);
        hogs.join().map_err(|_| "the thread of the memory hog panicked".to_owned())?
    })
}

fn on_each_cpu(body: &str) -> Result<Vec<Held>, String> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    (0..cpus).map(|cpu| Held::busy(body, &format!("taskset -c {cpu}"), &[])).collect()
}

/// Every node's `slurmd` in a control group of its own, while this lives.
struct Faults {
    groups: Vec<Group>,
}

impl Faults {
    fn new() -> Result<Self, String> {
        let groups: Result<Vec<_>, _> = NODES.iter().map(|node| Group::make("cpu", &format!("node-{node}"))).collect();
        let faults = Self { groups: groups? };
        ready()?;
        end_nodes()?;
        for (node, group) in NODES.iter().zip(&faults.groups) {
            daemons::node(node, Some(&group.path))?;
        }
        ready().map(|()| faults)
    }

    /// Plans, measures with the fault, and reports; the report, and the time of `assay cluster run`.
    fn measured(&self, fault: &Fault, name: &str, node: usize, load: bool) -> Result<(Value, Duration), String> {
        ready()?;
        let plan = Plan::made_with(SUITE, name, fault.plan)?;
        let load = if load { on_each_cpu(LOAD)? } else { Vec::new() };
        let start = Instant::now();
        let mut said = None;
        (fault.during)(self, &plan, node, &mut || said = Some(plan.run(fault.run)))?;
        let time = start.elapsed();
        drop(load);
        match said {
            Some(said) if said.well() => plan.report().map(|report| (report, time)),
            said => Err(format!("assay cluster run: {}", said.map(|said| said.tail()).unwrap_or_default())),
        }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        if let Err(why) = end_nodes().and_then(|()| ready()) {
            println!("the nodes are not ready: {why}");
        }
    }
}

fn end_nodes() -> Result<(), String> {
    NODES.iter().try_for_each(|node| daemons::kill(&format!("run/slurmd.{node}.pid")))
}

/// What a report concludes about the nodes.
fn concluded(report: &Value) -> Value {
    let slow: Vec<&Value> = report["slow"].as_array().into_iter().flatten().collect();
    let names = |standing: &str| -> Vec<&Value> {
        slow.iter().filter(|slow| slow["standing"] == standing).map(|slow| &slow["node"]).collect()
    };
    let codes =
        |slow: &&Value| slow["causes"].as_array().into_iter().flatten().map(|cause| cause["code"].clone()).collect();
    let causes: Vec<Vec<Value>> = slow.iter().map(codes).collect();
    json!({"verdict": report["verdict"], "slow": names("slow"), "suspects": names("suspect"), "causes": causes})
}

/// One trial of each fault on a quiet machine.
pub(super) fn test(_: &Shell) -> Tally {
    let faults = match Faults::new() {
        Ok(faults) => faults,
        Err(why) => return Tally::skip(format!("slow nodes: {why}")),
    };
    let mut tally = Tally::default();
    for (node, fault) in FAULTS.iter().enumerate() {
        let measured = faults.measured(fault, &format!("fault-{}", fault.name), node, false);
        let right = measured.and_then(|(report, _)| {
            let concluded = concluded(&report);
            let expected = if fault.name == "nothing" { json!([]) } else { json!([NODES[node]]) };
            let is_right = concluded["slow"] == expected
                && (fault.name != "quota" || concluded["causes"].to_string().contains("cpu_quota"));
            if is_right { Ok(()) } else { Err(format!("{expected} expected: {concluded}")) }
        });
        tally.add(check(&format!("{}, on {}: only a slow node is named", fault.how, NODES[node]), right));
    }
    tally
}

/// `trials` trials of each fault, or of the one with this name, with and without load on all nodes.
pub(super) fn campaign(shell: &Shell, trials: u64, only: Option<&str>) -> Result<(), String> {
    let selected: Vec<&Fault> = FAULTS.iter().filter(|fault| only.is_none_or(|name| name == fault.name)).collect();
    if selected.is_empty() {
        return Err(format!("no fault has that name; there are {}", FAULTS.map(|fault| fault.name).join(", ")));
    }
    let _rig = Rig::up(shell)?;
    let mut keeper = Keeper::new(shell, RESULTS)?;
    let machine = serde_json::to_value(machine::discover(&machine::Sysroot::host()));
    keeper.add("machine", machine.map(|machine| machine_line(&machine)).unwrap_or_default().into());
    let faults = Faults::new()?;
    let mut random = Random::new(SEED);
    let nodes = NODES.len() as u64;
    for trial in 1..=trials {
        for fault in &selected {
            for load in [false, true] {
                let node = usize::try_from(random.below(nodes)).unwrap_or(0);
                let name = name(fault.name, load, trial);
                let line = json!({"fault": fault.name, "load": load, "trial": trial, "node": NODES[node]});
                let mut line = Record::new(&line);
                let result = match faults.measured(fault, &name, node, load) {
                    Ok((report, time)) => {
                        line.0.insert("seconds".to_owned(), time.as_secs().into());
                        concluded(&report)
                    }
                    Err(why) => json!({"verdict": "failed", "why": why}),
                };
                line.0.extend(Record::new(&result).0);
                println!("{}", line.to_line());
                keeper.keep(&Value::Object(line.0))?;
            }
        }
        page(shell)?;
    }
    Ok(())
}

/// Judges the last campaign again with this program, from a copy of its plans' folders.
pub(super) fn judge_again(shell: &Shell, plans: &Path) -> Result<(), String> {
    let lines = records(shell.root(), RESULTS);
    let last = lines.last().map(|line| line.text("batch").to_owned()).unwrap_or_default();
    let mut keeper = Keeper::new(shell, RESULTS)?;
    let program = build(shell)?;
    for line in lines.iter().filter(|line| line.text("batch") == last && line.count("seconds") > 0) {
        let name = name(line.text("fault"), line.is("load"), line.count("trial"));
        let plan = plans.join(&name).join("plan");
        daemons::must(Command::new(&program).args(["cluster", "report"]).arg(&plan))?;
        let document = plan.join("report/cluster.json");
        let text = fs::read_to_string(&document).map_err(|error| format!("{}: {error}", document.display()))?;
        let report: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", document.display()))?;
        let mut again = line.clone();
        ["batch", "git"].into_iter().for_each(|field| drop(again.0.remove(field)));
        again.0.extend(Record::new(&concluded(&report)).0);
        again.0.insert("measured".to_owned(), last.as_str().into());
        keeper.keep(&Value::Object(again.0))?;
    }
    page(shell)
}

fn name(fault: &str, load: bool, trial: u64) -> String {
    format!("{fault}-{}{trial}", if load { "load-" } else { "" })
}

/// Writes the page again from the results of the last campaign.
pub(super) fn page(shell: &Shell) -> Result<(), String> {
    write(&shell.root().join(PAGE), &render(&records(shell.root(), RESULTS)))
}

const HEAD: &str = "\
# Is a slow node named on a real Slurm?

Written by `cargo lab cluster faults`, never by hand: the rig of four nodes on one machine ([how it is built](../contributing/slurm-rig.md)).
In each trial one random node is made slow; `assay cluster run` measures with a confirming pass, and `assay cluster report` judges.
Results are in [cluster.jsonl](../../lab/data/cluster.jsonl).

Background load: on each CPU a process works for 30 of every 100 ms, whichever node measures.

*Named*: the slow node is called slow. *Suspected*: the verdict is inconclusive and the slow node is a suspect. *Equal*: the verdict is
that all nodes are equal. *Another named*: a healthy node is called slow. Where no node is slow, *equal* is right. Targets: at least
95 % named, another node named in at most 1 %, no cluster with a slow node called equal.
";

fn is_slow(line: &Record) -> bool {
    line.text("fault") != "nothing"
}

/// When and where a trial was measured, and which program judged it.
fn when(line: &Record) -> String {
    let [batch, git, machine, measured] = ["batch", "git", "machine", "measured"].map(|field| line.text(field));
    let judged = if measured.is_empty() { "" } else { &format!(", judged again {batch}") };
    format!("Measured {}{judged}, commit {git}, on {machine}.", if measured.is_empty() { batch } else { measured })
}

/// The page with the last trials of each fault.
fn render(lines: &[Record]) -> String {
    let mut page = HEAD.to_owned();
    let of = |fault: &Fault| -> Vec<&Record> {
        let mut lines: Vec<&Record> = lines.iter().filter(|line| line.text("fault") == fault.name).collect();
        let last = lines.last().map(|line| line.text("batch")).unwrap_or_default();
        lines.retain(|line| line.text("batch") == last);
        lines
    };
    let last = FAULTS.each_ref().map(of);
    page.push('\n');
    page.push_str("| fault | background load | trials | named | suspected | inconclusive | equal | another named |\n");
    page.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    let cells = |of: &[&Record]| {
        let count = |is: &dyn Fn(&Record) -> bool| of.iter().filter(|line| is(line)).count();
        let among = |line: &Record, list: &str| is_slow(line) && line.words(list).contains(&line.text("node"));
        let another =
            |line: &Record| line.words("slow").iter().any(|node| !is_slow(line) || *node != line.text("node"));
        let counts = [
            of.len(),
            count(&|line| among(line, "slow")),
            count(&|line| among(line, "suspects")),
            count(&|line| line.text("verdict") == "inconclusive"),
            count(&|line| line.text("verdict") == "equal"),
            count(&another),
        ];
        counts.map(|count| count.to_string()).join(" | ")
    };
    for (fault, lines) in FAULTS.iter().zip(&last) {
        for (load, with) in [(false, "no"), (true, "yes")] {
            let lines: Vec<&Record> = lines.iter().copied().filter(|line| line.is("load") == load).collect();
            let _ = writeln!(page, "| {} | {with} | {} |", fault.name, cells(&lines));
        }
    }
    let slow: Vec<&Record> = last.iter().flatten().copied().filter(|line| is_slow(line)).collect();
    let _ = writeln!(page, "| all with a slow node | | {} |\n", cells(&slow));
    for (fault, lines) in FAULTS.iter().zip(&last) {
        let _ = writeln!(
            page,
            "- {}: {}. {}",
            fault.name,
            fault.how,
            lines.first().map_or_else(String::new, |line| when(line))
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_counted_by_what_the_report_concludes() {
        let report = json!({"verdict": "slow", "slow": [
            {"node": "n2", "standing": "slow", "causes": [{"code": "cpu_quota"}]},
            {"node": "n1", "standing": "suspect", "causes": []}]});
        let said = concluded(&report);
        assert_eq!(said, json!({"verdict": "slow", "slow": ["n2"], "suspects": ["n1"], "causes": [["cpu_quota"], []]}));
        let line = |node: &str| {
            let mut record = Record::new(&json!({"batch": "b", "fault": "quota", "load": false, "node": node}));
            record.0.extend(Record::new(&said).0);
            record
        };
        let page = render(&[line("n2"), line("n1")]);
        let row = page.lines().find(|line| line.starts_with("| quota | no |")).unwrap();
        let counts: Vec<&str> = row.split('|').skip(3).map(str::trim).collect();
        assert_eq!(counts, ["2", "1", "1", "0", "0", "1", ""]);
    }

    #[test]
    fn smoke_the_page_is_the_one_written_from_the_recorded_data() {
        let shell = Shell::at_root();
        let current = std::fs::read_to_string(shell.root().join(PAGE)).unwrap_or_default();
        assert!(current == render(&records(shell.root(), RESULTS)), "write it again: cargo lab cluster faults 0");
    }
}
