//! One benchmark in a run: plan, progress and result.

use model::document::Row;

use super::paired_tool::paired_tools;
use super::progress::Progress;
use crate::engines::resources::NextLaunch;
use crate::references::detect::Detected;
use model::plan::{Plan, Planned};

#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub(super) planned: &'a Planned,
    pub(super) progress: Progress,
    pub(super) result: Row,
    /// Its histograms are in their file.
    pub(super) histograms_stored: bool,
}

impl State<'_> {
    pub(super) fn id(&self) -> &str {
        &self.planned.experiment.id
    }

    pub(super) fn next_launch(&self) -> NextLaunch<'_> {
        NextLaunch {
            planned: self.planned,
            samples: &self.progress.samples,
            launches: &self.progress.launches,
            samples_next: self.progress.samples_next(self.planned),
        }
    }

    pub(super) fn next_launch_seconds(&self) -> f64 {
        self.progress.next_launch_seconds(self.planned)
    }

    pub(super) fn seconds_left(&self) -> f64 {
        self.progress.seconds_left(self.planned)
    }

    pub(super) fn tools(&self) -> usize {
        self.progress.tools.iter().filter(|tool| tool.is_alive()).count()
    }
}

pub(super) fn initial_states<'a>(plan: &'a Plan, verify_only: bool, tools: &Detected) -> Vec<State<'a>> {
    let pairs = |planned: &Planned| plan.repeat.unwrap_or(planned.sampling.samples);
    let mut paired = if verify_only { Vec::new() } else { paired_tools(&plan.rows, &pairs, tools) }.into_iter();
    let state = |(planned, result): (&'a Planned, Row)| {
        // The number of pairs is fixed: no stop rule.
        let fixed = (!planned.reference_tools.is_empty()).then_some(planned.sampling.samples);
        let mut progress = Progress::new(planned, plan.repeat.or(fixed), verify_only);
        progress.tools = paired.next().unwrap_or_default();
        State { planned, progress, result, histograms_stored: false }
    };
    plan.rows.iter().zip(plan.empty_rows()).map(state).collect()
}
