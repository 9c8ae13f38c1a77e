//! The seam: what generic code knows of a reference tool, and what an adapter provides.

use model::experiment::Experiment;

use crate::difference::rules::{Reason, Rule};
use crate::error::ToolError;
use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading};
use crate::version::source::VersionSource;

/// A tool that our results can be compared with.
pub trait ReferenceTool: Sync {
    /// What is fixed about the tool.
    fn description(&self) -> &'static ToolDescription;

    /// Whether the tool can measure what this benchmark measures, at equal settings.
    ///
    /// # Errors
    /// Why it cannot.
    fn supports(&self, experiment: &Experiment) -> Result<(), ToolError>;

    /// How the tool is called.
    ///
    /// # Errors
    /// The tool does not support the benchmark, or the target lacks what the tool needs.
    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, ToolError>;

    /// What the tool's output means.
    ///
    /// # Errors
    /// The tool reports a failure, or the output is not what its versions print.
    fn parse(&self, output: &Output, experiment: &Experiment) -> Result<Reading, ToolError>;

    /// Which of the tool's rules hold for a value.
    fn reasons(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason>;
}

/// What is fixed about a tool.
#[derive(Debug)]
pub struct ToolDescription {
    /// Its id in documents and options.
    pub id: &'static str,
    /// The program's file name.
    pub program: &'static str,
    /// The file name of the program that starts its processes; `None` where it starts by itself.
    pub launcher: Option<&'static str>,
    /// How a program is known to be this tool, and which version of it.
    pub version: VersionSource,
    /// The benchmarks that it is compared with, in a few words.
    pub compared_with: &'static str,
    /// What is equal on both sides, for a sentence.
    pub equal: &'static str,
    /// What is known to set its values apart from ours.
    pub rules: &'static [&'static Rule],
    /// How to get it.
    pub how_to_get: &'static str,
    /// A small benchmark that it supports, to try it with.
    pub example: fn() -> Experiment,
}

/// What one tool's file provides; everything is pure.
pub(crate) trait Adapter: Sync {
    /// What is fixed about the tool.
    const DESCRIPTION: &'static ToolDescription;

    /// A supported benchmark: its parameters, and what follows from them for this tool.
    type Work<'a>;

    /// The work of a benchmark, if the tool can measure it at equal settings.
    fn work(experiment: &Experiment) -> Result<Self::Work<'_>, ToolError>;

    /// How the tool is called for it.
    fn command(work: Self::Work<'_>, target: &Target<'_>) -> Result<Invocation, ToolError>;

    /// What its output means.
    fn read(work: Self::Work<'_>, output: &Output) -> Result<Reading, ToolError>;

    /// Which of its rules hold.
    fn differences(work: Self::Work<'_>, version: &str, reading: &Reading) -> Vec<Reason>;
}

impl<A: Adapter> ReferenceTool for A {
    fn description(&self) -> &'static ToolDescription {
        A::DESCRIPTION
    }

    fn supports(&self, experiment: &Experiment) -> Result<(), ToolError> {
        A::work(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, ToolError> {
        A::command(A::work(target.experiment)?, target)
    }

    fn parse(&self, output: &Output, experiment: &Experiment) -> Result<Reading, ToolError> {
        A::read(A::work(experiment)?, output)
    }

    fn reasons(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        A::work(experiment).map_or_else(|_| Vec::new(), |work| A::differences(work, version, reading))
    }
}
