//! A cache line handed from one core to another and back: one writes a number into it, the other waits for that number
//! and answers with the next.
//!
//! Both wait by loading the line over and over, without the processor's hint that they do: that hint lets a core sleep
//! for up to some hundred cycles, as long as what is measured. Numbers only grow and each is written by one side, so
//! any that is skipped, repeated or made up is found by whoever sees it.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// Loads between two looks at whether it is worth waiting on: some tens of microseconds, long against any hand-over.
const PATIENCE: u32 = 1 << 16;

/// What the asking side writes when there will be no more questions.
const STOP: u64 = u64::MAX;

/// A line of its own, and so that no prefetcher takes a neighbour along: they fetch lines in pairs of 128 bytes (Intel,
/// "64 and IA-32 Architectures Optimization Reference Manual", the spatial prefetcher).
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct HandoffLine(AtomicU64);

/// Why a line did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The asking side has no more questions.
    Stopped,
    /// The caller did not want to wait any longer.
    Silent,
    /// The other side wrote what it should not have.
    Wrong {
        /// The number that was due.
        expected: u64,
        /// The number that came.
        found: u64,
    },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("there are no more questions"),
            Self::Silent => f.write_str("the other side does not answer"),
            Self::Wrong { expected, found } => write!(f, "the line holds {found} instead of {expected}"),
        }
    }
}

impl core::error::Error for Lost {}

impl HandoffLine {
    /// Asks `trips` times, each time waiting for the answer, where `made` round trips have been made on this line.
    /// `give_up` is asked now and then while there is no answer.
    ///
    /// # Errors
    /// There was no answer, or a wrong one.
    #[inline(never)]
    pub fn ask(&self, made: u64, trips: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        for question in (made..made + trips).map(|trip| 2 * trip + 1) {
            self.0.store(question, Ordering::Release);
            expect(self.other_than(question, give_up)?, question + 1)?;
        }
        Ok(())
    }

    /// Answers `trips` times, where `made` round trips have been made on this line.
    ///
    /// # Errors
    /// There was no question, or a wrong one; [`Lost::Stopped`] where the asking side has stopped.
    #[inline(never)]
    pub fn answer(&self, made: u64, trips: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        for last_answer in (made..made + trips).map(|trip| 2 * trip) {
            expect(self.other_than(last_answer, give_up)?, last_answer + 1)?;
            self.0.store(last_answer + 2, Ordering::Release);
        }
        Ok(())
    }

    /// Tells the answering side, which waits at this line, to stop, and waits until it has: it then says by
    /// [`stopped`](Self::stopped) how many round trips it knows of, which must be `made`.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn stop(&self, made: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        self.0.store(STOP, Ordering::Release);
        expect(self.other_than(STOP, give_up)?, 2 * made)
    }

    /// The answering side has stopped after `made` round trips on this line.
    pub fn stopped(&self, made: u64) {
        self.0.store(2 * made, Ordering::Release);
    }

    /// Round trips made on this line, while none is being made.
    pub fn made(&self) -> u64 {
        self.0.load(Ordering::Acquire) / 2
    }

    /// The first number in the line that is not this one.
    #[inline]
    fn other_than(&self, number: u64, give_up: &mut dyn FnMut() -> bool) -> Result<u64, Lost> {
        let mut loads = 0_u32;
        loop {
            let found = self.0.load(Ordering::Acquire);
            if found != number {
                return Ok(found);
            }
            loads = loads.wrapping_add(1);
            if loads.is_multiple_of(PATIENCE) && give_up() {
                return Err(Lost::Silent);
            }
        }
    }
}

/// Whether the number that came is the one that was due.
#[inline]
const fn expect(found: u64, expected: u64) -> Result<(), Lost> {
    match found {
        found if found == expected => Ok(()),
        STOP => Err(Lost::Stopped),
        found => Err(Lost::Wrong { expected, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives up at the first occasion.
    fn at_once() -> bool {
        true
    }

    #[test]
    fn a_line_is_by_itself() {
        assert_eq!((size_of::<HandoffLine>(), align_of::<HandoffLine>()), (128, 128));
    }

    #[test]
    fn nobody_there_is_silence() {
        let line = HandoffLine::default();
        assert_eq!(line.answer(0, 1, &mut at_once), Err(Lost::Silent));
        assert_eq!(line.ask(0, 1, &mut at_once), Err(Lost::Silent));
        assert_eq!(line.stop(0, &mut at_once), Err(Lost::Silent));
    }

    #[test]
    fn a_number_that_is_not_due_is_found() {
        let with = |number| HandoffLine(AtomicU64::new(number));
        assert_eq!(with(9).answer(2, 1, &mut at_once), Err(Lost::Wrong { expected: 5, found: 9 }));
        assert_eq!(with(STOP).answer(2, 1, &mut at_once), Err(Lost::Stopped));
        assert_eq!(with(5).answer(2, 1, &mut at_once), Ok(()));
    }
}
