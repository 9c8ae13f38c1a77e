//! A stream over TCP: one end sends as fast as it can, the other receives and counts.
//!
//! Only what was received counts, by the receiver's clock. Socket buffers are left alone, so that the kernel adapts them;
//! sends and receives are of the experiment's block size, as iperf3's are. Every receive is checked at both of its ends,
//! and after each window a MiB of the stream byte by byte: each byte follows from its place, so one that was lost or came
//! twice would shift all that follow.
//!
//! Beside the system call a receive costs a look at the time, some additions to what the thread alone writes, and two
//! comparisons of words; a send the time and a number. The look at the time does not wait for what was before it: the way
//! out of the kernel has done so.
//!
//! Of work that is done in full each flow has its share. A stream from the near end is silent until the window has begun
//! at the far end, so that every byte is counted there. One towards it runs all the time: what is under way when the
//! window begins is received first, and then the share of bytes.

use std::io;
use std::net::TcpStream;

use model::document::NetConditions;
use socket2::SockRef;
use sys::clock::thread_cpu_seconds;
use sys::net::zero_copy::Told;

use super::link::blocks::{Inbox, Outbox};
use super::link::content::Content;
use super::link::headers::tcp_link_bytes;
use super::link::sent::{self, InSamples, Look};
use super::link::windows::Windows;
use super::near::{SILENCE, gone, trouble};
use super::part::{Moment, Part};
use crate::engines::{FlowMetric, FlowProfile, Tally, Window};
use crate::net::messages::{Counted, TcpSent};

const METRICS: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::CpuCost, FlowMetric::Retransmits];

/// The same where both directions are measured at once.
const BOTH_METRICS: &[FlowMetric] =
    &[FlowMetric::Bytes, FlowMetric::Up, FlowMetric::Down, FlowMetric::CpuCost, FlowMetric::Retransmits];

/// A stream before its window: full buffers drain, and sender and receiver find their pace.
const LEAD_MICROSECONDS: u32 = 20_000;

/// Bytes compared in full after each window.
const VERIFIED_BYTES: usize = 1 << 20;

/// Receives for them at most: tiny blocks take a system call each.
const VERIFYING_RECEIVES: usize = 4096;

/// CPU seconds inside samples, of the sending and of the receiving thread of a flow; `None` once one is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost(Option<(f64, f64)>);

impl Cost {
    /// Nothing yet.
    pub(super) const fn new() -> Self {
        Self(Some((0.0, 0.0)))
    }

    /// Adds what both ends used in a window, and notes it with the window's bytes.
    pub(super) fn add(&mut self, sending: Option<f64>, receiving: Option<f64>, tally: &mut Tally) {
        tally.carried.cpu_seconds = sending.zip(receiving).map(|(one, other)| one + other);
        let (before, now) = (self.0, sending.zip(receiving));
        self.0 = before.zip(now).map(|((one, other), (more, too))| (one + more, other + too));
    }

    /// Notes the sums; of a flow without a sample there are none.
    pub(super) fn describe(self, seen: &mut NetConditions) {
        let used = self.0.filter(|(sending, receiving)| sending + receiving > 0.0);
        (seen.sending_cpu_seconds, seen.receiving_cpu_seconds) = used.unzip();
    }
}

/// What a thread keeps of its flow over the samples of a launch.
struct Ledger {
    both: bool,
    cost: Cost,
    sent: InSamples,
}

impl Ledger {
    fn new(both: bool) -> Self {
        Self { both, cost: Cost::new(), sent: InSamples::default() }
    }

    fn profile(&self) -> FlowProfile {
        FlowProfile {
            metrics: if self.both { BOTH_METRICS } else { METRICS },
            lead_microseconds: LEAD_MICROSECONDS,
            drains: false,
        }
    }

    fn start_over(&mut self) {
        *self = Self::new(self.both);
    }

    /// Notes what a window cost, and what TCP did for its sender.
    fn note(
        &mut self,
        moment: &Moment<'_>,
        (sending, receiving): (Option<f64>, Option<f64>),
        sent: Option<TcpSent>,
        tally: &mut Tally,
    ) {
        tally.carried.retransmits = sent.and_then(|sent| sent.retransmits);
        self.cost.add(sending, receiving, tally);
        moment.session.tell_sent(moment.thread, self.sent.add(sent));
    }

    fn describe(&self, stream: &TcpStream, seen: &mut NetConditions) {
        seen.link_bytes = tcp_link_bytes(stream);
        seen.receive_buffer_bytes = SockRef::from(stream).recv_buffer_size().ok().map(|bytes| bytes as u64);
        self.cost.describe(seen);
    }
}

/// The near end of a stream towards it, which receives and counts.
pub(super) struct Receiver {
    stream: TcpStream,
    inbox: Inbox,
    ledger: Ledger,
}

impl Receiver {
    /// One for this connection; `both` says that there are senders beside it.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: Content, both: bool) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self { stream, inbox: Inbox::new(content), ledger: Ledger::new(both) })
    }

    /// Receives until the window has passed. Returns the CPU seconds that its part inside the window took.
    fn receive_until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<f64, String> {
        let Moment { timer, window, .. } = *moment;
        // The receive that the window begins in counts as the one that it ends in does not.
        let mut now = 0;
        while now < window.begin {
            let count = self.receive_checked()?;
            now = timer.now_unordered();
            tally.came(now, count as u64);
        }
        let before = thread_cpu_seconds();
        while now < window.end {
            let count = self.receive_checked()?;
            now = timer.now_unordered();
            tally.came(now, count as u64);
        }
        Ok(thread_cpu_seconds() - before)
    }

    /// Receives so many bytes, once what was under way before has come. Returns the CPU seconds that they took.
    fn receive_in_full(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> Result<f64, String> {
        let timer = moment.timer;
        let settled = timer.now() + timer.ticks(f64::from(LEAD_MICROSECONDS) * 1e-6);
        while timer.now() < settled {
            self.receive_checked()?;
        }
        let before = thread_cpu_seconds();
        let mut now = timer.now();
        tally.begin(Window { begin: now, end: Window::NO_END });
        let mut left = bytes.max(1);
        while left > 0 {
            let count = left.min(self.receive_checked()? as u64);
            now = timer.now_unordered();
            tally.came(now, count);
            left -= count;
        }
        tally.over(now);
        Ok(thread_cpu_seconds() - before)
    }

    #[inline]
    fn receive_checked(&mut self) -> Result<usize, String> {
        let count = self.receive()?;
        self.inbox.check_ends(count).map_err(|wrong| wrong.sentence())?;
        Ok(count)
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, String> {
        match self.inbox.receive(&self.stream) {
            Ok(0) => Err(gone("it closed its connections")),
            Ok(count) => Ok(count),
            Err(error) => Err(trouble(&error)),
        }
    }
}

impl Part for Receiver {
    fn profile(&self) -> FlowProfile {
        self.ledger.profile()
    }

    fn warmed_up(&mut self) {
        self.ledger.start_over();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        moment.session.announce(moment.number, moment.window, None, moment.timer)?;
        let used = match moment.in_full() {
            Some(bytes) => self.receive_in_full(moment, bytes, tally)?,
            None => self.receive_until(moment, tally)?,
        };
        let there = moment.session.counted(moment.number, moment.thread, 0)?;
        self.ledger.note(moment, (there.cpu_seconds, Some(used)), there.tcp, tally);
        Ok(())
    }

    /// Compares the next part of the stream byte by byte.
    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut verified = 0;
        for _ in 0..VERIFYING_RECEIVES {
            let count = self.receive()?;
            self.inbox.check_all(count).map_err(|wrong| wrong.sentence())?;
            verified += count;
            if verified >= VERIFIED_BYTES {
                break;
            }
        }
        // Those that send beside it ask too, and everyone has to.
        moment.session.counted(moment.number, moment.thread, 0).map(drop)
    }

    fn describe(&self, seen: &mut NetConditions) {
        self.ledger.describe(&self.stream, seen);
    }
}

/// The near end of a stream from it, which only sends.
pub(super) struct Sender {
    // Before the connection: what is still to be told of spared copies is told on it.
    outbox: Outbox,
    stream: TcpStream,
    ledger: Ledger,
}

/// What sending took inside a window.
struct Took {
    cpu_seconds: f64,
    sent: Option<TcpSent>,
}

impl Sender {
    /// One for this connection; `both` says that there are receivers beside it, `zero_copy` that copies are to be spared.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: &Content, both: bool, zero_copy: bool) -> io::Result<Self> {
        stream.set_write_timeout(Some(SILENCE))?;
        let outbox = Outbox::new(content, zero_copy.then_some(&stream))?;
        Ok(Self { outbox, stream, ledger: Ledger::new(both) })
    }

    /// Sends until the window has passed.
    fn send_until(&mut self, moment: &Moment<'_>) -> Result<Took, String> {
        let Moment { timer, window, .. } = *moment;
        while timer.now_unordered() < window.begin {
            self.send()?;
        }
        let (before, told, look) = (thread_cpu_seconds(), self.outbox.told(), Look::at(&self.stream));
        while timer.now_unordered() < window.end {
            self.send()?;
        }
        let cpu_seconds = thread_cpu_seconds() - before;
        Ok(Took { cpu_seconds, sent: self.sent_since(&look, told) })
    }

    /// What TCP did since a look, and what became of spared copies since so much was told of them.
    fn sent_since(&self, look: &Look, told: Option<Told>) -> Option<TcpSent> {
        let sent = look.until_now(&self.stream)?;
        Some(sent::with_zero_copies(sent, told, self.outbox.told()))
    }

    /// Sends so many bytes, in whole blocks; what the far end counted of them.
    fn send_in_full(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> Result<(Took, Counted), String> {
        let blocks = bytes.div_ceil(self.outbox.block_bytes()).max(1);
        let (before, told, look) = (thread_cpu_seconds(), self.outbox.told(), Look::at(&self.stream));
        (0..blocks).try_for_each(|_| self.send())?;
        let cpu_seconds = thread_cpu_seconds() - before;
        let there = moment.session.counted(moment.number, moment.thread, self.outbox.sent_bytes())?;
        let sent = blocks * self.outbox.block_bytes();
        if there.bytes != sent {
            return Err(format!("of {sent} bytes that were sent {} came at the other end", there.bytes));
        }
        tally.over(moment.window.begin + moment.timer.ticks(there.seconds));
        Ok((Took { cpu_seconds, sent: self.sent_since(&look, told) }, there))
    }

    #[inline]
    fn send(&mut self) -> Result<(), String> {
        self.outbox.send(&self.stream).map_err(|error| trouble(&error))
    }
}

impl Part for Sender {
    fn profile(&self) -> FlowProfile {
        self.ledger.profile()
    }

    fn warmed_up(&mut self) {
        self.ledger.start_over();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        moment.session.announce(moment.number, moment.window, None, moment.timer)?;
        let (took, there) = if let Some(bytes) = moment.in_full() {
            self.send_in_full(moment, bytes, tally)?
        } else {
            let took = self.send_until(moment)?;
            (took, moment.session.counted(moment.number, moment.thread, self.outbox.sent_bytes())?)
        };
        tally.counted_there(there.messages, there.bytes);
        tally.carried.up_bytes = there.bytes;
        self.ledger.note(moment, (Some(took.cpu_seconds), there.cpu_seconds), took.sent, tally);
        Ok(())
    }

    /// Sends so much more that the far end can compare its part byte by byte: an answer at all says that it was right.
    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let blocks = (VERIFIED_BYTES as u64).div_ceil(self.outbox.block_bytes()).min(VERIFYING_RECEIVES as u64);
        (0..blocks).try_for_each(|_| self.send())?;
        moment.session.counted(moment.number, moment.thread, self.outbox.sent_bytes()).map(drop)
    }

    fn describe(&self, seen: &mut NetConditions) {
        self.ledger.describe(&self.stream, seen);
    }
}

/// The far end of a stream towards it: receives all the time, and counts what comes inside windows.
///
/// # Errors
/// What the kernel said, other than that the connection has ended; something came that was not sent.
pub(super) fn receive_all(stream: &TcpStream, content: Content, windows: &Windows, thread: usize) -> io::Result<()> {
    let mut inbox = Inbox::new(content);
    // The window whose end is still to come, and bytes to be compared in full after it.
    let (mut last, mut unverified) = (0, 0_usize);
    loop {
        let count = match inbox.receive(stream) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if is_end(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let now = windows.timer().now_unordered();
        if unverified > 0 && !windows.lasts(now) {
            inbox.check_all(count)?;
            unverified = unverified.saturating_sub(count);
        } else {
            inbox.check_ends(count)?;
            if windows.number() != last {
                (last, unverified) = (windows.number(), VERIFIED_BYTES);
            }
        }
        // Only what has been found right counts.
        windows.note(thread, now, 1, count as u64);
    }
}

/// The far end of a stream from it: sends blocks until nobody receives them any more.
///
/// # Errors
/// What the kernel said, other than that the connection has ended.
pub(super) fn send_all(
    stream: &TcpStream,
    content: &Content,
    zero_copy: bool,
    windows: &Windows,
    thread: usize,
) -> io::Result<()> {
    let mut outbox = Outbox::new(content, zero_copy.then_some(stream))?;
    let mut last = Told::default();
    if let Some(told) = outbox.told() {
        // Nothing yet, which is known: a first window in which the kernel tells nothing has spared nothing.
        windows.note_zero_copies(thread, told);
    }
    loop {
        if let Err(error) = outbox.send(stream) {
            return if is_end(&error) { Ok(()) } else { Err(error) };
        }
        windows.note(thread, windows.timer().now_unordered(), 1, outbox.block_bytes());
        if let Some(told) = outbox.told().filter(|told| *told != last) {
            last = told;
            windows.note_zero_copies(thread, told);
        }
    }
}

/// Whether this is how a connection ends.
pub(super) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof, WriteZero};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof | WriteZero)
}
