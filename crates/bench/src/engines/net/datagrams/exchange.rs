//! A transfer of datagrams: a fixed amount to the server, then the same amount back, and the time of both together. Each way is
//! a window without an end, odd numbers there and even ones back. Datagrams are not acknowledged, so the client ends each way:
//! it asks what arrived, which the server answers once nothing more arrives, and then says how much is to come back.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::NetParams;
use model::io::Segmentation;
use sys::clock::{Timer, thread_cpu_seconds};

use super::super::flows::ways;
use super::super::link::content::Content;
use super::super::link::sizes::receive_buffer_bytes;
use super::super::part::{Moment, Part};
use super::super::session::{Failure, Session};
use super::header::Form;
use super::pool::Share;
use super::receiving::{RECEIVING, Receiving};
use super::sending::{SENDING, Sending};
use super::server::{DEAD_MAN_SECONDS, Server, Work};
use super::stream::{QUIET, Seen, batching, carried_there, link_bytes, receive, send};
use crate::engines::{Tally, Window};
use crate::net::messages::Datagrams;

/// Bytes each way of the exchanges that warm up.
const SMALL_BYTES: u64 = 1 << 20;
/// At most this many datagrams of them, because tiny ones take a system call each where nothing carries several.
const MOST_SMALL_DATAGRAMS: u64 = 4096;
/// Shorter than any header, and so a datagram of no flow.
const WAKE: [u8; 1] = [0];
/// A server whose wake-up datagram was lost checks this often whether to send.
const LOOK_FOR_TURN: Duration = Duration::from_millis(10);

pub(crate) struct Exchanger {
    socket: UdpSocket,
    sending: Sending,
    receiving: Receiving,
    flows: usize,
    number: u32,
    /// What carried the server's side, as receiver and as sender.
    there: [Datagrams; 2],
    sampling: bool,
}

struct Exchanged {
    up: Seen,
    down: Seen,
    /// When it began and when its last datagram was back, in ticks.
    began: u64,
    ended: u64,
}

impl Exchanger {
    pub(crate) fn new(params: &NetParams, socket: UdpSocket, content: &Content) -> io::Result<Self> {
        let (timer, offload) = (Timer::system(), params.segmentation == Some(Segmentation::Gso));
        let sending = Sending::new(&socket, Form::new(content), offload, &timer);
        let receiving = Receiving::new(&socket, Form::new(content).back(), offload, QUIET, &timer)?;
        let (flows, there) = (ways(params).len(), [Datagrams::default(); 2]);
        Ok(Self { socket, sending, receiving, flows, number: 0, there, sampling: false })
    }

    /// Waits for all threads; the mean of the datagrams that they propose for each way, and when the last thread came.
    fn agree(&self, moment: &Moment<'_>, datagrams: u64) -> Result<(u64, u64), String> {
        let share = Share { sent: datagrams, came: 0 };
        let (all, at) = moment.session.pool.meet(self.flows, share, moment.timer)?;
        Ok((all.sent.div_ceil(self.flows as u64), at))
    }

    fn exchange(&mut self, moment: &Moment<'_>, datagrams: u64, began: u64) -> Result<Exchanged, Failure> {
        let Moment { session, timer, .. } = *moment;
        let endless = || Window { begin: timer.now(), end: Window::NO_END };
        let there = Moment { number: self.number + 1, window: endless(), work: Some(datagrams), ..*moment };
        there.announce(None)?;
        let (up, receiver) = send(&mut self.sending, &self.socket, &there, f64::INFINITY)?;
        self.number += 2;
        let back = Moment { number: self.number, window: endless(), ..there };
        back.announce(Some(datagrams as f64 * self.sending.form.bytes() as f64 * self.flows as f64))?;
        // Where it is lost, the server checks by itself.
        let _ = self.socket.send(&WAKE);
        let received = receive(&mut self.receiving, &self.socket, &back);
        let (down, sender) = received.map_err(|failure| self.receiving.strangers().map_or(failure, Failure::Reason))?;
        if down.sent < datagrams {
            let sent = down.sent;
            let look = "Check whether it is stopped";
            return Err(format!("of {datagrams} datagrams the server sent {sent} back and then paused. {look}").into());
        }
        self.there = [receiver.datagrams.unwrap_or_default(), sender.datagrams.unwrap_or_default()];
        if self.sampling {
            session.lose((up.sent + down.sent).saturating_sub(up.came.came + down.came.came));
        }
        let ended = back.window.begin + timer.ticks(down.seconds.unwrap_or(0.0));
        Ok(Exchanged { up, down, began, ended })
    }

    fn note(&self, exchanged: &Exchanged, tally: &mut Tally) {
        let Exchanged { up, down, began, ended } = exchanged;
        let bytes = self.sending.form.bytes() as u64;
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

    fn once(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> Result<(), Failure> {
        let wanted = (bytes / 2).div_ceil(self.sending.form.bytes() as u64).max(1);
        let (datagrams, began) = self.agree(moment, wanted)?;
        let before = thread_cpu_seconds();
        tally.begin(Window { begin: began, end: Window::NO_END });
        let exchanged = self.exchange(moment, datagrams, began)?;
        let used = thread_cpu_seconds() - before;
        self.note(&exchanged, tally);
        tally.over(exchanged.ended);
        // The server receives in one half and sends in the other.
        let there = exchanged.up.receiving_cpu.zip(exchanged.down.sending_cpu);
        tally.carried.cpu_seconds = there.map(|(receiving, sending)| used + receiving + sending);
        Ok(())
    }

    fn until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        let small = (SMALL_BYTES / self.sending.form.bytes() as u64).clamp(1, MOST_SMALL_DATAGRAMS);
        loop {
            // The same moment for all threads, which so make as many exchanges.
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
    fn warmed_up(&mut self) {
        self.sampling = true;
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        match moment.in_full() {
            Some(bytes) => self.once(moment, bytes, tally),
            None => self.until(moment, tally),
        }
    }

    fn describe(&self, session: &Session, seen: &mut NetConditions) {
        let (bytes, segments) = (self.sending.form.bytes(), self.sending.sender.segments() as u64);
        let (sent, came) = (self.sending.sequence, self.receiving.account.next);
        seen.link_bytes = Some(link_bytes(sent, bytes, segments) + link_bytes(came, bytes, segments));
        let [receiver, sender] = &self.there;
        let near = self.sending.sender.in_use().chain(self.receiving.receiver.in_use());
        let far = carried_there(RECEIVING, receiver).chain(carried_there(SENDING, sender));
        seen.batching = batching(near.chain(far));
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.socket);
        seen.lost = Some(session.lost());
    }
}

impl Server<'_> {
    /// Counts in windows of odd numbers, and sends its share in those of even numbers.
    pub(crate) fn give_back(self, content: &Content) -> io::Result<()> {
        let Self { socket, offload, windows, .. } = self;
        let timer = windows.timer();
        let mut receiving = Receiving::new(socket, Form::new(content), offload, LOOK_FOR_TURN, timer)?;
        let mut sending = Sending::new(socket, Form::new(content).back(), offload, timer);
        let mut work = Work::none();
        while !windows.are_over() {
            let number = windows.number();
            if number.is_multiple_of(2) && number != work.number && windows.lasts(timer.now()) {
                work.begin(self, &sending);
                self.send_back(&mut sending, &mut work)?;
            } else {
                // Late datagrams must not replace the account of what was sent.
                self.receive_once(&mut receiving, |number| !number.is_multiple_of(2))?;
            }
        }
        Ok(())
    }

    /// Sends the work of a window as fast as possible, as long as the window lasts and the client is heard.
    fn send_back(self, sending: &mut Sending, work: &mut Work) -> io::Result<()> {
        let windows = self.windows;
        loop {
            let now = windows.timer().now();
            let left = work.left(true);
            let heard = windows.silent_seconds(now) <= DEAD_MAN_SECONDS;
            if left == 0 || !heard || !windows.lasts(now) || windows.number() != work.number || windows.are_over() {
                return Ok(());
            }
            let count = sending.sender.capacity().min(usize::try_from(left).unwrap_or(usize::MAX));
            work.send(self, sending, (now, true), count)?;
        }
    }
}
