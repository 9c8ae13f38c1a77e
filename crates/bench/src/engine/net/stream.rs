//! A stream over TCP: one end sends as fast as it can, the other receives and counts.
//!
//! Only what was received counts, by the receiver's clock. Socket buffers are left alone, so that the kernel adapts them;
//! sends and receives are of the experiment's block size, as iperf3's are. Every receive is checked at both of its ends,
//! and after each window a MiB of the stream byte by byte: each byte follows from its place, so one that was lost or came
//! twice would shift all that follow.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use model::document::NetConditions;
use socket2::SockRef;
use sys::clock::{Timer, thread_cpu_seconds};

use super::content::{Content, Place, number};
use super::near::{SILENCE, gone, trouble};
use super::part::{Moment, Part, tcp_link_bytes};
use super::windows::Windows;
use crate::engine::{FlowMetric, FlowProfile, Tally, Window};
use crate::net::words::Counted;

const METRICS: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::CpuCost];

/// The same where both directions are measured at once.
const BOTH_METRICS: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::Up, FlowMetric::Down, FlowMetric::CpuCost];

/// A stream before its window: full buffers drain, and sender and receiver find their pace.
const LEAD_MICROSECONDS: u32 = 20_000;

/// Bytes compared at either end of a receive: a block's number and some random bytes.
const CHECKED_BYTES: usize = 64;

/// Bytes compared in full after each window.
const VERIFIED_BYTES: usize = 1 << 20;

/// Receives for them at most: tiny blocks take a system call each.
const VERIFYING_RECEIVES: usize = 4096;

/// What comes on one connection, and how far it has come.
struct Inbox {
    content: Content,
    place: Place,
    buffer: Box<[u8]>,
}

/// What came is not what was sent.
struct Wrong(Place);

impl Wrong {
    fn sentence(&self) -> String {
        format!("what came is not what was sent, near byte {} of block {}", self.0.within, self.0.block)
    }
}

impl Inbox {
    fn new(content: Content) -> Self {
        // Numbered and random: pages that are there, and no zeros.
        let buffer = content.block();
        Self { content, place: Place::default(), buffer }
    }

    /// What has come, up to a block; 0 at the end. Waiting for more (`MSG_WAITALL`, `SO_RCVLOWAT` of half a block) was
    /// tried on a busy build machine: within 4 % of this, on a spread of 15 %.
    #[inline]
    fn receive(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        loop {
            match stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Compares the first and the last bytes of what has just come.
    #[inline]
    fn check_ends(&mut self, count: usize) -> Result<(), Wrong> {
        let block_bytes = self.content.block_bytes();
        let tail = count.saturating_sub(CHECKED_BYTES);
        let first = &self.buffer[..count.min(CHECKED_BYTES)];
        let right = self.content.holds(self.place, first)
            && (tail == 0 || self.content.holds(self.place.after(tail, block_bytes), &self.buffer[tail..count]));
        self.go_on(right, count)
    }

    /// Compares all of it.
    fn check_all(&mut self, count: usize) -> Result<(), Wrong> {
        let right = self.content.holds(self.place, &self.buffer[..count]);
        self.go_on(right, count)
    }

    #[inline]
    fn go_on(&mut self, right: bool, count: usize) -> Result<(), Wrong> {
        if !right {
            return Err(Wrong(self.place));
        }
        self.place = self.place.after(count, self.content.block_bytes());
        Ok(())
    }
}

/// The metrics of a stream.
fn profile(both: bool) -> FlowProfile {
    FlowProfile { metrics: if both { BOTH_METRICS } else { METRICS }, lead_microseconds: LEAD_MICROSECONDS }
}

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

/// The near end of a stream towards it, which receives and counts.
pub(super) struct Receiver {
    stream: TcpStream,
    inbox: Inbox,
    both: bool,
    cost: Cost,
}

impl Receiver {
    /// One for this connection; `both` says that there are senders beside it.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: Content, both: bool) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self { stream, inbox: Inbox::new(content), both, cost: Cost::new() })
    }

    /// Receives until the window has passed. Returns the CPU seconds that its part inside the window took.
    fn receive_until(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<f64, String> {
        let mut used = Used::default();
        loop {
            let count = self.receive()?;
            let now = timer.now();
            used.look(now, window);
            tally.came(now, count as u64);
            self.inbox.check_ends(count).map_err(|wrong| wrong.sentence())?;
            if now >= window.end {
                return Ok(used.seconds());
            }
        }
    }

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
        profile(self.both)
    }

    fn warmed_up(&mut self) {
        self.cost = Cost::new();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        moment.session.announce(moment.number, moment.window, None, moment.timer)?;
        let used = self.receive_until(moment.timer, moment.window, tally)?;
        let there = moment.session.counted(moment.number, moment.thread, 0)?;
        self.cost.add(there.cpu_seconds, Some(used), tally);
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
        describe(&self.stream, self.cost, seen);
    }
}

/// What a connection and its cost say of a launch.
fn describe(stream: &TcpStream, cost: Cost, seen: &mut NetConditions) {
    seen.link_bytes = tcp_link_bytes(stream);
    seen.receive_buffer_bytes = SockRef::from(stream).recv_buffer_size().ok().map(|bytes| bytes as u64);
    cost.describe(seen);
}

/// The near end of a stream from it, which only sends.
pub(super) struct Sender {
    stream: TcpStream,
    block: Box<[u8]>,
    blocks: u64,
    both: bool,
    cost: Cost,
}

impl Sender {
    /// One for this connection; `both` says that there are receivers beside it.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: &Content, both: bool) -> io::Result<Self> {
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Self { stream, block: content.block(), blocks: 0, both, cost: Cost::new() })
    }

    /// Bytes sent since the launch began.
    fn sent_bytes(&self) -> u64 {
        self.blocks * self.block.len() as u64
    }

    /// Sends until the window has passed. Returns the CPU seconds that its part inside the window took.
    fn send_until(&mut self, timer: &Timer, window: Window) -> Result<f64, String> {
        let mut used = Used::default();
        loop {
            self.send()?;
            let now = timer.now();
            used.look(now, window);
            if now >= window.end {
                return Ok(used.seconds());
            }
        }
    }

    #[inline]
    fn send(&mut self) -> Result<(), String> {
        number(&mut self.block, self.blocks);
        (&self.stream).write_all(&self.block).map_err(|error| trouble(&error))?;
        self.blocks += 1;
        Ok(())
    }

    /// Notes what the far end counted.
    fn settle(&mut self, used: f64, there: &Counted, tally: &mut Tally) {
        tally.counted_there(there.messages, there.bytes);
        tally.carried.up_bytes = there.bytes;
        self.cost.add(Some(used), there.cpu_seconds, tally);
    }
}

impl Part for Sender {
    fn profile(&self) -> FlowProfile {
        profile(self.both)
    }

    fn warmed_up(&mut self) {
        self.cost = Cost::new();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        moment.session.announce(moment.number, moment.window, None, moment.timer)?;
        let used = self.send_until(moment.timer, moment.window)?;
        let there = moment.session.counted(moment.number, moment.thread, self.sent_bytes())?;
        self.settle(used, &there, tally);
        Ok(())
    }

    /// Sends so much more that the far end can compare its part byte by byte: an answer at all says that it was right.
    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let blocks = VERIFIED_BYTES.div_ceil(self.block.len()).min(VERIFYING_RECEIVES);
        (0..blocks).try_for_each(|_| self.send())?;
        moment.session.counted(moment.number, moment.thread, self.sent_bytes()).map(drop)
    }

    fn describe(&self, seen: &mut NetConditions) {
        describe(&self.stream, self.cost, seen);
    }
}

/// The CPU time of the calling thread inside a window, from looks at the time: the kernel is asked at its two ends only.
#[derive(Default)]
pub(super) struct Used {
    before: Option<f64>,
    within: f64,
}

impl Used {
    /// It is now.
    #[inline]
    pub(super) fn look(&mut self, now: u64, window: Window) {
        if now >= window.begin && self.before.is_none() {
            self.before = Some(thread_cpu_seconds());
        }
        if now >= window.end {
            self.within = self.before.map_or(0.0, |before| thread_cpu_seconds() - before);
        }
    }

    /// CPU seconds from the window's begin to its end.
    pub(super) fn seconds(&self) -> f64 {
        self.within
    }
}

/// The far end of a stream towards it: receives all the time, and counts what comes inside windows.
///
/// # Errors
/// What the kernel said, other than that the connection has ended; something came that was not sent.
pub(super) fn receive_all(stream: &TcpStream, content: Content, windows: &Windows, thread: usize) -> io::Result<()> {
    let wrong = |wrong: Wrong| io::Error::new(io::ErrorKind::InvalidData, wrong.sentence());
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
        let now = windows.timer().now();
        if unverified > 0 && !windows.lasts(now) {
            inbox.check_all(count).map_err(wrong)?;
            unverified = unverified.saturating_sub(count);
        } else {
            inbox.check_ends(count).map_err(wrong)?;
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
pub(super) fn send_all(mut stream: &TcpStream, content: &Content, windows: &Windows, thread: usize) -> io::Result<()> {
    let mut block = content.block();
    for blocks in 0.. {
        number(&mut block, blocks);
        if let Err(error) = stream.write_all(&block) {
            return if is_end(&error) { Ok(()) } else { Err(error) };
        }
        windows.note(thread, windows.timer().now(), 1, block.len() as u64);
    }
    Ok(())
}

/// Whether this is how a connection ends.
pub(super) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof, WriteZero};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof | WriteZero)
}
