//! A cluster: what is to be measured on many nodes, what became of it, and what it says of the nodes.
//!
//! Plain data, in two halves. `folder` is the form of every file in a plan's folder, which nodes share and which is the
//! only truth about a plan; `document` is what is made of the results in the end (schema `assay.cluster/1`). Who claims
//! what, and when, is `bench`'s business; which node is slow is worked out by `stats`.

mod document;
mod folder;

pub use document::{
    Cause, ClusterDocument, ClusterHpl, ClusterInfo, Deviation, Difference, Distribution, FleetNode, Group, NodeState,
    NodeValue, PairMatrix, PairValue, Problem, SCHEMA, SlowNode, Standing,
};
pub use folder::{
    Claim, HplPlan, HplTask, NodeFacts, Outcome, OutcomeStatus, PLAN_SCHEMA, PairTask, Pairing, Plan, PlanNode, Role,
    ServerRecord, SubmittedJob, SuiteTask, Task, Work, WorkerMark,
};
