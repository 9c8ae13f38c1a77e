//! What one thread does inside a window of time: operations, bytes, and how long each took.

use sys::clock::Timer;

use crate::histogram::Histogram;

/// The timed part of a sample, in ticks of the launch's timer; the same for all of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From here on operations count.
    pub(crate) begin: u64,
    /// Until here.
    pub(crate) end: u64,
}

impl Window {
    /// The end of a window that lasts until the work is done.
    pub(crate) const NO_END: u64 = u64::MAX;

    /// Whether something that ended at this time stamp counts.
    pub(crate) fn holds(&self, ticks: u64) -> bool {
        (self.begin..self.end).contains(&ticks)
    }
}

/// Bits behind the point of nanoseconds per tick: an hour of ticks is then right to a millionth.
const FRACTION_BITS: i32 = 32;

/// What one thread has done inside a window.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    window: Window,
    /// With [`FRACTION_BITS`] behind the point: whole numbers take half the time where operations come by the million.
    nanoseconds_per_tick: u64,
    /// Whether an operation belongs to the window that it began in, not to the one that it ended in.
    by_beginning: bool,
    /// Operations that ended inside the window.
    pub(crate) operations: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// How long each of them took, where that was noted.
    pub(crate) durations: Histogram,
    /// What only transfers between two ends have.
    pub(crate) carried: Carried,
}

/// What a thread's data connection carried in a window, beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Carried {
    /// Of the bytes, those from the near end to the far one.
    pub(crate) up_bytes: u64,
    /// CPU seconds of the threads at its two ends; `None` where one of them is not known.
    pub(crate) cpu_seconds: Option<f64>,
    /// Segments sent again; `None` where that is not known.
    pub(crate) retransmits: Option<u64>,
    /// Datagrams that were sent in the window.
    pub(crate) datagrams_sent: u64,
    /// Those of them that came.
    pub(crate) datagrams_came: u64,
    /// Those that came once more.
    pub(crate) duplicates: u64,
    /// Those that came after a later one.
    pub(crate) reordered: u64,
    /// Interarrival jitter in seconds; `None` where it cannot be told.
    pub(crate) jitter_seconds: Option<f64>,
    /// Whether more was lost than the goal of the row allows.
    pub(crate) above_goal: bool,
}

impl Tally {
    /// An empty one.
    pub(crate) fn new(timer: &Timer) -> Self {
        let window = Window { begin: 0, end: 0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timer ticks 10^6 times or more")]
        let nanoseconds_per_tick = (1e9 / timer.ticks_per_second() * 2_f64.powi(FRACTION_BITS)) as u64;
        Self {
            window,
            nanoseconds_per_tick,
            by_beginning: false,
            operations: 0,
            bytes: 0,
            durations: Histogram::new(),
            carried: Carried::default(),
        }
    }

    /// Forgets everything, for this window.
    pub(crate) fn begin(&mut self, window: Window) {
        (self.window, self.operations, self.bytes) = (window, 0, 0);
        self.carried = Carried::default();
        self.durations.clear();
    }

    /// An operation that began and ended at these time stamps.
    #[inline]
    pub(crate) fn note(&mut self, began: u64, ended: u64, bytes: u64) {
        if self.window.holds(if self.by_beginning { began } else { ended }) {
            self.operations += 1;
            self.bytes += bytes;
            self.time(began, ended);
        }
    }

    /// There was nothing left to do from this time stamp on: the window is over here.
    pub(crate) fn over(&mut self, at: u64) {
        self.window.end = self.window.end.min(at.max(self.window.begin));
    }

    /// The window, as long as there was something to do.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// An operation that fell due at this time stamp, had not begun at the other, and never will: its duration is that
    /// at least.
    pub(crate) fn waited(&mut self, due: u64, until: u64) {
        if self.window.holds(due) {
            self.time(due, until);
        }
    }

    /// From now on an operation belongs to the window that it began in.
    pub(crate) fn count_by_beginning(&mut self) {
        self.by_beginning = true;
    }

    #[inline]
    fn time(&mut self, began: u64, ended: u64) {
        let scaled = u128::from(ended.saturating_sub(began)) * u128::from(self.nanoseconds_per_tick);
        self.durations.record(u64::try_from(scaled >> FRACTION_BITS).unwrap_or(u64::MAX));
    }

    /// An empty one for the same window, for a thread that helps.
    pub(crate) fn fork(&self) -> Self {
        Self { operations: 0, bytes: 0, durations: Histogram::new(), carried: Carried::default(), ..*self }
    }

    /// What the other end counted in the window, where it is the one that knows.
    pub(crate) fn counted_there(&mut self, operations: u64, bytes: u64) {
        self.operations += operations;
        self.bytes += bytes;
    }

    /// Adds what a helper did.
    pub(crate) fn merge(&mut self, helper: &Self) {
        self.operations += helper.operations;
        self.bytes += helper.bytes;
        self.durations.add(&helper.durations);
    }

    /// Bytes that came at this time stamp, where there are no single operations to time.
    #[inline]
    pub(crate) fn came(&mut self, at: u64, bytes: u64) {
        if self.window.holds(at) {
            self.operations += 1;
            self.bytes += bytes;
        }
    }
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
