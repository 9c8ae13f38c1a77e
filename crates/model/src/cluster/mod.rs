//! A cluster: `folder` is the form of every file in a plan's folder, `document` what is made of the results.

mod document;
mod folder;

pub use document::{
    AreaLimit, BELOW_EXPECTED, Cause, ClusterDocument, ClusterHpl, ClusterInfo, ClusterVerdict, Deviation, Difference,
    Distribution, FailedAttempts, FleetNode, Group, History, NodeState, NodeValue, PairMatrix, PairValue, Problem,
    SCHEMA, SLOWER_THAN_BEFORE, SlowNode, SlowerNode, Standing, is_of_paths,
};
pub use folder::{
    CampaignMark, Claim, HplPlan, HplTask, JobEnded, NodeFacts, Outcome, OutcomeStatus, PLAN_SCHEMA, PairTask, Pairing,
    Plan, PlanLauncher, PlanNode, Role, ServerRecord, SubmittedJob, SuiteTask, Task, Work, WorkerMark,
};
