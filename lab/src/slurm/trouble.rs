//! Faults around a scheduler, and what `assay cluster run` reports for each.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::accept::{ALL, check, holds, queue_is_empty, whole};
use super::config::{FOLDER, MAX_SUBMIT_JOBS, NODES, path};
use super::daemons::{self, until};
use super::once::waiting;
use super::plan::{PATIENCE, Plan, Running, Said};
use super::queue::{Watch, jobs};
use super::rig::{Rig, as_user};
use xtask::shell::Shell;
use xtask::tally::Tally;

struct Trouble {
    name: &'static str,
    run: fn(&Rig) -> Result<(), String>,
}

const TROUBLES: &[Trouble] = &[
    Trouble { name: "no Slurm", run: no_slurm },
    Trouble { name: "a node that Slurm does not have", run: unknown_node },
    Trouble { name: "a partition that Slurm does not have", run: unknown_partition },
    Trouble { name: "Slurm down in the middle", run: controller_away },
    Trouble { name: "a node that never comes up", run: node_down },
    Trouble { name: "a time limit that is too short", run: too_short },
    Trouble { name: "the user's own jobs fill the limit", run: filled },
    Trouble { name: "two people run the same plan", run: two },
    Trouble { name: "a job that is requeued", run: requeued },
    Trouble { name: "a job that another one preempts", run: preempted },
    Trouble { name: "a node that does not see the plan's folder", run: not_shared },
];

pub(super) fn run(_: &Shell, rig: &Rig) -> Tally {
    let mut tally = Tally::default();
    for trouble in TROUBLES {
        let name = format!("trouble: {}", trouble.name);
        tally.add(check(&name, rig.ready().and_then(|()| (trouble.run)(rig))));
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

fn no_slurm(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "no-slurm", ALL)?;
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

fn unknown_node(rig: &Rig) -> Result<(), String> {
    let plan = Plan::new(rig, "unknown-node")?;
    let said = plan.plan(&["--nodes", "n[1,9]"]);
    holds(!said.well(), "it should have failed", &said)?;
    says(&said, &["n9"])
}

fn unknown_partition(rig: &Rig) -> Result<(), String> {
    let plan = Plan::new(rig, "unknown-partition")?;
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

fn controller_away(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "controller-away", ALL)?;
    let expected = waiting(&plan.folder);
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    until("the first worker", Duration::from_mins(1), || !plan.workers(None).is_empty())?;
    saved(SystemTime::now());
    daemons::kill("run/slurmctld.pid")?;
    std::thread::sleep(Duration::from_secs(15));
    daemons::controller()?;
    let said = run.wait(PATIENCE);
    holds(said.well(), "it should have gone on", &said)?;
    says(&said, &["does not answer", "answers again"])?;
    whole(&plan, &expected)
}

fn node_down(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "node-down", ALL)?;
    daemons::kill("run/slurmd.n3.pid")?;
    until("Slurm missing n3", Duration::from_secs(90), || {
        let state = daemons::must(daemons::command("sinfo").args(["-h", "-n", "n3", "-p", "all", "-o", "%T"]));
        state.is_ok_and(|state| state.starts_with("down"))
    })?;
    let said = plan.run(&["--no-confirm", "--unreachable-timeout", "20s"]);
    holds(said.status.is_some_and(|status| status != 0), "a node that was not measured is no success", &said)?;
    says(&said, &["n3", "is abandoned", "never became available"])?;
    let report = plan.report()?;
    let state = |node: usize| report["nodes"][node]["state"].as_str().unwrap_or_default().to_owned();
    let others = [0, 1, 3].map(state);
    holds(others.iter().all(|state| state == "done"), &format!("the other nodes are {others:?}"), &said)?;
    holds(state(2) != "done", "n3 cannot be done", &said)
}

fn not_shared(rig: &Rig) -> Result<(), String> {
    // In the middle, and the first, on which the scripts of jobs run.
    for (place, node) in [(2, "n3"), (0, "n1")] {
        rig.ready()?;
        let plan = Plan::made(rig, &format!("not-shared-{node}"), ALL)?;
        let file = format!("run/slurmd.{node}.pid");
        daemons::kill(&file)?;
        daemons::node_without(node, &path("plans"))?;
        let said = rig.idle().map(|()| plan.run(&["--no-confirm"]));
        daemons::kill(&file)?;
        let said = said?;
        holds(said.status == Some(1), "a node that was not measured is no success", &said)?;
        says(&said, &[&format!("the node '{node}' is abandoned"), "cannot read the plan's folder"])?;
        let report = plan.report()?;
        let nodes = report["nodes"].as_array().filter(|nodes| nodes.len() == NODES.len());
        for (index, found) in nodes.ok_or("the report does not have all nodes")?.iter().enumerate() {
            let is_done = found["state"] == "done";
            holds(is_done == (index != place), &format!("{} is {}", found["name"], found["state"]), &said)?;
        }
    }
    Ok(())
}

fn too_short(rig: &Rig) -> Result<(), String> {
    // Far more than a minute's work in each task.
    let plan = Plan::made(rig, "too-short", &[ALL, &["--repeat", "5000"]].concat())?;
    let said = plan.run(&["--no-confirm", "--time", "1m"]);
    holds(!said.well() && said.status.is_some(), "it should have ended with an error", &said)?;
    says(&said, &["the remaining time is too short"])
}

fn filled(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "filled", ALL)?;
    let expected = waiting(&plan.folder);
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
    whole(&plan, &expected)
}

fn two(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "two", ALL)?;
    let expected = waiting(&plan.folder);
    let watch = Watch::begin();
    let other = plan.begin(&["--no-confirm"], "other.txt")?;
    let said = plan.run(&["--no-confirm"]);
    let other = other.wait(PATIENCE);
    let seen = watch.end();
    holds(said.well(), "the one", &said)?;
    holds(other.well(), "the other", &other)?;
    holds(seen.most <= MAX_SUBMIT_JOBS, &format!("seen of the queue: {seen:?}"), &said)?;
    whole(&plan, &expected)
}

fn requeued(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "requeued", ALL)?;
    let expected = waiting(&plan.folder);
    // Our jobs say that they are not to be requeued; a site may still do it, and an operator.
    let run = plan.begin(&["--no-confirm", "--sbatch=--requeue"], "run.txt")?;
    until("the first worker", Duration::from_mins(1), || !plan.workers(None).is_empty())?;
    let job = jobs().into_iter().next().ok_or("a worker without a job")?;
    daemons::must(daemons::command("scontrol").args(["requeue", &job]))?;
    let said = run.wait(PATIENCE);
    if !said.well() {
        // It is allowed to end with an error, as after a crash: then it is run again.
        println!("  first call: {}", said.tail());
        until("an empty queue", PATIENCE, queue_is_empty)?;
        let again = plan.run(&["--no-confirm"]);
        holds(again.well(), "run again", &again)?;
    }
    whole(&plan, &expected).map_err(|why| format!("{why} (logs are in {FOLDER} until `down`)"))
}

fn preempted(rig: &Rig) -> Result<(), String> {
    let plan = Plan::made(rig, "preempted", &[ALL, &["--repeat", "200"]].concat())?;
    let expected = waiting(&plan.folder);
    let run = plan.begin(&["--no-confirm"], "run.txt")?;
    until("the first worker", Duration::from_mins(1), || !plan.workers(None).is_empty())?;
    let mut urgent = daemons::command("sbatch");
    urgent.args(["--parsable", "--partition=urgent", "--nodes=4", "--exclusive", "--time=1", "--output=/dev/null"]);
    daemons::must(urgent.arg("--wrap=sleep 5"))?;
    let said = run.wait(PATIENCE);
    holds(said.well(), "it should have gone on", &said)?;
    says(&said, &["ended without finishing a task", "the scheduler reports PREEMPTED"])?;
    whole(&plan, &expected)
}
