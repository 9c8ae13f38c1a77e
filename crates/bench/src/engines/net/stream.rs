//! A stream over TCP: one end sends as fast as it can, in blocks as iperf3 does; the other receives and counts. Every receive is
//! checked at both of its ends, and after each window a MiB of the stream byte by byte. When work is done in full, a stream from
//! the client is silent until the window has begun at the server; to the client, what is in flight is received first.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use model::document::NetConditions;
use sys::clock::thread_cpu_seconds;
use sys::net::tcp::{TcpState, tcp_state};
use sys::net::zero_copy::Reported;

use super::link::blocks::{Inbox, Outbox};
use super::link::content::Content;
use super::link::sent::{self, InSamples};
use super::link::sizes::{receive_buffer_bytes, tcp_link_bytes};
use super::link::windows::Windows;
use super::part::{Moment, Part};
use super::session::{Failure, Session};
use crate::engines::{Tally, Window};
use crate::net::frames::SILENCE;
use crate::net::messages::TcpSent;

/// What is in flight before a window without an end is received within this time.
const SETTLING_SECONDS: f64 = 0.02;
const VERIFIED_BYTES: usize = 1 << 20;
/// At most this many receives for them, because tiny blocks take a system call each.
const VERIFYING_RECEIVES: usize = 4096;

/// CPU seconds inside samples, of the sending and of the receiving thread of a flow; `None` once one is unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost(Option<(f64, f64)>);

impl Cost {
    pub(super) const fn new() -> Self {
        Self(Some((0.0, 0.0)))
    }

    /// Adds what both ends used in a window, and notes it with the window's bytes.
    pub(super) fn add(&mut self, [sending, receiving]: [Option<f64>; 2], tally: &mut Tally) {
        let now = sending.zip(receiving);
        tally.carried.cpu_seconds = now.map(|(one, other)| one + other);
        self.0 = self.0.zip(now).map(|((one, other), (more, too))| (one + more, other + too));
    }

    pub(super) fn describe(self, seen: &mut NetConditions) {
        let used = self.0.filter(|(sending, receiving)| sending + receiving > 0.0);
        (seen.sending_cpu_seconds, seen.receiving_cpu_seconds) = used.unzip();
    }
}

struct Ledger {
    cost: Cost,
    sent: InSamples,
}

impl Ledger {
    fn new() -> Self {
        Self { cost: Cost::new(), sent: InSamples::default() }
    }

    fn note(&mut self, moment: &Moment<'_>, cpu: [Option<f64>; 2], sent: Option<TcpSent>, tally: &mut Tally) {
        tally.carried.retransmits = sent.and_then(|sent| sent.tcp.retransmits);
        self.cost.add(cpu, tally);
        moment.session.note_sent(moment.thread, self.sent.add(sent));
    }

    fn describe(&self, stream: &TcpStream, seen: &mut NetConditions) {
        seen.link_bytes = tcp_link_bytes(stream);
        seen.receive_buffer_bytes = receive_buffer_bytes(stream);
        self.cost.describe(seen);
    }
}

pub(super) struct Receiver {
    stream: TcpStream,
    inbox: Inbox,
    ledger: Ledger,
}

impl Receiver {
    pub(super) fn new(stream: TcpStream, content: Content, silence: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(silence))?;
        Ok(Self { stream, inbox: Inbox::new(content), ledger: Ledger::new() })
    }

    /// Receives until the window has passed. Returns the CPU seconds inside the window.
    fn receive_until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> io::Result<f64> {
        let Moment { timer, window, .. } = *moment;
        // The receive in which the window begins counts, the one in which it ends does not.
        let (mut now, mut before) = (0, None);
        while now < window.end {
            if now >= window.begin && before.is_none() {
                before = Some(thread_cpu_seconds());
            }
            let count = self.inbox.take(&self.stream, false)?;
            now = timer.now_unordered();
            tally.came(now, count as u64);
        }
        Ok(before.map_or(0.0, |before| thread_cpu_seconds() - before))
    }

    /// Receives this many bytes, after those that were in flight before. Returns the CPU seconds.
    fn receive_in_full(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> io::Result<f64> {
        let timer = moment.timer;
        let settled = timer.now() + timer.ticks(SETTLING_SECONDS);
        while timer.now() < settled {
            self.inbox.take(&self.stream, false)?;
        }
        let before = thread_cpu_seconds();
        let mut now = timer.now();
        tally.begin(Window { begin: now, end: Window::NO_END });
        let mut left = bytes.max(1);
        while left > 0 {
            let count = left.min(self.inbox.take(&self.stream, false)? as u64);
            now = timer.now_unordered();
            tally.came(now, count);
            left -= count;
        }
        tally.over(now);
        Ok(thread_cpu_seconds() - before)
    }
}

impl Part for Receiver {
    fn warmed_up(&mut self) {
        self.ledger = Ledger::new();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        moment.announce(None)?;
        let used = match moment.in_full() {
            Some(bytes) => self.receive_in_full(moment, bytes, tally)?,
            None => self.receive_until(moment, tally)?,
        };
        let there = moment.counted(0)?;
        self.ledger.note(moment, [there.cpu_seconds, Some(used)], there.tcp, tally);
        Ok(())
    }

    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), Failure> {
        let mut verified = 0;
        for _ in 0..VERIFYING_RECEIVES {
            verified += self.inbox.take(&self.stream, true)?;
            if verified >= VERIFIED_BYTES {
                break;
            }
        }
        // Every thread has to ask: those that send do.
        moment.counted(0)?;
        Ok(())
    }

    fn describe(&self, _: &Session, seen: &mut NetConditions) {
        self.ledger.describe(&self.stream, seen);
    }
}

pub(super) struct Sender {
    // Before the connection, on which the kernel reports the copies that were still open.
    outbox: Outbox,
    stream: TcpStream,
    ledger: Ledger,
}

impl Sender {
    pub(super) fn new(stream: TcpStream, content: &Content, zero_copy: bool, silence: Duration) -> io::Result<Self> {
        stream.set_write_timeout(Some(silence))?;
        let outbox = Outbox::new(content, zero_copy.then_some((&stream, silence)))?;
        Ok(Self { outbox, stream, ledger: Ledger::new() })
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        self.outbox.send(&self.stream)
    }

    /// What TCP did since a look, and what became of spared copies since this report.
    fn sent_since(&self, look: Option<&TcpState>, reported: Option<Reported>) -> Option<TcpSent> {
        let sent = sent::since(look, &self.stream)?;
        Some(sent::with_zero_copies(sent, reported, self.outbox.zero_copies()))
    }
}

impl Part for Sender {
    fn warmed_up(&mut self) {
        self.ledger = Ledger::new();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        let Moment { timer, window, .. } = *moment;
        moment.announce(None)?;
        let blocks = moment.in_full().map(|bytes| bytes.div_ceil(self.outbox.block_bytes).max(1));
        while blocks.is_none() && timer.now_unordered() < window.begin {
            self.send()?;
        }
        let (before, reported, look) = (thread_cpu_seconds(), self.outbox.zero_copies(), tcp_state(&self.stream));
        if let Some(blocks) = blocks {
            (0..blocks).try_for_each(|_| self.send())?;
        } else {
            while timer.now_unordered() < window.end {
                self.send()?;
            }
        }
        let used = thread_cpu_seconds() - before;
        let mut sent = self.sent_since(look.as_ref(), reported);
        let there = moment.counted(self.outbox.sent_bytes())?;
        if let Some(blocks) = blocks {
            let bytes = blocks * self.outbox.block_bytes;
            if there.bytes != bytes {
                return Err(format!("of {bytes} bytes that were sent {} arrived at the server", there.bytes).into());
            }
            tally.over(window.begin + timer.ticks(there.seconds));
            // Until the last byte was received.
            sent = self.sent_since(look.as_ref(), reported);
        }
        tally.counted_there(there.messages, there.bytes);
        tally.carried.up_bytes = there.bytes;
        self.ledger.note(moment, [Some(used), there.cpu_seconds], sent, tally);
        Ok(())
    }

    /// Sends another part, which the server compares byte by byte: it answers only if that was right.
    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), Failure> {
        let blocks = (VERIFIED_BYTES as u64).div_ceil(self.outbox.block_bytes).min(VERIFYING_RECEIVES as u64);
        (0..blocks).try_for_each(|_| self.send())?;
        moment.counted(self.outbox.sent_bytes())?;
        Ok(())
    }

    fn describe(&self, _: &Session, seen: &mut NetConditions) {
        self.ledger.describe(&self.stream, seen);
    }
}

/// The server of a stream to it: receives all the time, and counts what arrives inside windows.
pub(super) fn receive_all(stream: &TcpStream, content: Content, windows: &Windows, thread: usize) -> io::Result<()> {
    let mut inbox = Inbox::new(content);
    // The last window, and bytes to be compared in full after it.
    let (mut last, mut unverified) = (0, 0_usize);
    loop {
        let count = inbox.receive(stream)?;
        let now = windows.timer().now_unordered();
        let in_full = unverified > 0 && !windows.lasts(now);
        inbox.check(count, in_full)?;
        if in_full {
            unverified = unverified.saturating_sub(count);
        } else if windows.number() != last {
            (last, unverified) = (windows.number(), VERIFIED_BYTES);
        }
        // Only checked bytes count.
        windows.note(thread, now, 1, count as u64);
    }
}

/// The server of a stream from it: sends blocks until the connection ends.
pub(super) fn send_all(
    stream: &TcpStream,
    content: &Content,
    zero_copy: bool,
    windows: &Windows,
    thread: usize,
) -> io::Result<()> {
    let mut outbox = Outbox::new(content, zero_copy.then_some((stream, SILENCE)))?;
    let mut last = None;
    loop {
        // Noted before the first block too: a window in which the kernel reports nothing has spared no copy.
        let reported = outbox.zero_copies();
        if let Some(reported) = reported.filter(|reported| last != Some(*reported)) {
            windows.note_zero_copies(thread, reported);
        }
        last = reported;
        outbox.send(stream)?;
        windows.note(thread, windows.timer().now_unordered(), 1, outbox.block_bytes);
    }
}
