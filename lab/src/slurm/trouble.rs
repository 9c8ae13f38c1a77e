//! Faults around a scheduler, and what `assay cluster run` reports for each.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::accept::{check, holds};
use super::config::{FOLDER, MAX_SUBMIT_JOBS, NODES, path};
use super::daemons::{self, until};
use super::plan::{PATIENCE, Plan, Running, Said};
use super::queue::{Watch, jobs};
use super::rig::{as_user, idle, ready};
use xtask::shell::Shell;
use xtask::tally::Tally;

const TROUBLES: &[(&str, fn() -> Result<(), String>)] = &[
    ("no Slurm", no_slurm),
    ("a node that Slurm does not have", unknown_node),
    ("a partition that Slurm does not have", unknown_partition),
    ("Slurm down in the middle", controller_away),
    ("a node that never comes up, and then does", node_down),
    ("an operator who cancels every job three times", cancelled),
    ("assay cluster cancel", ended),
    ("a plan that is moved in the middle", moved),
    ("an account that Slurm does not have", bad_account),
    ("a time limit that is too short", too_short),
    ("a partition whose time limit is too short", partition_too_short),
    ("the user's own jobs fill the limit", filled),
    ("two people run the same plan", two),
    ("a job that is requeued", requeued),
    ("a job that another one preempts", preempted),
    ("a node that does not see the plan's folder", not_shared),
];

pub(super) fn run(_: &Shell) -> Tally {
    let mut tally = Tally::default();
    for (name, run) in TROUBLES {
        tally.add(check(&format!("trouble: {name}"), ready().and_then(|()| run())));
    }
    tally
}

fn says(said: &Said, words: &[&str]) -> Result<(), String> {
    let text = said.text.to_lowercase();
    match words.iter().find(|word| !text.contains(&word.to_lowercase())) {
        Some(word) => Err(format!("it does not say '{word}': {}", said.tail())),
        None => Ok(()),
    }
}

fn no_slurm() -> Result<(), String> {
    let plan = Plan::made("no-slurm", &[])?;
    let folder = plan.file("bin");
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir(&folder).map_err(text)?;
    // `setpriv`, by which we become the user, is looked for there too.
    for program in ["setpriv", "sh", "env"] {
        symlink(format!("/usr/bin/{program}"), folder.join(program)).map_err(text)?;
    }
    let mut command = plan.run_command(&["--no-confirm"]);
    let said = plan.finish(command.env("PATH", &folder).env_remove("SLURM_CONF"), "no-slurm.txt");
    holds(!said.well(), "it should have failed", &said)?;
    says(&said, &["sbatch", "--launcher ssh"])
}

fn unknown_node() -> Result<(), String> {
    let plan = Plan::new("unknown-node")?;
    let said = plan.plan(&["--nodes", "n[1,9]"]);
    holds(!said.well(), "it should have failed", &said)?;
    says(&said, &["n9"])
}

fn unknown_partition() -> Result<(), String> {
    let plan = Plan::new("unknown-partition")?;
    let said = plan.plan(&["--partition", "nope"]);
    holds(!said.well(), "it should have failed", &said)?;
    says(&said, &["nope", "all", "short"])
}

fn saved(since: SystemTime) {
    let is_newer = || {
        let changed = fs::metadata(path("state/job_state")).and_then(|data| data.modified());
        changed.is_ok_and(|changed| changed >= since)
    };
    // Where nothing has changed since then, it was saved before.
    let _ = until("the state of slurmctld", Duration::from_secs(6), is_newer);
}

fn first_worker(plan: &Plan) -> Result<(), String> {
    until("the first worker", Duration::from_mins(1), || !plan.workers(None).is_empty())
}

fn controller_away() -> Result<(), String> {
    let plan = Plan::made("controller-away", &[])?;
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    first_worker(&plan)?;
    saved(SystemTime::now());
    daemons::kill("run/slurmctld.pid")?;
    std::thread::sleep(Duration::from_secs(15));
    daemons::controller()?;
    let said = run.wait(PATIENCE);
    holds(said.well(), "it should have gone on", &said)?;
    says(&said, &["does not answer", "answers again"])?;
    plan.whole()
}

fn node_down() -> Result<(), String> {
    let plan = Plan::made("node-down", &[])?;
    daemons::kill("run/slurmd.n3.pid")?;
    until("Slurm missing n3", Duration::from_secs(90), || {
        let state = daemons::must(daemons::command("sinfo").args(["-h", "-n", "n3", "-p", "all", "-o", "%T"]));
        state.is_ok_and(|state| state.starts_with("down"))
    })?;
    let said = plan.run(&["--no-confirm", "--unreachable-timeout", "20s"]);
    holds(said.status.is_some_and(|status| status != 0), "a node that was not measured is no success", &said)?;
    says(&said, &["n3", "is skipped", "was not available"])?;
    let report = plan.report()?;
    let state = |node: usize| report["nodes"][node]["state"].as_str().unwrap_or_default().to_owned();
    let others = [0, 1, 3].map(state);
    holds(others.iter().all(|state| state == "done"), &format!("the other nodes are {others:?}"), &said)?;
    holds(state(2) != "done", "n3 cannot be done", &said)?;
    let status = plan.status(&[]);
    holds(status.status == Some(1), "the status of the run and of status differ", &status)?;
    ready()?;
    let again = plan.run(&["--no-confirm", "--retry"]);
    holds(again.well(), "n3 is back", &again)?;
    plan.whole()
}

fn cancelled() -> Result<(), String> {
    let plan = Plan::made("cancelled", &["--repeat", "40"])?;
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    for _ in 0..3 {
        first_worker(&plan)?;
        for job in jobs() {
            daemons::must(as_user("scancel").arg(job))?;
        }
        until("the end of the workers", Duration::from_mins(1), || plan.workers(None).is_empty())?;
    }
    let said = run.wait(PATIENCE);
    holds(said.well(), "no node should be skipped, and no attempt fail", &said)?;
    says(&said, &["was cancelled", "the scheduler reports CANCELLED"])?;
    let status = plan.status(&[]);
    holds(status.well(), "the status after the end", &status)?;
    says(&status, &["jobs cancelled"])?;
    plan.whole()
}

fn ended() -> Result<(), String> {
    let plan = Plan::made("ended", &["--repeat", "200"])?;
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    first_worker(&plan)?;
    let mut cancel = plan.assay(&["cluster", "cancel"]);
    let said = plan.finish(cancel.arg(&plan.folder), "cancel.txt");
    holds(said.well(), "assay cluster cancel", &said)?;
    says(&said, &["1 job cancelled", "tasks left", "assay cluster run"])?;
    let run = run.wait(PATIENCE);
    holds(run.status == Some(1), "a run that was cancelled is no success", &run)?;
    let left = (jobs(), plan.workers(None));
    holds(left.0.is_empty() && left.1.is_empty(), &format!("something still runs: {left:?}"), &said)?;
    let status = plan.status(&[]);
    holds(status.status == Some(1), "the status of the run and of status differ", &status)
}

fn moved() -> Result<(), String> {
    let plan = Plan::made("moved", &["--repeat", "200"])?;
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    first_worker(&plan)?;
    let other = plan.folder.with_extension("moved");
    let text = |error: std::io::Error| format!("cannot move the plan: {error}");
    fs::rename(&plan.folder, &other).map_err(text)?;
    let said = run.wait(PATIENCE);
    holds(said.status == Some(1), "a plan that is lost is no success", &said)?;
    says(&said, &["is lost", "no longer mounted"])?;
    until("the end of the workers", Duration::from_mins(1), || plan.workers(None).is_empty())?;
    holds(!plan.folder.exists(), "the folder was made again", &said)?;
    fs::rename(&other, &plan.folder).map_err(text)
}

fn bad_account() -> Result<(), String> {
    let plan = Plan::made("bad-account", &[])?;
    let said = plan.run(&["--no-confirm", "--nodes-per-job", "1", "--sbatch=--account=nope"]);
    holds(said.status == Some(1), "it should have ended with an error", &said)?;
    says(&said, &["Invalid account", "Correct the options of --sbatch"])?;
    holds(said.text.matches("refused a job").count() == 1, "it was refused more than once", &said)
}

fn partition_too_short() -> Result<(), String> {
    let plan = Plan::new("partition-too-short")?;
    let said = plan.plan(&["--partition", "short", "--repeat", "5000"]);
    holds(said.status == Some(2), "it should have been refused", &said)?;
    says(&said, &["jobs in the partition 'short' can take 5 min", "of which 4 min are for tasks"])?;
    let plan = Plan::made("time-above", &[])?;
    let said = plan.run(&["--time", "10h"]);
    holds(said.status == Some(2), "it should have been refused", &said)?;
    says(&said, &["--time 10.0 h is above the time limit"])
}

fn not_shared() -> Result<(), String> {
    // In the middle, and the first, on which the scripts of jobs run.
    for (place, node) in [(2, "n3"), (0, "n1")] {
        ready()?;
        let plan = Plan::made(&format!("not-shared-{node}"), &[])?;
        let file = format!("run/slurmd.{node}.pid");
        daemons::kill(&file)?;
        daemons::node_without(node, &path("plans"))?;
        let said = idle().map(|()| plan.run(&["--no-confirm"]));
        daemons::kill(&file)?;
        let said = said?;
        holds(said.status == Some(1), "a node that was not measured is no success", &said)?;
        says(&said, &[&format!("the node '{node}' is skipped"), "cannot read the plan's folder"])?;
        let report = plan.report()?;
        let nodes = report["nodes"].as_array().filter(|nodes| nodes.len() == NODES.len());
        for (index, found) in nodes.ok_or("the report does not have all nodes")?.iter().enumerate() {
            let is_done = found["state"] == "done";
            holds(is_done == (index != place), &format!("{} is {}", found["name"], found["state"]), &said)?;
        }
    }
    Ok(())
}

fn too_short() -> Result<(), String> {
    // Far more than a minute's work in each task.
    let plan = Plan::made("too-short", &["--repeat", "500"])?;
    let said = plan.run(&["--no-confirm", "--time", "1m"]);
    holds(said.status == Some(1), "it should have ended with an error", &said)?;
    says(&said, &["its jobs can take 60 s, of which 45 s are for tasks"])?;
    let submitted = fs::read_dir(plan.folder.join("jobs")).map_or(0, Iterator::count);
    holds(submitted == 0, "a job was submitted", &said)
}

fn filled() -> Result<(), String> {
    let plan = Plan::made("filled", &[])?;
    for index in 0..MAX_SUBMIT_JOBS {
        let mut sbatch = as_user("sbatch");
        sbatch.args(["--time=1", "--output=/dev/null", "--wrap=sleep 12"]);
        let said = Running::start(&mut sbatch, plan.file(&format!("own-{index}.txt")))?.wait(PATIENCE);
        holds(said.well(), "sbatch of the user's own job", &said)?;
    }
    let watch = Watch::begin();
    let said = plan.run(&["--no-confirm"]);
    let seen = watch.end();
    holds(said.well(), "it should have waited", &said)?;
    holds(seen.most == MAX_SUBMIT_JOBS, &format!("seen of the queue: {seen:?}"), &said)?;
    says(&said, &["other jobs of this user"])?;
    plan.whole()
}

fn two() -> Result<(), String> {
    let plan = Plan::made("two", &[])?;
    let watch = Watch::begin();
    let other = plan.begin(&["--no-confirm"], "other.txt")?;
    let said = plan.run(&["--no-confirm"]);
    let other = other.wait(PATIENCE);
    let seen = watch.end();
    holds(said.well(), "the one", &said)?;
    holds(other.well(), "the other", &other)?;
    holds(seen.most <= MAX_SUBMIT_JOBS, &format!("seen of the queue: {seen:?}"), &said)?;
    plan.whole()
}

fn requeued() -> Result<(), String> {
    let plan = Plan::made("requeued", &[])?;
    // Our jobs say that they are not to be requeued; a site may still do it, and an operator.
    let run = plan.begin(&["--no-confirm", "--sbatch=--requeue"], "run.txt")?;
    first_worker(&plan)?;
    let job = jobs().into_iter().next().ok_or("a worker without a job")?;
    daemons::must(daemons::command("scontrol").args(["requeue", &job]))?;
    let said = run.wait(PATIENCE);
    if !said.well() {
        // It is allowed to end with an error, as after a crash: then it is run again.
        println!("  first call: {}", said.tail());
        until("an empty queue", PATIENCE, || jobs().is_empty())?;
        let again = plan.run(&["--no-confirm"]);
        holds(again.well(), "run again", &again)?;
    }
    plan.whole().map_err(|why| format!("{why} (logs are in {FOLDER} until `down`)"))
}

fn preempted() -> Result<(), String> {
    let plan = Plan::made("preempted", &["--repeat", "200"])?;
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    first_worker(&plan)?;
    let mut urgent = daemons::command("sbatch");
    urgent.args(["--parsable", "--partition=urgent", "--nodes=4", "--exclusive", "--time=1", "--output=/dev/null"]);
    daemons::must(urgent.arg("--wrap=sleep 5"))?;
    let said = run.wait(PATIENCE);
    holds(said.well(), "it should have gone on", &said)?;
    says(&said, &["ended without finishing a task", "the scheduler reports PREEMPTED"])?;
    plan.whole()
}
