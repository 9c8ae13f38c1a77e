//! What a worker without a waiting task needs to measure with other nodes.

use std::sync::atomic::Ordering;

use model::cluster::{Claim, Task};
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use crate::attempt::context::{AttemptResult, NodeContext};

#[derive(Clone, Copy)]
pub(crate) struct IdleWorker<'a> {
    pub(crate) context: &'a NodeContext<'a>,
    pub(crate) us: &'a Claim,
    pub(crate) waits: Waits,
    pub(crate) report: &'a dyn Fn(&str),
    pub(crate) on_result: &'a dyn Fn(&Task, &AttemptResult),
}

impl IdleWorker<'_> {
    /// Why the worker has to leave now, if less than this is left of its time.
    pub(crate) fn leaving(&self, least_seconds: f64) -> Option<IdleEnd> {
        if stop_signal().is_some() || self.context.cancelled.load(Ordering::Relaxed) {
            return Some(IdleEnd::Stopped);
        }
        let left = self.context.until.map(|until| until - monotonic_raw_seconds());
        left.filter(|left| *left < least_seconds).map(|_| IdleEnd::OutOfTime)
    }
}

/// How long a worker waits for other nodes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// For another node's server, while nothing can be measured.
    pub linger: f64,
    /// For servers of other nodes before a round is called, while none starts or ends.
    pub patience: f64,
}

impl Default for Waits {
    /// Workers of one job start within seconds, but an NFS client may cache for 60 s that a server's file is missing.
    fn default() -> Self {
        Self { linger: 120.0, patience: 10.0 }
    }
}

/// Why a worker stopped measuring with other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdleEnd {
    /// All tasks that need this node are finished.
    AllFinished,
    /// The other nodes of the remaining tasks have no worker.
    PartnersMissing,
    OutOfTime,
    Stopped,
}
