//! The document: one run with its machine and every result, as `run.json` holds it (schema `assay.run/2`).

pub mod comparison;
mod conditions;
pub mod doctor;
pub mod peak;
pub mod reference;
pub mod sample;
mod status;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::experiment::{Area, Classic, Experiment, Loop, Params};
use crate::document::sample::{ExpectationVerdict, Metric, MetricName};
use crate::machine::Machine;
use crate::warning::{Confidence, Warning};

pub use conditions::{
    Conditions, DiskConditions, MachineState, MachineStates, NetConditions, TcpConditions, TimerFacts,
};
pub use status::{Status, Stop};

/// The schema name that a document carries.
pub const SCHEMA: &str = "assay.run/2";

/// The schema of documents with confidences A, B and C, which load as confidence high, fair and low.
pub const EARLIER_SCHEMA: &str = "assay.run/1";

/// Which program made the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Program {
    /// Version of Assay.
    pub version: String,
    /// Commit it was built from, `null` outside a checkout.
    pub git: Option<String>,
    /// Build profile.
    pub profile: String,
    /// Command line.
    pub argv: Vec<String>,
}

/// The run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RunInfo {
    /// Its name in the store.
    pub id: String,
    /// The suite, or the area that was measured alone.
    pub suite: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
    /// How long it took; of a run that was cut off and gone on with, without the time in between.
    pub seconds: f64,
    /// Seed of order, data and permutations.
    pub seed: u64,
    /// Whether every planned row was reached.
    pub complete: bool,
    /// The lowest confidence of the headline results; `null` while none is measured.
    #[serde(alias = "grade")]
    pub confidence: Option<Confidence>,
    /// The user's label, which finds it.
    pub label: Option<String>,
    /// Sessions that every row was measured in.
    #[serde(default = "crate::words::one")]
    pub sessions: u32,
    /// Limits the user declared, by key.
    #[serde(default)]
    pub declared: std::collections::BTreeMap<String, f64>,
    /// Each time that the run was gone on with after it had been cut off, in their order.
    #[serde(default)]
    pub resumed: Vec<Resumed>,
    /// Reference tools that were found and compared with no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
}

/// A reference tool that was found and compared with no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NotCompared {
    /// Its id.
    pub tool: String,
    /// Why not.
    pub reason: String,
}

/// A run that had been cut off was gone on with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Resumed {
    /// When, UTC, ISO 8601.
    pub at: String,
    /// Where in the run, in its seconds, without the time in between.
    pub at_seconds: f64,
    /// Version of Assay that continued.
    pub version: String,
    /// Commit it was built from, `null` outside a checkout.
    pub git: Option<String>,
}

/// How a rate grows with its threads, against the row of the same experiment with the fewest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Scaling {
    /// Id of the row with the fewest threads.
    pub from: String,
    /// Its threads.
    pub threads_from: u32,
    /// This row's median rate over that one's.
    pub speed_up: f64,
    /// The speed-up over how many times as many threads there are: 1 is ideal.
    pub parallel_efficiency: f64,
}

/// One row: a planned experiment and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Row {
    /// Unique in the run; the same for the same experiment on every machine.
    pub id: String,
    /// Its area.
    pub area: Area,
    /// Its parameters.
    pub params: Params,
    /// Kernel and counting rule with a revision.
    pub method: String,
    /// Its place in the classic tables.
    pub classic: Option<Classic>,
    /// The loop of a cpu experiment.
    pub kernel: Option<Loop>,
    /// How its rate grows with its threads; `null` for the row with the fewest, and where there is no other.
    pub scaling: Option<Scaling>,
    /// What became of it.
    pub status: Status,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Seconds spent on it, preparation included.
    pub seconds: f64,
    /// What was seen while it was measured.
    pub conditions: Conditions,
    /// How far it can be trusted; `null` unless `ok`.
    #[serde(alias = "grade")]
    pub confidence: Option<Confidence>,
    /// Its warnings.
    pub warnings: Vec<Warning>,
    /// Whether its results were checked and right; `null` unless `ok`.
    pub verified: Option<bool>,
    /// What was measured; the first is the headline.
    pub metrics: Vec<Metric>,
}

impl Row {
    /// The row of a planned experiment before anything has come of it.
    pub fn planned(experiment: &Experiment, reason: &str) -> Self {
        Self {
            id: experiment.id.clone(),
            area: experiment.area,
            params: experiment.params.clone(),
            method: experiment.method.clone(),
            classic: experiment.classic.clone(),
            kernel: experiment.kernel.clone(),
            scaling: None,
            status: Status::Skipped,
            reason: Some(reason.to_owned()),
            seconds: 0.0,
            conditions: Conditions::default(),
            confidence: None,
            warnings: Vec::new(),
            verified: None,
            metrics: Vec::new(),
        }
    }

    /// The metric of this name.
    pub fn metric(&self, name: MetricName) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// Whether an area is as fast as it should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Answer {
    /// The area.
    pub area: Area,
    /// `as_expected`, `below`, `above`, or `null` without an expectation.
    pub verdict: Option<ExpectationVerdict>,
    /// The sentence.
    pub text: String,
    /// Ids of the results that it rests on.
    pub evidence: Vec<String>,
}

/// A sentence about the results, derived from them by a stated rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Finding {
    /// The rule.
    pub code: String,
    /// The area it is about.
    pub area: Area,
    /// The sentence.
    pub text: String,
    /// Ids of the rows that it rests on.
    pub evidence: Vec<String>,
}

/// The server of network benchmarks, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Peer {
    /// Its name or address, as the user gave it.
    pub name: String,
    /// The address and port that were connected to.
    pub address: String,
    /// Version of the program that serves there.
    pub version: String,
    /// Its interface that leads to this machine.
    pub interface: Option<String>,
    /// The largest packet of that interface, in bytes.
    pub mtu: Option<u32>,
    /// The offloads of that interface that were on.
    pub offloads: Vec<String>,
    /// Congestion control of its TCP sockets.
    pub congestion_control: Option<String>,
    /// The machine.
    pub machine: Machine,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program made it.
    pub assay: Program,
    /// The run as a whole.
    pub run: RunInfo,
    /// The machine.
    pub machine: Machine,
    /// The other host, where the network between two was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Box<Peer>>,
    /// Its state before and after.
    pub conditions: MachineStates,
    /// One row per planned experiment.
    pub experiments: Vec<Row>,
    /// One sentence per area: whether it is as fast as it should be.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// What the rows say together.
    pub findings: Vec<Finding>,
}
