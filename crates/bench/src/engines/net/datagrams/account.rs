//! The account of the datagrams of one flow that arrived: new, repeated and late ones, and their jitter.

use super::header::{Header, nanoseconds_between};

/// How far behind the latest datagram a new one is distinguished from a repeated one; one that is further behind does not
/// count. 65536 datagrams are more than a receive buffer of some MB holds, and take 8 KiB here.
const SPAN: u64 = 1 << 16;
/// Fewest pairs of adjacent datagrams for a jitter: as many as its filter averages over.
const LEAST_PAIRS: u32 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Arrived {
    /// Each counted once.
    pub(super) once: u64,
    pub(super) duplicates: u64,
    /// Those that arrived after one that was sent later.
    pub(super) reordered: u64,
}

pub(super) struct Account {
    /// The latest window of which a datagram has arrived, and what did.
    pub(super) window: u32,
    pub(super) came: Arrived,
    /// One more than the greatest sequence number that arrived: datagrams sent, as far as the receiver knows.
    pub(super) next: u64,
    /// Whether each of the last [`SPAN`] datagrams has arrived, by its number's remainder.
    seen: Box<[u64]>,
    /// Of the latest window.
    pub(super) jitter: Jitter,
    pub(super) strays: u64,
}

impl Account {
    pub(super) fn new() -> Self {
        Self {
            window: 0,
            came: Arrived::default(),
            next: 0,
            seen: vec![0; (SPAN / 64) as usize].into(),
            jitter: Jitter::default(),
            strays: 0,
        }
    }

    /// Notes a datagram that arrived at this time in nanoseconds of the receiver's clock, if known; whether it is new.
    #[inline]
    pub(super) fn take(&mut self, header: Header, came_at: Option<u64>) -> bool {
        let Header { sequence, window, .. } = header;
        if window > self.window {
            (self.window, self.came, self.jitter) = (window, Arrived::default(), Jitter::default());
        }
        let late = sequence < self.next;
        let new = if !late {
            self.advance(sequence);
            true
        } else if self.next - sequence <= SPAN {
            !self.is_seen(sequence)
        } else {
            return false;
        };
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
        if window == self.window && window > 0 {
            self.came.once += u64::from(new);
            self.came.duplicates += u64::from(!new);
            self.came.reordered += u64::from(new && late);
            self.jitter.take(header, came_at);
        }
        new
    }

    fn is_seen(&self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        self.seen[word] & bit != 0
    }

    /// Makes this the latest number, and those skipped unseen.
    #[inline]
    fn advance(&mut self, sequence: u64) {
        let skipped = sequence - self.next;
        if skipped >= SPAN {
            self.seen.fill(0);
        } else {
            for number in self.next..sequence {
                let (word, bit) = place(number);
                self.seen[word] &= !bit;
            }
        }
        self.next = sequence.saturating_add(1);
    }
}

#[inline]
fn place(sequence: u64) -> (usize, u64) {
    let number = sequence % SPAN;
    ((number / 64) as usize, 1 << (number % 64))
}

/// Interarrival jitter (RFC 3550, 6.4.1): a running mean, with a weight of 1/16, of how much the distance of adjacent datagrams
/// changes from sender to receiver. Only datagrams that begin a batch count, because those that are sent or coalesced together
/// have the time of the first. After a gap it starts again.
#[derive(Default)]
pub(super) struct Jitter {
    last: Option<Header>,
    /// The last datagram that began a batch, and when it arrived, where that is known.
    previous: Option<(Header, u64)>,
    nanoseconds: f64,
    pairs: u32,
}

impl Jitter {
    #[inline]
    fn take(&mut self, header: Header, came_at: Option<u64>) {
        let follows = |last: &Header| header.sequence == last.sequence.wrapping_add(1);
        let before = self.last.replace(header).filter(follows);
        let Some(before) = before else {
            self.previous = None;
            return;
        };
        if before.nanoseconds == header.nanoseconds {
            return;
        }
        let now = came_at.map(|at| (header, at));
        if let (Some((before, came_before)), Some((_, came))) = (self.previous, now) {
            let apart = came.wrapping_sub(came_before).cast_signed() as f64;
            let difference = apart - nanoseconds_between(before.nanoseconds, header.nanoseconds);
            self.nanoseconds += (difference.abs() - self.nanoseconds) / 16.0;
            self.pairs = self.pairs.saturating_add(1);
        }
        self.previous = now;
    }

    /// `None` if too few datagrams have a time.
    pub(super) fn seconds(&self) -> Option<f64> {
        (self.pairs >= LEAST_PAIRS).then_some(self.nanoseconds * 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stats::random::Random;

    use super::*;

    fn of(sequence: u64, window: u32) -> Header {
        Header { sequence, window, nanoseconds: 0 }
    }

    #[test]
    fn what_a_path_does_to_datagrams_is_counted_as_a_set_would() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            // Dropped, doubled and held back at random.
            let mut order: Vec<u64> = Vec::new();
            let mut held = None;
            for sequence in 0..5000 {
                match random.below(20) {
                    0 => {}
                    1 => order.extend([sequence, sequence]),
                    2 if held.is_none() => held = Some(sequence),
                    _ => order.push(sequence),
                }
                if random.below(10) == 0 {
                    order.extend(held.take());
                }
            }
            let (mut account, mut seen, mut expected) = (Account::new(), BTreeSet::new(), Arrived::default());
            for &sequence in &order {
                let latest = seen.last().copied();
                let new = seen.insert(sequence);
                expected.once += u64::from(new);
                expected.duplicates += u64::from(!new);
                expected.reordered += u64::from(new && latest.is_some_and(|latest| latest > sequence));
                assert_eq!(account.take(of(sequence, 1), None), new);
            }
            assert_eq!((account.window, account.came), (1, expected), "seed {seed}");
            assert!(expected.duplicates > 0 && expected.reordered > 0 && expected.once < 5000);
        }
    }

    #[test]
    fn each_window_counts_its_own_and_what_is_outside_of_any_is_not_counted() {
        let mut account = Account::new();
        let marks = [0, 0, 1, 1, 1, 0, 2, 2];
        for (sequence, window) in (0..).zip(marks) {
            assert!(account.take(of(sequence, window), None), "new, counted or not");
        }
        assert!(!account.take(of(4, 1), None), "one of a window that has ended");
        assert_eq!((account.window, account.came), (2, Arrived { once: 2, ..Arrived::default() }));
        assert_eq!(account.next, 8);
    }

    #[test]
    fn gaps_of_any_length_are_followed() {
        let mut account = Account::new();
        for sequence in [0, 10, SPAN + 9, SPAN + 10, 5 * SPAN, u64::MAX - 1] {
            assert!(account.take(of(sequence, 1), None));
            assert!(!account.take(of(sequence, 1), None), "{sequence} again");
        }
        assert!(!account.take(of(3, 1), None), "too far behind to distinguish");
        let mut account = Account::new();
        account.take(of(100, 1), None);
        account.take(of(100 + SPAN, 1), None);
        assert!(
            account.take(of(101, 1), None) && !account.take(of(101, 1), None),
            "the last that can be distinguished"
        );
        assert!(!account.take(of(100, 1), None));
    }

    /// A flow sent every millisecond that came with these delays, in nanoseconds.
    fn jitter_of(delays: &[u64]) -> Option<f64> {
        let mut account = Account::new();
        for (sequence, delay) in (0..).zip(delays) {
            let sent = sequence * 1_000_000;
            account.take(Header { sequence, window: 1, nanoseconds: sent }, Some(5_000_000_000 + sent + delay));
        }
        account.jitter.seconds()
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // Whatever the distance of the two clocks.
        assert_eq!(jitter_of(&[70_000; 100]), Some(0.0));
        // Delays in turn: the difference of adjacent datagrams is always the same, and the mean approaches it.
        let delays: Vec<u64> = (0..1000).map(|number| 10_000 + 8_000 * (number % 2)).collect();
        let found = jitter_of(&delays).unwrap();
        assert!((found - 8e-6).abs() < 1e-9, "{found}");
        assert_eq!(jitter_of(&delays[..16]), None, "too few to say");
    }

    #[test]
    fn of_datagrams_that_are_sent_together_the_first_one_counts() {
        for batch in [1, 2, 32] {
            let mut account = Account::new();
            for sequence in 0..3200 {
                let (of_batch, place) = (sequence / batch, sequence % batch);
                let nanoseconds = of_batch * 1_000_000;
                // The later ones of a batch queue behind the first, and every other batch comes 8 us later.
                let came = nanoseconds + 8_000 * (of_batch % 2) + place * 700;
                account.take(Header { sequence, window: 1, nanoseconds }, Some(came));
            }
            let found = account.jitter.seconds().unwrap();
            assert!((found - 8e-6).abs() < 0.1e-6, "{found} in batches of {batch}");
        }
    }

    #[test]
    fn jitter_starts_again_after_gaps_and_needs_times_of_sending_and_arrival() {
        let mut account = Account::new();
        for sequence in (0..2000).filter(|sequence| sequence % 100 != 0) {
            // After each gap everything comes a second later.
            let delay = sequence / 100 * 1_000_000_000;
            let sent = sequence * 1_000_000;
            account.take(Header { sequence, window: 1, nanoseconds: sent }, Some(sent + delay));
        }
        assert_eq!(account.jitter.seconds(), Some(0.0));
        let (mut timeless, mut sent_together) = (Account::new(), Account::new());
        for sequence in 0..1000 {
            timeless.take(Header { sequence, window: 1, nanoseconds: sequence * 1000 }, None);
            sent_together.take(Header { sequence, window: 1, nanoseconds: 5 }, Some(sequence * 700));
        }
        assert_eq!((timeless.jitter.seconds(), sent_together.jitter.seconds()), (None, None));
    }
}
