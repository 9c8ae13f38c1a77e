//! Ping-pong: one message to the server and back, then the next. Both ends block in one send and one receive per message; poll
//! or select would be a system call more. Where both ends spin they ask again and again instead ([`super::link::spinning`]).

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use model::document::NetConditions;
use model::io::Wait;
use sys::clock::Timer;
use sys::pages::Pages;

use super::link::content::{Content, number};
use super::link::sizes::{receive_buffer_bytes, tcp_link_bytes, udp_header_bytes};
use super::link::spinning::{self, Spinning, again};
use super::link::windows::Windows;
use super::part::{Moment, Part};
use super::session::{SILENCE, Session, silent, trouble};
use crate::engines::{FlowMetric, Tally, Window};

const METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips];
/// The same of datagrams, which can be lost.
const DATAGRAM_METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips, FlowMetric::Loss];
/// Before the window: dozens of round trips, compared in full.
pub(super) const LEAD_MICROSECONDS: u32 = 5_000;
/// A datagram that is not back by then is lost.
const LOST_AFTER: Duration = Duration::from_millis(200);
/// Longer messages are compared in full outside the window, and inside it this many bytes at either end.
const CHECKED_BYTES: usize = 1024;
const MOST_DATAGRAM_BYTES: usize = 1 << 16;

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

    /// Prepares the next message, and wipes the received one, so that an echo that writes less than it claims is found.
    #[inline]
    pub(super) fn next(&mut self, wipe: bool) {
        self.number = self.number.wrapping_add(1);
        number(&mut self.out, self.number);
        if wipe {
            self.back.fill(0);
        }
    }

    #[inline]
    fn came_back(&self, whole: bool) -> bool {
        let length = self.out.len();
        if whole || length <= 2 * CHECKED_BYTES {
            return self.out[..] == self.back[..];
        }
        let tail = length - CHECKED_BYTES;
        self.out[..CHECKED_BYTES] == self.back[..CHECKED_BYTES] && self.out[tail..] == self.back[tail..]
    }

    fn is_numbered(&self) -> bool {
        let stamp = self.out.len().min(size_of::<u64>());
        self.back[..stamp] == self.out[..stamp]
    }

    /// Checks the received message: all of it, or both ends.
    pub(super) fn check(&self, whole: bool) -> Result<(), String> {
        if self.came_back(whole) {
            return Ok(());
        }
        Err(format!("the echo differs from what was sent: message {} of {} bytes", self.number, self.out.len()))
    }
}

/// Whether another operation is to begin: until the window has passed or, without an end, this thread's work is done.
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

pub(super) struct TcpPinger {
    stream: TcpStream,
    message: Message,
    wait: Wait,
    /// For how long the kernel polls the device in a receive, where it was asked to.
    polling: Option<u32>,
}

impl TcpPinger {
    pub(super) fn new(stream: TcpStream, content: &Content, wait: Wait) -> io::Result<Self> {
        // Otherwise the kernel holds a message back while an earlier one is unacknowledged (Nagle).
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nonblocking(wait == Wait::Spinning)?;
        let polling = spinning::poll_device(&stream, wait);
        Ok(Self { stream, message: Message::new(content), wait, polling })
    }

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

impl Part for TcpPinger {
    fn metrics(&self) -> &'static [FlowMetric] {
        METRICS
    }

    fn lead_microseconds(&self) -> u32 {
        LEAD_MICROSECONDS
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
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

    fn describe(&self, seen: &mut NetConditions) {
        seen.busy_poll_microseconds = self.polling;
        seen.link_bytes = tcp_link_bytes(&self.stream);
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.stream);
    }
}

struct Datagrams<'a> {
    socket: &'a UdpSocket,
    wait: Wait,
}

impl Datagrams<'_> {
    #[inline]
    fn send(&self, datagram: &[u8], hopeless: impl FnMut() -> bool) -> io::Result<usize> {
        match self.wait {
            Wait::Blocking => self.socket.send(datagram),
            Wait::Spinning => again(|| self.socket.send(datagram), hopeless),
        }
    }

    #[inline]
    fn receive(&self, datagram: &mut [u8], hopeless: impl FnMut() -> bool) -> io::Result<usize> {
        match self.wait {
            Wait::Blocking => self.socket.recv(datagram),
            Wait::Spinning => again(|| self.socket.recv(datagram), hopeless),
        }
    }
}

pub(super) struct UdpPinger {
    socket: UdpSocket,
    message: Message,
    session: Arc<Session>,
    wait: Wait,
    polling: Option<u32>,
    unanswered: u32,
}

impl UdpPinger {
    pub(super) fn new(socket: UdpSocket, content: &Content, session: Arc<Session>, wait: Wait) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOST_AFTER))?;
        socket.set_nonblocking(wait == Wait::Spinning)?;
        let polling = spinning::poll_device(&socket, wait);
        Ok(Self { socket, message: Message::new(content), session, wait, polling, unanswered: 0 })
    }

    /// Sends the message and waits for its echo; `false` if it is lost.
    #[inline]
    fn exchange(&mut self, timer: &Timer, began: u64) -> Result<bool, String> {
        let until = began + timer.ticks(LOST_AFTER.as_secs_f64());
        let hopeless = || timer.now() >= until;
        let datagrams = Datagrams { socket: &self.socket, wait: self.wait };
        datagrams.send(&self.message.out, hopeless).map_err(|error| trouble(&error))?;
        loop {
            match datagrams.receive(&mut self.message.back, hopeless) {
                Ok(count) if count == self.message.out.len() && self.message.is_numbered() => {
                    self.unanswered = 0;
                    return Ok(true);
                }
                // The echo of an earlier message, which was given up.
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
        self.session.lose(1);
        self.unanswered += 1;
        if LOST_AFTER * self.unanswered >= SILENCE { Err(silent()) } else { Ok(()) }
    }
}

impl Part for UdpPinger {
    fn metrics(&self) -> &'static [FlowMetric] {
        DATAGRAM_METRICS
    }

    fn lead_microseconds(&self) -> u32 {
        LEAD_MICROSECONDS
    }

    /// A lost message is no operation.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        let (timer, window) = (moment.timer, moment.window);
        let mut ended = 0;
        while goes_on(moment, ended, tally) {
            self.message.next(ended < window.begin);
            let began = timer.now();
            let answered = self.exchange(timer, began)?;
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

    fn describe(&self, seen: &mut NetConditions) {
        // Each message came back unless it was lost. An echo that came too late counts as lost.
        let datagrams = (2 * self.message.number).saturating_sub(self.session.lost());
        seen.busy_poll_microseconds = self.polling;
        seen.link_bytes = Some(datagrams * (self.message.bytes() + udp_header_bytes(&self.socket)));
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.socket);
        seen.lost = Some(self.session.lost());
    }
}

/// The server over TCP: sends each message back once it is complete, until the connection ends.
pub(super) fn echo_stream(
    mut stream: &TcpStream,
    message_bytes: usize,
    wait: Wait,
    windows: &Windows,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if wait == Wait::Blocking {
        return echo(&mut stream, message_bytes);
    }
    spinning::poll_device(stream, wait);
    stream.set_nonblocking(true)?;
    echo(&mut Spinning { stream, hopeless: || windows.are_over() }, message_bytes)
}

fn echo(stream: &mut (impl Read + Write), message_bytes: usize) -> io::Result<()> {
    let mut message = Pages::zeroed(message_bytes);
    loop {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
}

/// The server over UDP: sends each datagram back until the socket is shut.
pub(super) fn echo_datagrams(socket: &UdpSocket, wait: Wait, windows: &Windows) -> io::Result<()> {
    spinning::poll_device(socket, wait);
    socket.set_nonblocking(wait == Wait::Spinning)?;
    let datagrams = Datagrams { socket, wait };
    let mut datagram = Pages::zeroed(MOST_DATAGRAM_BYTES);
    loop {
        let echoed = match datagrams.receive(&mut datagram, || windows.are_over()) {
            // A receive on a shut socket returns an empty datagram; no message is that short.
            Ok(0) => return Ok(()),
            received => received.and_then(|count| datagrams.send(&datagram[..count], || windows.are_over())),
        };
        match echoed {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}
