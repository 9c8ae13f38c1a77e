//! Ping-pong: one message to the server and back, then the next. Both ends block in one send and one receive per message; poll
//! or select would be a system call more. Where both ends spin they ask again and again instead ([`super::link::spinning`]).

use std::io::{self, Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use model::document::NetConditions;
use model::io::Wait;
use socket2::SockRef;
use sys::pages::Pages;

use super::flows::{DataEnd, is_late};
use super::link::content::{Content, number};
use super::link::sizes::{link_bytes, receive_buffer_bytes};
use super::link::spinning::{self, Spinning, again};
use super::link::windows::Windows;
use super::part::{Moment, Part};
use super::session::{Failure, Session, silent};
use crate::engines::{Tally, Window};

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

/// Does this once, or until there is an answer where both ends spin.
#[inline]
fn waiting<T>(wait: Wait, mut act: impl FnMut() -> io::Result<T>, is_hopeless: impl FnMut() -> bool) -> io::Result<T> {
    match wait {
        Wait::Blocking => act(),
        Wait::Spinning => again(act, is_hopeless),
    }
}

pub(super) struct Pinger {
    end: DataEnd,
    message: Message,
    wait: Wait,
    silence: Duration,
    /// For how long the kernel polls the device in a receive, where it was asked to.
    polling: Option<u32>,
    unanswered: u32,
}

impl Pinger {
    pub(super) fn new(end: DataEnd, content: &Content, wait: Wait, silence: Duration) -> io::Result<Self> {
        end.carry_messages(silence, LOST_AFTER)?;
        SockRef::from(&end).set_nonblocking(wait == Wait::Spinning)?;
        let polling = spinning::poll_device(&end, wait);
        Ok(Self { end, message: Message::new(content), wait, silence, polling, unanswered: 0 })
    }

    #[inline]
    fn exchange(&mut self, moment: &Moment<'_>, began: u64) -> Result<bool, Failure> {
        let Message { out, back, .. } = &mut self.message;
        let timer = moment.timer;
        let limit = if self.end.is_datagrams() { LOST_AFTER } else { self.silence };
        let until = began + timer.ticks(limit.as_secs_f64());
        let hopeless = || timer.now() >= until;
        let socket = match (&self.end, self.wait) {
            (DataEnd::Tcp(stream), Wait::Blocking) => {
                let mut stream = stream;
                stream.write_all(out).and_then(|()| stream.read_exact(back))?;
                return Ok(true);
            }
            (DataEnd::Tcp(stream), Wait::Spinning) => {
                let mut stream = Spinning { stream, hopeless };
                stream.write_all(out).and_then(|()| stream.read_exact(back))?;
                return Ok(true);
            }
            (DataEnd::Udp(socket), _) => socket,
        };
        waiting(self.wait, || socket.send(out), hopeless)?;
        let stamp = out.len().min(size_of::<u64>());
        loop {
            match waiting(self.wait, || socket.recv(back), hopeless) {
                Ok(count) if count == out.len() && back[..stamp] == out[..stamp] => {
                    self.unanswered = 0;
                    return Ok(true);
                }
                // The echo of an earlier message, which was given up.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => return self.lose(moment.session).map(|()| false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cold]
    fn lose(&mut self, session: &Session) -> Result<(), Failure> {
        session.other_end_is_there()?;
        session.lose(1);
        self.unanswered += 1;
        if LOST_AFTER * self.unanswered >= self.silence { Err(silent()) } else { Ok(()) }
    }
}

impl Part for Pinger {
    /// A lost message is no operation.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        let (timer, window) = (moment.timer, moment.window);
        let mut ended = 0;
        while goes_on(moment, ended, tally) {
            self.message.next(ended < window.begin);
            let began = timer.now();
            let answered = self.exchange(moment, began)?;
            ended = timer.now();
            if self.end.is_datagrams() && window.holds(began) {
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

    fn describe(&self, session: &Session, seen: &mut NetConditions) {
        // Each message came back unless it was lost. An echo that came too late counts as lost.
        let datagrams = (2 * self.message.number).saturating_sub(session.lost());
        seen.busy_poll_microseconds = self.polling;
        seen.link_bytes = link_bytes(&self.end, datagrams, self.message.bytes());
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.end);
        seen.lost = self.end.is_datagrams().then(|| session.lost());
    }
}

/// The server: sends each message back once it is complete, until the connection ends or the socket is shut.
pub(super) fn serve(end: &DataEnd, message_bytes: usize, wait: Wait, windows: &Windows) -> io::Result<()> {
    spinning::poll_device(end, wait);
    SockRef::from(end).set_nonblocking(wait == Wait::Spinning)?;
    match end {
        DataEnd::Udp(socket) => echo_datagrams(socket, wait, windows),
        DataEnd::Tcp(stream) => {
            stream.set_nodelay(true)?;
            match wait {
                Wait::Blocking => echo(&mut &*stream, message_bytes),
                Wait::Spinning => echo(&mut Spinning { stream, hopeless: || windows.are_over() }, message_bytes),
            }
        }
    }
}

fn echo(stream: &mut (impl Read + Write), message_bytes: usize) -> io::Result<()> {
    let mut message = Pages::zeroed(message_bytes);
    loop {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
}

fn echo_datagrams(socket: &UdpSocket, wait: Wait, windows: &Windows) -> io::Result<()> {
    let over = || windows.are_over();
    let mut datagram = Pages::zeroed(MOST_DATAGRAM_BYTES);
    loop {
        let echoed = match waiting(wait, || socket.recv(&mut datagram), over) {
            // A receive on a shut socket returns an empty datagram; no message is that short.
            Ok(0) => return Ok(()),
            received => received.and_then(|count| waiting(wait, || socket.send(&datagram[..count]), over)),
        };
        match echoed {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}
