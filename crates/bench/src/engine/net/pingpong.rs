//! Ping-pong: one message there and back, then the next. The time is that of the full round trip, as the sender of the
//! message sees it.
//!
//! Blocking sends and receives on both ends, one of each per message; no waiting in poll or select, which would be a
//! system call more.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use model::document::NetConditions;
use socket2::SockRef;
use sys::clock::Timer;

use super::content::{Content, number};
use super::near::{SILENCE, Session, gone, silent, trouble};
use super::part::{Moment, Part, tcp_link_bytes};
use super::stream::is_end;
use crate::engine::{FlowMetric, FlowProfile, Tally, Window};

const METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips];

/// Before the window: some dozen round trips, compared in full.
const LEAD_MICROSECONDS: u32 = 5_000;

/// IPv4 and UDP headers: 1000 datagrams of 64 B added 92 000 B to the counter of loopback.
const UDP_HEADER_BYTES: u64 = 20 + 8;

/// A datagram that is not back by then is lost.
const LOST_AFTER: Duration = Duration::from_millis(200);

/// Longer messages are compared in full outside the window, and inside it this many bytes at either end.
const CHECKED_BYTES: usize = 1024;

/// More than any datagram.
const MOST_DATAGRAM_BYTES: usize = 1 << 16;

/// The message on its way, and what came back.
struct Message {
    out: Box<[u8]>,
    back: Box<[u8]>,
    number: u64,
}

impl Message {
    fn new(content: &Content) -> Self {
        Self { out: content.block(), back: content.block(), number: 0 }
    }

    fn bytes(&self) -> u64 {
        self.out.len() as u64
    }

    /// The next message. Before the window what came back last is wiped out too, so that an echo that writes less than
    /// it says is found.
    #[inline]
    fn next(&mut self, wipe: bool) {
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
            return self.out == self.back;
        }
        let tail = length - CHECKED_BYTES;
        self.out[..CHECKED_BYTES] == self.back[..CHECKED_BYTES] && self.out[tail..] == self.back[tail..]
    }

    fn check(&self, whole: bool) -> Result<(), String> {
        if self.came_back(whole) {
            return Ok(());
        }
        Err(format!("what came back is not what was sent: message {} of {} bytes", self.number, self.out.len()))
    }
}

/// The measuring end over TCP.
pub(super) struct TcpPinger {
    stream: TcpStream,
    message: Message,
}

impl TcpPinger {
    /// One for this connection.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: &Content) -> io::Result<Self> {
        // Without this the kernel would hold back a message while an earlier one is unacknowledged.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Self { stream, message: Message::new(content) })
    }

    /// Sends messages and waits for each until the window has passed.
    fn ping(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let mut ended = 0;
        while ended < window.end {
            self.message.next(ended < window.begin);
            let began = timer.now();
            self.stream.write_all(&self.message.out).map_err(|error| trouble(&error))?;
            self.stream.read_exact(&mut self.message.back).map_err(|error| trouble(&error))?;
            ended = timer.now();
            tally.note(began, ended, self.message.bytes());
            self.message.check(!window.holds(ended))?;
        }
        Ok(())
    }
}

/// The measuring end over UDP.
pub(super) struct UdpPinger {
    socket: UdpSocket,
    message: Message,
    session: Arc<Session>,
    /// Messages in a row that did not come back.
    unanswered: u32,
}

impl UdpPinger {
    /// One for this socket, which is connected to the other end's.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(socket: UdpSocket, content: &Content, session: Arc<Session>) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOST_AFTER))?;
        Ok(Self { socket, message: Message::new(content), session, unanswered: 0 })
    }

    /// Datagrams sent and echoed so far: each that was not lost came back. An echo that came too late counts as lost.
    fn datagrams(&self) -> u64 {
        (2 * self.message.number).saturating_sub(self.session.lost())
    }

    /// Sends messages and waits for each, or until it is lost, until the window has passed. A lost one is no operation.
    fn ping(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let mut ended = 0;
        while ended < window.end {
            self.message.next(ended < window.begin);
            let began = timer.now();
            self.socket.send(&self.message.out).map_err(|error| trouble(&error))?;
            let answered = self.await_echo()?;
            ended = timer.now();
            if answered {
                tally.note(began, ended, self.message.bytes());
                self.message.check(!window.holds(ended))?;
            }
        }
        Ok(())
    }

    /// Waits for the echo of this message; `false` if it is lost.
    #[inline]
    fn await_echo(&mut self) -> Result<bool, String> {
        loop {
            match self.socket.recv(&mut self.message.back) {
                Ok(count) if count == self.message.out.len() && self.is_ours() => {
                    self.unanswered = 0;
                    return Ok(true);
                }
                // The echo of an earlier message, which has been given up.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return self.lose().map(|()| false);
                }
                Err(error) => return Err(gone(&error.to_string())),
            }
        }
    }

    /// Whether the echo bears this message's number.
    fn is_ours(&self) -> bool {
        let stamp = self.message.out.len().min(size_of::<u64>());
        self.message.back[..stamp] == self.message.out[..stamp]
    }

    #[cold]
    fn lose(&mut self) -> Result<(), String> {
        self.session.other_end_is_there()?;
        self.session.lose_one();
        self.unanswered += 1;
        if LOST_AFTER * self.unanswered >= SILENCE { Err(silent()) } else { Ok(()) }
    }
}

const PROFILE: FlowProfile = FlowProfile { metrics: METRICS, lead_microseconds: LEAD_MICROSECONDS };

impl Part for TcpPinger {
    fn profile(&self) -> FlowProfile {
        PROFILE
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        self.ping(moment.timer, moment.window, tally)
    }

    fn describe(&self, seen: &mut NetConditions) {
        seen.link_bytes = tcp_link_bytes(&self.stream);
        seen.receive_buffer_bytes = SockRef::from(&self.stream).recv_buffer_size().ok().map(|bytes| bytes as u64);
    }
}

impl Part for UdpPinger {
    fn profile(&self) -> FlowProfile {
        PROFILE
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        self.ping(moment.timer, moment.window, tally)
    }

    fn describe(&self, seen: &mut NetConditions) {
        seen.link_bytes = Some(self.datagrams() * (self.message.bytes() + UDP_HEADER_BYTES));
        seen.receive_buffer_bytes = SockRef::from(&self.socket).recv_buffer_size().ok().map(|bytes| bytes as u64);
        seen.lost = Some(self.session.lost());
    }
}

/// The other end over TCP: sends back each message of so many bytes once it has come in full, until the connection
/// ends.
///
/// # Errors
/// What the kernel said, other than that the connection has ended.
pub(super) fn echo_stream(mut stream: &TcpStream, message_bytes: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut message = vec![0; message_bytes];
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
pub(super) fn echo_datagrams(socket: &UdpSocket) -> io::Result<()> {
    let mut datagram = vec![0; MOST_DATAGRAM_BYTES];
    loop {
        let echoed = socket.recv(&mut datagram).and_then(|count| {
            // A shut socket says so by a datagram of nothing; no message is that short.
            if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { socket.send(&datagram[..count]) }
        });
        match echoed {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused || is_end(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
