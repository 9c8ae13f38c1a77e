//! `assay cluster status`: the progress of a plan by its folder's files, and by the queue why nodes wait.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bench::host::utc_now;
use cluster::campaign::mark::{self, LastCampaign};
use cluster::claims::claim::claimer;
use cluster::error::Error;
use cluster::folder::{Folder, names, read};
use cluster::scheduler::command::Environment;
use cluster::scheduler::job::{Availability, JobSettings, Phase, Scheduler, SchedulerState, meaning};
use cluster::scheduler::slurm::Slurm;
use cluster::tasks::{ClaimedTask, NodeTally, Tally, TallyCache, tally_again};
use model::cluster::{Claim, NodeState, Outcome as TaskOutcome, Plan, SubmittedJob};
use model::number::counted;
use report::cluster::status::{JobProgress, NodeProgress, Progress, TaskCounts, render, summary};

use super::agent::failed;
use crate::args::cluster::StatusArgs;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

/// The scheduler is asked once in this many looks at the folder, to keep its load low.
const LOOKS_PER_QUESTION: u32 = 6;

/// The most ids of jobs with the same end that are listed.
const MOST_ENDED: usize = 3;

/// The most outcomes that are read to compare tasks' times with their expected times.
const MOST_OUTCOMES: usize = 64;

pub(crate) fn status(arguments: &StatusArgs) -> Result {
    let folder = Folder::at(&arguments.folder);
    let us = claimer(None)?;
    let mut source = Source { plan: folder.plan()?, folder, us, known: TallyCache::default(), asked: None };
    let mut shown = Shown::default();
    // The campaign that had ended at the first look: another one is waited for.
    let mut before = None;
    loop {
        let (progress, last) = match source.look() {
            Ok(found) => found,
            Err(error) => return failed(&error),
        };
        shown.show(&progress, arguments)?;
        let ended = last.as_ref().filter(|last| last.mark.ended.is_some()).map(|last| last.mark.claim.id.clone());
        let before = before.get_or_insert_with(|| ended.clone());
        if !arguments.watch || is_end(&progress, last.as_ref(), ended.is_some() && ended != *before) {
            return Ok(outcome(&progress, last.as_ref()));
        }
        std::thread::sleep(Duration::from_secs_f64(arguments.poll));
    }
}

/// Whether nothing more happens: a campaign that runs may still confirm slow nodes, and one that has ended meanwhile may have
/// left tasks.
fn is_end(progress: &Progress, last: Option<&LastCampaign>, has_ended: bool) -> bool {
    if last.is_some_and(|last| last.is_alive) {
        return false;
    }
    let is_idle = progress.tasks.running == 0 && progress.jobs.is_empty();
    progress.is_over() || is_idle && has_ended
}

/// The status of `assay cluster run` in the same state: 1 where a task has no result, or the last campaign ended with tasks
/// left.
fn outcome(progress: &Progress, last: Option<&LastCampaign>) -> Outcome {
    let is_stopped = last.is_some_and(|last| !last.is_alive && last.mark.ended == Some(1)) && !progress.is_over();
    let without_result = progress.tasks.failed + progress.tasks.skipped > 0;
    if is_stopped || without_result { Outcome::Failed } else { Outcome::Done }
}

#[derive(Default)]
struct Shown {
    lines: usize,
    last: String,
}

impl Shown {
    /// Shows the progress: on a terminal over the previous one, elsewhere if it has changed.
    fn show(&mut self, progress: &Progress, arguments: &StatusArgs) -> Result<()> {
        if arguments.json {
            let text = serde_json::to_string(progress).map_err(|error| error.to_string())?;
            return print(format!("{text}\n").as_bytes());
        }
        if !arguments.watch {
            return print(render(progress, &Stream::Output.style()).as_bytes());
        }
        if !Stream::Output.is_terminal() {
            let line = summary(progress);
            if line != self.last {
                print(format!("{} {line}\n", progress.when).as_bytes())?;
                self.last = line;
            }
            return Ok(());
        }
        let text = render(progress, &Stream::Output.style());
        // Only lines that fit on the screen can be cleared again.
        let term = console::Term::stdout();
        let room = usize::from(term.size().0).saturating_sub(1).max(1);
        let text: Vec<&str> = text.lines().take(room).collect();
        let _ = term.clear_last_lines(self.lines);
        self.lines = text.len();
        print(format!("{}\n", text.join("\n")).as_bytes())
    }
}

struct Source {
    folder: Folder,
    plan: Plan,
    us: Claim,
    known: TallyCache,
    /// The scheduler's last answer, and the looks since.
    asked: Option<(u32, Result<SchedulerState>)>,
}

impl Source {
    fn look(&mut self) -> std::result::Result<(Progress, Option<LastCampaign>), Error> {
        let tally = tally_again(&self.folder, &self.plan, &mut self.known)?;
        let jobs = jobs(&self.folder);
        let is_queued = !tally.is_finished() && jobs.iter().any(|job| job.launcher == "slurm");
        if is_queued {
            match &mut self.asked {
                Some((looks, _)) if *looks + 1 < LOOKS_PER_QUESTION => *looks += 1,
                _ => self.asked = Some((0, question(&self.folder, &self.plan))),
            }
        }
        let standing = self.asked.as_ref().map(|(_, said)| said).filter(|_| is_queued);
        // If the folder could not be read, the tally would have failed before.
        let answers = names(&self.folder.probes()).unwrap_or_default().into_iter().collect();
        let queue = Queue::of(&jobs, standing.and_then(|said| said.as_ref().ok()), &answers);
        let last = mark::last(&self.folder, &self.us);
        let found = progress(&self.plan, &tally, &queue, standing, pace(&self.folder, &tally));
        let notes = last.as_ref().map(about).into_iter().chain(about_ends(&jobs)).chain(found.notes).collect();
        // Missing folders look like finished nodes.
        self.folder.require()?;
        Ok((Progress { notes, ..found }, last))
    }
}

/// The last campaign in a sentence.
fn about(last: &LastCampaign) -> String {
    let LastCampaign { mark, is_alive } = last;
    let since = &mark.claim.when;
    match (mark.ended, is_alive) {
        (Some(_), _) => format!("The last run, of {since}, ended: {}", mark.text),
        (None, true) => format!("A run is active since {since}: {}", mark.text),
        (None, false) => format!("The run of {since} was killed. Continue with assay cluster run"),
    }
}

/// Jobs that did not end by themselves, by what ended them.
fn about_ends(jobs: &[SubmittedJob]) -> Option<String> {
    let mut ends: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for job in jobs {
        let Some(state) = job.ended.as_ref().and_then(|ended| ended.state.as_deref()) else { continue };
        if state != "COMPLETED" {
            ends.entry(meaning(state).1).or_default().push(&job.id);
        }
    }
    let part = |(words, ids): (&str, Vec<&str>)| {
        let last = &ids[ids.len().saturating_sub(MOST_ENDED)..];
        let dots = if last.len() < ids.len() { "… " } else { "" };
        format!("{} {words} ({dots}{})", counted(ids.len() as u64, "job"), last.join(" "))
    };
    (!ends.is_empty()).then(|| format!("Ended: {}", ends.into_iter().map(part).collect::<Vec<_>>().join(", ")))
}

/// Slurm for the jobs of a plan that exist.
pub(super) fn scheduler(folder: &Folder, plan: &Plan) -> Result<Slurm> {
    let environment = Environment::of(&environment::everything());
    let settings = JobSettings {
        plan: folder.path().to_owned(),
        name: plan.name.clone(),
        program: folder.program(plan),
        lines: Vec::new(),
        shared: plan.shared,
    };
    Ok(Slurm::new(settings, environment, &plan.nodes)?)
}

fn question(folder: &Folder, plan: &Plan) -> Result<SchedulerState> {
    Ok(scheduler(folder, plan)?.poll()?)
}

/// The jobs submitted for a plan, without those whose file cannot be read.
pub(super) fn jobs(folder: &Folder) -> Vec<SubmittedJob> {
    let entries = std::fs::read_dir(folder.jobs()).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut jobs: Vec<SubmittedJob> = files.filter_map(|path| read(&path).ok()).collect();
    jobs.sort_by(|one, other| (&one.when, &one.id).cmp(&(&other.when, &other.id)));
    jobs
}

/// The duration of finished tasks over their expected duration; 1 if none is finished.
fn pace(folder: &Folder, tally: &Tally) -> f64 {
    let done = tally.nodes.iter().flat_map(|node| node.done.iter().map(move |task| (node, task)));
    let (mut took, mut expected) = (0.0, 0.0);
    for (node, task) in done.take(MOST_OUTCOMES) {
        let path = folder.outcome(&node.node, task);
        let Ok(outcome) = read::<TaskOutcome>(&path) else { continue };
        if outcome.seconds > 0.0 && outcome.task.seconds > 0.0 {
            took += outcome.seconds;
            expected += outcome.task.seconds;
        }
    }
    if took > 0.0 && expected > 0.0 { took / expected } else { 1.0 }
}

fn progress(
    plan: &Plan,
    tally: &Tally,
    queue: &Queue<'_>,
    standing: Option<&Result<SchedulerState>>,
    pace: f64,
) -> Progress {
    let nodes: Vec<NodeProgress> = tally.nodes.iter().map(|node| of_node(node, queue, pace)).collect();
    let total = |count: fn(&TaskCounts) -> u64| nodes.iter().map(|node| count(&node.tasks)).sum();
    let tasks = TaskCounts {
        waiting: total(|tasks| tasks.waiting),
        running: total(|tasks| tasks.running),
        done: total(|tasks| tasks.done),
        failed: total(|tasks| tasks.failed),
        skipped: total(|tasks| tasks.skipped),
    };
    let node_seconds_left: f64 = nodes.iter().map(|node| node.seconds_left).sum();
    let note = standing.and_then(|standing| standing.as_ref().err());
    Progress {
        plan: plan.name.clone(),
        when: utc_now(),
        tasks,
        node_seconds_left,
        seconds_left: seconds_left(&nodes, node_seconds_left),
        jobs: queue.progress(),
        notes: note.map(|why| format!("Cannot query the queue: {why}")).into_iter().collect(),
        nodes,
    }
}

/// The time until all tasks are finished by as many nodes as are running now, but at least that of the slowest of these.
fn seconds_left(nodes: &[NodeProgress], all: f64) -> Option<f64> {
    let at_work = || nodes.iter().filter(|node| node.state == NodeState::Running);
    let longest = at_work().map(|node| node.seconds_left).reduce(f64::max)?;
    Some(longest.max(all / at_work().count() as f64))
}

/// The scheduler's state of this plan's jobs and nodes.
struct Queue<'a> {
    standing: Option<&'a SchedulerState>,
    /// The plan's jobs that are in the queue.
    jobs: Vec<(&'a SubmittedJob, Phase, &'a str)>,
    /// The index of the last of them for each node.
    by_node: BTreeMap<&'a str, usize>,
    /// File names in the folder of probes.
    answers: &'a BTreeSet<String>,
}

impl<'a> Queue<'a> {
    fn of(jobs: &'a [SubmittedJob], standing: Option<&'a SchedulerState>, answers: &'a BTreeSet<String>) -> Self {
        let queued = |job: &'a SubmittedJob| {
            let own = standing?.queue.iter().find(|queued| queued.id == job.id)?;
            Some((job, own.phase, own.reason.as_str()))
        };
        let jobs: Vec<_> = jobs.iter().filter_map(queued).collect();
        let mut by_node = BTreeMap::new();
        for (place, (job, ..)) in jobs.iter().enumerate() {
            by_node.extend(job.nodes.iter().map(|node| (node.as_str(), place)));
        }
        Self { standing, jobs, by_node, answers }
    }

    /// Why a node without a worker waits.
    fn why(&self, node: &str) -> String {
        if let Some((job, phase, reason)) = self.by_node.get(node).map(|place| self.jobs[*place]) {
            return match phase {
                Phase::Pending => format!("job {} waits: {reason}", job.id),
                Phase::Running => match &job.probe {
                    Some(probe) if !self.answers.contains(&format!("{probe}@{node}")) => {
                        format!("job {} runs, but the node has not yet answered the probe file", job.id)
                    }
                    _ => format!("job {} runs, but its worker has not started yet", job.id),
                },
            };
        }
        match self.standing.map(|standing| standing.nodes.get(node)) {
            None => "no worker runs".to_owned(),
            Some(None) => "the scheduler has no such node".to_owned(),
            Some(Some(Availability::Idle)) => "idle, no job queued for it".to_owned(),
            Some(Some(Availability::Busy(state))) => format!("busy ({state}), no job queued for it"),
            Some(Some(Availability::Down(state))) => format!("not available: {state}"),
            Some(Some(Availability::Elsewhere(why))) => why.clone(),
        }
    }

    fn progress(&self) -> Vec<JobProgress> {
        let progress = |(job, phase, reason): &(&SubmittedJob, Phase, &str)| JobProgress {
            id: job.id.clone(),
            state: if *phase == Phase::Pending { "pending" } else { "running" }.to_owned(),
            nodes: job.nodes.clone(),
            why: (*phase == Phase::Pending && !reason.is_empty()).then(|| (*reason).to_owned()),
        };
        self.jobs.iter().map(progress).collect()
    }
}

fn of_node(node: &NodeTally, queue: &Queue<'_>, pace: f64) -> NodeProgress {
    let tasks = TaskCounts {
        waiting: node.waiting.len() as u64,
        running: node.running.len() as u64,
        done: node.done.len() as u64,
        failed: node.failed.len() as u64,
        skipped: node.skipped.len() as u64,
    };
    let alive = node.running.iter().find(|running| !running.is_expired);
    let has_worker = alive.is_some() || node.worker.as_ref().is_some_and(|worker| !worker.is_expired);
    let bad = || node.failed.iter().map(|bad| (bad, "failed")).chain(node.skipped.iter().map(|bad| (bad, "skipped")));
    let state = match (node.is_finished(), has_worker) {
        (true, _) if bad().next().is_none() => NodeState::Done,
        (true, _) if node.done.is_empty() => NodeState::Failed,
        (true, _) => NodeState::Partly,
        (false, true) => NodeState::Running,
        (false, false) => NodeState::Waiting,
    };
    let lost = node.running.iter().find(|running| running.is_expired);
    let why = match state {
        NodeState::Done => None,
        NodeState::Waiting => Some(match lost {
            Some(lost) => format!("the worker that ran {} is lost; {}", lost.name, queue.why(&node.node)),
            None => queue.why(&node.node),
        }),
        NodeState::Running | NodeState::Partly | NodeState::Failed => {
            bad().next().map(|((task, reason), what)| format!("{task} {what}: {reason}"))
        }
    };
    // A running task is partly done; a lost worker's task restarts.
    let of_running = |running: &ClaimedTask| {
        let since = running.since_seconds.filter(|_| !running.is_expired).unwrap_or(0.0);
        (running.expected_seconds * pace - since).max(0.0)
    };
    let left = node.waiting_seconds * pace + node.running.iter().map(of_running).sum::<f64>();
    let doing = alive.map(|running| running.name.clone());
    NodeProgress { name: node.node.clone(), state, tasks, seconds_left: left, doing, why }
}

#[cfg(test)]
mod tests {
    use cluster::scheduler::job::Queued;
    use model::cluster::{CampaignMark, JobEnded};

    use super::*;

    fn job(id: &str, nodes: &[&str]) -> SubmittedJob {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        let (command, when) = (Vec::new(), "2026-11-20T12:00:00Z".to_owned());
        let probe = Some(format!("probe-{id}"));
        SubmittedJob { id: id.into(), launcher: "slurm".into(), nodes, command, probe, when, ended: None }
    }

    fn node(name: &str, waiting: usize, done: usize) -> NodeTally {
        let names = |count: usize| -> Vec<String> { (0..count).map(|place| format!("t{place}")).collect() };
        let (waiting, done) = (names(waiting), names(done));
        let waiting_seconds = waiting.len() as f64 * 10.0;
        NodeTally { node: name.into(), waiting, done, waiting_seconds, ..NodeTally::default() }
    }

    fn running(is_expired: bool) -> ClaimedTask {
        let name = "memory".into();
        ClaimedTask {
            name,
            by: None,
            expected_seconds: 10.0,
            since_seconds: Some(4.0),
            silent_seconds: None,
            is_expired,
        }
    }

    fn standing() -> SchedulerState {
        let seats = [
            ("n1", Availability::Idle),
            ("n2", Availability::Busy("allocated".into())),
            ("n3", Availability::Down("drained: fan".into())),
            ("n5", Availability::Idle),
        ];
        let queued = |id: &str, phase, reason: &str| Queued { id: id.into(), phase, reason: reason.into() };
        SchedulerState {
            nodes: seats.map(|(name, seat)| (name.to_owned(), seat)).into(),
            queue: vec![
                queued("7", Phase::Pending, "Resources"),
                queued("8", Phase::Running, ""),
                queued("9", Phase::Pending, ""),
            ],
            ..SchedulerState::default()
        }
    }

    #[test]
    fn the_queue_says_why_a_node_waits() {
        let (jobs, standing) = (vec![job("7", &["n2"]), job("8", &["n5"]), job("6", &["n1"])], standing());
        let answers = BTreeSet::from(["probe-8@n5".to_owned()]);
        let queue = Queue::of(&jobs, Some(&standing), &answers);
        let why = ["n1", "n2", "n3", "n4", "n5"].map(|node| queue.why(node));
        assert_eq!(why[0], "idle, no job queued for it");
        assert_eq!(why[1], "job 7 waits: Resources");
        assert_eq!(why[2], "not available: drained: fan");
        assert_eq!(why[3], "the scheduler has no such node");
        assert_eq!(why[4], "job 8 runs, but its worker has not started yet");
        let silent = BTreeSet::from(["probe-8.json".to_owned(), "probe-6@n5".to_owned()]);
        let why = Queue::of(&jobs, Some(&standing), &silent).why("n5");
        assert_eq!(why, "job 8 runs, but the node has not yet answered the probe file");
        assert_eq!(Queue::of(&jobs, None, &answers).why("n1"), "no worker runs");
        let listed = queue.progress();
        assert_eq!(listed.len(), 2, "jobs of other plans and finished jobs are not listed");
        assert_eq!((listed[0].why.as_deref(), listed[1].why.as_deref()), (Some("Resources"), None));
    }

    #[test]
    fn the_files_say_how_far_a_node_is() {
        let answers = BTreeSet::new();
        let queue = Queue::of(&[], None, &answers);
        let state = |node: &NodeTally| of_node(node, &queue, 1.0).state;
        let bad = vec![("disk".to_owned(), "it is full".to_owned())];
        assert_eq!(state(&node("n1", 0, 3)), NodeState::Done);
        assert_eq!(state(&node("n1", 3, 0)), NodeState::Waiting);
        assert_eq!(state(&NodeTally { failed: bad.clone(), ..node("n1", 0, 2) }), NodeState::Partly);
        assert_eq!(state(&NodeTally { skipped: bad.clone(), ..node("n1", 0, 0) }), NodeState::Failed);
        assert_eq!(state(&NodeTally { running: vec![running(false)], ..node("n1", 1, 0) }), NodeState::Running);
        let lost = of_node(&NodeTally { running: vec![running(true)], ..node("n1", 1, 0) }, &queue, 1.0);
        assert_eq!((lost.state, lost.doing), (NodeState::Waiting, None));
        assert_eq!(lost.why.as_deref(), Some("the worker that ran memory is lost; no worker runs"));
        let failed = of_node(&NodeTally { failed: bad, ..node("n1", 0, 2) }, &queue, 1.0);
        assert_eq!(failed.why.as_deref(), Some("disk failed: it is full"));
    }

    #[test]
    fn the_time_left_follows_what_was_measured() {
        let at_work = NodeTally { running: vec![running(false)], ..node("n1", 2, 0) };
        let tally = Tally { nodes: vec![at_work, node("n2", 3, 0), node("n3", 0, 4)] };
        let plan = Plan { name: "p".into(), ..plan() };
        let answers = BTreeSet::new();
        let nothing = Queue::of(&[], None, &answers);
        let found = progress(&plan, &tally, &nothing, None, 2.0);
        // 30 s at half the pace, of which 4 s have passed; and 3 tasks of 10 s at half the pace.
        assert!((found.node_seconds_left - (56.0 + 60.0)).abs() < 1e-9);
        assert_eq!(found.seconds_left, Some(116.0), "one node is at work, and has the other's tasks before it");
        assert_eq!((found.tasks.all(), found.tasks.over()), (10, 4));
        let late = ClaimedTask { since_seconds: Some(500.0), ..running(false) };
        let late = of_node(&NodeTally { running: vec![late], ..node("n1", 2, 0) }, &nothing, 2.0);
        assert!((late.seconds_left - 40.0).abs() < 1e-9, "one that takes too long eats nothing of the others' time");
        let lost = of_node(&NodeTally { running: vec![running(true)], ..node("n1", 2, 0) }, &nothing, 2.0);
        assert!((lost.seconds_left - 60.0).abs() < 1e-9, "a lost worker's task restarts");
        let idle = Tally { nodes: vec![node("n2", 3, 0)] };
        let unreachable = Err("squeue: connection refused".to_owned());
        let found = progress(&plan, &idle, &nothing, Some(&unreachable), 1.0);
        assert_eq!(found.seconds_left, None);
        assert_eq!(found.notes, ["Cannot query the queue: squeue: connection refused"]);
    }

    fn campaign(is_alive: bool, ended: Option<u8>) -> LastCampaign {
        LastCampaign { mark: CampaignMark { claim: Claim::default(), text: "it is so".into(), ended }, is_alive }
    }

    #[test]
    fn a_watch_ends_after_the_confirming_pass_and_with_the_status_of_the_run() {
        let answers = BTreeSet::new();
        let nothing = Queue::of(&[], None, &answers);
        let of = |node: NodeTally| progress(&plan(), &Tally { nodes: vec![node] }, &nothing, None, 1.0);
        let (over, left) = (of(node("n1", 0, 3)), of(node("n1", 2, 1)));
        let bad = NodeTally { skipped: vec![("disk".into(), "it is so".into())], ..node("n1", 0, 2) };
        assert!(!is_end(&over, Some(&campaign(true, None)), false), "slow nodes may still be confirmed");
        assert!(is_end(&over, Some(&campaign(false, Some(0))), true) && is_end(&over, None, false));
        assert!(is_end(&left, Some(&campaign(false, Some(1))), true), "the run has ended with tasks left");
        assert!(
            !is_end(&left, Some(&campaign(false, Some(1))), false),
            "it had ended before: another one is waited for"
        );
        let status = |progress: &Progress, last: Option<&LastCampaign>| outcome(progress, last);
        assert_eq!(status(&over, Some(&campaign(false, Some(0)))), Outcome::Done);
        assert_eq!(status(&of(bad), None), Outcome::Failed, "as that of the run");
        assert_eq!(status(&left, Some(&campaign(false, Some(1)))), Outcome::Failed);
        assert_eq!(status(&left, Some(&campaign(true, None))), Outcome::Done);
    }

    #[test]
    fn jobs_that_were_ended_are_counted_by_what_ended_them() {
        let ended = |id: &str, state: &str| {
            let ended = JobEnded { state: Some(state.into()), fruitless: Vec::new(), when: String::new() };
            SubmittedJob { ended: Some(ended), ..job(id, &["n1"]) }
        };
        let jobs = [
            ended("1", "COMPLETED"),
            ended("2", "CANCELLED"),
            ended("3", "TIMEOUT"),
            ended("4", "CANCELLED"),
            ended("5", "OUT_OF_MEMORY"),
            job("6", &["n1"]),
        ];
        let text = about_ends(&jobs).unwrap();
        assert_eq!(text, "Ended: 2 jobs cancelled (2 4), 1 job ended by its time limit (3), 1 job out of memory (5)");
        assert_eq!(about_ends(&jobs[..1]), None);
    }

    fn plan() -> Plan {
        serde_json::from_str(
            r#"{"schema": "assay.plan/1", "name": "p", "created": "", "program": {"version": "0.1.0", "git": null,
            "profile": "dev", "argv": []}, "program_path": "program/assay", "suite": "quick", "options": [],
            "directory": null, "nodes": [], "pairing": null, "seconds_per_node": 1.0, "lease_seconds": 60.0,
            "attempts": 3, "seed": 1}"#,
        )
        .unwrap()
    }
}
