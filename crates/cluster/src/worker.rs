//! A worker: claims its node, does the node's tasks one after another, and ends with a summary.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use machine::Sysroot;
use model::cluster::{Claim, NodeFacts, OutcomeStatus, Plan, Role, SuiteTask, Task, Work, WorkerMark};
use model::document::Program;
use sys::clock::{monotonic_raw_seconds, unix_seconds};
use sys::process::{signal_name, stop_signal};

use crate::attempt::context::{AttemptResult, NodeContext};
use crate::attempt::publish::take_over_lost;
use crate::attempt::run::suite_attempt;
use crate::campaign::mark::is_cancelled;
use crate::claims::claim::{self, ClaimId, HeldClaim};
use crate::claims::lease::Leases;
use crate::error::{Error, Result};
use crate::folder::{FACTS, Folder, NODE, State, read, read_task, write};
use crate::hpl::meeting::run_hpl;
use crate::network::client::measure_pairs;
use crate::network::idle::{IdleEnd, IdleWorker, Waits};
use crate::tasks::{in_order, lease, sweep, waiting};

/// How often a waiting worker looks again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Leases for which a worker waits for another worker on its node; after one lease a lost worker is known to be lost.
const WAIT_LEASES: f64 = 1.5;

/// What a worker is started with.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The node's name in the plan.
    pub node: String,
    /// The scheduler's job.
    pub job: Option<String>,
    /// When its time ends, by the raw monotonic clock.
    pub until: Option<f64>,
    /// This program.
    pub program: Program,
    /// All variables that child processes get.
    pub environment: Vec<(String, String)>,
    /// Which tasks it does.
    pub role: WorkerRole,
    /// How long it waits for other nodes.
    pub waits: Waits,
}

/// Which tasks a worker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say which")]
pub enum WorkerRole {
    #[default]
    All,
    Suite,
    Network,
}

/// How a worker ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Tasks that it finished.
    pub over: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Tasks of its node that still wait.
    pub left: usize,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The summary in a sentence.
    pub sentence: String,
}

/// Does the tasks of a worker's node; `report` gets a sentence for each. To be called by the thread that lives as long as
/// the program: child processes end with the thread that started them.
pub fn work(folder: &Folder, worker: &Worker, report: &mut dyn FnMut(&str)) -> Result<WorkerSummary> {
    let plan = folder.own_plan()?;
    if !plan.nodes.iter().any(|node| node.name == worker.node) {
        return Err(Error::NodeNotInPlan(plan.name, worker.node.clone()));
    }
    let us = claim::claimer(worker.job.clone())?;
    let mark = Mark::new(folder, &worker.node, &us);
    mark.set(Role::Waiting, None)?;
    if let Err(error) = check_version(&plan.program, &worker.program) {
        mark.set(Role::Ended, Some(&error.to_string()))?;
        return Err(error);
    }
    let at = NodeWorker { folder, plan: &plan, worker, us: &us, mark: &mark, cancelled: AtomicBool::new(false) };
    let ended = match at.have_node()? {
        Ok(held) => at.with_node(held, report),
        Err(sentence) => Ok(at.ended(&WorkerSummary::default(), Some(sentence))),
    };
    let ended = folder.unless_lost(ended);
    let message = ended.as_ref().map_or_else(ToString::to_string, |ended| ended.sentence.clone());
    // A folder that cannot be written has been reported already.
    let _ = mark.set(Role::Ended, Some(&message));
    ended
}

/// Refuses any program but the one that made the plan, so that all nodes are measured alike.
fn check_version(plan: &Program, ours: &Program) -> Result<()> {
    if plan.version == ours.version && plan.git == ours.git {
        return Ok(());
    }
    let shown = |program: &Program| match &program.git {
        Some(git) => format!("{} ({git})", program.version),
        None => program.version.clone(),
    };
    Err(Error::ProgramVersion(shown(plan), shown(ours)))
}

/// The file with the worker's state.
struct Mark {
    path: PathBuf,
    claim: Claim,
}

impl Mark {
    fn new(folder: &Folder, node: &str, us: &Claim) -> Self {
        Self { path: folder.node(node).join(format!("worker@{}.json", us.id)), claim: us.clone() }
    }

    fn set(&self, role: Role, task: Option<&str>) -> Result<()> {
        write(&self.path, &WorkerMark { claim: self.claim.clone(), role, task: task.map(str::to_owned) })
    }
}

struct NodeWorker<'a> {
    folder: &'a Folder,
    plan: &'a Plan,
    worker: &'a Worker,
    us: &'a Claim,
    mark: &'a Mark,
    /// Whether `assay cluster cancel` was called.
    cancelled: AtomicBool,
}

impl NodeWorker<'_> {
    fn lease(&self) -> Duration {
        lease(self.plan)
    }

    fn is_over(&self) -> bool {
        stop_signal().is_some()
            || self.is_cancelled()
            || self.worker.until.is_some_and(|until| monotonic_raw_seconds() >= until)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Claims the node, or why it cannot be had; waits a while for another worker on it, which may be lost.
    fn have_node(&self) -> Result<std::result::Result<HeldClaim, String>> {
        let (waiting, running) = self.folders();
        let began = monotonic_raw_seconds();
        loop {
            if let Some(held) = claim::claim(&waiting, &running, NODE, self.us)? {
                return Ok(Ok(held));
            }
            let claims = claim::claims(&running)?;
            let other = claims.iter().find(|seen| seen.name == NODE);
            if let Some(seen) = other
                && claim::is_gone(&running, seen, self.us, self.lease())?
                && let Some(held) = claim::take_over(&running, seen, self.us)?
            {
                return Ok(Ok(held));
            }
            let waited = monotonic_raw_seconds() - began > WAIT_LEASES * self.lease().as_secs_f64();
            if waited || self.is_over() {
                let who = other.and_then(|seen| seen.claimer(&running));
                let node = &self.worker.node;
                return Ok(Err(match who {
                    Some(who) => format!("another worker has the node {node}: process {} on {}", who.pid, who.host),
                    None if other.is_some() => format!("another worker has the node {node}"),
                    None => format!("cannot claim the node {node}: the plan's folder has no {NODE}.json for it"),
                }));
            }
            self.folder.require()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn folders(&self) -> (PathBuf, PathBuf) {
        self.folder.open_tasks(&self.worker.node)
    }

    fn with_node(&self, node: HeldClaim, report: &mut dyn FnMut(&str)) -> Result<WorkerSummary> {
        let leases = Leases::new(self.lease());
        let node = leases.hold(node);
        let heartbeat = || {
            if is_cancelled(self.folder) {
                self.cancelled.store(true, Ordering::Relaxed);
            }
            // The file's time of change is when the worker was last alive.
            let _ = claim::touch(&self.mark.path);
        };
        let worked = std::thread::scope(|scope| {
            let keep = || leases.keep(&heartbeat);
            std::thread::Builder::new().spawn_scoped(scope, keep).map_err(Error::Thread)?;
            let context = NodeContext {
                folder: self.folder,
                plan: self.plan,
                node: &self.worker.node,
                environment: &self.worker.environment,
                leases: &leases,
                until: self.worker.until,
                cancelled: &self.cancelled,
            };
            let drained = self.note_facts().and_then(|()| self.drain(&context, &|| node.is_ours(), report));
            let worked = drained.and_then(|ended| {
                let is_asked = self.plan.pairing.is_some() || self.plan.hpl.is_some();
                let is_asked = is_asked && self.worker.role != WorkerRole::Suite;
                let goes_on = is_asked && node.is_ours() && !self.is_over();
                if goes_on { self.measure_with_others(&context, ended, report) } else { Ok(ended) }
            });
            leases.end();
            worked
        });
        let given = node.held().clone().give_back(&self.folders().0);
        let ended = worked?;
        given.map(|_| ended)
    }

    fn note_facts(&self) -> Result<()> {
        let path = self.folder.node(&self.worker.node).join(FACTS);
        if path.exists() {
            return Ok(());
        }
        let root = Sysroot::host();
        let ours = unix_seconds();
        let theirs = claim::now_of(&self.folder.node(&self.worker.node))?.duration_since(UNIX_EPOCH).ok();
        let facts = NodeFacts {
            node: self.worker.node.clone(),
            program: self.worker.program.clone(),
            machine: machine::discover(&root),
            settings: settings(&root),
            clock_skew_seconds: theirs.map(|theirs| ours - theirs.as_secs_f64()),
        };
        write(&path, &facts)
    }

    /// Does the node's tasks until none is left that fits into the time.
    fn drain(
        &self,
        context: &NodeContext<'_>,
        is_ours: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&str),
    ) -> Result<WorkerSummary> {
        let mut ended = WorkerSummary::default();
        loop {
            sweep(self.folder, self.plan, &self.worker.node)?;
            if !is_ours() {
                return Ok(self.ended(&ended, Some(format!("another worker now has the node {}", self.worker.node))));
            }
            if self.is_over() {
                return Ok(self.ended(&ended, None));
            }
            let Some((held, task, part)) = self.next()? else {
                if self.others_have_tasks()? {
                    std::thread::sleep(POLL_INTERVAL);
                    continue;
                }
                return Ok(self.ended(&ended, None));
            };
            report(&format!("{}: {}, about {:.0} s", self.worker.node, task.name, task.seconds));
            self.mark.set(Role::Measuring, Some(&task.name))?;
            let result = suite_attempt(context, held, &task, &part)?;
            self.count(&mut ended, &task, &result, report);
        }
    }

    fn count(&self, summary: &mut WorkerSummary, task: &Task, result: &AttemptResult, report: &mut dyn FnMut(&str)) {
        match result {
            AttemptResult::Finished(status) => {
                summary.over += 1;
                summary.failed += u32::from(*status == OutcomeStatus::Failed);
            }
            AttemptResult::Failed(reason) => {
                summary.failed += 1;
                report(&format!("{}: {} failed, retrying: {reason}", self.worker.node, task.name));
            }
            AttemptResult::Returned | AttemptResult::LeaseLost => {}
        }
    }

    /// Measures the network with other nodes, then runs HPL across them, as far as they have workers.
    fn measure_with_others(
        &self,
        context: &NodeContext<'_>,
        summary: WorkerSummary,
        report: &mut dyn FnMut(&str),
    ) -> Result<WorkerSummary> {
        self.mark.set(Role::Serving, None)?;
        let (summary, report) = (RefCell::new(summary), RefCell::new(report));
        let on_result = |task: &Task, result: &AttemptResult| {
            self.count(&mut summary.borrow_mut(), task, result, *report.borrow_mut());
        };
        let say = |sentence: &str| (report.borrow_mut())(sentence);
        let idle = IdleWorker { context, us: self.us, waits: self.worker.waits, report: &say, on_result: &on_result };
        let mut ended = measure_pairs(&idle)?;
        let mut what = "measure the network with";
        if ended == IdleEnd::AllFinished {
            (ended, what) = (run_hpl(&idle)?, "run HPL across");
        }
        let partners_missing = ended == IdleEnd::PartnersMissing;
        let why = partners_missing.then(|| format!("the nodes to {what} did not arrive"));
        Ok(self.ended(&summary.into_inner(), why))
    }

    /// Claims the next task that this worker does and that fits into the time; tasks of lost workers first.
    fn next(&self) -> Result<Option<(HeldClaim, Task, SuiteTask)>> {
        let (waiting_in, running) = self.folders();
        for seen in self.claims_of_others()? {
            let Some((task, part)) = self.wanted(&running.join(seen.file())) else { continue };
            if let Some(held) = take_over_lost(self.folder, self.plan, &self.worker.node, self.us, &seen)? {
                return Ok(Some((held, task, part)));
            }
        }
        let names = waiting(self.folder, &self.worker.node)?;
        for name in in_order(&names, &self.worker.node, self.plan.seed) {
            let Some((task, part)) = self.wanted(&waiting_in.join(format!("{name}.json"))) else { continue };
            if let Some(held) = claim::claim(&waiting_in, &running, &name, self.us)? {
                return Ok(Some((held, task, part)));
            }
        }
        Ok(None)
    }

    /// The task in a file, if this worker does it and it fits into the time.
    fn wanted(&self, path: &Path) -> Option<(Task, SuiteTask)> {
        let task = read_task(path).ok()?;
        let Work::Suite(part) = task.work.clone() else { return None };
        let ours = self.worker.role != WorkerRole::Network;
        let fits = self.worker.until.is_none_or(|until| monotonic_raw_seconds() + task.seconds <= until);
        (ours && fits).then_some((task, part))
    }

    fn claims_of_others(&self) -> Result<Vec<ClaimId>> {
        Ok(claim::claims(&self.folders().1)?.into_iter().filter(|seen| !seen.name.starts_with('.')).collect())
    }

    /// Whether another worker, which may be lost, has a task that this one could do.
    fn others_have_tasks(&self) -> Result<bool> {
        let running = self.folders().1;
        Ok(self.claims_of_others()?.iter().any(|seen| self.wanted(&running.join(seen.file())).is_some()))
    }

    /// Why tasks of the node still wait: too little time, or not for a worker of this role.
    fn why_left(&self) -> Option<String> {
        let folder = self.folder.tasks(State::Waiting, &self.worker.node);
        let names = waiting(self.folder, &self.worker.node).unwrap_or_default();
        // A task that has just been claimed cannot be read.
        let tasks: Vec<Task> =
            names.iter().filter_map(|name| read(&folder.join(format!("{name}.json"))).ok()).collect();
        let (alone, between): (Vec<&Task>, Vec<&Task>) =
            tasks.iter().partition(|task| matches!(task.work, Work::Suite(_)));
        let ours = match self.worker.role {
            WorkerRole::All => tasks.len(),
            WorkerRole::Suite => alone.len(),
            WorkerRole::Network => between.len(),
        };
        if ours > 0 && self.worker.until.is_some() {
            return Some("the remaining time is too short".to_owned());
        }
        match self.worker.role {
            WorkerRole::Suite if ours == 0 && !between.is_empty() => Some("they need other nodes".to_owned()),
            WorkerRole::Network if ours == 0 && !alone.is_empty() => Some("they are not network tasks".to_owned()),
            _ => None,
        }
    }

    fn ended(&self, ended: &WorkerSummary, why: Option<String>) -> WorkerSummary {
        let node = &self.worker.node;
        let left = waiting(self.folder, node).map_or(0, |waiting| waiting.len());
        let signal = stop_signal();
        let why = why.or_else(|| signal.map(|signal| format!("ended by {}", signal_name(signal))));
        let why = why.or_else(|| self.is_cancelled().then(|| "ended by assay cluster cancel".to_owned()));
        let why = why.or_else(|| self.why_left());
        let rest = why.map_or_else(String::new, |why| format!("; {why}"));
        let sentence =
            format!("{node}: {} tasks ended, {} attempts failed, {left} tasks left{rest}", ended.over, ended.failed);
        WorkerSummary { left, signal, sentence, ..*ended }
    }
}

/// The node's settings, name to value, without those that cannot be read.
fn settings(root: &Sysroot) -> BTreeMap<String, String> {
    let found = machine::settings(root);
    let text = |name: &str, path: &str| Some((name.to_owned(), root.text(path)?.trim().to_owned()));
    let list = |name: &str, values: &[String]| (!values.is_empty()).then(|| (name.to_owned(), values.join(",")));
    let some = |name: &str, value: Option<String>| value.map(|value| (name.to_owned(), value));
    [
        list("governor", &found.governors),
        list("energy_preference", &found.energy_preferences),
        some("turbo", found.turbo.map(|on| if on { "on" } else { "off" }.to_owned())),
        some("smt", Some(if found.smt_off { "off" } else { "on" }.to_owned())),
        some("online_cpus", Some(found.online_cpus.len().to_string())),
        some("memory_limit_bytes", found.memory_limit_bytes.map(|bytes| bytes.to_string())),
        text("kernel", "proc/sys/kernel/osrelease"),
        text("command_line", "proc/cmdline"),
        text("transparent_hugepages", "sys/kernel/mm/transparent_hugepage/enabled"),
        text("numa_balancing", "proc/sys/kernel/numa_balancing"),
        text("swappiness", "proc/sys/vm/swappiness"),
        text("clock_source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        text("microcode", "sys/devices/system/cpu/cpu0/microcode/version"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
