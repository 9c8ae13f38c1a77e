//! What to do next. Pure: from what the scheduler knows, what is left of the plan, and what has happened so far.

use std::collections::{BTreeMap, BTreeSet};

use super::history::History;
use super::remaining::{JointTask, Remaining};
use crate::scheduler::job::{Availability, Job, JobTasks, Phase, SchedulerState};

/// What a user wants of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Jobs of ours in the queue at a time.
    pub max_jobs: u32,
    /// Nodes of a job.
    pub nodes_per_job: u32,
    /// Nodes that are measured at the same moment; `None` for as many as there are.
    pub at_once: Option<u32>,
    /// The time of every job, in seconds; `None` to work it out from what is left.
    pub job_seconds: Option<f64>,
    /// Whether slow nodes are measured a second time.
    pub confirm: bool,
    /// How long a scheduler or a node may be away, in seconds, before it is given up.
    pub patience_seconds: f64,
    /// Seconds between two looks; `None` to begin with 5 and go up to 60.
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
            confirm: true,
            patience_seconds: 600.0,
            poll_seconds: None,
        }
    }
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A job is to be submitted.
    Submit(Job),
    /// A job of ours is to be taken out of the queue.
    Cancel {
        /// The scheduler's id.
        id: String,
        /// Why, in a sentence.
        why: String,
        /// Whether the job itself is at fault, so that another like it would be in vain.
        at_fault: bool,
    },
    /// All tasks of a node that are left will not be done.
    GiveUp {
        /// The node.
        node: String,
        /// Why, in a sentence.
        why: String,
    },
    /// A task that needs several nodes will not be done.
    Skip {
        /// The task.
        meeting: JointTask,
        /// Why, in a sentence.
        why: String,
    },
    /// There is nothing to do but to wait.
    Wait {
        /// For what, in a sentence.
        why: String,
    },
    /// All tasks of this stage are over.
    Over,
    /// Tasks are left, and nothing that we could do would change that now.
    Stop {
        /// Why, in a sentence.
        why: String,
    },
}

/// Jobs for busy nodes that wait in the queue at a time: enough to get a node when it is free, too few to be in
/// anybody's way.
const MOST_PINNED: usize = 2;

/// How long a job of several nodes may wait, once some of them are not idle any more, in seconds: schedulers need up to
/// half a minute to start a job that can start.
const STALE_SECONDS: f64 = 60.0;

/// The least time of a job, in seconds: starting, finding out what a node is, and ending take a part of it.
const LEAST_JOB_SECONDS: f64 = 600.0;

/// How much longer than expected a job may take.
const LENIENCE: f64 = 1.3;

/// Reasons, in Slurm's words, for which a job would wait for ever: `squeue(1)`, "JOB REASON CODES".
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
    "LaunchFailedRequeuedHeld",
    "launch failed requeued held",
    "JobHeldAdmin",
];

/// What to do now, in this order; never empty. `now` is in seconds since the campaign began.
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
    if left.all() == 0 || meeting && !history.may_meet() {
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

/// All that is decided from.
struct View<'a> {
    state: &'a SchedulerState,
    left: &'a Remaining,
    options: &'a Options,
    history: &'a History,
    now: f64,
}

impl View<'_> {
    /// Jobs of ours in the queue, with their nodes.
    fn ours(&self) -> impl Iterator<Item = (&str, Phase, &[String])> {
        let of = |id: &str| self.history.nodes_of(id);
        self.state.queue.iter().filter_map(move |job| Some((job.id.as_str(), job.phase, of(&job.id)?)))
    }

    fn availability(&self, node: &str) -> Availability {
        let unknown = || Availability::Down("the scheduler knows no node of this name".to_owned());
        self.state.nodes.get(node).cloned().unwrap_or_else(unknown)
    }

    /// Nodes and tasks that have failed too often, or that cannot be done any more.
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
            if let Some(node) = gone.filter(|node| **node != meeting.node) {
                actions.push(Action::Skip { meeting: meeting.clone(), why: format!("the node '{node}' was given up") });
            } else if let Some(why) = self.history.meetings_are_hopeless() {
                actions.push(Action::Skip { meeting: meeting.clone(), why });
            }
        }
        actions
    }

    /// Jobs of ours that wait for what will not come, for what others have taken meanwhile, or for nothing any more.
    fn stale(&self) -> Vec<Action> {
        let pending = self.state.queue.iter().filter(|job| job.phase == Phase::Pending);
        let waits_in_vain = pending.filter_map(|job| {
            let (why, at_fault) = self.why_stale(&job.id, &job.reason, self.history.nodes_of(&job.id)?)?;
            Some(Action::Cancel { id: job.id.clone(), why: format!("the job {} {why}", job.id), at_fault })
        });
        waits_in_vain.collect()
    }

    /// Why a job that waits should not, and whether the job itself is at fault.
    fn why_stale(&self, id: &str, reason: &str, nodes: &[String]) -> Option<(String, bool)> {
        if NEVER.iter().any(|never| reason.contains(never)) {
            return Some((format!("would never start: {reason}"), true));
        }
        let is_over = |node: &String| self.left.nodes.get(node).is_none_or(|left| left.alone == 0);
        if self.history.is_for_alone(id) && nodes.iter().all(is_over) {
            return Some(("waits for nodes on which nothing is left to do".to_owned(), false));
        }
        let taken = nodes.iter().find(|node| self.availability(node) != Availability::Idle);
        let waited = self.now - self.history.submitted_at(id);
        if let Some(node) = taken.filter(|_| nodes.len() > 1 && waited > STALE_SECONDS && self.history.was_for_idle(id))
        {
            return Some((format!("waits for '{node}', which is not idle any more: its other nodes need not"), false));
        }
        let down = nodes
            .iter()
            .find(|node| matches!(self.availability(node), Availability::Down(_)) && self.down_too_long(node));
        down.map(|node| (format!("waits for '{node}', which is down"), false))
    }

    fn down_too_long(&self, node: &str) -> bool {
        self.history.down_seconds(node, self.now).is_some_and(|seconds| seconds > self.options.patience_seconds)
    }

    /// How many more jobs may be submitted now.
    fn room(&self) -> u32 {
        if self.now < self.history.not_before() {
            return 0;
        }
        let ours = u32::try_from(self.ours().count()).unwrap_or(u32::MAX);
        let own = self.options.max_jobs.saturating_sub(ours);
        self.state.room.map_or(own, |room| room.min(own))
    }

    /// Jobs for tasks that nodes do alone: idle nodes first, as few jobs as possible; then busy ones, a few at a time.
    fn submit_alone(&self) -> Vec<Action> {
        let taken: BTreeSet<&str> = self.ours().flat_map(|(_, _, nodes)| nodes).map(String::as_str).collect();
        let mut budget = self.options.at_once.map_or(usize::MAX, |most| most as usize).saturating_sub(taken.len());
        let mut room = self.room();
        let wanted = self.left.nodes.iter().filter(|(_, left)| left.alone > 0).map(|(name, _)| name.as_str());
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
            // Where a worker is started at once there is no queue to wait in.
            if room == 0 || budget == 0 || !self.history.queues() || !actions.is_empty() {
                break;
            }
            (room, budget) = (room - 1, budget - 1);
            actions.push(Action::Submit(self.job(&[node], self.history.partition_of(node), JobTasks::Alone)));
        }
        actions
    }

    /// Nodes as jobs have them: those that have been in trouble alone, so that they hold up nobody else.
    fn batches<'n>(&self, nodes: &[&'n str], most: usize) -> Vec<Vec<&'n str>> {
        let (troubled, good): (Vec<&str>, Vec<&str>) = nodes.iter().partition(|node| self.history.is_troubled(node));
        let good = good.chunks(most).map(<[&str]>::to_vec);
        good.chain(troubled.into_iter().map(|node| vec![node])).collect()
    }

    fn job(&self, nodes: &[&str], partition: Option<&str>, tasks: JobTasks) -> Job {
        let expected = match tasks {
            JobTasks::Alone => {
                let of = |node: &&str| self.left.nodes.get(*node).map_or(0.0, |left| left.seconds);
                nodes.iter().map(of).fold(0.0, f64::max)
            }
            // Meetings take their turns.
            JobTasks::Together => self.left.meetings.iter().map(|meeting| meeting.seconds).sum(),
        };
        let needed = (expected * LENIENCE + LEAST_JOB_SECONDS / 2.0).max(LEAST_JOB_SECONDS);
        let wanted = self.options.job_seconds.unwrap_or(needed);
        let longest = self.state.bounds(partition).seconds.map_or(f64::INFINITY, |seconds| seconds as f64);
        Job {
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            partition: partition.map(str::to_owned),
            seconds: wanted.min(longest),
            tasks,
            probe: None,
        }
    }

    /// A job for tasks that need several nodes: all that are wanted and idle, if any task is among them; else the nodes
    /// of one task, to wait for each other. One such job at a time, since meetings of two jobs would disturb each
    /// other.
    fn submit_together(&self) -> Vec<Action> {
        if self.room() == 0 || self.ours().next().is_some() {
            return Vec::new();
        }
        let meetings = &self.left.meetings;
        let in_one_place = |meeting: &&JointTask| {
            meeting
                .nodes
                .iter()
                .all(|node| !matches!(self.availability(node), Availability::Down(_) | Availability::Elsewhere(_)))
        };
        let Some(first) = meetings.iter().find(in_one_place) else { return Vec::new() };
        let partition = self.history.partition_of(&first.node);
        let is_idle =
            |node: &str| self.availability(node) == Availability::Idle && self.history.partition_of(node) == partition;
        let mut nodes: Vec<&str> = Vec::new();
        // Meetings whose nodes are all idle, as long as they fit.
        for meeting in meetings.iter().filter(|meeting| meeting.nodes.iter().all(|node| is_idle(node))) {
            let new: Vec<&str> =
                meeting.nodes.iter().map(String::as_str).filter(|node| !nodes.contains(node)).collect();
            if nodes.len() + new.len() <= self.options.nodes_per_job.max(2) as usize || nodes.is_empty() {
                nodes.extend(new);
            }
        }
        if nodes.is_empty() && self.history.queues() {
            nodes = first.nodes.iter().map(String::as_str).collect();
        }
        if nodes.is_empty() {
            Vec::new()
        } else {
            vec![Action::Submit(self.job(&nodes, partition, JobTasks::Together))]
        }
    }

    /// What else there is to do: wait, give up nodes that stay away, or stop.
    fn otherwise(&self, meeting: bool) -> Action {
        let ours = self.ours().count();
        let wanted = |node: &&str| {
            self.left.nodes.get(*node).is_some_and(|left| left.alone > 0)
                || meeting && self.left.meetings.iter().any(|meeting| meeting.nodes.iter().any(|other| other == node))
        };
        let nodes: Vec<&str> = self.left.nodes.keys().map(String::as_str).filter(wanted).collect();
        let still_there = |node: &&&str| !self.history.is_hopeless(node) && !self.history.was_given_up(node);
        if ours > 0 {
            return Action::Wait { why: self.waiting_for(ours) };
        }
        if let Some(why) = self.history.nothing_is_taken() {
            return Action::Stop { why };
        }
        if self.now < self.history.not_before() {
            return Action::Wait { why: format!("the last submission was refused: {}", self.history.last_refusal()) };
        }
        if self.state.room == Some(0) {
            let queued = self.state.queue.len();
            let why = format!("the queue holds {queued} other jobs of this user, and the limit lets no more in");
            return Action::Wait { why };
        }
        let down = nodes.iter().find_map(|node| match self.availability(node) {
            Availability::Down(why) => Some((*node, why, self.down_too_long(node))),
            _ => None,
        });
        let elsewhere =
            nodes.iter().filter(|node| matches!(self.availability(node), Availability::Elsewhere(_))).count();
        match down {
            Some((node, why, true)) => Action::GiveUp { node: node.to_owned(), why: format!("never came up: {why}") },
            Some((node, why, false)) => Action::Wait { why: format!("the node '{node}' is not there: {why}") },
            None if elsewhere > 0 => Action::Stop {
                why: format!("{elsewhere} nodes of the plan are not in this allocation; run it again where they are"),
            },
            None if nodes.iter().all(|node| !still_there(&node)) => Action::Wait {
                why: "nodes that were given up still have workers, which somebody else started".to_owned(),
            },
            None => Action::Wait { why: format!("{} nodes are busy", nodes.len()) },
        }
    }

    /// What our jobs are at, in a sentence.
    fn waiting_for(&self, ours: usize) -> String {
        let pending = self.state.queue.iter().find(|job| {
            job.phase == Phase::Pending
                && !matches!(job.reason.as_str(), "" | "None")
                && self.history.nodes_of(&job.id).is_some()
        });
        let running = self.ours().filter(|(_, phase, _)| *phase == Phase::Running).count();
        let why = pending.map(|job| format!("; {} waits: {}", job.id, job.reason)).unwrap_or_default();
        format!("{running} of {ours} jobs run{why}")
    }
}
