//! From a plan to results: submits jobs for what is left, polls them, and ends when every task is finished or nothing more
//! can be done.
//!
//! A pure function decides what to do next ([`super::decide`]); here is the loop that does it. It can be killed at any time
//! and started again, and run twice at once: what is left is read from the plan's folder every time, and claims decide which
//! worker does a task.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, SubmittedJob, Task};
use sys::clock::utc_now;

use super::clock::Clock;
use super::decide::{Action, Options, decide};
use super::events::{CampaignEnd, CampaignEvent};
use super::history::{EndedJob, History};
use super::remaining::{self, Remaining};
use super::{give_up, probe};
use crate::claims::claim::{claimer, claims, has_worker};
use crate::error::{Result, cannot_read};
use crate::folder::{Folder, OUTCOME, State, make_folder, read, write};
use crate::scheduler::error::SchedulerError;
use crate::scheduler::job::{Job, JobEnd, Phase, Scheduler, SchedulerState};
use crate::tasks::{add, finished, lease, waiting};

/// What a campaign needs besides the plan.
pub struct CampaignContext<'a> {
    /// What starts workers.
    pub scheduler: &'a mut dyn Scheduler,
    /// Whether jobs for busy nodes can wait in its queue.
    pub queues: bool,
    /// Tasks that confirm slow nodes, once every node has done its own.
    pub second_pass: &'a mut dyn FnMut(&Folder) -> Result<Vec<Task>>,
    /// Time.
    pub clock: &'a mut dyn Clock,
    /// Who listens.
    pub tell: &'a mut dyn FnMut(CampaignEvent),
}

impl std::fmt::Debug for CampaignContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CampaignContext").field("queues", &self.queues).finish_non_exhaustive()
    }
}

/// Submits jobs until every task of a plan is over.
pub fn run(folder: &Folder, options: &Options, context: &mut CampaignContext<'_>) -> Result<CampaignEnd> {
    let plan = folder.plan()?;
    make_folder(&folder.log())?;
    let history = History::new(&plan.nodes, context.queues);
    let mut campaign = Campaign {
        folder,
        options,
        context,
        history,
        known: remaining::NeedsCache::default(),
        us: claimer(None)?,
        plan,
        jobs: 0,
        interval: FIRST_INTERVAL_SECONDS,
        last: None,
        away_since: None,
        confirmed: false,
    };
    campaign.greet();
    campaign.drive()
}

/// Seconds between two looks: at first, and at most.
const FIRST_INTERVAL_SECONDS: f64 = 5.0;
const LONGEST_INTERVAL_SECONDS: f64 = 60.0;

/// By how much the time between two looks grows while nothing changes.
const INTERVAL_GROWTH: f64 = 1.3;

struct Campaign<'a, 'm> {
    folder: &'a Folder,
    options: &'a Options,
    context: &'a mut CampaignContext<'m>,
    plan: Plan,
    history: History,
    known: remaining::NeedsCache,
    us: Claim,
    jobs: u32,
    interval: f64,
    last: Option<(SchedulerState, Remaining)>,
    /// Since when the scheduler has not answered.
    away_since: Option<f64>,
    /// Whether slow nodes have been asked for.
    confirmed: bool,
}

impl Campaign<'_, '_> {
    fn remark(&mut self, text: String) {
        (self.context.tell)(CampaignEvent::Remark(text));
    }

    /// Says so if somebody else works at this plan too.
    fn greet(&mut self) {
        let me = rustix::process::getuid().as_raw();
        let jobs = fs::read_dir(self.folder.jobs()).into_iter().flatten().flatten();
        let owners = jobs.filter_map(|entry| entry.metadata().ok()).map(|data| data.uid());
        if let Some(other) = owners.into_iter().find(|owner| *owner != me) {
            self.remark(format!(
                "the user {other} has submitted jobs for this plan too: that does no harm, since each task is claimed \
                 once"
            ));
        }
    }

    /// Jobs in the queue that another campaign noted, before this one or beside it, are ours as well.
    fn adopt(&mut self, state: &SchedulerState, left: &Remaining) {
        for job in &state.queue {
            let noted = self.folder.jobs().join(format!("{}.json", job.id));
            if !self.history.jobs.contains_key(&job.id)
                && let Ok(noted) = read::<SubmittedJob>(&noted)
            {
                self.history.remember(&noted, left);
            }
        }
    }

    fn drive(&mut self) -> Result<CampaignEnd> {
        loop {
            let now = self.context.clock.now();
            let state = match self.context.scheduler.poll() {
                Ok(state) => state,
                Err(error) => {
                    if let Some(ended) = self.away(&error, now)? {
                        return Ok(ended);
                    }
                    continue;
                }
            };
            if self.away_since.take().is_some() {
                self.remark("the scheduler answers again".to_owned());
            }
            // After the queue: what a job that is gone has done is seen.
            let left = remaining::look(self.folder, &self.plan, &mut self.known)?;
            self.adopt(&state, &left);
            self.note_ends(&state, &left, now);
            self.note_silence(now);
            let actions = decide(&state, &left, self.options, &self.history, now);
            let changed = self.last.as_ref() != Some(&(state.clone(), left.clone()));
            let mut pause = true;
            for action in actions {
                match self.carry_out(action, (&state, &left), now)? {
                    Next::Pause => {}
                    Next::AtOnce => pause = false,
                    Next::End(finished) => return Ok(finished),
                }
            }
            self.last = Some((state, left));
            if pause && let Some(finished) = self.pause(changed) {
                return Ok(finished);
            }
        }
    }

    fn away(&mut self, error: &SchedulerError, now: f64) -> Result<Option<CampaignEnd>> {
        if self.away_since.is_none() {
            self.remark(format!("the scheduler does not answer, it is asked again: {error}"));
        }
        let since = *self.away_since.get_or_insert(now);
        if now - since > self.options.patience_seconds {
            let left = remaining::look(self.folder, &self.plan, &mut self.known)?.all();
            let why = format!("the scheduler did not answer for {:.0} s: {error}", now - since);
            return Ok(Some(CampaignEnd::Stopped { left, why }));
        }
        Ok(self.pause(false))
    }

    fn pause(&mut self, changed: bool) -> Option<CampaignEnd> {
        let grown = (self.interval * INTERVAL_GROWTH).min(LONGEST_INTERVAL_SECONDS);
        self.interval = if changed { FIRST_INTERVAL_SECONDS } else { grown };
        let seconds = self.options.poll_seconds.unwrap_or(self.interval);
        let signal = self.context.clock.sleep(seconds)?;
        Some(CampaignEnd::Interrupted { signal, jobs: self.history.jobs.keys().cloned().collect() })
    }

    /// Says of jobs that came to nothing why, and remembers whose fault that may be.
    fn note_ends(&mut self, state: &SchedulerState, left: &Remaining, now: f64) {
        for ended in self.history.observe(state, left, now) {
            if ended.fruitless.is_empty() {
                continue;
            }
            let end = self.context.scheduler.end_of(&ended.id);
            for node in &ended.fruitless {
                self.history.said(node, &probe::why_nothing(self.folder, &ended, node, end.as_ref()));
            }
            for node in probe::suspects(self.folder, &ended, end.as_ref()) {
                self.history.unseen(node);
            }
            if end.as_ref().is_some_and(JobEnd::is_preempted) {
                self.history.excuse(&ended);
            }
            self.tell_of_end(&ended, end.as_ref());
        }
    }

    /// A line for the nodes that have answered their probe file and one for the others.
    fn tell_of_end(&mut self, ended: &EndedJob, end: Option<&JobEnd>) {
        let is_answered =
            |node: &&String| ended.probe.as_ref().is_some_and(|probe| probe::is_answered(self.folder, probe, node));
        let (answered, silent): (Vec<&String>, Vec<&String>) = ended.fruitless.iter().partition(is_answered);
        for nodes in [answered, silent] {
            let Some(first) = nodes.first() else { continue };
            let why = probe::why_nothing(self.folder, ended, first, end);
            let others = probe::others(nodes.len());
            self.remark(format!("the job {} ended with nothing done on '{first}'{others}: {why}", ended.id));
        }
    }

    /// Says once of each job that runs which of its nodes do not see the plan's folder.
    fn note_silence(&mut self, now: f64) {
        let jobs = self.history.running(now);
        let silent: Vec<(String, String)> = jobs
            .filter_map(|(id, name, nodes, seconds)| {
                Some((id.to_owned(), probe::silent(self.folder, (id, name), nodes, seconds)?))
            })
            .collect();
        for (id, said) in silent {
            if let Some(job) = self.history.jobs.get_mut(&id) {
                job.silence_told = true;
            }
            self.remark(said);
        }
    }

    fn carry_out(&mut self, action: Action, seen: (&SchedulerState, &Remaining), now: f64) -> Result<Next> {
        let (over, left) = (seen.1.over(), seen.1.all());
        match action {
            Action::Submit(job) => self.submit(job, seen, now)?,
            Action::Cancel { id, why, at_fault } => {
                match self.context.scheduler.cancel(&id) {
                    Ok(()) => self.history.cancelled(&id, &why, at_fault),
                    Err(said) => self.remark(format!("the job {id} could not be cancelled: {said}")),
                }
                self.remark(format!("cancelled: {why}"));
            }
            Action::GiveUp { node, why } => return self.give_up(&node, &why),
            Action::Skip { meeting, why } => {
                let of = (meeting.node.as_str(), Some(meeting.task.as_str()));
                let ended = give_up::give_up(self.folder, &self.plan, of, &why, &self.us)?;
                return Ok(if ended > 0 { Next::AtOnce } else { Next::Pause });
            }
            Action::Wait { why } => (self.context.tell)(CampaignEvent::Progress { over, left, why }),
            Action::Over => return self.next_stage(left, seen.0),
            Action::Stop { why } => return Ok(Next::End(CampaignEnd::Stopped { left, why })),
        }
        Ok(Next::Pause)
    }

    fn submit(&mut self, job: Job, seen: (&SchedulerState, &Remaining), now: f64) -> Result<()> {
        self.jobs += 1;
        let name = format!("{}-{}", self.us.id, self.jobs);
        probe::ask(self.folder, &name, &self.us)?;
        let job = &Job { probe: Some(name.clone()), ..job };
        match self.context.scheduler.submit(job) {
            Ok(submitted) => {
                let noted = SubmittedJob {
                    id: submitted.id.clone(),
                    launcher: submitted.launcher.to_owned(),
                    nodes: job.nodes.clone(),
                    command: submitted.command,
                    probe: Some(name),
                    when: utc_now(),
                };
                self.history.submitted(&submitted.id, job, seen, now);
                write(&self.folder.jobs().join(format!("{}.json", submitted.id)), &noted)?;
                (self.context.tell)(CampaignEvent::Submitted { id: submitted.id, nodes: job.nodes.clone() });
            }
            Err(refusal) => {
                probe::withdraw(self.folder, &name);
                self.remark(format!("a job for '{}' was refused: {}", job.nodes.join(","), refusal.said()));
                self.history.refused(job, &refusal, now);
            }
        }
        Ok(())
    }

    fn give_up(&mut self, node: &str, why: &str) -> Result<Next> {
        if has_worker(self.folder, node, &self.us, lease(&self.plan)) {
            self.history.somebody_else_has(node);
            return Ok(Next::Pause);
        }
        self.history.gave_up(node);
        let ended = give_up::give_up(self.folder, &self.plan, (node, None), why, &self.us)?;
        if ended == 0 {
            return Ok(Next::Pause);
        }
        self.remark(format!("the node '{node}' is given up, with {ended} tasks: {why}"));
        Ok(Next::AtOnce)
    }

    /// A stage is over: slow nodes once more, then what needs several nodes, then the end.
    fn next_stage(&mut self, left: u64, state: &SchedulerState) -> Result<Next> {
        if self.options.confirm && !std::mem::replace(&mut self.confirmed, true) {
            match (self.context.second_pass)(self.folder) {
                Ok(tasks) => {
                    let new = self.add(tasks)?;
                    if new > 0 {
                        self.remark(format!("{new} tasks are done again, to confirm which nodes are slow"));
                    }
                }
                Err(said) => self.remark(format!("slow nodes cannot be confirmed: {said}")),
            }
            return Ok(Next::AtOnce);
        }
        if left > 0 && !self.history.may_meet {
            self.history.may_meet = true;
            return Ok(Next::AtOnce);
        }
        for id in self.history.jobs.keys() {
            // Nothing of ours stays in the queue. What runs has nothing to do any more and ends by itself.
            if is_pending(state, id) {
                let _ = self.context.scheduler.cancel(id);
            }
        }
        Ok(Next::End(CampaignEnd::AllFinished { without_result: self.without_result()? }))
    }

    /// Adds tasks to the plan, but those that it has.
    fn add(&self, tasks: Vec<Task>) -> Result<usize> {
        let mut new = Vec::new();
        for task in tasks {
            let claimed = claims(&self.folder.tasks(State::Running, &task.node))?;
            let is_claimed = claimed.iter().any(|seen| seen.name == task.name);
            let is_there = |names: BTreeSet<String>| names.contains(&task.name);
            let is_known = is_there(waiting(self.folder, &task.node)?) || is_there(finished(self.folder, &task.node)?);
            if !is_claimed && !is_known {
                new.push(task);
            }
        }
        add(self.folder, &new)?;
        Ok(new.len())
    }

    /// Tasks that are over without a result.
    fn without_result(&self) -> Result<u64> {
        let mut count = 0;
        for node in &self.plan.nodes {
            let done = self.folder.tasks(State::Done, &node.name);
            for entry in fs::read_dir(&done).into_iter().flatten().flatten() {
                let path = entry.path().join(OUTCOME);
                let outcome: Outcome = read(&path).map_err(cannot_read(&path))?;
                count += u64::from(outcome.status != OutcomeStatus::Ok);
            }
        }
        Ok(count)
    }
}

fn is_pending(state: &SchedulerState, id: &str) -> bool {
    state.queue.iter().any(|job| job.id == id && job.phase == Phase::Pending)
}

enum Next {
    Pause,
    AtOnce,
    End(CampaignEnd),
}
