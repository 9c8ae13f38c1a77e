//! A worker that has no task of its own left: it measures with other nodes.

use model::cluster::{Claim, Task};

use crate::attempt::context::{AttemptResult, NodeContext};

/// A worker that has no task of its own left.
#[derive(Clone, Copy)]
pub(crate) struct IdleWorker<'a> {
    pub(crate) context: &'a NodeContext<'a>,
    pub(crate) us: &'a Claim,
    /// How long it waits for other nodes.
    pub(crate) waits: Waits,
    pub(crate) tell: &'a dyn Fn(&str),
    pub(crate) on_result: &'a dyn Fn(&Task, &AttemptResult),
}

/// How long a worker waits for other nodes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// For another node's server, while nothing can be measured.
    pub linger: f64,
    /// For other nodes to be ready for a round, while nothing changes.
    pub patience: f64,
}

impl Default for Waits {
    /// Nodes that were started together and do the same end within minutes of each other; a round is called once the
    /// nodes that are there have had the time to see it.
    fn default() -> Self {
        Self { linger: 300.0, patience: 20.0 }
    }
}

/// Why a worker stopped to measure with other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdleEnd {
    /// All tasks that this node is part of are finished.
    AllFinished,
    /// The other nodes of the tasks that are left have no worker.
    PartnersMissing,
    OutOfTime,
    Stopped,
}
