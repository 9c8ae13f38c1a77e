//! What one thread does inside a window of time: operations, bytes, and durations.

use sys::clock::Timer;

use crate::histogram::Histogram;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Window {
    /// The end of a window that lasts until the work is done.
    pub(crate) const NO_END: u64 = u64::MAX;

    pub(crate) fn holds(&self, ticks: u64) -> bool {
        (self.begin..self.end).contains(&ticks)
    }
}

/// Fraction bits of nanoseconds per tick: an hour of ticks is then exact to a millionth.
const FRACTION_BITS: i32 = 32;

#[derive(Clone, Debug)]
pub(crate) struct Tally {
    window: Window,
    /// With [`FRACTION_BITS`]: integers take half the time where operations come by the million.
    nanoseconds_per_tick: u64,
    /// Whether an operation belongs to the window in which it began, not to that in which it ended.
    pub(crate) by_beginning: bool,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) durations: Histogram,
    /// Network benchmarks only.
    pub(crate) carried: Carried,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Carried {
    /// Of the bytes, those from the client to the server.
    pub(crate) up_bytes: u64,
    /// Of the threads at both ends, where both are known.
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) retransmits: Option<u64>,
    /// Datagrams that were sent in the window, and those of them that arrived: at all, again, or after a later one.
    pub(crate) datagrams_sent: u64,
    pub(crate) datagrams_came: u64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) jitter_seconds: Option<f64>,
    /// Whether more was lost than the benchmark's goal allows.
    pub(crate) above_goal: bool,
}

impl Tally {
    pub(crate) fn new(timer: &Timer) -> Self {
        let nanoseconds_per_tick = model::unit::whole_part(1e9 / timer.ticks_per_second() * 2_f64.powi(FRACTION_BITS));
        Self {
            window: Window { begin: 0, end: 0 },
            nanoseconds_per_tick,
            by_beginning: false,
            operations: 0,
            bytes: 0,
            durations: Histogram::new(),
            carried: Carried::default(),
        }
    }

    pub(crate) fn begin(&mut self, window: Window) {
        (self.window, self.operations, self.bytes, self.carried) = (window, 0, 0, Carried::default());
        self.durations.clear();
    }

    #[inline]
    pub(crate) fn note(&mut self, began: u64, ended: u64, bytes: u64) {
        if self.window.holds(if self.by_beginning { began } else { ended }) {
            self.operations += 1;
            self.bytes += bytes;
            self.time(began, ended);
        }
    }

    /// Ends the window at this time stamp: the work was done.
    pub(crate) fn over(&mut self, at: u64) {
        self.window.end = self.window.end.min(at.max(self.window.begin));
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Notes an operation that fell due, has waited until now and will not begin: its duration is at least that.
    pub(crate) fn waited(&mut self, due: u64, until: u64) {
        if self.window.holds(due) {
            self.time(due, until);
        }
    }

    #[inline]
    fn time(&mut self, began: u64, ended: u64) {
        let scaled = u128::from(ended.saturating_sub(began)) * u128::from(self.nanoseconds_per_tick);
        self.durations.record(u64::try_from(scaled >> FRACTION_BITS).unwrap_or(u64::MAX));
    }

    pub(crate) fn counted_there(&mut self, operations: u64, bytes: u64) {
        self.operations += operations;
        self.bytes += bytes;
    }

    pub(crate) fn merge(&mut self, helper: &Self) {
        self.operations += helper.operations;
        self.bytes += helper.bytes;
        self.durations.add(&helper.durations);
    }

    /// Notes bytes that arrived at this time stamp, as an operation without a duration.
    #[inline]
    pub(crate) fn came(&mut self, at: u64, bytes: u64) {
        if self.window.holds(at) {
            self.operations += 1;
            self.bytes += bytes;
        }
    }
}

/// A thread's share of this much work; the first threads have one more where it does not divide evenly.
pub(crate) fn share_of_work(work: f64, thread: usize, threads: usize) -> u64 {
    let (all, threads) = (model::unit::whole_part(work), threads.max(1) as u64);
    all / threads + u64::from((thread as u64) < all % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_at_any_rate() {
        for rate in [1e9, 2.095_078e9, 24e6, 9.99e10] {
            let timer = Timer::from_rate(rate);
            let mut tally = Tally::new(&timer);
            for seconds in [1e-7, 71e-6, 1.5, 3_000.0] {
                tally.begin(Window { begin: 0, end: u64::MAX });
                tally.note(1000, 1000 + timer.ticks(seconds), 4096);
                let found = tally.durations.quantile(0.5).unwrap();
                // A histogram knows a value to one in a thousand; a timer of 24 MHz ticks every 42 ns.
                assert!((found - seconds).abs() <= 1e-3 * seconds + 1e-7, "{seconds} s at {rate} Hz: {found}");
            }
        }
    }
}
