//! The results of a plan (schema `assay.cluster/1`): nodes by hardware, distributions, slow nodes, the network.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Program;
use crate::unit::{Better, Unit};

/// The schema name that a cluster's document carries.
pub const SCHEMA: &str = "assay.cluster/1";

/// The code of the problem that results are below what they should be.
pub const BELOW_EXPECTED: &str = "below_expected";
/// The code of the problem that a node is slower than in an earlier plan.
pub const SLOWER_THAN_BEFORE: &str = "slower_than_before";

/// The results of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClusterDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program that made this document.
    pub assay: Program,
    /// The plan.
    pub plan: ClusterInfo,
    /// Whether the nodes are equal.
    #[serde(default)]
    pub verdict: ClusterVerdict,
    /// What prevents the verdict `equal`, except nodes that are slow.
    #[serde(default)]
    pub doubts: Vec<Problem>,
    /// Every node of the plan, in its order.
    pub nodes: Vec<FleetNode>,
    /// Nodes of the same hardware, largest group first.
    pub groups: Vec<Group>,
    /// Each value over the nodes of each group, in the suite's order.
    pub distributions: Vec<Distribution>,
    /// How slow a node must be to stand out, for each group and area.
    #[serde(default)]
    pub area_limits: Vec<AreaLimit>,
    /// Nodes that are slow in something or have a known cause, the slowest first.
    pub slow: Vec<SlowNode>,
    /// What is not as it is on most nodes of the same group.
    pub differences: Vec<Difference>,
    /// The network between nodes.
    pub pairs: Vec<PairMatrix>,
    /// HPL across nodes.
    pub hpl: Vec<ClusterHpl>,
    /// What went wrong, or prevents a judgement.
    pub problems: Vec<Problem>,
    /// Nodes confirmed to be slow. Assay never drains nodes.
    pub drain: Vec<String>,
    /// The comparison with an earlier plan; `null` without one.
    #[serde(default)]
    pub history: Option<History>,
}

/// An earlier plan of the same cluster, and the nodes that are slower than in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct History {
    /// The earlier plan's name.
    pub plan: String,
    /// When it was made, UTC, ISO 8601.
    pub created: String,
    /// Nodes of which at least one result was compared with the node's own earlier one.
    pub compared: u64,
    /// Nodes with a result that is slower than the node's own earlier one, the slowest first.
    pub slower: Vec<SlowerNode>,
}

/// A node that is slower than in an earlier plan, with its worst result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SlowerNode {
    /// The node.
    pub node: String,
    /// The id of its worst benchmark.
    pub experiment: String,
    /// The metric's name.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which values are better.
    pub better: Better,
    /// The node's value in the earlier plan.
    pub earlier: f64,
    /// The node's value in this plan.
    pub present: f64,
    /// The present speed over the earlier one; below 1 is worse.
    pub ratio: f64,
    /// How many of the node's results are slower than before.
    pub slower: u64,
    /// How many of the node's results were compared.
    pub compared: u64,
}

/// The plan and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClusterInfo {
    /// Its name.
    pub name: String,
    /// When it was made, UTC, ISO 8601.
    pub created: String,
    /// The suite's name.
    pub suite: String,
    /// The program that measured.
    pub program: Program,
    /// Tasks in all.
    pub tasks: u64,
    /// Of these: done with a result.
    pub ok: u64,
    /// Tried for the last time, without one.
    pub failed: u64,
    /// Cannot be done.
    pub skipped: u64,
    /// Waiting or running.
    pub left: u64,
    /// Seconds of measuring over all nodes.
    pub node_seconds: f64,
    /// When the first task with a result began, UTC, ISO 8601, by its host's clock.
    #[serde(default)]
    pub first: Option<String>,
    /// When the last one began.
    #[serde(default)]
    pub last: Option<String>,
}

crate::words::words! {
    /// How far a node is.
    NodeState, "node state", {
        /// Every task has a result.
        Done => "done",
        /// Every task has ended, some without a result.
        Partly => "partly",
        /// A worker runs its tasks.
        Running => "running",
        /// None of its tasks has started.
        Waiting => "waiting",
        /// Every task has ended, none with a result.
        Failed => "failed",
    }

    /// Whether the nodes of a cluster are equal.
    #[derive(Default)]
    ClusterVerdict, "verdict", {
        /// Every node has all results, none stands out or differs in its settings, and a slower one would stand out.
        Equal => "equal",
        /// A node is slow in two passes.
        Slow => "slow",
        /// Neither is certain.
        #[default]
        Inconclusive => "inconclusive",
    }

    /// The judgement of a node among nodes of the same hardware.
    Standing, "standing", {
        /// Nothing stands out.
        Healthy => "healthy",
        /// Slow in two passes.
        Slow => "slow",
        /// Slow in the one pass that there is, or low in two without certainty, or with a known cause.
        Suspect => "suspect",
        /// Too few nodes of its hardware, or too few results.
        Unknown => "unknown",
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FleetNode {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: NodeState,
    /// Why it is not done, in a sentence.
    pub why: Option<String>,
    /// Its group of the same hardware; `None` while nothing is known of it.
    pub group: Option<u32>,
    /// Its judgement.
    pub standing: Standing,
    /// Path of its run documents, relative to the plan's folder.
    pub runs: Vec<String>,
    /// When its last task with a result began, UTC, ISO 8601, by its host's clock.
    #[serde(default)]
    pub last: Option<String>,
    /// Seconds that its tasks took, by area.
    #[serde(default)]
    pub seconds: BTreeMap<String, f64>,
    /// Attempts at its tasks that failed, also where a later one had a result.
    #[serde(default)]
    pub failed_attempts: Vec<FailedAttempts>,
}

/// Attempts at a task that failed for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FailedAttempts {
    /// The task's name.
    pub task: String,
    /// The area that it measures; empty where it is unknown.
    pub area: String,
    /// The reason, in a sentence.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// Nodes of the same hardware.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Group {
    /// Its number, from 0.
    pub id: u32,
    /// What they have in common, such as processor, cores and memory; name to value.
    pub hardware: BTreeMap<String, String>,
    /// How many nodes.
    pub nodes: u64,
}

/// One node's value: the median of its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NodeValue {
    /// The node.
    pub node: String,
    /// First pass, then the second where there is one; base units.
    pub values: Vec<f64>,
    /// Share of the peak, where one is known, in the first pass.
    pub efficiency: Option<f64>,
}

/// A value over the nodes of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Distribution {
    /// The experiment's id.
    pub experiment: String,
    /// Its area.
    pub area: String,
    /// The metric's name.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which values are better.
    pub better: Better,
    /// The group.
    pub group: u32,
    /// How many nodes have a value.
    pub n: u64,
    /// Median over nodes.
    pub median: f64,
    /// Spread over nodes as a share of the median: 1.4826 x the median absolute deviation, at least 0.5 %.
    pub spread: f64,
    /// The least, the quartiles, the most.
    pub least: f64,
    /// First quartile.
    pub lower_quartile: f64,
    /// Third quartile.
    pub upper_quartile: f64,
    /// The most.
    pub most: f64,
    /// A value worse than this stands out; `None` where there are too few nodes to say.
    pub limit: Option<f64>,
    /// Why no limit can be given, or why it should be read with care (the nodes differ widely).
    pub remark: Option<String>,
    /// Every node's value, worst first.
    pub values: Vec<NodeValue>,
}

impl Distribution {
    /// Whether a node's value is the median over its network paths to and from the other nodes.
    pub fn is_of_paths(&self) -> bool {
        is_of_paths(&self.experiment)
    }
}

/// Whether an id is that of values over a node's paths: `net/inbound/…` and `net/outbound/…` where pairs were measured alone,
/// `net/inbound-together/…` and `net/outbound-together/…` where they were measured with others.
pub fn is_of_paths(experiment: &str) -> bool {
    experiment.starts_with("net/inbound") || experiment.starts_with("net/outbound")
}

/// How slow a node must be to stand out in an area as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AreaLimit {
    /// The group.
    pub group: u32,
    /// The area.
    pub area: String,
    /// A node below this share of the median stands out.
    pub limit: f64,
    /// The least limit with which nodes are called equal.
    pub needed: f64,
}

/// Why a node is an outlier in one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Deviation {
    /// The experiment's id, or `area:NAME` for all values of an area together.
    pub experiment: String,
    /// The metric's name.
    pub metric: String,
    /// The node's value over the group's median, by pass; below 1 is worse.
    pub of_median: Vec<f64>,
    /// Share of the peak, where one is known.
    pub efficiency: Option<f64>,
}

/// The probable cause of a slow node, from its documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Cause {
    /// A fixed word, such as `clock_low`, `cpu_quota`, `fewer_channels`, `other_kernel`, `link_speed`, `other_load`.
    pub code: String,
    /// The sentence.
    pub text: String,
}

/// A node that is slow, or has a known cause to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SlowNode {
    /// The node.
    pub node: String,
    /// `slow` after two passes, else `suspect`.
    pub standing: Standing,
    /// Areas in which its results stand out; empty where it is a suspect only by its causes.
    pub areas: Vec<String>,
    /// The values, worst first.
    pub deviations: Vec<Deviation>,
    /// Probable causes, the likeliest first; empty where nothing in its documents differs.
    pub causes: Vec<Cause>,
}

impl SlowNode {
    /// Whether it stood out in the only pass, so that a second one decides.
    pub fn needs_second_pass(&self) -> bool {
        self.standing == Standing::Suspect && self.deviations.iter().any(|one| one.of_median.len() == 1)
    }
}

/// A fact in which nodes differ from the majority of their group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Difference {
    /// The group.
    pub group: u32,
    /// The fact, such as `kernel` or `governor`.
    pub fact: String,
    /// What most nodes have; empty where no value is that of most.
    pub majority: String,
    /// What these have.
    pub value: String,
    /// The nodes.
    pub nodes: Vec<String>,
}

/// One ordered pair of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PairValue {
    /// The node that sends, or asks.
    pub from: String,
    /// The other.
    pub to: String,
    /// Its value, base units; `None` where it could not be measured.
    pub value: Option<f64>,
    /// Pairs that were measured at the same moment, this one included.
    pub at_once: u32,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// One value of the network, from node to node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PairMatrix {
    /// The experiment's id.
    pub experiment: String,
    /// The metric's name.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which values are better.
    pub better: Better,
    /// Whether whole rounds were measured at the same moment.
    pub together: bool,
    /// Median over pairs.
    pub median: Option<f64>,
    /// The pairs.
    pub pairs: Vec<PairValue>,
}

/// One run of HPL across nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClusterHpl {
    /// The nodes.
    pub nodes: Vec<String>,
    /// Order of the matrix.
    pub n: u64,
    /// Columns in a block.
    pub nb: u64,
    /// Rows of the grid of processes.
    pub p: u64,
    /// Columns of it.
    pub q: u64,
    /// flop/s.
    pub rate: Option<f64>,
    /// The scaled residual.
    pub residual: Option<f64>,
    /// Sum of the nodes' peaks in fp64, flop/s, where all are known.
    pub peak: Option<f64>,
    /// Sum of what the nodes' own LINPACK reached in fp64 at most, flop/s, where it was measured on all.
    pub linpack: Option<f64>,
    /// Why there is no rate.
    pub reason: Option<String>,
}

/// What went wrong, or prevents a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Problem {
    /// A fixed word: `task_failed`, `mixed_versions`, `clock_skew`, `shared_machine`, `slower_than_before` …
    pub code: String,
    /// The sentence.
    pub text: String,
    /// The nodes it is about.
    pub nodes: Vec<String>,
}
