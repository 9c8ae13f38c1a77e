//! The seam: what generic code knows of a reference tool, and what an adapter provides.

use model::experiment::Experiment;
use model::sample::MetricName;

use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading};
use crate::plausible;

const WORTH_EXPLAINING: f64 = 0.05;

pub trait ReferenceTool: Sync {
    fn description(&self) -> &'static ToolDescription;

    /// Whether the tool can measure this benchmark at equal settings.
    fn supports(&self, experiment: &Experiment) -> Result<(), String>;

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String>;

    fn parse(&self, output: &Output, experiment: &Experiment) -> Result<Reading, String>;

    /// The rules that hold for a value.
    fn reasons(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason>;
}

#[derive(Debug)]
pub struct ToolDescription {
    pub id: &'static str,
    pub program: &'static str,
    /// File name of the program that starts its processes, if it needs one.
    pub launcher: Option<&'static str>,
    /// How the program and its version are identified.
    pub version: VersionSource,
    /// The benchmarks compared, in a few words.
    pub compared_with: &'static str,
    /// What is equal on both sides, for a sentence.
    pub equal: &'static str,
    pub rules: &'static [&'static Rule],
    pub how_to_get: &'static str,
    /// A small benchmark that it supports.
    pub example: fn() -> Experiment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSource {
    /// `argument` makes it print its version after `prefix`.
    Asked {
        argument: &'static str,
        prefix: &'static str,
        /// Oldest version with known options and output: major and minor.
        oldest: (u32, u32),
    },
    /// Its file has the version after `prefix`; running it would measure.
    Written {
        prefix: &'static str,
        /// Oldest version with known output: major and minor.
        oldest: (u32, u32),
    },
    /// No version; its file has these words, which no other program has.
    Marked(&'static str),
    /// No version; `argument` makes it print its help.
    Unsaid {
        argument: &'static str,
        /// Words on one line of its help that no other tool prints.
        help: &'static str,
    },
}

impl VersionSource {
    /// What it is called with; `None` if the file is read instead.
    pub const fn argument(&self) -> Option<&'static str> {
        match self {
            Self::Asked { argument, .. } | Self::Unsaid { argument, .. } => Some(argument),
            Self::Written { .. } | Self::Marked(_) => None,
        }
    }
}

/// A known reason for a difference between a tool's value and ours.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Id among the rules of the tool.
    pub name: &'static str,
    /// The condition; `None` if it always holds.
    pub when: Option<&'static str>,
    /// The direction in which it changes the tool's rate.
    pub makes_it: Side,
}

/// The effect of a rule on the tool's rate; a longer latency is a lower rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Slower,
    Faster,
    Either,
}

/// A rule that holds for a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub rule: &'static Rule,
    /// A clause whose subject is the tool.
    pub says: String,
}

impl Rule {
    pub(crate) const fn new(name: &'static str, when: Option<&'static str>, makes_it: Side) -> Self {
        Self { name, when, makes_it }
    }

    #[expect(clippy::unnecessary_wraps, reason = "lists of reasons have some that may not apply")]
    pub(crate) fn says(&'static self, words: impl Into<String>) -> Option<Reason> {
        Some(Reason { rule: self, says: words.into() })
    }

    pub(crate) fn says_if(&'static self, holds: bool, words: impl Into<String>) -> Option<Reason> {
        self.says(words).filter(|_| holds)
    }
}

pub(crate) trait Adapter: Sync {
    const DESCRIPTION: &'static ToolDescription;

    /// The parameters of a supported benchmark, and what follows from them.
    type Work<'a>;

    fn work(experiment: &Experiment) -> Result<Self::Work<'_>, String>;

    fn command(work: Self::Work<'_>, target: &Target<'_>) -> Result<Invocation, String>;

    fn read(work: Self::Work<'_>, output: &Output) -> Result<Reading, String>;

    fn differences(work: Self::Work<'_>, version: &str, reading: &Reading) -> Vec<Option<Reason>>;
}

impl<A: Adapter> ReferenceTool for A {
    fn description(&self) -> &'static ToolDescription {
        A::DESCRIPTION
    }

    fn supports(&self, experiment: &Experiment) -> Result<(), String> {
        A::work(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        A::command(A::work(target.experiment)?, target)
    }

    fn parse(&self, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        plausible::check(A::DESCRIPTION.id, experiment, A::read(A::work(experiment)?, output)?)
    }

    fn reasons(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        let differences = A::work(experiment).map(|work| A::differences(work, version, reading));
        differences.into_iter().flatten().flatten().collect()
    }
}

/// The rules that explain the difference, or that none does; `chance` says why chance alone suffices. `None` within 5 %.
pub fn explain(
    tool: &dyn ReferenceTool,
    version: &str,
    experiment: &Experiment,
    reading: &Reading,
    ours: f64,
    chance: Option<&str>,
) -> Option<String> {
    if (ours / reading.value - 1.0).abs() <= WORTH_EXPLAINING {
        return None;
    }
    let higher = reading.value > ours;
    let side = if higher == (reading.metric == MetricName::Latency) { Side::Slower } else { Side::Faster };
    let reasons = tool.reasons(version, experiment, reading).into_iter();
    let fitting = reasons.filter(|reason| [side, Side::Either].contains(&reason.rule.makes_it));
    let said: Vec<String> = fitting.map(|reason| reason.says).collect();
    if !said.is_empty() {
        return Some(format!("{}.", said.join("; ")));
    }
    let chance = chance.map_or_else(String::new, |words| format!(", and chance may explain it: {words}"));
    Some(format!("No known rule explains the difference{chance}; equal were {}.", tool.description().equal))
}
