//! Jobs, what a scheduler knows of them and of nodes, and the trait of schedulers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::SchedulerError;
use super::words::command_line;

/// What every job of a plan has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// The plan's folder, absolute.
    pub plan: PathBuf,
    /// The plan's name.
    pub name: String,
    /// The program that nodes run, absolute.
    pub program: PathBuf,
    /// Lines that the user wants in every script, without `#SBATCH`.
    pub lines: Vec<String>,
}

/// Which tasks a job's workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTasks {
    /// Those that a node does alone.
    Alone,
    /// Those that need several nodes at the same moment.
    Together,
}

impl JobTasks {
    /// As `assay agent --role` takes it.
    #[must_use]
    pub const fn role(self) -> &'static str {
        match self {
            Self::Alone => "suite",
            // What is done together includes HPL, which a worker takes as it takes a suite's task.
            Self::Together => "all",
        }
    }
}

/// A job: a worker on each of these nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The nodes; at least one.
    pub nodes: Vec<String>,
    /// Where it is queued; `None` for the scheduler's default.
    pub partition: Option<String>,
    /// How long it may take, from its start, in seconds.
    pub seconds: f64,
    /// Which tasks its workers do.
    pub tasks: JobTasks,
    /// Name of the file in the plan's `probe/` that each of its nodes has to find, and to answer, before its worker
    /// begins; `None` where the job is only shown.
    pub probe: Option<String>,
}

/// How a job would be started: what a person would type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The command, word by word.
    pub command: Vec<String>,
    /// What it reads from its standard input: the batch script, where there is one.
    pub input: Option<String>,
}

impl Script {
    /// The script as a person reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let command = command_line(&self.command);
        self.input.as_ref().map_or_else(|| format!("{command}\n"), |input| format!("{command} <<'END'\n{input}END\n"))
    }
}

/// A job that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The scheduler's id.
    pub id: String,
    /// Which scheduler, as `jobs/ID.json` has it.
    pub launcher: &'static str,
    /// The command, word by word.
    pub command: Vec<String>,
}

/// Why a job was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user has as many jobs as they may have: later it will be taken.
    Limit(String),
    /// The scheduler could not be reached: later it may be.
    Unreachable(String),
    /// Something is wrong with the job itself.
    Wrong(String),
}

impl Refusal {
    /// What was said.
    #[must_use]
    pub fn said(&self) -> &str {
        match self {
            Self::Limit(said) | Self::Unreachable(said) | Self::Wrong(said) => said,
        }
    }
}

/// What a scheduler knows of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// A job for it would start now.
    Idle,
    /// Others have it, or a job of ours: a job for it would wait.
    Busy(String),
    /// It is not there, and nobody knows when it will be.
    Down(String),
    /// It cannot be reached from where we are, whatever happens (it is not in the allocation that we are in).
    Elsewhere(String),
}

/// Whether a job has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits.
    Pending,
    /// It has nodes.
    Running,
}

/// A job of this user in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The scheduler's id.
    pub id: String,
    /// How far it is.
    pub phase: Phase,
    /// Why it waits, in the scheduler's words.
    pub reason: String,
}

/// What a scheduler knows at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerState {
    /// Its nodes; a node of the plan that is not here is unknown to it.
    pub nodes: BTreeMap<String, Availability>,
    /// All jobs of this user, ours and others; each task of an array is one.
    pub queue: Vec<Queued>,
    /// How many more jobs its limits let this user have now; `None` where there is no limit.
    pub room: Option<u32>,
    /// Bounds of jobs by partition; one that is not here has none. The default one's name is empty.
    pub bounds: BTreeMap<String, JobLimits>,
}

/// What a job may be at most; each `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobLimits {
    /// How long it may take, in seconds.
    pub seconds: Option<u64>,
    /// How many nodes it may have, where they need not be together.
    pub nodes: Option<u32>,
}

impl SchedulerState {
    /// The bounds of jobs in a partition.
    #[must_use]
    pub fn bounds(&self, partition: Option<&str>) -> JobLimits {
        self.bounds.get(partition.unwrap_or_default()).copied().unwrap_or_default()
    }
}

/// How a scheduler says that a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// Its word for it: Slurm's job states, such as `FAILED`, `CANCELLED`, `PREEMPTED`, `NODE_FAIL`, `TIMEOUT`.
    pub state: String,
    /// The exit status, as it writes it.
    pub exit: String,
}

impl JobEnd {
    /// Another job took its nodes.
    #[must_use]
    pub fn is_preempted(&self) -> bool {
        self.state == "PREEMPTED"
    }

    /// The job did not end by itself: its nodes may never have begun.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        ["CANCELLED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "REVOKED"].contains(&self.state.as_str())
    }
}

impl std::fmt::Display for JobEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Of a job that something else ended the exit status says nothing.
        if self.is_from_outside() {
            write!(formatter, "{}", self.state)
        } else {
            write!(formatter, "{}, exit status {}", self.state, self.exit)
        }
    }
}

/// What starts workers.
pub trait Scheduler {
    /// How a job would be started.
    fn script(&self, job: &Job) -> Script;

    /// Starts a job, or has it queued.
    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal>;

    /// What it knows now.
    fn poll(&mut self) -> Result<SchedulerState, SchedulerError>;

    /// Takes a job out of the queue, or ends it.
    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError>;

    /// How a job ended that has left the queue; `None` where the scheduler does not know.
    fn end_of(&mut self, _id: &str) -> Option<JobEnd> {
        None
    }
}
