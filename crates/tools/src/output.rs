//! A tool's output, the value read from it, and the error without one.

use std::fmt;

use model::sample::MetricName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Tolerated contradiction of two printed numbers, which have four digits or more.
const CONTRADICTION: f64 = 1e-3;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
}

impl Output {
    /// The first line with "error:", because launchers such as `srun` print consequences after it; else the last line of
    /// text. Standard output counts where standard error is empty.
    pub fn complaint(&self) -> String {
        // A line of a JSON report explains nothing.
        let is_text = |line: &&str| line.chars().any(char::is_alphanumeric) && !line.starts_with(['{', '"']);
        let is_error = |line: &&str| line.split_once("rror:").is_some_and(|(_, what)| !what.trim().is_empty());
        let complaint = |text: &str| {
            let mut lines = text.lines().map(str::trim).filter(is_text);
            lines.clone().find(is_error).or_else(|| lines.next_back()).map(str::to_owned)
        };
        let line = complaint(&self.stderr).or_else(|| complaint(&self.stdout));
        line.map_or_else(|| "it printed nothing".to_owned(), |line| line.chars().take(200).collect())
    }

    pub(crate) fn succeeded(&self, tool: &str) -> Result<(), String> {
        let how = match self.status {
            Some(0) => return Ok(()),
            Some(status) => format!("exited with status {status}"),
            None => "was ended by a signal".to_owned(),
        };
        Err(format!("{tool} {how}: {}", self.complaint()))
    }
}

/// A tool's value in our terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub metric: MetricName,
    /// In the metric's base unit.
    pub value: f64,
    /// Other values of the tool, in base units.
    pub details: Map<String, Value>,
}

impl Reading {
    pub(crate) fn detail(&self, key: &str) -> Option<f64> {
        self.details.get(key).and_then(Value::as_f64)
    }

    /// Checks the rate against the work done in `seconds`.
    pub(crate) fn check_against(&self, tool: &str, work: f64, seconds: f64) -> Result<(), String> {
        if (work / seconds / self.value - 1.0).abs() <= CONTRADICTION {
            return Ok(());
        }
        let value = self.value;
        Err(format!("{tool} contradicts itself: {work} in {seconds} s is not {value} per second"))
    }

    pub(crate) fn throughput(tool: &str, value: f64, details: Map<String, Value>) -> Result<Self, String> {
        Ok(Self { metric: MetricName::Throughput, value: positive(tool, "rate", value)?, details })
    }

    pub(crate) fn latency(tool: &str, value: f64, details: Map<String, Value>) -> Result<Self, String> {
        Ok(Self { metric: MetricName::Latency, value: positive(tool, "latency", value)?, details })
    }
}

/// Rejects what cannot be a rate or a duration.
pub(crate) fn positive(tool: &str, what: &str, value: f64) -> Result<f64, String> {
    let possible = Some(value).filter(|value| value.is_finite() && *value > 0.0);
    possible.ok_or_else(|| format!("{tool} reports an impossible {what}: {value}"))
}

/// The only element; `what` names them in the error.
pub(crate) fn only<T>(tool: &str, what: &str, all: Vec<T>, output: &Output) -> Result<T, String> {
    <[T; 1]>::try_from(all)
        .map(|[only]| only)
        .map_err(|all| format!("{tool} printed {} {what} and not 1: {}", all.len(), output.complaint()))
}

pub(crate) fn refuse_if(tool: &str, reasons: &[(bool, &str)]) -> Result<(), String> {
    let reason = reasons.iter().find(|(holds, _)| *holds);
    reason.map_or(Ok(()), |(_, reason)| Err(not_comparable(tool, reason)))
}

pub(crate) fn details<const N: usize>(details: [(&str, Value); N]) -> Map<String, Value> {
    details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) tool: &'static str,
    pub(crate) text: &'a str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(tool: &'static str, text: &'a str) -> Self {
        Self { tool, text }
    }

    /// What follows `label` on the first line that begins with it.
    pub(crate) fn after(&self, label: &str) -> Result<&'a str, String> {
        let label = label.trim_end();
        let rest = self.text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
        rest.ok_or_else(|| format!("{} printed no '{label}'", self.tool))
    }

    /// The number after `label`; a unit or a comma may follow.
    pub(crate) fn number(&self, label: &str) -> Result<f64, String> {
        let rest = self.after(label)?;
        // A comma within a word would be a decimal comma, which no tool may print.
        let word = rest.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
        number_in(word).ok_or_else(|| {
            let (tool, label) = (self.tool, label.trim_end());
            format!("{tool} printed '{rest}' as its '{label}', which is not a number")
        })
    }

    pub(crate) fn ran_with(&self, label: &str, asked: impl Into<f64>) -> Result<(), String> {
        let (ran, asked) = (self.number(label)?, asked.into());
        unless((ran - asked).abs() <= 0.0, self.tool, label, ran, asked)
    }

    pub(crate) fn ran_as(&self, label: &str, asked: &str) -> Result<(), String> {
        let ran = self.after(label)?;
        unless(ran == asked, self.tool, label, ran, asked)
    }
}

pub(crate) fn number_in(word: &str) -> Option<f64> {
    word.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

pub(crate) fn not_comparable(tool: &str, why: &str) -> String {
    format!("{tool} is not comparable here: {why}")
}

pub(crate) fn unless(
    equal: bool,
    tool: &str,
    setting: &str,
    ran: impl fmt::Display,
    asked: impl fmt::Display,
) -> Result<(), String> {
    let reason = || format!("{tool} ran with {} {ran} and not {asked}", setting.trim_end());
    equal.then_some(()).ok_or_else(reason)
}
