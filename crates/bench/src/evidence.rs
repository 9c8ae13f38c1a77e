//! What a worker process reports: samples and an outcome.

use model::wire::{MetricSample, Observations};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetition {
    pub(crate) metrics: Vec<MetricSample>,
    /// [`crate::histogram::Histogram::encode`], if operations are timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<String>,
}

impl Repetition {
    pub(crate) fn launch(&self) -> u32 {
        self.metrics.first().map_or(0, |metric| metric.sample.launch)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Done(Box<Observations>),
    Unavailable(String),
    Failed(String),
    Interrupted,
    OutOfTime,
}
