//! A reference tool's results: its values, how it was called, and the ratio of ours to its.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::status::Status;
use crate::unit::{Better, Unit};

/// The ids of the reference tools of this version.
pub const TOOLS: &[&str] = &[
    "likwid-bench",
    "stream",
    "pmbw",
    "multichase",
    "sysbench",
    "hpl",
    "hpcc",
    "xlinpack",
    "fio",
    "ioping",
    "iozone",
    "iperf3",
    "iperf",
    "sockperf",
    "ping",
];

crate::words::words! {
    /// What a ratio says against 1, counted so that more is better for us.
    Verdict, "verdict", {
        /// The point is at least 1 and the interval's worse end at least 0.95.
        AtLeast => "at_least",
        /// The whole interval is below 1.
        Below => "below",
        /// Inconclusive: the interval is too wide.
        Inconclusive => "inconclusive",
    }
}

/// One run of the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ReferenceSample {
    /// Its value, in the metric's unit and by our counting.
    pub value: f64,
    /// Our value of the same pair.
    pub ours: f64,
    /// Number of the pair, counted from 1.
    pub pair: u32,
    /// Seconds since the run began.
    pub start: f64,
}

/// How far values scatter on each side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Spread {
    /// Of the tool.
    pub theirs: f64,
    /// Of ours in the same pairs.
    pub ours: f64,
}

/// Another value that a tool and a result both have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Also {
    /// What it is: `latency`, `cpu_seconds_per_request`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Median of ours.
    pub ours: f64,
    /// Median of theirs.
    pub theirs: f64,
    /// Ours over theirs: the ratio of the medians.
    pub ratio: f64,
    /// The ratio's 95 % interval over pairs; `null` below 6 pairs.
    pub ratio_ci95: Option<[f64; 2]>,
}

/// One tool compared with one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reference {
    /// Its fixed lower-case id: `fio`, `iperf3` …
    pub tool: String,
    /// Its version, `not stated` where it prints none; `null` where it was not found.
    pub version: Option<String>,
    /// The command line of its last run, the program's path first.
    pub argv: Vec<String>,
    /// The command line of the server that it talked to; empty where it needs none.
    #[serde(default)]
    pub server_argv: Vec<String>,
    /// Its whole environment: ours is cleared.
    pub env: BTreeMap<String, String>,
    /// What became of it.
    pub status: Status,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Every run, in the order in which they were made.
    pub samples: Vec<ReferenceSample>,
    /// Median of its values; `null` unless `ok`.
    pub median: Option<f64>,
    /// Ours over theirs: the ratio of the medians, whichever direction is better.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval over pairs; `null` below 6 pairs.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Half of the interval over the ratio.
    pub half_width: Option<f64>,
    /// Spread of its values, and of ours in the same pairs: 1.4826 MAD / median each.
    pub spread: Option<Spread>,
    /// What the ratio says.
    pub verdict: Option<Verdict>,
    /// Pairs that were planned, fixed before the first was measured.
    #[serde(default)]
    pub pairs: u32,
    /// What its bytes were multiplied by to count as ours.
    pub bytes_factor: f64,
    /// Why the two may differ, by stated rules.
    pub explanation: Option<String>,
    /// What else both sides report, compared over the same pairs; no verdict rests on it.
    #[serde(default)]
    pub also: Vec<Also>,
    /// What else it reports.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// The file with exactly what it printed, relative to the run's folder.
    pub raw: Option<String>,
}
/// The schema name of the list of known tools.
pub const CATALOGUE_SCHEMA: &str = "assay.references/1";

/// The tools that are known (schema `assay.references/1`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Catalogue {
    /// [`CATALOGUE_SCHEMA`].
    pub schema: String,
    /// The tools, in the order of their table.
    pub tools: Vec<KnownTool>,
}

/// A tool that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct KnownTool {
    /// Its fixed lower-case id.
    pub tool: String,
    /// Whether it is there and can be used.
    pub found: bool,
    /// Its path; `null` where it is missing.
    pub path: Option<String>,
    /// Its version; `null` where it is not found, or does not say.
    pub version: Option<String>,
    /// Why it cannot be used; `null` where it can.
    pub reason: Option<String>,
    /// The benchmarks that it is compared with.
    pub compared_with: String,
    /// How to get it.
    pub how_to_get: String,
    /// What came of running it once; `null` where it was not.
    pub check: Option<ToolCheck>,
}

crate::words::words! {
    /// What came of running a tool once.
    CheckOutcome, "check outcome", {
        /// It ran and was read.
        Ok => "ok",
        /// It did not run, or what it printed could not be read.
        Failed => "failed",
    }
}

/// One brief run of a tool to check that it works and its output is understood; no measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ToolCheck {
    /// What came of it.
    pub status: CheckOutcome,
    /// The id of the benchmark whose settings it had.
    pub experiment: String,
    /// Its value, in `unit`; `null` where it failed.
    pub value: Option<f64>,
    /// The value's unit; `null` where it failed.
    pub unit: Option<Unit>,
    /// Why it failed; `null` where it did not.
    pub reason: Option<String>,
}
