//! The far end's threads of a flow of datagrams, and when all that is going to come has come.

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use super::super::flows::DataEnd;
use super::super::link::windows::Windows;
use super::super::stream::is_end;
use super::header::Form;
use super::pace::Due;
use super::receiving::{Receiving, holds_some};
use super::sending::{Sending, wait};
use crate::net::messages::Datagrams;

/// A receiver looks so often whether the launch is over.
const LOOK: Duration = Duration::from_millis(50);

/// A sender that has nothing to send looks so often for a window.
const LOOK_FOR_WINDOW: Duration = Duration::from_micros(200);

/// A sender of datagrams, which nobody acknowledges, stops when nothing was heard of the near end for so many seconds.
pub(super) const DEAD_MAN_SECONDS: f64 = 0.5;

/// Once nothing came for so long nothing more will. The question came behind the last datagrams on the same path, so that
/// only what is still in this machine is waited for.
const QUIET: Duration = Duration::from_millis(5);

/// What is still coming after so long does not count. On a busy machine the receiving thread may not run for a second, with
/// all that came waiting for it; the near end waits for the answer for 5 s.
const MOST_SETTLING_SECONDS: f64 = 3.0;

/// Receives all the time, and counts what comes inside windows, until the launch is over.
///
/// # Errors
/// What the kernel said; a datagram was not what was sent.
pub(in super::super) fn receive_all(
    socket: &UdpSocket,
    form: Form,
    offload: bool,
    (windows, thread): (&Windows, usize),
) -> io::Result<()> {
    let timer = windows.timer();
    let bytes = form.bytes() as u64;
    let mut receiving = Receiving::new(socket, form, offload, LOOK, timer)?;
    while !windows.are_over() {
        let messages = match receiving.receive(socket) {
            Ok(Some(messages)) => messages,
            Ok(None) => continue,
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let now = timer.now();
        let wrong = |wrong| io::Error::new(io::ErrorKind::InvalidData, wrong);
        let new = receiving.take((timer, now), messages).map_err(wrong)?;
        windows.note_datagrams(thread, receiving.datagrams(windows.number()));
        windows.note(thread, now, new, new * bytes);
    }
    Ok(())
}

/// Whether this is how a flow ends.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused || is_end(error)
}

/// Sends inside windows, from when they are announced, until the launch is over: as much as goes or at the rate that the
/// window says, of which it has the part of one of so many senders. In a window without an end it sends its part of the
/// bytes that the window says, at the rate of the one before.
///
/// # Errors
/// What the kernel said.
pub(in super::super) fn send_all(
    socket: &UdpSocket,
    form: Form,
    offload: bool,
    (windows, thread): (&Windows, usize),
    senders: usize,
) -> io::Result<()> {
    let timer = windows.timer();
    let mut sending = Sending::new(socket, form, offload, timer);
    let bytes = sending.datagram_bytes() as u64;
    let mut work = Work::none();
    let (mut pace, mut began) = (sending.pace(0.0), 0);
    while !windows.are_over() {
        let now = timer.now();
        if !windows.lasts(now) || windows.silent_seconds(now) > DEAD_MAN_SECONDS {
            thread::sleep(LOOK_FOR_WINDOW);
            continue;
        }
        if windows.number() != work.number {
            work.begin(windows, senders, bytes);
            (pace, began) = (sending.pace(work.rate), now);
        }
        let (inside, left) = (windows.holds(now), work.left(windows.holds(now)));
        match pace.due(timer.seconds(began, now)) {
            Due::Now(count) if left > 0 => {
                let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
                // Said before it is sent: nobody hears of a datagram that came and was not sent.
                let of_window = if inside { work.number } else { 0 };
                work.say(windows, thread, &sending, if inside { count } else { 0 });
                let sent = match sending.send(socket, (timer, now), of_window, count) {
                    Ok(sent) => sent,
                    Err(error) if is_gone(&error) => return Ok(()),
                    Err(error) => return Err(error),
                };
                pace.sent(sent);
                if inside {
                    work.did(sent as u64);
                    work.say(windows, thread, &sending, 0);
                }
                windows.note(thread, now, sent as u64, sent as u64 * bytes);
            }
            Due::Now(_) => thread::sleep(LOOK_FOR_WINDOW),
            later @ Due::In(_) => wait(later),
        }
    }
    Ok(())
}

/// What a sender has to do in a window, and has done.
pub(super) struct Work {
    number: u32,
    /// Bytes a second.
    rate: f64,
    /// Datagrams in all, where there is no end.
    quota: Option<u64>,
    sent: u64,
}

impl Work {
    /// None yet.
    pub(super) fn none() -> Self {
        Self { number: 0, rate: f64::INFINITY, quota: None, sent: 0 }
    }

    /// Number of the window that it is for.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// That of the window that was opened last.
    pub(super) fn begin(&mut self, windows: &Windows, senders: usize, datagram_bytes: u64) {
        let share = windows.bytes() / senders.max(1) as f64;
        (self.number, self.sent, self.quota) = (windows.number(), 0, None);
        if windows.is_endless() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a task")]
            let bytes = share as u64;
            self.quota = Some(bytes.div_ceil(datagram_bytes));
        } else {
            self.rate = share;
        }
    }

    /// Datagrams that may leave now, inside of the window or before it.
    pub(super) fn left(&self, inside: bool) -> u64 {
        match self.quota {
            None => u64::MAX,
            Some(quota) if inside => quota.saturating_sub(self.sent),
            Some(_) => 0,
        }
    }

    /// So many more were sent.
    pub(super) fn did(&mut self, datagrams: u64) {
        self.sent += datagrams;
    }

    /// Says what was sent, with so many that are about to be.
    pub(super) fn say(&self, windows: &Windows, thread: usize, sending: &Sending, more: usize) {
        let [offloaded, batched] = ["gso", "sendmmsg"].map(|word| sending.sender().in_use().any(|other| other == word));
        let sent = self.sent + more as u64;
        windows.note_datagrams(thread, Datagrams { sent, offloaded, batched, ..Datagrams::default() });
    }
}

/// Waits until nothing more comes at these ends.
pub(in super::super) fn settle(ends: &[DataEnd], windows: &Windows) {
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
        // What is sent until the window's end is no news.
        if now >= until || now - last >= quiet {
            return;
        }
    }
}
