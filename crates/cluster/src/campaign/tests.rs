//! Campaigns on a made-up Slurm: real folders, made-up time, nodes that are up, busy, down or never there, limits,
//! other users, refusals, and jobs that end at any moment. Held for each: never above the limit, no node in two jobs,
//! nothing of ours left in the queue, always an end, and each task over exactly once or still there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use model::cluster::{Claim, Pairing, PlanNode, SuiteTask, Work};
use model::document::Program;
use stats::random::Random;

use super::*;
use crate::claim::claim;
use crate::make::write as write_plan;
use crate::scheduler::{Queued, Refusal, Script, Seat, Submitted, Tasks, room};

/// Seconds that a task takes.
const TASK_SECONDS: f64 = 20.0;

/// What becomes of a node, as a function of time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Up,
    /// Somebody else's until then.
    BusyUntil(f64),
    /// Not there from the first to the second moment.
    DownBetween(f64, f64),
    Never,
    /// It takes jobs, and they end at once.
    Broken,
    /// Jobs for it are refused for what they are.
    Refused,
    /// It does not see the plan's folder: its worker never begins, nor does a job whose script runs there.
    Blind,
    /// Until then its jobs are ended at once for the sake of others.
    WantedUntil(f64),
}

#[derive(Clone, Debug)]
struct SimJob {
    nodes: Vec<String>,
    tasks: Tasks,
    probe: String,
    limit_seconds: f64,
    started: Option<f64>,
    /// When it ends by itself, as jobs do that are killed.
    killed_at: Option<f64>,
    last_done: f64,
}

/// A cluster and its user.
struct World {
    folder: Folder,
    now: f64,
    fates: BTreeMap<String, Fate>,
    jobs: BTreeMap<u32, SimJob>,
    /// Those that were ended for the sake of others.
    preempted: BTreeSet<u32>,
    next: u32,
    /// Jobs that the user may have in the queue.
    limit: Option<u32>,
    /// Jobs that the user has there for something else, until when.
    others: (u32, f64),
    /// The scheduler does not answer between these moments.
    away: (f64, f64),
    random: Random,
    /// One in so many submissions is refused, for no good reason.
    refuses_one_in: u64,
    /// One in so many jobs is killed after a while.
    kills_one_in: u64,
    /// Submissions that were taken, as the nodes that they asked for.
    taken: Vec<Vec<String>>,
    most_queued: u32,
    us: Claim,
}

type Shared = Rc<RefCell<World>>;

struct Sim(Shared);

struct SimPace {
    world: Shared,
    /// When a signal comes.
    signal_at: Option<f64>,
}

impl World {
    fn queued(&self) -> u32 {
        let others = if self.now < self.others.1 { self.others.0 } else { 0 };
        others + u32::try_from(self.jobs.len()).unwrap()
    }

    fn seat(&self, node: &str) -> Seat {
        if self.jobs.values().any(|job| job.started.is_some() && job.nodes.iter().any(|other| other == node)) {
            return Seat::Busy("alloc".into());
        }
        match self.fates[node] {
            Fate::BusyUntil(until) if self.now < until => Seat::Busy("alloc".into()),
            Fate::DownBetween(from, until) if (from..until).contains(&self.now) => Seat::Down("down*".into()),
            Fate::Never => Seat::Down("down* (not responding)".into()),
            _ => Seat::Idle,
        }
    }

    /// Lets so much time pass.
    fn pass(&mut self, seconds: f64) {
        let until = self.now + seconds;
        while self.now < until {
            self.now = (self.now + 1.0).min(until);
            self.start();
            let ids: Vec<u32> = self.jobs.keys().copied().collect();
            for id in ids {
                self.work(id);
            }
        }
    }

    fn start(&mut self) {
        let ids: Vec<u32> = self.jobs.iter().filter(|(_, job)| job.started.is_none()).map(|(id, _)| *id).collect();
        for id in ids {
            if self.jobs[&id].nodes.iter().all(|node| self.seat(node) == Seat::Idle) {
                let (now, killed) =
                    (self.now, self.random.below(self.kills_one_in.max(1)) == 0 && self.kills_one_in > 0);
                let after = self.random.below(90) as f64;
                let job = self.jobs.get_mut(&id).unwrap();
                (job.started, job.last_done) = (Some(now), now);
                job.killed_at = killed.then_some(now + after);
                let job = self.jobs[&id].clone();
                let blind = |node: &String| self.fates[node] == Fate::Blind;
                for node in job.nodes.iter().filter(|node| !blind(node) && !blind(&job.nodes[0])) {
                    fs::write(self.folder.probes().join(format!("{}@{node}", job.probe)), "host\n").unwrap();
                }
            }
        }
    }

    /// A job's workers go on.
    fn work(&mut self, id: u32) {
        let job = self.jobs[&id].clone();
        let Some(started) = job.started else { return };
        let blind = |node: &String| self.fates[node] == Fate::Blind;
        let wanted = |node: &String| matches!(self.fates[node], Fate::WantedUntil(until) if self.now < until);
        if job.nodes.iter().any(wanted) {
            self.preempted.insert(id);
        }
        let over = self.now - started > job.limit_seconds
            || job.killed_at.is_some_and(|at| self.now >= at)
            || blind(&job.nodes[0])
            || self.preempted.contains(&id);
        let gone = |node: &String| {
            matches!(self.fates[node], Fate::DownBetween(from, until) if (from..until).contains(&self.now))
                || self.fates[node] == Fate::Broken
                || blind(node)
        };
        let (mut left, mut done) = (false, false);
        if !over {
            for node in job.nodes.iter().filter(|node| !gone(node)) {
                let names = self.doable(node, &job);
                left |= !names.is_empty();
                if let Some(name) = names.first().filter(|_| self.now - job.last_done >= TASK_SECONDS) {
                    finish(&self.folder, node, name, &self.us);
                    done = true;
                }
            }
        }
        if done {
            self.jobs.get_mut(&id).unwrap().last_done = self.now;
        }
        if over || !left {
            self.jobs.remove(&id);
        }
    }

    /// Tasks of a node that a job's worker can do.
    fn doable(&self, node: &str, job: &SimJob) -> Vec<String> {
        let of = |name: &String| name.strip_prefix("to-").map(str::to_owned);
        let fits = |name: &String| match (job.tasks, of(name)) {
            (Tasks::Alone, to) => to.is_none(),
            (Tasks::Together, to) => to.is_none_or(|to| job.nodes.contains(&to)),
        };
        waiting(&self.folder, node).unwrap().into_iter().filter(fits).collect()
    }
}

/// Does a task: claims it and publishes a result, as workers do.
fn finish(folder: &Folder, node: &str, name: &str, us: &Claim) {
    let (waiting, running) = (folder.tasks(State::Waiting, node), folder.tasks(State::Running, node));
    fs::create_dir_all(&running).unwrap();
    let Some(held) = claim(&waiting, &running, name, us).unwrap() else { return };
    let outcome = Outcome {
        task: read(held.path()).unwrap(),
        claim: us.clone(),
        status: OutcomeStatus::Ok,
        reason: None,
        seconds: TASK_SECONDS,
        exit_status: Some(0),
        at_once: None,
        figures: BTreeMap::new(),
    };
    let done = folder.tasks(State::Done, node).join(name);
    assert!(!done.exists(), "'{name}' of '{node}' was done twice");
    write(&done.join("outcome.json"), &outcome).unwrap();
    held.end();
}

impl Scheduler for Sim {
    fn script(&self, _: &Job) -> Script {
        Script { command: Vec::new(), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let world = &mut *self.0.borrow_mut();
        if world.refuses_one_in > 0 && world.random.below(world.refuses_one_in) == 0 {
            return Err(match world.random.below(3) {
                0 => Refusal::Limit("AssocGrpSubmitJobsLimit".into()),
                1 => Refusal::Unreachable("Socket timed out".into()),
                _ => Refusal::Wrong("Invalid something".into()),
            });
        }
        if job.nodes.iter().any(|node| world.fates[node] == Fate::Refused) {
            return Err(Refusal::Wrong("Requested node configuration is not available".into()));
        }
        assert!(world.limit.is_none_or(|limit| world.queued() < limit), "a job above the limit");
        let taken: BTreeSet<&String> = world.jobs.values().flat_map(|job| &job.nodes).collect();
        assert!(!job.nodes.iter().any(|node| taken.contains(node)), "a node in two jobs: {:?}", job.nodes);
        assert!(!job.nodes.is_empty() && job.seconds > 0.0);
        world.next += 1;
        let (id, now) = (world.next, world.now);
        let new = SimJob {
            nodes: job.nodes.clone(),
            tasks: job.tasks,
            probe: job.probe.clone().unwrap(),
            limit_seconds: job.seconds,
            started: None,
            killed_at: None,
            last_done: now,
        };
        world.jobs.insert(id, new);
        world.taken.push(job.nodes.clone());
        world.most_queued = world.most_queued.max(world.queued());
        Ok(Submitted { id: id.to_string(), launcher: "slurm", command: Vec::new() })
    }

    fn poll(&mut self) -> Result<Standing, String> {
        let world = self.0.borrow();
        if (world.away.0..world.away.1).contains(&world.now) {
            return Err("Unable to contact slurm controller (connect failure)".into());
        }
        let ours = world.jobs.iter().map(|(id, job)| {
            let (phase, reason) = job.started.map_or((Phase::Pending, "Resources"), |_| (Phase::Running, "None"));
            Queued { id: id.to_string(), phase, reason: reason.into() }
        });
        let others = if world.now < world.others.1 { world.others.0 } else { 0 };
        let others =
            (0..others).map(|n| Queued { id: format!("9{n:03}"), phase: Phase::Running, reason: "None".into() });
        let queue: Vec<Queued> = ours.chain(others).collect();
        let limits = crate::scheduler::Limits { submitted: world.limit, running: None };
        Ok(Standing {
            nodes: world.fates.keys().map(|node| (node.clone(), world.seat(node))).collect(),
            room: room(limits, u32::try_from(queue.len()).unwrap()),
            queue,
            bounds: BTreeMap::new(),
        })
    }

    fn cancel(&mut self, id: &str) -> Result<(), String> {
        self.0.borrow_mut().jobs.remove(&id.parse().unwrap());
        Ok(())
    }

    fn end_of(&mut self, id: &str) -> Option<JobEnd> {
        let preempted = self.0.borrow().preempted.contains(&id.parse().unwrap());
        let state = if preempted { "PREEMPTED" } else { "FAILED" };
        Some(JobEnd { state: state.into(), exit: "1:0".into() })
    }
}

impl Pace for SimPace {
    fn now(&mut self) -> f64 {
        self.world.borrow().now
    }

    fn sleep(&mut self, seconds: f64) -> Option<i32> {
        self.world.borrow_mut().pass(seconds);
        self.signal_at.filter(|at| self.world.borrow().now >= *at).map(|_| 2)
    }
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const TASKS: [&str; 3] = ["cpu", "disk", "memory"];

/// A plan of so many nodes, with pairs or without.
fn plan(name: &str, nodes: usize, pairs: bool) -> (Scratch, Folder) {
    let path = std::env::temp_dir().join(format!("assay-campaign-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let folder = Folder::at(&path);
    let names: Vec<String> = (1..=nodes).map(|n| format!("n{n}")).collect();
    let suite = |node: &String, name: &str| Task {
        node: node.clone(),
        name: name.into(),
        pass: 1,
        seconds: TASK_SECONDS,
        tried: 0,
        work: Work::Suite(SuiteTask { areas: vec![name.into()], filter: None }),
    };
    let mut tasks: Vec<Task> = names.iter().flat_map(|node| TASKS.iter().map(move |name| suite(node, name))).collect();
    for (from, to) in names.iter().flat_map(|from| names.iter().map(move |to| (from, to))) {
        if pairs && from != to {
            let pair = model::cluster::PairTask { to: to.clone(), round: 0, together: false };
            tasks.push(Task { work: Work::Pair(pair), name: format!("to-{to}"), ..suite(from, "") });
        }
    }
    let plan = Plan {
        schema: model::cluster::PLAN_SCHEMA.into(),
        name: "p".into(),
        created: "2026-11-22T12:00:00Z".into(),
        program: Program { version: "0.1.0".into(), git: None, profile: "debug".into(), argv: Vec::new() },
        program_path: "/bin/true".into(),
        suite: "quick".into(),
        options: Vec::new(),
        directory: None,
        nodes: names.iter().map(|name| PlanNode { name: name.clone(), partition: None }).collect(),
        pairing: pairs.then_some(Pairing::All),
        network: None,
        hpl: None,
        seconds_per_node: 3.0 * TASK_SECONDS,
        task_seconds: TASKS.iter().map(|name| ((*name).to_owned(), TASK_SECONDS)).collect(),
        lease_seconds: 3600.0,
        attempts: 3,
        seed: 1,
    };
    write_plan(&folder, &plan, &tasks, std::path::Path::new("/bin/true")).unwrap();
    (Scratch(path), folder)
}

/// A cluster where everything is well.
fn world(folder: &Folder, nodes: usize) -> World {
    World {
        folder: folder.clone(),
        now: 0.0,
        fates: (1..=nodes).map(|n| (format!("n{n}"), Fate::Up)).collect(),
        jobs: BTreeMap::new(),
        preempted: BTreeSet::new(),
        next: 0,
        limit: None,
        others: (0, 0.0),
        away: (0.0, 0.0),
        random: Random::new(1),
        refuses_one_in: 0,
        kills_one_in: 0,
        taken: Vec::new(),
        most_queued: 0,
        us: claimer(None).unwrap(),
    }
}

/// Runs a campaign, and what it told.
fn drive(world: &Shared, options: &Options, signal_at: Option<f64>, confirm: &[Task]) -> (Finished, Vec<String>) {
    let folder = world.borrow().folder.clone();
    let (mut told, mut rounds) = (Vec::new(), 0_u32);
    let finished = run(
        &folder,
        options,
        &mut Means {
            scheduler: &mut Sim(Rc::clone(world)),
            queues: true,
            second_pass: &mut |_| Ok(confirm.to_vec()),
            pace: &mut SimPace { world: Rc::clone(world), signal_at },
            tell: &mut |said| {
                rounds += 1;
                assert!(rounds < 20_000, "it does not end");
                match said {
                    Told::Remark(text) => told.push(text),
                    Told::Progress { why, .. } if told.last() != Some(&why) => told.push(why),
                    Told::Progress { .. } | Told::Submitted { .. } => {}
                }
            },
        },
    );
    (finished.unwrap(), told)
}

/// Where each task is: its state, for each node and name; a task in two places is told of.
fn places(folder: &Folder) -> BTreeMap<(String, String), Option<OutcomeStatus>> {
    let mut found = BTreeMap::new();
    for node in folder.plan().unwrap().nodes {
        let node = node.name;
        for name in waiting(folder, &node).unwrap() {
            assert_eq!(found.insert((node.clone(), name), None), None);
        }
        for name in over(folder, &node).unwrap() {
            let outcome: Outcome = read(&folder.tasks(State::Done, &node).join(&name).join("outcome.json")).unwrap();
            assert_eq!(found.insert((node.clone(), name), Some(outcome.status)), None, "in two places");
        }
        let running = crate::claim::claims(&folder.tasks(State::Running, &node)).unwrap();
        assert!(running.is_empty(), "{running:?}");
    }
    found
}

fn shared(world: World) -> Shared {
    Rc::new(RefCell::new(world))
}

#[test]
fn idle_nodes_are_one_job_and_it_ends() {
    let (_scratch, folder) = plan("idle", 5, false);
    let world = shared(World { limit: Some(2), ..world(&folder, 5) });
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 }, "{told:?}");
    assert_eq!(world.borrow().taken.len(), 1, "{:?}", world.borrow().taken);
    assert_eq!(places(&folder).len(), 15);
    assert_eq!(fs::read_dir(folder.jobs()).unwrap().count(), 1);
}

#[test]
fn nodes_at_once_are_no_more_than_the_user_wants() {
    let (_scratch, folder) = plan("at-once", 4, false);
    let world = shared(world(&folder, 4));
    let options = Options { at_once: Some(1), ..Options::default() };
    let (finished, _) = drive(&world, &options, None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 });
    assert!(world.borrow().taken.iter().all(|nodes| nodes.len() == 1), "{:?}", world.borrow().taken);
    assert_eq!(world.borrow().most_queued, 1);
}

#[test]
fn a_node_that_is_not_there_is_given_up_and_one_that_comes_back_is_not() {
    let (_scratch, folder) = plan("down", 4, false);
    let mut world = world(&folder, 4);
    world.fates.insert("n2".into(), Fate::Never);
    world.fates.insert("n3".into(), Fate::DownBetween(30.0, 500.0));
    world.fates.insert("n4".into(), Fate::BusyUntil(3000.0));
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 3 }, "{told:?}");
    for ((node, task), status) in places(&folder) {
        let expected = if node == "n2" { OutcomeStatus::Skipped } else { OutcomeStatus::Ok };
        assert_eq!(status, Some(expected), "{node} {task}");
    }
    assert!(told.iter().any(|text| text.contains("'n2' is given up") && text.contains("never came up")), "{told:?}");
}

#[test]
fn a_node_whose_jobs_come_to_nothing_is_given_up_with_what_they_said() {
    let (_scratch, folder) = plan("broken", 2, false);
    let mut world = world(&folder, 2);
    world.fates.insert("n1".into(), Fate::Broken);
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 3 }, "{told:?}");
    assert!(told.iter().any(|text| text.contains("'n1' is given up") && text.contains("3 jobs in a row")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("ended with nothing done on 'n1'")), "{told:?}");
}

#[test]
fn a_node_that_does_not_see_the_plan_goes_alone_and_is_given_up() {
    // The first node's are jobs whose script does not begin; the other's are those of which a part does not.
    for blind in ["n1", "n3"] {
        let (_scratch, folder) = plan(&format!("blind-{blind}"), 4, false);
        let mut world = world(&folder, 4);
        world.fates.insert(blind.into(), Fate::Blind);
        let world = shared(world);
        let (finished, told) = drive(&world, &Options::default(), None, &[]);
        assert_eq!(finished, Finished::Over { without_result: 3 }, "{told:?}");
        for ((node, task), status) in places(&folder) {
            let expected = if node == blind { OutcomeStatus::Skipped } else { OutcomeStatus::Ok };
            assert_eq!(status, Some(expected), "{node} {task}");
        }
        let taken = world.borrow().taken.clone();
        assert!(taken[1..].iter().filter(|nodes| nodes.contains(&blind.to_owned())).all(|nodes| nodes.len() == 1));
        assert!(taken.len() <= 5, "the others have two jobs at most: {taken:?}");
        let given_up = format!("'{blind}' is given up");
        let told = told.iter().find(|text| text.contains(&given_up)).unwrap();
        assert!(told.contains("has not answered the probe file") && told.contains("does not see"), "{told}");
    }
}

#[test]
fn jobs_that_are_ended_for_others_are_no_nodes_fault() {
    let (_scratch, folder) = plan("preempted", 2, false);
    let mut world = world(&folder, 2);
    world.fates.insert("n2".into(), Fate::WantedUntil(400.0));
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 }, "{told:?}");
    assert!(world.borrow().preempted.len() > 3, "more often than a node may fail");
    assert!(told.iter().any(|text| text.contains("the scheduler says PREEMPTED")), "{told:?}");
}

#[test]
fn a_node_whose_jobs_are_refused_holds_up_nobody_and_is_given_up() {
    let (_scratch, folder) = plan("refused", 4, false);
    let mut some = world(&folder, 4);
    some.fates.insert("n2".into(), Fate::Refused);
    let (finished, told) = drive(&shared(some), &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 3 }, "{told:?}");
    assert!(told.iter().any(|text| text.contains("'n2' is given up") && text.contains("not available")), "{told:?}");
    // Where every job is refused it is not the nodes' fault, and they keep their tasks.
    let (_scratch, folder) = plan("all-refused", 4, false);
    let mut all = world(&folder, 4);
    all.fates.values_mut().for_each(|fate| *fate = Fate::Refused);
    let (finished, _) = drive(&shared(all), &Options::default(), None, &[]);
    let Finished::Stopped { left: 12, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("10 submissions in a row"), "{why}");
}

#[test]
fn a_user_whose_own_jobs_fill_the_limit_waits_and_never_submits_above_it() {
    let (_scratch, folder) = plan("full", 3, false);
    let world = shared(World { limit: Some(4), others: (3, 2000.0), ..world(&folder, 3) });
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 });
    assert!(told.iter().any(|text| text.contains("3 other jobs of this user")), "{told:?}");
    assert!(world.borrow().now > 2000.0);
    assert!(world.borrow().most_queued <= 3, "one place stays free");
}

#[test]
fn a_scheduler_that_is_away_is_asked_again_and_in_the_end_left() {
    let (_scratch, folder) = plan("away", 2, false);
    let short = shared(World { away: (10.0, 300.0), ..world(&folder, 2) });
    let (finished, told) = drive(&short, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 });
    assert!(told.iter().any(|text| text.contains("does not answer")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("answers again")), "{told:?}");
    let (_scratch, folder) = plan("away-long", 2, false);
    let long = shared(World { away: (0.0, 1e9), ..world(&folder, 2) });
    let (finished, _) = drive(&long, &Options::default(), None, &[]);
    let Finished::Stopped { left: 6, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("did not answer") && why.contains("Unable to contact"), "{why}");
}

#[test]
fn a_campaign_that_is_ended_goes_on_with_the_jobs_that_it_left_in_the_queue() {
    let (_scratch, folder) = plan("again", 3, false);
    let world = shared(world(&folder, 3));
    let (finished, _) = drive(&world, &Options::default(), Some(10.0), &[]);
    assert_eq!(finished, Finished::Interrupted { signal: 2, jobs: vec!["1".into()] });
    // The made-up scheduler refuses a node in two jobs.
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 });
    assert_eq!(world.borrow().taken.len(), 1);
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, Finished::Over { without_result: 0 }, "nothing is left to do, and nothing is done");
    assert_eq!(world.borrow().taken.len(), 1);
}

#[test]
fn slow_nodes_are_measured_again_once_and_then_pairs() {
    let (_scratch, folder) = plan("pairs", 3, true);
    let world = shared(world(&folder, 3));
    let again = Task {
        node: "n2".into(),
        name: "cpu-again".into(),
        pass: 2,
        seconds: TASK_SECONDS,
        tried: 0,
        work: Work::Suite(SuiteTask { areas: vec!["cpu".into()], filter: None }),
    };
    let (finished, told) = drive(&world, &Options::default(), None, std::slice::from_ref(&again));
    assert_eq!(finished, Finished::Over { without_result: 0 }, "{told:?}");
    let taken = world.borrow().taken.clone();
    let expected = [&["n1", "n2", "n3"][..], &["n2"], &["n1", "n2", "n3"]];
    assert_eq!(taken, expected, "all, the one that is confirmed, then all together");
    assert_eq!(places(&folder).len(), 3 * 3 + 1 + 6);
    let (finished, _) = drive(&world, &Options::default(), None, &[again]);
    assert_eq!(finished, Finished::Over { without_result: 0 });
    assert_eq!(world.borrow().taken.len(), 3, "what was confirmed is not confirmed again");
}

#[test]
fn pairs_with_a_node_that_never_came_up_are_skipped_and_say_so() {
    let (_scratch, folder) = plan("half", 3, true);
    let mut world = world(&folder, 3);
    world.fates.insert("n3".into(), Fate::Never);
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    // Its three parts of the suite, its two pairs, and the two towards it.
    assert_eq!(finished, Finished::Over { without_result: 7 }, "{told:?}");
    let outcome: Outcome = read(&folder.tasks(State::Done, "n1").join("to-n3/outcome.json")).unwrap();
    assert!(outcome.reason.as_deref().unwrap().contains("'n3' was given up"), "{outcome:?}");
}

/// One of these.
fn drawn<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[usize::try_from(random.below(of.len() as u64)).unwrap()]
}

/// A cluster with all kinds of trouble.
fn troubled(seed: u32, folder: &Folder, nodes: usize) -> World {
    let mut random = Random::new(u64::from(seed));
    let mut world = world(folder, nodes);
    world.limit = *drawn(&mut random, &[None, Some(1), Some(2), Some(3), Some(10)]);
    world.others = (*drawn(&mut random, &[0, 1, 2, 3]), random.below(3000) as f64);
    world.others.0 = world.limit.map_or(world.others.0, |limit| world.others.0.min(limit));
    world.refuses_one_in = *drawn(&mut random, &[0, 2, 5]);
    world.kills_one_in = *drawn(&mut random, &[0, 3, 6]);
    let away = random.below(1000) as f64;
    world.away = (away, away + random.below(500) as f64);
    for fate in world.fates.values_mut() {
        let (from, length) = (random.below(600) as f64, random.below(900) as f64);
        *fate = match random.below(10) {
            0 | 1 => Fate::BusyUntil(length),
            2 => Fate::DownBetween(from, from + length),
            3 => Fate::Never,
            4 => Fate::Broken,
            5 if seed.is_multiple_of(4) => Fate::Refused,
            6 => Fate::Blind,
            7 => Fate::WantedUntil(length),
            _ => Fate::Up,
        };
    }
    world.random = random;
    world
}

#[test]
fn in_whatever_trouble_every_task_is_over_once_and_nothing_of_ours_stays() {
    for seed in 0..40_u32 {
        let nodes = 1 + seed as usize % 7;
        let (_scratch, folder) = plan(&format!("seed-{seed}"), nodes, seed % 3 == 0);
        let tasks = places(&folder).len();
        let world = shared(troubled(seed, &folder, nodes));
        let most = 1 + seed % 5;
        let options = Options { max_jobs: most, nodes_per_job: 1 + seed % 4, ..Options::default() };
        // Ended once at any moment, and begun again.
        let (first, _) = drive(&world, &options, Some(f64::from((seed * 37) % 500)), &[]);
        let finished = match first {
            Finished::Interrupted { .. } => drive(&world, &options, None, &[]).0,
            other => other,
        };
        let found = places(&folder);
        assert_eq!(found.len(), tasks, "seed {seed}: a task was lost");
        let without: u64 = found.values().filter(|status| **status != Some(OutcomeStatus::Ok)).count() as u64;
        let world = world.borrow();
        if let Finished::Stopped { why, .. } = &finished {
            let refused = world.fates.values().filter(|fate| **fate == Fate::Refused).count();
            assert!(refused > 0 && why.contains("in a row were refused"), "seed {seed}: {why}");
            continue;
        }
        assert_eq!(finished, Finished::Over { without_result: without }, "seed {seed}");
        for ((node, task), status) in &found {
            if matches!(world.fates[node], Fate::Never | Fate::Broken | Fate::Blind) {
                assert_eq!(*status, Some(OutcomeStatus::Skipped), "seed {seed}: {node} {task}");
            }
        }
        assert!(world.jobs.values().all(|job| job.started.is_some()), "seed {seed}: a job waits for nothing");
    }
}
