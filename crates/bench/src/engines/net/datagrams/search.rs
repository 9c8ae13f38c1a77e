//! The search for the highest rate whose loss stays within a goal, without I/O. The first trial sends as many datagrams as
//! possible. Then the rate is halved until a trial keeps to the goal, bisected, and confirmed twice. A rate has failed when it
//! failed twice, because one trial can be disturbed (Lencse and Kovács, 2020, on benchmarks that single trials decide).

use model::number::UnitScale;

/// The bounds of the rate are close enough when their quotient is less.
const CLOSE: f64 = 1.05;
/// Failed trials until a rate has failed.
const FAILURES: u32 = 2;
/// Times that a found rate has to keep to the goal once more.
const CONFIRMATIONS: u32 = 2;
/// The factor to the next rate where it does not, and after a sample that lost too many.
const STEP_DOWN: f64 = 0.97;
/// If no trial kept to the goal down to this share of the first offered rate, the rate is not the cause of the loss.
const LEAST_SHARE: f64 = 1.0 / 1024.0;
/// A trial with fewer datagrams decides nothing, and a rate that gives fewer is too low for samples.
pub(super) const LEAST_DATAGRAMS: u64 = 32;
/// Such trials in a row until the search is given up, each twice as long as the one before.
const MUTE_TRIALS: u32 = 6;
/// Trials until the search ends in any case: ten to halve a thousandth, ten to come close, each twice.
const MOST_TRIALS: u32 = 40;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) sent: u64,
    pub(super) came: u64,
    pub(super) offered: f64,
}

impl Outcome {
    pub(super) fn keeps_to(&self, goal_per_million: u32) -> bool {
        let lost = self.sent.saturating_sub(self.came);
        self.sent > 0 && u128::from(lost) * 1_000_000 <= u128::from(self.sent) * u128::from(goal_per_million)
    }

    /// Whether more were lost. Where nothing was sent, neither is known.
    pub(super) fn breaks(&self, goal_per_million: u32) -> bool {
        self.sent > 0 && !self.keeps_to(goal_per_million)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// A trial at this many bytes per second; infinite: as many as possible.
    Trial(f64),
    Found(f64),
    Hopeless(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    goal_per_million: u32,
    /// A lower rate gives fewer than [`LEAST_DATAGRAMS`] in a trial.
    least_rate: f64,
    /// The highest rate that kept to the goal; 0 before the first.
    low: f64,
    /// The lowest rate that did not; infinite before the first.
    high: f64,
    /// The rate of the first trial, which sent as many as possible.
    first_offered: f64,
    rate: f64,
    failures: u32,
    confirmed: Option<u32>,
    trials: u32,
    mute: u32,
    last: Outcome,
}

impl Search {
    /// For a rate that loses at most this many datagrams of a million, and is at least this many bytes per second.
    pub(super) fn new(goal_per_million: u32, least_rate: f64) -> Self {
        let (high, first_offered, rate) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        Self { goal_per_million, least_rate, high, first_offered, rate, ..Self::default() }
    }

    pub(super) fn next(&self) -> Next {
        if self.confirmed.is_some_and(|times| times >= CONFIRMATIONS) {
            return Next::Found(self.rate);
        }
        let least = self.first_offered * LEAST_SHARE;
        let too_low = self.rate < self.least_rate || self.first_offered.is_finite() && self.rate < least;
        if self.mute >= MUTE_TRIALS || self.low <= 0.0 && (too_low || self.trials >= MOST_TRIALS) {
            return Next::Hopeless(self.hopeless());
        }
        if self.trials >= MOST_TRIALS {
            // The samples lower it where it is still too high.
            return Next::Found(self.low.min(self.rate));
        }
        Next::Trial(self.rate)
    }

    pub(super) fn stretch(&self) -> f64 {
        f64::from(1_u32 << self.mute.min(MUTE_TRIALS))
    }

    fn hopeless(&self) -> String {
        let Outcome { sent, came, offered } = self.last;
        if self.mute > 0 {
            return format!(
                "no rate was found: in the longest of several trials the sender sent only {sent} datagrams. Look for other \
                 processes that use the CPUs"
            );
        }
        let (goal, lost) = (self.goal_per_million, sent.saturating_sub(came));
        let rate = UnitScale::MEGABYTES_PER_SECOND.fixed(offered, 3);
        format!(
            "no rate keeps the loss within {goal} of a million datagrams: at {rate}, {lost} of {sent} were lost, so the \
             rate is not the cause. Look for a path that drops datagrams, or allow more loss"
        )
    }

    pub(super) fn saw(&mut self, outcome: Outcome) {
        (self.trials, self.last) = (self.trials + 1, outcome);
        if outcome.sent == 0 || self.rate.is_finite() && outcome.sent < LEAST_DATAGRAMS {
            self.mute += 1;
            return;
        }
        self.mute = 0;
        if outcome.keeps_to(self.goal_per_million) {
            return self.kept();
        }
        if self.rate.is_infinite() {
            self.first_offered = outcome.offered;
        }
        self.failures += 1;
        if self.failures >= FAILURES {
            self.failed();
        }
    }

    fn kept(&mut self) {
        self.failures = 0;
        self.low = self.low.max(self.rate);
        match &mut self.confirmed {
            Some(times) => *times += 1,
            // There is nothing above as many as possible.
            None if self.rate.is_infinite() => self.confirmed = Some(0),
            None => self.go_between(),
        }
    }

    fn failed(&mut self) {
        self.failures = 0;
        if self.confirmed.take().is_some() && self.rate.is_finite() {
            // A rate that kept to the goal before does so no longer, or did by chance.
            (self.high, self.low) = (self.rate, self.rate * STEP_DOWN);
            (self.rate, self.confirmed) = (self.low, Some(0));
            return;
        }
        self.high = if self.rate.is_infinite() { self.first_offered } else { self.rate };
        if self.low.is_infinite() {
            self.low = 0.0;
        }
        self.go_between();
    }

    fn go_between(&mut self) {
        if self.high < self.low * CLOSE {
            (self.rate, self.confirmed) = (self.low, Some(0));
        } else {
            self.rate = f64::midpoint(self.low, self.high);
        }
    }
}

/// The rate after a sample at this one that lost more than the goal.
pub(super) fn lowered(rate: f64, outcome: &Outcome) -> f64 {
    STEP_DOWN * if rate.is_finite() { rate } else { outcome.offered }
}

#[cfg(test)]
mod tests {
    use stats::random::Random;

    use super::*;

    const SENDER: f64 = 4e9;

    /// [`LEAST_DATAGRAMS`] of them in a trial.
    const LEAST_RATE: f64 = 32.0 * 1472.0 / 0.05;

    /// The outcome of a trial of 50 ms over a link that maps the offered rate and the datagrams sent to those that arrive.
    fn trial(rate: f64, link: &mut dyn FnMut(f64, u64) -> u64) -> Outcome {
        let offered = rate.min(SENDER);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand datagrams")]
        let sent = (offered * 0.05 / 1472.0) as u64;
        Outcome { sent, came: link(offered, sent), offered }
    }

    fn search(goal: u32, link: &mut dyn FnMut(f64, u64) -> u64) -> (Next, u32) {
        let mut search = Search::new(goal, LEAST_RATE);
        loop {
            match search.next() {
                Next::Trial(rate) => search.saw(trial(rate, link)),
                end => return (end, search.trials),
            }
        }
    }

    fn cliff(capacity: f64) -> impl FnMut(f64, u64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of what was sent")]
        move |offered, sent| (sent as f64 * (capacity / offered).min(1.0)) as u64
    }

    #[test]
    fn a_cliff_is_found_from_below_unless_it_is_above_the_sender_or_gives_too_few_datagrams() {
        assert_eq!(search(0, &mut cliff(SENDER * 2.0)), (Next::Found(f64::INFINITY), 3));
        // 0.2 MB/s are 6 datagrams in a trial.
        assert!(matches!(search(0, &mut cliff(2e5)).0, Next::Hopeless(_)));
        for capacity in [1e7, 3e8, 1.25e9, 3.9e9] {
            for goal in [0, 1, 1000] {
                let (end, trials) = search(goal, &mut cliff(capacity));
                let Next::Found(rate) = end else { panic!("{end:?} at {capacity}") };
                assert!(rate <= capacity * 1.002 && rate >= capacity / 1.06, "{rate} of {capacity}, goal {goal}");
                assert!(trials < MOST_TRIALS, "{trials}");
            }
        }
    }

    #[test]
    fn loss_at_any_rate_is_a_reason_and_no_rate() {
        let mut random = Random::new(3);
        let mut lossy = |_: f64, sent: u64| sent - (0..sent).filter(|_| random.below(50) == 0).count() as u64;
        let (end, _) = search(1000, &mut lossy);
        let Next::Hopeless(reason) = end else { panic!("{end:?}") };
        assert!(reason.contains("1000 of a million datagrams") && reason.contains("rate is not the cause"), "{reason}");
        let (end, trials) = search(0, &mut |_, _| 0);
        assert!(matches!(end, Next::Hopeless(_)) && trials <= MOST_TRIALS, "{end:?}");
        assert!(matches!(search(1_000_000, &mut |_, _| 0).0, Next::Found(_)), "all may be lost");
    }

    #[test]
    fn a_trial_in_which_nobody_could_send_decides_nothing() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut search = Search::new(0, LEAST_RATE);
            let mut link = cliff(1e9);
            let end = loop {
                match search.next() {
                    Next::Trial(rate) if random.below(4) > 0 => search.saw(trial(rate, &mut link)),
                    Next::Trial(_) => {
                        let sent = random.below(2) * 10;
                        search.saw(Outcome { sent, came: sent, offered: sent as f64 });
                    }
                    end => break end,
                }
            };
            match end {
                Next::Found(rate) => assert!(rate > 0.2e9, "seed {seed}: {rate}"),
                // As many in a row as that: one time in 4096.
                end => assert!(search.mute == MUTE_TRIALS, "seed {seed}: {end:?}"),
            }
        }
        let mut search = Search::new(0, LEAST_RATE);
        for mute in 0..MUTE_TRIALS {
            assert_eq!((search.next(), search.stretch()), (Next::Trial(f64::INFINITY), 2_f64.powi(mute.cast_signed())));
            search.saw(Outcome::default());
        }
        let Next::Hopeless(reason) = search.next() else { panic!("nobody sends") };
        assert!(reason.contains("use the CPUs"), "{reason}");
        assert!(!Outcome::default().breaks(0) && !Outcome::default().keeps_to(0));
    }

    #[test]
    fn a_trial_that_is_disturbed_now_and_then_does_not_move_the_rate_far() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut link = cliff(1e9);
            let mut noisy = |offered: f64, sent: u64| {
                let came = link(offered, sent);
                if random.below(10) == 0 { came / 2 } else { came }
            };
            let (end, _) = search(0, &mut noisy);
            let Next::Found(rate) = end else { panic!("{end:?}") };
            // One time in a hundred two trials in a row are disturbed, and the search continues below.
            assert!(rate <= 1.002e9 && rate > 0.2e9, "seed {seed}: {rate}");
        }
    }

    #[test]
    fn a_rate_that_is_not_confirmed_is_lowered() {
        // It carries 1e9 at first and 10 % less from the fifteenth trial on.
        let mut trials = 0;
        let mut tiring = |offered: f64, sent: u64| {
            trials += 1;
            cliff(if trials < 15 { 1e9 } else { 0.9e9 })(offered, sent)
        };
        let (end, _) = search(0, &mut tiring);
        let Next::Found(rate) = end else { panic!("{end:?}") };
        assert!(rate <= 1e9, "{rate}");
        let lost = Outcome { sent: 100, came: 99, offered: 2e9 };
        assert!((lowered(1e9, &lost) - 0.97e9).abs() < 1.0);
        assert!((lowered(f64::INFINITY, &lost) - 1.94e9).abs() < 1.0);
    }

    #[test]
    fn a_goal_counts_datagrams() {
        let outcome = |sent, came| Outcome { sent, came, offered: 1.0 };
        assert!(outcome(1000, 1000).keeps_to(0) && !outcome(1000, 999).keeps_to(0));
        assert!(outcome(1000, 999).keeps_to(1000) && !outcome(999, 998).keeps_to(1000));
        assert!(outcome(1_000_000, 999_999).keeps_to(1) && !outcome(999_999, 999_998).keeps_to(1));
        assert!(!outcome(0, 0).keeps_to(1_000_000), "nothing was sent");
        assert!(outcome(5, 6).keeps_to(0));
    }
}
