//! A transfer of datagrams: a fixed amount there, then the same amount back, and the time that both took together.
//!
//! Each way is a window of its own without an end, odd numbers there and even ones back. Nobody acknowledges a datagram
//! and nothing is sent again, so each way has to be ended by hand: the near end asks what came, which the far end
//! answers once nothing more comes, and then it says how much is to come back, for which a datagram wakes the far end.
//! So the turn costs a few milliseconds more than over TCP, and they are part of the time. It is the near end's, from
//! before its first datagram until the last one that is back. Both ends send as fast as they can: what the other cannot
//! take is lost, and shown as loss of both ways. A sample is one exchange; warm-up, where windows have an end, is
//! exchanges of up to a MiB.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::NetParams;
use model::io::Segmentation;
use socket2::SockRef;
use sys::clock::{Timer, thread_cpu_seconds};

use super::super::flows::ways;
use super::super::link::content::Content;
use super::super::link::windows::Windows;
use super::super::near::Session;
use super::super::part::{Moment, Part};
use super::far::{DEAD_MAN_SECONDS, Work, is_gone};
use super::header::Form;
use super::near::{Plan, QUIET, Seen, link_bytes, receive, send};
use super::pool::Share;
use super::receiving::Receiving;
use super::sending::Sending;
use crate::engines::{FlowMetric, FlowProfile, Tally, Window};
use crate::net::messages::Datagrams;

const METRICS: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::Latency, FlowMetric::Loss, FlowMetric::CpuCost];

/// Before a window of the warm-up: an exchange.
const LEAD_MICROSECONDS: u32 = 20_000;

/// Bytes each way of the exchanges that warm up.
const SMALL_BYTES: u64 = 1 << 20;

/// Datagrams of them at most: tiny ones take a system call each where nothing carries several.
const MOST_SMALL_DATAGRAMS: u64 = 4096;

/// What wakes the far end is shorter than any header, and so a datagram of nobody's.
const WAKE: [u8; 1] = [0];

/// A far end that was not woken, because that datagram was lost, looks so often whether it is to send.
const LOOK_FOR_TURN: Duration = Duration::from_millis(10);

/// The near end.
pub(in super::super) struct Exchanger {
    socket: UdpSocket,
    session: Arc<Session>,
    sending: Sending,
    receiving: Receiving,
    flows: usize,
    /// Number of the last window: two of each exchange.
    number: u32,
    /// What the far end was carried by, as receiver and as sender.
    there: [Datagrams; 2],
    /// Whether samples are taken; before, it is warm-up.
    sampling: bool,
}

/// What one exchange came to.
struct Exchanged {
    up: Seen,
    down: Seen,
    /// When it began and when its last datagram was back, in ticks.
    began: u64,
    ended: u64,
}

impl Exchanger {
    /// One for this socket.
    ///
    /// # Errors
    /// What the kernel said.
    pub(in super::super) fn new(
        params: &NetParams,
        socket: UdpSocket,
        content: Content,
        session: Arc<Session>,
    ) -> io::Result<Self> {
        let (timer, offload) = (Timer::system(), params.segmentation == Some(Segmentation::Gso));
        let sending = Sending::new(&socket, Form::new(content.clone()), offload, &timer);
        let receiving = Receiving::new(&socket, Form::new(content).back(), offload, QUIET, &timer)?;
        let (flows, there) = (ways(params).len(), [Datagrams::default(); 2]);
        Ok(Self { socket, session, sending, receiving, flows, number: 0, there, sampling: false })
    }

    /// Waits for all threads: datagrams each way of every flow, the mean of what they want, rounded up, and when the
    /// last thread came.
    fn agree(&self, moment: &Moment<'_>, datagrams: u64) -> Result<(u64, u64), String> {
        let share = Share { sent: datagrams, came: 0 };
        let (all, at) = self.session.pool().meet(self.flows, share, moment.timer)?;
        Ok((all.sent.div_ceil(self.flows as u64), at))
    }

    /// One exchange of so many datagrams each way, which began at this time stamp.
    fn exchange(&mut self, moment: &Moment<'_>, datagrams: u64, began: u64) -> Result<Exchanged, String> {
        let Moment { session, thread, timer, .. } = *moment;
        let endless = || Window { begin: timer.now(), end: Window::NO_END };
        let plan = |number, window| {
            let (rate, quota) = (f64::INFINITY, Some(datagrams));
            Plan { session, thread, timer, number, window, rate, quota }
        };
        let there = endless();
        session.announce(self.number + 1, there, None, timer)?;
        let (up, receiver) = send(&mut self.sending, &self.socket, &plan(self.number + 1, there))?;
        self.number += 2;
        let back = endless();
        let bytes = datagrams as f64 * self.sending.datagram_bytes() as f64 * self.flows as f64;
        session.announce(self.number, back, Some(bytes), timer)?;
        // Where it is lost, or a filter takes it away, the far end looks by itself.
        let _ = self.socket.send(&WAKE);
        let received = receive(&mut self.receiving, &self.socket, &plan(self.number, back));
        let (down, sender) = received.map_err(|reason| self.receiving.strangers().unwrap_or(reason))?;
        if down.sent < datagrams {
            return Err(format!(
                "of {datagrams} datagrams the other end has sent {} back and then paused; look whether it is stopped",
                down.sent
            ));
        }
        self.there = [receiver.datagrams.unwrap_or_default(), sender.datagrams.unwrap_or_default()];
        if self.sampling {
            session.lose((up.sent + down.sent).saturating_sub(up.came.came + down.came.came));
        }
        let ended = back.begin + timer.ticks(down.seconds.unwrap_or(0.0));
        Ok(Exchanged { up, down, began, ended })
    }

    /// Notes what an exchange came to, if it was in the window: the bytes that came are its bytes.
    fn note(&self, exchanged: &Exchanged, tally: &mut Tally) {
        let Exchanged { up, down, began, ended } = exchanged;
        let bytes = self.sending.datagram_bytes() as u64;
        let before = tally.operations;
        tally.note(*began, *ended, (up.came.came + down.came.came) * bytes);
        if tally.operations == before {
            return;
        }
        let carried = &mut tally.carried;
        carried.up_bytes += up.came.came * bytes;
        carried.datagrams_sent += up.sent + down.sent;
        carried.datagrams_came += up.came.came + down.came.came;
        carried.duplicates += up.came.duplicates + down.came.duplicates;
        carried.reordered += up.came.reordered + down.came.reordered;
    }

    /// One exchange of so many bytes, both ways together, in whole datagrams.
    fn once(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> Result<(), String> {
        let wanted = (bytes / 2).div_ceil(self.sending.datagram_bytes() as u64).max(1);
        let (datagrams, began) = self.agree(moment, wanted)?;
        let before = thread_cpu_seconds();
        tally.begin(Window { begin: began, end: Window::NO_END });
        let exchanged = self.exchange(moment, datagrams, began)?;
        let used = thread_cpu_seconds() - before;
        self.note(&exchanged, tally);
        tally.over(exchanged.ended);
        // The far end receives in one half and sends in the other.
        let there = exchanged.up.receiving_cpu.zip(exchanged.down.sending_cpu);
        tally.carried.cpu_seconds = there.map(|(receiving, sending)| used + receiving + sending);
        Ok(())
    }

    /// Small exchanges until the window has passed.
    fn until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        let small = (SMALL_BYTES / self.sending.datagram_bytes() as u64).clamp(1, MOST_SMALL_DATAGRAMS);
        loop {
            // All threads hear of the same moment, and so make as many of them.
            let (datagrams, began) = self.agree(moment, small)?;
            if began >= moment.window.end {
                return Ok(());
            }
            let exchanged = self.exchange(moment, datagrams, began)?;
            if began >= moment.window.begin {
                self.note(&exchanged, tally);
            }
        }
    }
}

impl Part for Exchanger {
    fn profile(&self) -> FlowProfile {
        FlowProfile { metrics: METRICS, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn warmed_up(&mut self) {
        self.sampling = true;
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        match moment.in_full() {
            Some(bytes) => self.once(moment, bytes, tally),
            None => self.until(moment, tally),
        }
    }

    fn describe(&self, seen: &mut NetConditions) {
        let segments = self.sending.sender().segments() as u64;
        let bytes = self.sending.datagram_bytes();
        seen.link_bytes = Some(
            link_bytes(self.sending.sent(), bytes, segments)
                + link_bytes(self.receiving.sent_so_far(), bytes, segments),
        );
        let [receiver, sender] = self.there;
        let far = [
            ("gro", receiver.offloaded),
            ("recvmmsg", receiver.batched),
            ("gso", sender.offloaded),
            ("sendmmsg", sender.batched),
        ];
        let near = self.sending.sender().in_use().chain(self.receiving.receiver().in_use());
        let far = far.into_iter().filter(|word| word.1).map(|word| word.0);
        seen.batching = near.chain(far).map(str::to_owned).collect();
        seen.batching.sort_unstable();
        seen.batching.dedup();
        seen.receive_buffer_bytes = SockRef::from(&self.socket).recv_buffer_size().ok().map(|bytes| bytes as u64);
        seen.lost = Some(self.session.lost());
    }
}

/// The far end: counts what comes in windows of odd numbers, and sends its part, one of so many senders', of the bytes
/// that a window of an even number says, until the launch is over.
///
/// # Errors
/// What the kernel said; a datagram was not what was sent.
pub(in super::super) fn give_back(
    socket: &UdpSocket,
    content: Content,
    offload: bool,
    (windows, thread): (&Windows, usize),
    senders: usize,
) -> io::Result<()> {
    let timer = windows.timer();
    let mut receiving = Receiving::new(socket, Form::new(content.clone()), offload, LOOK_FOR_TURN, timer)?;
    let mut sending = Sending::new(socket, Form::new(content).back(), offload, timer);
    let bytes = sending.datagram_bytes() as u64;
    let mut work = Work::none();
    while !windows.are_over() {
        let number = windows.number();
        let back = number.is_multiple_of(2);
        if back && number != work.number() && windows.lasts(timer.now()) {
            work.begin(windows, senders, bytes);
            match send_back(socket, &mut sending, &mut work, (windows, thread)) {
                Ok(()) => continue,
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let messages = match receiving.receive(socket) {
            Ok(Some(messages)) => messages,
            Ok(None) => continue,
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let now = timer.now();
        let wrong = |wrong| io::Error::new(io::ErrorKind::InvalidData, wrong);
        let new = receiving.take((timer, now), messages).map_err(wrong)?;
        // What came late must not take the place of what was sent.
        if !windows.number().is_multiple_of(2) {
            windows.note_datagrams(thread, receiving.datagrams(windows.number()));
        }
        windows.note(thread, now, new, new * bytes);
    }
    Ok(())
}

/// Sends all that a window says, as fast as it goes, as long as the window lasts and the near end is heard.
fn send_back(
    socket: &UdpSocket,
    sending: &mut Sending,
    work: &mut Work,
    (windows, thread): (&Windows, usize),
) -> io::Result<()> {
    let timer = windows.timer();
    let (capacity, bytes) = (sending.sender().capacity(), sending.datagram_bytes() as u64);
    loop {
        let now = timer.now();
        let left = work.left(true);
        let heard = windows.silent_seconds(now) <= DEAD_MAN_SECONDS;
        if left == 0 || !heard || !windows.lasts(now) || windows.number() != work.number() || windows.are_over() {
            return Ok(());
        }
        let count = capacity.min(usize::try_from(left).unwrap_or(usize::MAX));
        // Said before it is sent: nobody hears of a datagram that came and was not sent.
        work.say(windows, thread, sending, count);
        let sent = sending.send(socket, (timer, now), work.number(), count)? as u64;
        work.did(sent);
        work.say(windows, thread, sending, 0);
        windows.note(thread, now, sent, sent * bytes);
    }
}
