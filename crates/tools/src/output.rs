//! What a tool printed, and the value that was read from it.

use model::sample::MetricName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ToolError;

/// The most that two numbers of a tool may contradict each other: they are printed with four digits and more.
const CONTRADICTION: f64 = 1e-3;

/// What a tool printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
}

impl Output {
    /// What the tool complains of: the first line that calls itself an error, since what launchers such as `srun` print
    /// later only follows from it; else the last line that is not a rule of dashes; standard output if standard error has
    /// none.
    pub fn complaint(&self) -> String {
        let is_text = |line: &&str| line.chars().any(char::is_alphanumeric);
        let is_error = |line: &&str| line.split_once("rror:").is_some_and(|(_, what)| !what.trim().is_empty());
        let complaint = |text: &str| {
            let mut lines = text.lines().map(str::trim).filter(is_text);
            lines.clone().find(is_error).or_else(|| lines.next_back()).map(str::to_owned)
        };
        let line = complaint(&self.stderr).or_else(|| complaint(&self.stdout));
        line.map_or_else(|| "it printed nothing".to_owned(), |line| line.chars().take(200).collect())
    }

    /// Checks that the tool ended with status 0.
    pub(crate) fn succeeded(&self, tool: &str) -> Result<(), ToolError> {
        let how = match self.status {
            Some(0) => return Ok(()),
            Some(status) => format!("left with status {status}"),
            None => "was ended by a signal".to_owned(),
        };
        Err(ToolError::Failed(format!("{tool} {how}: {}", self.complaint())))
    }
}

/// A tool's value, in our terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The metric of ours that it is compared with.
    pub metric: MetricName,
    /// The value in that metric's base unit.
    pub value: f64,
    /// What else the tool reports, in base units.
    pub details: Map<String, Value>,
}

impl Reading {
    /// A number of the details; `None` where the tool did not report it.
    pub fn detail(&self, key: &str) -> Option<f64> {
        self.details.get(key).and_then(Value::as_f64)
    }

    /// Checks a rate against the `work` that the tool did in `seconds`.
    pub(crate) fn check_against(&self, tool: &str, work: f64, seconds: f64) -> Result<(), ToolError> {
        if (work / seconds / self.value - 1.0).abs() > CONTRADICTION {
            let value = self.value;
            let reason = format!("{tool} contradicts itself: {work} in {seconds} s are not {value} a second");
            return Err(ToolError::Implausible(reason));
        }
        Ok(())
    }

    /// A throughput, if `value` can be one.
    pub(crate) fn throughput(tool: &str, value: f64, details: Map<String, Value>) -> Result<Self, ToolError> {
        Ok(Self { metric: MetricName::Throughput, value: positive(tool, "rate", value)?, details })
    }

    /// A latency in seconds, if `value` can be one.
    pub(crate) fn latency(tool: &str, value: f64, details: Map<String, Value>) -> Result<Self, ToolError> {
        Ok(Self { metric: MetricName::Latency, value: positive(tool, "latency", value)?, details })
    }
}

/// A number that a rate or a duration can be.
pub(crate) fn positive(tool: &str, what: &str, value: f64) -> Result<f64, ToolError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(ToolError::Implausible(format!("{tool} reports {value} as its {what}: that is no measurement")))
    }
}

/// Details by their names.
pub(crate) fn details<const N: usize>(details: [(&str, Value); N]) -> Map<String, Value> {
    details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
