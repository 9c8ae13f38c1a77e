//! What must work: Slurm itself, a plan under the job limit, an allocation, the network between nodes, HPL.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::{MAX_SUBMIT_JOBS, NODES};
use super::plan::{PATIENCE, Plan, Running, Said, none};
use super::queue::Watch;
use super::rig::{as_user, fresh, program};
use xtask::set_up::has;
use xtask::shell::Shell;
use xtask::tally::Tally;

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

pub(super) fn holds(condition: bool, what: &str, said: &Said) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("{what}: {}", said.tail())) }
}

pub(super) fn rig(_: &Shell) -> Tally {
    let mut tally = check("every node runs a step of the limited user", four_steps());
    tally.add(check("Slurm refuses what is beyond the limit, and the queue shows how many", refused()));
    tally
}

fn four_steps() -> Result<(), String> {
    let folder = fresh("steps")?;
    let mut srun = as_user("srun");
    srun.args(["-N4", "--time=1", "sh", "-c", "echo $SLURMD_NODENAME $(id -u)"]);
    let said = Running::start(&mut srun, folder.join("said.txt"))?.wait(PATIENCE);
    let lines: BTreeSet<String> = said.text.lines().map(str::to_owned).collect();
    let expected: BTreeSet<String> = NODES.iter().map(|node| format!("{node} {}", super::config::USER)).collect();
    holds(lines == expected, "not every node ran it as the limited user", &said)
}

fn refused() -> Result<(), String> {
    let folder = fresh("refused")?;
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

pub(super) fn run(shell: &Shell) -> Tally {
    let made = match Plan::made("accept", &[]) {
        Ok(plan) => plan,
        Err(why) => return Tally::failure(why),
    };
    let watch = Watch::begin();
    let said = made.run(&["--no-confirm"]);
    let seen = watch.end();
    let mut tally = check("four nodes under a limit of two jobs", holds(said.well(), "assay cluster run", &said));
    let within = seen.looks > 5 && !seen.jobs.is_empty() && seen.most <= MAX_SUBMIT_JOBS;
    let within = if within { Ok(()) } else { Err(format!("seen of the queue: {seen:?}")) };
    tally.add(check("the queue never held more than the limit", within));
    tally.add(check("every task once, one report", made.whole()));
    tally.add(documents(shell, &made.folder));
    let again = made.run(&["--no-confirm"]);
    let nothing = holds(again.well(), "the second call", &again).and_then(|()| made.whole());
    tally.add(check("run again when all is done: nothing more is done", nothing));
    tally
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

pub(super) fn allocation(_: &Shell) -> Tally {
    let mut tally = check("inside an allocation the workers are steps of it", inside());
    tally.add(check("the network between four nodes, every ordered pair", pairs()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let xhpl = std::env::split_paths(&path).map(|folder| folder.join("xhpl")).find(|program| program.is_file());
    tally.add(match xhpl {
        Some(xhpl) => check("HPL on four nodes by srun, against the sum of their peaks", hpl(&xhpl)),
        None => Tally::skip("HPL on four nodes by srun: no xhpl in the search path"),
    });
    tally
}

fn inside() -> Result<(), String> {
    let plan = Plan::made("inside", &[])?;
    let mut salloc = as_user("salloc");
    salloc.args(["--nodes=4", "--exclusive", "--mem=0", "--time=10"]).arg(program());
    salloc.args(["cluster", "run", "--no-confirm", "--poll", "1s"]).arg(&plan.folder);
    let watch = Watch::begin();
    let said = plan.finish(&mut salloc, "salloc.txt");
    let seen = watch.end();
    holds(said.well(), "assay cluster run inside salloc", &said)?;
    holds(seen.jobs.len() == 1, &format!("jobs outside the allocation: {:?}", seen.jobs), &said)?;
    plan.whole()
}

fn pairs() -> Result<(), String> {
    let plan = Plan::made("pairs", &["--pairs", "all"])?;
    let ordered = NODES.len() * (NODES.len() - 1);
    // Each alone, and each together with its round.
    let of_pairs = plan.expected.iter().filter(|(_, task)| task.starts_with("to-")).count();
    if of_pairs != 2 * ordered {
        return Err(format!(
            "the plan has {of_pairs} tasks of {ordered} ordered pairs, each twice: {:?}",
            plan.expected
        ));
    }
    let said = plan.run(&["--no-confirm"]);
    holds(said.well(), "assay cluster run", &said)?;
    plan.whole()?;
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

fn hpl(xhpl: &Path) -> Result<(), String> {
    let text = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    // Into a folder where the limited user can run it.
    let installed = program().with_file_name("xhpl");
    fs::copy(xhpl, &installed).map_err(|error| text(xhpl, error))?;
    fs::set_permissions(&installed, Permissions::from_mode(0o755)).map_err(|error| text(&installed, error))?;
    let plan = Plan::new("hpl")?;
    // Only what all of a node's cores can do adds up to a sum of peaks.
    let suite = plan.file("tiny.toml");
    let tiny = fs::read_to_string(&suite).map_err(|error| text(&suite, error))?;
    let whole = tiny.replace("threads = [\"1\"]", "threads = [\"all\"]") + LINPACK;
    fs::write(&suite, whole).map_err(|error| text(&suite, error))?;
    let option = format!("--hpl={}", installed.display());
    let said = plan.plan(&["--nodes", "n1,n2,n3,n4", "--area", "cpu,linpack", "--hpl-time", "5s", &option]);
    holds(said.well(), "assay cluster plan", &said)?;
    let said = plan.run(&["--no-confirm"]);
    holds(said.well(), "assay cluster run", &said)?;
    let report = plan.report()?;
    let known = |name: &str| report["hpl"][0][name].as_f64().is_some_and(|value| value > 0.0);
    let whole = ["rate", "residual", "peak", "linpack"].iter().all(|name| known(name))
        && report["hpl"][0]["nodes"].as_array().map_or(0, Vec::len) == NODES.len();
    if whole { Ok(()) } else { Err(format!("the report has HPL as {}", report["hpl"])) }
}
