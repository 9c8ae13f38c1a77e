//! The windows of a process run at the server, and what its threads count in each. The threads always work; a window only
//! selects what counts. The control connection's thread opens windows and reads the counts; every other thread writes its own.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use sys::clock::Timer;
use sys::net::tcp::{TcpState, tcp_state};
use sys::net::zero_copy::Reported;
use sys::usage::CpuClock;

use super::sent;
use crate::locks::lock;
use crate::net::messages::{Announced, Counted, Datagrams};

/// The end of a window that lasts until it is counted.
const NO_END: u64 = u64::MAX;

/// The counts of one thread on its own cache lines: without another writer, a store takes a tenth of an atomic addition.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    number: AtomicU32,
    bytes: AtomicU64,
    messages: AtomicU64,
    /// When the last message arrived or left, in ticks.
    last: AtomicU64,
    /// Bytes since the process run began, inside windows and outside.
    total: AtomicU64,
    datagrams: Mutex<Option<Datagrams>>,
    clock: OnceLock<CpuClock>,
    /// The connection of a sender over TCP.
    connection: OnceLock<TcpStream>,
    /// The kernel's report of spared copies since the process run began.
    zero_copies: Mutex<Option<Reported>>,
}

/// What is only counted since the process run began, at the start or the end of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    cpu_seconds: Option<f64>,
    tcp: Option<TcpState>,
    zero_copies: Option<Reported>,
}

#[inline]
fn add(count: &AtomicU64, more: u64, order: Ordering) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(more), order);
}

pub(crate) struct Windows {
    timer: Timer,
    number: AtomicU32,
    begin: AtomicU64,
    end: AtomicU64,
    /// Bits of an `f64`: what all senders together send.
    bytes: AtomicU64,
    over: AtomicBool,
    /// When the client was heard last, in ticks.
    heard: AtomicU64,
    slots: Vec<Slot>,
    before: Mutex<Vec<Reading>>,
}

impl Windows {
    pub(crate) fn new(threads: usize, timer: Timer) -> Self {
        let slots = (0..threads).map(|_| Slot::default()).collect();
        let (number, begin, end, bytes, over, before) = Default::default();
        Self { timer, number, begin, end, bytes, over, heard: AtomicU64::new(timer.now()), slots, before }
    }

    pub(crate) fn timer(&self) -> &Timer {
        &self.timer
    }

    pub(crate) fn enter(&self, thread: usize) {
        if let (Some(slot), Some(clock)) = (self.slots.get(thread), CpuClock::of_this_thread()) {
            let _ = slot.clock.set(clock);
        }
    }

    /// Registers the connection of a sender, so that the counts contain what TCP did for it.
    pub(crate) fn watch(&self, thread: usize, connection: &TcpStream) -> io::Result<()> {
        if let Some(slot) = self.slots.get(thread) {
            let _ = slot.connection.set(connection.try_clone()?);
        }
        Ok(())
    }

    /// Opens the window that was announced just now, and waits until it has begun.
    pub(crate) fn open(&self, announced: &Announced) {
        let begin = self.timer.now() + self.timer.ticks(announced.begins_in_seconds);
        self.end.store(0, Ordering::Release);
        for slot in &self.slots {
            *lock(&slot.datagrams) = None;
        }
        self.bytes.store(announced.bytes.unwrap_or(f64::INFINITY).to_bits(), Ordering::Relaxed);
        self.begin.store(begin, Ordering::Release);
        let end = announced.seconds.map_or(NO_END, |seconds| begin + self.timer.ticks(seconds));
        self.number.store(announced.number, Ordering::Release);
        // A thread that sees this end sees all of the above too.
        self.end.store(end, Ordering::Release);
        self.sleep_until(begin);
        *lock(&self.before) = self.readings();
    }

    fn readings(&self) -> Vec<Reading> {
        let one = |slot: &Slot| Reading {
            cpu_seconds: slot.clock.get().and_then(|clock| clock.seconds()),
            tcp: slot.connection.get().and_then(tcp_state),
            zero_copies: *lock(&slot.zero_copies),
        };
        self.slots.iter().map(one).collect()
    }

    fn sleep_until(&self, ticks: u64) {
        let left = self.timer.seconds(self.timer.now().min(ticks), ticks);
        std::thread::sleep(Duration::from_secs_f64(left));
    }

    pub(crate) fn number(&self) -> u32 {
        self.number.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn holds(&self, now: u64) -> bool {
        let end = self.end.load(Ordering::Acquire);
        now < end && self.begin.load(Ordering::Acquire) <= now
    }

    /// Whether the window is open or about to be: senders that keep to a rate send until its end.
    #[inline]
    pub(crate) fn lasts(&self, now: u64) -> bool {
        now < self.end.load(Ordering::Acquire)
    }

    /// Bytes that all senders together are to send: per second, or in all where the window has no end.
    pub(crate) fn bytes(&self) -> f64 {
        f64::from_bits(self.bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.end.load(Ordering::Acquire) == NO_END
    }

    pub(crate) fn hear(&self) {
        self.heard.store(self.timer.now(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn silent_seconds(&self, now: u64) -> f64 {
        let heard = self.heard.load(Ordering::Relaxed);
        self.timer.seconds(heard.min(now), now)
    }

    #[inline]
    pub(crate) fn are_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn end_all(&self) {
        self.end.store(0, Ordering::Release);
        self.over.store(true, Ordering::Release);
    }

    /// Counts messages and their bytes that arrived or left at this moment.
    #[inline]
    pub(crate) fn note(&self, thread: usize, now: u64, messages: u64, bytes: u64) {
        let slot = &self.slots[thread];
        if self.holds(now) {
            let number = self.number.load(Ordering::Relaxed);
            if slot.number.load(Ordering::Relaxed) != number {
                slot.begin(number);
            }
            add(&slot.bytes, bytes, Ordering::Relaxed);
            add(&slot.messages, messages, Ordering::Relaxed);
            slot.last.store(now, Ordering::Relaxed);
        }
        // A thread that sees this total sees the counts that belong to it.
        add(&slot.total, bytes, Ordering::Release);
    }

    pub(crate) fn note_zero_copies(&self, thread: usize, reported: Reported) {
        *lock(&self.slots[thread].zero_copies) = Some(reported);
    }

    pub(crate) fn note_datagrams(&self, thread: usize, datagrams: Datagrams) {
        *lock(&self.slots[thread].datagrams) = Some(datagrams);
    }

    /// Bytes since the process run began, over all threads.
    pub(crate) fn total(&self) -> u64 {
        self.slots.iter().map(|slot| slot.total.load(Ordering::Acquire)).sum()
    }

    /// Waits until this many bytes have arrived on each connection since the process run began; `false` after a timeout.
    pub(crate) fn wait_for(&self, totals: &[u64], at_most: Duration) -> bool {
        let until = self.timer.now() + self.timer.ticks(at_most.as_secs_f64());
        let missing = |(slot, total): (&Slot, &u64)| slot.total.load(Ordering::Acquire) < *total;
        while self.slots.iter().zip(totals).any(missing) && !self.are_over() {
            if self.timer.now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }

    /// The counts of the window, once it has ended; a window without an end ends now.
    pub(crate) fn counts(&self) -> Vec<Counted> {
        /// A thread that read the time just before the end has written its count by then.
        const SETTLED: Duration = Duration::from_micros(200);
        let (begin, end) = (self.begin.load(Ordering::Acquire), self.end.load(Ordering::Acquire));
        if end == NO_END {
            self.end.store(self.timer.now(), Ordering::Release);
        } else {
            self.sleep_until(end);
        }
        let (before, after) = (std::mem::take(&mut *lock(&self.before)), self.readings());
        std::thread::sleep(SETTLED);
        let number = self.number();
        let one = |(thread, slot): (usize, &Slot)| {
            let [bytes, messages, last] = slot.counts(number);
            let (before, after) = (before.get(thread).copied().unwrap_or_default(), after[thread]);
            let tcp = before.tcp.zip(after.tcp).map(|(before, after)| sent::between(&before, &after));
            Counted {
                seconds: self.timer.seconds(begin, if end == NO_END { last.max(begin) } else { end }),
                bytes,
                messages,
                cpu_seconds: before.cpu_seconds.zip(after.cpu_seconds).map(|(from, to)| to - from),
                datagrams: *lock(&slot.datagrams),
                tcp: tcp.map(|tcp| sent::with_zero_copies(tcp, before.zero_copies, after.zero_copies)),
            }
        };
        self.slots.iter().enumerate().map(one).collect()
    }
}

impl Slot {
    #[cold]
    fn begin(&self, number: u32) {
        for count in [&self.bytes, &self.messages, &self.last] {
            count.store(0, Ordering::Relaxed);
        }
        self.number.store(number, Ordering::Release);
    }

    /// Bytes and messages of a window and when the last of them came; 0 where it has counted nothing.
    fn counts(&self, number: u32) -> [u64; 3] {
        if self.number.load(Ordering::Acquire) != number {
            return [0; 3];
        }
        [&self.bytes, &self.messages, &self.last].map(|count| count.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(number: u32, seconds: f64) -> Announced {
        Announced { number, begins_in_seconds: 0.001, seconds: Some(seconds), bytes: None }
    }

    #[test]
    fn only_what_is_inside_counts_and_the_next_window_begins_at_nothing() {
        let windows = Windows::new(2, Timer::system());
        windows.note(0, windows.timer().now(), 1, 100);
        windows.open(&announced(1, 0.02));
        let inside = windows.begin.load(Ordering::Relaxed) + windows.timer().ticks(0.01);
        windows.note(0, inside, 2, 30);
        windows.note(1, inside, 1, 7);
        windows.note(0, inside + windows.timer().ticks(1.0), 1, 1000);
        let counts = windows.counts();
        assert_eq!((counts[0].bytes, counts[0].messages, counts[1].bytes), (30, 2, 7));
        assert!((counts[0].seconds - 0.02).abs() < 1e-6, "{counts:?}");
        windows.open(&announced(2, 0.01));
        assert_eq!((windows.number(), windows.counts()[0].bytes), (2, 0));
        windows.end_all();
        assert!(windows.are_over() && !windows.holds(windows.timer().now()));
    }
}
