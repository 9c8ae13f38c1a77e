//! What to do next, from the scheduler's state, the remaining tasks and the history. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::number::{counted, rough_duration};

use super::history::{History, OwnJob};
use super::remaining::{JointTask, Remaining};
use crate::scheduler::job::{Availability, Job, JobTasks, Phase, SchedulerState};
use crate::scheduler::script::usable_seconds;

/// Options of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The most jobs in the queue.
    pub max_jobs: u32,
    /// The most nodes of a job.
    pub nodes_per_job: u32,
    /// The most nodes measured at the same time.
    pub at_once: Option<u32>,
    /// The time limit of every job, in seconds; `None`: from the remaining tasks.
    pub job_seconds: Option<f64>,
    /// Nodes whose tasks are left for a later campaign.
    pub exclude: Vec<String>,
    /// Whether slow nodes are measured a second time.
    pub confirm: bool,
    /// Timeout for a scheduler or node that does not respond, in seconds.
    pub patience_seconds: f64,
    /// Seconds between two polls; `None`: from 5 up to 60.
    pub poll_seconds: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_jobs: 4,
            // Azure saw jobs fail to start at about 330 nodes.
            nodes_per_job: 128,
            at_once: None,
            job_seconds: None,
            exclude: Vec::new(),
            confirm: true,
            patience_seconds: 600.0,
            poll_seconds: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Submit(Job),
    Cancel {
        id: String,
        why: String,
        /// Whether the job is invalid, so that another one like it would fail too.
        at_fault: bool,
    },
    /// The node's remaining tasks will not be done.
    GiveUp {
        node: String,
        why: String,
    },
    /// A task that needs several nodes will not be done.
    Skip {
        meeting: JointTask,
        why: String,
    },
    Wait {
        why: String,
    },
    /// All tasks of this stage are finished.
    Over,
    /// Tasks are left that cannot be done now.
    Stop {
        why: String,
    },
}

/// The most jobs for busy nodes in the queue.
const MOST_PINNED: usize = 2;
/// How long a job of several nodes may wait, in seconds, when some of them are busy; schedulers take up to half a minute
/// to start a job.
const STALE_SECONDS: f64 = 60.0;
/// The shortest time limit of a job, in seconds, with its start and end.
const LEAST_JOB_SECONDS: f64 = 600.0;
/// Time limit of a job as a multiple of its expected time.
const LENIENCE: f64 = 1.3;

/// Slurm's reasons for which a job waits forever: `squeue(1)`, "JOB REASON CODES".
const NEVER: &[&str] = &[
    "PartitionTimeLimit",
    "PartitionNodeLimit",
    "PartitionConfig",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "QOSNotAllowed",
    "AccountNotAllowed",
    "AssociationTimeLimit",
    "MaxWallDurationPerJobLimit",
    "LaunchFailedRequeuedHeld",
    "launch failed requeued held",
    "JobHeldAdmin",
];

/// The actions to take now, in this order; never empty. `now` is in seconds since the campaign began.
pub(super) fn decide(
    state: &SchedulerState,
    left: &Remaining,
    options: &Options,
    history: &History,
    now: f64,
) -> Vec<Action> {
    let view = View { state, left, options, history, now };
    let mut actions = view.hopeless();
    let meeting = left.alone() == 0;
    if left.all() == 0 || meeting && !history.may_meet {
        return vec![Action::Over];
    }
    actions.extend(view.stale());
    if view.ours().next().is_some() || history.nothing_is_taken().is_none() {
        actions.extend(if meeting { view.submit_together() } else { view.submit_alone() });
    }
    if actions.is_empty() {
        actions.push(view.otherwise(meeting));
    }
    actions
}

struct View<'a> {
    state: &'a SchedulerState,
    left: &'a Remaining,
    options: &'a Options,
    history: &'a History,
    now: f64,
}

impl View<'_> {
    fn ours(&self) -> impl Iterator<Item = (&str, Phase, &[String])> {
        self.state.queue.iter().filter_map(|job| {
            let own = self.history.jobs.get(&job.id)?;
            Some((job.id.as_str(), job.phase, own.nodes.as_slice()))
        })
    }

    fn availability(&self, node: &str) -> Availability {
        let unknown = || Availability::Down("the scheduler has no node of this name".to_owned());
        self.state.nodes.get(node).cloned().unwrap_or_else(unknown)
    }

    /// Nodes and tasks that have failed too often, or can no longer be done.
    fn hopeless(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        let has_left = |node: &str| {
            self.left.nodes.get(node).is_some_and(|left| left.alone > 0)
                || self.left.meetings.iter().any(|meeting| meeting.node == node)
        };
        for (node, why) in self.history.hopeless().filter(|(node, _)| has_left(node)) {
            actions.push(Action::GiveUp { node: node.to_owned(), why });
        }
        for meeting in &self.left.meetings {
            let gone = meeting.nodes.iter().find(|node| self.history.was_given_up(node));
            let gone = gone.filter(|node| **node != meeting.node).map(|node| format!("the node '{node}' was skipped"));
            let why = gone.or_else(|| self.history.meetings_are_hopeless());
            actions.extend(why.map(|why| Action::Skip { meeting: meeting.clone(), why }));
        }
        actions
    }

    /// Cancels pending jobs that cannot start, whose nodes are busy again, or that have nothing left to do.
    fn stale(&self) -> Vec<Action> {
        let pending = self.state.queue.iter().filter(|job| job.phase == Phase::Pending);
        let waits_in_vain = pending.filter_map(|job| {
            let (why, at_fault) = self.why_stale(&job.reason, self.history.jobs.get(&job.id)?)?;
            Some(Action::Cancel { id: job.id.clone(), why: format!("the job {} {why}", job.id), at_fault })
        });
        waits_in_vain.collect()
    }

    /// Why a pending job should be cancelled, and whether the job itself is at fault.
    fn why_stale(&self, reason: &str, job: &OwnJob) -> Option<(String, bool)> {
        let nodes = &job.nodes;
        if NEVER.iter().any(|never| reason.contains(never)) {
            return Some((format!("would never start: {reason}"), true));
        }
        let is_over = |node: &String| self.left.nodes.get(node).is_none_or(|left| left.alone == 0);
        if job.tasks == Some(JobTasks::Alone) && nodes.iter().all(is_over) {
            return Some(("waits for nodes that have no tasks left".to_owned(), false));
        }
        let taken = nodes.iter().find(|node| self.availability(node) != Availability::Idle);
        let waited = self.now - job.submitted_at;
        if let Some(node) = taken.filter(|_| nodes.len() > 1 && waited > STALE_SECONDS && job.idle) {
            return Some((format!("waits for '{node}', which is no longer idle; its other nodes go ahead"), false));
        }
        let down = nodes
            .iter()
            .find(|node| matches!(self.availability(node), Availability::Down(_)) && self.down_too_long(node));
        down.map(|node| (format!("waits for '{node}', which is down"), false))
    }

    fn down_too_long(&self, node: &str) -> bool {
        self.history.down_seconds(node, self.now).is_some_and(|seconds| seconds > self.options.patience_seconds)
    }

    fn room(&self) -> u32 {
        if self.now < self.history.not_before {
            return 0;
        }
        let ours = u32::try_from(self.ours().count()).unwrap_or(u32::MAX);
        let own = self.options.max_jobs.saturating_sub(ours);
        self.state.room.map_or(own, |room| room.min(own))
    }

    /// Jobs for tasks of single nodes: idle nodes first, in as few jobs as possible; then busy nodes, a few at a time.
    fn submit_alone(&self) -> Vec<Action> {
        let taken: BTreeSet<&str> = self.ours().flat_map(|(_, _, nodes)| nodes).map(String::as_str).collect();
        let mut budget = self.options.at_once.map_or(usize::MAX, |most| most as usize).saturating_sub(taken.len());
        let mut room = self.room();
        let wanted = self.left.nodes.iter().filter(|(_, left)| left.alone > 0).map(|(name, _)| name.as_str());
        let wanted = wanted.filter(|node| self.too_long(node).is_none());
        let mut idle: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
        let mut busy = Vec::new();
        for node in wanted.filter(|node| !taken.contains(node) && !self.history.is_hopeless(node)) {
            match self.availability(node) {
                Availability::Idle => idle.entry(self.history.partition_of(node)).or_default().push(node),
                Availability::Busy(_) => busy.push(node),
                Availability::Down(_) | Availability::Elsewhere(_) => {}
            }
        }
        let mut actions = Vec::new();
        for (partition, nodes) in idle {
            let most = self.state.bounds(partition).nodes.unwrap_or(u32::MAX).min(self.options.nodes_per_job).max(1);
            for nodes in self.batches(&nodes, most as usize) {
                let nodes = &nodes[..nodes.len().min(budget)];
                if room == 0 || nodes.is_empty() {
                    break;
                }
                (room, budget) = (room - 1, budget - nodes.len());
                actions.push(Action::Submit(self.job(nodes, partition, JobTasks::Alone)));
            }
        }
        let pending = self.ours().filter(|(_, phase, _)| *phase == Phase::Pending).count();
        for node in busy.into_iter().take(MOST_PINNED.saturating_sub(pending)) {
            // A launcher without a queue starts workers at once.
            if room == 0 || budget == 0 || !self.history.queues || !actions.is_empty() {
                break;
            }
            (room, budget) = (room - 1, budget - 1);
            actions.push(Action::Submit(self.job(&[node], self.history.partition_of(node), JobTasks::Alone)));
        }
        actions
    }

    /// The nodes of each job: one with trouble gets a job of its own, so that it does not delay others.
    fn batches<'n>(&self, nodes: &[&'n str], most: usize) -> Vec<Vec<&'n str>> {
        let (troubled, good): (Vec<&str>, Vec<&str>) = nodes.iter().partition(|node| self.history.is_troubled(node));
        let good = good.chunks(most).map(<[&str]>::to_vec);
        good.chain(troubled.into_iter().map(|node| vec![node])).collect()
    }

    fn job(&self, nodes: &[&str], partition: Option<&str>, tasks: JobTasks) -> Job {
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        let needed = (self.left.seconds(&nodes, tasks) * LENIENCE + LEAST_JOB_SECONDS / 2.0).max(LEAST_JOB_SECONDS);
        let wanted = self.options.job_seconds.unwrap_or(needed);
        let longest = self.longest(partition).unwrap_or(f64::INFINITY);
        Job { nodes, partition: partition.map(str::to_owned), seconds: wanted.min(longest), tasks, probe: None }
    }

    /// The longest time limit that jobs in a partition can have, in seconds.
    fn longest(&self, partition: Option<&str>) -> Option<f64> {
        let bound = self.state.bounds(partition).seconds.map(|seconds| seconds as f64);
        let asked = self.options.job_seconds.filter(|_| self.history.queues);
        bound.into_iter().chain(asked).reduce(f64::min)
    }

    /// Why no job is long enough for any task of a node alone.
    fn too_long(&self, node: &str) -> Option<String> {
        let left = self.left.nodes.get(node).filter(|left| left.alone > 0)?;
        self.exceeds(node, left.shortest)
    }

    /// Why no job on a node is long enough for a task of this many seconds.
    fn exceeds(&self, node: &str, seconds: f64) -> Option<String> {
        let limit = self.longest(self.history.partition_of(node))?;
        let usable = usable_seconds(limit);
        (seconds > usable).then(|| {
            format!(
                "the shortest task of '{node}' takes about {}, but its jobs can take {}, of which {} are for tasks. \
                 Raise --time, or plan fewer benchmarks or another partition",
                rough_duration(seconds),
                rough_duration(limit),
                rough_duration(usable),
            )
        })
    }

    /// A job for tasks that need several nodes: all idle nodes, if they can do a task; else the nodes of one task. Two such
    /// jobs would disturb each other.
    fn submit_together(&self) -> Vec<Action> {
        if self.room() == 0 || self.ours().next().is_some() {
            return Vec::new();
        }
        let meetings = &self.left.meetings;
        let is_here = |node: &String| matches!(self.availability(node), Availability::Idle | Availability::Busy(_));
        let in_one_place = |meeting: &&JointTask| {
            meeting.nodes.iter().all(is_here) && self.exceeds(&meeting.node, meeting.seconds).is_none()
        };
        let Some(first) = meetings.iter().find(in_one_place) else { return Vec::new() };
        let partition = self.history.partition_of(&first.node);
        let is_idle =
            |node: &str| self.availability(node).is_idle_soon() && self.history.partition_of(node) == partition;
        let mut nodes: Vec<&str> = Vec::new();
        let most = self.options.nodes_per_job.max(2) as usize;
        // Tasks whose nodes are all idle, as long as they fit.
        for meeting in meetings.iter().filter(|meeting| meeting.nodes.iter().all(|node| is_idle(node))) {
            if nodes.len() >= most {
                break;
            }
            let new = meeting.nodes.iter().map(String::as_str).filter(|node| !nodes.contains(node));
            let new: Vec<&str> = new.collect();
            if nodes.len() + new.len() <= most || nodes.is_empty() {
                nodes.extend(new);
            }
        }
        if nodes.is_empty() && self.history.queues {
            nodes = first.nodes.iter().map(String::as_str).collect();
        }
        let job = (!nodes.is_empty()).then(|| self.job(&nodes, partition, JobTasks::Together));
        job.map(Action::Submit).into_iter().collect()
    }

    /// Without another action: wait, skip missing nodes, or stop.
    fn otherwise(&self, meeting: bool) -> Action {
        let ours = self.ours().count();
        if ours > 0 {
            return Action::Wait { why: self.waiting_for(ours) };
        }
        if let Some(why) = self.history.nothing_is_taken() {
            return Action::Stop { why };
        }
        if self.now < self.history.not_before {
            return Action::Wait { why: self.history.why_pause.clone() };
        }
        if self.state.room == Some(0) {
            let why = format!("{} other jobs of this user fill the queue limit", self.state.queue.len());
            return Action::Wait { why };
        }
        let joint: BTreeSet<&String> =
            self.left.meetings.iter().filter(|_| meeting).flat_map(|meeting| &meeting.nodes).collect();
        let wanted = self.left.nodes.iter().filter(|(node, left)| left.alone > 0 || joint.contains(node));
        let nodes: Vec<&str> = wanted.map(|(node, _)| node.as_str()).collect();
        let down = nodes.iter().find_map(|node| match self.availability(node) {
            Availability::Down(why) => Some((*node, why, self.down_too_long(node))),
            _ => None,
        });
        let elsewhere =
            nodes.iter().filter(|node| matches!(self.availability(node), Availability::Elsewhere(_))).count();
        let alone = nodes.iter().find_map(|node| self.too_long(node));
        let too_long = alone.or_else(|| {
            let mut meetings = self.left.meetings.iter().filter(|_| meeting);
            meetings.find_map(|meeting| self.exceeds(&meeting.node, meeting.seconds))
        });
        match down {
            Some((node, why, true)) => {
                let waited = rough_duration(self.options.patience_seconds);
                Action::GiveUp { node: node.to_owned(), why: format!("it was not available for {waited}: {why}") }
            }
            Some((node, why, false)) => Action::Wait { why: format!("the node '{node}' is not available: {why}") },
            None if elsewhere > 0 => Action::Stop {
                why: format!(
                    "{elsewhere} nodes of the plan are not in this allocation. Run it again in one that has them"
                ),
            },
            None if too_long.is_some() => Action::Stop { why: too_long.unwrap_or_default() },
            None if nodes.iter().all(|node| self.history.is_hopeless(node)) => {
                Action::Wait { why: "skipped nodes still have workers that another campaign started".to_owned() }
            }
            None => Action::Wait { why: format!("{} nodes are busy", nodes.len()) },
        }
    }

    fn waiting_for(&self, ours: usize) -> String {
        let pending = self.state.queue.iter().find(|job| {
            job.phase == Phase::Pending
                && !matches!(job.reason.as_str(), "" | "None")
                && self.history.jobs.contains_key(&job.id)
        });
        let running = self.ours().filter(|(_, phase, _)| *phase == Phase::Running).count();
        let why = pending.map(|job| format!(" (job {}: {})", job.id, job.reason)).unwrap_or_default();
        let waiting = format!("{} waiting{why}", ours - running);
        match (running, ours - running) {
            (_, 0) => format!("{} running", counted(running as u64, "job")),
            (0, _) => format!("no job running, {waiting}"),
            _ => format!("{} running, {waiting}", counted(running as u64, "job")),
        }
    }
}
