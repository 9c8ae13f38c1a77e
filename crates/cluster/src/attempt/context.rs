//! What an attempt needs, and how it ends.

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, Task};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use crate::claims::claim::{ClaimId, HeldClaim};
use crate::claims::lease::{Lease, Leases};
use crate::error::Result;
use crate::folder::{Folder, State};

/// A run may take this many times its expected seconds …
pub(crate) const MOST_TIMES: f64 = 3.0;
/// … plus this many seconds, since the expectation is from another machine.
pub(crate) const MOST_MORE_SECONDS: f64 = 60.0;
/// After this many lost workers the task itself is at fault.
pub(crate) const MOST_LOST: u32 = 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeContext<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) plan: &'a Plan,
    pub(crate) node: &'a str,
    /// All variables that child processes get.
    pub(crate) environment: &'a [(String, String)],
    pub(crate) leases: &'a Leases,
    /// When the worker's time ends, by the raw monotonic clock.
    pub(crate) until: Option<f64>,
    /// Whether the plan was cancelled.
    pub(crate) cancelled: &'a AtomicBool,
}

impl NodeContext<'_> {
    pub(crate) fn is_over(&self) -> bool {
        stop_signal().is_some()
            || self.cancelled.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| monotonic_raw_seconds() >= until)
    }

    /// Makes an attempt under the lease of a claim. After an error the task is returned, if possible.
    pub(crate) fn with_lease(
        &self,
        held: HeldClaim,
        attempt: impl FnOnce(&Lease) -> Result<AttemptResult>,
    ) -> Result<AttemptResult> {
        let lease = self.leases.hold(held);
        let result = attempt(&lease);
        self.leases.forget(&lease);
        if result.is_err() {
            let _ = self.give_back(&lease);
        }
        result
    }

    /// Returns a task to `waiting`; `false` if its claim was lost.
    pub(crate) fn give_back(&self, lease: &Lease) -> Result<bool> {
        lease.held().clone().give_back(&self.folder.tasks(State::Waiting, self.node))
    }

    pub(crate) fn work_folder(&self, claim: &ClaimId) -> PathBuf {
        let path = self.folder.tasks(State::Work, self.node).join(claim.folder_name());
        // A child process may have another working directory.
        std::path::absolute(&path).unwrap_or(path)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgramCall {
    /// Without `--out` and `--quiet`.
    pub(crate) arguments: Vec<String>,
    /// The suite that its document must be of.
    pub(crate) suite: String,
    /// The text of a suite's file, written to `SUITE` in the attempt's folder.
    pub(crate) suite_text: Option<String>,
    pub(crate) most_seconds: f64,
}

/// What is checked when the run of a pair of nodes has ended.
#[derive(Clone, Copy)]
pub(crate) struct PairChecks<'a> {
    /// Whether other pairs may have been called meanwhile: then the result does not count. Checked first.
    pub(crate) is_given_up: &'a dyn Fn() -> bool,
    /// Pairs that were measured at the same time.
    pub(crate) at_once: &'a dyn Fn() -> Option<u32>,
    /// Whether the partner has left: then a failure does not count.
    pub(crate) partner_left: &'a dyn Fn() -> bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttemptResult {
    /// The task is finished, by this attempt or an earlier one.
    Finished(OutcomeStatus),
    /// The attempt failed for this reason; the task waits for the next one.
    Failed(String),
    /// The worker had to stop; the task waits for another worker.
    Returned,
    /// The lease was lost; nothing was published.
    LeaseLost,
}

impl AttemptResult {
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

/// The outcome of an attempt that has just begun; a failure until it is filled in.
pub(crate) fn outcome(task: &Task, claim: &Claim, failed: u32) -> Outcome {
    Outcome {
        task: Task { tried: failed, ..task.clone() },
        claim: claim.clone(),
        status: OutcomeStatus::Failed,
        reason: None,
        seconds: 0.0,
        exit_status: None,
        at_once: None,
        values: std::collections::BTreeMap::new(),
    }
}
