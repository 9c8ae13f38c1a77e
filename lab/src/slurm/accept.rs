//! What must work: Slurm itself, a plan under the job limit, an allocation, the network between nodes, HPL.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::{MAX_SUBMIT_JOBS, NODES};
use super::once::{Found, Name, faults, waiting};
use super::plan::{PATIENCE, Plan, Running, Said};
use super::queue::{Watch, jobs};
use super::rig::{Rig, as_user};
use xtask::set_up::has;
use xtask::shell::Shell;
use xtask::tally::Tally;

pub(super) const ALL: &[&str] = &["--nodes", "n1,n2,n3,n4"];

pub(super) fn check(name: &str, result: Result<(), String>) -> Tally {
    match result {
        Ok(()) => {
            println!("ok: {name}");
            Tally::check(true)
        }
        Err(why) => {
            println!("FAILED: {name}: {why}");
            Tally::failure(format!("{name}: {why}"))
        }
    }
}

pub(super) fn none(faults: &[String]) -> Result<(), String> {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

pub(super) fn holds(condition: bool, what: &str, said: &Said) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("{what}: {}", said.tail())) }
}

pub(super) fn rig(_: &Shell, rig: &Rig) -> Tally {
    let mut tally = check("every node runs a step of the limited user", four_steps(rig));
    tally.add(check("Slurm refuses what is beyond the limit, and the queue shows how many", refused(rig)));
    tally
}

fn four_steps(rig: &Rig) -> Result<(), String> {
    let folder = rig.fresh("steps")?;
    let mut srun = as_user("srun");
    srun.args(["-N4", "--time=1", "sh", "-c", "echo $SLURMD_NODENAME $(id -u)"]);
    let said = Running::start(&mut srun, folder.join("said.txt"))?.wait(PATIENCE);
    let lines: BTreeSet<String> = said.text.lines().map(str::to_owned).collect();
    let expected: BTreeSet<String> = NODES.iter().map(|node| format!("{node} {}", super::config::USER)).collect();
    holds(lines == expected, "not every node ran it as the limited user", &said)
}

fn refused(rig: &Rig) -> Result<(), String> {
    let folder = rig.fresh("refused")?;
    let watch = Watch::begin();
    let mut last = Said { status: None, text: String::new() };
    for index in 0..=MAX_SUBMIT_JOBS {
        let mut sbatch = as_user("sbatch");
        sbatch.args(["--time=1", "--output=/dev/null", "--wrap=sleep 20"]);
        last = Running::start(&mut sbatch, folder.join(format!("{index}.txt")))?.wait(PATIENCE);
        holds(last.well() == (index < MAX_SUBMIT_JOBS), &format!("job {}", index + 1), &last)?;
    }
    std::thread::sleep(Duration::from_secs(1));
    let seen = watch.end();
    if seen.most != MAX_SUBMIT_JOBS {
        return Err(format!("with {MAX_SUBMIT_JOBS} jobs in the queue these were seen: {seen:?}"));
    }
    holds(last.text.contains("AssocMaxSubmitJobLimit"), "refused for another reason", &last)
}

pub(super) fn run(shell: &Shell, rig: &Rig) -> Tally {
    let made = match Plan::made(rig, "accept", ALL) {
        Ok(plan) => plan,
        Err(why) => return Tally::failure(why),
    };
    let expected = waiting(&made.folder);
    let watch = Watch::begin();
    let said = made.run(&["--no-confirm"]);
    let seen = watch.end();
    let mut tally = check("four nodes under a limit of two jobs", holds(said.well(), "assay cluster run", &said));
    let within = seen.looks > 5 && !seen.jobs.is_empty() && seen.most <= MAX_SUBMIT_JOBS;
    let within = if within { Ok(()) } else { Err(format!("seen of the queue: {seen:?}")) };
    tally.add(check("the queue never held more than the limit", within));
    tally.add(check("every task once, one report", whole(&made, &expected)));
    tally.add(documents(shell, &made.folder));
    let again = made.run(&["--no-confirm"]);
    let nothing = holds(again.well(), "the second call", &again).and_then(|()| whole(&made, &expected));
    tally.add(check("run again when all is done: nothing more is done", nothing));
    tally
}

pub(super) fn whole(plan: &Plan, expected: &BTreeSet<Name>) -> Result<(), String> {
    if expected.is_empty() {
        return Err("the plan had no tasks".to_owned());
    }
    let report = plan.report()?;
    none(&faults(expected, &Found::of(&plan.folder), &report))?;
    let missing: Vec<String> = ["index.html", "cluster.json", "values.csv", "junit.xml", "drain.txt"]
        .iter()
        .filter(|file| !plan.folder.join("report").join(file).is_file())
        .map(|file| format!("the report has no {file}"))
        .collect();
    none(&missing)
}

fn documents(shell: &Shell, plan: &Path) -> Tally {
    let checker = shell.root().join("tests/check_document.py");
    if !has("python3", "--version") {
        return Tally::skip("each document checked by check_document.py: no python3 here");
    }
    let mut failed = Vec::new();
    let runs = runs(plan);
    for run in &runs {
        match shell.command("python3", &[checker.as_os_str(), run.as_os_str()]).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => failed.push(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            Err(error) => failed.push(error.to_string()),
        }
    }
    if runs.is_empty() {
        failed.push("there is no document".to_owned());
    }
    check(&format!("{} documents are valid", runs.len()), none(&failed))
}

fn runs(plan: &Path) -> Vec<PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let tasks = entries(plan.join("done")).flat_map(entries);
    tasks.map(|task| task.join("run/run.json")).filter(|run| run.is_file()).collect()
}

pub(super) fn allocation(_: &Shell, rig: &Rig) -> Tally {
    let mut tally = check("inside an allocation the workers are steps of it", inside(rig));
    tally.add(check("the network between four nodes, every ordered pair", pairs(rig)));
    tally.add(match find_program("xhpl") {
        Some(xhpl) => check("HPL on four nodes by srun, against the sum of their peaks", hpl(rig, &xhpl)),
        None => Tally::skip("HPL on four nodes by srun: no xhpl in the search path"),
    });
    tally
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn inside(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "inside", ALL)?;
    let expected = waiting(&plan.folder);
    let mut salloc = as_user("salloc");
    salloc.args(["--nodes=4", "--exclusive", "--mem=0", "--time=10"]).arg(rig.program());
    salloc.args(["cluster", "run", "--no-confirm", "--poll", "1s"]).arg(&plan.folder);
    let watch = Watch::begin();
    let said = plan.finish(&mut salloc, "salloc.txt");
    let seen = watch.end();
    holds(said.well(), "assay cluster run inside salloc", &said)?;
    holds(seen.jobs.len() == 1, &format!("jobs outside the allocation: {:?}", seen.jobs), &said)?;
    whole(&plan, &expected)
}

fn pairs(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "pairs", &[ALL, &["--pairs", "all"]].concat())?;
    let expected = waiting(&plan.folder);
    let ordered = NODES.len() * (NODES.len() - 1);
    // Each alone, and each together with its round.
    let of_pairs = expected.iter().filter(|(_, task)| task.starts_with("to-")).count();
    if of_pairs != 2 * ordered {
        return Err(format!("the plan has {of_pairs} tasks of {ordered} ordered pairs, each twice: {expected:?}"));
    }
    let said = plan.run(&["--no-confirm"]);
    holds(said.well(), "assay cluster run", &said)?;
    whole(&plan, &expected)?;
    let report = plan.report()?;
    let matrices = report["pairs"].as_array().cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    for matrix in &matrices {
        let with: BTreeSet<(String, String)> = matrix["pairs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|pair| pair["value"].as_f64().is_some_and(|value| value > 0.0))
            .filter_map(|pair| Some((pair["from"].as_str()?.to_owned(), pair["to"].as_str()?.to_owned())))
            .collect();
        if with.len() != ordered {
            wrong.push(format!("{} has values of {} of {ordered} ordered pairs", matrix["experiment"], with.len()));
        }
    }
    if matrices.is_empty() {
        wrong.push("the report has no network between nodes".to_owned());
    }
    none(&wrong)
}

const LINPACK: &str = r#"
[sampling.linpack]
samples = 3
per_launch = 3
warm_up = ["10ms", "30ms"]
target = 0.1

[[linpack]]
op = ["lu"]
sample = "300ms"
threads = ["all"]
"#;

fn hpl(rig: &Rig, xhpl: &Path) -> Result<(), String> {
    let text = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    // Into a folder where the limited user can run it.
    let program = rig.program().with_file_name("xhpl");
    fs::copy(xhpl, &program).map_err(|error| text(xhpl, error))?;
    fs::set_permissions(&program, Permissions::from_mode(0o755)).map_err(|error| text(&program, error))?;
    let plan = Plan::new(rig, "hpl")?;
    // Only what all of a node's cores can do adds up to a sum of peaks.
    let suite = plan.file("tiny.toml");
    let tiny = fs::read_to_string(&suite).map_err(|error| text(&suite, error))?;
    let whole = tiny.replace("threads = [\"1\"]", "threads = [\"all\"]") + LINPACK;
    fs::write(&suite, whole).map_err(|error| text(&suite, error))?;
    let option = format!("--hpl={}", program.display());
    let said = plan.plan(&[ALL, &["--area", "cpu,linpack", "--hpl-time", "5s", &option]].concat());
    holds(said.well(), "assay cluster plan", &said)?;
    let said = plan.run(&["--no-confirm"]);
    holds(said.well(), "assay cluster run", &said)?;
    let report = plan.report()?;
    let known = |name: &str| report["hpl"][0][name].as_f64().is_some_and(|value| value > 0.0);
    let whole = ["rate", "residual", "peak", "linpack"].iter().all(|name| known(name))
        && report["hpl"][0]["nodes"].as_array().map_or(0, Vec::len) == NODES.len();
    if whole { Ok(()) } else { Err(format!("the report has HPL as {}", report["hpl"])) }
}

pub(super) fn queue_is_empty() -> bool {
    jobs().is_empty()
}
