//! What a thread of the near end does, as the flow that drives it sees it. Each way of working is a type of its own: one
//! file, and a line in [`part_of`] and in the far end's table of work (`far.rs`).

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use model::document::NetConditions;
use model::experiment::NetParams;
use model::io::{NetMode, Wait};
use sys::clock::Timer;

use super::connect::Connector;
use super::content::Content;
use super::datagrams::{self, Form, Stream};
use super::flows::{DataEnd, Way};
use super::load::{Loading, Probe};
use super::near::Session;
use super::pingpong::{TcpPinger, UdpPinger};
use super::stream::{Receiver, Sender};
use super::transfer::Exchanger;
use crate::engine::{FlowProfile, Tally, Window};

/// Which window, and of which launch and thread.
pub(super) struct Moment<'a> {
    /// What the threads of the launch share.
    pub(super) session: &'a Session,
    /// The thread, which is also the number of its data connection.
    pub(super) thread: usize,
    /// Number of the window, counted from 1.
    pub(super) number: u32,
    /// The time.
    pub(super) timer: &'a Timer,
    /// The window.
    pub(super) window: Window,
    /// What this thread is to do in a window without an end: bytes, or round trips; `None` where time alone decides.
    pub(super) work: Option<u64>,
}

impl Moment<'_> {
    /// What this thread is to do, in a window without an end.
    pub(super) fn in_full(&self) -> Option<u64> {
        (self.window.end == Window::NO_END).then(|| self.work.unwrap_or(0))
    }
}

/// One thread's part of a launch.
pub(super) trait Part {
    /// Its metrics, and how long before a window it starts.
    fn profile(&self) -> FlowProfile;

    /// The windows from now on are samples.
    fn warmed_up(&mut self) {}

    /// Works until the window has passed. Allocates nothing inside it.
    ///
    /// # Errors
    /// What went wrong: a wrong result, the other end gone.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String>;

    /// Checks what was done since the last check, as far as `run` has not.
    ///
    /// # Errors
    /// What is wrong.
    fn verify(&mut self, _moment: &Moment<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Adds what only it knows, at the end of the launch: of every thread the bytes on the link and the CPU seconds, which
    /// are added up; the rest is the first thread's to say.
    fn describe(&self, seen: &mut NetConditions);
}

/// The part of an experiment that belongs to this data end.
///
/// # Errors
/// What the kernel said.
pub(super) fn part_of(
    params: &NetParams,
    way: Way,
    end: DataEnd,
    content: Content,
    session: &Arc<Session>,
) -> io::Result<Box<dyn Part>> {
    let both = params.direction == Some(model::io::Direction::Both);
    let wait = params.wait.unwrap_or(Wait::Blocking);
    Ok(match (end, params.mode, way) {
        (DataEnd::Tcp(connection), NetMode::Stream, Way::Up) => {
            Box::new(Sender::new(connection, &content, both, params.zero_copy == Some(true))?)
        }
        (DataEnd::Tcp(connection), NetMode::Stream, _) => Box::new(Receiver::new(connection, content, both)?),
        (DataEnd::Tcp(connection), NetMode::Transfer, _) => Box::new(Exchanger::new(connection, content)?),
        (end, NetMode::Load, Way::Back) => Box::new(Probe::new(end, content, params, session)?),
        (DataEnd::Tcp(connection), NetMode::Load, Way::Up) => {
            Box::new(Loading::new(Box::new(Sender::new(connection, &content, both, false)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Load, Way::Down) => {
            Box::new(Loading::new(Box::new(Receiver::new(connection, content, both)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Connect, _) => Box::new(Connector::new(connection, &content, session)?),
        (DataEnd::Tcp(connection), ..) => Box::new(TcpPinger::new(connection, &content, wait)?),
        (DataEnd::Udp(socket), NetMode::Blast | NetMode::NoDrop, way) => {
            Box::new(Stream::new(params, way, socket, Form::new(content), Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), NetMode::Transfer, _) => {
            Box::new(datagrams::Exchanger::new(params, socket, content, Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), ..) => Box::new(UdpPinger::new(socket, &content, Arc::clone(session), wait)?),
    })
}

/// IPv4 and TCP headers.
const TCP_HEADER_BYTES: u64 = 20 + 20;

/// IPv6 and TCP headers (RFC 8200, RFC 9293).
const TCP6_HEADER_BYTES: u64 = 40 + 20;

/// The option of time stamps in each TCP header, padded. With it, 52.00 B a segment were seen beside the payload.
const TIME_STAMPS_BYTES: u64 = 12;

/// What a TCP connection has put on loopback and taken from it, headers included. Loopback has no header of a link, or
/// does not count it (`drivers/net/loopback.c`).
pub(super) fn tcp_link_bytes(connection: &TcpStream) -> Option<u64> {
    let carried = sys::net::tcp::tcp_carried(connection)?;
    let headers = if connection.peer_addr().ok()?.is_ipv6() { TCP6_HEADER_BYTES } else { TCP_HEADER_BYTES };
    let header = headers + if carried.time_stamps { TIME_STAMPS_BYTES } else { 0 };
    let segments = u64::from(carried.segments_sent) + u64::from(carried.segments_received);
    Some(carried.sent_bytes + carried.received_bytes + header * segments)
}
