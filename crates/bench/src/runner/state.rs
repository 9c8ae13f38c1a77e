//! The state of one benchmark in a run: what was planned, what has come of it, and its result so far.

use model::document::Row;

use super::beside::beside_rows;
use super::progress::Progress;
use crate::engines::resources::NextLaunch;
use crate::references::detect::Detected;
use model::plan::{Plan, Planned};

/// One benchmark of a run.
#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub(super) planned: &'a Planned,
    pub(super) progress: Progress,
    /// Its result as the document has it.
    pub(super) result: Row,
    /// Whether its histograms are in their file.
    pub(super) histograms_stored: bool,
}

impl State<'_> {
    pub(super) fn id(&self) -> &str {
        &self.planned.experiment.id
    }

    /// It as the resources of its area see it.
    pub(super) fn next_launch(&self) -> NextLaunch<'_> {
        NextLaunch {
            planned: self.planned,
            samples: &self.progress.samples,
            launches: &self.progress.launches,
            samples_next: self.progress.samples_next(self.planned),
        }
    }

    /// Expected seconds of its next launch.
    pub(super) fn next_launch_seconds(&self) -> f64 {
        self.progress.next_launch_seconds(self.planned)
    }

    /// Expected seconds until it has the samples that it certainly needs.
    pub(super) fn seconds_left(&self) -> f64 {
        self.progress.seconds_left(self.planned)
    }

    /// Reference tools that still run alongside it.
    pub(super) fn tools(&self) -> usize {
        self.progress.beside.iter().filter(|beside| beside.is_alive()).count()
    }
}

/// The benchmarks of a plan before anything has come of them, with the tools that run alongside.
pub(super) fn initial_states<'a>(plan: &'a Plan, verify_only: bool, tools: &Detected) -> Vec<State<'a>> {
    let pairs = |planned: &Planned| plan.repeat.unwrap_or(planned.sampling.samples);
    let mut beside = if verify_only { Vec::new() } else { beside_rows(&plan.rows, &pairs, tools) }.into_iter();
    let state = |(planned, result): (&'a Planned, Row)| {
        // The number of pairs is fixed beforehand: no stop rule.
        let fixed = (!planned.beside.is_empty()).then_some(planned.sampling.samples);
        let mut progress = Progress::new(planned, plan.repeat.or(fixed), verify_only);
        progress.beside = beside.next().unwrap_or_default();
        State { planned, progress, result, histograms_stored: false }
    };
    plan.rows.iter().zip(plan.empty_rows()).map(state).collect()
}
