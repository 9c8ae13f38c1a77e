//! One attempt at a task: the program as a child, what became of it, and the one rename that publishes the result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, SuiteTask, Task};
use model::document::{Document, Status};
use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;
use sys::process::{signal_name, stop_signal};

use super::claim::{Holder, Seen, claims};
use super::folder::{Folder, State, cannot_write, names, read, write};
use super::lease::{Lease, Leases};
use super::make::{program_path, suite};
use super::tasks::{lost_name, over, tried};
use bench::journal::{self, JOURNAL};
use bench::store::{DOCUMENT, PAGE, load_file};
use bench::suite::Suite;

/// How often we look whether the child has ended: waking up costs the measured CPUs some microseconds each time.
const LOOK_AROUND: Duration = Duration::from_millis(200);

/// Seconds between a request to end and the end: a run stores what it has finished meanwhile.
const GRACE_SECONDS: f64 = 10.0;

/// A task may take so many times what was expected …
pub(super) const MOST_TIMES: f64 = 3.0;

/// … and so many seconds more: what was expected was worked out on another machine.
pub(super) const MOST_MORE_SECONDS: f64 = 60.0;

/// Seconds that we wait for what a killed worker has started to let go of its run.
const LET_GO_SECONDS: f64 = 5.0;

/// After so many workers that went away in the middle of a task it is the task.
pub(super) const MOST_LOST: u32 = 10;

/// Bytes of what a child says that its reason is looked for in, from the end.
const SAID_BYTES: u64 = 8 << 10;

/// The file with what a child says.
pub(super) const SAID: &str = "said.txt";

/// The file of a suite that comes with the plan.
const SUITE: &str = "suite.toml";

/// The folder of a child's run.
const RUN: &str = "run";

/// The file by which an attempt is told about.
const OUTCOME: &str = "outcome.json";

/// Where attempts are made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The plan's folder.
    pub folder: &'a Folder,
    /// The plan.
    pub plan: &'a Plan,
    /// The node.
    pub node: &'a str,
    /// The variables that children get, and no others.
    pub environment: &'a [(String, String)],
    /// Our leases.
    pub leases: &'a Leases,
    /// When the worker's time is over, by the raw monotonic clock.
    pub until: Option<f64>,
}

impl Place<'_> {
    /// Whether we are to stop: then tasks are given back.
    pub fn is_over(&self) -> bool {
        stop_signal().is_some() || self.until.is_some_and(|until| monotonic_raw_seconds() >= until)
    }
}

/// What a child is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What the program is called with, but for `--out` and `--quiet`.
    pub arguments: Vec<String>,
    /// The suite that its document must be of.
    pub suite: String,
    /// The text of the suite's file, where it is one: written to `SUITE` in the attempt's folder.
    pub suite_text: Option<String>,
    /// After so many seconds it is ended.
    pub most_seconds: f64,
}

/// What else than the child an attempt depends on, asked when the child has ended.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Pairs of nodes that were measured at the same moment.
    pub at_once: &'a dyn Fn() -> Option<u32>,
    /// Whether it is nobody's fault if it has failed: then it is not counted.
    pub is_nobodys: &'a dyn Fn() -> bool,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// The task is over: published by us, or before we came.
    Over(OutcomeStatus),
    /// It failed, for this reason, and waits for another attempt.
    Failed(String),
    /// We were to stop, and the task waits for somebody else.
    GivenBack,
    /// The claim is not ours any more; nothing was published.
    Lost,
}

/// How a child ended.
pub(super) enum Ended {
    Exited(ExitStatus),
    TooLong,
    Stopped,
    Lost,
}

/// What a part of the suite is measured with.
///
/// # Errors
/// A sentence: the plan's suite is none.
pub fn of_suite(plan: &Plan, task: &SuiteTask, seconds: f64, suite_file: &Path) -> Result<Asked, String> {
    let Suite { name, .. } = suite(&plan.suite)?;
    let is_name = Suite::names().any(|name| name == plan.suite);
    let named = if is_name { plan.suite.clone() } else { suite_file.display().to_string() };
    let mut arguments = vec!["run".to_owned(), named, "--seed".to_owned(), plan.seed.to_string()];
    if !task.areas.is_empty() {
        arguments.extend(["--area".to_owned(), task.areas.join(",")]);
    }
    if let Some(filter) = &task.filter {
        arguments.extend(["--filter".to_owned(), filter.clone()]);
    }
    if let Some(directory) = &plan.directory {
        arguments.extend(["--dir".to_owned(), directory.clone()]);
    }
    arguments.extend(plan.options.iter().cloned());
    let suite_text = (!is_name).then(|| plan.suite.clone());
    Ok(Asked { arguments, suite: name, suite_text, most_seconds: MOST_TIMES * seconds + MOST_MORE_SECONDS })
}

/// Makes an attempt at a part of the suite.
///
/// # Errors
/// A sentence: the plan's folder cannot be written, or the program not started. The task has been given back then, if
/// that was possible.
pub fn suite_attempt(place: &Place<'_>, lease: &Arc<Lease>, task: &Task, part: &SuiteTask) -> Result<Came, String> {
    let suite_file = work_folder(place, &lease.held().seen()).join(SUITE);
    attempt(place, lease, task, &of_suite(place.plan, part, task.seconds, &suite_file)?)
}

/// Makes an attempt at a task that a child does.
///
/// # Errors
/// Likewise.
pub fn attempt(place: &Place<'_>, lease: &Arc<Lease>, task: &Task, asked: &Asked) -> Result<Came, String> {
    attempt_among(place, lease, task, asked, None)
}

/// The same, where it depends on others; then it always begins anew, as what they did meanwhile cannot be gone on with.
///
/// # Errors
/// Likewise.
pub(super) fn attempt_among(
    place: &Place<'_>,
    lease: &Arc<Lease>,
    task: &Task,
    asked: &Asked,
    around: Option<&Around<'_>>,
) -> Result<Came, String> {
    let made = make(place, lease, task, asked, around);
    place.leases.forget(lease);
    if made.is_err() {
        let _ = lease.held().clone().give_back(&place.folder.tasks(State::Waiting, place.node));
    }
    made
}

fn make(
    place: &Place<'_>,
    lease: &Arc<Lease>,
    task: &Task,
    asked: &Asked,
    around: Option<&Around<'_>>,
) -> Result<Came, String> {
    let held = lease.held();
    if over(place.folder, place.node)?.contains(&task.name) {
        held.clone().end();
        return Ok(Came::Over(OutcomeStatus::Ok));
    }
    let (failed, lost) = tried(place.folder, place.node, &task.name)?;
    let mut outcome = outcome(task, &held.claim, failed);
    let (work, began) = (work_folder(place, &held.seen()), monotonic_raw_seconds());
    let mut before = take_work(place, &held.seen(), &asked.suite)?;
    if around.is_some() && before == Before::CutOff {
        fs::remove_dir_all(work.join(RUN)).map_err(|error| cannot_write(&work, &error))?;
        before = Before::Nothing;
    }
    if lost >= MOST_LOST {
        let reason = format!("{lost} workers went away in the middle of it");
        outcome = Outcome { status: OutcomeStatus::Failed, reason: Some(reason), ..outcome };
        return publish(place, lease, &outcome);
    }
    let mut judged = Ok(());
    if before != Before::Complete {
        match child(place, lease, &work, asked, before)? {
            Ended::Exited(status) => {
                outcome.exit_status = status.code();
                let whole = judge(&work, &asked.suite, matches!(status.code(), Some(0 | 1)));
                judged = whole.map_err(|reason| format!("{}; {reason}", ending(status)));
            }
            Ended::TooLong => {
                judged = Err(format!("ended by us after {:.0} s; {}", asked.most_seconds, last_words(&work)));
            }
            // What was not renewed in time may still be ours: then others need not wait for the lease.
            Ended::Stopped | Ended::Lost => {
                let given = held.clone().give_back(&place.folder.tasks(State::Waiting, place.node))?;
                if !given {
                    let _ = fs::remove_dir_all(&work);
                }
                return Ok(if given { Came::GivenBack } else { Came::Lost });
            }
        }
    }
    outcome.seconds = monotonic_raw_seconds() - began;
    if let Some(around) = around {
        outcome.at_once = (around.at_once)().filter(|_| before != Before::Complete);
        judged = judged.and_then(|()| all_measured(&work));
        if judged.is_err() && (around.is_nobodys)() {
            let _ = fs::remove_dir_all(&work);
            let given = held.clone().give_back(&place.folder.tasks(State::Waiting, place.node))?;
            return Ok(if given { Came::GivenBack } else { Came::Lost });
        }
    }
    match judged {
        Ok(()) => {
            // The page can be made again from the document, and is larger.
            let _ = fs::remove_file(work.join(RUN).join(PAGE));
            publish(place, lease, &Outcome { status: OutcomeStatus::Ok, ..outcome })
        }
        Err(reason) => fail(place, lease, Outcome { reason: Some(reason), ..outcome }),
    }
}

/// What an attempt that has just begun came to.
pub(super) fn outcome(task: &Task, claim: &Claim, failed: u32) -> Outcome {
    Outcome {
        task: Task { tried: failed, ..task.clone() },
        claim: claim.clone(),
        status: OutcomeStatus::Failed,
        reason: None,
        seconds: 0.0,
        exit_status: None,
        at_once: None,
        figures: std::collections::BTreeMap::new(),
    }
}

/// Where an attempt writes.
pub(super) fn work_folder(place: &Place<'_>, seen: &Seen) -> PathBuf {
    let path = place.folder.tasks(State::Work, place.node).join(seen.plain());
    // A child has its own idea of where it is.
    std::path::absolute(&path).unwrap_or(path)
}

/// What an earlier attempt has left for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing.
    Nothing,
    /// A run that was cut off.
    CutOff,
    /// A run that was complete when its worker went away.
    Complete,
}

/// Makes the folder that this attempt writes in: that of an earlier one, which has ended or died in the middle, where
/// there is a run in it. What silent workers may still write in was moved away when their claim was taken over.
fn take_work(place: &Place<'_>, ours: &Seen, suite: &str) -> Result<Before, String> {
    let all = place.folder.tasks(State::Work, place.node);
    let path = all.join(ours.plain());
    let held = claims(&place.folder.tasks(State::Running, place.node))?;
    let mut found = Before::Nothing;
    let left = names(&all)?.into_iter().filter_map(|name| Seen::parse_plain(&name));
    for seen in left.filter(|seen| seen.name == ours.name && !held.contains(seen)) {
        let old = all.join(seen.plain());
        if found == Before::Nothing && old.join(RUN).join(DOCUMENT).is_file() && fs::rename(&old, &path).is_ok() {
            let complete = judge(&path, suite, true).is_ok();
            found = if complete { Before::Complete } else { Before::CutOff };
        } else {
            let _ = fs::remove_dir_all(&old);
        }
    }
    fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
    Ok(found)
}

/// Runs the program; where it cannot go on with what an earlier attempt has left, from the beginning.
fn child(place: &Place<'_>, lease: &Lease, work: &Path, asked: &Asked, before: Before) -> Result<Ended, String> {
    let run = work.join(RUN);
    let out = run.display().to_string();
    if before == Before::CutOff {
        wait_for(&run);
        let words = [&asked.arguments[0], "--resume", &out, "--quiet"].map(str::to_owned);
        match in_child(place, lease, work, &words, asked.most_seconds)? {
            // It refused: the document of another version, another machine, a lock.
            Ended::Exited(status) if status.code() == Some(2) => {}
            ended => return Ok(ended),
        }
        fs::remove_dir_all(&run).map_err(|error| cannot_write(&run, &error))?;
    }
    if let Some(text) = &asked.suite_text {
        let path = work.join(SUITE);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
    }
    let mut words = asked.arguments.clone();
    words.extend(["--out".to_owned(), out, "--quiet".to_owned()]);
    in_child(place, lease, work, &words, asked.most_seconds)
}

/// Waits until nobody holds the journal of a run that was cut off: what a killed worker had started may be about to end.
fn wait_for(run: &Path) {
    let began = monotonic_raw_seconds();
    while monotonic_raw_seconds() - began < LET_GO_SECONDS {
        let Ok(file) = OpenOptions::new().read(true).append(true).open(run.join(JOURNAL)) else { return };
        if !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
            return;
        }
        std::thread::sleep(LOOK_AROUND);
    }
}

/// Runs the program with what it says in a file, until it ends or has to.
fn in_child(place: &Place<'_>, lease: &Lease, work: &Path, words: &[String], most: f64) -> Result<Ended, String> {
    let program = program_path(place.folder, place.plan);
    let path = work.join(SAID);
    let said = OpenOptions::new().create(true).append(true).open(&path);
    let said = said.map_err(|error| cannot_write(&path, &error))?;
    let mut command = Command::new(&program);
    command.args(["attempt".to_owned(), std::process::id().to_string()]).args(words);
    command.env_clear().envs(place.environment.iter().map(|(name, value)| (name, value)));
    command.stdout(Stdio::null()).stderr(said);
    let ended = wait_out(command, place, lease, most)?;
    if !matches!(ended, Ended::Exited(_)) {
        journal::sweep(&work.join(RUN));
    }
    Ok(ended)
}

/// Starts a command of the plan's program in a process group of its own, and waits until it ends or has to.
pub(super) fn wait_out(mut command: Command, place: &Place<'_>, lease: &Lease, most: f64) -> Result<Ended, String> {
    let spawned = command.process_group(0).stdin(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| {
        format!("cannot start the plan's program '{}': {error}", command.get_program().to_string_lossy())
    })?;
    let began = monotonic_raw_seconds();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("the child is lost: {error}"))? {
            return Ok(Ended::Exited(status));
        }
        let (ended, grace) = if !lease.is_ours() {
            (Ended::Lost, 0.0)
        } else if place.is_over() {
            (Ended::Stopped, GRACE_SECONDS)
        } else if monotonic_raw_seconds() - began > most {
            (Ended::TooLong, GRACE_SECONDS)
        } else {
            std::thread::sleep(LOOK_AROUND);
            continue;
        };
        end(&mut child, grace);
        return Ok(ended);
    }
}

/// Ends a child and its group, which may first store what it has.
fn end(child: &mut Child, grace_seconds: f64) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let began = monotonic_raw_seconds();
    if grace_seconds > 0.0 {
        signal(Signal::TERM);
    }
    while monotonic_raw_seconds() - began < grace_seconds && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(LOOK_AROUND);
    }
    // As long as it has not been waited for its number is nobody else's.
    if matches!(child.try_wait(), Ok(None)) {
        signal(Signal::KILL);
        let _ = child.wait();
    }
}

/// Whether there is a whole document of the suite, or why not. A child that did not end as one with a document ends has
/// none.
fn judge(work: &Path, suite: &str, ended_well: bool) -> Result<(), String> {
    let path = work.join(RUN).join(DOCUMENT);
    if !ended_well || !path.exists() {
        return Err(last_words(work));
    }
    let document: Document = load_file(&path)?;
    let run = &document.run;
    if run.suite != suite {
        return Err(format!("its document is of the suite '{}', not '{suite}'", run.suite));
    }
    if !run.complete {
        return Err(format!("it was cut off: {}", last_words(work)));
    }
    Ok(())
}

/// Whether every row of an attempt's document was measured, or why not.
fn all_measured(work: &Path) -> Result<(), String> {
    let document: Document = load_file(&work.join(RUN).join(DOCUMENT))?;
    match document.experiments.iter().find(|row| row.status != Status::Ok) {
        Some(row) => {
            let reason = row.reason.as_deref().unwrap_or("no reason was given");
            Err(format!("{}: {reason}", row.id))
        }
        None if document.experiments.is_empty() => Err("its document has no rows".to_owned()),
        None => Ok(()),
    }
}

/// The last sentence that a child said.
pub(super) fn last_words(work: &Path) -> String {
    let tail = File::open(work.join(SAID)).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SAID_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    });
    let tail = tail.unwrap_or_default();
    let last = tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(|| "the program said nothing".to_owned(), |line| format!("the program said: {line}"))
}

/// Publishes an outcome with what is in the attempt's folder: of all who try, one succeeds.
///
/// # Errors
/// A sentence: the plan's folder cannot be written.
pub fn publish(place: &Place<'_>, lease: &Lease, outcome: &Outcome) -> Result<Came, String> {
    let held = lease.held();
    let work = work_folder(place, &held.seen());
    let said = work.join(SAID);
    if fs::metadata(&said).is_ok_and(|data| data.len() == 0) {
        let _ = fs::remove_file(&said);
    }
    write(&work.join(OUTCOME), outcome)?;
    if !lease.renew() {
        let _ = fs::remove_dir_all(&work);
        return Ok(Came::Lost);
    }
    let all = place.folder.tasks(State::Done, place.node);
    let done = all.join(&held.name);
    fs::create_dir_all(&all).map_err(|error| cannot_write(&all, &error))?;
    let status = match fs::rename(&work, &done) {
        Ok(()) => outcome.status,
        Err(error) => match read::<Outcome>(&done.join(OUTCOME)) {
            // The answer to a rename that was done can be lost over NFS; or somebody else had published before.
            Ok(there) => {
                let _ = fs::remove_dir_all(&work);
                there.status
            }
            // Somebody who held us for gone has moved our folder away.
            Err(_) if error.kind() == io::ErrorKind::NotFound && !work.exists() => return Ok(Came::Lost),
            Err(_) => return Err(cannot_write(&done, &error)),
        },
    };
    held.clone().end();
    Ok(Came::Over(status))
}

/// Notes an attempt that came to nothing, and gives the task back; after the last one that is what is published.
///
/// # Errors
/// A sentence: the plan's folder cannot be written.
pub fn fail(place: &Place<'_>, lease: &Lease, mut outcome: Outcome) -> Result<Came, String> {
    let held = lease.held();
    let work = work_folder(place, &held.seen());
    outcome.status = OutcomeStatus::Failed;
    outcome.task.tried += 1;
    write(&work.join(OUTCOME), &outcome)?;
    if !lease.renew() {
        let _ = fs::remove_dir_all(&work);
        return Ok(Came::Lost);
    }
    let all = place.folder.tasks(State::Failed, place.node);
    fs::create_dir_all(&all).map_err(|error| cannot_write(&all, &error))?;
    let kept = all.join(held.seen().plain());
    if let Err(error) = fs::rename(&work, &kept) {
        let is_gone = error.kind() == io::ErrorKind::NotFound && !work.exists();
        return if is_gone { Ok(Came::Lost) } else { Err(cannot_write(&kept, &error)) };
    }
    let reason = outcome.reason.clone().unwrap_or_default();
    if outcome.task.tried < place.plan.attempts {
        let given = held.clone().give_back(&place.folder.tasks(State::Waiting, place.node))?;
        return Ok(if given { Came::Failed(reason) } else { Came::Lost });
    }
    outcome.reason = Some(format!("tried {} times, at last: {reason}", outcome.task.tried));
    publish(place, lease, &outcome)
}

/// Notes that the worker of a claim went away, before the claim is taken over. Where it is only silent it may come back:
/// then what it writes must not be in anybody's way, so its folder moves too.
///
/// # Errors
/// A sentence: the plan's folder cannot be written.
pub fn note_lost(folder: &Folder, node: &str, seen: &Seen, holder: Holder) -> Result<(), String> {
    let lost = folder.tasks(State::Failed, node).join(lost_name(seen));
    fs::create_dir_all(folder.tasks(State::Failed, node)).map_err(|error| cannot_write(&lost, &error))?;
    let work = folder.tasks(State::Work, node).join(seen.plain());
    let moved = holder == Holder::Silent && fs::rename(&work, &lost).is_ok();
    if !moved {
        fs::create_dir_all(&lost).map_err(|error| cannot_write(&lost, &error))?;
    }
    let running = folder.tasks(State::Running, node);
    let Ok(task) = read::<Task>(&running.join(seen.file())) else { return Ok(()) };
    let claim = read::<Claim>(&running.join(format!("{}.who", seen.plain()))).unwrap_or_default();
    let how = if holder == Holder::Silent { "was silent for longer than its lease" } else { "is gone" };
    let reason = format!("the worker on {} (process {}) {how}", claim.host, claim.pid);
    write(&lost.join(OUTCOME), &Outcome { reason: Some(reason), ..outcome(&task, &claim, task.tried) })
}

/// How a child ended, for people.
fn ending(status: ExitStatus) -> String {
    status.signal().map_or_else(|| status.to_string(), |signal| format!("ended by {}", signal_name(signal)))
}
