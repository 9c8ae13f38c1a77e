//! Ping-pong: one message there and back, then the next. The time is that of the full round trip, as the sender of the
//! message sees it.
//!
//! Blocking sends and receives on both ends, one of each per message; no waiting in poll or select, which would be a
//! system call more. Where both ends spin they ask again and again instead ([`super::link::spinning`]).

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use model::document::NetConditions;
use model::io::Wait;
use socket2::SockRef;
use sys::clock::Timer;
use sys::pages::Pages;

use super::link::content::{Content, number};
use super::link::headers::{tcp_link_bytes, udp_header_bytes};
use super::link::spinning::{self, Spinning, again};
use super::link::windows::Windows;
use super::near::{SILENCE, Session, silent, trouble};
use super::part::{Moment, Part};
use super::stream::is_end;
use crate::engines::{FlowMetric, FlowProfile, Tally, Window};

const METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips];

/// The same of datagrams, which can be lost.
const DATAGRAM_METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips, FlowMetric::Loss];

/// Before the window: some dozen round trips, compared in full.
const LEAD_MICROSECONDS: u32 = 5_000;

/// A datagram that is not back by then is lost.
const LOST_AFTER: Duration = Duration::from_millis(200);

/// Longer messages are compared in full outside the window, and inside it this many bytes at either end.
const CHECKED_BYTES: usize = 1024;

/// More than any datagram.
const MOST_DATAGRAM_BYTES: usize = 1 << 16;

/// The message on its way, and what came back.
pub(super) struct Message {
    pub(super) out: Pages,
    pub(super) back: Pages,
    number: u64,
}

impl Message {
    pub(super) fn new(content: &Content) -> Self {
        Self { out: content.block(), back: content.block(), number: 0 }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.out.len() as u64
    }

    /// The next message. Before the window what came back last is wiped out too, so that an echo that writes less than
    /// it says is found.
    #[inline]
    pub(super) fn next(&mut self, wipe: bool) {
        self.number = self.number.wrapping_add(1);
        number(&mut self.out, self.number);
        if wipe {
            self.back.fill(0);
        }
    }

    /// Whether what came back is what was sent; all of it, or both ends.
    #[inline]
    fn came_back(&self, whole: bool) -> bool {
        let length = self.out.len();
        if whole || length <= 2 * CHECKED_BYTES {
            return self.out[..] == self.back[..];
        }
        let tail = length - CHECKED_BYTES;
        self.out[..CHECKED_BYTES] == self.back[..CHECKED_BYTES] && self.out[tail..] == self.back[tail..]
    }

    /// Whether the echo bears this message's number.
    fn is_numbered(&self) -> bool {
        let stamp = self.out.len().min(size_of::<u64>());
        self.back[..stamp] == self.out[..stamp]
    }

    /// Checks what came back; all of it, or both ends.
    ///
    /// # Errors
    /// It is not what was sent.
    pub(super) fn check(&self, whole: bool) -> Result<(), String> {
        if self.came_back(whole) {
            return Ok(());
        }
        Err(format!("what came back is not what was sent: message {} of {} bytes", self.number, self.out.len()))
    }
}

/// Whether there is another operation to begin, the last one having ended then: until the window has passed or, in one
/// without an end, until this thread has done its share.
#[inline]
pub(super) fn goes_on(moment: &Moment<'_>, ended: u64, tally: &mut Tally) -> bool {
    if moment.window.end != Window::NO_END {
        return ended < moment.window.end;
    }
    let goes_on = tally.operations < moment.work.unwrap_or(0);
    if !goes_on {
        tally.over(ended);
    }
    goes_on
}

/// The measuring end over TCP.
pub(super) struct TcpPinger {
    stream: TcpStream,
    message: Message,
    wait: Wait,
    /// For how long the kernel polls the device in a receive, where it was asked to.
    polling: Option<u32>,
}

impl TcpPinger {
    /// One for this connection.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: &Content, wait: Wait) -> io::Result<Self> {
        // Without this the kernel would hold back a message while an earlier one is unacknowledged.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nonblocking(wait == Wait::Spinning)?;
        let polling = spinning::poll_device(&stream, wait);
        Ok(Self { stream, message: Message::new(content), wait, polling })
    }

    /// Sends messages and waits for each until the window has passed.
    fn ping(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        let (timer, window) = (moment.timer, moment.window);
        let mut ended = 0;
        while goes_on(moment, ended, tally) {
            self.message.next(ended < window.begin);
            let began = timer.now();
            self.exchange(timer, began).map_err(|error| trouble(&error))?;
            ended = timer.now();
            tally.note(began, ended, self.message.bytes());
            self.message.check(!window.holds(ended))?;
        }
        Ok(())
    }

    /// The message there, and as many bytes back.
    #[inline]
    fn exchange(&mut self, timer: &Timer, began: u64) -> io::Result<()> {
        let Message { out, back, .. } = &mut self.message;
        match self.wait {
            Wait::Blocking => self.stream.write_all(out).and_then(|()| self.stream.read_exact(back)),
            Wait::Spinning => {
                let until = began + timer.ticks(SILENCE.as_secs_f64());
                let mut stream = Spinning { stream: &self.stream, hopeless: || timer.now() >= until };
                stream.write_all(out).and_then(|()| stream.read_exact(back))
            }
        }
    }
}

/// The measuring end over UDP.
pub(super) struct UdpPinger {
    socket: UdpSocket,
    message: Message,
    session: Arc<Session>,
    wait: Wait,
    /// For how long the kernel polls the device in a receive, where it was asked to.
    polling: Option<u32>,
    /// Messages in a row that did not come back.
    unanswered: u32,
}

impl UdpPinger {
    /// One for this socket, which is connected to the other end's.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(socket: UdpSocket, content: &Content, session: Arc<Session>, wait: Wait) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOST_AFTER))?;
        socket.set_nonblocking(wait == Wait::Spinning)?;
        let polling = spinning::poll_device(&socket, wait);
        Ok(Self { socket, message: Message::new(content), session, wait, polling, unanswered: 0 })
    }

    /// Datagrams sent and echoed so far: each that was not lost came back. An echo that came too late counts as lost.
    fn datagrams(&self) -> u64 {
        (2 * self.message.number).saturating_sub(self.session.lost())
    }

    /// Sends messages and waits for each, or until it is lost, until the window has passed. A lost one is no operation.
    fn ping(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        let (timer, window) = (moment.timer, moment.window);
        let mut ended = 0;
        while goes_on(moment, ended, tally) {
            self.message.next(ended < window.begin);
            let began = timer.now();
            let until = began + timer.ticks(LOST_AFTER.as_secs_f64());
            self.send(timer, until).map_err(|error| trouble(&error))?;
            let answered = self.await_echo(timer, until)?;
            ended = timer.now();
            if window.holds(began) {
                tally.carried.datagrams_sent += 1;
                tally.carried.datagrams_came += u64::from(answered);
            }
            if answered {
                tally.note(began, ended, self.message.bytes());
                self.message.check(!window.holds(ended))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn send(&self, timer: &Timer, until: u64) -> io::Result<usize> {
        match self.wait {
            Wait::Blocking => self.socket.send(&self.message.out),
            Wait::Spinning => again(|| self.socket.send(&self.message.out), || timer.now() >= until),
        }
    }

    #[inline]
    fn receive(&mut self, timer: &Timer, until: u64) -> io::Result<usize> {
        let (socket, back) = (&self.socket, &mut self.message.back);
        match self.wait {
            Wait::Blocking => socket.recv(back),
            Wait::Spinning => again(|| socket.recv(back), || timer.now() >= until),
        }
    }

    /// Waits for the echo of this message; `false` if it is lost.
    #[inline]
    fn await_echo(&mut self, timer: &Timer, until: u64) -> Result<bool, String> {
        loop {
            match self.receive(timer, until) {
                Ok(count) if count == self.message.out.len() && self.message.is_numbered() => {
                    self.unanswered = 0;
                    return Ok(true);
                }
                // The echo of an earlier message, which has been given up.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return self.lose().map(|()| false);
                }
                Err(error) => return Err(trouble(&error)),
            }
        }
    }

    #[cold]
    fn lose(&mut self) -> Result<(), String> {
        self.session.other_end_is_there()?;
        self.session.lose_one();
        self.unanswered += 1;
        if LOST_AFTER * self.unanswered >= SILENCE { Err(silent()) } else { Ok(()) }
    }
}

impl Part for TcpPinger {
    fn profile(&self) -> FlowProfile {
        FlowProfile { metrics: METRICS, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        self.ping(moment, tally)
    }

    fn describe(&self, seen: &mut NetConditions) {
        seen.busy_poll_microseconds = self.polling;
        seen.link_bytes = tcp_link_bytes(&self.stream);
        seen.receive_buffer_bytes = SockRef::from(&self.stream).recv_buffer_size().ok().map(|bytes| bytes as u64);
    }
}

impl Part for UdpPinger {
    fn profile(&self) -> FlowProfile {
        FlowProfile { metrics: DATAGRAM_METRICS, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        self.ping(moment, tally)
    }

    fn describe(&self, seen: &mut NetConditions) {
        seen.busy_poll_microseconds = self.polling;
        seen.link_bytes = Some(self.datagrams() * (self.message.bytes() + udp_header_bytes(&self.socket)));
        seen.receive_buffer_bytes = SockRef::from(&self.socket).recv_buffer_size().ok().map(|bytes| bytes as u64);
        seen.lost = Some(self.session.lost());
    }
}

/// The other end over TCP: sends back each message of so many bytes once it has come in full, until the connection
/// ends.
///
/// # Errors
/// What the kernel said, other than that the connection has ended.
pub(super) fn echo_stream(
    mut stream: &TcpStream,
    message_bytes: usize,
    wait: Wait,
    windows: &Windows,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match wait {
        Wait::Blocking => echo(&mut stream, message_bytes),
        Wait::Spinning => {
            spinning::poll_device(stream, wait);
            stream.set_nonblocking(true)?;
            let echoed = echo(&mut Spinning { stream, hopeless: || windows.are_over() }, message_bytes);
            if windows.are_over() { Ok(()) } else { echoed }
        }
    }
}

fn echo(stream: &mut (impl Read + Write), message_bytes: usize) -> io::Result<()> {
    let mut message = Pages::zeroed(message_bytes);
    loop {
        if let Err(error) = stream.read_exact(&mut message).and_then(|()| stream.write_all(&message)) {
            return if is_end(&error) { Ok(()) } else { Err(error) };
        }
    }
}

/// The other end over UDP: sends back each datagram until the socket is shut.
///
/// # Errors
/// What the kernel said, other than that the measuring end is gone.
pub(super) fn echo_datagrams(socket: &UdpSocket, wait: Wait, windows: &Windows) -> io::Result<()> {
    spinning::poll_device(socket, wait);
    socket.set_nonblocking(wait == Wait::Spinning)?;
    let mut datagram = Pages::zeroed(MOST_DATAGRAM_BYTES);
    let receive = |datagram: &mut [u8]| match wait {
        Wait::Blocking => socket.recv(datagram),
        Wait::Spinning => again(|| socket.recv(datagram), || windows.are_over()),
    };
    let send = |datagram: &[u8]| match wait {
        Wait::Blocking => socket.send(datagram),
        Wait::Spinning => again(|| socket.send(datagram), || windows.are_over()),
    };
    loop {
        let echoed = receive(&mut datagram).and_then(|count| {
            // A shut socket says so by a datagram of nothing; no message is that short.
            if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { send(&datagram[..count]) }
        });
        match echoed {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused || is_end(&error) => return Ok(()),
            Err(_) if windows.are_over() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
