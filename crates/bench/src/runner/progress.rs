//! Progress of one benchmark, and whether it needs another process run.

use model::document::{Row, Status};
use model::surroundings::Change;
use stats::{Adaptive, STEADY_ROUNDS, StopReason, StopRule};

use super::paired_tool::{PairedTool, paired_tools};
use super::reference_pairs::LATENCY_P99;
use super::setting::{INTERRUPTED, TIME_BUDGET, WRITE_BUDGET};
use crate::engines::resources::NextRun;
use crate::evidence::{Outcome, Repetition};
use crate::histogram::Histogram;
use crate::references::detect::Detected;
use model::plan::{Plan, Planned, Sampling};
use verdict::judge::ProcessRun;

const VERIFY_SAMPLES: u32 = 1;
const LITTLE_SECONDS: f64 = 0.25;

#[derive(Clone, Debug)]
pub(super) struct Progress {
    rule: StopRule,
    pub(super) samples: Vec<Repetition>,
    pending: Vec<Repetition>,
    pub(super) runs: Vec<ProcessRun>,
    pub(super) seconds: f64,
    /// Seconds of preparation, which happens once.
    pub(super) preparing_seconds: f64,
    /// Expected wait for the device before its first process run, beyond the plan.
    pub(super) waits_seconds: f64,
    pub(super) over: Option<Over>,
    pub(super) tools: Vec<PairedTool>,
    /// Samples repeated because of interference.
    again: u32,
    most_in_time: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Over {
    Measured(StopReason),
    /// Cut off after some samples, for this reason.
    CutShort(String),
    Not(Status, String),
}

impl Progress {
    pub(super) fn new(planned: &Planned, repeat: Option<u32>, verify_only: bool) -> Self {
        let rule =
            if verify_only { fixed(VERIFY_SAMPLES) } else { repeat.map_or_else(|| rule(&planned.sampling), fixed) };
        let over = planned.obstacle.clone().map(|obstacle| Over::Not(Status::Skipped, obstacle));
        Self {
            rule,
            samples: Vec::new(),
            pending: Vec::new(),
            runs: Vec::new(),
            seconds: 0.0,
            preparing_seconds: 0.0,
            waits_seconds: 0.0,
            over,
            tools: Vec::new(),
            again: 0,
            most_in_time: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    fn alive_tools(&self) -> impl Iterator<Item = &PairedTool> {
        self.tools.iter().filter(|tool| tool.is_alive())
    }

    pub(super) fn wanted(&self) -> u32 {
        count(self.rule.at_least())
    }

    /// Whether it has its samples for the sessions up to this one.
    pub(super) fn is_done_for(&self, session: u32, sessions: u32) -> bool {
        self.is_over() || session < sessions && self.samples.len() >= self.share_of(session, sessions)
    }

    fn share_of(&self, session: u32, sessions: u32) -> usize {
        (self.rule.at_least() * session as usize).div_ceil(sessions as usize)
    }

    /// Repeats the samples of the last process run, because it was disturbed; at most as many as planned. An adaptive rule
    /// needs no repeats.
    pub(super) fn ask_again(&mut self) {
        let StopRule::Fixed { n } = self.rule else { return };
        let Some(samples) = self.runs.last().map(|launch| launch.samples) else { return };
        if self.again + samples <= count(n) - self.again {
            self.again += samples;
            self.rule = fixed(count(n) + samples);
            self.over = None;
        }
    }

    pub(super) fn missing_share(&self) -> f64 {
        let wanted = f64::from(self.wanted());
        ((wanted - self.samples.len() as f64) / wanted).max(0.0)
    }

    /// Whether one process run continues until the drive is steady.
    pub(super) const fn is_until_steady(&self) -> bool {
        matches!(self.rule, StopRule::Steady { .. })
    }

    /// Reduces the samples of a steady-state benchmark to fit into the time; false if too few would be left.
    pub(super) fn fit_into(&mut self, seconds: f64, planned: &Planned) -> bool {
        let rounds = (seconds - before_samples_seconds(planned)) / planned.sampling.sample_seconds;
        let fits = self.is_until_steady() && rounds >= STEADY_ROUNDS as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than were planned")]
        let rounds = fits.then_some(rounds as u32);
        self.most_in_time = rounds.or(self.most_in_time);
        fits
    }

    pub(super) fn samples_next(&self, planned: &Planned) -> u32 {
        let most = count(self.rule.at_most()).saturating_sub(count(self.samples.len()));
        planned.sampling.per_launch.min(most).min(self.most_in_time.unwrap_or(most)).max(1)
    }

    pub(super) fn next_run_seconds(&self, planned: &Planned) -> f64 {
        // What process runs really took is the better guess.
        let taken = (self.seconds - self.preparing_seconds) / self.runs.len().max(1) as f64;
        if self.runs.is_empty() { self.planned_seconds(planned) + self.waits_seconds } else { taken }
    }

    fn planned_seconds(&self, planned: &Planned) -> f64 {
        before_samples_seconds(planned) + f64::from(self.samples_next(planned)) * planned.sampling.sample_seconds
    }

    pub(super) fn waits_beyond_plan(&self, planned: &Planned) -> f64 {
        let beyond = self.next_run_seconds(planned) - self.planned_seconds(planned);
        if beyond > LITTLE_SECONDS { beyond } else { 0.0 }
    }

    pub(super) fn seconds_left(&self, planned: &Planned) -> f64 {
        if self.is_over() {
            return 0.0;
        }
        let missing = self.wanted().saturating_sub(count(self.samples.len())).max(1);
        let tools = self.alive_tools().count();
        f64::from(missing.div_ceil(planned.sampling.per_launch)) * self.next_run_seconds(planned)
            + f64::from(missing) * tools as f64 * planned.tool_seconds()
    }

    pub(super) fn pending(&mut self, repetition: Repetition) {
        self.pending.push(repetition);
    }

    pub(super) fn launched(&mut self, seconds: f64, outcome: Outcome, around: Change) {
        self.seconds += seconds;
        let pending = std::mem::take(&mut self.pending);
        match outcome {
            Outcome::Done(observations) => {
                let (samples, number) = (count(pending.len()), pending.first().map_or(0, Repetition::launch));
                self.samples.extend(pending);
                // Repeated samples are those beyond the plan.
                let repeat = self.again > 0 && self.samples.len() > self.rule.at_least() - self.again as usize;
                self.runs.push(ProcessRun { number, seen: *observations, surroundings: around, samples, repeat });
                // Rounds of another process run would not follow these.
                let cut = || self.is_until_steady().then(|| Over::CutShort(TIME_BUDGET.to_owned()));
                self.over = self.rule.check(&self.values()).map(Over::Measured).or_else(cut);
            }
            Outcome::Unavailable(reason) => self.over = Some(Over::Not(Status::Skipped, reason)),
            Outcome::Failed(reason) => self.over = Some(Over::Not(Status::Failed, reason)),
            Outcome::Interrupted | Outcome::OutOfTime => {
                // Each sample was verified before it was reported.
                self.pending = pending;
                self.cut_off();
                if outcome == Outcome::OutOfTime && !self.is_over() {
                    self.out_of(TIME_BUDGET);
                }
            }
        }
    }

    pub(super) fn complete_pairs(&mut self) {
        let last = self.samples.last();
        // With tools, a process run is one sample.
        let seen = self.runs.last().and_then(|launched| launched.seen.disk.as_ref());
        let ours = |name: &str| match name {
            "cpu_seconds_per_request" => seen?.cpu_seconds_per_request,
            LATENCY_P99 => Histogram::decode(last?.histogram.as_deref()?)?.quantile(0.99),
            name => Some(last?.metrics.iter().find(|metric| metric.name.name() == name)?.sample.value),
        };
        self.tools.iter_mut().for_each(|tool| tool.pair(&ours));
    }

    /// Ends it: a budget is used up or the run ended.
    pub(super) fn out_of(&mut self, reason: &str) {
        self.over = Some(if self.samples.is_empty() {
            Over::Not(Status::Skipped, reason.to_owned())
        } else if self.samples.len() >= self.rule.at_least() {
            Over::Measured(StopRule::out_of_time(&self.values()))
        } else {
            Over::CutShort(reason.to_owned())
        });
    }

    pub(super) fn is_left(&self) -> bool {
        match &self.over {
            None | Some(Over::CutShort(_)) => true,
            Some(Over::Not(_, reason)) => [TIME_BUDGET, WRITE_BUDGET, INTERRUPTED].contains(&reason.as_str()),
            Some(Over::Measured(_)) => false,
        }
    }

    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.over, Some(Over::Not(Status::Failed, _)))
    }

    pub(super) fn go_on(&mut self) {
        if self.is_left() {
            self.over = None;
        }
    }

    /// Process runs that must be repeated on resume: all rounds of a steady state, and samples without a partner.
    pub(super) fn to_be_dropped(&self) -> Vec<u32> {
        if !self.is_left() {
            return Vec::new();
        }
        let pairs = self.alive_tools().map(|tool| tool.progress.samples.len()).min();
        let kept = if self.is_until_steady() { 0 } else { pairs.unwrap_or(self.samples.len()) };
        let mut runs: Vec<u32> = self.samples.iter().skip(kept).map(Repetition::launch).collect();
        runs.dedup();
        runs
    }

    /// Whether theirs came first in an incomplete round.
    pub(super) fn theirs_first_in_half_a_round(&self) -> Option<bool> {
        let last = self.samples.last().filter(|_| self.samples.len() % 2 == 1)?;
        let ours = last.metrics.first()?.sample.start;
        let theirs = self.alive_tools().find_map(|tool| tool.progress.samples.last())?.start;
        Some(theirs < ours)
    }

    pub(super) fn drop_runs(&mut self, runs: &[u32]) {
        self.samples.retain(|sample| !runs.contains(&sample.launch()));
        self.runs.retain(|launch| !runs.contains(&launch.number));
        self.over = None;
    }

    /// Counts what an interrupted process run had reported.
    pub(super) fn cut_off(&mut self) {
        if !self.pending.is_empty() {
            self.samples.append(&mut self.pending);
            self.over = self.rule.check(&self.values()).map(Over::Measured);
        }
    }

    pub(super) fn values(&self) -> Vec<f64> {
        self.samples.iter().filter_map(|one| Some(one.metrics.first()?.sample.value)).collect()
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn before_samples_seconds(planned: &Planned) -> f64 {
    planned.setup_seconds + planned.sampling.warm_up_seconds[0]
}

fn fixed(n: u32) -> StopRule {
    StopRule::Fixed { n: n as usize }
}

fn rule(sampling: &Sampling) -> StopRule {
    if sampling.until_steady {
        return StopRule::Steady { most: sampling.samples as usize };
    }
    let least = sampling.samples.max(6) as usize;
    let adaptive = sampling.most.and_then(|most| Adaptive::new(least, most as usize, sampling.target));
    adaptive.map_or_else(|| fixed(sampling.samples), StopRule::Adaptive)
}

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

    pub(super) fn next_run(&self) -> NextRun<'_> {
        NextRun {
            planned: self.planned,
            samples: &self.progress.samples,
            runs: &self.progress.runs,
            samples_next: self.progress.samples_next(self.planned),
        }
    }

    /// Process runs that its planned samples still take, at least one.
    pub(super) fn runs_left(&self) -> u32 {
        let missing = self.progress.wanted().saturating_sub(count(self.progress.samples.len()));
        missing.div_ceil(self.planned.sampling.per_launch.max(1)).max(1)
    }

    pub(super) fn next_run_seconds(&self) -> f64 {
        self.progress.next_run_seconds(self.planned)
    }

    pub(super) fn seconds_left(&self) -> f64 {
        self.progress.seconds_left(self.planned)
    }

    pub(super) fn tools(&self) -> usize {
        self.progress.alive_tools().count()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{planned, repetition};

    fn done() -> Outcome {
        Outcome::Done(Box::default())
    }

    #[test]
    fn a_row_asks_for_launches_until_it_has_its_samples() {
        let planned = planned();
        let mut row = Progress::new(&planned, Some(7), false);
        for expected in [3, 3, 1] {
            assert!(!row.is_over());
            assert_eq!(row.samples_next(&planned), expected);
            (0..expected).for_each(|_| row.pending(repetition(1.0)));
            row.launched(0.1, done(), Change::default());
        }
        assert_eq!(row.over, Some(Over::Measured(StopReason::Repetitions { n: 7 })));
    }

    /// At most 25 rounds of a second, prepared for ten.
    fn until_steady() -> Planned {
        let sampling = Sampling {
            samples: 25,
            per_launch: 25,
            sample_seconds: 1.0,
            warm_up_seconds: [0.0, 0.0],
            until_steady: true,
            ..Sampling::default()
        };
        Planned { sampling, setup_seconds: 10.0, ..planned() }
    }

    fn over_after(row: &mut Progress, values: &[f64]) -> Option<Over> {
        for value in values {
            row.pending(repetition(*value));
        }
        row.launched(1.0, done(), Change::default());
        row.over.clone()
    }

    #[test]
    fn rounds_are_one_launch_and_over_when_steady_or_at_most() {
        let planned = until_steady();
        let new = || Progress::new(&planned, None, false);
        assert_eq!((new().samples_next(&planned), new().is_until_steady()), (25, true));
        let steady = over_after(&mut new(), &[3.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(matches!(steady, Some(Over::Measured(StopReason::Steady { n: 6, .. }))), "{steady:?}");
        let falling: Vec<f64> = (0..25).map(|round| 0.9_f64.powi(round)).collect();
        let not = over_after(&mut new(), &falling);
        assert!(matches!(not, Some(Over::Measured(StopReason::NotSteady { n: 25, .. }))), "{not:?}");
        assert!(!Progress::new(&planned, Some(7), false).is_until_steady(), "a number that was asked for is exact");
    }

    #[test]
    fn rounds_for_which_there_is_no_time_are_left_out() {
        let planned = until_steady();
        let mut row = Progress::new(&planned, None, false);
        assert!(!row.fit_into(14.9, &planned), "four rounds have no state");
        assert_eq!(row.samples_next(&planned), 25);
        assert!(row.fit_into(18.5, &planned));
        assert_eq!(row.samples_next(&planned), 8);
        let falling: Vec<f64> = (0..8).map(|round| 0.9_f64.powi(round)).collect();
        assert_eq!(over_after(&mut row, &falling), Some(Over::CutShort(TIME_BUDGET.to_owned())));
        let other = crate::tests::planned();
        assert!(!Progress::new(&other, None, false).fit_into(1e9, &other), "other benchmarks take fewer process runs");
    }

    #[test]
    fn a_launch_that_the_time_cut_off_leaves_its_samples_and_one_that_failed_does_not() {
        let wrong = || Outcome::Failed("a result is wrong".into());
        for (samples, outcome, left, expected) in [
            (0, Outcome::OutOfTime, 0, Over::Not(Status::Skipped, TIME_BUDGET.into())),
            (2, Outcome::OutOfTime, 2, Over::CutShort(TIME_BUDGET.into())),
            (3, Outcome::OutOfTime, 3, Over::Measured(StopReason::Repetitions { n: 3 })),
            (1, wrong(), 0, Over::Not(Status::Failed, "a result is wrong".into())),
        ] {
            let mut row = Progress::new(&planned(), Some(3), false);
            (0..samples).for_each(|_| row.pending(repetition(1.0)));
            row.launched(4.0, outcome, Change::default());
            assert_eq!((row.over, row.samples.len()), (Some(expected), left));
        }
    }

    #[test]
    fn what_a_row_will_wait_for_is_expected_until_it_was_launched() {
        let planned = planned();
        let mut row = Progress::new(&planned, Some(9), false);
        let by_plan = row.next_run_seconds(&planned);
        row.waits_seconds = 0.1;
        assert!((row.next_run_seconds(&planned) - by_plan - 0.1).abs() < 1e-9);
        assert!(row.waits_beyond_plan(&planned).abs() < 1e-9);
        row.waits_seconds = 7.0;
        assert!((row.waits_beyond_plan(&planned) - 7.0).abs() < 1e-9);
        row.pending(repetition(1.0));
        // Preparation happens once.
        row.preparing_seconds += 20.0;
        row.launched(by_plan + 23.0, done(), Change::default());
        assert!((row.next_run_seconds(&planned) - by_plan - 3.0).abs() < 1e-9, "what it took is known");
        assert!((row.waits_beyond_plan(&planned) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn time_that_ran_out_skips_cuts_or_ends() {
        let over = |n: usize| {
            let mut row = Progress::new(&planned(), None, false);
            row.samples = vec![repetition(1.0); n];
            row.out_of("time_budget");
            row.over.unwrap()
        };
        assert_eq!(over(0), Over::Not(Status::Skipped, "time_budget".into()));
        assert_eq!(over(3), Over::CutShort("time_budget".into()));
        assert!(matches!(over(9), Over::Measured(StopReason::OutOfTime { n: 9, .. })));
    }
}
