//! A campaign: submits jobs for a plan's unfinished tasks until every task is finished or nothing more can be done. It can be
//! killed at any time, started again, and run twice at once: the remaining tasks are read from the plan's folder every time.

use std::time::Duration;

use model::cluster::{Claim, JobEnded, Outcome, OutcomeStatus, Plan, SubmittedJob, Task};
use model::number::counted;
use sys::clock::{monotonic_raw_seconds, utc_now};
use sys::process::stop_signal;

use super::decide::{Action, Options, decide};
use super::history::{EndedJob, History};
use super::mark;
use super::probe;
use super::remaining::{self, Remaining};
use crate::attempt::publish::skip;
use crate::claims::claim::{claim, claimer, claims, has_worker, is_gone, take_over};
use crate::error::{Result, cannot_read};
use crate::folder::{Folder, make_folder, read, write};
use crate::scheduler::error::SchedulerError;
use crate::scheduler::job::{Job, JobEnd, Phase, Scheduler, SchedulerState};
use crate::tasks::{self, add, lease};

/// What a campaign reports.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names of fields say what they are")]
pub enum CampaignEvent {
    Submitted {
        id: String,
        nodes: Vec<String>,
    },
    /// Something unplanned, after which the campaign continues.
    Remark(String),
    /// Finished and unfinished tasks in every round, and what the campaign waits for.
    Progress {
        over: u64,
        left: u64,
        why: String,
    },
}

/// How a campaign ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of fields say what they are")]
pub enum CampaignEnd {
    /// The tasks without a result failed or could not be done.
    AllFinished {
        without_result: u64,
    },
    Stopped {
        left: u64,
        why: String,
    },
    /// A signal ended it; these of its jobs continue.
    Interrupted {
        signal: i32,
        jobs: Vec<String>,
    },
}

impl CampaignEnd {
    /// The exit status of the command that ran it.
    pub fn status(&self) -> u8 {
        match self {
            Self::AllFinished { without_result: 0 } => 0,
            Self::AllFinished { .. } | Self::Stopped { .. } => 1,
            Self::Interrupted { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

impl std::fmt::Display for CampaignEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AllFinished { without_result: 0 } => write!(formatter, "every task has ended"),
            Self::AllFinished { without_result } => {
                write!(formatter, "every task has ended, {without_result} without a result")
            }
            Self::Stopped { left, why } => write!(formatter, "{} left: {why}", tasks_are(*left)),
            Self::Interrupted { .. } => write!(formatter, "interrupted"),
        }
    }
}

fn tasks_are(count: u64) -> String {
    format!("{} {}", counted(count, "task"), if count == 1 { "is" } else { "are" })
}

/// A clock; tests simulate one.
pub trait Clock {
    /// Seconds since some moment.
    fn now(&mut self) -> f64;
    /// Sleeps this long, or until a signal asks the process to stop, which is returned.
    fn sleep(&mut self, seconds: f64) -> Option<i32>;
}

/// The system's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

const LOOK_SECONDS: f64 = 0.1;

impl Clock for SystemClock {
    fn now(&mut self) -> f64 {
        monotonic_raw_seconds()
    }

    fn sleep(&mut self, seconds: f64) -> Option<i32> {
        let until = self.now() + seconds;
        loop {
            let left = until - self.now();
            if left <= 0.0 || stop_signal().is_some() {
                return stop_signal();
            }
            std::thread::sleep(Duration::from_secs_f64(left.min(LOOK_SECONDS)));
        }
    }
}

/// What a campaign needs in addition to the plan.
#[expect(missing_debug_implementations, reason = "it has references to functions and traits without one")]
pub struct CampaignContext<'a> {
    /// The scheduler that starts workers.
    pub scheduler: &'a mut dyn Scheduler,
    /// Whether jobs for busy nodes can wait in its queue.
    pub queues: bool,
    /// Tasks that confirm slow nodes, asked for when every node has done its own.
    pub second_pass: &'a mut dyn FnMut(&Folder) -> Result<Vec<Task>>,
    /// The clock.
    pub clock: &'a mut dyn Clock,
    /// Receives the events.
    pub report: &'a mut dyn FnMut(CampaignEvent),
}

/// Submits jobs until every task of a plan is finished.
pub fn run(folder: &Folder, options: &Options, context: &mut CampaignContext<'_>) -> Result<CampaignEnd> {
    let plan = folder.own_plan()?;
    make_folder(&folder.log())?;
    mark::forget_cancel(folder);
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
        excluded: 0,
    };
    campaign.set_mark("it has begun", None)?;
    let ended = folder.unless_lost(campaign.drive());
    let (text, status) = match &ended {
        Ok(ended) => (ended.to_string(), ended.status()),
        Err(error) => (error.to_string(), 1),
    };
    let _ = mark::set(folder, &campaign.us, &text, Some(status));
    ended
}

/// Seconds between two polls: at first, and at most.
const FIRST_INTERVAL_SECONDS: f64 = 5.0;
const LONGEST_INTERVAL_SECONDS: f64 = 60.0;
/// Growth of the time between two polls while nothing changes.
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
    away_since: Option<f64>,
    confirmed: bool,
    /// Unfinished tasks of excluded nodes.
    excluded: u64,
}

impl Campaign<'_, '_> {
    fn remark(&mut self, text: String) {
        (self.context.report)(CampaignEvent::Remark(text));
    }

    /// Adds queued jobs that another campaign noted in the plan's folder.
    fn adopt(&mut self, state: &SchedulerState, left: &Remaining) {
        for job in &state.queue {
            let noted = self.folder.jobs().join(format!("{}.json", job.id));
            if !self.history.jobs.contains_key(&job.id)
                && let Ok(noted) = read::<SubmittedJob>(&noted)
            {
                self.history.remember(&noted, None, left);
            }
        }
    }

    /// Heartbeat: what the campaign waits for.
    fn set_mark(&self, text: &str, ended: Option<u8>) -> Result<()> {
        mark::set(self.folder, &self.us, text, ended)
    }

    /// The unfinished tasks of nodes that are not excluded. The plan must be there, because missing folders look like
    /// finished nodes.
    fn look(&mut self) -> Result<Remaining> {
        let mut left = remaining::look(self.folder, &self.plan, &mut self.known)?;
        self.folder.require()?;
        self.excluded = left.exclude(&self.options.exclude);
        Ok(left)
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
            // After the queue, so that tasks finished by an ended job are seen.
            let left = self.look()?;
            if mark::is_cancelled(self.folder) {
                let why = "assay cluster cancel ended the campaign".to_owned();
                return Ok(CampaignEnd::Stopped { left: left.all() + self.excluded, why });
            }
            self.adopt(&state, &left);
            self.note_ends(&state, &left, now);
            self.note_silence(now);
            let actions = decide(&state, &left, self.options, &self.history, now);
            let changed = self.last.as_ref() != Some(&(state.clone(), left.clone()));
            let mut pause = true;
            for action in actions {
                if matches!(action, Action::Submit(_)) && self.history.unusable.is_some() {
                    continue;
                }
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
            self.remark(format!("the scheduler does not answer, retrying: {error}"));
        }
        let since = *self.away_since.get_or_insert(now);
        if now - since > self.options.patience_seconds {
            let left = self.look()?.all();
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

    /// Reports why jobs finished nothing, and remembers which nodes may be at fault.
    fn note_ends(&mut self, state: &SchedulerState, left: &Remaining, now: f64) {
        for ended in self.history.observe(state, left, now) {
            let end = self.context.scheduler.end_of(&ended.id);
            self.note_end(&ended, end.as_ref());
            if ended.fruitless.is_empty() {
                continue;
            }
            for node in &ended.fruitless {
                self.history.trouble(node).said = probe::why_nothing(self.folder, &ended, node, end.as_ref());
            }
            for node in probe::suspects(self.folder, &ended, end.as_ref()) {
                self.history.trouble(node).unseen = true;
            }
            if let Some(end) = &end {
                self.history.excuse(&ended, end.by(), now);
            }
            self.report_end(&ended, end.as_ref());
        }
    }

    /// Adds to a job's file how it ended.
    fn note_end(&self, ended: &EndedJob, end: Option<&JobEnd>) {
        let path = self.folder.jobs().join(format!("{}.json", ended.id));
        if let Ok(noted) = read::<SubmittedJob>(&path) {
            let state = end.map(|end| end.state.clone());
            let ended = JobEnded { state, fruitless: ended.fruitless.clone(), when: utc_now() };
            // For `status` only.
            let _ = write(&path, &SubmittedJob { ended: Some(ended), ..noted });
        }
    }

    /// Reports the nodes that answered their probe file and the others, a line each.
    fn report_end(&mut self, ended: &EndedJob, end: Option<&JobEnd>) {
        let is_answered =
            |node: &&String| ended.probe.as_ref().is_some_and(|probe| probe::is_answered(self.folder, probe, node));
        let (answered, silent): (Vec<&String>, Vec<&String>) = ended.fruitless.iter().partition(is_answered);
        for nodes in [answered, silent] {
            let Some(first) = nodes.first() else { continue };
            let why = probe::why_nothing(self.folder, ended, first, end);
            let others = probe::others(nodes.len());
            self.remark(format!("the job {} ended without finishing a task on '{first}'{others}: {why}", ended.id));
        }
    }

    /// Reports once for each running job which nodes do not see the plan's folder.
    fn note_silence(&mut self, now: f64) {
        let jobs = self.history.running(now);
        let silent: Vec<(String, String)> = jobs
            .filter_map(|(id, name, nodes, seconds)| {
                Some((id.to_owned(), probe::silent(self.folder, (id, name), nodes, seconds)?))
            })
            .collect();
        for (id, said) in silent {
            if let Some(job) = self.history.jobs.get_mut(&id) {
                job.silence_reported = true;
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
                    Err(said) => self.remark(format!("cannot cancel the job {id}: {said}")),
                }
                self.remark(format!("cancelled: {why}"));
            }
            Action::GiveUp { node, why } => return self.give_up(&node, &why),
            Action::Skip { meeting, why } => {
                let of = (meeting.node.as_str(), Some(meeting.task.as_str()));
                let ended = skip_tasks(self.folder, &self.plan, of, &why, &self.us)?;
                return Ok(if ended > 0 { Next::AtOnce } else { Next::Pause });
            }
            Action::Wait { why } => {
                self.set_mark(&why, None)?;
                (self.context.report)(CampaignEvent::Progress { over, left, why });
            }
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
                    ended: None,
                };
                self.history.submitted(&noted, job, seen, now);
                write(&self.folder.jobs().join(format!("{}.json", submitted.id)), &noted)?;
                (self.context.report)(CampaignEvent::Submitted { id: submitted.id, nodes: job.nodes.clone() });
            }
            Err(refusal) => {
                probe::withdraw(self.folder, &name);
                self.remark(format!("the scheduler refused a job for '{}': {refusal}", job.nodes.join(",")));
                self.history.refused(job, &refusal, now);
            }
        }
        Ok(())
    }

    fn give_up(&mut self, node: &str, why: &str) -> Result<Next> {
        if has_worker(self.folder, node, &self.us, lease(&self.plan)) {
            // A worker started by another user has the node, so our jobs cannot make progress there.
            self.history.trouble(node).fruitless = 0;
            return Ok(Next::Pause);
        }
        self.history.trouble(node).given_up = true;
        let ended = skip_tasks(self.folder, &self.plan, (node, None), why, &self.us)?;
        if ended == 0 {
            return Ok(Next::Pause);
        }
        self.remark(format!("the node '{node}' is skipped, with {ended} tasks: {why}"));
        Ok(Next::AtOnce)
    }

    /// The next stage: the second pass, then tasks of several nodes, then the end.
    fn next_stage(&mut self, left: u64, state: &SchedulerState) -> Result<Next> {
        if self.options.confirm && !std::mem::replace(&mut self.confirmed, true) {
            match (self.context.second_pass)(self.folder) {
                Ok(tasks) => {
                    let new = add(self.folder, &tasks)?;
                    if new > 0 {
                        self.remark(format!("{new} tasks run again to confirm which nodes are slow"));
                    }
                }
                Err(said) => self.remark(format!("cannot confirm slow nodes: {said}")),
            }
            return Ok(Next::AtOnce);
        }
        if left > 0 && !self.history.may_meet {
            self.history.may_meet = true;
            return Ok(Next::AtOnce);
        }
        // Pending jobs are cancelled; running ones have no tasks left and end by themselves.
        for job in state.queue.iter().filter(|job| job.phase == Phase::Pending) {
            if self.history.jobs.contains_key(&job.id) {
                let _ = self.context.scheduler.cancel(&job.id);
            }
        }
        let left = self.excluded;
        if left > 0 {
            let why = format!("they need an excluded node ({})", self.options.exclude.join(","));
            return Ok(Next::End(CampaignEnd::Stopped { left, why }));
        }
        Ok(Next::End(CampaignEnd::AllFinished { without_result: self.without_result()? }))
    }

    fn without_result(&self) -> Result<u64> {
        let mut count = 0;
        for node in &self.plan.nodes {
            for name in tasks::finished(self.folder, &node.name)? {
                let path = self.folder.outcome(&node.name, &name);
                let outcome: Outcome = read(&path).map_err(cannot_read(&path))?;
                count += u64::from(outcome.status != OutcomeStatus::Ok);
            }
        }
        Ok(count)
    }
}

enum Next {
    Pause,
    AtOnce,
    End(CampaignEnd),
}

/// Publishes a node's tasks, or only the one of this name, as skipped, unless a living worker has them; returns how many.
fn skip_tasks(folder: &Folder, plan: &Plan, (node, only): (&str, Option<&str>), why: &str, us: &Claim) -> Result<u32> {
    let (waiting, running) = folder.open_tasks(node);
    let is_wanted = |name: &str| !name.starts_with('.') && only.is_none_or(|only| only == name);
    let mut ended = 0;
    for seen in claims(&running)?.into_iter().filter(|seen| is_wanted(&seen.name)) {
        if is_gone(&running, &seen, us, lease(plan))?
            && let Some(held) = take_over(&running, &seen, us)?
        {
            ended += u32::from(skip(folder, node, held, why)?);
        }
    }
    make_folder(&running)?;
    for name in tasks::waiting(folder, node)?.iter().filter(|name| is_wanted(name)) {
        if let Some(held) = claim(&waiting, &running, name, us)? {
            ended += u32::from(skip(folder, node, held, why)?);
        }
    }
    Ok(ended)
}
