//! A cache line handed from one core to another and back: one core writes a number, the other waits for it and answers
//! with the next. Both wait by loading without the processor's spin hint, which lets a core sleep for up to some
//! hundred cycles, as long as what is measured. Numbers only grow, so any that is skipped, repeated or invented is
//! detected.

use core::sync::atomic::{AtomicU64, Ordering};

/// Loads between two calls of `give_up`: tens of microseconds, long compared with any hand-over.
const PATIENCE: u32 = 1 << 16;

/// The number with which the asking side stops.
const STOP: u64 = u64::MAX;

/// A cache line alone in its pair of 128 bytes, which prefetchers fetch together (Intel, "64 and IA-32 Architectures
/// Optimization Reference Manual", the spatial prefetcher); on aarch64 alone in the longest line, A64FX's 256 bytes.
#[cfg_attr(not(target_arch = "aarch64"), repr(C, align(128)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(256)))]
#[derive(Debug, Default)]
pub struct HandoffLine(AtomicU64);

/// Why a line did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum Lost {
    #[error("there are no more questions")]
    Stopped,
    #[error("the other side does not answer")]
    Silent,
    #[error("the line holds {found} instead of {expected}")]
    Wrong { expected: u64, found: u64 },
}

impl HandoffLine {
    /// Asks `trips` times, each time waiting for the answer, after `made` round trips on this line. `give_up` is called
    /// now and then while waiting.
    #[inline(never)]
    pub fn ask(&self, made: u64, trips: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        for question in (made..made + trips).map(|trip| 2 * trip + 1) {
            self.0.store(question, Ordering::Release);
            expect(self.other_than(question, give_up)?, question + 1)?;
        }
        Ok(())
    }

    /// Answers `trips` times, after `made` round trips on this line. Fails with [`Lost::Stopped`] if the asking side
    /// has stopped.
    #[inline(never)]
    pub fn answer(&self, made: u64, trips: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        for last_answer in (made..made + trips).map(|trip| 2 * trip) {
            expect(self.other_than(last_answer, give_up)?, last_answer + 1)?;
            self.0.store(last_answer + 2, Ordering::Release);
        }
        Ok(())
    }

    /// Makes the answering side stop, and waits until it calls [`stopped`](Self::stopped) with its number of round
    /// trips, which must be `made`.
    pub fn stop(&self, made: u64, give_up: &mut dyn FnMut() -> bool) -> Result<(), Lost> {
        self.0.store(STOP, Ordering::Release);
        expect(self.other_than(STOP, give_up)?, 2 * made)
    }

    /// Confirms that the answering side has stopped after `made` round trips.
    pub fn stopped(&self, made: u64) {
        self.0.store(2 * made, Ordering::Release);
    }

    /// Round trips made on this line.
    pub fn made(&self) -> u64 {
        self.0.load(Ordering::Acquire) / 2
    }

    /// The first number in the line other than this one.
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

    /// Gives up at the first call.
    fn at_once() -> bool {
        true
    }

    #[test]
    fn an_absent_other_side_is_silent() {
        let line = HandoffLine::default();
        assert_eq!(line.answer(0, 1, &mut at_once), Err(Lost::Silent));
        assert_eq!(line.ask(0, 1, &mut at_once), Err(Lost::Silent));
        assert_eq!(line.stop(0, &mut at_once), Err(Lost::Silent));
    }

    #[test]
    fn a_wrong_number_is_detected() {
        let line = if cfg!(target_arch = "aarch64") { 256 } else { 128 };
        assert_eq!((size_of::<HandoffLine>(), align_of::<HandoffLine>()), (line, line));
        let with = |number| HandoffLine(AtomicU64::new(number));
        assert_eq!(with(9).answer(2, 1, &mut at_once), Err(Lost::Wrong { expected: 5, found: 9 }));
        assert_eq!(with(STOP).answer(2, 1, &mut at_once), Err(Lost::Stopped));
        assert_eq!(with(5).answer(2, 1, &mut at_once), Ok(()));
    }
}
