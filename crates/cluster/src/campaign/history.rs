//! What has happened in a campaign so far: which jobs are ours, what became of them, who was refused. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::{PlanNode, SubmittedJob};

use super::remaining::Remaining;
use crate::scheduler::job::{Availability, Job, JobTasks, Phase, Refusal, SchedulerState};

/// Jobs of a node in a row that ended before any of its tasks was over: then it is given up.
const FRUITLESS_JOBS: u32 = 3;

/// Submissions in a row that were refused: if all of them were for one node it is given up, else all of it is.
const REFUSALS: u32 = 10;

/// The first pause after a refusal, in seconds; each further one in a row doubles it.
const FIRST_PAUSE_SECONDS: f64 = 30.0;

/// The longest pause, in seconds.
const LONGEST_PAUSE_SECONDS: f64 = 300.0;

/// A job of ours.
#[derive(Clone, Debug)]
struct OwnJob {
    nodes: Vec<String>,
    /// `None` where another campaign submitted it.
    tasks: Option<JobTasks>,
    submitted_at: f64,
    /// Name of its probe file.
    probe: Option<String>,
    /// Since when it has been seen to run, and whether it was told who has not answered.
    running_since: Option<f64>,
    silence_told: bool,
    /// Whether all of its nodes were idle then.
    idle: bool,
    /// Tasks over when it was submitted: of each node, and of the plan.
    over: BTreeMap<String, u32>,
    over_in_all: u64,
}

/// What is remembered of a node.
#[derive(Clone, Debug, Default)]
struct NodeTrouble {
    /// Jobs in a row that ended before any of its tasks was over, and what the last one said.
    fruitless: u32,
    said: String,
    /// Whether its last job did not show that it sees the plan's folder.
    unseen: bool,
    /// Submissions in a row that were refused, and why.
    refused: u32,
    refusal: String,
    /// Since when it has been down.
    down_since: Option<f64>,
    given_up: bool,
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    partitions: BTreeMap<String, Option<String>>,
    jobs: BTreeMap<String, OwnJob>,
    nodes: BTreeMap<String, NodeTrouble>,
    /// Refusals in a row for a limit, and until when nothing is submitted.
    limited: u32,
    not_before: f64,
    last_refusal: String,
    /// Jobs in a row that were refused for what they are, and whether one was ever taken.
    wrong: u32,
    taken: bool,
    /// Jobs in a row for several nodes that ended without any progress.
    fruitless_meetings: u32,
    /// Whether the plan's tasks for several nodes have their turn.
    may_meet: bool,
    /// Whether jobs for busy nodes can wait in a queue.
    queues: bool,
}

/// A job of ours that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndedJob {
    /// The scheduler's id.
    pub(crate) id: String,
    /// Its nodes on which no task was over since it was submitted.
    pub(crate) fruitless: Vec<String>,
    /// All of its nodes.
    pub(crate) nodes: Vec<String>,
    /// Name of its probe file.
    pub(crate) probe: Option<String>,
    /// Whether it was for tasks that need several nodes.
    pub(crate) together: bool,
}

impl History {
    /// Of nothing, for these nodes. `queues`: jobs for busy nodes can wait in a queue.
    pub(crate) fn new(nodes: &[PlanNode], queues: bool) -> Self {
        let partitions = nodes.iter().map(|node| (node.name.clone(), node.partition.clone())).collect();
        Self { partitions, queues, ..Self::default() }
    }

    /// From now on tasks that need several nodes have their turn.
    pub(crate) fn let_meet(&mut self) {
        self.may_meet = true;
    }

    /// Whether they have.
    pub(crate) fn may_meet(&self) -> bool {
        self.may_meet
    }

    pub(super) fn queues(&self) -> bool {
        self.queues
    }

    pub(super) fn partition_of(&self, node: &str) -> Option<&str> {
        self.partitions.get(node)?.as_deref()
    }

    /// The nodes of a job of ours.
    pub(super) fn nodes_of(&self, id: &str) -> Option<&[String]> {
        self.jobs.get(id).map(|job| job.nodes.as_slice())
    }

    pub(super) fn submitted_at(&self, id: &str) -> f64 {
        self.jobs.get(id).map_or(0.0, |job| job.submitted_at)
    }

    /// Whether a job is known to be ours.
    pub(super) fn is_ours(&self, id: &str) -> bool {
        self.jobs.contains_key(id)
    }

    /// A job in the queue that another campaign submitted for the same plan.
    pub(crate) fn remember(&mut self, job: &SubmittedJob, left: &Remaining) {
        self.note(&job.id, &job.nodes, (None, job.probe.clone()), left);
    }

    /// A job was taken.
    pub(crate) fn submitted(&mut self, id: &str, job: &Job, (state, left): (&SchedulerState, &Remaining), now: f64) {
        self.note(id, &job.nodes, (Some(job.tasks), job.probe.clone()), left);
        if let Some(ours) = self.jobs.get_mut(id) {
            ours.submitted_at = now;
            ours.idle = job.nodes.iter().all(|node| state.nodes.get(node) == Some(&Availability::Idle));
        }
        (self.limited, self.wrong, self.taken) = (0, 0, true);
        for node in &job.nodes {
            self.nodes.entry(node.clone()).or_default().refused = 0;
        }
    }

    fn note(
        &mut self,
        id: &str,
        nodes: &[String],
        (tasks, probe): (Option<JobTasks>, Option<String>),
        left: &Remaining,
    ) {
        let over = |node: &String| (node.clone(), left.nodes.get(node).map_or(0, |left| left.over));
        let over = nodes.iter().map(over).collect();
        let job = OwnJob {
            nodes: nodes.to_vec(),
            tasks,
            submitted_at: 0.0,
            probe,
            running_since: None,
            silence_told: false,
            idle: false,
            over,
            over_in_all: left.over(),
        };
        self.jobs.insert(id.to_owned(), job);
    }

    /// A job was refused.
    pub(crate) fn refused(&mut self, job: &Job, refusal: &Refusal, now: f64) {
        refusal.said().clone_into(&mut self.last_refusal);
        match refusal {
            Refusal::Limit(_) | Refusal::Unreachable(_) => {
                let doubled = FIRST_PAUSE_SECONDS * 2_f64.powi(i32::try_from(self.limited.min(10)).unwrap_or(10));
                self.not_before = now + doubled.min(LONGEST_PAUSE_SECONDS);
                self.limited += 1;
            }
            Refusal::Wrong(said) => {
                self.wrong += 1;
                for node in &job.nodes {
                    let trouble = self.nodes.entry(node.clone()).or_default();
                    trouble.refused += 1;
                    said.clone_into(&mut trouble.refusal);
                }
            }
        }
    }

    /// A job of ours was taken out of the queue. Where it was at fault itself that counts as a refusal.
    pub(crate) fn cancelled(&mut self, id: &str, why: &str, at_fault: bool) {
        let Some(job) = self.jobs.remove(id).filter(|_| at_fault) else { return };
        // One node of several may be the reason: each goes alone from now on.
        for node in job.nodes {
            let trouble = self.nodes.entry(node).or_default();
            trouble.refused += 1;
            why.clone_into(&mut trouble.refusal);
        }
    }

    /// Jobs of ours, as far as they were in the queue when it was last seen.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &str> {
        self.jobs.keys().map(String::as_str)
    }

    pub(super) fn is_for_alone(&self, id: &str) -> bool {
        self.jobs.get(id).is_some_and(|job| job.tasks == Some(JobTasks::Alone))
    }

    pub(super) fn was_for_idle(&self, id: &str) -> bool {
        self.jobs.get(id).is_some_and(|job| job.idle)
    }

    /// What is new in the queue and among the nodes; the jobs of ours that have ended. `left` was read after the queue.
    pub(crate) fn observe(&mut self, state: &SchedulerState, left: &Remaining, now: f64) -> Vec<EndedJob> {
        for (node, seat) in &state.nodes {
            self.nodes.entry(node.clone()).or_default().see(matches!(seat, Availability::Down(_)), now);
        }
        for node in self.partitions.keys().filter(|node| !state.nodes.contains_key(*node)) {
            self.nodes.entry(node.clone()).or_default().see(true, now);
        }
        let queued: BTreeSet<&str> = state.queue.iter().map(|job| job.id.as_str()).collect();
        for job in state.queue.iter().filter(|job| job.phase == Phase::Running) {
            if let Some(ours) = self.jobs.get_mut(&job.id) {
                ours.running_since.get_or_insert(now);
            }
        }
        let gone: Vec<String> = self.jobs.keys().filter(|id| !queued.contains(id.as_str())).cloned().collect();
        gone.into_iter().filter_map(|id| self.ended(id, left)).collect()
    }

    fn ended(&mut self, id: String, left: &Remaining) -> Option<EndedJob> {
        let job = self.jobs.remove(&id)?;
        let over = |node: &String| left.nodes.get(node).map_or(0, |left| left.over);
        let mut fruitless: Vec<String> =
            job.nodes.iter().filter(|node| over(node) <= job.over[*node]).cloned().collect();
        // What another campaign's job was for is not known.
        let tasks = job.tasks?;
        if tasks == JobTasks::Together {
            let progress = left.over() > job.over_in_all;
            self.fruitless_meetings = if progress { 0 } else { self.fruitless_meetings + 1 };
            if progress {
                fruitless.clear();
            }
            return Some(EndedJob { id, fruitless, nodes: job.nodes, probe: job.probe, together: true });
        }
        for node in &job.nodes {
            let trouble = self.nodes.entry(node.clone()).or_default();
            if fruitless.contains(node) {
                trouble.fruitless += 1;
            } else {
                (trouble.fruitless, trouble.unseen) = (0, false);
            }
        }
        // A node with nothing left needed no progress: another worker was quicker.
        fruitless.retain(|node| left.nodes.get(node).is_some_and(|left| left.alone > 0));
        Some(EndedJob { id, fruitless, nodes: job.nodes, probe: job.probe, together: false })
    }

    /// Jobs of ours with a probe file that run and of which it was not told yet who has not answered: the id, the probe,
    /// the nodes, and for how many seconds they run.
    pub(super) fn running(&self, now: f64) -> impl Iterator<Item = (&str, &str, &[String], f64)> {
        self.jobs.iter().filter(|(_, job)| !job.silence_told).filter_map(move |(id, job)| {
            Some((id.as_str(), job.probe.as_deref()?, job.nodes.as_slice(), now - job.running_since?))
        })
    }

    /// It was told who of a job has not answered.
    pub(super) fn told_silence(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.silence_told = true;
        }
    }

    /// A node has not shown that it sees the plan's folder: it goes alone from now on.
    pub(super) fn unseen(&mut self, node: &str) {
        self.nodes.entry(node.to_owned()).or_default().unseen = true;
    }

    /// A job was ended for the sake of another one, which says nothing of its nodes.
    pub(super) fn excuse(&mut self, job: &EndedJob) {
        if job.together {
            self.fruitless_meetings = self.fruitless_meetings.saturating_sub(1);
            return;
        }
        for node in &job.fruitless {
            let trouble = self.nodes.entry(node.clone()).or_default();
            trouble.fruitless = trouble.fruitless.saturating_sub(1);
        }
    }

    /// What a job that came to nothing on a node said.
    pub(crate) fn said(&mut self, node: &str, said: &str) {
        said.clone_into(&mut self.nodes.entry(node.to_owned()).or_default().said);
    }

    /// A node was given up.
    pub(crate) fn gave_up(&mut self, node: &str) {
        self.nodes.entry(node.to_owned()).or_default().given_up = true;
    }

    /// A worker that somebody else started is on a node: that our jobs come to nothing there is no wonder.
    pub(crate) fn somebody_else_has(&mut self, node: &str) {
        self.nodes.entry(node.to_owned()).or_default().fruitless = 0;
    }

    pub(super) fn is_hopeless(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.given_up || trouble.why_hopeless(self.taken).is_some())
    }

    pub(super) fn was_given_up(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.given_up)
    }

    /// Whether a node has been in trouble since it last got something done. One job that came to nothing may have been
    /// cancelled by somebody, and was not its fault.
    pub(super) fn is_troubled(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.fruitless > 1 || trouble.refused > 0 || trouble.unseen)
    }

    pub(super) fn down_seconds(&self, node: &str, now: f64) -> Option<f64> {
        Some(now - self.nodes.get(node)?.down_since?)
    }

    pub(super) fn not_before(&self) -> f64 {
        self.not_before
    }

    pub(super) fn last_refusal(&self) -> &str {
        &self.last_refusal
    }

    /// Nodes that are to be given up, or were before, with the reason.
    pub(super) fn hopeless(&self) -> impl Iterator<Item = (&str, String)> {
        let why = |trouble: &NodeTrouble| trouble.why_hopeless(self.taken);
        self.nodes.iter().filter_map(move |(node, trouble)| Some((node.as_str(), why(trouble)?)))
    }

    /// Why it makes no sense to submit anything more: it is the jobs that are wrong, not a node.
    pub(super) fn nothing_is_taken(&self) -> Option<String> {
        let why = || format!("{REFUSALS} submissions in a row were refused: {}", self.last_refusal);
        (self.wrong >= REFUSALS).then(why)
    }

    pub(super) fn meetings_are_hopeless(&self) -> Option<String> {
        let hopeless = self.may_meet && self.fruitless_meetings >= FRUITLESS_JOBS;
        hopeless.then(|| {
            format!("{FRUITLESS_JOBS} jobs of several nodes in a row ended before any task of theirs was over")
        })
    }
}

impl NodeTrouble {
    fn see(&mut self, down: bool, now: f64) {
        self.down_since = if down { self.down_since.or(Some(now)) } else { None };
    }

    /// `taken`: some job was taken once, so that it is not the user's account or a partition that is wrong.
    fn why_hopeless(&self, taken: bool) -> Option<String> {
        if self.fruitless >= FRUITLESS_JOBS {
            let said = if self.said.is_empty() { "they said nothing" } else { &self.said };
            return Some(format!("{FRUITLESS_JOBS} jobs in a row ended before any task of it was over: {said}"));
        }
        (taken && self.refused >= REFUSALS)
            .then(|| format!("{REFUSALS} submissions in a row were refused: {}", self.refusal))
    }
}
