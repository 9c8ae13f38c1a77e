//! A plan's folder under workers that are quick, slow, silent and dead. The program is a shell script here.

pub(crate) mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use model::cluster::{Claim, HplPlan, Outcome, OutcomeStatus, Plan, Task};
use model::document::Program;
use model::machine::Machine;
use sys::clock::monotonic_raw_seconds;

use crate::attempt::context::{AttemptResult, NodeContext, ProgramCall};
use crate::attempt::publish::note_lost;
use crate::attempt::run::attempt;
use crate::claims::claim::{ClaimId, HolderState, claim, claimer, claims, holder, is_gone, now_of, sweep, take_over};
use crate::claims::lease::Leases;
use crate::folder::{Folder, State, names, read};
use crate::network::idle::Waits;
use crate::plan::request::make;
use crate::plan::write::write;
use crate::tasks::{finished, in_order, tally, tried, waiting};
use crate::tests::support::{Scratch, document, expected_seconds, install, plan_folder, program, request, scratch};
use crate::worker::{Worker, WorkerRole, work};

const LEASE: Duration = Duration::from_secs(30);

/// What the script does before anything else: `$out` is where its run goes, `$here` where it is, `$*` all words.
const SCRIPT: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\nwords=\"$*\"\necho \"$words\" >> \"$here/called\"\nresume=\n\
    while [ $# -gt 1 ]; do case $1 in --out) out=$2;; --resume) out=$2; resume=1;; esac; shift; done\nmkdir -p \"$out\"\n";

/// Measures at once.
const MEASURES: &str = "cp \"$here/document\" \"$out/run.json\"\n";

/// A plan of two tasks for each node, 30 s together, and its tasks; with HPL of this run time.
pub(super) fn plan_of(nodes: &[&str], hpl_seconds: Option<f64>) -> (Plan, Vec<Task>) {
    let hpl = |seconds| HplPlan { program: "/opt/xhpl".into(), launcher: Vec::new(), most_seconds: Some(seconds) };
    let mut request = request(nodes);
    (request.plan.hpl, request.plan.program_path) = (hpl_seconds.map(hpl), "/opt/assay".into());
    make(&request, &expected_seconds()).unwrap()
}

/// A plan of two tasks for each node, whose program is a script that does this.
fn plan(nodes: &[&str], script: &str) -> (Scratch, Folder, Plan) {
    let scratch = scratch();
    let path = install(&scratch, "assay", &format!("{SCRIPT}{script}"));
    let whole = document(&Machine::default(), Vec::new());
    fs::write(scratch.path().join("document"), serde_json::to_vec(&whole).unwrap()).unwrap();
    let mut request = request(nodes);
    (request.plan.program_path, request.plan.lease_seconds) = (path.display().to_string(), LEASE.as_secs_f64());
    let (plan, tasks) = make(&request, &expected_seconds()).unwrap();
    let folder = Folder::at(&scratch.path().join("plan"));
    write(&folder, &plan, &tasks, &path).unwrap();
    (scratch, folder, plan)
}

fn worker(node: &str) -> Worker {
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let waits = Waits::default();
    Worker { node: node.into(), job: None, until: None, program: program(), environment, role: WorkerRole::All, waits }
}

/// The folders of what waits and what runs on `n1`.
fn sides(folder: &Folder) -> (PathBuf, PathBuf) {
    (folder.tasks(State::Waiting, "n1"), folder.tasks(State::Running, "n1"))
}

fn us() -> Claim {
    claimer(None).unwrap()
}

/// The only claim of a task of this name.
fn seen(running: &Path, name: &str) -> ClaimId {
    let mut found = claims(running).unwrap();
    found.retain(|seen| seen.name == name);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Makes a claim's lease begin this long ago.
fn age(running: &Path, seen: &ClaimId, age: Duration) {
    let file = File::options().append(true).open(running.join(seen.file())).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + filesystem_now(running) - age).unwrap();
}

fn filesystem_now(folder: &Path) -> Duration {
    now_of(folder).unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

/// Makes one attempt at a task of `n1`, in a child with this timeout.
fn one_attempt(folder: &Folder, plan: &Plan, name: &str, most_seconds: f64, until: Option<f64>) -> AttemptResult {
    let (waiting, running) = sides(folder);
    let held = claim(&waiting, &running, name, &us()).unwrap().unwrap();
    let task: Task = read(&held.path).unwrap();
    let leases = Leases::new(LEASE);
    let environment = worker("n1").environment;
    let context = NodeContext {
        folder,
        plan,
        node: "n1",
        environment: &environment,
        leases: &leases,
        until,
        cancelled: &AtomicBool::new(false),
    };
    let call = ProgramCall {
        arguments: vec!["run".into(), "quick".into()],
        suite: "quick".into(),
        suite_text: None,
        most_seconds,
    };
    attempt(&context, held, &task, &call, None).unwrap()
}

fn outcome(folder: &Folder, name: &str) -> Outcome {
    read(&folder.outcome("n1", name)).unwrap()
}

#[test]
fn of_many_that_claim_and_take_over_the_same_one_has_it() {
    let scratch = plan_folder();
    let (waiting, running) = (scratch.path().join("waiting"), scratch.path().join("running"));
    fs::create_dir_all(&waiting).unwrap();
    let names: Vec<String> = (10..50).map(|number| format!("t{number}")).collect();
    for name in &names {
        fs::write(waiting.join(format!("{name}.json")), "{}").unwrap();
    }
    for round in 0..2 {
        let log = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let us = us();
                    for name in &names {
                        // First from the waiting tasks, then from the last holder.
                        let had = if round == 0 {
                            claim(&waiting, &running, name, &us).unwrap()
                        } else {
                            let old = ClaimId { name: name.clone(), id: "old".into() };
                            take_over(&running, &old, &us).unwrap()
                        };
                        log.lock().unwrap().extend(had.map(|held| held.name));
                    }
                });
            }
        });
        let mut log = log.into_inner().unwrap();
        log.sort();
        assert_eq!(log, names, "each once");
        for seen in claims(&running).unwrap() {
            fs::rename(running.join(seen.file()), running.join(format!("{}@old.json", seen.name))).unwrap();
        }
    }
    sweep(&running, Duration::ZERO).unwrap();
    assert_eq!(names.len(), crate::folder::names(&running).unwrap().len(), "only the claims are left");
}

#[test]
fn lost_holders_are_found_by_process_and_lease() {
    let (_scratch, folder, _) = plan(&["n1"], MEASURES);
    let (waiting, running) = sides(&folder);
    let us = us();
    let of = |name: &str| holder(&running, &seen(&running, name), &us, LEASE).unwrap();
    // The task's file is older than the lease before it is claimed: that must not end the claim.
    let old = File::options().append(true).open(waiting.join("cpu.json")).unwrap();
    old.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    let held = claim(&waiting, &running, "cpu", &us).unwrap().unwrap();
    assert_eq!(of("cpu"), HolderState::Alive);
    age(&running, &held.seen(), LEASE * 2);
    assert_eq!(of("cpu"), HolderState::Silent);
    assert!(held.renew().unwrap() && of("cpu") == HolderState::Alive);
    fs::remove_file(held.path.with_extension("who")).unwrap();
    assert_eq!(of("cpu"), HolderState::Alive, "without a name the lease counts");
    // A process that has ended, and one that nobody has asked how.
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let started = bench::leftovers::Owner::of(child.id()).started;
    child.kill().unwrap();
    while !fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let dead = Claim { pid: child.id(), pid_start: started, ..us.clone() };
    let held = claim(&waiting, &running, "memory", &dead).unwrap().unwrap();
    assert_eq!(of("memory"), HolderState::Dead, "it has ended");
    child.wait().unwrap();
    assert_eq!(of("memory"), HolderState::Dead, "it is gone");
    let elsewhere = Claim { boot: Some("another".into()), ..us.clone() };
    assert_eq!(
        holder(&running, &held.seen(), &elsewhere, LEASE).unwrap(),
        HolderState::Alive,
        "nothing is known of it"
    );
    held.end();
    let ended = ClaimId { name: "memory".into(), id: "x".into() };
    assert_eq!(holder(&running, &ended, &us, LEASE).unwrap(), HolderState::Ended);
    assert!(!is_gone(&running, &ended, &us, LEASE).unwrap());
}

#[test]
fn who_has_lost_a_claim_can_do_nothing_with_it() {
    let (_scratch, folder, plan) = plan(&["n1"], MEASURES);
    let (waiting, running) = sides(&folder);
    let first = claim(&waiting, &running, "cpu", &us()).unwrap().unwrap();
    assert!(claim(&waiting, &running, "cpu", &us()).unwrap().is_none());
    let second = take_over(&running, &first.seen(), &us()).unwrap().unwrap();
    assert!(take_over(&running, &first.seen(), &us()).unwrap().is_none());
    assert!(!first.renew().unwrap() && second.renew().unwrap());
    assert!(!first.clone().give_back(&waiting).unwrap());
    first.end();
    assert_eq!(claims(&running).unwrap(), [second.seen()]);
    assert!(second.give_back(&waiting).unwrap());
    assert_eq!(names(&running).unwrap(), Vec::<String>::new());
    assert_eq!(tally(&folder, &plan).unwrap().nodes[0].waiting, ["cpu", "memory"]);
}

#[test]
fn only_what_is_old_is_swept() {
    let scratch = scratch();
    for name in ["a@1.who", ".now@2", "b@3.who.77.unfinished", "c@4.who", "c@4.json"] {
        fs::write(scratch.path().join(name), "{}").unwrap();
    }
    sweep(scratch.path(), LEASE).unwrap();
    assert_eq!(names(scratch.path()).unwrap().len(), 5, "a claimer writes its name before its claim");
    std::thread::sleep(Duration::from_millis(20));
    sweep(scratch.path(), Duration::from_millis(1)).unwrap();
    let mut left = names(scratch.path()).unwrap();
    left.sort();
    assert_eq!(left, ["c@4.json", "c@4.who"]);
}

#[test]
fn a_document_is_published_once_and_what_is_wrong_with_one_is_said() {
    for (script, why) in [
        (MEASURES, None),
        ("echo no such thing >&2; exit 2\n", Some("exit status: 2; the program printed: no such thing")),
        ("kill -9 $$\n", Some("SIGKILL")),
        ("exit 0\n", Some("the program printed nothing")),
        ("sed s/quick/other/ $here/document > $out/run.json\n", Some("is of the suite 'other'")),
        ("sed 's/\"complete\":true/\"complete\":false/' $here/document > $out/run.json\n", Some("it was interrupted")),
        ("echo '{' > $out/run.json\n", Some("is not a run")),
        ("cp $here/document $out/run.json; exit 2\n", Some("exit status: 2")),
    ] {
        let (_scratch, folder, plan) = plan(&["n1"], script);
        let came = one_attempt(&folder, &plan, "cpu", 60.0, None);
        let Some(why) = why else {
            assert_eq!(came, AttemptResult::Finished(OutcomeStatus::Ok));
            let outcome = outcome(&folder, "cpu");
            assert_eq!((outcome.exit_status, outcome.status, outcome.reason), (Some(0), OutcomeStatus::Ok, None));
            continue;
        };
        let AttemptResult::Failed(reason) = came else { panic!("{script}: {came:?}") };
        assert!(reason.contains(why), "{reason}");
        assert_eq!(tried(&folder, "n1", "cpu").unwrap(), (1, 0));
        assert!(waiting(&folder, "n1").unwrap().contains("cpu") && finished(&folder, "n1").unwrap().is_empty());
        assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, None), AttemptResult::Finished(OutcomeStatus::Failed));
        let outcome = outcome(&folder, "cpu");
        let reason = outcome.reason.unwrap();
        assert!(reason.starts_with("2 attempts failed") && reason.contains(why) && outcome.task.tried == 2, "{reason}");
        let tally = &tally(&folder, &plan).unwrap().nodes[0];
        assert_eq!((tally.failed.len(), tally.waiting.len(), tally.tasks()), (1, 1, 2));
    }
}

#[test]
fn a_child_that_takes_too_long_is_ended_and_so_is_one_whose_time_is_over() {
    let (_scratch, folder, plan) = plan(&["n1"], "exec sleep 300\n");
    let AttemptResult::Failed(reason) = one_attempt(&folder, &plan, "cpu", 0.3, None) else {
        panic!("it cannot have ended")
    };
    assert!(reason.contains("timed out after 0 s"), "{reason}");
    let until = Some(monotonic_raw_seconds() + 0.3);
    assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, until), AttemptResult::Returned);
    assert_eq!(tried(&folder, "n1", "cpu").unwrap(), (1, 0), "that it was given back is no failure");
    assert!(waiting(&folder, "n1").unwrap().contains("cpu"));
}

#[test]
fn a_task_that_was_taken_over_is_not_published() {
    let (_scratch, folder, plan) = plan(&["n1"], &format!("while [ ! -e $here/go ]; do sleep 0.1; done\n{MEASURES}"));
    let (_, running) = sides(&folder);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| one_attempt(&folder, &plan, "cpu", 60.0, None));
        while names(&folder.tasks(State::Work, "n1")).unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The second holds the first for silent, which it is not: it publishes what it can.
        let old = seen(&running, "cpu");
        note_lost(&folder, "n1", &old, HolderState::Silent).unwrap();
        let held = take_over(&running, &old, &us()).unwrap().unwrap();
        fs::write(folder.path().parent().unwrap().join("go"), "").unwrap();
        assert_eq!(first.join().unwrap(), AttemptResult::LeaseLost);
        assert!(finished(&folder, "n1").unwrap().is_empty() && held.renew().unwrap());
        assert!(held.give_back(&sides(&folder).0).unwrap());
    });
    assert_eq!(tried(&folder, "n1", "cpu").unwrap(), (0, 1));
    assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, None), AttemptResult::Finished(OutcomeStatus::Ok));
    assert_eq!(names(&folder.tasks(State::Work, "n1")).unwrap(), Vec::<String>::new());
}

#[test]
fn what_a_dead_worker_has_left_is_gone_on_with() {
    let script = format!("echo \"resume=$resume\" >> $here/resumed\n{MEASURES}");
    for (left, called) in [("false", true), ("true", false)] {
        let (scratch, folder, plan) = plan(&["n1"], &script);
        let work = folder.tasks(State::Work, "n1").join("cpu@0/run");
        fs::create_dir_all(&work).unwrap();
        let whole = fs::read_to_string(scratch.path().join("document")).unwrap();
        let text = whole.replace("\"complete\":true", &format!("\"complete\":{left}"));
        fs::write(work.join("run.json"), text).unwrap();
        assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, None), AttemptResult::Finished(OutcomeStatus::Ok));
        let resumed = fs::read_to_string(scratch.path().join("resumed")).unwrap_or_default();
        assert_eq!(resumed, if called { "resume=1\n" } else { "" }, "a complete one is only published");
    }
    // One that cannot be resumed is measured again.
    let (_scratch, folder, plan) = plan(&["n1"], &format!("[ -z \"$resume\" ] || exit 2\n{MEASURES}"));
    let work = folder.tasks(State::Work, "n1").join("cpu@0/run");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("run.json"), "{}").unwrap();
    assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, None), AttemptResult::Finished(OutcomeStatus::Ok));
}

#[test]
fn a_task_that_takes_every_worker_with_it_is_given_up() {
    let (_scratch, folder, plan) = plan(&["n1"], MEASURES);
    for id in 0..10 {
        note_lost(&folder, "n1", &ClaimId { name: "cpu".into(), id: id.to_string() }, HolderState::Dead).unwrap();
    }
    assert_eq!(one_attempt(&folder, &plan, "cpu", 60.0, None), AttemptResult::Finished(OutcomeStatus::Failed));
    assert!(outcome(&folder, "cpu").reason.unwrap().contains("10 workers were lost"));
}

#[test]
fn two_workers_of_a_node_do_each_task_once_and_leave_nothing() {
    let (scratch, folder, plan) = plan(&["n1", "n2"], MEASURES);
    let ended: Vec<_> = std::thread::scope(|scope| {
        let workers = [(); 2].map(|()| scope.spawn(|| work(&folder, &worker("n1"), &mut |_| ()).unwrap()));
        workers.map(|worker| worker.join().unwrap()).into()
    });
    assert_eq!(ended.iter().map(|ended| ended.over).sum::<u32>(), 2, "{ended:?}");
    assert_eq!(fs::read_to_string(scratch.path().join("called")).unwrap().lines().count(), 2);
    let found = tally(&folder, &plan).unwrap();
    assert_eq!((found.nodes[0].done.len(), found.nodes[1].waiting.len(), found.is_finished()), (2, 2, false));
    assert!((found.nodes[1].waiting_seconds - 30.0).abs() < 1e-9);
    assert_eq!(names(&folder.tasks(State::Running, "n1")).unwrap(), Vec::<String>::new());
    assert!(folder.node("n1").join("facts.json").is_file());
    work(&folder, &worker("n2"), &mut |_| ()).unwrap();
    assert!(tally(&folder, &plan).unwrap().is_finished());
}

#[test]
fn a_worker_whose_plan_is_moved_ends_with_an_error_and_makes_nothing_again() {
    let (scratch, folder, _) = plan(&["n1"], "mv $here/plan $here/moved; mkdir -p $out/raw; exit 1\n");
    let error = work(&folder, &worker("n1"), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("is lost") && error.contains("moved or deleted"), "{error}");
    assert!(!folder.path().exists(), "{:?}", names(folder.path()));
    assert!(scratch.path().join("moved/plan.json").is_file());
}

#[test]
fn a_worker_of_a_cancelled_plan_returns_its_task() {
    let (_scratch, folder, plan) = plan(&["n1"], "touch $here/plan/cancelled; exec sleep 300\n");
    let ended = work(&folder, &worker("n1"), &mut |_| ()).unwrap();
    assert!(ended.sentence.contains("ended by assay cluster cancel"), "{ended:?}");
    assert_eq!(tally(&folder, &plan).unwrap().nodes[0].waiting, ["cpu", "memory"]);
}

#[test]
fn workers_refuse_what_they_cannot_do() {
    let (_scratch, folder, plan) = plan(&["n1"], MEASURES);
    let other = Worker { program: Program { git: Some("0dd".into()), ..program() }, ..worker("n1") };
    let error = work(&folder, &other, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("0.1.0 (c0ffee)") && error.contains("0.1.0 (0dd)"), "{error}");
    assert!(work(&folder, &worker("n9"), &mut |_| ()).unwrap_err().to_string().contains("no node 'n9'"));
    let short = Worker { until: Some(monotonic_raw_seconds() + 19.0), ..worker("n1") };
    let ended = work(&folder, &short, &mut |_| ()).unwrap();
    assert_eq!((ended.over, ended.left), (1, 1), "{ended:?}");
    assert!(ended.sentence.contains("the remaining time is too short"), "{ended:?}");
    let again = tally(&folder, &plan).unwrap();
    assert_eq!(again.nodes[0].waiting, ["memory"], "what does not fit stays");
    // Without a limit no time is too short: what is left is another worker's.
    let net = Worker { role: WorkerRole::Network, ..worker("n1") };
    let ended = work(&folder, &net, &mut |_| ()).unwrap();
    assert_eq!((ended.over, ended.left), (0, 1), "{ended:?}");
    assert!(ended.sentence.ends_with("1 tasks left; they are not network tasks"), "{ended:?}");
    let net = Worker { until: short.until, ..net };
    let ended = work(&folder, &net, &mut |_| ()).unwrap();
    assert!(ended.sentence.ends_with("; they are not network tasks"), "nor is it with one: {ended:?}");
}

#[test]
fn each_node_has_an_order_of_its_own_that_the_seed_draws() {
    let names = (0..6).map(|number| format!("t{number}")).collect();
    let orders = [("n1", 1), ("n1", 1), ("n2", 1), ("n1", 2)].map(|(node, seed)| in_order(&names, node, seed));
    assert!(orders[0] == orders[1] && orders[0] != orders[2] && orders[0] != orders[3]);
}
