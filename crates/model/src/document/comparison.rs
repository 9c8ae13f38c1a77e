//! A comparison of two runs, or of two things measured in turn (schema `assay.compare/1`).

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Better, Unit};

/// The schema name that a comparison carries.
pub const SCHEMA: &str = "assay.compare/1";

crate::words::words! {
    /// Whether a value changed.
    Change, "change", {
        /// The whole interval of the ratio lies beyond the threshold.
        Changed => "changed",
        /// The whole interval lies within the threshold.
        Same => "same",
        /// Neither: more samples, or quieter ones, are needed.
        Inconclusive => "inconclusive",
    }

    /// The direction of a change.
    Direction, "direction", {
        /// For the better.
        Better => "better",
        /// For the worse.
        Worse => "worse",
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Side {
    /// The run's name, or what was given on the command line.
    pub name: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
    /// The machine in a few words.
    pub machine: String,
    /// Version and commit of the program that measured.
    pub program: String,
    /// The command that switches to this side, where one was given.
    pub switch: Option<String>,
    /// Its results that are as expected or above, of those with a verdict; `null` without one.
    #[serde(default)]
    pub as_expected: Option<[u32; 2]>,
}

/// The comparison of another value that explains the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PerCycle {
    /// New over base, of operations per cycle.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ratio_ci95: Option<[f64; 2]>,
    /// What it says.
    pub verdict: Change,
}

/// One metric of one experiment, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Compared {
    /// The experiment on the base side.
    pub id: String,
    /// The experiment on the new side, where it is another one (two option strings measured in turn).
    pub id_new: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// What became of it.
    pub verdict: Change,
    /// In which direction; `null` unless changed.
    pub direction: Option<Direction>,
    /// Median of the base side.
    pub base: f64,
    /// Median of the new side.
    pub new: f64,
    /// New over base: the Hodges-Lehmann estimate of two runs, the ratio of medians of pairs measured in turn.
    pub ratio: f64,
    /// Its 95 % interval; `null` where there are too few samples.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Probability of such a difference by chance, Holm-corrected; `null` where there are too few samples.
    pub p: Option<f64>,
    /// The least relative change that counts: the larger of 2 % and twice the machine's own noise between runs.
    pub threshold: f64,
    /// Relative change that disturbances may explain, on top of the threshold; only a verdict of changed needs it.
    #[serde(default)]
    pub allowance: f64,
    /// The machine's own noise between runs, as a relative standard deviation.
    pub noise: Option<f64>,
    /// What the noise is known from.
    pub noise_source: Option<String>,
    /// How many units of the base side were compared.
    pub n_base: u32,
    /// How many units of the new side were compared.
    pub n_new: u32,
    /// The unit of variance: samples, process runs, sessions or pairs.
    #[serde(default)]
    pub units: String,
    /// About how many more units per side a verdict needs; `null` where it has one, or more would not help.
    pub needed: Option<u32>,
    /// Operations per cycle, where both sides know their clock.
    pub per_cycle: Option<PerCycle>,
    /// Why, by stated rules; `null` where nothing is known.
    pub explanation: Option<String>,
}

/// An experiment that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NotCompared {
    /// The experiment.
    pub id: String,
    /// Why not.
    pub reason: String,
}

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// The side that is compared with.
    pub base: Side,
    /// The side that is compared.
    pub new: Side,
    /// Whether both were measured in turn, just now.
    #[serde(default)]
    pub live: bool,
    /// `changed` if any row changed, else `inconclusive` if any is, else `same`.
    pub verdict: Change,
    /// Differences of machine, settings or program that a reader must know of.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Every row, in the order of the base side.
    pub experiments: Vec<Compared>,
    /// What was on one side only, or must not be compared.
    #[serde(default)]
    pub not_compared: Vec<NotCompared>,
    /// Geometric mean of the ratios of each area, counted so that more is better.
    #[serde(default)]
    pub geometric_means: Vec<AreaMean>,
}

/// The geometric mean of the ratios of an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AreaMean {
    /// The area.
    pub area: String,
    /// New over base, counted so that more is better.
    pub ratio: f64,
    /// Rows in it.
    pub n: u32,
}
