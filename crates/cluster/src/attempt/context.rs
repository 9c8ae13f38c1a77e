//! Where an attempt is made, what it runs, and how it ends.

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, Task};
use std::path::PathBuf;
use std::process::ExitStatus;
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use crate::claims::claim::ClaimId;
use crate::claims::lease::Leases;
use crate::folder::{Folder, State};

/// A run may take so many times its expected seconds …
pub(crate) const MOST_TIMES: f64 = 3.0;

/// … and so many seconds more: the expectation was worked out on another machine.
pub(crate) const MOST_MORE_SECONDS: f64 = 60.0;

/// After so many workers that were lost during a task the task itself is at fault.
pub(crate) const MOST_LOST: u32 = 10;

/// A worker's node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeContext<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) plan: &'a Plan,
    pub(crate) node: &'a str,
    /// The variables that child processes get, and no others.
    pub(crate) environment: &'a [(String, String)],
    pub(crate) leases: &'a Leases,
    /// When the worker's time ends, by the raw monotonic clock.
    pub(crate) until: Option<f64>,
}

impl NodeContext<'_> {
    /// Whether the worker is to stop: then tasks are returned.
    pub(crate) fn is_over(&self) -> bool {
        stop_signal().is_some() || self.until.is_some_and(|until| monotonic_raw_seconds() >= until)
    }

    /// The folder that an attempt writes in.
    pub(crate) fn work_folder(&self, claim: &ClaimId) -> PathBuf {
        let path = self.folder.tasks(State::Work, self.node).join(claim.folder_name());
        // A child process may have another working directory.
        std::path::absolute(&path).unwrap_or(path)
    }
}

/// What the plan's program is run with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgramCall {
    /// The program's arguments, without `--out` and `--quiet`.
    pub(crate) arguments: Vec<String>,
    /// The suite that its document must be of.
    pub(crate) suite: String,
    /// The text of the suite's file, where it is one: written to `SUITE` in the attempt's folder.
    pub(crate) suite_text: Option<String>,
    /// It is ended after so many seconds.
    pub(crate) most_seconds: f64,
}

/// What is checked of a pair of nodes when its run has ended.
#[derive(Clone, Copy)]
pub(crate) struct PairChecks<'a> {
    /// Pairs of nodes that were measured at the same time.
    pub(crate) at_once: &'a dyn Fn() -> Option<u32>,
    /// Whether the partner has left, so that a failure does not count.
    pub(crate) partner_left: &'a dyn Fn() -> bool,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttemptResult {
    /// The task is finished: published by us, or before.
    Finished(OutcomeStatus),
    /// The attempt failed, for this reason, and the task waits for another one.
    Failed(String),
    /// The worker was to stop, and the task waits for another worker.
    Returned,
    /// The lease was lost; nothing was published.
    LeaseLost,
}

impl AttemptResult {
    /// The result of an attempt whose task was returned, unless its lease was lost.
    pub(crate) const fn returned(is_ours: bool) -> Self {
        if is_ours { Self::Returned } else { Self::LeaseLost }
    }
}

pub(crate) enum ProcessEnd {
    Exited(ExitStatus),
    TimedOut,
    Stopped,
    LeaseLost,
}

/// The outcome of an attempt that has just begun, or that failed.
pub(crate) fn outcome(task: &Task, claim: &Claim, failed: u32) -> Outcome {
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
