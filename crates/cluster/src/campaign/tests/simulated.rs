//! A simulated Slurm and its nodes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;

use model::cluster::{Claim, Outcome, OutcomeStatus, Pairing, Plan, SuiteTask, Task, Work};
use model::experiment::Area;
use stats::random::Random;

use crate::attempt::context::outcome;
use crate::campaign::decide::Options;
use crate::campaign::mark::{LastCampaign, cancel, last};
use crate::campaign::run::{CampaignContext, CampaignEnd, CampaignEvent, Clock, run};
use crate::claims::claim::{claim, claimer, claims};
use crate::folder::{Folder, State, read, write};
use crate::plan::request::make;
use crate::plan::write::write as write_plan;
use crate::scheduler::error::SchedulerError;
use crate::scheduler::job::{
    Availability, Job, JobEnd, JobLimits, JobTasks, Phase, Queued, Refusal, Scheduler, SchedulerState, Script,
    Submitted,
};
use crate::scheduler::slurm::room;
use crate::tasks::{finished, waiting};
use crate::tests::support::{Scratch, request, scratch};

/// Seconds that a task takes.
pub(super) const TASK_SECONDS: f64 = 20.0;

/// The state of a node over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Up,
    /// Another user has it until then.
    BusyUntil(f64),
    /// Down between these times.
    DownBetween(f64, f64),
    Never,
    /// Its jobs end at once.
    Broken,
    /// Its jobs are refused as invalid.
    Refused,
    /// It cannot read the plan's folder: no worker and no job script starts there.
    Blind,
    /// Its jobs are ended at once until then, with this state.
    EndedUntil(f64, &'static str),
}

#[derive(Clone, Debug)]
pub(super) struct SimJob {
    nodes: Vec<String>,
    tasks: JobTasks,
    probe: String,
    limit_seconds: f64,
    pub(super) started: Option<f64>,
    /// When it is killed.
    killed_at: Option<f64>,
    last_done: f64,
}

/// A cluster and its user.
pub(super) struct World {
    pub(super) folder: Folder,
    pub(super) now: f64,
    pub(super) fates: BTreeMap<String, Fate>,
    pub(super) jobs: BTreeMap<u32, SimJob>,
    /// Jobs that were ended from outside, with the state.
    pub(super) ends: BTreeMap<u32, &'static str>,
    pub(super) next: u32,
    /// The longest time limit of a job.
    pub(super) longest: Option<u64>,
    /// Every job is refused because of the user's options.
    pub(super) refuses_options: bool,
    /// When the plan is cancelled.
    pub(super) cancelled_at: Option<f64>,
    /// When others look at the campaign's mark, and what they see.
    pub(super) seen: Option<(f64, Rc<RefCell<Option<LastCampaign>>>)>,
    /// When the plan's folder is moved.
    pub(super) moved_at: Option<f64>,
    /// The user's limit of queued jobs.
    pub(super) limit: Option<u32>,
    /// Other queued jobs of the user, until when.
    pub(super) others: (u32, f64),
    /// The scheduler does not answer between these moments.
    pub(super) away: (f64, f64),
    pub(super) random: Random,
    /// One in N submissions is refused without a reason.
    pub(super) refuses_one_in: u64,
    /// One in N jobs is killed after a while.
    pub(super) kills_one_in: u64,
    /// The nodes of each accepted job.
    pub(super) taken: Vec<Vec<String>>,
    pub(super) most_queued: u32,
    pub(super) us: Claim,
}

pub(super) type Shared = Rc<RefCell<World>>;

struct Sim(Shared);

struct SimClock {
    world: Shared,
    /// When a signal arrives.
    signal_at: Option<f64>,
}

impl World {
    fn queued(&self) -> u32 {
        let others = if self.now < self.others.1 { self.others.0 } else { 0 };
        others + u32::try_from(self.jobs.len()).unwrap()
    }

    fn availability(&self, node: &str) -> Availability {
        if self.jobs.values().any(|job| job.started.is_some() && job.nodes.iter().any(|other| other == node)) {
            return Availability::Busy("alloc".into());
        }
        match self.fates[node] {
            Fate::BusyUntil(until) if self.now < until => Availability::Busy("alloc".into()),
            Fate::DownBetween(from, until) if (from..until).contains(&self.now) => Availability::Down("down*".into()),
            Fate::Never => Availability::Down("down* (not responding)".into()),
            _ => Availability::Idle,
        }
    }

    /// Lets time pass.
    fn pass(&mut self, seconds: f64) {
        let until = self.now + seconds;
        while self.now < until {
            self.now = (self.now + 1.0).min(until);
            if self.moved_at.is_some_and(|at| self.now >= at) {
                self.moved_at = None;
                fs::rename(self.folder.path(), self.folder.path().with_extension("moved")).unwrap();
            }
            if self.cancelled_at.is_some_and(|at| self.now >= at) {
                self.cancelled_at = None;
                cancel(&self.folder).unwrap();
            }
            if let Some((at, seen)) = self.seen.take() {
                if self.now < at {
                    self.seen = Some((at, seen));
                } else {
                    *seen.borrow_mut() = last(&self.folder, &self.us);
                }
            }
            if self.folder.require().is_err() {
                continue;
            }
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
            if self.jobs[&id].nodes.iter().all(|node| self.availability(node) == Availability::Idle) {
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

    /// The workers of a job continue.
    fn work(&mut self, id: u32) {
        let job = self.jobs[&id].clone();
        let Some(started) = job.started else { return };
        let blind = |node: &String| self.fates[node] == Fate::Blind;
        let state = |node: &String| match self.fates[node] {
            Fate::EndedUntil(until, state) if self.now < until => Some(state),
            _ => None,
        };
        if let Some(state) = job.nodes.iter().find_map(state) {
            self.ends.insert(id, state);
        }
        let over = self.now - started > job.limit_seconds
            || job.killed_at.is_some_and(|at| self.now >= at)
            || blind(&job.nodes[0])
            || self.ends.contains_key(&id);
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
            (JobTasks::Alone, to) => to.is_none(),
            (JobTasks::Together, to) => to.is_none_or(|to| job.nodes.contains(&to)),
        };
        waiting(&self.folder, node).unwrap().into_iter().filter(fits).collect()
    }
}

/// Does a task: claims it and publishes a result, as workers do.
fn finish(folder: &Folder, node: &str, name: &str, us: &Claim) {
    let (waiting, running) = folder.open_tasks(node);
    fs::create_dir_all(&running).unwrap();
    let Some(held) = claim(&waiting, &running, name, us).unwrap() else { return };
    let outcome = Outcome { status: OutcomeStatus::Ok, ..outcome(&held.task().unwrap(), us, 0) };
    let done = folder.outcome(node, name);
    assert!(!done.exists(), "'{name}' of '{node}' was done twice");
    write(&done, &outcome).unwrap();
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
        if world.refuses_options {
            world.next += 1;
            return Err(Refusal::Options("Invalid account or account/partition combination specified".into()));
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

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        let world = self.0.borrow();
        if (world.away.0..world.away.1).contains(&world.now) {
            return Err(SchedulerError::Failed("sinfo".into(), "Unable to contact slurm controller".into()));
        }
        let ours = world.jobs.iter().map(|(id, job)| {
            let (phase, reason) = job.started.map_or((Phase::Pending, "Resources"), |_| (Phase::Running, "None"));
            Queued { id: id.to_string(), phase, reason: reason.into() }
        });
        let others = if world.now < world.others.1 { world.others.0 } else { 0 };
        let others =
            (0..others).map(|n| Queued { id: format!("9{n:03}"), phase: Phase::Running, reason: "None".into() });
        let queue: Vec<Queued> = ours.chain(others).collect();
        Ok(SchedulerState {
            nodes: world.fates.keys().map(|node| (node.clone(), world.availability(node))).collect(),
            room: room(world.limit, u32::try_from(queue.len()).unwrap()),
            queue,
            bounds: BTreeMap::from([(String::new(), JobLimits { seconds: world.longest, nodes: None })]),
        })
    }

    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError> {
        self.0.borrow_mut().jobs.remove(&id.parse().unwrap());
        Ok(())
    }

    fn end_of(&mut self, id: &str) -> Option<JobEnd> {
        let state = self.0.borrow().ends.get(&id.parse().unwrap()).copied().unwrap_or("FAILED");
        Some(JobEnd { state: state.into(), exit: "1:0".into() })
    }
}

impl Clock for SimClock {
    fn now(&mut self) -> f64 {
        self.world.borrow().now
    }

    fn sleep(&mut self, seconds: f64) -> Option<i32> {
        self.world.borrow_mut().pass(seconds);
        self.signal_at.filter(|at| self.world.borrow().now >= *at).map(|_| 2)
    }
}

const TASKS: [&str; 3] = ["cpu", "disk", "memory"];

/// A plan of N nodes, with or without pairs.
pub(super) fn plan(nodes: usize, pairs: bool) -> (Scratch, Folder) {
    let scratch = scratch();
    let folder = Folder::at(scratch.path());
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
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let expected = BTreeMap::from([(Area::Cpu, 3.0 * TASK_SECONDS)]);
    let plan = Plan {
        program_path: "/bin/true".into(),
        pairing: pairs.then_some(Pairing::All),
        task_seconds: TASKS.iter().map(|name| ((*name).to_owned(), TASK_SECONDS)).collect(),
        lease_seconds: 3600.0,
        ..make(&request(&names), &expected).unwrap().0
    };
    write_plan(&folder, &plan, &tasks, std::path::Path::new("/bin/true")).unwrap();
    (scratch, folder)
}

/// A cluster where everything is well.
pub(super) fn world(folder: &Folder, nodes: usize) -> World {
    World {
        folder: folder.clone(),
        now: 0.0,
        fates: (1..=nodes).map(|n| (format!("n{n}"), Fate::Up)).collect(),
        jobs: BTreeMap::new(),
        ends: BTreeMap::new(),
        longest: None,
        refuses_options: false,
        cancelled_at: None,
        seen: None,
        moved_at: None,
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

/// Runs a campaign; returns its end and its reports.
pub(super) fn drive(
    world: &Shared,
    options: &Options,
    signal_at: Option<f64>,
    confirm: &[Task],
) -> (CampaignEnd, Vec<String>) {
    let (finished, reports) = try_drive(world, options, signal_at, confirm);
    (finished.unwrap(), reports)
}

pub(super) fn try_drive(
    world: &Shared,
    options: &Options,
    signal_at: Option<f64>,
    confirm: &[Task],
) -> (crate::error::Result<CampaignEnd>, Vec<String>) {
    let folder = world.borrow().folder.clone();
    let (mut reports, mut rounds) = (Vec::new(), 0_u32);
    let finished = run(
        &folder,
        options,
        &mut CampaignContext {
            scheduler: &mut Sim(Rc::clone(world)),
            queues: true,
            second_pass: &mut |_| Ok(confirm.to_vec()),
            clock: &mut SimClock { world: Rc::clone(world), signal_at },
            report: &mut |said| {
                rounds += 1;
                assert!(rounds < 20_000, "it does not end");
                match said {
                    CampaignEvent::Remark(text) => reports.push(text),
                    CampaignEvent::Progress { why, .. } if reports.last() != Some(&why) => reports.push(why),
                    CampaignEvent::Progress { .. } | CampaignEvent::Submitted { .. } => {}
                }
            },
        },
    );
    (finished, reports)
}

/// Where each task is: its state, for each node and name; no task may be in two places.
pub(super) fn places(folder: &Folder) -> BTreeMap<(String, String), Option<OutcomeStatus>> {
    let mut found = BTreeMap::new();
    for node in folder.plan().unwrap().nodes {
        let node = node.name;
        for name in waiting(folder, &node).unwrap() {
            assert_eq!(found.insert((node.clone(), name), None), None);
        }
        for name in finished(folder, &node).unwrap() {
            let outcome: Outcome = read(&folder.outcome(&node, &name)).unwrap();
            assert_eq!(found.insert((node.clone(), name), Some(outcome.status)), None, "in two places");
        }
        let running = claims(&folder.tasks(State::Running, &node)).unwrap();
        assert!(running.is_empty(), "{running:?}");
    }
    found
}

pub(super) fn shared(world: World) -> Shared {
    Rc::new(RefCell::new(world))
}

/// One of these.
fn drawn<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[usize::try_from(random.below(of.len() as u64)).unwrap()]
}

/// A cluster with all kinds of trouble.
pub(super) fn troubled(seed: u32, folder: &Folder, nodes: usize) -> World {
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
            7 => Fate::EndedUntil(length, "PREEMPTED"),
            _ => Fate::Up,
        };
    }
    world.random = random;
    world
}
