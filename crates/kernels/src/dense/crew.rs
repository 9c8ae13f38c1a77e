//! The threads that work on one problem together, and how they wait without the operating system.
//!
//! A crew starts no thread: its caller calls the same method of a problem on every thread. They wait by spinning, since a
//! wait is short compared with a system call; a long one calls `pause`. If a thread panics or gives up, every other thread
//! returns [`Abandoned`], now and in every later call.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The most threads of a crew.
pub const MOST_THREADS: usize = 1024;

/// Checks of the condition between two calls of `pause`: about ten microseconds, as a processor's spin hint takes 10 to
/// 140 cycles. Short compared with a thread's time slice, long compared with a meeting.
const PATIENCE: u32 = 256;

/// No thread works on the problem.
const IDLE: usize = 0;

/// The phases of a problem, for each of which all threads of its crew meet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Fill = 1,
    Work,
    Check,
}

/// The threads that work on a problem, and what they do during long waits.
#[derive(Debug)]
pub struct Crew {
    threads: usize,
    pause: fn(),
    arrived: AtomicUsize,
    meetings: AtomicUsize,
    phase: AtomicUsize,
    /// A bit for each thread that is inside.
    inside: [AtomicU64; MOST_THREADS / 64],
    abandoned: AtomicBool,
}

/// A thread of the crew has panicked, or the crew was called wrongly: twice under the same number, by more threads than
/// it has, or for two phases at a time. The problem's state is undefined; all its methods return this from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread of the crew has stopped, so that the other threads cannot continue; start with a new problem")]
pub struct Abandoned;

/// What a thread brings from work that the whole crew does.
pub(super) type Done<R> = Result<R, Abandoned>;

impl Crew {
    /// A crew of 1 to [`MOST_THREADS`] threads (clamped), which calls `pause` about every ten microseconds of waiting.
    pub fn new(threads: usize, pause: fn()) -> Self {
        Self {
            threads: threads.clamp(1, MOST_THREADS),
            pause,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            phase: AtomicUsize::new(IDLE),
            inside: [const { AtomicU64::new(0) }; MOST_THREADS / 64],
            abandoned: AtomicBool::new(false),
        }
    }

    /// Its threads.
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Gives up: every thread that waits, now or later, returns an error.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// Whether a thread has given up.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Does `work` with all threads of the crew, each of which calls this with its own number below
    /// [`threads`](Self::threads) and the same phase. No thread begins before all have arrived and one of them has called
    /// `before`, and none returns before all have finished.
    pub(super) fn together<R>(
        &self,
        thread: usize,
        phase: Phase,
        before: impl FnOnce(),
        work: impl FnOnce() -> Done<R>,
    ) -> Done<R> {
        let leave = self.enter(thread, phase)?;
        self.meet_and(before)?;
        let result = work()?;
        self.meet_and(|| self.phase.store(IDLE, Ordering::Relaxed))?;
        leave.finished();
        Ok(result)
    }

    #[inline]
    pub(super) fn meet(&self) -> Result<(), Abandoned> {
        self.meet_and(|| {})
    }

    /// Waits until all threads of the crew have arrived and the last of them has called `last`.
    pub(super) fn meet_and(&self, last: impl FnOnce()) -> Result<(), Abandoned> {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            if self.is_abandoned() {
                return Err(Abandoned);
            }
            last();
            self.arrived.store(0, Ordering::Relaxed);
            self.meetings.store(meeting.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        self.wait_until(|| self.meetings.load(Ordering::Acquire) != meeting)
    }

    pub(super) fn wait_until(&self, mut is_so: impl FnMut() -> bool) -> Result<(), Abandoned> {
        let mut looks = 0_u32;
        while !is_so() {
            if self.is_abandoned() {
                return Err(Abandoned);
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(PATIENCE) {
                (self.pause)();
            }
            spin_loop();
        }
        if self.is_abandoned() { Err(Abandoned) } else { Ok(()) }
    }

    /// Registers a thread for a phase; the returned guard abandons the crew unless it is finished.
    fn enter(&self, thread: usize, phase: Phase) -> Result<Leave<'_>, Abandoned> {
        if thread >= self.threads {
            self.abandon();
            return Err(Abandoned);
        }
        let bit = 1 << (thread % 64);
        if self.inside[thread / 64].fetch_or(bit, Ordering::AcqRel) & bit != 0 {
            self.abandon();
            return Err(Abandoned);
        }
        let leave = Leave { crew: self, thread };
        let agreed = self.phase.compare_exchange(IDLE, phase as usize, Ordering::AcqRel, Ordering::Acquire);
        // Dropping `leave` abandons the crew.
        if agreed.is_ok() || agreed == Err(phase as usize) { Ok(leave) } else { Err(Abandoned) }
    }
}

/// Abandons the crew when dropped, as by a panic.
struct Leave<'a> {
    crew: &'a Crew,
    thread: usize,
}

impl Leave<'_> {
    /// The thread has done its part and may come again.
    fn finished(self) {
        self.crew.inside[self.thread / 64].fetch_and(!(1 << (self.thread % 64)), Ordering::AcqRel);
        core::mem::forget(self);
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.crew.abandon();
    }
}
