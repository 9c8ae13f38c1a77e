//! What the runner learns from a worker process: its samples, and how the process ended.

use model::wire::{MetricSample, Observations};
use serde::{Deserialize, Serialize};

/// One repetition of a benchmark: its metrics, and how long each of its operations took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetition {
    pub(crate) metrics: Vec<MetricSample>,
    /// Where operations are timed one by one: see [`crate::histogram::Histogram::encode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<String>,
}

impl Repetition {
    /// Number of the worker process that it came from; 0 without a metric.
    pub(crate) fn launch(&self) -> u32 {
        self.metrics.first().map_or(0, |metric| metric.sample.launch)
    }
}

/// How a worker process ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// All samples taken and verified.
    Done(Box<Observations>),
    /// This machine cannot do it.
    Unavailable(String),
    /// Something went wrong.
    Failed(String),
    /// A signal stopped the run.
    Interrupted,
    /// The time of the whole run ended before the process did.
    OutOfTime,
}
