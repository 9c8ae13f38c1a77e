//! The history of a campaign: its jobs, how they ended, and refusals. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::{PlanNode, SubmittedJob};

use super::remaining::Remaining;
use crate::scheduler::job::{Availability, EndedBy, Job, JobTasks, Phase, Refusal, SchedulerState};

/// Jobs in a row without a finished task after which a node is skipped.
const FRUITLESS_JOBS: u32 = 3;
/// Refused submissions in a row after which a node is skipped, or the campaign ends if they were for several nodes.
const REFUSALS: u32 = 10;
/// Jobs in a row that were cancelled after which the campaign ends.
const CANCELS: u32 = 10;
/// Jobs in a row that ended at their time limit, without a finished task, after which the campaign ends.
const TIMEOUTS: u32 = 3;
/// The first pause after a refusal, in seconds; each further refusal in a row doubles it.
const FIRST_PAUSE_SECONDS: f64 = 30.0;
const LONGEST_PAUSE_SECONDS: f64 = 300.0;

#[derive(Clone, Debug)]
pub(super) struct OwnJob {
    pub(super) nodes: Vec<String>,
    /// `None` where another campaign submitted it.
    pub(super) tasks: Option<JobTasks>,
    pub(super) submitted_at: f64,
    probe: Option<String>,
    running_since: Option<f64>,
    pub(super) silence_reported: bool,
    pub(super) idle: bool,
    /// Finished tasks when it was submitted: of each node, and of the plan.
    over: BTreeMap<String, u32>,
    over_in_all: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct NodeTrouble {
    /// Jobs in a row without a finished task, and the last message.
    pub(super) fruitless: u32,
    pub(super) said: String,
    /// Whether it did not answer the probe file of its last job: it gets jobs of its own from now on.
    pub(super) unseen: bool,
    /// Refused submissions in a row, and why.
    refused: u32,
    refusal: String,
    down_since: Option<f64>,
    pub(super) given_up: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    partitions: BTreeMap<String, Option<String>>,
    pub(super) jobs: BTreeMap<String, OwnJob>,
    nodes: BTreeMap<String, NodeTrouble>,
    /// Refusals in a row because of a limit, and until when nothing is submitted.
    limited: u32,
    pub(super) not_before: f64,
    /// Why nothing is submitted until then.
    pub(super) why_pause: String,
    /// Jobs in a row that were refused as invalid, and whether one was ever accepted.
    wrong: u32,
    taken: bool,
    last_refusal: String,
    /// Jobs in a row, without progress, that were cancelled, and that ended at their time limit.
    cancels: u32,
    timeouts: u32,
    /// Why no job of this plan can be submitted.
    pub(super) unusable: Option<String>,
    /// Jobs of several nodes in a row without progress.
    fruitless_meetings: u32,
    /// Whether tasks of several nodes may run now.
    pub(super) may_meet: bool,
    pub(super) queues: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndedJob {
    pub(super) id: String,
    /// Its nodes without a task finished since it was submitted.
    pub(super) fruitless: Vec<String>,
    pub(super) nodes: Vec<String>,
    pub(super) probe: Option<String>,
    pub(super) together: bool,
}

impl History {
    pub(super) fn new(nodes: &[PlanNode], queues: bool) -> Self {
        let partitions = nodes.iter().map(|node| (node.name.clone(), node.partition.clone())).collect();
        Self { partitions, queues, ..Self::default() }
    }

    pub(super) fn partition_of(&self, node: &str) -> Option<&str> {
        self.partitions.get(node)?.as_deref()
    }

    pub(super) fn trouble(&mut self, node: &str) -> &mut NodeTrouble {
        self.nodes.entry(node.to_owned()).or_default()
    }

    pub(super) fn submitted(
        &mut self,
        noted: &SubmittedJob,
        job: &Job,
        (state, left): (&SchedulerState, &Remaining),
        now: f64,
    ) {
        self.remember(noted, Some(job.tasks), left);
        if let Some(ours) = self.jobs.get_mut(&noted.id) {
            ours.submitted_at = now;
            ours.idle = job.nodes.iter().all(|node| state.nodes.get(node) == Some(&Availability::Idle));
        }
        (self.limited, self.wrong, self.taken) = (0, 0, true);
        for node in &job.nodes {
            self.trouble(node).refused = 0;
        }
    }

    /// Adds a queued job; the tasks of one that another campaign submitted are unknown.
    pub(super) fn remember(&mut self, noted: &SubmittedJob, tasks: Option<JobTasks>, left: &Remaining) {
        let over = |node: &String| (node.clone(), left.over_on(node));
        let job = OwnJob {
            nodes: noted.nodes.clone(),
            tasks,
            submitted_at: 0.0,
            probe: noted.probe.clone(),
            running_since: None,
            silence_reported: false,
            idle: false,
            over: noted.nodes.iter().map(over).collect(),
            over_in_all: left.over(),
        };
        self.jobs.insert(noted.id.clone(), job);
    }

    /// Submits nothing for a while, the longer the more often it was in vain.
    fn pause(&mut self, times: u32, now: f64, why: String) {
        let doubled = FIRST_PAUSE_SECONDS * 2_f64.powi(i32::try_from(times.min(10)).unwrap_or(10));
        self.not_before = now + doubled.min(LONGEST_PAUSE_SECONDS);
        self.why_pause = why;
    }

    pub(super) fn refused(&mut self, job: &Job, refusal: &Refusal, now: f64) {
        self.last_refusal = refusal.to_string();
        match refusal {
            Refusal::Limit(_) | Refusal::Unreachable(_) => {
                self.pause(self.limited, now, format!("the last submission was refused: {refusal}"));
                self.limited += 1;
            }
            Refusal::Options(said) => {
                self.unusable = Some(format!(
                    "the scheduler refuses the jobs of this plan: {said}. Correct the options of --sbatch"
                ));
            }
            Refusal::Wrong(said) => {
                self.wrong += 1;
                self.count_refusal(&job.nodes, said);
            }
        }
    }

    /// A job was cancelled; an invalid one counts as refused.
    pub(super) fn cancelled(&mut self, id: &str, why: &str, at_fault: bool) {
        let Some(job) = self.jobs.remove(id).filter(|_| at_fault) else { return };
        // One of its nodes may be the reason: each gets jobs of its own from now on.
        self.count_refusal(&job.nodes, why);
    }

    fn count_refusal(&mut self, nodes: &[String], why: &str) {
        for node in nodes {
            let trouble = self.trouble(node);
            trouble.refused += 1;
            why.clone_into(&mut trouble.refusal);
        }
    }

    /// Updates from the queue and the nodes, read before `left`; returns the jobs that ended.
    pub(super) fn observe(&mut self, state: &SchedulerState, left: &Remaining, now: f64) -> Vec<EndedJob> {
        for node in state.nodes.keys().chain(self.partitions.keys()) {
            let trouble = self.nodes.entry(node.clone()).or_default();
            let is_down = state.nodes.get(node).is_none_or(|seat| matches!(seat, Availability::Down(_)));
            trouble.down_since = if is_down { trouble.down_since.or(Some(now)) } else { None };
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
        let mut fruitless = job.nodes.clone();
        fruitless.retain(|node| left.over_on(node) <= job.over[node]);
        if fruitless.len() < job.nodes.len() {
            (self.cancels, self.timeouts) = (0, 0);
        }
        // The tasks of another campaign's job are unknown.
        let tasks = job.tasks?;
        if tasks == JobTasks::Together {
            let progress = left.over() > job.over_in_all;
            self.fruitless_meetings = if progress { 0 } else { self.fruitless_meetings + 1 };
            if progress {
                fruitless.clear();
            }
        } else {
            for node in &job.nodes {
                let trouble = self.trouble(node);
                if fruitless.contains(node) {
                    trouble.fruitless += 1;
                } else {
                    (trouble.fruitless, trouble.unseen) = (0, false);
                }
            }
            // A node with nothing left needed no progress.
            fruitless.retain(|node| left.nodes.get(node).is_some_and(|left| left.alone > 0));
        }
        let together = tasks == JobTasks::Together;
        Some(EndedJob { id, fruitless, nodes: job.nodes, probe: job.probe, together })
    }

    /// Running jobs whose silent nodes were not reported yet: id, probe, nodes, seconds.
    pub(super) fn running(&self, now: f64) -> impl Iterator<Item = (&str, &str, &[String], f64)> {
        self.jobs.iter().filter(|(_, job)| !job.silence_reported).filter_map(move |(id, job)| {
            Some((id.as_str(), job.probe.as_deref()?, job.nodes.as_slice(), now - job.running_since?))
        })
    }

    /// Takes back that a job counts against its nodes, unless what ended it is their fault.
    pub(super) fn excuse(&mut self, job: &EndedJob, by: EndedBy, now: f64) {
        match by {
            EndedBy::Preemption => {}
            // The node that failed is down, or it fails again in a job of its own.
            EndedBy::NodeFailure if job.nodes.len() > 1 => {
                // Jobs continue without any node but the first, on which the script runs.
                self.trouble(&job.nodes[0]).unseen = true;
            }
            EndedBy::Cancel => {
                self.pause(0, now, format!("the job {} was cancelled", job.id));
                self.cancels += 1;
            }
            EndedBy::TimeLimit => self.timeouts += 1,
            EndedBy::NodeFailure | EndedBy::Itself | EndedBy::OutOfMemory => return,
        }
        if job.together {
            self.fruitless_meetings = self.fruitless_meetings.saturating_sub(1);
            return;
        }
        for node in &job.fruitless {
            let trouble = self.trouble(node);
            trouble.fruitless = trouble.fruitless.saturating_sub(1);
        }
    }

    pub(super) fn is_hopeless(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.given_up || trouble.why_hopeless(self.taken).is_some())
    }

    pub(super) fn was_given_up(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.given_up)
    }

    /// Whether a node had trouble since its last progress. A single job without progress may have been cancelled.
    pub(super) fn is_troubled(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|trouble| trouble.fruitless > 1 || trouble.refused > 0 || trouble.unseen)
    }

    pub(super) fn down_seconds(&self, node: &str, now: f64) -> Option<f64> {
        Some(now - self.nodes.get(node)?.down_since?)
    }

    pub(super) fn hopeless(&self) -> impl Iterator<Item = (&str, String)> {
        let why = |trouble: &NodeTrouble| trouble.why_hopeless(self.taken);
        self.nodes.iter().filter_map(move |(node, trouble)| Some((node.as_str(), why(trouble)?)))
    }

    /// Why no more jobs are submitted.
    pub(super) fn nothing_is_taken(&self) -> Option<String> {
        if self.unusable.is_some() {
            return self.unusable.clone();
        }
        if self.cancels >= CANCELS {
            return Some(format!("{CANCELS} jobs in a row were cancelled"));
        }
        if self.timeouts >= TIMEOUTS {
            return Some(format!("{TIMEOUTS} jobs in a row ended at their time limit before any of their tasks"));
        }
        let why = || format!("{REFUSALS} submissions in a row were refused: {}", self.last_refusal);
        (self.wrong >= REFUSALS).then(why)
    }

    pub(super) fn meetings_are_hopeless(&self) -> Option<String> {
        let hopeless = self.may_meet && self.fruitless_meetings >= FRUITLESS_JOBS;
        hopeless.then(|| format!("{FRUITLESS_JOBS} jobs of several nodes in a row ended before any of their tasks"))
    }
}

impl NodeTrouble {
    /// `taken`: a job was once accepted, so the account and the partition are valid.
    fn why_hopeless(&self, taken: bool) -> Option<String> {
        if self.fruitless >= FRUITLESS_JOBS {
            let said = if self.said.is_empty() { "they printed nothing" } else { &self.said };
            return Some(format!("{FRUITLESS_JOBS} jobs in a row ended before any of its tasks: {said}"));
        }
        (taken && self.refused >= REFUSALS)
            .then(|| format!("{REFUSALS} submissions in a row were refused: {}", self.refusal))
    }
}
