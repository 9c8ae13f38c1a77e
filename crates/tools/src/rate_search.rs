//! The highest rate at which a tool keeps the loss goal of a benchmark, where the tool has no search of its own.
//!
//! The tool is run as fast as it can first. Where that loses too much it is offered less: half of it until little enough is
//! lost, then the middle between what was kept and what was not, until the two are close. From then on every pair is run
//! at the rate that was found, and a little slower once that no longer holds. Only a run that keeps the goal is a figure,
//! as with our own search; all runs are in the tool's raw output.

use model::experiment::Experiment;
use model::io::NetMode;
use serde::{Deserialize, Serialize};

use crate::output::Reading;

/// How close the highest rate that held and the lowest that did not are to be: within this share nothing more is looked
/// for, which costs a tool at most so much of its figure.
const CLOSE: f64 = 1.03;

/// What a rate that held before and no longer does is multiplied by.
const SLOWER: f64 = 0.95;

/// Runs of one pair at most: eight halvings (a path that carries a 256th of what can be sent) and the six further runs
/// that close a factor of two to `CLOSE`.
pub const MOST_RUNS: u32 = 15;

/// What a tool sent, in bytes per second (its detail `sent`), if more of it was lost (`loss`) than the benchmark allows: the
/// run has no value then, and the tool is to be run slower. `None` where little enough was lost, and where there is no goal.
pub fn sent_too_fast(experiment: &Experiment, reading: &Reading) -> Option<f64> {
    let params = experiment.net().filter(|params| params.mode == NetMode::NoDrop)?;
    let goal = f64::from(params.loss_goal_per_million.unwrap_or(0)) * 1e-6;
    reading.detail("sent").filter(|_| reading.detail("loss").is_none_or(|lost| lost > goal))
}

/// A search over runs of a tool, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum RateSearch {
    /// As fast as it can.
    #[default]
    Unlimited,
    /// Between two rates.
    Between {
        /// The highest rate that held.
        held: Option<f64>,
        /// The lowest that did not.
        failed: f64,
    },
    /// At this rate.
    Settled(f64),
}

impl RateSearch {
    /// The rate of the next run; `None` for as fast as it can.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Between { held: None, failed } => Some(failed / 2.0),
            // The middle of the logarithms: rates are looked for by their ratio.
            Self::Between { held: Some(held), failed } => Some((held * failed).sqrt()),
            Self::Settled(rate) => Some(rate),
        }
    }

    /// A run at this rate is over; `too_fast` is what it sent, if more was lost than may be. Whether its figure counts.
    pub fn ran(&mut self, too_fast: Option<f64>) -> bool {
        let counts;
        (*self, counts) = match (*self, too_fast) {
            (kept @ (Self::Unlimited | Self::Settled(_)), None) => (kept, true),
            (Self::Unlimited, Some(sent)) => (Self::Between { held: None, failed: sent }, false),
            (Self::Settled(rate), Some(_)) => (Self::Settled(rate * SLOWER), false),
            (between @ Self::Between { held, failed }, too_fast) => {
                let at = between.rate().unwrap_or(failed);
                let (held, failed) = if too_fast.is_some() { (held, at) } else { (Some(at), failed) };
                match held.filter(|held| failed <= held * CLOSE) {
                    Some(held) => (Self::Settled(held), too_fast.is_none()),
                    None => (Self::Between { held, failed }, false),
                }
            }
        };
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs over a link that loses whatever is offered above its rate; how many there were until a figure counted, and
    /// at which rate.
    fn until_it_counts(search: &mut RateSearch, link: f64, can: f64) -> (u32, f64) {
        for runs in 1..=MOST_RUNS {
            let sent = search.rate().map_or(can, |rate| rate.min(can));
            if search.ran((sent > link).then_some(sent)) {
                return (runs, sent);
            }
        }
        panic!("{search:?} in {MOST_RUNS} runs")
    }

    #[test]
    fn a_tool_that_loses_nothing_is_never_slowed_down() {
        let mut search = RateSearch::default();
        assert_eq!(until_it_counts(&mut search, 2e9, 1e9), (1, 1e9));
        assert_eq!(until_it_counts(&mut search, 1e9, 1e9), (1, 1e9));
        assert_eq!(search.rate(), None);
    }

    #[test]
    fn the_rate_of_a_cliff_is_found_from_below_wherever_it_is() {
        for link in [0.999e9, 0.7e9, 0.5e9, 0.26e9, 31e6, 4.1e6] {
            let mut search = RateSearch::default();
            let (_, rate) = until_it_counts(&mut search, link, 1e9);
            assert!(rate <= link && rate * CLOSE >= link, "{rate} of {link}");
            assert_eq!(until_it_counts(&mut search, link, 1e9), (1, rate), "once it is found it stays");
        }
    }

    #[test]
    fn a_rate_that_no_longer_holds_is_lowered_and_what_broke_the_goal_never_counts() {
        let mut search = RateSearch::Settled(100.0);
        assert!(!search.ran(Some(100.0)));
        assert_eq!(search.rate(), Some(95.0));
        assert!(search.ran(None));
        let mut hopeless = RateSearch::default();
        assert!((0..MOST_RUNS).all(|_| !hopeless.ran(Some(1.0))), "{hopeless:?}");
    }
}
