//! The server's threads of a flow of datagrams, and the wait for datagrams still in flight.

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use super::super::flows::DataEnd;
use super::super::link::windows::Windows;
use super::header::Form;
use super::pace::Due;
use super::receiving::{Receiving, holds_some};
use super::sending::{SENDING, Sending, wait};
use crate::net::messages::Datagrams;

/// How often a receiver checks whether the process run has ended.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_FOR_WINDOW: Duration = Duration::from_micros(200);
/// A sender stops after this long without a message from the client, because nothing acknowledges its datagrams.
pub(super) const DEAD_MAN_SECONDS: f64 = 0.5;
/// After this long without a datagram no more arrive: the question came behind the last datagrams on the same path.
const QUIET: Duration = Duration::from_millis(5);
/// Datagrams that arrive later than this do not count; the client waits for the answer for 5 s.
const MOST_SETTLING_SECONDS: f64 = 3.0;

/// A server's thread of a flow of datagrams.
#[derive(Clone, Copy)]
pub(crate) struct Server<'a> {
    pub(crate) socket: &'a UdpSocket,
    pub(crate) offload: bool,
    pub(crate) windows: &'a Windows,
    pub(crate) thread: usize,
    /// Threads that send to the client.
    pub(crate) senders: usize,
}

impl Server<'_> {
    /// Receives all the time, and counts what arrives inside windows, until the process run ends.
    pub(crate) fn receive_all(self, form: Form) -> io::Result<()> {
        let mut receiving = Receiving::new(self.socket, form, self.offload, LOOK, self.windows.timer())?;
        while !self.windows.are_over() {
            self.receive_once(&mut receiving, |_| true)?;
        }
        Ok(())
    }

    pub(super) fn receive_once(self, receiving: &mut Receiving, is_noted: impl Fn(u32) -> bool) -> io::Result<()> {
        let Self { socket, windows, thread, .. } = self;
        let Some(messages) = receiving.receive(socket)? else { return Ok(()) };
        let now = windows.timer().now();
        let new = receiving.take((windows.timer(), now), messages)?;
        let number = windows.number();
        if is_noted(number) {
            windows.note_datagrams(thread, receiving.datagrams(number));
        }
        windows.note(thread, now, new, new * receiving.form.bytes() as u64);
        Ok(())
    }

    /// Sends inside windows, from when they are announced, until the process run ends: as much as possible or its share of the
    /// window's rate. In a window without an end it sends its share of the bytes, at the rate of the window before.
    pub(crate) fn send_all(self, form: Form) -> io::Result<()> {
        let Self { socket, offload, windows, .. } = self;
        let timer = windows.timer();
        let mut sending = Sending::new(socket, form, offload, timer);
        let mut work = Work::none();
        let (mut pace, mut began) = (sending.pace(0.0), 0);
        while !windows.are_over() {
            let now = timer.now();
            if !windows.lasts(now) || windows.silent_seconds(now) > DEAD_MAN_SECONDS {
                thread::sleep(LOOK_FOR_WINDOW);
                continue;
            }
            if windows.number() != work.number {
                work.begin(self, &sending);
                (pace, began) = (sending.pace(work.rate), now);
            }
            let inside = windows.holds(now);
            match (pace.due(timer.seconds(began, now)), work.left(inside)) {
                (Due::Now(count), left @ 1..) => {
                    let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
                    pace.sent(work.send(self, &mut sending, (now, inside), count)?);
                }
                (Due::Now(_), 0) => thread::sleep(LOOK_FOR_WINDOW),
                (later @ Due::In(_), _) => wait(later),
            }
        }
        Ok(())
    }
}

pub(super) struct Work {
    pub(super) number: u32,
    rate: f64,
    /// All datagrams of a window without an end.
    quota: Option<u64>,
    sent: u64,
}

impl Work {
    pub(super) fn none() -> Self {
        Self { number: 0, rate: f64::INFINITY, quota: None, sent: 0 }
    }

    pub(super) fn begin(&mut self, Server { windows, senders, .. }: Server<'_>, sending: &Sending) {
        let share = windows.bytes() / senders.max(1) as f64;
        (self.number, self.sent, self.quota) = (windows.number(), 0, None);
        if windows.is_endless() {
            self.quota = Some(model::unit::whole_part(share).div_ceil(sending.form.bytes() as u64));
        } else {
            self.rate = share;
        }
    }

    pub(super) fn left(&self, inside: bool) -> u64 {
        match self.quota {
            None => u64::MAX,
            Some(quota) if inside => quota.saturating_sub(self.sent),
            Some(_) => 0,
        }
    }

    /// Sends datagrams at this time, inside the window or before it; how many.
    pub(super) fn send(
        &mut self,
        at: Server<'_>,
        sending: &mut Sending,
        (now, inside): (u64, bool),
        count: usize,
    ) -> io::Result<usize> {
        let (window, planned) = if inside { (self.number, count as u64) } else { (0, 0) };
        // Noted before it is sent: no datagram arrives that was not sent.
        self.note(at, sending, planned);
        let sent = sending.send(at.socket, (at.windows.timer(), now), window, count)?;
        if inside {
            self.sent += sent as u64;
            self.note(at, sending, 0);
        }
        at.windows.note(at.thread, now, sent as u64, (sent * sending.form.bytes()) as u64);
        Ok(sent)
    }

    /// Notes what was sent, with datagrams that are about to be.
    fn note(&self, at: Server<'_>, sending: &Sending, more: u64) {
        let [offloaded, batched] = SENDING.map(|word| sending.sender.in_use().any(|other| other == word));
        let sent = self.sent + more;
        at.windows.note_datagrams(at.thread, Datagrams { sent, offloaded, batched, ..Datagrams::default() });
    }
}

/// Waits until no more datagrams arrive at these ends.
pub(crate) fn settle(ends: &[DataEnd], windows: &Windows) {
    let timer = windows.timer();
    let (begin, quiet) = (timer.now(), timer.ticks(QUIET.as_secs_f64()));
    let until = begin + timer.ticks(MOST_SETTLING_SECONDS);
    let (mut last, mut total) = (begin, windows.total());
    let waits = |end: &DataEnd| matches!(end, DataEnd::Udp(socket) if holds_some(socket));
    while !windows.are_over() {
        thread::sleep(LOOK_FOR_WINDOW);
        let now = timer.now();
        if windows.total() != total || ends.iter().any(waits) {
            (last, total) = (now, windows.total());
        }
        // What is sent until the window's end does not restart the wait.
        if now >= until || now - last >= quiet {
            return;
        }
    }
}
