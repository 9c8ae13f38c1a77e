//! Searches the highest rate at which a tool keeps a loss goal, where the tool cannot.
//!
//! The first run is unlimited. If it loses too much, the rate is halved until the goal is kept, then bisected. Later pairs run
//! at the rate found, or slower once that fails. Only runs that keep the goal count.

use crate::output::Reading;
use model::experiment::Experiment;
use model::io::NetMode;
use serde::{Deserialize, Serialize};

/// The search ends when the rates that held and failed are within this factor.
const CLOSE: f64 = 1.03;

const SLOWER: f64 = 0.95;

/// Maximum runs per pair: eight halvings (1/256 of the sending rate) and six bisections from a factor of two to `CLOSE`.
pub const MOST_RUNS: u32 = 15;

/// The rate sent, in bytes per second, if the loss exceeds the benchmark's goal; `None` if the goal is kept or absent.
pub fn sent_too_fast(experiment: &Experiment, reading: &Reading) -> Option<f64> {
    let params = experiment.net().filter(|params| params.mode == NetMode::NoDrop)?;
    let goal = f64::from(params.loss_goal_per_million.unwrap_or(0)) * 1e-6;
    reading.detail("sent").filter(|_| reading.detail("loss").is_none_or(|lost| lost > goal))
}

/// The state of a search, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum RateSearch {
    #[default]
    Unlimited,
    Between {
        /// The highest rate that kept the goal.
        held: Option<f64>,
        /// The lowest rate that did not.
        failed: f64,
    },
    /// At this rate from now on.
    Settled(f64),
}

impl RateSearch {
    /// The offered load of the next run; `None`: unlimited.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Between { held: None, failed } => Some(failed / 2.0),
            Self::Between { held: Some(held), failed } => Some((held * failed).sqrt()),
            Self::Settled(rate) => Some(rate),
        }
    }

    /// Notes a run; `too_fast` is its rate if it lost too much. Returns whether its value counts.
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

    /// Runs over a link that loses everything above its rate: how many until a value counted, and at which rate.
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
