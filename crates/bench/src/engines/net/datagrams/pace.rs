//! When the next datagrams are due, for a sender that keeps to a rate.

/// Datagrams due within this time leave together, which is the largest burst that a receive buffer sees.
const TOGETHER_SECONDS: f64 = 100e-6;
/// A sender that did not run catches up with this much of its rate: a longer burst would be lost by itself.
const MOST_DEBT_SECONDS: f64 = 1e-3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Datagrams per second; infinite: as many as possible.
    rate: f64,
    quantum: f64,
    capacity: usize,
    done: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    Now(usize),
    In(f64),
}

impl Pace {
    pub(super) fn new(bytes_per_second: f64, datagram_bytes: usize, capacity: usize) -> Self {
        let rate = (bytes_per_second / datagram_bytes.max(1) as f64).max(0.0);
        let quantum = (rate * TOGETHER_SECONDS).floor().clamp(1.0, capacity.max(1) as f64);
        Self { rate, quantum, capacity: capacity.max(1), done: 0.0 }
    }

    /// What is due this many seconds after the beginning.
    pub(super) fn due(&mut self, seconds: f64) -> Due {
        if self.rate.is_infinite() {
            return Due::Now(self.capacity);
        }
        if self.rate <= 0.0 {
            return Due::In(f64::INFINITY);
        }
        let most = (self.rate * MOST_DEBT_SECONDS).max(self.capacity as f64);
        let owed = self.rate * seconds - self.done;
        if owed > most {
            self.done += (owed - most).floor();
        }
        let owed = owed.min(most);
        if owed < self.quantum {
            return Due::In((self.quantum - owed) / self.rate);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the capacity")]
        Due::Now(owed.min(self.capacity as f64) as usize)
    }

    pub(super) fn sent(&mut self, datagrams: usize) {
        self.done += datagrams as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of a second and the longest batch, where the time is checked at these steps.
    fn sent_in_a_second(pace: &mut Pace, step: f64) -> (usize, usize) {
        let (mut now, mut all, mut longest) = (0.0, 0, 0);
        while now < 1.0 {
            if let Due::Now(count) = pace.due(now) {
                pace.sent(count);
                (all, longest) = (all + count, longest.max(count));
            }
            now += step;
        }
        (all, longest)
    }

    #[test]
    fn a_rate_is_kept_to_in_batches_that_fit_it() {
        // Datagrams per second, and the most that may leave together.
        for (rate, together) in [(100.0, 1), (5_000.0, 1), (100_000.0, 11), (2e6, 64)] {
            let (sent, longest) = sent_in_a_second(&mut Pace::new(rate * 1472.0, 1472, 64), 1e-6);
            assert!((sent as f64 - rate).abs() <= 64.0 + rate * 1e-3, "{sent} of {rate}");
            assert!(longest <= together, "{longest} at once at {rate}");
        }
        assert_eq!(Pace::new(f64::INFINITY, 1472, 64).due(0.0), Due::Now(64));
        assert!(matches!(Pace::new(0.0, 1472, 64).due(1.0), Due::In(_)));
    }

    #[test]
    fn who_was_kept_from_sending_does_not_catch_up_with_all_of_it() {
        let mut pace = Pace::new(1e6, 100, 32);
        let mut burst = 0;
        while let Due::Now(count) = pace.due(0.5) {
            pace.sent(count);
            burst += count;
        }
        assert!((32..=1000).contains(&burst), "{burst} of the 500000 that were due");
        assert!(matches!(pace.due(0.6), Due::Now(_)), "and continues");
    }

    #[test]
    fn the_wait_ends_when_the_next_are_due() {
        let mut pace = Pace::new(1000.0, 1, 8);
        let Due::In(wait) = pace.due(0.0) else { panic!("nothing is due at the beginning") };
        assert!((wait - 1e-3).abs() < 1e-12);
        assert_eq!(pace.due(wait + 1e-9), Due::Now(1));
    }
}
