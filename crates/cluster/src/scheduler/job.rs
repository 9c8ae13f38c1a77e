//! Jobs, what a scheduler knows, and the trait of schedulers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::SchedulerError;
use super::words::command_line;

/// Settings of all jobs of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// The plan's folder, absolute.
    pub plan: PathBuf,
    /// The plan's name.
    pub name: String,
    /// The program that nodes run, absolute.
    pub program: PathBuf,
    /// The user's options for every script, without `#SBATCH`.
    pub lines: Vec<String>,
    /// Whether jobs do not ask for whole nodes.
    pub shared: bool,
}

/// Which tasks a job's workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTasks {
    /// Tasks of a single node.
    Alone,
    /// Tasks that need several nodes at the same time.
    Together,
}

impl JobTasks {
    /// The value for `assay agent --role`.
    pub const fn role(self) -> &'static str {
        match self {
            Self::Alone => "suite",
            // HPL is among the tasks of several nodes, and is done by any role but `suite`.
            Self::Together => "all",
        }
    }
}

/// A job: a worker on each of its nodes.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Job {
    /// The nodes; at least one.
    pub nodes: Vec<String>,
    /// Its partition; `None` for the scheduler's default.
    pub partition: Option<String>,
    pub seconds: f64,
    pub tasks: JobTasks,
    /// Name of its probe file in the plan's `probe/`; `None` if the job is only shown.
    pub probe: Option<String>,
}

/// How a job is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The command, word by word.
    pub command: Vec<String>,
    /// The batch script on its standard input.
    pub input: Option<String>,
}

impl Script {
    /// The script as it could be typed.
    pub fn text(&self) -> String {
        let command = command_line(&self.command);
        self.input.as_ref().map_or_else(|| format!("{command}\n"), |input| format!("{command} <<'END'\n{input}END\n"))
    }
}

/// An accepted job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of `jobs/ID.json`")]
pub struct Submitted {
    pub id: String,
    pub launcher: &'static str,
    pub command: Vec<String>,
}

/// Why a job was not accepted, as the scheduler reported it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{_0}")]
pub enum Refusal {
    /// The user has too many jobs: accepted later.
    Limit(String),
    /// The scheduler did not respond: perhaps accepted later.
    Unreachable(String),
    /// The job itself is invalid.
    Wrong(String),
    /// The user's options are invalid, such as the account: any job would be refused.
    Options(String),
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// A job for it would start now.
    Idle,
    /// A job for it would wait.
    Busy(String),
    /// It is down, for an unknown time.
    Down(String),
    /// It is not in the allocation that this campaign runs in.
    Elsewhere(String),
}

impl Availability {
    /// Whether it is idle, or its last job is completing, which takes seconds.
    pub(crate) fn is_idle_soon(&self) -> bool {
        *self == Self::Idle || matches!(self, Self::Busy(state) if state.starts_with("comp"))
    }
}

/// Whether a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "Slurm's words")]
pub enum Phase {
    Pending,
    Running,
}

/// A job of this user in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what they are")]
pub struct Queued {
    pub id: String,
    pub phase: Phase,
    /// Why it is pending, in the scheduler's words.
    pub reason: String,
}

/// What a scheduler knows now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerState {
    /// Its nodes; a node of the plan that is missing here is unknown to it.
    pub nodes: BTreeMap<String, Availability>,
    /// All jobs of this user; each task of an array is one.
    pub queue: Vec<Queued>,
    /// How many more jobs this user may submit; `None`: no limit.
    pub room: Option<u32>,
    /// Limits of jobs by partition; the name of the default one is empty.
    pub bounds: BTreeMap<String, JobLimits>,
}

/// Limits of a job; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobLimits {
    /// Time in seconds.
    pub seconds: Option<u64>,
    /// Nodes, if they need not be together.
    pub nodes: Option<u32>,
}

impl SchedulerState {
    /// The limits of jobs in a partition.
    pub fn bounds(&self, partition: Option<&str>) -> JobLimits {
        self.bounds.get(partition.unwrap_or_default()).copied().unwrap_or_default()
    }
}

/// How a job ended, by the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// Slurm's job state, such as `FAILED`, `CANCELLED`, `PREEMPTED`, `NODE_FAIL`, `TIMEOUT`.
    pub state: String,
    /// The exit status as Slurm writes it.
    pub exit: String,
}

/// What ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say which")]
pub enum EndedBy {
    /// Itself: its script ended.
    Itself,
    /// An operator, the user, or a deadline.
    Cancel,
    Preemption,
    NodeFailure,
    TimeLimit,
    OutOfMemory,
}

/// What a state of a job means: what ended it, in words.
pub fn meaning(state: &str) -> (EndedBy, &'static str) {
    match state {
        "CANCELLED" | "REVOKED" => (EndedBy::Cancel, "cancelled"),
        "DEADLINE" => (EndedBy::Cancel, "ended by its deadline"),
        "PREEMPTED" => (EndedBy::Preemption, "preempted by another job"),
        "NODE_FAIL" | "BOOT_FAIL" => (EndedBy::NodeFailure, "a node failed"),
        "TIMEOUT" => (EndedBy::TimeLimit, "ended by its time limit"),
        "OUT_OF_MEMORY" => (EndedBy::OutOfMemory, "out of memory"),
        "COMPLETED" => (EndedBy::Itself, "completed"),
        _ => (EndedBy::Itself, "failed"),
    }
}

impl JobEnd {
    /// What ended it.
    pub fn by(&self) -> EndedBy {
        meaning(&self.state).0
    }

    /// The job did not end by itself, and may never have begun.
    pub fn is_from_outside(&self) -> bool {
        !matches!(self.by(), EndedBy::Itself | EndedBy::OutOfMemory)
    }
}

impl std::fmt::Display for JobEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The exit status of a job ended from outside means nothing.
        match meaning(&self.state) {
            (EndedBy::Itself, _) => write!(formatter, "{}, exit status {}", self.state, self.exit),
            (EndedBy::Cancel, _) => write!(formatter, "{}", self.state),
            (_, words) => write!(formatter, "{} ({words})", self.state),
        }
    }
}

/// Starts workers.
pub trait Scheduler {
    /// How a job would be started.
    fn script(&self, job: &Job) -> Script;

    /// Starts or queues a job.
    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal>;

    /// The present state.
    fn poll(&mut self) -> Result<SchedulerState, SchedulerError>;

    /// Cancels a job, pending or running.
    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError>;

    /// How a job that has left the queue ended; `None` if unknown.
    fn end_of(&mut self, _id: &str) -> Option<JobEnd> {
        None
    }
}
