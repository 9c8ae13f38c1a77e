//! A worker: has its node to itself, does the node's tasks one after another, and ends with a sentence.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use machine::Sysroot;
use model::cluster::{Claim, NodeFacts, OutcomeStatus, Plan, Role, SuiteTask, Task, Work, WorkerMark};
use model::document::Program;
use sys::clock::{monotonic_raw_seconds, unix_seconds};
use sys::process::{signal_name, stop_signal};

use super::attempt::{Came, Place, note_lost, suite_attempt};
use super::claim::{self, Held, Holder, Seen};
use super::folder::{Folder, State, read, write};
use super::hpl;
use super::lease::Leases;
use super::make::NODE;
use super::pairs::{self, Here, Waits, serve_and_ask};
use super::tasks::{in_order, lease, sweep, waiting};

/// How often a worker that waits looks again: a fraction of any sensible lease, and no load on a file system.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Leases for which a worker waits for another one on its node, which is longer than it takes to know that it is gone.
const WAIT_LEASES: f64 = 1.5;

/// What a worker is started with.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The node, by its name in the plan.
    pub node: String,
    /// The scheduler's job, where there is one.
    pub job: Option<String>,
    /// When its time is over, by the raw monotonic clock.
    pub until: Option<f64>,
    /// This program.
    pub program: Program,
    /// The variables that children get, and no others.
    pub environment: Vec<(String, String)>,
    /// Which tasks it does.
    pub part: Part,
    /// How long it waits for other nodes.
    pub waits: Waits,
}

/// Which tasks a worker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All.
    #[default]
    All,
    /// Parts of the suite.
    Suite,
    /// The network between nodes.
    Net,
}

/// How a worker ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Tasks that it brought to an end.
    pub over: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Tasks of its node that are left.
    pub left: usize,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of that in a sentence.
    pub sentence: String,
}

/// Does what is to be done on a node of a plan, and `tell`s what it is at. To be called by the thread that lives as long
/// as the program: children end with the thread that started them.
///
/// # Errors
/// A sentence: no such plan or node, a program of another version, a folder that cannot be written.
pub fn work(folder: &Folder, worker: &Worker, tell: &mut dyn FnMut(&str)) -> Result<Ended, String> {
    let plan = folder.plan()?;
    if !plan.nodes.iter().any(|node| node.name == worker.node) {
        return Err(format!("the plan '{}' has no node '{}'; name one with --node", plan.name, worker.node));
    }
    let us = claim::claimer(worker.job.clone())?;
    let mark = Mark::new(folder, &worker.node, &us);
    mark.set(Role::Waiting, None)?;
    if let Err(sentence) = check_version(&plan.program, &worker.program) {
        mark.set(Role::Ended, Some(&sentence))?;
        return Err(sentence);
    }
    let at = Site { folder, plan: &plan, worker, us: &us, mark: &mark };
    let ended = match at.have_node()? {
        Node::Ours(held) => at.with_node(held, tell),
        Node::OfAnother(sentence) => Ok(at.ended(&Ended::default(), Some(sentence))),
    };
    let said = ended.as_ref().map_or_else(String::as_str, |ended| ended.sentence.as_str());
    // A folder that cannot be written any more has been told of already.
    let _ = mark.set(Role::Ended, Some(said));
    ended
}

/// Whether a program may work on a plan: only the one that made it, so that all nodes are measured alike.
fn check_version(plan: &Program, ours: &Program) -> Result<(), String> {
    if plan.version == ours.version && plan.git == ours.git {
        return Ok(());
    }
    let shown = |program: &Program| match &program.git {
        Some(git) => format!("{} ({git})", program.version),
        None => program.version.clone(),
    };
    Err(format!(
        "the plan was made by assay {}, and this is assay {}: all nodes must run the program in the plan's folder",
        shown(plan),
        shown(ours)
    ))
}

/// The file that says that a worker is there.
struct Mark {
    path: PathBuf,
    claim: Claim,
}

impl Mark {
    fn new(folder: &Folder, node: &str, us: &Claim) -> Self {
        Self { path: folder.node(node).join(format!("worker@{}.json", us.id)), claim: us.clone() }
    }

    fn set(&self, role: Role, task: Option<&str>) -> Result<(), String> {
        write(&self.path, &WorkerMark { claim: self.claim.clone(), role, task: task.map(str::to_owned) })
    }
}

/// Whose the node is.
enum Node {
    Ours(Held),
    /// Somebody else's, who is told of.
    OfAnother(String),
}

/// A worker at its node.
struct Site<'a> {
    folder: &'a Folder,
    plan: &'a Plan,
    worker: &'a Worker,
    us: &'a Claim,
    mark: &'a Mark,
}

impl Site<'_> {
    fn lease(&self) -> Duration {
        lease(self.plan)
    }

    fn is_over(&self) -> bool {
        stop_signal().is_some() || self.worker.until.is_some_and(|until| monotonic_raw_seconds() >= until)
    }

    /// Claims the node, waiting for another worker on it for a while: it may be gone.
    fn have_node(&self) -> Result<Node, String> {
        let (waiting, running) = self.folders();
        let began = monotonic_raw_seconds();
        loop {
            if let Some(held) = claim::claim(&waiting, &running, NODE, self.us)? {
                return Ok(Node::Ours(held));
            }
            let claims = claim::claims(&running)?;
            let other = claims.iter().find(|seen| seen.name == NODE);
            if let Some(seen) = other
                && claim::is_gone(&running, seen, self.us, self.lease())?
                && let Some(held) = claim::take_over(&running, seen, self.us)?
            {
                return Ok(Node::Ours(held));
            }
            let waited = monotonic_raw_seconds() - began > WAIT_LEASES * self.lease().as_secs_f64();
            if waited || self.is_over() {
                let who: Option<Claim> =
                    other.and_then(|seen| read(&running.join(format!("{}.who", seen.plain()))).ok());
                let node = &self.worker.node;
                return Ok(Node::OfAnother(match who {
                    Some(who) => format!("the node {node} is another worker's: process {} on {}", who.pid, who.host),
                    None if other.is_some() => format!("the node {node} is another worker's"),
                    None => format!("the node {node} cannot be claimed: the plan's folder has no {NODE}.json for it"),
                }));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn folders(&self) -> (PathBuf, PathBuf) {
        let of = |state| self.folder.tasks(state, &self.worker.node);
        (of(State::Waiting), of(State::Running))
    }

    /// Works, with the node claimed.
    fn with_node(&self, node: Held, tell: &mut dyn FnMut(&str)) -> Result<Ended, String> {
        let leases = Leases::new(self.lease());
        let node = leases.hold(node);
        let renew_mark = || {
            // Its time of change says until when we were there.
            let _ = claim::touch(&self.mark.path);
        };
        let worked = std::thread::scope(|scope| {
            scope.spawn(|| leases.keep(&renew_mark));
            let place = Place {
                folder: self.folder,
                plan: self.plan,
                node: &self.worker.node,
                environment: &self.worker.environment,
                leases: &leases,
                until: self.worker.until,
            };
            let drained = self.note_facts().and_then(|()| self.drain(&place, &|| node.is_ours(), tell));
            let worked = drained.and_then(|ended| {
                let is_asked = self.plan.pairing.is_some() || self.plan.hpl.is_some();
                let is_asked = is_asked && self.worker.part != Part::Suite;
                let goes_on = is_asked && node.is_ours() && !self.is_over();
                if goes_on { self.visit(&place, ended, tell) } else { Ok(ended) }
            });
            leases.end();
            worked
        });
        let given = node.held().clone().give_back(&self.folders().0);
        let ended = worked?;
        given.map(|_| ended)
    }

    /// Notes what the node is, unless another worker has done it.
    fn note_facts(&self) -> Result<(), String> {
        let path = self.folder.node(&self.worker.node).join("facts.json");
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

    /// Does the node's tasks until none is left that can be done in the time.
    fn drain(
        &self,
        place: &Place<'_>,
        is_ours: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Ended, String> {
        let mut ended = Ended::default();
        loop {
            sweep(self.folder, self.plan, &self.worker.node)?;
            if !is_ours() {
                return Ok(self.ended(&ended, Some(format!("the node {} is another worker's now", self.worker.node))));
            }
            if self.is_over() {
                return Ok(self.ended(&ended, None));
            }
            let Some((held, task, part)) = self.next()? else {
                if self.somebody_elses()? {
                    std::thread::sleep(LOOK_AGAIN);
                    continue;
                }
                return Ok(self.ended(&ended, None));
            };
            tell(&format!("{}: {}, about {:.0} s", self.worker.node, task.name, task.seconds));
            self.mark.set(Role::Measuring, Some(&task.name))?;
            let lease = place.leases.hold(held);
            match suite_attempt(place, &lease, &task, &part)? {
                Came::Over(status) => {
                    ended.over += 1;
                    ended.failed += u32::from(status == OutcomeStatus::Failed);
                }
                Came::Failed(reason) => {
                    ended.failed += 1;
                    tell(&format!("{}: {} failed and is tried again: {reason}", self.worker.node, task.name));
                }
                Came::GivenBack | Came::Lost => {}
            }
        }
    }

    /// Measures the network with other nodes, and HPL across them, as far as they come.
    fn visit(&self, place: &Place<'_>, ended: Ended, tell: &mut dyn FnMut(&str)) -> Result<Ended, String> {
        self.mark.set(Role::Serving, None)?;
        let (ended, tell) = (RefCell::new(ended), RefCell::new(tell));
        let came = |task: &Task, came: &Came| match came {
            Came::Over(status) => {
                ended.borrow_mut().over += 1;
                ended.borrow_mut().failed += u32::from(*status == OutcomeStatus::Failed);
            }
            Came::Failed(reason) => {
                ended.borrow_mut().failed += 1;
                let node = &self.worker.node;
                (tell.borrow_mut())(&format!("{node}: {} failed and is tried again: {reason}", task.name));
            }
            Came::GivenBack | Came::Lost => {}
        };
        let say = |sentence: &str| (tell.borrow_mut())(sentence);
        let here = Here { place, us: self.us, waits: self.worker.waits, tell: &say, came: &came };
        let mut came_to = serve_and_ask(&here)?;
        let mut what = "measure the network with";
        if came_to == pairs::Ended::AllOver {
            (came_to, what) = (hpl::meet(&here)?, "run HPL across");
        }
        let why = match came_to {
            pairs::Ended::Alone => Some(format!("the nodes to {what} did not come")),
            pairs::Ended::AllOver | pairs::Ended::NoTime | pairs::Ended::Stopped => None,
        };
        let ended = ended.into_inner();
        Ok(self.ended(&ended, why))
    }

    /// Claims the next task that we do and that fits into the time, one that somebody has left behind first.
    fn next(&self) -> Result<Option<(Held, Task, SuiteTask)>, String> {
        let (waiting_in, running) = self.folders();
        for seen in self.claims_of_others()? {
            let holder = claim::holder(&running, &seen, self.us, self.lease())?;
            let Some((task, part)) = self.wanted(&running.join(seen.file())) else { continue };
            if !matches!(holder, Holder::Dead | Holder::Silent) {
                continue;
            }
            note_lost(self.folder, &self.worker.node, &seen, holder)?;
            if let Some(held) = claim::take_over(&running, &seen, self.us)? {
                return Ok(Some((held, task, part)));
            }
        }
        let names: BTreeSet<String> = waiting(self.folder, &self.worker.node)?;
        for name in in_order(&names, &self.worker.node, self.plan.seed) {
            let Some((task, part)) = self.wanted(&waiting_in.join(format!("{name}.json"))) else { continue };
            if let Some(held) = claim::claim(&waiting_in, &running, &name, self.us)? {
                return Ok(Some((held, task, part)));
            }
        }
        Ok(None)
    }

    /// The task in a file, if it is still there, is one that we do, and fits into the time.
    fn wanted(&self, path: &Path) -> Option<(Task, SuiteTask)> {
        let task: Task = read(path).ok()?;
        let Work::Suite(part) = task.work.clone() else { return None };
        let ours = self.worker.part != Part::Net;
        let fits = self.worker.until.is_none_or(|until| monotonic_raw_seconds() + task.seconds <= until);
        (ours && fits).then_some((task, part))
    }

    fn claims_of_others(&self) -> Result<Vec<Seen>, String> {
        Ok(claim::claims(&self.folders().1)?.into_iter().filter(|seen| !seen.name.starts_with('.')).collect())
    }

    /// Whether somebody else has a task that we would do: it may turn out to be gone.
    fn somebody_elses(&self) -> Result<bool, String> {
        let running = self.folders().1;
        Ok(self.claims_of_others()?.iter().any(|seen| self.wanted(&running.join(seen.file())).is_some()))
    }

    /// Why tasks of the node wait though nobody ended us: those that we do did not fit into our time, which only a
    /// worker with an end can say; the others are not for a worker of our part.
    fn why_left(&self) -> Option<String> {
        let folder = self.folder.tasks(State::Waiting, &self.worker.node);
        let names = waiting(self.folder, &self.worker.node).unwrap_or_default();
        // One that has gone meanwhile is somebody's.
        let tasks: Vec<Task> =
            names.iter().filter_map(|name| read(&folder.join(format!("{name}.json"))).ok()).collect();
        let (alone, between): (Vec<&Task>, Vec<&Task>) =
            tasks.iter().partition(|task| matches!(task.work, Work::Suite(_)));
        let ours = match self.worker.part {
            Part::All => tasks.len(),
            Part::Suite => alone.len(),
            Part::Net => between.len(),
        };
        if ours > 0 && self.worker.until.is_some() {
            return Some("the time left is too short for them".to_owned());
        }
        match self.worker.part {
            Part::Suite if ours == 0 && !between.is_empty() => Some("they need other nodes too".to_owned()),
            Part::Net if ours == 0 && !alone.is_empty() => Some("they are not of the network".to_owned()),
            _ => None,
        }
    }

    /// How we end, in a sentence.
    fn ended(&self, ended: &Ended, why: Option<String>) -> Ended {
        let node = &self.worker.node;
        let left = waiting(self.folder, node).map_or(0, |waiting| waiting.len());
        let signal = stop_signal();
        let why = why.or_else(|| signal.map(|signal| format!("ended by {}", signal_name(signal))));
        let why = why.or_else(|| self.why_left());
        let rest = why.map_or_else(String::new, |why| format!("; {why}"));
        let sentence = format!(
            "{node}: {} tasks brought to an end, {} attempts failed, {left} tasks left{rest}",
            ended.over, ended.failed
        );
        Ended { left, signal, sentence, ..*ended }
    }
}

/// How a node is set, name to value; what cannot be read is not among it.
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
