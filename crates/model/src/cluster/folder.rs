//! The form of every file in a plan's folder.
//!
//! ```text
//! PLAN/plan.json                     Plan: written once, never changed
//! PLAN/program/assay                 the program that every node runs, unless the plan names another
//! PLAN/waiting/NODE/TASK.json        Task: not claimed yet
//! PLAN/running/NODE/TASK@CLAIM.json  Task: claimed; its time of change is the lease, which the claimer renews
//! PLAN/running/NODE/TASK@CLAIM.who   Claim: the claimer
//! PLAN/work/NODE/TASK@CLAIM/         where an attempt writes
//! PLAN/done/NODE/TASK/               outcome.json, run/run.json …: published by one rename of the folder in `work`
//! PLAN/failed/NODE/TASK@CLAIM/       failed attempts: outcome.json, output; how many there are of a
//!                                    task is how often it was tried. TASK@CLAIM.lost: its worker went away in the middle
//! PLAN/nodes/NODE/                   facts.json (NodeFacts), worker@ID.json (WorkerMark), server.json (ServerRecord)
//! PLAN/net/                          which pairs were called, which nodes wait for HPL (`cluster::network::slot`)
//! PLAN/campaign.json                 CampaignMark: the last `assay cluster run`
//! PLAN/cancelled                     `assay cluster cancel` was called: workers return their tasks
//! PLAN/jobs/ID.json                  SubmittedJob: a job that `assay cluster run` submitted
//! PLAN/probe/PROBE.json              Claim: who submitted the job that this was written for
//! PLAN/probe/PROBE@NODE              a node of that job has found it, before its worker began: the node's own name
//! PLAN/log/                          what jobs printed
//! ```
//!
//! A task is in exactly one of `waiting`, `running` and `done`; it moves by renames within one file system, and each
//! rename has one winner. Times in these files are for people: nothing is decided by comparing clocks of two hosts.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Program;
use crate::machine::Machine;

/// The schema name that a plan carries.
pub const PLAN_SCHEMA: &str = "assay.plan/1";

/// What is to be measured, on which nodes, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The plan's name: that of its folder when it was made.
    pub name: String,
    /// When it was made, UTC, ISO 8601.
    pub created: String,
    /// The program that made it; workers of another version refuse.
    pub program: Program,
    /// Path of the program that nodes run: relative to the plan's folder, or absolute where the user named one.
    pub program_path: String,
    /// The suite's name, or the text of a suite's file.
    pub suite: String,
    /// What else each `assay run` is called with, such as `--repeat 3`, word by word.
    pub options: Vec<String>,
    /// Directory on each node in which disks are measured; `None` leaves it to `assay run`.
    pub directory: Option<String>,
    /// How workers are started; `None` where only `assay cluster run` knows.
    #[serde(default)]
    pub launcher: Option<PlanLauncher>,
    /// Whether its jobs have whole nodes; `false` where the plan or a partition shares them, `None` where it is unknown.
    #[serde(default)]
    pub exclusive: Option<bool>,
    /// Whether its jobs do not ask for whole nodes.
    #[serde(default)]
    pub shared: bool,
    /// The nodes, in the order in which they were named.
    pub nodes: Vec<PlanNode>,
    /// How pairs of nodes are chosen for the network; `None` where the network between nodes is not measured.
    pub pairing: Option<Pairing>,
    /// An interface (`ib0`) or subnet (`10.1.0.0/16`) to measure between; `None`: the first that is reached.
    pub network: Option<String>,
    /// How HPL is run across nodes, where the plan has a task of it.
    pub hpl: Option<HplPlan>,
    /// Expected seconds of the tasks of one node, their mean over the nodes.
    pub seconds_per_node: f64,
    /// Expected seconds of the tasks that every node has, by their names.
    #[serde(default)]
    pub task_seconds: BTreeMap<String, f64>,
    /// Seconds after which a claim without renewal expires.
    pub lease_seconds: f64,
    /// How often a task is tried before it counts as failed.
    pub attempts: u32,
    /// Seed of the order of tasks and of random pairs.
    pub seed: u64,
}

/// A node of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlanNode {
    /// Its name, as the scheduler has it (or the ssh destination).
    pub name: String,
    /// The partition that jobs for it go to; `None` for the default one, or where there is no scheduler.
    pub partition: Option<String>,
}

/// How HPL is run across nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HplPlan {
    /// Path of `xhpl`, the same on every node.
    pub program: String,
    /// What starts its processes, word by word; empty takes `srun` where a job has it, otherwise `mpirun`.
    #[serde(default)]
    pub launcher: Vec<String>,
    /// The most seconds that it may take; `None` for as much as 80 % of the memory holds.
    pub most_seconds: Option<f64>,
}

crate::words::words! {
    /// How workers are started on the nodes of a plan.
    PlanLauncher, "launcher", {
        /// By jobs of Slurm.
        Slurm => "slurm",
        /// Over ssh.
        Ssh => "ssh",
    }

    /// How pairs of nodes are chosen.
    Pairing, "pairing", {
        /// Every ordered pair, in n - 1 rounds.
        All => "all",
        /// Rings of shifts 1, 2, 4 … and as many random matchings; each round has a node once on each side.
        Ring => "ring",
        /// Random matchings alone, both directions.
        Random => "random",
    }
}

/// Something to be measured, which one worker does in one go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Task {
    /// The node whose worker does it.
    pub node: String,
    /// Its name: unique on the node, and part of file names (letters, digits, `-`, `_` and `.`).
    pub name: String,
    /// The pass it belongs to: 1, or 2 for what is done again to confirm a slow node.
    pub pass: u32,
    /// Expected seconds.
    pub seconds: f64,
    /// How often it has been tried; in a task's own file always 0, since these files are moved and never changed.
    pub tried: u32,
    /// What is to be done.
    pub work: Work,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// A part of the suite, on this node alone.
    Suite(SuiteTask),
    /// The network from this node to another one.
    Pair(PairTask),
    /// HPL on several nodes at once.
    Hpl(HplTask),
}

/// A part of the suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SuiteTask {
    /// Areas, as `--area` takes them.
    pub areas: Vec<String>,
    /// Only ids that match, as `--filter` takes it.
    pub filter: Option<String>,
}

/// The network from this node, which measures, to another, which serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PairTask {
    /// The peer node.
    pub to: String,
    /// The round it belongs to, from 0; in a round no node measures twice or serves twice.
    pub round: u32,
    /// Whether the whole round is measured at the same moment; otherwise this pair alone.
    pub together: bool,
}

/// HPL on several nodes at once; the first node's worker starts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HplTask {
    /// The nodes.
    pub nodes: Vec<String>,
}

/// Who has claimed a task. By `boot` and `pid_start` workers on the same host see that the claimer is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Claim {
    /// The claim's own name: part of the file's name, never used twice.
    pub id: String,
    /// Host name of the machine that the worker runs on.
    pub host: String,
    /// Which boot of that host (`/proc/sys/kernel/random/boot_id`), with the process namespace.
    pub boot: Option<String>,
    /// The worker's process.
    pub pid: u32,
    /// When that process began, in the kernel's own units since the boot.
    pub pid_start: Option<u64>,
    /// The scheduler's job, where there is one.
    pub job: Option<String>,
    /// When, UTC, ISO 8601, by the host's clock.
    pub when: String,
}

crate::words::words! {
    /// What came of a task, or of an attempt at it.
    OutcomeStatus, "outcome", {
        /// There is a result.
        Ok => "ok",
        /// No result, and no attempts left.
        Failed => "failed",
        /// It cannot be done: a node is not available, or a program is missing.
        Skipped => "skipped",
    }
}

/// What came of a task, or of an attempt at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Outcome {
    /// The task as it was.
    pub task: Task,
    /// Who did it.
    pub claim: Claim,
    /// What came of it.
    pub status: OutcomeStatus,
    /// Why it is anything but `ok`, in a sentence.
    pub reason: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// Exit status of the program that measured, where one ran to its end.
    pub exit_status: Option<i32>,
    /// Pairs that were measured at the same moment, this one included, where it measured a pair.
    pub at_once: Option<u32>,
    /// Values of HPL: `n`, `nb`, `p`, `q`, `seconds`, `flop_per_s`, `residual`.
    #[serde(default, rename = "figures")]
    pub values: BTreeMap<String, f64>,
}

impl Outcome {
    /// A finite value of HPL by its name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied().filter(|value| value.is_finite())
    }
}

/// A node as its first worker found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NodeFacts {
    /// The node's name in the plan.
    pub node: String,
    /// The program there.
    pub program: Program,
    /// The machine.
    pub machine: Machine,
    /// How it is set: governor, transparent huge pages, microcode and the like; name to value.
    pub settings: BTreeMap<String, String>,
    /// How far the node's clock is from the file system's, in seconds; for people.
    pub clock_skew_seconds: Option<f64>,
}

/// A live worker; the file's modification time is its last heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WorkerMark {
    /// Who it is.
    pub claim: Claim,
    /// What it is doing.
    pub role: Role,
    /// The task it is at.
    pub task: Option<String>,
}

crate::words::words! {
    /// What a worker is doing.
    Role, "role", {
        /// A task.
        Measuring => "measuring",
        /// Serving other nodes' network tasks, or waiting for its turn among them.
        Serving => "serving",
        /// Nothing: another worker has this node.
        Waiting => "waiting",
        /// It has ended, for the reason that the mark's task says.
        Ended => "ended",
    }
}

/// Where a node serves network tasks of other nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ServerRecord {
    /// Addresses under which it can be reached, the likeliest first, with the port.
    pub addresses: Vec<String>,
    /// Name of the file in the same folder with the key of one session.
    pub key_file: String,
    /// Who opened it.
    pub claim: Claim,
}

/// A job that was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SubmittedJob {
    /// The scheduler's id.
    pub id: String,
    /// Which scheduler: `slurm`, `srun` (inside an allocation), `ssh`.
    pub launcher: String,
    /// The nodes it asked for.
    pub nodes: Vec<String>,
    /// The command that submitted it, word by word.
    pub command: Vec<String>,
    /// Name of the probe file that each of its nodes answers before its worker begins.
    pub probe: Option<String>,
    /// When, UTC, ISO 8601.
    pub when: String,
    /// How it ended, once a campaign has seen that.
    #[serde(default)]
    pub ended: Option<JobEnded>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JobEnded {
    /// The scheduler's word, such as `CANCELLED`, `PREEMPTED`, `NODE_FAIL`, `TIMEOUT`, `OUT_OF_MEMORY`; `None` if unknown.
    pub state: Option<String>,
    /// Its nodes on which it finished no task.
    pub fruitless: Vec<String>,
    /// When a campaign saw it, UTC, ISO 8601.
    pub when: String,
}

/// The last campaign of a plan; the file's time of change is its last heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CampaignMark {
    /// Who it is.
    pub claim: Claim,
    /// What it waits for, or how it ended.
    pub text: String,
    /// Its exit status, once it has ended.
    pub ended: Option<u8>,
}
