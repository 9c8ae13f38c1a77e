//! One attempt at a task with the plan's program: `assay run`, or `assay net` to another node.

use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use areas::Suite;
use bench::journal::JOURNAL;
use bench::store::{self, DOCUMENT, PAGE, load_file};
use model::cluster::{Outcome, OutcomeStatus, SuiteTask, Task};
use model::document::{Document, Status};
use sys::clock::monotonic_raw_seconds;

use super::context::{
    AttemptResult, MOST_LOST, MOST_MORE_SECONDS, MOST_TIMES, NodeContext, PairChecks, ProcessEnd, ProgramCall, outcome,
};
use super::process::{POLL_INTERVAL, STDERR, append_to, ending, last_words, wait_out};
use super::publish::{fail, publish};
use crate::claims::claim::{ClaimId, HeldClaim, claims};
use crate::claims::lease::Lease;
use crate::error::{Result, cannot_write};
use crate::folder::{State, make_folder, names};
use crate::plan::suite;
use crate::tasks::{finished, tried};

/// Timeout for the processes of a killed worker to release its run.
const LET_GO_SECONDS: f64 = 5.0;
const SUITE: &str = "suite.toml";
const RUN: &str = "run";

/// Makes an attempt at a task of the suite. After an error the task has been returned, if possible.
pub(crate) fn suite_attempt(
    context: &NodeContext<'_>,
    held: HeldClaim,
    task: &Task,
    part: &SuiteTask,
) -> Result<AttemptResult> {
    let plan = context.plan;
    let Suite { name, .. } = suite(&plan.suite)?;
    let suite_text = (!Suite::names().any(|name| name == plan.suite)).then(|| plan.suite.clone());
    let suite_file = context.work_folder(&held.seen()).join(SUITE).display().to_string();
    let named = if suite_text.is_some() { suite_file } else { plan.suite.clone() };
    let mut arguments = vec!["run".to_owned(), named, "--seed".to_owned(), plan.seed.to_string()];
    let areas = (!part.areas.is_empty()).then(|| part.areas.join(","));
    for (option, value) in [("--area", areas), ("--filter", part.filter.clone()), ("--dir", plan.directory.clone())] {
        arguments.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    arguments.extend(plan.options.iter().cloned());
    let most_seconds = MOST_TIMES * task.seconds + MOST_MORE_SECONDS;
    attempt(context, held, task, &ProgramCall { arguments, suite: name, suite_text, most_seconds }, None)
}

/// Makes an attempt at a task. With a partner it always restarts, because the partner's part cannot be resumed.
/// After an error the task has been returned, if possible.
pub(crate) fn attempt(
    context: &NodeContext<'_>,
    held: HeldClaim,
    task: &Task,
    call: &ProgramCall,
    pair: Option<&PairChecks<'_>>,
) -> Result<AttemptResult> {
    context.with_lease(held, |lease| Attempt { context, lease, call, pair }.make(task))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    Nothing,
    CutOff,
    /// A run that was complete when its worker was lost.
    Complete,
}

struct Attempt<'a> {
    context: &'a NodeContext<'a>,
    lease: &'a Lease,
    call: &'a ProgramCall,
    pair: Option<&'a PairChecks<'a>>,
}

impl Attempt<'_> {
    fn make(&self, task: &Task) -> Result<AttemptResult> {
        let (context, held) = (self.context, self.lease.held());
        if finished(context.folder, context.node)?.contains(&task.name) {
            held.clone().end();
            return Ok(AttemptResult::Finished(OutcomeStatus::Ok));
        }
        let (failed, lost) = tried(context.folder, context.node, &task.name)?;
        let mut outcome = outcome(task, &held.claim, failed);
        let (work, began) = (context.work_folder(&held.seen()), monotonic_raw_seconds());
        let mut earlier = self.take_work(&held.seen())?;
        if self.pair.is_some() && earlier == Earlier::CutOff {
            fs::remove_dir_all(work.join(RUN)).map_err(cannot_write(&work))?;
            earlier = Earlier::Nothing;
        }
        if lost >= MOST_LOST {
            outcome.reason = Some(format!("{lost} workers were lost during this task"));
            return publish(context, self.lease, &outcome);
        }
        let mut judged = Ok(());
        if earlier != Earlier::Complete {
            match self.child(&work, earlier)? {
                // A scheduler that ends a job signals all of its processes.
                ProcessEnd::Exited(status) if is_by_signal(status) && self.is_over_soon() => {
                    return Ok(AttemptResult::returned(context.give_back(self.lease)?));
                }
                ProcessEnd::Exited(status) => {
                    outcome.exit_status = status.code();
                    let whole = judge(&work, &self.call.suite, matches!(status.code(), Some(0 | 1)));
                    judged = whole.map_err(|reason| format!("{}; {reason}", ending(status)));
                }
                ProcessEnd::TimedOut => {
                    let seconds = self.call.most_seconds;
                    judged = Err(format!("timed out after {seconds:.0} s; {}", last_words(&work)));
                }
                // A lease that was not renewed in time may still be ours: returned, the task need not wait for its end.
                ProcessEnd::Stopped | ProcessEnd::LeaseLost => {
                    let is_ours = context.give_back(self.lease)?;
                    if !is_ours {
                        let _ = fs::remove_dir_all(&work);
                    }
                    return Ok(AttemptResult::returned(is_ours));
                }
            }
        }
        outcome.seconds = monotonic_raw_seconds() - began;
        if let Some(pair) = self.pair {
            let is_given_up = (pair.is_given_up)();
            outcome.at_once = (pair.at_once)().filter(|_| earlier != Earlier::Complete);
            judged = judged.and_then(|()| all_measured(&work));
            if is_given_up || judged.is_err() && (pair.partner_left)() {
                let _ = fs::remove_dir_all(&work);
                return Ok(AttemptResult::returned(context.give_back(self.lease)?));
            }
        }
        match judged {
            Ok(()) => {
                // The HTML report can be made again from the document.
                let _ = fs::remove_file(work.join(RUN).join(PAGE));
                publish(context, self.lease, &Outcome { status: OutcomeStatus::Ok, ..outcome })
            }
            Err(reason) => fail(context, self.lease, Outcome { reason: Some(reason), ..outcome }),
        }
    }

    /// Whether the worker has to stop too, whose signal may come a moment later.
    fn is_over_soon(&self) -> bool {
        std::thread::sleep(POLL_INTERVAL);
        self.context.is_over()
    }

    /// Makes the folder of this attempt, from that of an earlier one with a run if there is one. Folders of silent workers
    /// were moved away when their claims were taken over.
    fn take_work(&self, ours: &ClaimId) -> Result<Earlier> {
        let all = self.context.folder.tasks(State::Work, self.context.node);
        let path = all.join(ours.folder_name());
        let held = claims(&self.context.folder.tasks(State::Running, self.context.node))?;
        let mut found = Earlier::Nothing;
        let left = names(&all)?.into_iter().filter_map(|name| ClaimId::parse_folder(&name));
        for seen in left.filter(|seen| seen.name == ours.name && !held.contains(seen)) {
            let old = all.join(seen.folder_name());
            let has_run = old.join(RUN).join(DOCUMENT).is_file();
            if found == Earlier::Nothing && has_run && fs::rename(&old, &path).is_ok() {
                let complete = judge(&path, &self.call.suite, true).is_ok();
                found = if complete { Earlier::Complete } else { Earlier::CutOff };
            } else {
                let _ = fs::remove_dir_all(&old);
            }
        }
        make_folder(&path)?;
        Ok(found)
    }

    /// Runs the program; from the beginning if it cannot resume the earlier attempt.
    fn child(&self, work: &Path, earlier: Earlier) -> Result<ProcessEnd> {
        let (run, out) = (work.join(RUN), RUN.to_owned());
        if earlier == Earlier::CutOff {
            wait_for_release(&run);
            let words = [&self.call.arguments[0], "--resume", &out, "--quiet"].map(str::to_owned);
            match self.in_child(work, &words)? {
                // Refused: the document of another version or machine, or locked.
                ProcessEnd::Exited(status) if status.code() == Some(2) => {}
                ended => return Ok(ended),
            }
            fs::remove_dir_all(&run).map_err(cannot_write(&run))?;
        }
        if let Some(text) = &self.call.suite_text {
            let path = work.join(SUITE);
            fs::write(&path, text).map_err(cannot_write(&path))?;
        }
        let mut words = self.call.arguments.clone();
        words.extend(["--out".to_owned(), out, "--quiet".to_owned()]);
        self.in_child(work, &words)
    }

    /// Runs the program in the attempt's folder with its messages in a file, until it ends or has to be ended. Its run is in
    /// that folder also when the plan is moved meanwhile.
    fn in_child(&self, work: &Path, words: &[String]) -> Result<ProcessEnd> {
        let program = self.context.folder.program(self.context.plan);
        let mut command = Command::new(std::path::absolute(&program).unwrap_or(program));
        command.current_dir(work);
        command.args(["attempt".to_owned(), std::process::id().to_string()]).args(words);
        command.env_clear().envs(self.context.environment.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::null()).stderr(append_to(work, STDERR)?);
        let ended = wait_out(command, self.context, self.lease, self.call.most_seconds)?;
        if !matches!(ended, ProcessEnd::Exited(_)) {
            store::sweep(&work.join(RUN));
        }
        Ok(ended)
    }
}

/// Whether a signal that ends jobs ended a run, by itself or through the run's own status.
fn is_by_signal(status: ExitStatus) -> bool {
    let signals = [1, 2, 15];
    let code = status.code().map(|code| code - 128);
    status.signal().or(code).is_some_and(|signal| signals.contains(&signal))
}

/// Waits until the journal of a run that was cut off is unlocked: processes of a killed worker may be about to end.
fn wait_for_release(run: &Path) {
    let began = monotonic_raw_seconds();
    while monotonic_raw_seconds() - began < LET_GO_SECONDS {
        let Ok(file) = OpenOptions::new().read(true).append(true).open(run.join(JOURNAL)) else { return };
        if !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a complete document of the suite was written, or why not.
fn judge(work: &Path, suite: &str, ended_well: bool) -> std::result::Result<(), String> {
    let path = work.join(RUN).join(DOCUMENT);
    if !ended_well || !path.exists() {
        return Err(last_words(work));
    }
    let run = load_file(&path)?.run;
    if run.suite != suite {
        return Err(format!("its run is of the suite '{}', not '{suite}'", run.suite));
    }
    if !run.complete {
        return Err(format!("it was interrupted: {}", last_words(work)));
    }
    Ok(())
}

fn all_measured(work: &Path) -> std::result::Result<(), String> {
    let document: Document = load_file(&work.join(RUN).join(DOCUMENT))?;
    match document.experiments.iter().find(|row| row.status != Status::Ok) {
        Some(row) => Err(format!("{}: {}", row.id, row.reason.as_deref().unwrap_or("unknown reason"))),
        None if document.experiments.is_empty() => Err("its run has no benchmarks".to_owned()),
        None => Ok(()),
    }
}
